"""Continue a path: that of the last fit (`warm_start`), or one in a file (`checkpoint`).

The file is NumPy's .npz: plain arrays, a JSON header and a digest; no pickled code.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from fcgboost.calibration import PowerLink
from fcgboost.files import writing
from fcgboost.greedy.loop import Watcher
from fcgboost.greedy.path import Trace
from fcgboost.hashing import Digest
from fcgboost.stopping import Status, Step
from fcgboost.training.settings import MAY_CHANGE, Settings

_FORMAT, _VERSION = "fcgboost checkpoint", 4
# Each field of all steps is stored as one array, and its sizes as another.
_FIELDS = [field.name for field in fields(Step) if field.name != "k"]
_NUMBERS = ("solver_iterations", "residual", "is_corrected", "seconds", "validation_score")
_CSR_ARRAYS = ("data", "indices", "indptr")
# After a write, wait this many times its duration.
_PAUSE = 100.0


@dataclass(frozen=True)
class FitState:
    """What a later fit continues: a path, if any, and what it belongs to.

    That is a digest of the data, the parameters as text, and the seed of all draws.
    """

    data: tuple[int | float | str | bool | None, ...]
    parameters: dict[str, str]
    key: int = 0
    path: Trace | None = None
    l2: float | None = None
    link: PowerLink | None = None


def find_state(
    settings: Settings,
    classes: NDArray[Any],
    digests: Sequence[Digest],
    kind: Sequence[Any],
    last: FitState | None,
) -> FitState:
    """Return the state to continue from: the last fit's, that of a file, or a new one.

    The digests are those of training and validation data; `kind` is the number of columns, whether
    X is sparse, and how a table is read.
    """
    words = [word for digest in digests for word in astuple(digest)]
    data = (*classes.tolist(), *words, *kind, settings.validation_fraction)
    state, file = FitState(data, settings.described), settings.checkpoint
    if last is not None:
        _check_same(last, state)
        return last
    if file is not None and os.path.exists(file):
        trace, key = read(file, state)
        return replace(state, key=key, path=trace)
    return replace(state, key=draw_key(settings.random_state))


def draw_key(random_state: Any) -> int:
    """Return the seed of all draws of a fit."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def _check_same(old: FitState, new: FitState) -> None:
    if old.data != new.data:
        raise ValueError(
            "warm_start=True needs the data of the last fit, but X, y, the weights or the rows "
            "held out for validation (a tenth with n_iter_no_change) are different. Set "
            "warm_start=False to start again."
        )
    names = old.parameters.keys() & new.parameters.keys()
    changed = sorted(name for name in names if old.parameters[name] != new.parameters[name])
    if changed:
        raise ValueError(
            f"warm_start=True needs the parameters of the last fit, but {changed} changed. Only "
            f"{sorted(MAY_CHANGE)} may change."
        )


def write(path: str | os.PathLike[str], trace: Trace, state: FitState) -> None:
    """Write a path and its state to a file, in full or not at all."""
    atoms = trace.atoms
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "key": state.key,
        "data": state.data,
        "parameters": state.parameters,
        "endings": [ending and ending.name for ending in trace.endings],
        "atoms": type(atoms).__name__,
        "shape": atoms.shape,
    }
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    arrays: dict[str, Any] = {"header": text, "start": trace.start, "entered": trace.entered}
    names = _CSR_ARRAYS if sparse.issparse(atoms) else ()
    arrays |= {name: getattr(atoms, name) for name in names} or {"atoms": atoms}
    for name in _FIELDS:
        values = [getattr(step, name) for step in trace]
        parts = [_flat(value) for value in values]
        arrays[name] = np.concatenate(parts) if parts else np.zeros(0)
        arrays[f"n_{name}"] = np.array([len(part) for part in parts], dtype=np.intp)
    last = trace[-1].leaves if len(trace) else ()
    arrays["n_of_leaves"] = np.array([len(own) for own in last], dtype=np.intp)
    with writing(path) as file:
        np.savez(file, **arrays, digest=_digest(arrays))


def _digest(arrays: dict[str, Any]) -> NDArray[np.uint8]:
    """Return a digest of arrays that does not depend on their order."""
    found = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype.str} {array.shape} ".encode() + array.tobytes())
    return np.frombuffer(found.digest(), dtype=np.uint8)


