"""The ten methods of the paper's real-data table, with their grids as data.

The paper does not define its "Baseline": here it is logistic regression. Nor does it give the
depth of AdaBoost's trees (here 1), nor the parameters of its dictionaries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, get_args

from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fcgboost import (
    GaussDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
)
from fcgboost.experiments.fpc import FPC
from fcgboost.experiments.methods import Boost, Bounds, Effort, Grid, Method, Params, Rival

_GRIDS: tuple[Grid, ...] = get_args(Grid)
_NO_GRID: Mapping[Grid, Sequence[Params]] = {grid: [{}] for grid in _GRIDS}

#: Powers of two for C and gamma, as the paper's search in LIBSVM.
POWERS: Mapping[Grid, Sequence[int]] = {
    "paper": range(-5, 6),
    "thinned": range(-5, 6, 2),
    "quick": (-3, 1),
}
SVM_DEGREES: Mapping[Grid, Sequence[int]] = {
    "paper": range(1, 11),
    "thinned": (1, 2, 3, 5, 8),
    "quick": (1, 3),
}
DEGREES: Mapping[Grid, Sequence[int]] = {
    "paper": range(1, 11),
    "thinned": range(1, 11),
    "quick": (1, 3),
}
TREES: Mapping[Grid, Sequence[int]] = {
    "paper": range(2, 21, 2),
    "thinned": range(2, 21, 2),
    "quick": (4, 20),
}
#: Widths, and the same again times sqrt(d / 2): the paper's simulations have d = 2, and
#: distances grow like sqrt(d).
WIDTHS: Mapping[Grid, Sequence[float]] = {
    "paper": (0.1, 0.2, 0.35, 0.5, 1.0, 5.0),
    "thinned": (0.1, 0.2, 0.35, 0.5, 1.0, 5.0),
    "quick": (1.0,),
}
SLOPES: Mapping[Grid, Sequence[float]] = {
    "paper": (1.0, 5.0, 10.0, 20.0),
    "thinned": (1.0, 5.0, 10.0, 20.0),
    "quick": (1.0, 5.0),
}

EFFORTS: Mapping[Grid, Effort] = {
    # No set is so large.
    "paper": Effort(trial=10**9, final=10**9, rows=10**9),
    "thinned": Effort(trial=2_000, final=10_280, rows=2_000),
    "quick": Effort(trial=1_000, final=1_000, rows=1_000),
}


def _each(name: str, values: Mapping[Grid, Sequence[Any]]) -> dict[Grid, Sequence[Params]]:
    """Give the grids of one parameter."""
    return {grid: [{name: value} for value in values[grid]] for grid in values}


def _rbf_grid(grid: Grid) -> list[Params]:
    powers = POWERS[grid]
    return [{"C": 2.0**c, "gamma": 2.0**g} for c in powers for g in powers]


def _poly_grid(grid: Grid) -> list[Params]:
    """Give (degree, C, gamma), in this order, once for every C gamma^p.

    The kernel (gamma <x, z>)^p is a multiple of <x, z>^p, and C times a multiple of the kernel
    is all that the classifier depends on, so the others would be the same classifier again.
    """
    powers = POWERS[grid]
    kept: dict[tuple[int, int], Params] = {}
    for p in SVM_DEGREES[grid]:
        for c in powers:
            for g in powers:
                kept.setdefault((p, c + p * g), {"degree": p, "C": 2.0**c, "gamma": 2.0**g})
    return list(kept.values())


_SVM_BOUNDS: Mapping[Grid, Bounds] = {
    # LIBSVM's own bound.
    "paper": Bounds(fixed={"max_iter": 10_000_000, "cache_size": 1_000}),
    "thinned": Bounds(
        rows=1_000,
        fixed={"max_iter": 1_000_000, "cache_size": 1_000},
        trial={"max_iter": 20_000},
    ),
    "quick": Bounds(rows=1_000, fixed={"max_iter": 20_000}),
}
_NO_BOUNDS: Mapping[Grid, Bounds] = dict.fromkeys(_GRIDS, Bounds())
_FPC_BOUNDS: Mapping[Grid, Bounds] = {
    "paper": Bounds(),
    "thinned": Bounds(rows=1_000, fixed={"max_centers": 2_000}),
    "quick": Bounds(rows=1_000, fixed={"max_centers": 300}),
}


def _adaboost(**params: Any) -> AdaBoostClassifier:
    return AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=100, **params)


def _count_support(machine: Any) -> int:
    return len(machine.support_)


def _count_centers(classifier: Any) -> int:
    return len(classifier.centers_)


def _count_coefficients(classifier: Any) -> int:
    return int(classifier.coef_.size)


def _count_nodes(ensemble: Any) -> int:
    return sum(tree.tree_.node_count for tree in ensemble.estimators_)


#: In the order of the paper's columns.
METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Boost("fcg_gauss", GaussDictionary, _each("width", WIDTHS), EFFORTS, has_length=True),
        Boost("fcg_polynomial", PolynomialDictionary, _each("degree", DEGREES), EFFORTS),
        Boost("fcg_sigmoid", SigmoidDictionary, _each("slope_range", SLOPES), EFFORTS),
        Boost("fcg_relu", ReluDictionary, _NO_GRID, EFFORTS),
        Rival(
            "svm_rbf",
            partial(SVC, kernel="rbf"),
            _count_support,
            {grid: _rbf_grid(grid) for grid in _GRIDS},
            _SVM_BOUNDS,
        ),
        Rival(
            "svm_poly",
            partial(SVC, kernel="poly", coef0=0.0),
            _count_support,
            {grid: _poly_grid(grid) for grid in _GRIDS},
            # On 122,528 rows it neither converges in minutes nor is then better than guessing.
            {**_SVM_BOUNDS, "thinned": _SVM_BOUNDS["thinned"]._replace(final_rows=15_000)},
        ),
        Rival("fpc", FPC, _count_centers, _each("degree", DEGREES), _FPC_BOUNDS),
        Rival(
            "random_forest",
            RandomForestClassifier,
            _count_nodes,
            _each("n_estimators", TREES),
            _NO_BOUNDS,
        ),
        Rival("adaboost", _adaboost, _count_nodes, _NO_GRID, _NO_BOUNDS),
        Rival(
            "baseline",
            partial(LogisticRegression, max_iter=1_000),
            _count_coefficients,
            _NO_GRID,
            _NO_BOUNDS,
        ),
    )
}
