"""From rows on the machines of a crew to a ground for the loop: classes, split, units, targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from fcgboost.backends.calls import Crew
from fcgboost.backends.cluster import ClusterDesign
from fcgboost.backends.moments import add_up, gather_moments
from fcgboost.backends.rows import Survey
from fcgboost.data import check_some_weight
from fcgboost.fitting import Ground, Start, find_start, held_out_fraction
from fcgboost.greedy import Trace
from fcgboost.parameters import Parts
from fcgboost.stopping import Step
from fcgboost.validation import check_labels, class_weights

_BYTES = 8


class CrewValidator:
    """Accuracy on held-out rows of a crew."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._n_atoms = 0

    def __call__(self, step: Step, atoms: Sequence[Any]) -> float:
        """Send the new atoms and all coefficients; add up the hits."""
        new, self._n_atoms = list(atoms[self._n_atoms :]), len(atoms)
        hits, total = add_up(self._crew.call("hits", new, step.coef, step.intercept))
        return float(hits / total)


def lay_ground(
    p: Any, parts: Parts, crew: Crew, has_validation_data: bool, known: Start | None
) -> tuple[Ground, Start]:
    """Prepare the rows of a crew for a path.

    Parameters
    ----------
    p : DaskFCGBoostClassifier
    parts : Parts
    crew : Crew
    has_validation_data : bool
    known : Start or None
        Where the path starts, if that was found before.
    """
    classes, survey = _find_classes(crew)
    crew.call("encode", classes)
    fraction = held_out_fraction(p, has_validation_data)
    start = known
    if start is None:
        train, held_out = (_known(some) for some in zip(*crew.call("digest"), strict=True))
        kind = (survey.n_features, fraction, survey.is_sparse)
        judges = add_up(held_out) if held_out else None
        start = find_start(p, classes, add_up(train), judges, kind)
    if fraction is not None:
        _set_aside(crew, len(classes), fraction, start.key)
    totals = add_up(crew.call("class_totals", len(classes)))
    per_class = class_weights(p.class_weight, classes, np.arange(len(classes)), totals)
    moments = gather_moments(lambda *question: add_up(crew.call("add_up", per_class, *question)))
    budget = int(sklearn.get_config()["working_memory"] * 2**20)
    dictionary, standardize = parts.dictionary, bool(p.standardize)
    n_rows = sum(crew.call("lay", dictionary, moments, per_class, standardize, budget))
    design = ClusterDesign(crew, dictionary, moments, standardize, n_rows)
    positives = [1] if len(classes) == 2 else range(len(classes))
    targets = [design.target(positive) for positive in positives]
    has_validator = has_validation_data or fraction is not None
    validator = CrewValidator(crew) if has_validator else None
    return Ground(classes, design, targets, validator), start


def _find_classes(crew: Crew) -> tuple[NDArray[Any], Survey]:
    """Give the classes of all rows of positive weight, and what else was seen."""
    training, held_out = (_known(some) for some in zip(*crew.call("survey"), strict=True))
    check_some_weight(np.array([float(s.n_rows) for s in training]), "sample_weight")
    found: Survey = add_up(training)
    classes, _ = check_labels(found.labels)
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class ({classes.tolist()[0]!r}) among the rows of positive weight; a "
            "classifier needs at least two classes."
        )
    if held_out:
        unknown = sorted(set(add_up(held_out).labels.tolist()) - set(classes.tolist()))
        if unknown:
            raise ValueError(
                f"y_val has labels that y does not have: {unknown}. The training labels are "
                f"{classes.tolist()}."
            )
    return classes, found


def _known(answers: Sequence[Any]) -> list[Any]:
    return [answer for answer in answers if answer is not None]


def _set_aside(crew: Crew, n_classes: int, fraction: float, key: int) -> None:
    """Set rows aside for validation, as `data.hash_split` does, without looking at them here.

    Of every class those with the smallest hashes go. The last one that goes is found byte by byte.
    """
    last = np.zeros(n_classes, dtype=np.uint64)
    before, wanted = np.zeros(n_classes), np.zeros(n_classes)
    largest = np.zeros(n_classes, dtype=np.uint64)
    for n_known in range(_BYTES):
        replies = crew.call("histogram", key, last, n_known)
        counts = add_up([reply[0] for reply in replies])
        if n_known == 0:
            wanted = fraction * counts.sum(axis=1)
            largest = np.max([reply[1] for reply in replies], axis=0)
        through = before[:, None] + np.cumsum(counts, axis=1)
        # Sums in another order may miss what is wanted by rounding: then it is the last of them.
        reached = through >= wanted[:, None]
        reached[:, -1] = True
        byte = np.argmax(reached, axis=1)
        before = (through - counts)[np.arange(n_classes), byte]
        last |= byte.astype(np.uint64) << np.uint64(56 - 8 * n_known)
    # Every class keeps its last distinct row for training.
    last = np.minimum(last, largest - np.uint64(1))
    if not crew.call("set_aside", key, last):
        raise ValueError(
            f"validation_fraction={fraction} leaves no row for validation: every class keeps at "
            "least one distinct row for training."
        )


def going_on(start: Start, trace: Trace | None) -> Start:
    """Give the start of a path that was interrupted after some steps."""
    return start if trace is None else Start(start.identity, start.key, trace)
