"""Three libraries of boosted trees on data frames, each with its own treatment of categories.

With the validation part given, trees are added as in `boosters`: at most `ROUNDS`, until the
validation loss has not fallen for `PATIENCE` of them. Sizes are counted as there; a split by a set
of levels counts as any other, and what says how levels are coded is not counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline, make_pipeline

from paper.rivals.base import Params, tree_numbers
from paper.rivals.boosters import PATIENCE, ROUNDS
from paper.rivals.coding import (
    MOST_LEVELS,
    DateParts,
    TextLevels,
    TrainingLevels,
    text_columns,
)

if TYPE_CHECKING:
    from pandas import DataFrame

Labels = NDArray[np.int64]


class Rows(NamedTuple):
    """Rows of a frame and their classes."""

    X: DataFrame
    y: Labels


Fit = Callable[[Params, Rows, Rows | None, int], Any]


@dataclass(frozen=True)
class FrameRival:
    """A library that takes frames with categories.

    Parameters
    ----------
    coding : callable
        Makes the transformer that gives frames the library's form.
    fit : callable
        From parameters, coded rows, coded validation rows or None, and a seed to a classifier.
    n_trees : callable
        How many rounds a classifier has.
    count : callable
        How many numbers it stores.
    rounds : callable
        From a number of rounds to the parameters that ask for just as many.
    """

    coding: Callable[[], Pipeline]
    fit: Fit
    n_trees: Callable[[Any], int]
    count: Callable[[Any], int]
    rounds: Callable[[int], Params]

    def fitted(self, params: Params, rows: Rows, validation: Rows | None, seed: int) -> Pipeline:
        """Learn the coding, and fit to what it gives."""
        coding = self.coding().fit(rows.X)
        given = None if validation is None else Rows(coding.transform(validation.X), validation.y)
        classifier = self.fit(params, Rows(coding.transform(rows.X), rows.y), given, seed)
        return Pipeline([("coding", coding), ("classifier", classifier)])


def fit_catboost(params: Params, rows: Rows, validation: Rows | None, seed: int) -> Any:
    """Fit CatBoost; `params` may have depth, learning_rate and iterations."""
    import catboost

    quiet = {"allow_writing_files": False, "verbose": False, "thread_count": 1}
    patience = {"iterations": ROUNDS, "od_type": "Iter", "od_wait": PATIENCE}
    limits = {} if validation is None else {**patience, "use_best_model": True}
    classifier = catboost.CatBoostClassifier(random_seed=seed, **quiet, **limits, **params)
    texts = text_columns(rows.X)
    pools = [
        catboost.Pool(part.X, part.y, cat_features=texts, thread_count=1)
        for part in (rows, validation)
        if part is not None
    ]
    return classifier.fit(pools[0], eval_set=pools[1:] or None)


def catboost_numbers(classifier: Any) -> int:
    """Count a value a leaf and class, and two numbers a level of a tree."""
    leaves = np.asarray(classifier.get_tree_leaf_counts(), dtype=np.int64)
    n_classes = len(classifier.classes_)
    n_values = 1 if n_classes == 2 else n_classes
    return int(np.sum(n_values * leaves + 2 * np.log2(leaves).round().astype(np.int64)))


def fit_lightgbm(params: Params, rows: Rows, validation: Rows | None, seed: int) -> Any:
    """Fit LightGBM; `params` may have num_leaves, learning_rate and n_estimators."""
    import lightgbm

    limits = {} if validation is None else {"n_estimators": ROUNDS}
    classifier = lightgbm.LGBMClassifier(
        random_state=seed, n_jobs=1, verbose=-1, **limits, **params
    )
    if validation is None:
        return classifier.fit(*rows)
    patience = lightgbm.early_stopping(PATIENCE, verbose=False)
    # Newer versions warn of the one name, older ones do not know the others.
    has_parts = "eval_X" in signature(classifier.fit).parameters
    parts = {"eval_X": validation.X, "eval_y": validation.y}
    given = parts if has_parts else {"eval_set": [tuple(validation)]}
    return classifier.fit(*rows, callbacks=[patience], **given)


def lightgbm_rounds(classifier: Any) -> int:
    """Give the rounds that prediction uses."""
    return int(classifier.best_iteration_ or classifier.n_estimators_)


def lightgbm_numbers(classifier: Any) -> int:
    """Count two numbers a split and one a leaf."""
    text = classifier.booster_.model_to_string(num_iteration=lightgbm_rounds(classifier))
    leaves = re.findall(r"^num_leaves=(\d+)$", text, re.MULTILINE)
    return sum(tree_numbers(int(n)) for n in leaves)


def fit_histogram(params: Params, rows: Rows, validation: Rows | None, seed: int) -> Any:
    """Fit HistGradientBoosting; `params` may have max_leaf_nodes, learning_rate and max_iter."""
    limits = {"max_iter": ROUNDS, "n_iter_no_change": PATIENCE, "tol": 0.0, "scoring": "loss"}
    stopping = {} if validation is None else {**limits, "early_stopping": True}
    classifier = HistGradientBoostingClassifier(
        categorical_features="from_dtype", random_state=seed, **stopping, **params
    )
    if validation is None:
        return classifier.fit(*rows)
    classifier.fit(*rows, X_val=validation.X, y_val=validation.y)
    # The first score is that of no tree.
    del classifier._predictors[max(1, int(np.argmax(classifier.validation_score_))) :]
    return classifier


def histogram_numbers(classifier: Any) -> int:
    """Count two numbers a split and one a leaf."""
    trees = [tree for trees in classifier._predictors for tree in trees]
    return sum(tree_numbers(tree.get_n_leaf_nodes()) for tree in trees)


def _categories(most: int = 0) -> Pipeline:
    return make_pipeline(DateParts(), TrainingLevels(most))


#: By their names in `RIVALS`, whose grids and titles they share.
FRAME_RIVALS: Mapping[str, FrameRival] = {
    "catboost": FrameRival(
        lambda: make_pipeline(DateParts(), TextLevels()),
        fit_catboost,
        lambda classifier: int(classifier.tree_count_),
        catboost_numbers,
        lambda n: {"iterations": n},
    ),
    "lightgbm": FrameRival(
        _categories,
        fit_lightgbm,
        lightgbm_rounds,
        lightgbm_numbers,
        lambda n: {"n_estimators": n},
    ),
    "hist_gradient_boosting": FrameRival(
        partial(_categories, MOST_LEVELS),
        fit_histogram,
        lambda classifier: len(classifier._predictors),
        histogram_numbers,
        lambda n: {"max_iter": n, "early_stopping": False},
    ),
}
