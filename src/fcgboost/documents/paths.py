"""A path in a document: per step the coefficients that are there, and what was recorded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.documents.models import Storage, check_atoms, read_entered, read_rows, rows_document
from fcgboost.documents.spots import Spot, special, specials
from fcgboost.model import Model
from fcgboost.stopping import Status, Step
from fcgboost.trace import Trace

_STEP = (
    *("chosen", "scores", "objectives", "intercept", "coef"),
    *("solver_iterations", "residual", "is_corrected", "seconds", "validation_score"),
)


class _Owners:
    """Which atoms each output has chosen so far: only these have coefficients."""

    def __init__(self, n_outputs: int) -> None:
        self.own: list[list[int]] = [[] for _ in range(n_outputs)]
        self._seen: list[set[int]] = [set() for _ in range(n_outputs)]

    def take(self, chosen: list[int]) -> None:
        """Note what the outputs chose in a step; -1 is nothing."""
        for place, own, seen in zip(chosen, self.own, self._seen, strict=True):
            if place >= 0 and place not in seen:
                seen.add(place)
                own.append(place)


def path_document(trace: Trace, n_atoms: int) -> dict[str, Any]:
    """Give a path; its first atoms are in the model already."""
    later = rows_document(trace.atoms[n_atoms:])
    entered = trace.entered[n_atoms:].tolist()
    owners = _Owners(len(trace.start))
    return {
        "start": trace.start.tolist(),
        "endings": [None if ending is None else ending.name for ending in trace.endings],
        "atoms": [{"step": k, **row} for k, row in zip(entered, later, strict=True)],
        "steps": [_step_document(step, owners) for step in trace],
    }


def _step_document(step: Step, owners: _Owners) -> dict[str, Any]:
    chosen = step.chosen.tolist()
    owners.take(chosen)
    coef = [row[own] for row, own in zip(step.coef, owners.own, strict=True)]
    if sum(map(np.count_nonzero, coef)) != np.count_nonzero(step.coef):
        raise ValueError(f"Step {step.k} has coefficients of atoms that nobody chose.")
    score = step.validation_score
    return {
        "chosen": chosen,
        "scores": specials(step.scores),
        "objectives": specials(step.objectives),
        "intercept": step.intercept.tolist(),
        "coef": [own.tolist() for own in coef],
        "solver_iterations": int(step.solver_iterations),
        "residual": special(step.residual),
        "is_corrected": bool(step.is_corrected),
        "seconds": float(step.seconds),
        "validation_score": None if score is None else special(score),
    }


def read_path(
    spot: Spot, model: Model, storage: Storage, n_iter: int, max_bytes: float = math.inf
) -> Trace:
    """Give a path whose first `n_iter` steps make up a model.

    One whose coefficients take more than `max_bytes` in memory is refused: steps of many outputs
    are much larger there than in a document.
    """
    start, endings, atoms_spot, steps_spot = spot.fields("start", "endings", "atoms", "steps")
    n_outputs = len(model.intercept)
    later, rest = read_rows(atoms_spot.items(), storage, ("step",))
    check_atoms(atoms_spot, model.dictionary, later)
    later_entered = read_entered([step for (step,) in rest], n_iter + 1)
    entered = np.concatenate([model.entered, later_entered])
    steps = _read_steps(steps_spot, n_outputs, entered, max_bytes)
    if len(steps) < n_iter:
        steps_spot.refuse(f"has {len(steps)} steps, fewer than n_iter, which is {n_iter}")
    stack = sparse.vstack if sparse.issparse(later) else np.vstack
    atoms = stack([model.atoms, later]) if len(later_entered) else model.atoms
    names = [None if s.is_null else s.word(*Status.__members__) for s in endings.items(n_outputs)]
    known = tuple(None if name is None else Status[name] for name in names)
    trace = Trace(tuple(steps), atoms, entered, start.reals(n_outputs), known)
    _check_same(steps_spot, trace.model(n_iter, model.dictionary, model.scale, model.limits), model)
    return trace


def _read_steps(
    spot: Spot, n_outputs: int, entered: NDArray[np.intp], max_bytes: float
) -> list[Step]:
    owners, n_atoms, n_bytes, steps = _Owners(n_outputs), 0, 0, []
    for k, step in enumerate(spot.items(), 1):
        fields = dict(zip(_STEP, step.fields(*_STEP), strict=True))
        chosen = fields["chosen"].wholes(-1, len(entered) - 1, n_outputs)
        for place in chosen:
            # New atoms come in the order of entry, each at the step that it names itself.
            if place > n_atoms or (place == n_atoms and entered[place] != k):
                fields["chosen"].refuse("does not fit the steps at which the atoms entered")
            n_atoms += place == n_atoms
        n_bytes += 8 * n_outputs * n_atoms
        if n_bytes > max_bytes:
            spot.refuse("has coefficients that take too much memory: pass a larger max_bytes")
        owners.take(chosen)
        steps.append(_read_step(fields, k, chosen, owners, n_atoms))
    if n_atoms != len(entered):
        spot.refuse(f"has {n_atoms} atoms in its steps, and there are {len(entered)}")
    return steps


def _read_step(
    fields: dict[str, Spot], k: int, chosen: list[int], owners: _Owners, n_atoms: int
) -> Step:
    n_outputs = len(chosen)
    coef, intercept = np.zeros((n_outputs, n_atoms)), fields["intercept"].reals(n_outputs)
    for row, own, spot in zip(coef, owners.own, fields["coef"].items(n_outputs), strict=True):
        row[own] = spot.reals(len(own))
    for values in (coef, intercept):
        values.setflags(write=False)
    score = fields["validation_score"]
    return Step(
        k=k,
        chosen=np.array(chosen, dtype=np.intp),
        scores=fields["scores"].any_reals(n_outputs),
        objectives=fields["objectives"].any_reals(n_outputs),
        coef=coef,
        intercept=intercept,
        solver_iterations=fields["solver_iterations"].whole(),
        residual=fields["residual"].any_real(),
        is_corrected=fields["is_corrected"].flag(),
        seconds=float(fields["seconds"].number(0)),
        validation_score=None if score.is_null else score.any_real(),
    )


def _check_same(spot: Spot, last: Model, model: Model) -> None:
    """Refuse a path that does not lead to the model."""
    pairs = [(last.coef, model.coef), (last.intercept, model.intercept)]
    if any(a.shape != b.shape or a.tobytes() != b.tobytes() for a, b in pairs):
        spot.refuse("does not lead to the coefficients of the model")
