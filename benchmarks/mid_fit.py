"""One fit of `benchmarks.mid`, in the process that calls this: what it took and how good it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline

from benchmarks.measure import MissingError
from benchmarks.mid_sets import deal
from benchmarks.rivals import Library, make_chimeraboost, make_xgboost, timed
from fcgboost import FCGBoostClassifier
from fcgboost.evaluation import score_predictions
from paper.rivals import RIVALS
from paper.rivals.coding import one_hot, text_columns
from paper.rivals.frames import FRAME_RIVALS, Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame

    Labels = NDArray[np.int64]

SEED = 0
#: Rows of the fit before the clock starts.
N_READY = 200
SCORES = ("auc", "log_loss", "accuracy")


def _nothing() -> None:
    """Compile nothing."""


@dataclass(frozen=True)
class FrameMethod(Library):
    """How a method is fitted to a data frame on one thread, coding included.

    A fit gives a classifier that takes frames. `compile` makes ready what a fit of few rows would
    leave for later.
    """

    fit: Callable[[DataFrame, Labels], Any]
    compile: Callable[[], object] = _nothing


def fit_ours(params: Mapping[str, Any], X: DataFrame, y: Labels) -> FCGBoostClassifier:
    """Fit ours to the frame as it is."""
    return FCGBoostClassifier(n_jobs=1, random_state=SEED, **params).fit(X, y)


def fit_frame_rival(name: str, X: DataFrame, y: Labels) -> Pipeline:
    """Fit a rival of the contest on tables with its defaults."""
    return FRAME_RIVALS[name].fitted({}, Rows(X, y), None, SEED)


def fit_chimeraboost(X: DataFrame, y: Labels) -> Pipeline:
    """Fit ChimeraBoost; it gets categories as CatBoost does."""
    coding = FRAME_RIVALS["catboost"].coding().fit(X)
    coded = coding.transform(X)
    model = make_chimeraboost(threads=1)
    model.fit(coded, y, cat_features=text_columns(coded))
    return Pipeline([("coding", coding), ("classifier", model)])


def fit_xgboost(X: DataFrame, y: Labels) -> Pipeline:
    """Fit XGBoost; it gets categories as LightGBM does."""
    coding = FRAME_RIVALS["lightgbm"].coding()
    return make_pipeline(coding, make_xgboost(threads=1)).fit(X, y)


def fit_forest(X: DataFrame, y: Labels) -> Pipeline:
    """Fit a random forest, which knows no categories, behind the usual coding."""
    forest = RIVALS["random_forest"].classifier(n_jobs=1, random_state=SEED)
    return make_pipeline(one_hot(), forest).fit(X, y)


def _compile_chimeraboost() -> None:
    import_module("chimeraboost").warmup()


#: By name, in the order of tables. Ours are those of the package fcgboost, the default first.
METHODS: Mapping[str, FrameMethod] = {
    "fcgboost": FrameMethod("fcgboost", "fcgboost", partial(fit_ours, {})),
    "fast": FrameMethod("fcgboost fast", "fcgboost", partial(fit_ours, {"dictionary": "fast"})),
    "catboost": FrameMethod("CatBoost", "catboost", partial(fit_frame_rival, "catboost")),
    "chimeraboost": FrameMethod(
        "ChimeraBoost", "chimeraboost", fit_chimeraboost, _compile_chimeraboost
    ),
    "lightgbm": FrameMethod("LightGBM", "lightgbm", partial(fit_frame_rival, "lightgbm")),
    "xgboost": FrameMethod("XGBoost", "xgboost", fit_xgboost),
    "random_forest": FrameMethod("random forest", "sklearn", fit_forest),
}


def point(data: str, method: str, size: int, split: int) -> dict[str, Any] | None:
    """Measure one fit in this process; None where the table is not on this machine."""
    contestant = METHODS[method]
    try:
        part = deal(data, size, split)
    except MissingError as error:
        print(error, file=sys.stderr)
        return None
    contestant.compile()
    contestant.fit(part.X[:N_READY], part.y[:N_READY])
    load = os.getloadavg()[0]
    model, cost = timed(partial(contestant.fit, part.X, part.y))
    # CatBoost may give labels as a column.
    labels = np.ravel(model.predict(part.X_test))
    p = model.predict_proba(part.X_test)
    scores = score_predictions(part.y_test, labels, p, model.classes_)
    return {
        "data": data,
        "method": method,
        "size": size,
        "split": split,
        "rows": len(part.y),
        "test_rows": len(part.y_test),
        **{name: scores[name].value for name in SCORES},
        **cost._asdict(),
        "load": load,
        "version": contestant.version,
    }
