"""Numbers, text, names and tables as C writes them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from fcgboost.arrays import REACH, Array, Rows, to_numpy
from fcgboost.export.formula import Formula, utf8

# Of lines of numbers, which are indented.
_WIDTH = 92
_LONGEST_NAME = 40
_PLAIN = set(range(0x20, 0x7F)) - set(map(ord, '"\\?'))


@dataclass(frozen=True)
class Precision:
    """The type of all numbers: its name in C and its dtype."""

    real: str
    suffix: str  # of literals and of the functions of <math.h>
    dtype: type[np.float32] | type[np.float64]
    reach: float  # the largest distance of inputs from zero, in units
    most: float  # the largest power

    def round(self, values: ArrayLike) -> NDArray[np.floating]:
        """Return values as this type holds them; one that is too large is a ValueError."""
        with np.errstate(over="ignore", under="ignore"):
            rounded: NDArray[np.floating] = np.asarray(values, dtype=np.float64).astype(self.dtype)
        if not np.isfinite(rounded).all():
            raise ValueError(
                f"The model has numbers that a {self.real} cannot hold: export it with "
                "precision='double', or standardize the inputs."
            )
        return rounded

    def bounded(self, values: Array) -> Array:
        """Return the largest number of this type for what is larger, and the smallest likewise."""
        most = float(np.finfo(self.dtype).max)
        return np.clip(values, -most, most)

    def round_down(self, values: Array) -> NDArray[np.floating]:
        """Return the largest finite numbers of this type that are not above some."""
        values = self.bounded(values)
        rounded = self.round(values)
        is_above = rounded.astype(np.float64) > values
        return np.where(is_above, np.nextafter(rounded, -np.inf, dtype=self.dtype), rounded)

    def number(self, value: float | np.floating) -> str:
        """Write a number with as few digits as give it back exactly."""
        digits = str(self.round(value)[()])
        if not re.search(r"[.e]", digits):
            digits += ".0"
        return digits + self.suffix


PRECISIONS = {
    "double": Precision(
        "double",
        suffix="",
        dtype=np.float64,
        reach=REACH,
        most=REACH,
    ),
    "float": Precision(
        "float",
        suffix="f",
        dtype=np.float32,
        reach=2.0**60,
        most=2.0**110,
    ),
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
        if self.formula.record.is_table:
            return f"const {self.name}_input *x"
        return self.cells

    @property
    def cells(self) -> str:
        """The parameter of functions of the numbers that a row is read as."""
        return f"const {self.precision.real} x[{self.formula.n_cells}]"

    @property
    def decision(self) -> str:
        """The parameter for decision values."""
        return f"{self.precision.real} out[{self.formula.n_outputs}]"


@dataclass(frozen=True)
class Code:
    """Some text in C, and the declarations that precede the loop around it."""

    declarations: str
    text: str


def real_table(name: str, values: ArrayLike, precision: Precision) -> str:
    """Return a table of numbers with one or two axes."""
    array = precision.round(values)
    shape = "".join(f"[{length}]" for length in array.shape)
    items = list(map(precision.number, array.ravel()))
    if array.ndim == 2:
        width = array.shape[1]
        for start in range(0, len(items), width):
            items[start] = "{" + items[start]
            items[start + width - 1] += "}"
    return _declaration(f"{precision.real} {name}{shape}", items)


def numbers(name: str, values: Array, precision: Precision, index: str = "j") -> Code:
    """Return the expression for one number of a table, or the one number that all are."""
    if (values == values[0]).all():
        return Code("", precision.number(values[0]))
    return Code(real_table(name, values, precision), f"{name}[{index}]")


def index_table(name: str, values: list[int]) -> str:
    """Return a table of whole numbers from 0 on, in the smallest type that holds them."""
    # The largest one has a sign: loops run over int, and comparing the two must not warn.
    kinds = {2**8: "unsigned char", 2**16: "unsigned short", 2**31: "int"}
    kind = next(kind for limit, kind in kinds.items() if max(values) < limit)
    return _declaration(f"{kind} {name}[{len(values)}]", list(map(str, values)))


def set_table(name: str, values: list[int], n_codes: int) -> str:
    """Return a table of sets, whose members are the bits of whole numbers, in words of 64."""
    starts = range(0, n_codes, 64)
    words = [f"{value >> start & 2**64 - 1}ULL" for value in values for start in starts]
    return _declaration(f"unsigned long long {name}[{len(words)}]", words)


def text_table(name: str, texts: Sequence[str]) -> str:
    """Return a table of strings."""
    return _declaration(f"char *const {name}[{len(texts)}]", list(map(string, texts)))


def _declaration(head: str, items: list[str]) -> str:
    lines = [""]
    for item in items:
        if lines[-1] and len(lines[-1]) + len(item) + 2 > _WIDTH:
            lines.append("")
        lines[-1] += f"{item}, "
    body = "\n".join(line.rstrip() for line in lines).rstrip(",")
    return f"static const {head} = {{\n{body}\n}};\n"


def matrix_tables(name: str, matrix: Rows, precision: Precision) -> tuple[bool, str]:
    """Declare a matrix in the smaller of two ways; return whether that is as a sparse one.

    A sparse one is three tables: NAME with the values, NAME_columns with their columns, NAME_ends
    with the ends of the rows; and NAME_at, where the loop over them is.
    """
    entries = sparse.csr_matrix(matrix, copy=True)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    n_rows, n_columns = matrix.shape
    # A column or an end takes half a number or less, in all but the largest tables.
    if not 0 < 3 * entries.nnz + n_rows < 2 * n_rows * n_columns:
        return False, real_table(name, to_numpy(matrix), precision)
    tables = (
        real_table(name, entries.data, precision)
        + index_table(f"{name}_columns", entries.indices.tolist())
        + index_table(f"{name}_ends", entries.indptr[1:].tolist())
    )
    return True, f"{tables}int {name}_at = 0;\n"


def string(text: str) -> str:
    """Write a string literal in ASCII, as UTF-8 bytes; nothing in it can be a trigraph."""
    code = utf8(text, "C")
    if 0 in code:
        raise ValueError(f"{text!r} cannot be written in C, where text ends at the first NUL.")
    # Three octal digits always: a digit that follows cannot be taken for one more.
    body = "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in code)
    return f'"{body}"'


def comment(text: str) -> str:
    """Write a text so that it can stand inside a comment, in ASCII on one line."""
    escaped = text.encode("ascii", "backslashreplace").decode()
    safe = "".join(c if ord(c) in range(0x20, 0x7F) else f"\\x{ord(c):02x}" for c in escaped)
    return '"' + safe.replace("*/", "*\\/").replace("/*", "/\\*").replace("?", "\\?") + '"'


def fields_of(names: Iterable[str]) -> list[str]:
    """Turn names of columns into different identifiers that begin as no keyword or macro does."""
    fields: dict[str, None] = {}
    for name in names:
        ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        words = re.sub(r"[^A-Za-z0-9]+", "_", ascii_name).strip("_")[:_LONGEST_NAME].rstrip("_")
        stem = f"x_{words}" if words else "x"
        field = stem
        count = 1
        while field in fields:
            count += 1
            field = f"{stem}_{count}"
        fields[field] = None
    return list(fields)
