"""From rows on the machines of a crew laid out for the loop: classes, split, units, targets."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from fcgboost.backends.calls import Crew
from fcgboost.backends.cluster import ClusterDesign
from fcgboost.backends.moments import add_up, gather_moments
from fcgboost.backends.rows import Survey
from fcgboost.clipping import zeros_in
from fcgboost.stopping import Step
from fcgboost.training.checks import check_labels, class_weights
from fcgboost.training.dataset import check_some_weight
from fcgboost.training.fit import Layout
from fcgboost.training.resume import Identity, Start, find_start, identify
from fcgboost.training.settings import Settings

_BYTES = 8


class CrewValidator:
    """Accuracy on held-out rows of a crew."""

    def __init__(self, crew: Crew, heaviest: float) -> None:
        self._crew = crew
        self._heaviest = heaviest
        self._n_atoms = 0

    def __call__(self, step: Step, atoms: Sequence[Any]) -> float:
        """Send the new atoms and all coefficients; add up the hits."""
        new, self._n_atoms = list(atoms[self._n_atoms :]), len(atoms)
        question = (new, step.coef, step.intercept, self._heaviest)
        misses, hits = add_up(self._crew.call("hits", *question)).whole()
        return float(hits / (misses + hits))


def lay_out(
    settings: Settings,
    crew: Crew,
    has_validation_data: bool,
    starts: list[Start],
    last: Start | None = None,
) -> Layout:
    """Prepare the rows of a crew for a path.

    Parameters
    ----------
    settings : Settings
    crew : Crew
    has_validation_data : bool
    starts : list of Start
        Where the path starts is the last of them. If there is none yet, it is found and added as
        soon as the rows are known, so that it is not found twice if a machine is lost after that.
    """
    classes, survey = _find_classes(crew, has_validation_data)
    crew.call("encode", classes)
    fraction = settings.validation_fraction
    kind = (survey.n_features, fraction, survey.is_sparse)
    identity = _identity(crew, classes, kind, settings.described)
    if not starts:
        starts.append(find_start(identity, last, settings.checkpoint, settings.random_state))
    elif starts[-1].identity.data != identity.data:
        raise RuntimeError(
            "The partitions gave other rows when they were loaded again. They must be the same "
            "every time: set seeds, leave files alone, or persist the collection."
        )
    if fraction is not None:
        _set_aside(crew, len(classes), fraction, starts[-1].key, survey.heaviest)
    exact = add_up(crew.call("class_totals", len(classes), survey.heaviest))
    per_class = class_weights(settings.class_weight, classes, exact.value)

    def ask(*question: Any) -> Any:
        return add_up(crew.call("add_up", per_class, *question))

    moments, limits, clipped = gather_moments(ask), None, settings.clip
    if clipped is not None:
        limits = moments.limits(clipped, ask(zeros_in))
        limits = limits.without(settings.dictionary.categories(survey.n_features))
        crew.call("clip", limits)
        moments = gather_moments(ask)
    budget = int(sklearn.get_config()["working_memory"] * 2**20)
    dictionary, standardize = settings.dictionary, settings.standardize
    n_rows = sum(crew.call("lay", dictionary, moments, per_class, standardize, budget))
    design = ClusterDesign(crew, dictionary, moments, standardize, n_rows)
    positives = [1] if len(classes) == 2 else range(len(classes))
    targets = [design.target(positive) for positive in positives]
    has_validator = has_validation_data or fraction is not None
    validator = CrewValidator(crew, survey.heaviest) if has_validator else None
    return Layout(classes, design, targets, validator, limits)


def _identity(
    crew: Crew, classes: NDArray[Any], kind: tuple[int, float | None, bool], words: dict[str, str]
) -> Identity:
    """Return what says whether data is the same, however it is partitioned."""
    train, held_out = (_known(some) for some in zip(*crew.call("digest"), strict=True))
    return identify(classes, add_up(train), add_up(held_out) if held_out else None, kind, words)


def _find_classes(crew: Crew, has_validation_data: bool) -> tuple[NDArray[Any], Survey]:
    """Return the classes of all rows of positive weight, and what else was seen."""
    training, held_out = (_known(some) for some in zip(*crew.call("survey"), strict=True))
    check_some_weight(np.array([float(s.n_rows) for s in training]), "sample_weight")
    found: Survey = add_up(training)
    classes, _ = check_labels(found.labels)
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class ({classes.tolist()[0]!r}) among the rows of positive weight; a "
            "classifier needs at least two classes."
        )
    if has_validation_data:
        weights = np.array([float(s.n_rows) for s in held_out])
        check_some_weight(weights, "sample_weight_val")
        unknown = sorted(set(add_up(held_out).labels.tolist()) - set(classes.tolist()))
        if unknown:
            raise ValueError(
                f"y_val has labels that y does not have: {unknown}. The training labels are "
                f"{classes.tolist()}."
            )
        heaviest = max(found.heaviest, add_up(held_out).heaviest)
        found = replace(found, heaviest=heaviest)
    return classes, found


def _known(answers: Sequence[Any]) -> list[Any]:
    return [answer for answer in answers if answer is not None]


def _set_aside(crew: Crew, n_classes: int, fraction: float, key: int, heaviest: float) -> None:
    """Set rows aside for validation, as `dataset.hash_split` does, without looking at them here.

    Of every class those with the smallest hashes go. The last one that goes is found byte by byte.
    """
    last, largest = np.zeros((2, n_classes), dtype=np.uint64)
    before, wanted = [0] * n_classes, [0.0] * n_classes
    for n_known in range(_BYTES):
        replies = crew.call("histogram", key, last, n_known, heaviest)
        counts = add_up([reply[0] for reply in replies]).whole()
        if n_known == 0:
            largest = np.max([reply[1] for reply in replies], axis=0)
        for c in range(n_classes):
            mine = counts[256 * c : 256 * (c + 1)]
            if n_known == 0:
                wanted[c] = fraction * float(sum(mine))
            # The byte at which so much is reached; the last one of all if rounding hides it.
            through = list(itertools.accumulate(mine, initial=before[c]))[1:]
            byte = next((i for i, n in enumerate(through) if n >= wanted[c]), 255)
            before[c] = through[byte] - mine[byte]
            last[c] |= np.uint64(byte << (56 - 8 * n_known))
    # Every class keeps its last distinct row for training.
    last = np.minimum(last, largest - np.uint64(1))
    if not crew.call("set_aside", key, last):
        raise ValueError(
            f"validation_fraction={fraction} leaves no row for validation: every class keeps at "
            "least one distinct row for training."
        )
