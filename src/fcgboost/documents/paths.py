"""Paths in a document: the coefficients and the record of each step."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.dictionaries import Dictionary, TreeDictionary
from fcgboost.documents.atoms import read_atoms, read_entered, rows_document
from fcgboost.documents.checking import numbers, refuse, sized, special
from fcgboost.documents.schema import Document, PathRecord, StepRecord
from fcgboost.greedy.path import Presence, Trace, gone
from fcgboost.model import Model
from fcgboost.stopping import Status, Step

_PLACE = "$.path"


def path_document(trace: Trace, n_iter: int, dictionary: Dictionary) -> dict[str, Any]:
    """Return a path, without the atoms that the model has after `n_iter` steps."""
    last = trace[n_iter - 1] if n_iter else None
    left, n_entered = ([], 0) if last is None else (last.gone.tolist(), last.n_entered)
    others = [*left, *range(n_entered, len(trace.entered))]
    rows, entered = rows_document(dictionary, trace.atoms[others]), trace.entered[others].tolist()
    presence = Presence(len(trace.start))
    metrics = {
        rows: {name: list(map(special, own[name])) for name in own}
        for rows, own in trace.metrics.items()
    }
    return {
        "start": trace.start.tolist(),
        "endings": [None if ending is None else ending.name for ending in trace.endings],
        "gone": left,
        "atoms": [{"step": k, **row} for k, row in zip(entered, rows, strict=True)],
        "steps": [
            {
                **_step_document(step, presence),
                **_leaves_document(step, trace[k - 1] if k else None),
            }
            for k, step in enumerate(trace)
        ],
        **({"metrics": metrics} if metrics else {}),
    }


def _leaves_document(step: Step, last: Step | None) -> dict[str, Any]:
    """Return the leaf values that differ from the last step, if there are leaves."""
    if not step.leaves:
        return {}
    before = () if last is None else last.leaves
    n_same = sum(own is old for own, old in zip(step.leaves, before, strict=False))
    return {"leaves": [own.tolist() for own in step.leaves[n_same:]]}


def _step_document(step: Step, presence: Presence) -> dict[str, Any]:
    chosen, removed = step.chosen.tolist(), step.removed.tolist()
    presence.take(chosen, removed)
    coef = [row[list(own)] for row, own in zip(step.coef, presence.atoms, strict=True)]
    if sum(map(np.count_nonzero, coef)) != np.count_nonzero(step.coef):
        raise ValueError(f"Step {step.k} has coefficients of atoms that no output chose.")
    score = step.validation_score
    return {
        "chosen": chosen,
        "removed": removed,
        "scores": list(map(special, step.scores)),
        "objectives": list(map(special, step.objectives)),
        "intercept": step.intercept.tolist(),
        "coef": [own.tolist() for own in coef],
        "solver_iterations": int(step.solver_iterations),
        "residual": special(step.residual),
        "is_corrected": bool(step.is_corrected),
        "seconds": float(step.seconds),
        "validation_score": None if score is None else special(score),
    }


def read_path(
    document: Document, path: PathRecord, model: Model, max_bytes: float
) -> tuple[Trace, Model]:
    """Return the path of a document, and the model after its first `n_iter` steps.

    Atoms or coefficients of more than `max_bytes` are refused: in memory, steps of many outputs are
    much larger than in a document.
    """
    n_iter, n_outputs, n_gone = document.n_iter, len(model.intercept), len(path.gone)
    place = f"{_PLACE}.atoms"
    others = read_atoms(path.atoms, document, model.dictionary, place, max_bytes)
    order = _read_order(path.gone, model.n_atoms, len(path.atoms))
    left = read_entered(path.atoms[:n_gone], place)
    later = read_entered(path.atoms, place, n_gone, n_iter + 1)
    entered = np.array([*model.entered, *left, *later], dtype=np.intp)[order]
    if len(path.endings) % n_outputs:
        refuse(f"{_PLACE}.endings", f"must have {n_outputs} entries, or a multiple of that")
    stack = sparse.vstack if sparse.issparse(others) else np.vstack
    atoms = stack([model.atoms, others])[order] if path.atoms else model.atoms
    steps = _read_steps(path, n_outputs, entered, max_bytes)
    if len(steps) < n_iter:
        refuse(f"{_PLACE}.steps", f"has {len(steps)} entries, but n_iter is {n_iter}")
    steps = _with_leaves(steps, path, model.dictionary, atoms, max_bytes)
    if isinstance(model.dictionary, TreeDictionary) and model.dictionary.corrects_leaves:
        atoms = model.dictionary.bare(atoms)
    trace = Trace(
        steps=tuple(steps),
        atoms=atoms,
        entered=entered,
        start=numbers(path.start, n_outputs, f"{_PLACE}.start"),
        endings=tuple(None if name is None else Status[name] for name in path.endings),
        metrics={
            rows: {name: numbers(own[name], len(steps), f"{_PLACE}.metrics") for name in own}
            for rows, own in (path.metrics or {}).items()
        },
    )
    last = trace.model(n_iter, model.dictionary, model.scale, model.limits)
    pairs = [(last.coef, model.coef), (last.intercept, model.intercept)]
    if model.dictionary.corrects_leaves:
        pairs.append((last.atoms, model.atoms))
    if any(a.shape != b.shape or a.tobytes() != b.tobytes() for a, b in pairs):
        refuse(f"{_PLACE}.steps", "does not lead to the coefficients of the model")
    return trace, last


def _read_order(gone: list[int], n_kept: int, n_others: int) -> NDArray[np.intp]:
    """Return the order of entry of the model's atoms, the removed ones and the later ones."""
    n_first, n_all = n_kept + len(gone), n_kept + n_others
    if len(gone) > n_others or any(a >= b for a, b in pairwise([*gone, n_first])):
        refuse(f"{_PLACE}.gone", "must have increasing places before the model's last atom")
    kept = np.setdiff1d(np.arange(n_first), gone)
    places = np.concatenate([kept, np.array(gone, dtype=np.intp), np.arange(n_first, n_all)])
    return np.argsort(places)


