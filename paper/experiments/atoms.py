"""Learned atoms against random ones: how many are needed for the same accuracy.

All paths have ReLU atoms and up to 5 k0 steps. Nothing looks at the test part but the accuracies
that are reported. There are two questions.

The criterion "half": validation chooses the ridge and the number of steps K of random atoms, and
the ridge and the number of steps of learned ones among models of at most K / 2 atoms; test
accuracies are compared. Random atoms, chosen again among models of at most K / 2, are the control.
Learned paths have half as many steps here.

The other criteria have one ridge, 0.1 / sqrt(m). A random path sets a goal on the validation part,
which it first reaches after K_random steps; another path's K is the least number of steps with
which it reaches that goal on the same rows. The goal is the best accuracy along the random path, or
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
from paper.base import Experiment, Preset, Row, Split, Unit, Value
from paper.experiments.uci import SETS, UciUnit, deal, missing_sets
from paper.protocol import Data, seed_of

Array = NDArray[np.float64]

#: The ridge times sqrt(m): those among which validation chooses, and the one of the criteria that
#: have one. The strongest comes first: of equal scores it wins.
STRENGTHS = (1.0, 0.1, 0.01, 0.001)
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


WAYS: Mapping[str, Way] = {
    "random": Way(ReluDictionary(), "sampled"),
    "again": Way(ReluDictionary(), "sampled", 1),
    "learned": Way(ReluDictionary(), "learned"),
}
#: The path that sets the goals.
GOAL = "random"
CRITERIA = ("accuracy", "one_error", "steadied")
#: The criterion for which validation chooses the ridge, by this score, and what it compares: random
#: atoms, and of at most half as many random ones and learned ones.
HALF, CHOSEN_BY = "half", "steadied"
HALF_WAYS = ("random", "halved", "learned")


class Extent(NamedTuple):
    """What a preset runs; a row limit of 0 is none but that of the largest set."""

    repetitions: int
    row_limit: int = 0


EXTENTS: Mapping[Preset, Extent] = {
    "quick": Extent(1, row_limit=400),
    "standard": Extent(10),
    "full": Extent(50),
}


@dataclass(frozen=True)
class AtomsUnit(Unit):
    """One random split of one set."""

    dataset: str
    repetition: int
    row_limit: int


class Atoms(Experiment[AtomsUnit]):
    """Whether half as many learned atoms are as good as random ones."""

    name = "atoms"
    title = "Learned atoms against random ones"
    about = (
        "ReLU atoms that are improved before they enter, against the best of 128 random ones in "
        "every step: the test accuracy of at most half as many, and the least number of atoms with "
        "which the validation part is as good. Not in the paper."
    )
    unit_type = AtomsUnit
    results = (
        *("criterion", "way", "strength", "k", "score", "test_accuracy"),
        *("own_strength", "own_k", "own_score", "own_test_accuracy", "n_train"),
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
        """Fit the paths, compare half as many, and look when each reaches the goal."""
        place = UciUnit(unit.dataset, "", "random", unit.repetition, "thinned", unit.row_limit)
        data, seed = deal(place), seed_of(unit.dataset, unit.repetition)
        curves = {name: follow(way, data, seed) for name, way in WAYS.items()}
        found = [
            {"criterion": criterion, **comparison}
            for criterion in CRITERIA
            for comparison in _comparisons(curves, criterion)
        ]
        random, learned = (ridged(name, data, seed, curves[name]) for name in ("random", "learned"))
        nothing = accuracy_of(np.full(len(data.y_test), data.majority()), data.y_test)
        found += [
            {"criterion": HALF, **comparison} for comparison in halves(random, learned, nothing)
        ]
        return [unit.row(n_train=len(data.y), **one) for one in found]

    def cost(self, unit: AtomsUnit) -> float:
        """Estimate from the number of rows."""
        return 4.0 if unit.dataset in SETS[:5] or 0 < unit.row_limit < MOST_ROWS else 20.0

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

    def cut(self, n_steps: int) -> Curve:
        """Give its first steps."""
        scores = {name: values[:n_steps] for name, values in self.scores.items()}
        return Curve(scores, self.test_accuracy[:n_steps], self.error)


def longest(data: Data) -> int:
    """Give the number of steps of a path."""
    return 5 * theory_steps(len(data.y))


def follow(
    way: Way, data: Data, seed: int, strength: float = STRENGTH, n_steps: int | None = None
) -> Curve:
    """Fit a path, of 5 k0 steps if nothing is said, and judge every step."""
    m = len(data.y)
    classifier = FCGBoostClassifier(
        way.dictionary,
        selection=way.selection,
        l2=strength / float(np.sqrt(m)),
        clip=CLIP,
        max_iter=longest(data) if n_steps is None else n_steps,
        n_jobs=1,
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


def ridged(name: str, data: Data, seed: int, curve: Curve) -> dict[float, Curve]:
    """Follow a way with every ridge; its curve with the one of `STRENGTH` is there already.

    Of learned atoms half as many steps are enough to compare half as many.
    """
    n_steps = longest(data) // 2 if name == "learned" else longest(data)
    return {
        strength: curve.cut(n_steps)
        if strength == STRENGTH
        else follow(WAYS[name], data, seed, strength, n_steps)
        for strength in STRENGTHS
    }


class Chosen(NamedTuple):
    """A model that validation chose: its ridge, its number of steps and how good it is."""

    strength: float | None
    k: int
    score: float | None
    test_accuracy: float


def choose(paths: Mapping[float, Curve], limit: int | None = None) -> Chosen:
    """Take the best score of all ridges and numbers of steps up to a limit of at least 1."""
    best: Chosen | None = None
    for strength, curve in paths.items():
        scores = curve.scores[CHOSEN_BY][:limit]
        k = int(np.argmax(scores)) + 1
        if best is None or best.score is None or scores[k - 1] > best.score:
            accuracy = float(curve.test_accuracy[k - 1])
            best = Chosen(strength, k, float(scores[k - 1]), accuracy)
    assert best is not None
    return best


def halves(
    random: Mapping[float, Curve], learned: Mapping[float, Curve], nothing: float
) -> Iterator[dict[str, Value]]:
    """Compare the random model that validation chooses with models of at most half its atoms.

    Parameters
    ----------
    random, learned : mapping of float to Curve
        Paths by the strength of the ridge, the strongest first.
    nothing : float
        The test accuracy of a model without atoms, which is all that half of one atom allows.
    """
    whole = choose(random)
    for way, paths in zip(HALF_WAYS, (random, random, learned), strict=True):
        own, limit = choose(paths), whole.k // 2
        if way == "random":
            found = whole
        else:
            found = choose(paths, limit) if limit else Chosen(None, 0, None, nothing)
        owns = {f"own_{name}": value for name, value in own._asdict().items()}
        yield {"way": way, **found._asdict(), **owns}


def _comparisons(curves: Mapping[str, Curve], criterion: str) -> Iterator[dict[str, Value]]:
    wanted = float(curves[GOAL].scores[criterion].max())
    wanted -= curves[GOAL].error if criterion == "one_error" else 0.0
    for name, curve in curves.items():
        scores, tests = curve.scores[criterion], curve.test_accuracy
        k, own = first_at(scores, wanted), int(np.argmax(scores)) + 1
        yield {
            **{"way": name, "strength": STRENGTH, "own_strength": STRENGTH},
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
