"""Scores of steps on validation data."""

from __future__ import annotations

import inspect
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import check_scoring, get_scorer

from fcgboost import threads
from fcgboost.arrays import Array, ClassLabels, Codes, Labels, Rows
from fcgboost.calibration import (
    Correction,
    PowerLink,
    has_probability,
    labels_of,
    probabilities_of,
)
from fcgboost.checks import Metrics, Scorer, named_metrics
from fcgboost.designs.blocks import row_blocks
from fcgboost.losses import Loss, ProbabilityLoss
from fcgboost.training.dataset import DataSet, counts_of

# The weight of the squared hinge relative to the accuracy, in a preset. By the loss alone, presets
# choose as well on clean labels, but too little where a third of the labels is wrong.
_LOSS_SHARE = 0.5
# Rows scored by a thread at once.
_AT_ONCE = 1 << 16


@dataclass(eq=False, repr=False)
class PrecomputedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier with precomputed decision values, for scikit-learn's scorers."""

    loss: Loss
    classes_: ClassLabels
    decision: Array
    link: PowerLink | None = None
    correction: Correction | None = None

    def fit(self, X: Rows, y: Labels) -> Self:
        return self

    def decision_function(self, X: Rows) -> Array:
        return self.decision

    def predict(self, X: Rows) -> ClassLabels:
        decision = self.decision
        if self.correction is not None and decision.ndim == 2:
            decision = self.predict_proba(X)
        return labels_of(decision, self.classes_)

    def predict_proba(self, X: Rows) -> Array:
        if self.link is None:
            has_probability(self)
        return probabilities_of(self.loss, self.link, self.decision, self.correction)


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
        classifier: PrecomputedClassifier,
        X: Rows,
        y: Labels,
        weights: Array | None = None,
    ) -> float:
        options = {} if weights is None or not self._has_weights else {"sample_weight": weights}
        with _quiet.room():
            try:
                return float(
                    self._scorer(
                        classifier,
                        X,
                        y,
                        **options,
                    )
                )
            except (TypeError, ValueError) as error:
                if not self._is_users and len(np.unique(y)) < len(classifier.classes_):
                    return float("nan")
                raise ValueError(f"{self._scoring!r} cannot score these rows: {error}") from error

    def at(
        self,
        data: DataSet,
        loss: Loss,
        classes: ClassLabels,
        link: PowerLink | None = None,
    ) -> Callable[[Array], float]:
        """Return the score as a function of decision values; users' functions get the raw rows."""
        rows = (data.originals if self._is_users else None) or data
        positions = slice(None) if rows is data else data.positions
        output = 0 if len(classes) == 2 else slice(None)
        y = classes[rows.codes]

        def score(decision: Array) -> float:
            values = decision[positions][:, output]
            classifier = PrecomputedClassifier(
                loss,
                classes,
                values,
                link,
            )
            return self(
                classifier,
                rows.X,
                y,
                rows.weights,
            )

        return score


def held_out_score(
    scoring: str | Scorer,
    data: DataSet,
    loss: Loss,
    classes: ClassLabels,
    link: PowerLink | None = None,
) -> Callable[[Array], float]:
    """Return the score of held-out rows as a function of decision values.

    A score that needs all classes, such as the log-loss, is taken among those of the rows.
    """
    score = Metric(scoring).at(data, loss, classes, link)
    codes = np.unique(data.codes)
    if len(codes) in (1, len(classes)):
        return score
    among = Metric(scoring).at(
        replace(data, codes=np.searchsorted(codes, data.codes)),
        loss,
        classes[codes],
        link,
    )

    def score_among(decision: Array) -> float:
        value = score(decision)
        if not np.isnan(value):
            return value
        decision = decision[:, codes]
        return among(np.diff(decision) / 2.0 if len(codes) == 2 else decision)

    return score_among


def check_metrics(metrics: Metrics, loss: Loss, link: str) -> dict[str, str | Scorer]:
    """Return scores by name; raise a ValueError for an invalid one."""
    named = named_metrics(metrics)
    for scoring in named.values():
        Metric(scoring)
        check_score(scoring, loss, has_link=link == "power")
    return named


def check_score(scoring: str | Scorer | None, loss: Loss, has_link: bool = False) -> None:
    """Raise a ValueError for an invalid score, or one that needs missing probabilities."""
    if isinstance(scoring, list | tuple | set | dict):
        raise ValueError(f"scoring must be one score, got {scoring!r}.")
    two = PrecomputedClassifier(loss, np.array([0, 1]), np.array([-0.5, 0.5]))
    scorer = check_scoring(two, scoring=scoring)
    if isinstance(scoring, str) and not (has_link or isinstance(loss, ProbabilityLoss)):
        # A score that needs probabilities fails here, not at the first step.
        scorer(two, [[0.0], [1.0]], [0, 1])


def make_targets(codes: Codes, n_classes: int) -> list[Array]:
    """Return targets -1 and +1 for each output: one for two classes, else one per class."""
    positives = [1] if n_classes == 2 else range(n_classes)
    return [np.where(codes == positive, 1.0, -1.0) for positive in positives]


def make_score(
    scoring: str | Scorer | None,
    is_smoothed: bool,
    loss: Loss,
    classes: ClassLabels,
    data: DataSet,
) -> Callable[[Array], float]:
    """Return a function from decision values on validation data to a score.

    Without `scoring` it is the accuracy, if `is_smoothed` minus half the mean squared hinge: the
    accuracy of a few hundred rows alone is too coarse to choose by. NaN stands for a score that is
    not defined.
    """
    if scoring is not None:
        return held_out_score(scoring, data, loss, classes)
    counts = counts_of(data.weights)
    total = float(counts.sum())
    sums = make_sums(
        data.codes,
        len(classes),
        counts,
        is_smoothed,
    )
    return lambda decision: sums(decision) / total


def make_sums(
    codes: Codes,
    n_classes: int,
    counts: Array,
    is_smoothed: bool,
) -> Callable[[Array], float]:
    """Return a function from decision values to the weighted sum of the rows' scores.

    A row scores 1 if it is classified correctly, if `is_smoothed` minus half its squared hinge.
    """
    targets = np.column_stack(make_targets(codes, n_classes))

    def sums(decision: Array, rows: slice) -> float:
        f = decision[rows]
        predicted = f[:, 0] > 0.0 if n_classes == 2 else f.argmax(1)
        hits = float(counts[rows] @ (predicted == codes[rows]))
        if not is_smoothed:
            return hits
        gaps = 1.0 - targets[rows] * f
        gaps *= gaps > 0.0
        losses = np.add.reduce(counts[rows] @ (gaps * gaps)) / targets.shape[1]
        return hits - _LOSS_SHARE * float(losses)

    blocks = row_blocks(len(codes), _AT_ONCE)
    return lambda decision: sum(threads.each(partial(sums, decision), blocks))
