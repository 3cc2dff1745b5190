"""Learned atoms against random ones: how many are needed for the same accuracy.

All paths have ReLU atoms, the same ridge 0.1 / sqrt(m) and up to 5 k0 steps. A random path sets a
goal on the validation part, which it first reaches after K_random steps; another path's K is the
least number of steps with which it reaches that goal on the same rows. Nothing looks at the test
part but the accuracies that are reported. The goal is the best accuracy along the random path, or
that less one standard error, or the best of a steadier score. The best of a noisy curve is hard to
reach for any other: a random path with another seed shows how hard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcgboost import FCGBoostClassifier, ReluDictionary, theory_steps
from fcgboost.experiments.base import Experiment, Preset, Row, Split, Unit, Value
from fcgboost.experiments.protocol import Data, seed_of
from fcgboost.experiments.uci import SETS, UciUnit, deal, missing_sets

Array = NDArray[np.float64]

#: The ridge times sqrt(m).
STRENGTH = 0.1
CLIP = 4.0
#: What a unit of the squared hinge counts beside the accuracy in the steadier score.
LOSS_SHARE = 0.5
#: Rows of the largest set that are used.
MOST_ROWS = 20_000


class Way(NamedTuple):
    """How a path gets its atoms."""

    dictionary: ReluDictionary
    selection: str
    seed_shift: int = 0


#: Learned atoms are scaled to a maximum of 1, on which the same ridge
#: acts otherwise than on random ones as they are drawn, so there are random ones so scaled as well.
WAYS: Mapping[str, Way] = {
    "random": Way(ReluDictionary(), "sampled"),
    "again": Way(ReluDictionary(), "sampled", 1),
    "scaled": Way(ReluDictionary(scaling="max"), "sampled"),
    "learned": Way(ReluDictionary(), "learned"),
}
#: The paths that set a goal.
GOALS = ("random", "scaled")
CRITERIA = ("accuracy", "one_error", "steadied")


class Extent(NamedTuple):
    """What a preset runs; a row limit of 0 is none but that of the largest set."""

    repetitions: int
    row_limit: int = 0


EXTENTS: Mapping[Preset, Extent] = {
    "quick": Extent(1, row_limit=400),
    "standard": Extent(5),
    "full": Extent(10),
}


@dataclass(frozen=True)
class AtomsUnit(Unit):
    """One random split of one set."""

    dataset: str
    repetition: int
    row_limit: int


class Atoms(Experiment[AtomsUnit]):
    """The least number of learned atoms that are as good as random ones."""

    name = "atoms"
    title = "Learned atoms against random ones"
    about = (
        "ReLU atoms that are improved before they enter, against the best of 128 random ones in "
        "every step: the least number of atoms with which the validation part is as good. Not in "
        "the paper."
    )
    unit_type = AtomsUnit
    results = (
        *("goal", "criterion", "way", "k", "score", "test_accuracy"),
        *("own_k", "own_score", "own_test_accuracy", "n_train"),
    )
    in_all = False

    def units(self, preset: Preset, split: Split | None) -> list[AtomsUnit]:
        """Declare the splits: whole repetitions first, to be of use early."""
        extent = EXTENTS[preset]
        return [
            AtomsUnit(dataset, repetition, limit_of(dataset, extent.row_limit))
            for repetition in range(extent.repetitions)
            for dataset in SETS
        ]

    def run(self, unit: AtomsUnit) -> list[Row]:
        """Fit the paths, and look when each reaches the goal."""
        place = UciUnit(unit.dataset, "", "random", unit.repetition, "thinned", unit.row_limit)
        data, seed = deal(place), seed_of(unit.dataset, unit.repetition)
        curves = {name: follow(way, data, seed) for name, way in WAYS.items()}
        return [
            unit.row(goal=goal, criterion=criterion, n_train=len(data.y), **found)
            for goal in GOALS
            for criterion in CRITERIA
            for found in _comparisons(curves, goal, criterion)
        ]

    def cost(self, unit: AtomsUnit) -> float:
        """Estimate from the number of rows."""
        return 1.0 if unit.dataset in SETS[:5] or 0 < unit.row_limit < MOST_ROWS else 5.0

    def obstacle(self, units: Sequence[AtomsUnit]) -> str | None:
        """Say which sets are not there."""
        return missing_sets(list(dict.fromkeys(unit.dataset for unit in units)))


def limit_of(dataset: str, limit: int) -> int:
    """Give how many rows of a set are used; 0 is all."""
    return limit or (MOST_ROWS if dataset == SETS[-1] else 0)


class Curve(NamedTuple):
    """Scores on the validation part by criterion, and accuracies on the test part, step by step.

    The error is the standard error of the best accuracy on the validation part.
    """

    scores: Mapping[str, Array]
    test_accuracy: Array
    error: float


def follow(way: Way, data: Data, seed: int) -> Curve:
    """Fit a path, and judge every step."""
    m = len(data.y)
    classifier = FCGBoostClassifier(
        way.dictionary,
        selection=way.selection,
        l2=STRENGTH / float(np.sqrt(m)),
        clip=CLIP,
        max_iter=5 * theory_steps(m),
        random_state=(seed + way.seed_shift) % 2**32,
    ).fit(data.X, data.y)
    accuracies, losses, tests = [], [], []
    stages = (classifier.staged_decision_function(X) for X in (data.X_val, data.X_test))
    for on_validation, on_test in zip(*stages, strict=True):
        accuracies.append(accuracy_of(on_validation, data.y_val))
        losses.append(np.mean(np.maximum(0.0, 1.0 - data.y_val * on_validation) ** 2))
        tests.append(accuracy_of(on_test, data.y_test))
    accuracy = np.array(accuracies)
    steadied = accuracy - LOSS_SHARE * np.array(losses)
    scores = {"accuracy": accuracy, "one_error": accuracy, "steadied": steadied}
    best = float(accuracy.max())
    error = float(np.sqrt(best * (1.0 - best) / len(data.y_val)))
    return Curve(scores, np.array(tests), error)


def accuracy_of(decision: Array, y: Array) -> float:
    """Give the share of labels -1 and +1 that a decision value above 0 gets right."""
    return float(np.mean((decision > 0.0) == (y > 0.0)))


def _comparisons(
    curves: Mapping[str, Curve], goal: str, criterion: str
) -> Iterator[dict[str, Value]]:
    wanted = float(curves[goal].scores[criterion].max())
    wanted -= curves[goal].error if criterion == "one_error" else 0.0
    for name, curve in curves.items():
        scores, tests = curve.scores[criterion], curve.test_accuracy
        k, own = first_at(scores, wanted), int(np.argmax(scores)) + 1
        yield {
            "way": name,
            "k": k,
            "score": None if k is None else float(scores[k - 1]),
            "test_accuracy": None if k is None else float(tests[k - 1]),
            "own_k": own,
            "own_score": float(scores[own - 1]),
            "own_test_accuracy": float(tests[own - 1]),
        }


def first_at(scores: Array, goal: float) -> int | None:
    """Give the least number of steps whose score is the goal or more; None if there is none."""
    # Shares of rows: sums in another order may differ in the last bit.
    reached = np.flatnonzero(scores >= goal - 1e-12)
    return int(reached[0]) + 1 if len(reached) else None
