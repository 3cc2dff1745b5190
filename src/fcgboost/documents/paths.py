"""A path in a document: per step the coefficients that are there, and what was recorded."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.dictionaries import Dictionary
from fcgboost.documents.atoms import Storage, check_atoms, read_rows, rows_document
from fcgboost.documents.models import read_entered
from fcgboost.documents.spots import Spot, special, specials
from fcgboost.model import Model
from fcgboost.stopping import Status, Step
from fcgboost.trace import Presence, Trace

_STEP = (
    *("chosen", "removed", "scores", "objectives", "intercept", "coef"),
    *("solver_iterations", "residual", "is_corrected", "seconds", "validation_score"),
)


def path_document(trace: Trace, n_iter: int, dictionary: Dictionary) -> dict[str, Any]:
    """Give a path; the atoms after its first `n_iter` steps are in the model already."""
    last = trace[n_iter - 1] if n_iter else None
    gone, n_entered = ([], 0) if last is None else (last.gone.tolist(), last.n_entered)
    others = [*gone, *range(n_entered, len(trace.entered))]
    rows, entered = rows_document(dictionary, trace.atoms[others]), trace.entered[others].tolist()
    presence = Presence(len(trace.start), trace.is_shared)
    return {
        "start": trace.start.tolist(),
        "endings": [None if ending is None else ending.name for ending in trace.endings],
        "is_shared": trace.is_shared,
        "gone": gone,
        "atoms": [{"step": k, **row} for k, row in zip(entered, rows, strict=True)],
        "steps": [_step_document(step, presence) for step in trace],
    }


def _step_document(step: Step, presence: Presence) -> dict[str, Any]:
    chosen, removed = step.chosen.tolist(), step.removed.tolist()
    presence.take(chosen, removed)
    coef = [row[list(own)] for row, own in zip(step.coef, presence.atoms, strict=True)]
    if sum(map(np.count_nonzero, coef)) != np.count_nonzero(step.coef):
        raise ValueError(f"Step {step.k} has coefficients of atoms that nobody chose.")
    score = step.validation_score
    return {
        "chosen": chosen,
        "removed": removed,
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

    One whose atoms or coefficients take more than `max_bytes` in memory is refused: steps of many
    outputs are much larger there than in a document.
    """
    keys = ("start", "endings", "is_shared", "gone", "atoms", "steps")
    start, endings, shared, gone, atoms_spot, steps_spot = spot.fields(*keys)
    n_outputs, dictionary = len(model.intercept), model.dictionary
    others, rest = read_rows(atoms_spot.items(), dictionary, storage, ("step",), max_bytes)
    check_atoms(atoms_spot, dictionary, others, len(model.scale))
    order, n_gone = _read_order(gone, model.n_atoms, len(rest))
    entered = np.concatenate(
        [
            model.entered,
            read_entered([step for (step,) in rest[:n_gone]]),
            read_entered([step for (step,) in rest[n_gone:]], n_iter + 1),
        ]
    )[order]
    known = _read_endings(endings, n_outputs)
    presence = Presence(n_outputs, is_shared := shared.flag())
    steps = _read_steps(steps_spot, presence, len(known), entered, max_bytes)
    if len(steps) < n_iter:
        steps_spot.refuse(f"has {len(steps)} steps, fewer than n_iter, which is {n_iter}")
    stack = sparse.vstack if sparse.issparse(others) else np.vstack
    atoms = stack([model.atoms, others])[order] if rest else model.atoms
    trace = Trace(tuple(steps), atoms, entered, start.reals(n_outputs), known, is_shared)
    _check_same(steps_spot, trace.model(n_iter, model.dictionary, model.scale, model.limits), model)
    return trace


def _read_endings(spot: Spot, n_outputs: int) -> tuple[Status | None, ...]:
    """Give how the outputs ended, of one path after the other where several are averaged."""
    names = [None if s.is_null else s.word(*Status.__members__) for s in spot.items()]
    if not names or len(names) % n_outputs:
        spot.refuse(f"must have an entry for every output of every path: {n_outputs} or a multiple")
    return tuple(None if name is None else Status[name] for name in names)


