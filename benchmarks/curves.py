"""The accuracy of one method along the time of its fit, for `benchmarks.along_time`.

A rival is fitted once: every tree leaves its time behind, and what the first trees give for test
rows is computed later. Ours is fitted once for every time limit.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from benchmarks.large_sets import MAGIC, Part, contest, covtype
from benchmarks.rivals import (
    SETTINGS,
    TUNED,
    choose,
    make_catboost,
    make_chimeraboost,
    make_lightgbm,
    timed,
    try_lightgbm,
    warm_chimeraboost,
)
from fcgboost import FCGBoostClassifier

#: The data sets; of the paper's ones the first split of the contest.
SETS: Mapping[str, Callable[[], Part]] = {
    "covtype-100000": lambda: covtype(100_000),
    "MAGIC": lambda: contest(MAGIC, 0),
    "credit-card-clients": lambda: contest("default_credit_card_clients", 0),
    "Skin": lambda: contest("Skin_NonSkin", 0),
}
LIMITS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
QUICK_LIMITS, QUICK_ROWS = (0.25, 0.5, 1.0), 5_000
N_READY = 200
#: Every number of trees up to this one is a point, later ones at steps of about a twentieth.
FEW_TREES = 20


class Point(NamedTuple):
    """Accuracy in percent after so many CPU seconds of one thread.

    A fit that begins anew in between has several stages.
    """

    seconds: float
    accuracy: float
    what: str
    stage: int = 1


@dataclass
class Watch:
    """A clock that a fit passes by after every tree."""

    start: float = field(default_factory=time.process_time)
    seconds: list[float] = field(default_factory=list)

    def look(self) -> None:
        self.seconds.append(self.elapsed)

    @property
    def elapsed(self) -> float:
        return time.process_time() - self.start


def checkpoints(n_trees: int) -> list[int]:
    """Return the numbers of trees that are scored: the first ones, and then fewer and fewer."""
    found = [1]
    while found[-1] < n_trees:
        last = found[-1]
        found.append(min(n_trees, last + max(1, last // FEW_TREES)))
    return found


def _accuracy(labels: Any, y: Any) -> float:
    return 100.0 * float(np.mean(np.asarray(labels) == y))


def _lightgbm(part: Part, choice: Mapping[str, Any], note: str) -> list[Point]:
    """Fit all trees that the tuned one may have, and score the first ones, then more and more."""
    watch = Watch()
    model = make_lightgbm(1, n_estimators=TUNED["n_estimators"], **choice)
    model.fit(part.X, part.y, callbacks=[lambda _: watch.look()])
    points, odds, done = [], np.zeros(len(part.y_test)), 0
    for n in checkpoints(len(watch.seconds)):
        odds += model.booster_.predict(
            part.X_test, raw_score=True, start_iteration=done, num_iteration=n - done
        )
        done = n
        accuracy = _accuracy(odds > 0.0, part.y_test)
        points.append(Point(watch.seconds[n - 1], accuracy, f"{n} trees{note}"))
    return points


def default_lightgbm(part: Part, limits: Sequence[float]) -> list[Point]:
    """Go on with LightGBM's default leaves and rate beyond its default number of trees."""
    return _lightgbm(part, {}, "")


def tuned_lightgbm(part: Part, limits: Sequence[float]) -> list[Point]:
    """Take the leaves and the rate that validation rows choose; the choice costs no time here."""
    choice = choose(try_lightgbm(part.X, part.y, 1)).choice
    note = f", {choice['num_leaves']} leaves, rate {choice['learning_rate']:g}"
    return _lightgbm(part, choice, note)


class _AfterTree:
    """What CatBoost calls after every tree."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def after_iteration(self, info: Any) -> bool:
        self._watch.look()
        return True


def catboost(part: Part, limits: Sequence[float]) -> list[Point]:
    """Fit CatBoost's default number of trees."""
    model, watch = make_catboost(1), Watch()
    model.fit(part.X, part.y, callbacks=[_AfterTree(watch)])
    wanted = set(checkpoints(len(watch.seconds)))
    staged = model.staged_predict(part.X_test, prediction_type="RawFormulaVal", thread_count=1)
    return [
        Point(seconds, _accuracy(odds > 0.0, part.y_test), f"{n} trees")
        for n, (seconds, odds) in enumerate(zip(watch.seconds, staged, strict=True), start=1)
        if n in wanted
    ]


