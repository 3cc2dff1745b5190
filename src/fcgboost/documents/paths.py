"""Paths in a document: the coefficients and the record of each step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fcgboost.arrays import Array
from fcgboost.dictionaries import TreeDictionary
from fcgboost.documents.checking import (
    JsonObject,
    Memory,
    numbers,
    refuse,
    sized,
    special,
)
from fcgboost.documents.schema import PathRecord, StepRecord
from fcgboost.greedy.path import AtomsByOutput, Trace, removed_atoms
from fcgboost.model import Model
from fcgboost.stopping import Status, Step


def path_document(trace: Trace) -> JsonObject:
    """Return a path without its atoms."""
    presence = AtomsByOutput(len(trace.start))
    return {
        "start": trace.start.tolist(),
        "endings": [None if ending is None else ending.name for ending in trace.endings],
        "steps": [
            _step_document(step, trace[i - 1] if i else None, presence)
            for i, step in enumerate(trace)
        ],
        "metrics": {
            rows: {name: list(map(special, values)) for name, values in by_name.items()}
            for rows, by_name in trace.metrics.items()
        },
    }


def with_all_atoms(model: Model, trace: Trace, n_iter: int) -> Model:
    """Return the model after n_iter steps with all atoms of its path, others of coefficient zero.

    Of trees whose leaves are corrected, those that entered later have leaves of zero.
    """
    atoms = trace.atoms
    coef = np.zeros((len(model.intercept), len(trace.entered)))
    step = trace.after(n_iter)
    if step is not None:
        n_entered = step.n_entered
        coef[:, :n_entered] = step.coef
        if model.dictionary.corrects_leaves:
            atoms = atoms.copy()
            atoms[:n_entered] = model.atoms
    return replace(
        model,
        atoms=atoms,
        coef=coef,
        entered=trace.entered,
    )


def _step_document(step: Step, previous: Step | None, presence: AtomsByOutput) -> JsonObject:
    chosen = step.chosen.tolist()
    removed = step.removed.tolist()
    presence.take(chosen, removed)
    coef = [row[list(atoms)] for row, atoms in zip(step.coef, presence.atoms, strict=True)]
    if sum(map(np.count_nonzero, coef)) != np.count_nonzero(step.coef):
        raise ValueError(f"Step {step.k} has coefficients of atoms that no output chose.")
    score = step.validation_score
    old_leaves = () if previous is None else previous.leaves
    n_same = sum(new is old for new, old in zip(step.leaves, old_leaves, strict=False))
    return {
        "k": int(step.k),
        "chosen": chosen,
        "removed": removed,
        "scores": list(map(special, step.scores)),
        "objectives": list(map(special, step.objectives)),
        "intercept": step.intercept.tolist(),
        "coef": [row.tolist() for row in coef],
        "solver_iterations": int(step.solver_iterations),
        "residual": special(step.residual),
        "is_corrected": bool(step.is_corrected),
        "seconds": float(step.seconds),
        "validation_score": None if score is None else special(score),
        "leaves": [values.tolist() for values in step.leaves[n_same:]],
    }


def read_path(
    path: PathRecord,
    whole: Model,
    n_iter: int,
    memory: Memory,
    place: str,
) -> tuple[Trace, Model]:
    """Return a path, and the model after its first `n_iter` steps.

    The whole model has all atoms of the path. In memory, steps of many outputs are much larger than
    in a document.
    """
    dictionary = whole.dictionary
    n_outputs = len(whole.intercept)
    endings = sized(path.endings, n_outputs, f"{place}.endings")
    steps = _read_steps(
        path,
        whole,
        memory,
        place,
    )
    trace = Trace(
        steps=tuple(steps),
        atoms=dictionary.bare(whole.atoms),
        entered=whole.entered,
        start=numbers(path.start, n_outputs, f"{place}.start"),
        endings=tuple(None if name is None else Status[name] for name in endings),
        metrics={
            rows: {
                name: numbers(values, len(steps), f"{place}.metrics")
                for name, values in by_name.items()
            }
            for rows, by_name in path.metrics.items()
        },
    )
    if trace.n_steps < n_iter:
        refuse(f"{place}.steps", f"ends after step {trace.n_steps}, but n_iter is {n_iter}")
    model = trace.model(
        n_iter,
        dictionary,
        whole.scale,
        whole.limits,
    )
    expected = with_all_atoms(model, trace, n_iter)
    pairs = [(expected.coef, whole.coef), (expected.intercept, whole.intercept)]
    if dictionary.corrects_leaves:
        pairs.append((expected.atoms, whole.atoms))
    if any(a.tobytes() != b.tobytes() for a, b in pairs):
        refuse(f"{place}.steps", "does not lead to the coefficients of the model")
    return trace, model


def _read_steps(path: PathRecord, whole: Model, memory: Memory, place: str) -> list[Step]:
    place += ".steps"
    entered = whole.entered
    n_outputs = len(whole.intercept)
    presence = AtomsByOutput(n_outputs)
    sizes = _leaf_counts(whole)
    leaves: tuple[Array, ...] = ()
    n_entered = 0
    last = 0
    steps = []
    for i, record in enumerate(path.steps):
        step_place = f"{place}[{i}]"
        if record.k <= last:
            refuse(f"{step_place}.k", f"must be at least {last + 1}, got {record.k}")
        # A record stands for all steps since the last one.
        n_choices = n_outputs * (record.k - last)
        for number, atom in enumerate(sized(record.chosen, n_choices, f"{step_place}.chosen")):
            # New atoms come in order of entry, each at its own step.
            k = last + 1 + number // n_outputs
            is_new = atom == n_entered < len(entered) and entered[atom] == k
            if atom >= n_entered and not is_new:
                refuse(f"{step_place}.chosen", "does not fit the steps at which the atoms entered")
            n_entered += is_new
        last = record.k
        memory.take(8 * (n_outputs * n_entered + sum(map(len, record.leaves))), place)
        presence.take(record.chosen, ())
        _remove(record.removed, presence, step_place)
        leaves = _read_leaves(
            record,
            leaves,
            sizes[:n_entered],
            step_place,
        )
        step = _read_step(
            record,
            presence,
            n_entered,
            step_place,
        )
        steps.append(replace(step, leaves=leaves))
    if n_entered != len(entered):
        refuse(place, f"has {n_entered} atoms, but there are {len(entered)}")
    return steps


def _leaf_counts(whole: Model) -> list[int]:
    """Return how many leaves each tree has; nothing if leaves are not corrected."""
    dictionary = whole.dictionary
    if not isinstance(dictionary, TreeDictionary) or not dictionary.corrects_leaves:
        return []
    return [len(dictionary.leaf_values(row[None])) for row in whole.atoms]


def _read_leaves(
    record: StepRecord,
    previous: tuple[Array, ...],
    sizes: list[int],
    place: str,
) -> tuple[Array, ...]:
    """Return the leaf values of all trees after a step, if leaves are corrected."""
    n_new = len(record.leaves)
    first = len(sizes) - n_new
    if not 0 <= first <= len(previous):
        refuse(f"{place}.leaves", f"has {n_new} trees, but {len(sizes)} have corrected leaves")
    if sizes and record.removed:
        refuse(f"{place}.removed", "removes trees, but leaves are corrected")
    newest = [
        numbers(values, size, f"{place}.leaves")
        for values, size in zip(record.leaves, sizes[first:], strict=True)
    ]
    for values in newest:
        values.setflags(write=False)
    return (*previous[:first], *newest)


def _remove(removed: list[tuple[int, int]], presence: AtomsByOutput, place: str) -> None:
    for i, (output, atom) in enumerate(removed):
        if output >= len(presence.atoms) or atom not in presence.atoms[output]:
            refuse(f"{place}.removed[{i}]", "names an atom that the output does not have")
        del presence.atoms[output][atom]


def _read_step(
    record: StepRecord,
    presence: AtomsByOutput,
    n_entered: int,
    place: str,
) -> Step:
    n_outputs = len(presence.atoms)
    coef = np.zeros((n_outputs, n_entered))
    rows = sized(record.coef, n_outputs, f"{place}.coef")
    for i, (values, atoms) in enumerate(zip(rows, presence.atoms, strict=True)):
        coef[i, list(atoms)] = numbers(values, len(atoms), f"{place}.coef[{i}]")
    score = record.validation_score
    return Step(
        k=record.k,
        chosen=np.array(record.chosen, dtype=np.intp),
        scores=numbers(record.scores, len(record.chosen), f"{place}.scores"),
        objectives=numbers(record.objectives, n_outputs, f"{place}.objectives"),
        coef=coef,
        intercept=numbers(record.intercept, n_outputs, f"{place}.intercept"),
        solver_iterations=record.solver_iterations,
        residual=float(record.residual),
        is_corrected=record.is_corrected,
        seconds=record.seconds,
        validation_score=None if score is None else float(score),
        removed=np.array(record.removed, dtype=np.intp).reshape(-1, 2),
        removed_atoms=removed_atoms(n_entered, presence.atoms),
    )
