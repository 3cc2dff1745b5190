"""Going on from another path: that of the last fit (`warm_start`), or one in a file (`checkpoint`).

The file is NumPy's .npz: plain arrays and a header in JSON, never pickled code.
"""

from __future__ import annotations

import functools
import io
import json
import os
import time
import types
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from fcgboost.calibration import PowerLink
from fcgboost.files import writing
from fcgboost.greedy.loop import Watcher
from fcgboost.greedy.path import Trace
from fcgboost.hashing import Digest
from fcgboost.stopping import Status, Step

_FORMAT, _VERSION = "fcgboost checkpoint", 3
# What a step has: the fields of all steps one after the other are one array, their sizes another.
_FIELDS = tuple(field.name for field in fields(Step) if field.name != "k")
_NUMBERS = ("solver_iterations", "residual", "is_corrected", "seconds", "validation_score")
_PLACES = ("data", "indices", "indptr")
_SPARSE = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
# A write is followed by this many times its duration without one.
_PAUSE = 100.0
#: The parameters that may change between a fit and its continuation.
MAY_CHANGE = {
    *("max_iter", "n_iter_no_change", "n_jobs", "verbose", "warm_start"),
    *("checkpoint", "client", "device", "link"),
}
# Objects inside objects are described down to here.
_DEPTH = 8


@dataclass(frozen=True)
class Identity:
    """What a path belongs to: a digest of the data, and parameters in words."""

    data: tuple[int | float | str | bool | None, ...]
    parameters: dict[str, str]


@dataclass(frozen=True)
class Start:
    """What a path belongs to, the seed of all draws, and a path to go on from as far as known."""

    identity: Identity
    key: int
    path: Trace | None = None
    l2: float | None = None
    link: PowerLink | None = None


def identify(
    classes: NDArray[Any],
    train: Digest,
    validation: Digest | None,
    kind: tuple[int, float | None, bool],
    parameters: dict[str, str],
) -> Identity:
    """Return what says whether data, in any order, and parameters are the same.

    The `kind` is the number of columns, the share of rows set aside, and whether X is sparse.
    """
    digests = [train] if validation is None else [train, validation]
    words = [word for d in digests for word in (d.n_rows, d.first, d.second)]
    return Identity((*classes.tolist(), *words, *kind), parameters)


def find_start(
    identity: Identity,
    last: Start | None,
    checkpoint: str | os.PathLike[str] | None,
    random_state: Any,
) -> Start:
    """Look for a path to go on from: the last fit's, or one in a file."""
    if last is not None:
        _check_same(last.identity, identity)
        return last
    if checkpoint is not None and os.path.exists(checkpoint):
        trace, key = read(checkpoint, identity)
        return Start(identity, key, trace)
    return Start(identity, draw_key(random_state))


def draw_key(random_state: Any) -> int:
    """Return the seed of all draws of a fit."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def _check_same(old: Identity, new: Identity) -> None:
    if old.data != new.data:
        raise ValueError(
            "warm_start=True goes on with the same data, and this data is different: X, y, the "
            "weights, or the rows held out for validation (n_iter_no_change alone holds out a "
            "tenth). Set warm_start=False to start anew."
        )
    names = old.parameters.keys() & new.parameters.keys()
    changed = sorted(name for name in names if old.parameters[name] != new.parameters[name])
    if changed:
        raise ValueError(
            f"warm_start=True goes on with the same parameters, and {changed} changed since the "
            f"last fit. Only {sorted(MAY_CHANGE)} may change."
        )


def describe(value: Any, depth: int = _DEPTH) -> str:
    """Return a text for a parameter's value that is the same for an equal one elsewhere."""
    inside = functools.partial(describe, depth=depth - 1)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, functools.partial):
        value = value.func, value.args, value.keywords
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        return f"{value.__module__}.{value.__qualname__}"
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    # What was drawn from a generator is the key of the path.
    if isinstance(value, np.random.RandomState) or depth == 0:
        return name
    if isinstance(value, np.ndarray):
        return f"{name}({value.tolist()})"
    if isinstance(value, list | tuple | set | frozenset):
        texts = map(inside, value)
        return f"{name}({', '.join(texts if isinstance(value, list | tuple) else sorted(texts))})"
    if isinstance(value, dict):
        items = sorted(f"{inside(key)}: {inside(item)}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    is_part = isinstance(value, BaseEstimator)
    held = value.get_params(deep=False) if is_part else getattr(value, "__dict__", {})
    return f"{name}({', '.join(f'{key}={inside(item)}' for key, item in held.items())})"


def write(path: str | os.PathLike[str], trace: Trace, key: int, identity: Identity) -> None:
    """Write a path and the key of its draws to a file, which is there in full or as before."""
    atoms = trace.atoms
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "key": int(key),
        **asdict(identity),
        "endings": [ending and ending.name for ending in trace.endings],
        "is_shared": trace.is_shared,
        "atoms": type(atoms).__name__,
        "shape": [int(size) for size in atoms.shape],
    }
    names = _PLACES if sparse.issparse(atoms) else ()
    arrays = {name: getattr(atoms, name) for name in names} or {"atoms": atoms}
    for name in _FIELDS:
        values = [getattr(step, name) for step in trace]
        parts = [np.ravel([] if value is None else value) for value in values]
        arrays[name] = np.concatenate(parts) if parts else np.zeros(0)
        arrays[f"n_{name}"] = np.array([len(part) for part in parts], dtype=np.intp)
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with writing(path) as file:
        np.savez(file, header=text, start=trace.start, entered=trace.entered, **arrays)