def chimeraboost(part: Part, limits: Sequence[float]) -> list[Point]:
    """Score what ChimeraBoost grows one after the other, and what it has in the end.

    It compares two boosters, and then finds the values of the winner's leaves on all rows.
    """
    boosters: list[tuple[Any, list[float]]] = []
    watch = Watch()

    def look(iteration: int, train_loss: Any, val_loss: Any, booster: Any) -> None:
        if not boosters or boosters[-1][0] is not booster:
            boosters.append((booster, []))
        boosters[-1][1].append(watch.elapsed)

    # Else it would compute the training loss after every tree, for us alone.
    look._cb_needs_train_loss = False  # type: ignore[attr-defined]
    model = make_chimeraboost(1).fit(part.X, part.y, callbacks=look)
    seconds, accuracy = watch.elapsed, _accuracy(model.predict(part.X_test), part.y_test)
    stages = [_grown(*booster, part, stage) for stage, booster in enumerate(boosters, start=1)]
    end = Point(seconds, accuracy, f"{len(model.model_.trees_)} trees, the end", len(stages))
    return [*chain.from_iterable(stages), end]


def _grown(booster: Any, times: Sequence[float], part: Part, stage: int) -> Iterator[Point]:
    """Score the trees of a booster; those behind its best number are cut off already."""
    wanted = set(checkpoints(len(times)))
    scored = zip(times, booster.staged_predict_raw(part.X_test), strict=False)
    for n, (seconds, odds) in enumerate(scored, start=1):
        if n in wanted:
            yield Point(seconds, _accuracy(odds > 0.0, part.y_test), f"{n} trees", stage)


def ours(part: Part, limits: Sequence[float]) -> list[Point]:
    """Fit our default without a limit, and with every limit that is shorter than that."""

    def fit(limit: float | None) -> Point:
        model = FCGBoostClassifier(n_jobs=1, random_state=0, time_limit=limit)
        with warnings.catch_warnings():
            # That a limit is over before the first step.
            warnings.simplefilter("ignore", UserWarning)
            _, cost = timed(lambda: model.fit(part.X, part.y))
        what = "default" if limit is None else f"time_limit={limit:g}"
        return Point(cost.cpu, _accuracy(model.predict(part.X_test), part.y_test), what)

    whole = fit(None)
    return [*(fit(limit) for limit in limits if limit < whole.seconds), whole]


def _ready_lightgbm(X: Any, y: Any) -> None:
    make_lightgbm(1, **SETTINGS["lightgbm"]).fit(X, y)


def _ready_ours(X: Any, y: Any) -> None:
    FCGBoostClassifier(n_jobs=1, random_state=0).fit(X, y)


@dataclass(frozen=True)
class Contender:
    """A method of the picture: what it needs, its points, and a fit of a few rows before."""

    package: str
    points: Callable[[Part, Sequence[float]], list[Point]]
    get_ready: Callable[[Any, Any], object]


OURS = "fcgboost"
CURVES: Mapping[str, Contender] = {
    OURS: Contender("fcgboost", ours, _ready_ours),
    "LightGBM": Contender("lightgbm", default_lightgbm, _ready_lightgbm),
    "LightGBM tuned": Contender("lightgbm", tuned_lightgbm, _ready_lightgbm),
    "CatBoost": Contender("catboost", catboost, lambda X, y: make_catboost(1).fit(X, y)),
    "ChimeraBoost": Contender(
        "chimeraboost", chimeraboost, lambda X, y: warm_chimeraboost(X, y, threads=1)
    ),
}


def draw_curve(data: str, method: str, quick: bool) -> list[dict[str, Any]]:
    """Return the points of one method, fitted in this process."""
    part = SETS[data]().first(QUICK_ROWS) if quick else SETS[data]()
    own = CURVES[method]
    own.get_ready(part.X[:N_READY], part.y[:N_READY])
    points = own.points(part, QUICK_LIMITS if quick else LIMITS)
    return [point._asdict() for point in points]
