"""Numbers, text, names and tables as C writes them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost.arrays import REACH, host
from fcgboost.export.formula import Formula, utf8

_WIDTH = 100
_LONGEST_NAME = 40
_LONGEST_TEXT = 4095  # bytes of a string literal in C99, also where it is put together
_PLAIN = set(range(0x20, 0x7F)) - set(map(ord, '"\\?'))
# Keywords of C and C++, and what <math.h>, <string.h> or a compiler may define as a macro.
_RESERVED = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class compl complex concept const const_cast consteval constexpr constinit continue
    co_await co_return co_yield decltype default delete do double dynamic_cast else enum explicit
    export extern false far float for friend goto huge if imaginary inline int interface long
    mutable namespace near new noexcept not not_eq nullptr operator or or_eq private protected
    public register reinterpret_cast requires restrict return short signed sizeof small static
    static_assert static_cast struct switch template this thread_local throw true try typedef
    typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while
    xor xor_eq linux unix i386 arm mips sparc sun vax hpux pascal cdecl min max errno assert
    DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS X_TLOSS NAN INFINITY NULL EOF I
"""
_RESERVED_START = re.compile(r"(FP|HUGE|M|MATH|SNAN|DEC|INT|DBL|FLT|LDBL)(_|$)")


@dataclass(frozen=True)
class Precision:
    """The type of all numbers: its name in C and its dtype."""

    real: str
    suffix: str  # of literals and of the functions of <math.h>
    dtype: type[np.floating[Any]]
    reach: float  # inputs are at most so many units from zero
    most: float  # powers are at most so large

    def round(self, values: Any) -> Any:
        """Return values as this type holds them; one that is too large is a ValueError."""
        with np.errstate(over="ignore", under="ignore"):
            rounded = np.asarray(values, dtype=np.float64).astype(self.dtype)
        if not np.isfinite(rounded).all():
            raise ValueError(
                f"The model has numbers that a {self.real} cannot hold: export it with "
                "precision='double', or standardize the inputs."
            )
        return rounded

    def bounded(self, values: Any) -> Any:
        """Return the largest number of this type for what is larger, and the smallest likewise."""
        most = float(np.finfo(self.dtype).max)
        return np.clip(values, -most, most)

    def round_down(self, values: Any) -> Any:
        """Return the largest finite numbers of this type that are not above some."""
        values = self.bounded(values)
        rounded = self.round(values)
        is_above = rounded.astype(np.float64) > values
        return np.where(is_above, np.nextafter(rounded, -np.inf, dtype=self.dtype), rounded)

    def number(self, value: Any) -> str:
        """Write a number with as few digits as give it back exactly."""
        digits = str(self.round(value)[()])
        if not re.search(r"[.e]", digits):
            digits += ".0"
        return digits + self.suffix


PRECISIONS = {
    "double": Precision("double", "", np.float64, REACH, REACH),
    "float": Precision("float", "f", np.float32, 2.0**60, 2.0**110),
}


@dataclass(frozen=True)
class Program:
    """What is to be written: a formula, how all names begin, and the type of all numbers."""

    formula: Formula
    name: str
    precision: Precision

    @property
    def row(self) -> str:
        """The parameter of functions of one row."""
        if self.formula.sources.is_table:
            return f"const {self.name}_input *x"
        return f"const {self.precision.real} x[{len(self.formula.sources.all)}]"


@dataclass(frozen=True)
class Table:
    """A constant array: its declaration, and its size."""

    text: str
    n_bytes: int


@dataclass(frozen=True)
class Code:
    """Some text in C, the tables it reads, and what must stand before a loop around it."""

    text: str
    tables: Sequence[Table] = ()
    before: str = ""


def real_table(name: str, values: Any, precision: Precision) -> Table:
    """Return a table of numbers with one or two axes."""
    values = precision.round(values)
    shape = "".join(f"[{length}]" for length in values.shape)
    items = list(map(precision.number, values.ravel()))
    if values.ndim == 2:
        width = values.shape[1]
        for start in range(0, len(items), width):
            items[start] = "{" + items[start]
            items[start + width - 1] += "}"
    return Table(_declaration(f"{precision.real} {name}{shape}", items), values.nbytes)


def numbers(name: str, values: Any, precision: Precision) -> Code:
    """Return the expression for number j of a table, or the one number that all are."""
    if (values == values[0]).all():
        return Code(precision.number(values[0]))
    return Code(f"{name}[j]", [real_table(name, values, precision)])


