"""The methods of others, each once: all that experiments, demo and benchmarks know of them.

The paper does not define its "Baseline": here it is logistic regression. Nor does it give the
depth of AdaBoost's trees (here 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from sklearn.ensemble import (
    AdaBoostClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from paper.rivals import grids, plans
from paper.rivals.base import Entry, Rival, Table
from paper.rivals.boosters import (
    fit_catboost,
    fit_histogram,
    fit_lightgbm,
    fit_xgboost,
    make_lightgbm,
)
from paper.rivals.fpc import FPC
from paper.rivals.machines import fit_forest, fit_machine
from paper.rivals.rgf import fit_rgf

__all__ = ["RIVALS", "absent_packages"]


def _make_adaboost(**params: Any) -> AdaBoostClassifier:
    return AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=1), **{"n_estimators": 100, **params}
    )


def _count_support(machine: Any) -> int:
    return len(machine.support_)


def _count_centers(classifier: Any) -> int:
    return len(classifier.centers_)


def _count_coefficients(classifier: Any) -> int:
    return int(classifier.coef_.size)


def _count_nodes(ensemble: Any) -> int:
    return sum(tree.tree_.node_count for tree in ensemble.estimators_)


def _sizes(name: str, values: tuple[int, ...]) -> Any:
    return partial(plans.sizes, name, values)


_POWERS = [2.0**power for power in grids.POWERS["thinned"]]

#: Tables have them in this order, which is that of the paper's columns.
RIVALS: Mapping[str, Rival] = {
    rival.name: rival
    for rival in (
        Rival(
            "lightgbm",
            "LightGBM",
            library="lightgbm",
            package="lightgbm",
            make=make_lightgbm,
            contest=Entry(fit_lightgbm, _sizes("num_leaves", plans.LEAVES)),
        ),
        Rival(
            "xgboost",
            "XGBoost",
            library="xgboost",
            package="xgboost",
            contest=Entry(fit_xgboost, _sizes("max_depth", plans.DEPTHS)),
        ),
        Rival(
            "catboost",
            "CatBoost",
            library="catboost",
            package="catboost",
            contest=Entry(fit_catboost, plans.catboost_plan),
        ),
        Rival(
            "hist_gradient_boosting",
            "HistGB",
            make=HistGradientBoostingClassifier,
            folds={"learning_rate": [0.02, 0.1], "max_leaf_nodes": [3, 7, 31]},
            contest=Entry(fit_histogram, _sizes("max_leaf_nodes", plans.LEAVES)),
        ),
        Rival(
            "svm_rbf",
            "SVM RBF",
            make=partial(SVC, kernel="rbf"),
            table=Table(
                "support vectors",
                _count_support,
                {grid: grids.rbf_grid(grid) for grid in grids.GRIDS},
                grids.SVM_BOUNDS,
            ),
            folds={"C": _POWERS, "gamma": _POWERS},
            contest=Entry(fit_machine, plans.machine_plan),
        ),
        Rival(
            "svm_poly",
            "SVM polynomial",
            make=partial(SVC, kernel="poly", coef0=0.0),
            table=Table(
                "support vectors",
                _count_support,
                {grid: grids.poly_grid(grid) for grid in grids.GRIDS},
                grids.POLY_BOUNDS,
            ),
        ),
        Rival(
            "fpc",
            "FPC",
            make=FPC,
            table=Table(
                "centres", _count_centers, grids.each("degree", grids.DEGREES), grids.FPC_BOUNDS
            ),
        ),
        Rival(
            "random_forest",
            "random forest",
            make=RandomForestClassifier,
            table=Table(
                "nodes", _count_nodes, grids.each("n_estimators", grids.TREES), grids.NO_BOUNDS
            ),
            folds={"min_samples_leaf": [1, 5, 20, 50, 100]},
            contest=Entry(fit_forest, plans.forest_plan),
        ),
        Rival(
            "adaboost",
            "AdaBoost",
            make=_make_adaboost,
            table=Table("nodes", _count_nodes, grids.NO_GRID, grids.NO_BOUNDS),
            folds={"n_estimators": [25, 50, 100], "learning_rate": [0.1, 1.0]},
        ),
        Rival(
            "baseline",
            "baseline",
            make=partial(LogisticRegression, max_iter=1_000),
            table=Table("coefficients", _count_coefficients, grids.NO_GRID, grids.NO_BOUNDS),
        ),
        Rival(
            "rgf",
            "RGF",
            library="rgf",
            package="rgf_python",
            contest=Entry(fit_rgf, plans.rgf_plan),
        ),
    )
}


def absent_packages(methods: Iterable[str]) -> str | None:
    """Say which packages of these methods are not installed; None if all are.

    Methods that are no rivals need none.
    """
    rivals = (RIVALS[name] for name in dict.fromkeys(methods) if name in RIVALS)
    absent = [rival.package for rival in rivals if not rival.is_installed]
    if not absent:
        return None
    return (
        f"These packages are not installed: {', '.join(absent)}. Install what the experiments "
        "need, pip install --group paper (pip 25.1 or later, in the repository), or leave them "
        "out by --methods."
    )
