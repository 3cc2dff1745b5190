"""A path in a file: a fit writes it now and then, and a later one goes on from it.

The file is NumPy's .npz: plain arrays and a header in JSON, never pickled code. It is exact to
the last bit, says which data and parameters it belongs to, and is there in full or not at all.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import pickle
import struct
import time
import types
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from fcgboost.files import writing
from fcgboost.stopping import Status, Step
from fcgboost.trace import Presence, Trace

_FORMAT = "fcgboost checkpoint"
_VERSION = 2
_WHOLE, _REAL, _TEXT = "<i8", "<f8", "|u1"
# What a step has one of per output, and what it has one of.
_PER_OUTPUT = {"chosen": _WHOLE, "scores": _REAL, "objectives": _REAL, "intercept": _REAL}
_PER_STEP: dict[str, type] = {
    **{"solver_iterations": int, "residual": float, "is_corrected": bool, "seconds": float},
    "validation_score": float,
}
_SPARSE = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}

# What reading a damaged archive may raise.
_DAMAGE = (
    *(zipfile.BadZipFile, struct.error, ArithmeticError, AttributeError, EOFError, LookupError),
    *(OSError, RuntimeError, SyntaxError, TypeError, ValueError),
)
# A write is followed by this many times its duration without one.
_PAUSE = 100.0

_Header = dict[str, Any]
_Shape = tuple[int, ...]
_Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Identity:
    """What a path belongs to.

    Attributes
    ----------
    data : tuple of scalars
        A digest of the data.
    parameters : dict from str to str
        The parameters' names, and their values as `describe` gives them.
    """

    data: tuple[int | float | str | bool | None, ...]
    parameters: dict[str, str]


def describe(value: Any) -> str:
    """Return a text for a parameter's value that is the same for an equal one elsewhere.

    A function defined in a module is its name. Lambdas and functions made by functions also
    count by their code, which depends on the version of Python.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    if isinstance(value, np.random.RandomState):
        # It changes by its use, and what was drawn from it is the key of the path.
        return "RandomState"
    if isinstance(value, type | types.BuiltinFunctionType):
        return _name(value)
    if isinstance(value, types.FunctionType):
        return _describe_function(value)
    if isinstance(value, BaseEstimator):
        parameters = value.get_params(deep=False).items()
        inside = ", ".join(f"{name}={describe(parameter)}" for name, parameter in parameters)
        return f"{_name(type(value))}({inside})"
    if isinstance(value, dict):
        items = sorted((describe(key), describe(item)) for key, item in value.items())
        return "{" + ", ".join(f"{key}: {item}" for key, item in items) + "}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}({', '.join(map(describe, value))})"
    return _describe_object(value)


def _name(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def _describe_function(function: types.FunctionType) -> str:
    name = _name(function)
    if "<" not in name:
        return name
    # The name does not tell such a function from the next: its code and what it holds do.
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    held = [_name(c) if isinstance(c, types.FunctionType) else describe(c) for c in cells]
    defaults = describe([function.__defaults__, function.__kwdefaults__])
    text = "\n".join([_describe_code(function.__code__), defaults, *held])
    return f"{name} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _describe_code(constant: Any) -> str:
    """Describe what a function does; its constants may be code again."""
    if isinstance(constant, types.CodeType):
        inside = [_describe_code(one) for one in constant.co_consts]
        return repr((constant.co_code, constant.co_names, inside))
    if isinstance(constant, tuple | frozenset):
        inside = [_describe_code(one) for one in constant]
        return repr(sorted(inside) if isinstance(constant, frozenset) else inside)
    return repr(constant)


def _describe_object(value: Any) -> str:
    try:
        return f"{_name(type(value))} {joblib.hash(value)}"
    except (pickle.PicklingError, AttributeError, TypeError):
        # It holds something that cannot be pickled, a lambda perhaps: look inside.
        return f"{_name(type(value))} {describe(value.__reduce_ex__(2)[:3])}"


def write(path: str | os.PathLike[str], trace: Trace, key: int, identity: Identity) -> None:
    """Write a path and the key of its draws to a file, which is there in full or as before."""
    header, arrays = _header(trace, key, identity), _arrays(trace)
    members: dict[str, Any] = {
        name: np.ascontiguousarray(arrays[name], dtype=dtype)
        for name, (dtype, _) in _layout(header).items()
    }
    members["header"] = np.frombuffer(json.dumps(header).encode(), dtype=_TEXT)
    with writing(path) as file:
        np.savez(file, **members)


def _header(trace: Trace, key: int, identity: Identity) -> _Header:
    is_sparse = sparse.issparse(trace.atoms)
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "key": int(key),
        "data": list(identity.data),
        "parameters": identity.parameters,
        # JSON's numbers are as exact as Python's.
        "steps": [_numbers(step) for step in trace],
        "endings": [None if ending is None else ending.name for ending in trace.endings],
        "is_shared": trace.is_shared,
        "atoms": type(trace.atoms).__name__ if is_sparse else "ndarray",
        "atoms_dtype": trace.atoms.dtype.newbyteorder("<").str,
        "atoms_index": f"<i{trace.atoms.indices.itemsize}" if is_sparse else _WHOLE,
        "atoms_shape": [int(size) for size in trace.atoms.shape],
    }


