"""Trees as single atoms against a correction over all their leaves.

The trees are those of one greedy path. With the same trees, the squared hinge is minimised again
over one coefficient a tree, over one a leaf, and over one a leaf held near what its tree had.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize

from fcgboost import FCGBoostClassifier, TreeDictionary, theory_steps
from paper.base import Experiment, Preset, Row, Split, Unit
from paper.contest import CONTESTANTS
from paper.contest.tuning import tune
from paper.experiments.atoms import LOSS_SHARE, accuracy_of
from paper.experiments.uci import SETS, UciUnit, deal, missing_sets
from paper.protocol import Data, seed_of
from paper.rivals import absent_packages
from paper.rivals.base import Terms

Array = NDArray[np.float64]

#: All sets of at most 20,000 rows.
SMALL_SETS = tuple(SETS[:9])
#: The ridge of the greedy path, times sqrt(m).
STRENGTH = 0.1
#: Ridges of the corrections, times sqrt(m), strongest first. A tree's largest value is 0.1, a
#: leaf's is 1.
TREE_STRENGTHS = (0.3, 0.1, 0.03, 0.01)
LEAF_STRENGTHS = (10.0, 1.0, 0.1, 0.01)
#: Numbers of trees, in k0.
MULTIPLES = (1, 2, 3)
_NODE = 4
_MOST_STEPS = 300


class Extent(NamedTuple):
    """What a preset runs; a row limit of 0 is none."""

    repetitions: int
    row_limit: int = 0


EXTENTS: Mapping[Preset, Extent] = {
    "quick": Extent(1, row_limit=400),
    "standard": Extent(5),
    "full": Extent(10),
}


@dataclass(frozen=True)
class LeavesUnit(Unit):
    """Our corrections ("fcg") or regularised greedy forests on one random split of one set."""

    dataset: str
    method: str
    repetition: int
    row_limit: int


class Leaves(Experiment[LeavesUnit]):
    """Tree-wise and leaf-wise correction of the same trees, beside RGF."""

    name = "leaves"
    title = "Trees corrected whole or leaf by leaf"
    about = (
        "The trees of a greedy path with one coefficient each, and with one coefficient a leaf, "
        "ridge and number of trees chosen on a validation part, beside regularised greedy "
        "forests. Not in the paper."
    )
    unit_type = LeavesUnit
    results = (
        *("model", "accuracy", "squared_hinge", "training_squared_hinge", "training_accuracy"),
        *("validation_score", "strength", "n_trees", "n_coefficients", "n_train", "n_test"),
    )
    in_all = False

    def units(self, preset: Preset, split: Split | None) -> list[LeavesUnit]:
        """Declare the splits: whole repetitions first, to be of use early."""
        extent = EXTENTS[preset]
        return [
            LeavesUnit(dataset, method, repetition, extent.row_limit)
            for repetition in range(extent.repetitions)
            for dataset in SMALL_SETS
            for method in ("fcg", "rgf")
        ]

    def run(self, unit: LeavesUnit) -> list[Row]:
        """Fit, choose on the validation part, and test."""
        place = UciUnit(unit.dataset, "", "random", unit.repetition, "thinned", unit.row_limit)
        data, seed = deal(place), seed_of(unit.dataset, unit.repetition)
        counts = {"n_train": len(data.y), "n_test": len(data.y_test)}
        if unit.method == "rgf":
            return [unit.row(model="rgf", **_rgf(data, seed, bool(unit.row_limit)), **counts)]
        found = corrected(data, seed)
        return [unit.row(model=name, **results, **counts) for name, results in found.items()]

    def cost(self, unit: LeavesUnit) -> float:
        """Estimate from the number of rows."""
        is_small = unit.dataset in SETS[:5] or unit.row_limit > 0
        return 4.0 if is_small else 20.0

    def obstacle(self, units: Sequence[LeavesUnit]) -> str | None:
        """Say which packages or sets are not there."""
        absent = absent_packages(unit.method for unit in units)
        return absent or missing_sets(list(dict.fromkeys(unit.dataset for unit in units)))


def _rgf(data: Data, seed: int, is_try: bool) -> dict[str, Any]:
    """Fit regularised greedy forests as in the contest; their f is 2 p - 1."""
    contestant = CONTESTANTS["rgf"]
    won = tune(contestant, contestant.plan(data, Terms(is_try=is_try)), data, seed)
    train, validation, test = (
        2.0 * won.learned.judge(X).probabilities - 1.0 for X in (data.X, data.X_val, data.X_test)
    )
    return {
        **judged(train, validation, test, data),
        "strength": None,
        "n_trees": won.learned.n_parts,
        "n_coefficients": int(won.learned.chosen["leaves"]),
    }


def judged(train: Array, validation: Array, test: Array, data: Data) -> dict[str, Any]:
    """Judge decision values on the three parts."""
    on_validation = squared_hinge(validation, data.y_val)
    return {
        "accuracy": accuracy_of(test, data.y_test),
        "squared_hinge": squared_hinge(test, data.y_test),
        "training_squared_hinge": squared_hinge(train, data.y),
        "training_accuracy": accuracy_of(train, data.y),
        "validation_score": accuracy_of(validation, data.y_val) - LOSS_SHARE * on_validation,
    }


def squared_hinge(decision: Array, y: Array) -> float:
    """Give the mean loss of decision values cut to [-1, 1]: four times their Brier score.

    So those of a method that gives probabilities can be compared.
    """
    return float(np.mean((1.0 - y * np.clip(decision, -1.0, 1.0)) ** 2))


class Forest(NamedTuple):
    """The trees of a path on the three parts.

    Attributes
    ----------
    places : sequence of sparse matrices
        For training, validation and test rows, a 1 where a row arrives at a leaf.
    values : ndarray of shape (n_leaves,)
        What the leaves give in the path's trees.
    owners : ndarray of shape (n_leaves,)
        The tree that every leaf belongs to.
    """

    places: Sequence[Any]
    values: Array
    owners: NDArray[np.intp]

    def first(self, n_trees: int) -> Forest:
        """Give the first trees."""
        n_leaves = int(np.searchsorted(self.owners, n_trees))
        places = [part[:, :n_leaves] for part in self.places]
        return Forest(places, self.values[:n_leaves], self.owners[:n_leaves])

    def trees(self) -> Any:
        """Give the matrix from coefficients of trees to values of leaves."""
        n_leaves = len(self.values)
        entries = (self.values, (np.arange(n_leaves), self.owners))
        return sparse.csr_matrix(entries, shape=(n_leaves, int(self.owners.max()) + 1))


def planted(data: Data, seed: int) -> Forest:
    """Fit a path of trees, and find the leaf of every row in every tree."""
    m = len(data.y)
    classifier = FCGBoostClassifier(
        TreeDictionary(),
        l2=STRENGTH / float(np.sqrt(m)),
        max_iter=MULTIPLES[-1] * theory_steps(m),
        n_jobs=1,
        random_state=seed,
    ).fit(data.X, data.y)
    return forest_of(classifier.atoms_, (data.X, data.X_val, data.X_test))


def forest_of(atoms: Array, parts: Sequence[Array]) -> Forest:
    """Turn trees into leaves: a tree whose leaves hold their numbers tells where a row arrives."""
    nodes = np.asarray(atoms).reshape(len(atoms), -1, _NODE)
    trees, places = np.nonzero(nodes[:, :, 0] == -1.0)
    numbered = nodes.copy()
    numbered[trees, places, 1] = np.arange(len(trees))
    rows = numbered.reshape(len(atoms), -1)
    found = []
    for X in parts:
        numbers = TreeDictionary().evaluate(X, rows, np.ones(X.shape[1])).astype(np.intp)
        ends = np.arange(0, numbers.size + 1, len(atoms))
        entries = (np.ones(numbers.size), numbers.ravel(), ends)
        found.append(sparse.csr_matrix(entries, shape=(len(X), len(trees))))
    return Forest(found, nodes[trees, places, 1], trees)


def corrected(data: Data, seed: int) -> dict[str, dict[str, Any]]:
    """Correct the same trees in three ways, each with the best ridge and number of trees."""
    forest, k0 = planted(data, seed), theory_steps(len(data.y))
    best: dict[str, dict[str, Any]] = {}
    for multiple in MULTIPLES:
        for name, results in _tries(forest.first(multiple * k0), data):
            if name not in best or results["validation_score"] > best[name]["validation_score"]:
                best[name] = results
    return best


def _tries(forest: Forest, data: Data) -> Iterator[tuple[str, dict[str, Any]]]:
    """Try every ridge with these trees."""
    root, expand = float(np.sqrt(len(data.y))), forest.trees()
    kept: tuple[float, Array] = (-np.inf, np.zeros(0))
    # Coefficients of trees are looked for in tenths, which makes the problem rounder.
    wholes = [(part @ (10.0 * expand)).toarray() for part in forest.places]
    fit = Fit(np.zeros(expand.shape[1]), 0.0)
    for strength in TREE_STRENGTHS:
        fit = solve(wholes[0], data.y, 100.0 * strength / root, fit)
        results = _results(wholes, data, fit, strength, expand.shape[1])
        yield "trees", results
        if results["validation_score"] > kept[0]:
            kept = results["validation_score"], 10.0 * expand @ fit.coef
    for name, center in (("leaves", np.zeros_like(kept[1])), ("near_trees", kept[1])):
        fit = Fit(center, 0.0)
        for strength in LEAF_STRENGTHS:
            fit = solve(forest.places[0], data.y, strength / root, fit, center)
            yield name, _results(forest.places, data, fit, strength, expand.shape[1])


def _results(
    parts: Sequence[Any], data: Data, fit: Fit, strength: float, n_trees: int
) -> dict[str, Any]:
    train, validation, test = (part @ fit.coef + fit.intercept for part in parts)
    return {
        **judged(train, validation, test, data),
        "strength": strength,
        "n_trees": n_trees,
        "n_coefficients": len(fit.coef),
    }


class Fit(NamedTuple):
    """Coefficients and a constant."""

    coef: Array
    intercept: float


def solve(A: Any, y: Array, l2: float, start: Fit, center: Array | None = None) -> Fit:
    """Minimise mean (1 - y f)_+^2 + l2 |u - center|^2 over f = A u + b; b carries no ridge.

    There may be ten thousand sparse columns: a limited-memory method suits them.
    """
    center = np.zeros(A.shape[1]) if center is None else center

    def objective(point: Array) -> tuple[float, Array]:
        coef = point[1:]
        short = np.maximum(0.0, 1.0 - y * (A @ coef + point[0]))
        slopes = -2.0 / len(y) * y * short
        away = coef - center
        gradient = np.append(slopes.sum(), A.T @ slopes + 2.0 * l2 * away)
        return float(np.mean(short**2) + l2 * away @ away), gradient

    found = minimize(
        objective,
        np.append(start.intercept, start.coef),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MOST_STEPS, "maxcor": 20, "gtol": 1e-6, "ftol": 1e-10},
    )
    return Fit(found.x[1:], float(found.x[0]))