def _read_order(spot: Spot, n_kept: int, n_others: int) -> tuple[NDArray[np.intp], int]:
    """Give where in the order of entry atoms of the model are, those that left, and later ones."""
    gone = spot.wholes(0, n_kept + n_others)
    n_first = n_kept + len(gone)
    is_growing = all(a < b for a, b in pairwise(gone))
    if not is_growing or len(gone) > n_others or (gone and gone[-1] >= n_first):
        spot.refuse("must name growing places of atoms that entered before the model's last step")
    kept = np.setdiff1d(np.arange(n_first), gone)
    later = np.arange(n_first, n_kept + n_others)
    places = np.concatenate([kept, np.array(gone, dtype=np.intp), later])
    return np.argsort(places), len(gone)


def _read_steps(
    spot: Spot, presence: Presence, n_choices: int, entered: NDArray[np.intp], max_bytes: float
) -> list[Step]:
    """Give the steps; a choice is one of an output of a path."""
    n_outputs, n_entered, n_bytes, steps = len(presence.atoms), 0, 0, []
    for k, step in enumerate(spot.items(), 1):
        fields = dict(zip(_STEP, step.fields(*_STEP), strict=True))
        chosen = fields["chosen"].wholes(-1, len(entered) - 1, n_choices)
        for place in chosen:
            # New atoms come in the order of entry, each at the step that it names itself.
            if place > n_entered or (place == n_entered and entered[place] != k):
                fields["chosen"].refuse("does not fit the steps at which the atoms entered")
            n_entered += place == n_entered
        n_bytes += 8 * n_outputs * n_entered
        if n_bytes > max_bytes:
            spot.refuse("has coefficients that take too much memory: pass a larger max_bytes")
        presence.take(chosen, ())
        removed = _read_removed(fields["removed"], presence)
        steps.append(_read_step(fields, k, (chosen, removed), presence, n_entered))
    if n_entered != len(entered):
        spot.refuse(f"has {n_entered} atoms in its steps, and there are {len(entered)}")
    return steps


def _read_removed(spot: Spot, presence: Presence) -> list[tuple[int, int]]:
    """Give the atoms that left in a step, with their outputs, and let them leave."""
    removed: list[tuple[int, int]] = []
    for pair in spot.items():
        output, place = pair.items(2)
        one = output.whole(0, len(presence.atoms) - 1), place.whole()
        if one in removed or one[1] not in presence.atoms[one[0]]:
            pair.refuse("names an atom that the output does not have")
        removed.append(one)
    # Only now: outputs that share their atoms lose them together.
    for one in removed:
        presence.drop(*one)
    return removed


def _read_step(
    fields: dict[str, Spot],
    k: int,
    changes: tuple[list[int], list[tuple[int, int]]],
    presence: Presence,
    n_entered: int,
) -> Step:
    chosen, removed = changes
    n_outputs = len(presence.atoms)
    coef, intercept = np.zeros((n_outputs, n_entered)), fields["intercept"].reals(n_outputs)
    for row, own, spot in zip(coef, presence.atoms, fields["coef"].items(n_outputs), strict=True):
        row[list(own)] = spot.reals(len(own))
    for values in (coef, intercept):
        values.setflags(write=False)
    score = fields["validation_score"]
    return Step(
        k=k,
        chosen=np.array(chosen, dtype=np.intp),
        scores=fields["scores"].any_reals(len(chosen)),
        objectives=fields["objectives"].any_reals(len(chosen)),
        coef=coef,
        intercept=intercept,
        solver_iterations=fields["solver_iterations"].whole(),
        residual=fields["residual"].any_real(),
        is_corrected=fields["is_corrected"].flag(),
        seconds=float(fields["seconds"].number(0)),
        validation_score=None if score.is_null else score.any_real(),
        removed=np.array(removed, dtype=np.intp).reshape(-1, 2),
        gone=presence.gone(n_entered),
    )


def _check_same(spot: Spot, last: Model, model: Model) -> None:
    """Refuse a path that does not lead to the model."""
    pairs = [(last.coef, model.coef), (last.intercept, model.intercept)]
    if any(a.shape != b.shape or a.tobytes() != b.tobytes() for a, b in pairs):
        spot.refuse("does not lead to the coefficients of the model")