def _numbers(step: Step) -> list[float | None]:
    given = ((getattr(step, name), kind) for name, kind in _PER_STEP.items())
    return [None if value is None else kind(value) for value, kind in given]


def _layout(header: _Header) -> dict[str, tuple[str, _Shape]]:
    """Return the type and the shape of every array of a file; -1 stands for any size."""
    n_steps, n_outputs = len(header["steps"]), len(header["endings"])
    n_atoms, n_parameters = header["atoms_shape"]
    layout: dict[str, tuple[str, _Shape]] = {
        "start": (_REAL, (n_outputs,)),
        "entered": (_WHOLE, (n_atoms,)),
        # The coefficients of all steps, one step after the other, and where each step's begin.
        "coef": (_REAL, (-1,)),
        "offsets": (_WHOLE, (n_steps + 1,)),
        # The step, output and atom of everyone who left.
        "removed": (_WHOLE, (-1, 3)),
        **{name: (dtype, (n_steps, n_outputs)) for name, dtype in _PER_OUTPUT.items()},
    }
    if header["atoms"] not in _SPARSE:
        return layout | {"atoms": (header["atoms_dtype"], (n_atoms, n_parameters))}
    return layout | {
        "atoms_data": (header["atoms_dtype"], (-1,)),
        "atoms_indices": (header["atoms_index"], (-1,)),
        "atoms_indptr": (header["atoms_index"], (n_atoms + 1,)),
    }


def _arrays(trace: Trace) -> _Arrays:
    shape = (len(trace), len(trace.start))
    names = ("data", "indices", "indptr") if sparse.issparse(trace.atoms) else ()
    return {
        "start": trace.start,
        "entered": trace.entered,
        "coef": np.concatenate([np.zeros(0), *(step.coef.ravel() for step in trace)]),
        "offsets": np.cumsum([0, *(step.coef.size for step in trace)]),
        "removed": np.array([(s.k, *pair) for s in trace for pair in s.removed]).reshape(-1, 3),
        **{name: trace.column(name).reshape(shape) for name in _PER_OUTPUT},
        **{f"atoms_{name}": getattr(trace.atoms, name) for name in names},
        **({} if names else {"atoms": trace.atoms}),
    }


def read(path: str | os.PathLike[str], identity: Identity) -> tuple[Trace, int]:
    """Read a path and the key of its draws from a file.

    A file that belongs to something else, or that is not in order, is a ValueError.
    """
    content = Path(path).read_bytes()
    try:
        archive, header = _open(content)
    except _DAMAGE as error:
        raise _refusal(path, error) from error
    if header["version"] > _VERSION:
        raise ValueError(
            f"{path} was written by a later version of fcgboost (format {header['version']}, not "
            f"{_VERSION}). Use that version, or delete the file to start anew."
        )
    _check_identity(path, header, identity)
    try:
        _check_header(header)
        arrays = {name: _member(archive, name, *kind) for name, kind in _layout(header).items()}
        _check_arrays(arrays)
        return _trace(header, arrays), header["key"]
    except _DAMAGE as error:
        raise _refusal(path, error) from error