def index_table(name: str, values: list[int]) -> Table:
    """Return a table of whole numbers from 0 on, in the smallest type that holds them."""
    # The largest one has a sign: loops run over int, and comparing the two must not warn.
    sizes = ((2**8, "unsigned char", 1), (2**16, "unsigned short", 2), (2**31, "int", 4))
    kind, n_bytes = next((kind, size) for limit, kind, size in sizes if max(values) < limit)
    head = f"{kind} {name}[{len(values)}]"
    return Table(_declaration(head, list(map(str, values))), len(values) * n_bytes)


def set_table(name: str, values: list[int], n_codes: int) -> Table:
    """Return a table of sets, whose members are the bits of whole numbers, in words of 64."""
    starts = range(0, n_codes, 64)
    words = [f"{value >> start & 2**64 - 1}ULL" for value in values for start in starts]
    head = f"unsigned long long {name}[{len(words)}]"
    return Table(_declaration(head, words), 8 * len(words))


def text_table(name: str, texts: Sequence[str]) -> Table:
    """Return a table of strings; its size counts pointers of eight bytes."""
    items = [string(text) for text in texts]
    n_bytes = sum(len(text.encode()) + 9 for text in texts)
    return Table(_declaration(f"char *const {name}[{len(texts)}]", items), n_bytes)


def _declaration(head: str, items: list[str]) -> str:
    lines = [""]
    for item in items:
        if lines[-1] and len(lines[-1]) + len(item) + 2 > _WIDTH:
            lines.append("")
        lines[-1] += f"{item}, "
    body = "\n".join(line.rstrip() for line in lines).rstrip(",")
    return f"static const {head} = {{\n{body}\n}};\n"


def matrix_tables(name: str, matrix: Any, precision: Precision) -> tuple[bool, list[Table]]:
    """Declare a matrix in the smaller of two ways; return whether that is as a sparse one.

    A sparse one is three tables: NAME with the values, NAME_places with their columns, NAME_ends
    with the ends of the rows.
    """
    entries = sparse.csr_matrix(matrix, copy=True)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    n_rows, n_columns = matrix.shape
    n_bytes = n_rows * n_columns * np.dtype(precision.dtype).itemsize
    if entries.nnz:
        tables = [
            real_table(name, entries.data, precision),
            index_table(f"{name}_places", entries.indices.tolist()),
            index_table(f"{name}_ends", entries.indptr[1:].tolist()),
        ]
        if sum(table.n_bytes for table in tables) < n_bytes:
            return True, tables
    return False, [real_table(name, host(matrix), precision)]


def string(text: str) -> str:
    """Write a string literal in ASCII, as UTF-8 bytes; nothing in it can be a trigraph."""
    code = utf8(text, "C")
    if 0 in code:
        raise ValueError(f"{text!r} cannot be written in C, where text ends at the first NUL.")
    if len(code) > _LONGEST_TEXT:
        problem = f"it has {len(code)} bytes, but C99 allows {_LONGEST_TEXT}: shorten this text"
        raise ValueError(f"{text[:40]!r}... cannot be written in C: {problem}.")
    # Three octal digits always: a digit that follows cannot be taken for one more.
    body = "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in code)
    return f'"{body}"'


def comment(text: str) -> str:
    """Write a text so that it can stand inside a comment, in ASCII on one line."""
    escaped = text.encode("ascii", "backslashreplace").decode()
    safe = "".join(c if ord(c) in range(0x20, 0x7F) else f"\\x{ord(c):02x}" for c in escaped)
    return '"' + safe.replace("*/", "*\\/").replace("/*", "/\\*").replace("?", "\\?") + '"'


def fields_of(names: Iterable[str]) -> list[str]:
    """Turn names of columns into different identifiers that are close to them."""
    taken: set[str] = set()
    fields = []
    for place, name in enumerate(names):
        ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        stem = re.sub(r"[^A-Za-z0-9]+", "_", ascii_name).strip("_")[:_LONGEST_NAME].rstrip("_")
        stem = stem or f"column_{place + 1}"
        if stem[0].isdigit() or stem in _RESERVED.split() or _RESERVED_START.match(stem):
            stem = f"x_{stem}"
        field, count = stem, 1
        while field in taken:
            count += 1
            field = f"{stem}_{count}"
        taken.add(field)
        fields.append(field)
    return fields
