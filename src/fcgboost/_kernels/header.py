"""The functions, structures and constants of the library, as `kernels.h` declares them.

The header is the only place that states types and sizes. An array `const double X[n * d]` must be
C-contiguous, of float64, and have at least n * d numbers; without const it must be writeable, too.
Sizes are expressions in the arguments before. `X[]` leaves the size to the caller, and `*X` may be
None besides. A pointer to a structure stands for one structure.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import cache
from typing import ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from fcgboost._kernels.sources import FOLDER

AnyArray = NDArray[np.generic]
#: Checks a value and its size; returns what ctypes takes for a pointer.
Check = Callable[[object, int], object]

_SCALARS: dict[str, type] = {
    "double": ctypes.c_double,
    "int8_t": ctypes.c_int8,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint8_t": ctypes.c_uint8,
    "uint16_t": ctypes.c_uint16,
    "uint64_t": ctypes.c_uint64,
}
_RESULTS: dict[str, type | None] = {
    "void": None,
    "const char *": ctypes.c_char_p,
    **_SCALARS,
}

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_FUNCTION = re.compile(
    r"^FCG_API (const char \*|\w+ )(\w+)\((.*?)\);",
    re.DOTALL | re.MULTILINE,
)
_STRUCTURE = re.compile(
    r"^typedef struct \{(.*?)^\} (\w+);",
    re.DOTALL | re.MULTILINE,
)
_ROUTINE = re.compile(r"void \(\*(\w+)\)\(([^)]*)\)")
_CONSTANT = re.compile(r"\b(FCG_[A-Z]+) = (\d+)")
_VARIABLE = re.compile(
    r"(?P<stars>[*]?(?:const )?[*]?)"
    r"(?P<name>\w+)"
    r"(?:\[(?P<size>.*)\])?",
)

# The buffer of an array of any size: ctypes takes it for a pointer, much sooner than a number.
_buffer_of = cast(
    "Callable[[AnyArray], object]",
    (ctypes.c_char * 0).from_buffer,
)


class Variable(NamedTuple):
    """An argument of a function, or a field of a structure."""

    type: str
    name: str
    is_const: bool
    n_stars: int
    #: What stands in brackets; None without brackets.
    size: str | None

    @property
    def is_scalar(self) -> bool:
        return self.n_stars == 0 and self.size is None

    @property
    def is_structure(self) -> bool:
        return self.type in FIELDS and self.size is None


def _variables(declaration: str) -> list[Variable]:
    """Return the variables of a declaration, which have the same type."""
    text = declaration.removeprefix("const ")
    kind, _, names = text.partition(" ")
    variables = []
    for name in names.split(", "):
        found = _VARIABLE.fullmatch(name)
        if found is None:
            raise ImportError(f"fcgboost cannot read {declaration!r} in its header kernels.h.")
        variables.append(
            Variable(
                type=kind,
                name=found["name"],
                is_const=declaration != text,
                n_stars=found["stars"].count("*"),
                size=found["size"],
            )
        )
    return variables


def _declared(text: str, separator: str) -> list[Variable]:
    """Return the variables of several declarations."""
    variables = []
    for part in text.split(separator):
        declaration = " ".join(part.split())
        if declaration not in ("", "void"):
            variables += _variables(declaration)
    return variables


_TEXT = _COMMENT.sub("", (FOLDER / "kernels.h").read_text("utf-8"))

#: The values of enumerations.
CONSTANTS = {name: int(number) for name, number in _CONSTANT.findall(_TEXT)}

#: The types of the result and the arguments of each function.
FUNCTIONS = {
    name: (result.rstrip(" "), _declared(arguments, ","))
    for result, name, arguments in _FUNCTION.findall(_TEXT)
}

#: The types of routines of BLAS and LAPACK, without const: "void (char *, int *)".
ROUTINES = {
    name: f"void ({' '.join(arguments.replace('const ', '').split())})"
    for name, arguments in _ROUTINE.findall(_TEXT)
}

_STRUCTURES = {
    name: _declared(_ROUTINE.sub(r"void *\1", fields), ";")
    for fields, name in _STRUCTURE.findall(_TEXT)
}


def _in_ctypes(field: Variable) -> tuple[str, type]:
    if field.n_stars:
        return field.name, ctypes.c_void_p
    number: type[ctypes.c_int64] = _SCALARS[field.type]
    if field.size is None:
        return field.name, number
    return field.name, number * int(field.size)


#: The fields of each structure, for ctypes.
FIELDS = {
    structure: [_in_ctypes(field) for field in fields]  # the order is that in memory
    for structure, fields in _STRUCTURES.items()
}


class Struct(ctypes.Structure):
    """A structure of the library, whose arrays live as long as it does."""

    #: Its name in the header.
    kind: ClassVar[str]

    def hold(self, name: str, array: AnyArray, size: int) -> None:
        """Let a field point to an array, which must have at least so many numbers."""
        _check_of_field(self.kind, name)(array, size)
        setattr(self, name, array.ctypes.data)
        vars(self)[f"_{name}"] = array


@cache
def _check_of_field(structure: str, name: str) -> Check:
    (field,) = (field for field in _STRUCTURES[structure] if field.name == name)
    return check_array(structure, field)


def _dtype_of(variable: Variable) -> tuple[np.dtype[np.generic] | None, int]:
    """Return the type of an array, None for any, and how many numbers an entry has."""
    if variable.n_stars == 1 and variable.size is not None:
        return np.dtype(np.uint64), 1  # addresses
    if variable.type == "void":
        return None, 1
    if variable.type in _SCALARS:
        return np.dtype(_SCALARS[variable.type]), 1
    fields = FIELDS[variable.type]
    if all(kind is ctypes.c_double for _, kind in fields):
        return np.dtype(np.float64), len(fields)
    return np.dtype(fields, align=True), 1


def check_array(owner: str, variable: Variable) -> Check:
    """Return what checks an array that belongs to a function or a structure."""
    dtype, n_numbers = _dtype_of(variable)
    label = f"{owner}: {variable.name}"
    is_const = variable.is_const
    may_be_none = variable.size is None

    def check(array: object, size: int) -> object:
        if array is None and may_be_none:
            return None
        if type(array) is not np.ndarray and not isinstance(array, np.ndarray):
            raise TypeError(f"{label} must be an array, not {type(array).__name__}.")
        if array.dtype != dtype and dtype is not None:
            raise TypeError(f"{label} must be an array of {dtype}, not of {array.dtype}.")
        if array.size < n_numbers * size:
            raise ValueError(f"{label} needs {n_numbers * size} numbers, and has {array.size}.")
        flags = array.flags
        if not (flags.c_contiguous and flags.aligned):
            raise ValueError(f"{label} must be aligned and C-contiguous.")
        if flags.writeable:
            return _buffer_of(array)
        if is_const:
            return array.ctypes.data
        raise ValueError(f"{label} must be writeable.")

    return check


def _check_structure(owner: str, variable: Variable) -> Check:
    """Return what checks a structure; its size is that of its type."""

    def check(structure: object, size: int) -> object:
        if isinstance(structure, Struct) and structure.kind == variable.type:
            return ctypes.byref(structure)
        kind = type(structure).__name__
        raise TypeError(f"{owner}: {variable.name} must be {variable.type}, not {kind}.")

    return check


def bind(library: ctypes.CDLL, name: str) -> None:
    """Give a function of the library its types, and let it check what it is called with."""
    result, arguments = FUNCTIONS[name]
    function = library[name]
    function.restype = _RESULTS[result]
    types: list[type] = []
    values: list[str] = []
    names: dict[str, object] = {
        "function": function,
        **CONSTANTS,
    }
    for argument in arguments:
        if argument.is_scalar:
            types.append(_SCALARS[argument.type])
            values.append(argument.name)
            continue
        check = f"check_{argument.name}"
        make_check = _check_structure if argument.is_structure else check_array
        names[check] = make_check(name, argument)
        types.append(ctypes.c_void_p)
        values.append(f"{check}({argument.name}, {_in_python(argument.size)})")
    function.argtypes = types
    heads = ", ".join(argument.name for argument in arguments)
    call = f"function({', '.join(values)})"
    setattr(library, name, eval(f"lambda {heads}: {call}", names))


def _in_python(size: str | None) -> str:
    """Return a size in the header as an expression of Python."""
    if not size:
        return "0"
    return size.replace("->", ".").replace("/", "//")