def _refusal(path: object, error: BaseException) -> ValueError:
    return ValueError(
        f"{path} is not a checkpoint of fcgboost, or is damaged ({type(error).__name__}: {error}). "
        "Delete it to start anew, or name another file."
    )


def _require(condition: Any, otherwise: str) -> None:
    if not condition:
        raise ValueError(otherwise)


def _open(content: bytes) -> tuple[zipfile.ZipFile, _Header]:
    """Open an archive and read its header, of which the version and the identity are checked."""
    _require(content.startswith(b"PK\x03\x04"), "it is no .npz file")
    archive = zipfile.ZipFile(io.BytesIO(content))
    for member in archive.infolist():
        # What is stored as it is cannot be larger than the file.
        is_plain = member.compress_type == zipfile.ZIP_STORED
        _require(is_plain and member.file_size <= len(content), "a member has a wrong size")
    header = json.loads(_member(archive, "header", _TEXT, (-1,)).tobytes())
    _require(isinstance(header, dict) and header.get("format") == _FORMAT, "a foreign header")
    version = header["version"]
    _require(type(version) is int and version > 0, "the version is no number")
    if version == _VERSION:
        has_both = isinstance(header["data"], list) and isinstance(header["parameters"], dict)
        _require(has_both, "the header has no identity")
    return archive, header


def _member(archive: zipfile.ZipFile, name: str, dtype: str, shape: _Shape) -> NDArray[Any]:
    """Read an array of known type and shape, in which -1 stands for any size."""
    stream = io.BytesIO(archive.read(f"{name}.npy"))
    _require(np.lib.format.read_magic(stream) == (1, 0), f"{name} is in another format")
    found, is_fortran, kind = np.lib.format.read_array_header_1_0(stream)
    fits = all(size in (-1, n) for size, n in zip(shape, found, strict=True))
    _require(fits and not is_fortran, f"{name} has a wrong shape, {found}")
    _require(kind == np.dtype(dtype), f"{name} has a wrong type, {kind}")
    n_bytes = len(stream.getbuffer()) - stream.tell()
    _require(n_bytes == math.prod(found) * kind.itemsize, f"{name} is cut off or too long")
    stream.seek(0)
    array = np.lib.format.read_array(stream, allow_pickle=False)
    return np.asarray(array, dtype=array.dtype.newbyteorder("="))


def _check_header(header: _Header) -> None:
    """Check what the header says by itself."""
    _require(type(header["key"]) is int and 0 <= header["key"] < 2**64, "the key is no word")
    _require(type(header["is_shared"]) is bool, "it does not say whether atoms are shared")
    _require(header["atoms"] in ("ndarray", *_SPARSE), "the atoms are of another kind")
    _require(np.dtype(header["atoms_dtype"]).kind in "biuf", "the atoms are no real numbers")
    _require(header["atoms_index"] in ("<i4", "<i8"), "the atoms' places are no whole numbers")
    shape, endings = header["atoms_shape"], header["endings"]
    _require(all(type(n) is int and n >= 0 for n in shape), "the atoms have no shape")
    _require(all(e is None or e in Status.__members__ for e in endings), "an unknown ending")
    for row in header["steps"]:
        pairs = zip(row[:-1] if row[-1] is None else row, _PER_STEP.values(), strict=False)
        are_numbers = all(type(number) is kind for number, kind in pairs)
        _require(are_numbers and len(row) == len(_PER_STEP), "a step has no numbers")


def _check_identity(path: object, header: _Header, identity: Identity) -> None:
    # As texts, in which 1 is neither 1.0 nor True.
    if json.dumps(header["data"]) != json.dumps(list(identity.data)):
        raise ValueError(
            f"{path} is the checkpoint of a fit to other data: X, y, the weights or the rows held "
            "out for validation are different. Name another file, or delete it to start anew."
        )
    old, new = header["parameters"], identity.parameters
    changed = [
        f"{name} was {old.get(name, 'not there')} and is {new.get(name, 'not there')}"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]
    if changed:
        raise ValueError(
            f"{path} is the checkpoint of a fit with other parameters: {'; '.join(changed)}. Name "
            "another file, or delete it to start anew."
        )