def read(path: str | os.PathLike[str], identity: Identity) -> tuple[Trace, int]:
    """Read a path and its key; a file of something else, or a damaged one, is a ValueError."""
    content = Path(path).read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if (damaged := archive.testzip()) is not None:
                raise ValueError(f"{damaged} is damaged")
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = dict(file)
        header = json.loads(arrays["header"].tobytes())
        if header["format"] != _FORMAT or header["version"] < _VERSION:
            raise ValueError("a foreign header")
        if header["version"] == _VERSION:
            given = json.dumps(header["data"]), dict(header["parameters"])
            trace, key = _trace(header, arrays), int(header["key"])
    except Exception as error:  # a damaged archive may raise anything
        raise ValueError(
            f"{path} is not a checkpoint of fcgboost, or is damaged ({type(error).__name__}: "
            f"{error}). Delete it to start anew, or name another file."
        ) from error
    if header["version"] > _VERSION:
        raise ValueError(
            f"{path} was written by a later version of fcgboost (format {header['version']}, not "
            f"{_VERSION}). Use that version, or delete the file to start anew."
        )
    _check_identity(path, *given, identity)
    return trace, key


def _check_identity(path: object, data: str, old: dict[str, str], identity: Identity) -> None:
    new, advice = identity.parameters, "Name another file, or delete it to start anew."
    # As texts, in which 1 is neither 1.0 nor True.
    if data != json.dumps(list(identity.data)):
        raise ValueError(
            f"{path} is the checkpoint of a fit to other data: X, y, the weights or the rows held "
            f"out for validation are different. {advice}"
        )
    changed = "; ".join(
        f"{name} was {old.get(name, 'not there')} and is {new.get(name, 'not there')}"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    )
    if changed:
        raise ValueError(
            f"{path} is the checkpoint of a fit with other parameters: {changed}. {advice}"
        )


def _trace(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Trace:
    """Put a path together."""
    n_outputs = len(header["endings"])
    columns = [_split(arrays[name], arrays[f"n_{name}"]) for name in _FIELDS]
    steps = []
    for k, values in enumerate(zip(*columns, strict=True), 1):
        found: dict[str, Any] = dict(zip(_FIELDS, values, strict=True))
        found.update({name: found[name].item() for name in _NUMBERS if len(found[name])})
        if not isinstance(found["validation_score"], float):
            found["validation_score"] = None
        found["coef"] = found["coef"].reshape(n_outputs, -1)
        found["removed"] = found["removed"].reshape(-1, 2)
        for name in ("coef", "intercept"):
            found[name].setflags(write=False)
        steps.append(Step(k, **found))
    atoms: Any = arrays.get("atoms")
    if atoms is None:
        parts = tuple(arrays[name] for name in _PLACES)
        atoms = _SPARSE[header["atoms"]](parts, shape=header["shape"])
        # SciPy may have taken shorter numbers.
        _, atoms.indices, atoms.indptr = parts
    endings = tuple(name and Status[name] for name in header["endings"])
    entered, is_shared = arrays["entered"], bool(header["is_shared"])
    return Trace(tuple(steps), atoms, entered, arrays["start"], endings, is_shared)


def _split(values: NDArray[Any], sizes: NDArray[np.intp]) -> list[NDArray[Any]]:
    if len(values) != sizes.sum():
        raise ValueError("an array of another length")
    return np.split(values, np.cumsum(sizes)[:-1]) if len(sizes) else []


class Writer:
    """A watcher of the loop that writes the path to a file now and then, after another one.

    It writes after the first step, and then for about a hundredth of the time of the fit.
    """

    def __init__(
        self, path: str | os.PathLike[str], start: Start, watcher: Watcher | None = None
    ) -> None:
        self._path, self._start, self._next = Path(path), start, -np.inf
        self._watcher = watcher
        folder = self._path.absolute().parent
        if not folder.is_dir():
            raise ValueError(f"The folder {folder} of the checkpoint {path} does not exist.")
        if self._path.is_dir() or not os.access(folder, os.W_OK):
            raise ValueError(f"The checkpoint {path} cannot be written: name a file elsewhere.")

    def __call__(self, step: Step, path: Callable[[], Trace]) -> Status | None:
        """Write the path if it is time to."""
        ending = self._watcher(step, path) if self._watcher else None
        started = time.perf_counter()
        if started >= self._next:
            self.close(path())
            ended = time.perf_counter()
            self._next = ended + _PAUSE * (ended - started)
        return ending

    def close(self, trace: Trace) -> None:
        """Write the path as it is at the end."""
        write(self._path, trace, self._start.key, self._start.identity)
