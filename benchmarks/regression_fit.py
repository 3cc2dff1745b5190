"""One fit of `benchmarks.regression`, in the process that calls this."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.metrics import (
    mean_absolute_error,
    mean_pinball_loss,
    mean_poisson_deviance,
    root_mean_squared_error,
)
from sklearn.pipeline import Pipeline, make_pipeline

from benchmarks.measure import MissingError
from benchmarks.regression_sets import part_of
from benchmarks.rivals import Library, timed
from fcgboost import FCGBoostRegressor
from paper.rivals.coding import one_hot, text_columns
from paper.rivals.frames import FRAME_RIVALS

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame

    Target = NDArray[np.float64]

SEED = 0
#: Rows of the fit before the clock starts.
N_READY = 200
#: Intervals miss this share of new targets.
ALPHA = 0.1
LOW = 0.1
HIGH = 0.9


class Goal(NamedTuple):
    """What is predicted, how it is judged (less is better), and what asks a library for it."""

    score: Callable[..., float]
    title: str
    ours: Mapping[str, Any]
    lightgbm: Mapping[str, Any]
    catboost: Mapping[str, Any]
    xgboost: Mapping[str, Any]
    histogram: Mapping[str, Any]


def quantile_goal(level: float) -> Goal:
    """Return the goal of a quantile."""
    return Goal(
        partial(mean_pinball_loss, alpha=level),
        f"pinball loss at {level:g}",
        ours={"loss": "quantile", "quantile": level},
        lightgbm={"objective": "quantile", "alpha": level},
        catboost={"loss_function": f"Quantile:alpha={level:g}"},
        xgboost={"objective": "reg:quantileerror", "quantile_alpha": level},
        histogram={"loss": "quantile", "quantile": level},
    )


#: By name, in the order of the report.
GOALS: Mapping[str, Goal] = {
    "mean": Goal(
        root_mean_squared_error,
        "root mean squared error",
        ours={},
        lightgbm={},
        catboost={},
        xgboost={},
        histogram={},
    ),
    "median": Goal(
        mean_absolute_error,
        "mean absolute error",
        ours={"loss": "absolute_error"},
        lightgbm={"objective": "mae"},
        catboost={"loss_function": "MAE"},
        xgboost={"objective": "reg:absoluteerror"},
        histogram={"loss": "absolute_error"},
    ),
    "low": quantile_goal(LOW),
    "high": quantile_goal(HIGH),
    "rate": Goal(
        mean_poisson_deviance,
        "Poisson deviance",
        ours={"loss": "poisson"},
        lightgbm={"objective": "poisson"},
        catboost={"loss_function": "Poisson"},
        xgboost={"objective": "count:poisson"},
        histogram={"loss": "poisson"},
    ),
}


@dataclass(frozen=True)
class Regressor(Library):
    """How a method is fitted to a data frame on one thread, coding included."""

    fit: Callable[[Goal, DataFrame, Target], Any]
    #: Whether it knows the mean alone.
    is_for_means: bool = False
    has_intervals: bool = False

    def has(self, goal: str) -> bool:
        return goal == "mean" or not self.is_for_means


def fit_ours(params: Mapping[str, Any], goal: Goal, X: DataFrame, y: Target) -> Any:
    """Fit ours to the frame as it is."""
    return FCGBoostRegressor(n_jobs=1, random_state=SEED, **goal.ours, **params).fit(X, y)


def fit_lightgbm(goal: Goal, X: DataFrame, y: Target) -> Pipeline:
    return make_pipeline(FRAME_RIVALS["lightgbm"].coding(), _lightgbm(goal)).fit(X, y)


def _lightgbm(goal: Goal) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(random_state=SEED, n_jobs=1, verbose=-1, **goal.lightgbm)


class Conformal(NamedTuple):
    """LightGBM in MAPIE's folds, behind a coding."""

    coding: Pipeline
    model: Any

    def predict(self, X: DataFrame) -> Target:
        return np.asarray(self.model.predict(self.coding.transform(X)))

    def predict_interval(self, X: DataFrame, alpha: float) -> Target:
        """Return the interval of the level that was fitted."""
        assert alpha == ALPHA
        _, intervals = self.model.predict_interval(self.coding.transform(X))
        return np.asarray(intervals[:, :, 0])


