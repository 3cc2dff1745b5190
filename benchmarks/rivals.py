"""Other libraries' boosters, set as rivals.toml says: how they are fitted, timed and counted.

LightGBM by its defaults and tuned, the others by their defaults. A rival that is not installed is
left out by those who measure.
"""

from __future__ import annotations

import pickle
import re
import time
import tomllib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.model_selection import train_test_split

from paper.rivals.base import tree_numbers

T = TypeVar("T")

SETTINGS: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
TUNED = SETTINGS["lightgbm_tuned"]


class Cost(NamedTuple):
    """Seconds of a piece of work: of all its threads, and on the clock."""

    cpu: float
    wall: float


def timed(work: Callable[[], T]) -> tuple[T, Cost]:
    """Do a piece of work, and say what it took."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return result, Cost(time.process_time() - cpu, time.perf_counter() - wall)


@dataclass(frozen=True)
class Fitted:
    """A model: what it says about rows, and what it stores.

    Numbers are a feature and a threshold per split, and what a leaf has: a value, or the
    coefficients of a linear function.
    """

    labels: Callable[[Any], Any]
    probabilities: Callable[[Any], Any]
    n_numbers: Callable[[], int]
    content: Callable[[], bytes]
    classes: Any
    note: str = ""
    #: Of several fits: what the chosen one took.
    chosen: Cost | None = None


@dataclass(frozen=True)
class Library:
    """What a method is called, and the package that is imported for it."""

    title: str
    package: str

    @property
    def is_installed(self) -> bool:
        return find_spec(self.package) is not None

    @property
    def version(self) -> str:
        return str(import_module(self.package).__version__)


@dataclass(frozen=True)
class Method(Library):
    """How a method is fitted to rows with a number of threads, and made ready for that."""

    fit: Callable[[Any, Any, int], Fitted]
    get_ready: Callable[[Any, Any, int], object]


def make_lightgbm(threads: int, **settings: Any) -> Any:
    """Make LightGBM's classifier, silent."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=threads, verbose=-1, **settings)


def fit_lightgbm(X: Any, y: Any, threads: int) -> Fitted:
    return _of_lightgbm(make_lightgbm(threads, **SETTINGS["lightgbm"]).fit(X, y))


class Trial(NamedTuple):
    """One pair of settings, fitted with early stopping."""

    choice: dict[str, Any]
    model: Any
    cost: Cost
    log_loss: float


def try_lightgbm(X: Any, y: Any, threads: int) -> list[Trial]:
    """Fit every pair of settings, with the same validation rows."""
    share, seed = TUNED["validation_share"], TUNED["seed"]
    X_own, X_val, y_own, y_val = train_test_split(
        X, y, test_size=share, random_state=seed, stratify=y
    )
    pairs = product(TUNED["num_leaves"], TUNED["learning_rate"])
    choices = [{"num_leaves": leaves, "learning_rate": rate} for leaves, rate in pairs]
    return [_try((X_own, y_own), (X_val, y_val), choice, threads) for choice in choices]


def _try(own: tuple[Any, Any], held: tuple[Any, Any], choice: dict[str, Any], n: int) -> Trial:
    from lightgbm import early_stopping

    model = make_lightgbm(n, n_estimators=TUNED["n_estimators"], **choice)
    stop = early_stopping(TUNED["stopping_rounds"], verbose=False)
    with warnings.catch_warnings():
        # The newest versions have another name for `eval_set`, which older ones do not know.
        warnings.simplefilter("ignore", FutureWarning)
        _, cost = timed(lambda: model.fit(*own, eval_set=[held], callbacks=[stop]))
    (log_loss,) = model.best_score_["valid_0"].values()
    return Trial(choice, model, cost, float(log_loss))


def choose(trials: list[Trial]) -> Trial:
    """Return the trial with the lowest log-loss on the validation rows."""
    return min(trials, key=lambda trial: trial.log_loss)