def _check_arrays(arrays: _Arrays) -> None:
    """Check that the numbers make up a path."""
    entered, chosen = arrays["entered"], arrays["chosen"]
    n_steps, n_outputs = chosen.shape
    is_in_range = ((entered > 0) & (entered <= n_steps)).all()
    _require(is_in_range and (np.diff(entered) >= 0).all(), "the atoms are not in order")
    n_atoms = np.searchsorted(entered, np.arange(n_steps + 1), side="right")
    offsets = n_outputs * np.cumsum(n_atoms)
    _require(np.array_equal(arrays["offsets"], offsets), "coefficients are at wrong places")
    _require(len(arrays["coef"]) == offsets[-1], "there are not as many coefficients as atoms")
    _require(((chosen >= -1) & (chosen < n_atoms[1:, None])).all(), "a chosen atom is not there")
    steps, outputs, _ = arrays["removed"].T
    is_in_range = ((steps > 0) & (steps <= n_steps) & (outputs >= 0)).all()
    _require(is_in_range and (np.diff(steps) >= 0).all(), "atoms do not leave in order")


def _trace(header: _Header, arrays: _Arrays) -> Trace:
    """Put a path together."""
    # As the loop gives them.
    arrays["coef"].setflags(write=False)
    arrays["intercept"].setflags(write=False)
    n_outputs, offsets = len(header["endings"]), arrays["offsets"]
    rows = {name: arrays[name] for name in _PER_OUTPUT}
    rows["chosen"], entered = (arrays[name].astype(np.intp) for name in ("chosen", "entered"))
    steps, removed = [], arrays["removed"].astype(np.intp)
    presence = Presence(n_outputs, is_shared := bool(header["is_shared"]))
    for i, numbers in enumerate(header["steps"]):
        coef = arrays["coef"][offsets[i] : offsets[i + 1]].reshape(n_outputs, -1)
        left = removed[removed[:, 0] == i + 1, 1:]
        presence.take(rows["chosen"][i], left.tolist())
        gone, per_output = presence.gone(coef.shape[1]), {name: rows[name][i] for name in rows}
        per_step = dict(zip(_PER_STEP, numbers, strict=True))
        steps.append(Step(i + 1, coef=coef, removed=left, gone=gone, **per_output, **per_step))
    endings = tuple(None if name is None else Status[name] for name in header["endings"])
    atoms = _atoms(header, arrays)
    return Trace(tuple(steps), atoms, entered, arrays["start"], endings, is_shared)


def _atoms(header: _Header, arrays: _Arrays) -> Any:
    if header["atoms"] == "ndarray":
        return arrays["atoms"]
    parts = tuple(arrays[f"atoms_{name}"] for name in ("data", "indices", "indptr"))
    atoms = _SPARSE[header["atoms"]](parts, shape=header["atoms_shape"])
    # SciPy may have taken shorter numbers.
    _, atoms.indices, atoms.indptr = parts
    atoms.check_format(full_check=True)
    return atoms


class Writer:
    """A watcher of the loop that writes the path to a file now and then.

    It writes after the first step, and then for about a hundredth of the time of the fit.

    Parameters
    ----------
    path : path
    key : int
        The seed of all draws.
    identity : Identity
    """

    def __init__(self, path: str | os.PathLike[str], key: int, identity: Identity) -> None:
        self.path = Path(path)
        self._key, self._identity = key, identity
        self._next = -math.inf
        folder = self.path.absolute().parent
        if not folder.is_dir():
            raise ValueError(f"The folder {folder} of the checkpoint {path} does not exist.")
        if self.path.is_dir() or not os.access(folder, os.W_OK):
            raise ValueError(f"The checkpoint {path} cannot be written: name a file elsewhere.")

    def __call__(self, step: Step, path: Callable[[], Trace]) -> None:
        """Write the path if it is time to."""
        started = time.perf_counter()
        if started >= self._next:
            write(self.path, path(), self._key, self._identity)
            ended = time.perf_counter()
            self._next = ended + _PAUSE * (ended - started)

    def close(self, trace: Trace) -> None:
        """Write the path as it is at the end."""
        write(self.path, trace, self._key, self._identity)
