"""Scores of steps on validation data."""

from __future__ import annotations

import inspect
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import check_scoring, get_scorer

from fcgboost.arrays import Array, Labels, Rows
from fcgboost.calibration import (
    PowerLink,
)
from fcgboost.checks import Metrics, Scorer, named_metrics
from fcgboost.losses import ProbabilityLoss
from fcgboost.training.dataset import DataSet, counts_of
from fcgboost.training.tasks import Classification, Task


class _Quiet:
    """Where scores are computed: without warnings of few classes.

    Filters of warnings belong to the process: threads that set and restore them by turns would
    leave those of another. So the first score sets them, and the last one restores them.
    """

    def __init__(self) -> None:
        self._start_anew()
        if hasattr(os, "register_at_fork"):  # not on Windows
            os.register_at_fork(after_in_child=self._start_anew)

    def _start_anew(self) -> None:
        # Reentrant: a signal handler may score while its own thread holds it.
        self._lock = threading.RLock()
        self._n_inside = 0

    @contextmanager
    def room(self) -> Iterator[None]:
        # Not held meanwhile: a score that fits in threads scores in these, too.
        with self._lock:
            if self._n_inside == 0:
                self._filters = warnings.catch_warnings()
                self._filters.__enter__()
                # Early steps may predict a single class.
                warnings.simplefilter("ignore", UndefinedMetricWarning)
                warnings.filterwarnings("ignore", "y_pred contains classes not in y_true")
            self._n_inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_inside -= 1
                if self._n_inside == 0:
                    self._filters.__exit__(None, None, None)


_quiet = _Quiet()


class Metric:
    """A score by scikit-learn's name or a function; NaN if a class it needs is missing."""

    def __init__(self, scoring: str | Scorer) -> None:
        self._scoring = scoring
        self._scorer = get_scorer(scoring)
        self._is_users = callable(scoring)
        # A function need not accept weights, even wrapped in a scorer.
        function = getattr(scoring, "_score_func", self._scorer)
        self._has_weights = any(
            parameter.name == "sample_weight" or parameter.kind is parameter.VAR_KEYWORD
            for parameter in inspect.signature(function).parameters.values()
        )

    def __call__(
        self,
        estimator: BaseEstimator,
        X: Rows,
        y: Labels,
        weights: Array | None = None,
    ) -> float:
        options = {} if weights is None or not self._has_weights else {"sample_weight": weights}
        with _quiet.room():
            try:
                return float(
                    self._scorer(
                        estimator,
                        X,
                        y,
                        **options,
                    )
                )
            except (TypeError, ValueError) as error:
                n_classes = len(getattr(estimator, "classes_", ()))
                if not self._is_users and len(np.unique(y)) < n_classes:
                    return float("nan")
                raise ValueError(f"{self._scoring!r} cannot score these rows: {error}") from error

    def at(
        self,
        data: DataSet,
        task: Task,
        link: PowerLink | None = None,
    ) -> Callable[[Array], float]:
        """Return the score as a function of decision values; users' functions get the raw rows."""
        rows = (data.originals if self._is_users else None) or data
        positions = slice(None) if rows is data else data.positions
        y = task.labels(rows.target)

        def score(decision: Array) -> float:
            return self(
                task.precomputed(decision[positions], link),
                rows.X,
                y,
                rows.weights,
            )

        return score


def held_out_score(
    scoring: str | Scorer,
    data: DataSet,
    task: Task,
    link: PowerLink | None = None,
) -> Callable[[Array], float]:
    """Return the score of held-out rows as a function of decision values.

    A score that needs all classes, such as the log-loss, is taken among those of the rows.
    """
    score = Metric(scoring).at(data, task, link)
    codes = np.unique(data.strata)
    if not isinstance(task, Classification) or len(codes) in (1, len(task.classes)):
        return score
    among = Metric(scoring).at(
        replace(data, target=np.searchsorted(codes, data.target)),
        replace(task, classes=task.classes[codes]),
        link,
    )

    def score_among(decision: Array) -> float:
        value = score(decision)
        if not np.isnan(value):
            return value
        decision = decision[:, codes]
        return among(np.diff(decision) / 2.0 if len(codes) == 2 else decision)

    return score_among


def check_metrics(metrics: Metrics, task: Task, link: str) -> dict[str, str | Scorer]:
    """Return scores by name; raise a ValueError for an invalid one."""
    named = named_metrics(metrics)
    for scoring in named.values():
        Metric(scoring)
        check_score(scoring, task, has_link=link == "power")
    return named


def check_score(scoring: str | Scorer | None, task: Task, has_link: bool = False) -> None:
    """Raise a ValueError for an invalid score, or one that needs missing probabilities."""
    if isinstance(scoring, list | tuple | set | dict):
        raise ValueError(f"scoring must be one score, got {scoring!r}.")
    two, y = task.example()
    scorer = check_scoring(two, scoring=scoring)
    has_probabilities = has_link or isinstance(task.loss, ProbabilityLoss)
    if isinstance(scoring, str) and not (isinstance(task, Classification) and has_probabilities):
        # A score that needs what there is not fails here, not at the first step.
        scorer(two, [[0.0], [1.0]], y)


def make_score(
    scoring: str | Scorer | None,
    is_smoothed: bool,
    task: Task,
    data: DataSet,
) -> Callable[[Array], float]:
    """Return a function from the loop's values on validation data to a score.

    Without `scoring` it is the mean of the task's scores of rows. NaN stands for a score that is
    not defined.
    """
    if scoring is not None:
        score = held_out_score(scoring, data, task)
        return lambda values: score(task.in_units(values))
    counts = counts_of(data.weights)
    total = float(counts.sum())
    sums = task.sums(data.target, counts, is_smoothed)
    return lambda values: sums(values) / total