def tune_lightgbm(X: Any, y: Any, threads: int) -> Fitted:
    """Fit every pair of settings, and keep the best."""
    best = choose(try_lightgbm(X, y, threads))
    model, cost, n_trees = best.model, best.cost, best.model.best_iteration_
    if TUNED["refits"]:
        model = make_lightgbm(threads, n_estimators=n_trees, **best.choice)
        _, cost = timed(lambda: model.fit(X, y))
    note = f"{best.choice['num_leaves']} leaves, rate {best.choice['learning_rate']:g}"
    return _of_lightgbm(model, f"{note}, {n_trees} trees", cost)


def _of_lightgbm(model: Any, note: str = "", chosen: Cost | None = None) -> Fitted:
    def text() -> str:
        return str(model.booster_.model_to_string())

    def n_numbers() -> int:
        leaves = re.findall(r"^num_leaves=(\d+)$", text(), re.MULTILINE)
        return sum(tree_numbers(int(n)) for n in leaves)

    return Fitted(
        model.predict,
        model.predict_proba,
        n_numbers,
        lambda: text().encode(),
        model.classes_,
        note,
        chosen,
    )


def make_catboost(threads: int) -> Any:
    """Make CatBoost's classifier, silent."""
    from catboost import CatBoostClassifier

    quiet = {"allow_writing_files": False, "verbose": False, "thread_count": threads}
    return CatBoostClassifier(**quiet, **SETTINGS["catboost"])


def fit_catboost(X: Any, y: Any, threads: int) -> Fitted:
    model = make_catboost(threads).fit(X, y)

    def n_numbers() -> int:
        # All splits of a level are the same one, stored once: a tree of 2^p leaves has p.
        levels = np.log2(model.get_tree_leaf_counts()).round().astype(np.int64)
        return len(model.get_leaf_values()) + 2 * int(levels.sum())

    return Fitted(
        # The labels of several classes are a column.
        lambda rows: np.ravel(model.predict(rows, thread_count=threads)),
        lambda rows: model.predict_proba(rows, thread_count=threads),
        n_numbers,
        lambda: bytes(model._serialize_model()),
        model.classes_,
        f"{model.tree_count_} trees",
    )


def make_chimeraboost(threads: int) -> Any:
    """Make ChimeraBoost's classifier."""
    settings = SETTINGS["chimeraboost"]
    return import_module("chimeraboost").ChimeraBoostClassifier(thread_count=threads, **settings)


def warm_chimeraboost(X: Any, y: Any, threads: int) -> None:
    """Have its kernels compiled, and fit a few rows of the same type."""
    import_module("chimeraboost").warmup()
    make_chimeraboost(threads).fit(X, y).predict_proba(X)


def fit_chimeraboost(X: Any, y: Any, threads: int) -> Fitted:
    model = make_chimeraboost(threads).fit(X, y)
    trees = model.model_.trees_

    def n_numbers() -> int:
        return sum(2 * tree.depth + _n_leaf_numbers(tree) for tree in trees)

    # It has no format of its own.
    return Fitted(
        model.predict,
        model.predict_proba,
        n_numbers,
        lambda: pickle.dumps(model),
        model.classes_,
        f"{len(trees)} trees",
    )


def _n_leaf_numbers(tree: Any) -> int:
    """Count values, or coefficients and the features that they are of."""
    if tree.lin_coef is None:
        return int(np.size(tree.values))
    return int(np.size(tree.lin_coef) + np.size(tree.lin_feats))


def make_xgboost(threads: int) -> Any:
    """Make XGBoost's classifier."""
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=threads, **SETTINGS["xgboost"])


#: By name, in the order of tables.
RIVALS: Mapping[str, Method] = {
    "lightgbm": Method("LightGBM", "lightgbm", fit_lightgbm, fit_lightgbm),
    "lightgbm_tuned": Method("LightGBM tuned", "lightgbm", tune_lightgbm, fit_lightgbm),
    "catboost": Method("CatBoost", "catboost", fit_catboost, fit_catboost),
    "chimeraboost": Method("ChimeraBoost", "chimeraboost", fit_chimeraboost, warm_chimeraboost),
}