def _flat(value: Any) -> NDArray[Any]:
    """Return a field of a step as one vector; leaves are arrays of different lengths."""
    if isinstance(value, tuple):
        return np.concatenate([np.zeros(0), *value])
    return np.ravel([] if value is None else value)


def read(path: str | os.PathLike[str], state: FitState) -> tuple[Trace, int]:
    """Read a path and the seed of its draws; raise a ValueError unless it fits the state."""
    content = Path(path).read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            # Reading whole members verifies their checksums.
            files = {Path(name).stem: archive.read(name) for name in archive.namelist()}
        arrays = {name: np.load(io.BytesIO(data)) for name, data in files.items()}
        header = json.loads(arrays["header"].tobytes())
        if header["format"] != _FORMAT:
            raise ValueError("a foreign header")
        when = "a later" if header["version"] > _VERSION else "an earlier"
        if is_ours := header["version"] == _VERSION:
            if not np.array_equal(arrays.pop("digest"), _digest(arrays)):
                raise ValueError("its content is not what was written")
            # As text, in which 1 is neither 1.0 nor True.
            is_same = json.dumps(header["data"]) == json.dumps(state.data)
            old, new = dict(header["parameters"]), state.parameters
            trace, key = _trace(header, arrays), int(header["key"])
    except Exception as error:  # a damaged archive may raise anything
        raise ValueError(
            f"{path} is not a checkpoint of fcgboost, or is damaged ({type(error).__name__}: "
            f"{error}). Delete it to start again, or name another file."
        ) from error
    if not is_ours:
        raise ValueError(
            f"{path} was written by {when} version of fcgboost (format {header['version']}, not "
            f"{_VERSION}). Use that version, or delete the file to start again."
        )
    advice = "Name another file, or delete it to start again."
    if not is_same:
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
    return trace, key


def _trace(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Trace:
    n_outputs = len(header["endings"])
    columns = [_split(arrays[name], arrays[f"n_{name}"]) for name in _FIELDS]
    steps = []
    for k, values in enumerate(zip(*columns, strict=True), 1):
        found: dict[str, Any] = dict(zip(_FIELDS, values, strict=True))
        found |= {name: found[name].item() if len(found[name]) else None for name in _NUMBERS}
        found["coef"] = found["coef"].reshape(n_outputs, -1)
        found["removed"] = found["removed"].reshape(-1, 2)
        found["leaves"].setflags(write=False)
        sizes = arrays["n_of_leaves"][: found["coef"].shape[1]]
        found["leaves"] = tuple(_split(found["leaves"], sizes)) if len(found["leaves"]) else ()
        steps.append(Step(k, **found))
    atoms: Any = arrays.get("atoms")
    if atoms is None:
        parts = tuple(arrays[name] for name in _CSR_ARRAYS)
        make = sparse.csr_array if header["atoms"] == "csr_array" else sparse.csr_matrix
        atoms = make(parts, shape=header["shape"])
        # SciPy may have chosen shorter integers.
        _, atoms.indices, atoms.indptr = parts
    endings = tuple(name and Status[name] for name in header["endings"])
    return Trace(tuple(steps), atoms, arrays["entered"], arrays["start"], endings)


def _split(values: NDArray[Any], sizes: NDArray[np.intp]) -> list[NDArray[Any]]:
    return np.split(values, np.cumsum(sizes))[:-1]


class Writer:
    """A watcher of the loop that writes the path to a file now and then, and wraps another.

    It writes after the first step, and then for about a hundredth of the time of the fit.
    """

    def __init__(
        self, path: str | os.PathLike[str], state: FitState, watcher: Watcher | None = None
    ) -> None:
        self._path, self._state, self._watcher = Path(path), state, watcher
        self._next_write = -np.inf
        folder = self._path.absolute().parent
        if not folder.is_dir():
            raise ValueError(f"The folder {folder} of the checkpoint {path} does not exist.")
        if self._path.is_dir() or not os.access(folder, os.W_OK):
            raise ValueError(f"The checkpoint {path} cannot be written: name a file elsewhere.")

    def __call__(self, step: Step, path: Callable[[], Trace]) -> Status | None:
        ending = self._watcher(step, path) if self._watcher else None
        started = time.perf_counter()
        if started >= self._next_write:
            self.close(path())
            ended = time.perf_counter()
            self._next_write = ended + _PAUSE * (ended - started)
        return ending

    def close(self, trace: Trace) -> None:
        """Write the final path."""
        write(self._path, trace, self._state)