def _read_steps(
    path: PathRecord, n_outputs: int, entered: NDArray[np.intp], max_bytes: float
) -> list[Step]:
    presence, n_choices = Presence(n_outputs), len(path.endings)
    n_entered, n_bytes, steps, left = 0, 0, [], np.zeros(0, dtype=np.intp)
    for k, step in enumerate(path.steps, 1):
        place = f"{_PLACE}.steps[{k - 1}]"
        chosen = sized(step.chosen, n_choices, f"{place}.chosen")
        for atom in chosen:
            # New atoms come in order of entry, each at its own step.
            is_new = atom == n_entered < len(entered) and entered[atom] == k
            if atom >= n_entered and not is_new:
                refuse(f"{place}.chosen", "does not fit the steps at which the atoms entered")
            n_entered += is_new
        n_bytes += 8 * n_outputs * n_entered
        if n_bytes > max_bytes:
            refuse(f"{_PLACE}.steps", "takes too much memory: pass a larger max_bytes")
        presence.take(chosen, ())
        _remove(step.removed, presence, place)
        if step.removed or len(left):
            left = gone(n_entered, presence.atoms)
        steps.append(replace(_read_step(step, k, presence, n_entered, place), gone=left))
    if n_entered != len(entered):
        refuse(f"{_PLACE}.steps", f"has {n_entered} atoms, but there are {len(entered)}")
    return steps


def _with_leaves(
    steps: list[Step], path: PathRecord, dictionary: Dictionary, atoms: Any, max_bytes: float
) -> list[Step]:
    """Return steps with their leaf values, if leaves are corrected."""
    if not isinstance(dictionary, TreeDictionary) or not dictionary.corrects_leaves:
        if any(record.leaves for record in path.steps):
            refuse(f"{_PLACE}.steps", "has leaves, but the dictionary does not correct them")
        return steps
    sizes = [len(dictionary.leaf_values(atoms[j : j + 1])) for j in range(len(atoms))]
    leaves: tuple[NDArray[np.float64], ...] = ()
    found, n_bytes = [], 0
    for step, record in zip(steps, path.steps, strict=True):
        place, new = f"{_PLACE}.steps[{step.k - 1}].leaves", record.leaves or []
        first = step.n_entered - len(new)
        if len(step.removed):
            refuse(f"{_PLACE}.steps", "removes trees, but leaves are corrected")
        if not 0 <= first <= len(leaves):
            refuse(place, f"has {len(new)} trees, but there are {step.n_entered}")
        wanted = sizes[first : step.n_entered]
        n_bytes += 8 * sum(wanted)
        if n_bytes > max_bytes:
            refuse(f"{_PLACE}.steps", "takes too much memory: pass a larger max_bytes")
        own = [numbers(values, n, place) for values, n in zip(new, wanted, strict=True)]
        for values in own:
            values.setflags(write=False)
        leaves = (*leaves[:first], *own)
        found.append(replace(step, leaves=leaves))
    return found


def _remove(removed: list[tuple[int, int]], presence: Presence, place: str) -> None:
    for i, (output, atom) in enumerate(removed):
        if output >= len(presence.atoms) or atom not in presence.atoms[output]:
            refuse(f"{place}.removed[{i}]", "names an atom that the output does not have")
        del presence.atoms[output][atom]


def _read_step(step: StepRecord, k: int, presence: Presence, n_entered: int, place: str) -> Step:
    n_outputs, n_choices = len(presence.atoms), len(step.chosen)
    coef, rows = np.zeros((n_outputs, n_entered)), sized(step.coef, n_outputs, f"{place}.coef")
    for i, (values, own) in enumerate(zip(rows, presence.atoms, strict=True)):
        coef[i, list(own)] = numbers(values, len(own), f"{place}.coef[{i}]")
    intercept = numbers(step.intercept, n_outputs, f"{place}.intercept")
    return Step(
        k=k,
        chosen=np.array(step.chosen, dtype=np.intp),
        scores=numbers(step.scores, n_choices, f"{place}.scores"),
        objectives=numbers(step.objectives, n_choices, f"{place}.objectives"),
        coef=coef,
        intercept=intercept,
        solver_iterations=step.solver_iterations,
        residual=float(step.residual),
        is_corrected=step.is_corrected,
        seconds=step.seconds,
        validation_score=None if step.validation_score is None else float(step.validation_score),
        removed=np.array(step.removed, dtype=np.intp).reshape(-1, 2),
    )