def fit_mapie(goal: Goal, X: DataFrame, y: Target) -> Conformal:
    from mapie.regression import CrossConformalRegressor

    coding = FRAME_RIVALS["lightgbm"].coding().fit(X)
    model = CrossConformalRegressor(
        _lightgbm(goal), confidence_level=1.0 - ALPHA, method="plus", random_state=SEED
    )
    return Conformal(coding, model.fit_conformalize(coding.transform(X), y))


def fit_catboost(goal: Goal, X: DataFrame, y: Target) -> Pipeline:
    from catboost import CatBoostRegressor

    coding = FRAME_RIVALS["catboost"].coding().fit(X)
    coded = coding.transform(X)
    model = CatBoostRegressor(
        random_seed=SEED,
        allow_writing_files=False,
        verbose=False,
        thread_count=1,
        **goal.catboost,
    )
    model.fit(coded, y, cat_features=text_columns(coded))
    return Pipeline([("coding", coding), ("regressor", model)])


def fit_xgboost(goal: Goal, X: DataFrame, y: Target) -> Pipeline:
    """Fit XGBoost; it gets categories as LightGBM does."""
    from xgboost import XGBRegressor

    model = XGBRegressor(n_jobs=1, enable_categorical=True, random_state=SEED, **goal.xgboost)
    return make_pipeline(FRAME_RIVALS["lightgbm"].coding(), model).fit(X, y)


def fit_histogram(goal: Goal, X: DataFrame, y: Target) -> Pipeline:
    model = HistGradientBoostingRegressor(
        categorical_features="from_dtype", random_state=SEED, **goal.histogram
    )
    coding = FRAME_RIVALS["hist_gradient_boosting"].coding()
    return make_pipeline(coding, model).fit(X, y)


def fit_forest(goal: Goal, X: DataFrame, y: Target) -> Pipeline:
    """Fit a random forest, which knows no categories, behind the usual coding."""
    return make_pipeline(one_hot(), RandomForestRegressor(n_jobs=1, random_state=SEED)).fit(X, y)


#: By name, in the order of tables. Ours are those of the package fcgboost, the default first.
METHODS: Mapping[str, Regressor] = {
    "fcgboost": Regressor("fcgboost", "fcgboost", partial(fit_ours, {}), has_intervals=True),
    "fast": Regressor("fcgboost fast", "fcgboost", partial(fit_ours, {"dictionary": "fast"})),
    "catboost": Regressor("CatBoost", "catboost", fit_catboost),
    "lightgbm": Regressor("LightGBM", "lightgbm", fit_lightgbm),
    "xgboost": Regressor("XGBoost", "xgboost", fit_xgboost),
    "histogram": Regressor("HistGradientBoosting", "sklearn", fit_histogram),
    "random_forest": Regressor("random forest", "sklearn", fit_forest, is_for_means=True),
    "mapie": Regressor(
        "LightGBM in MAPIE", "mapie", fit_mapie, is_for_means=True, has_intervals=True
    ),
}


def point(goal: str, data: str, method: str, size: int, split: int) -> dict[str, Any] | None:
    """Measure one fit in this process; None where the table is not on this machine."""
    contestant = METHODS[method]
    aim = GOALS[goal]
    try:
        part = part_of(data, size, split)
    except MissingError as error:
        print(error, file=sys.stderr)
        return None
    contestant.fit(aim, part.X[:N_READY], part.y[:N_READY])
    load = os.getloadavg()[0]
    model, cost = timed(partial(contestant.fit, aim, part.X, part.y))
    return {
        "goal": goal,
        "data": data,
        "method": method,
        "size": size,
        "split": split,
        "rows": len(part.y),
        "test_rows": len(part.y_test),
        "score": aim.score(part.y_test, model.predict(part.X_test)),
        **(
            _intervals(model, part.X_test, part.y_test)
            if goal == "mean" and contestant.has_intervals
            else {"coverage": "", "width": ""}
        ),
        **cost._asdict(),
        "load": load,
        "version": contestant.version,
    }


def _intervals(model: Any, X: DataFrame, y: Target) -> dict[str, float]:
    """Return the share of targets that lie in their intervals, and how wide these are."""
    low, high = model.predict_interval(X, alpha=ALPHA).T
    return {
        "coverage": float(np.mean((low <= y) & (y <= high))),
        "width": float(np.mean(high - low)),
    }
