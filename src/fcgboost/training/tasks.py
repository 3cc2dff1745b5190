"""What a fit learns from y: classes, or numbers in standard units."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score

from fcgboost import threads
from fcgboost.arrays import Array, ClassLabels, Codes, Labels, Matrix, Rows, Target
from fcgboost.calibration import (
    Correction,
    HeldOut,
    PowerLink,
    has_probability,
    labels_of,
    probabilities_of,
)
from fcgboost.checks import ClassWeight, check_labels, check_numbers, class_weights
from fcgboost.conformal import error_of
from fcgboost.designs.blocks import row_blocks
from fcgboost.greedy.path import Trace
from fcgboost.losses import Loss, MarginLoss

# The weight of the squared hinge relative to the accuracy, in a preset. By the loss alone, presets
# choose as well on clean labels, but too little where a third of the labels is wrong.
_LOSS_SHARE = 0.5
# Held-out rows are judged by the loss that follows so small an objective: without smoothing.
_SHARP = 1e-9
# Rows scored by a thread at once.
_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class Task(ABC):
    """What y is, and what decision values say of it. `target` stands for y, a number a row."""

    loss: Loss

    @abstractmethod
    def read(self, y: Labels) -> tuple[Self, Target]:
        """Check the y of training data; return the task and the target."""

    @abstractmethod
    def read_again(self, y: Labels) -> Target:
        """Return the target of validation data."""

    @abstractmethod
    def present(self, target: Target) -> tuple[Self, Target]:
        """Return the task for the rows that count, and their target."""

    @abstractmethod
    def learned(self, target: Target, weights: Array) -> Self:
        """Return the task with what canonical training rows say."""

    @abstractmethod
    def example(self) -> tuple[BaseEstimator, ClassLabels]:
        """Return an estimator that predicts two rows, and their y, to try scores on."""

    @property
    @abstractmethod
    def names(self) -> list[object]:
        """The classes."""

    @property
    @abstractmethod
    def statistics(self) -> list[str]:
        """What `level_sums` tell of levels of categories."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """The number of decision values of a row."""

    @abstractmethod
    def weights(self, target: Target, weights: Array) -> Array:
        """Return the weights of rows in the loss."""

    @abstractmethod
    def targets(self, target: Target) -> list[Array]:
        """Return what each output of the loop fits."""

    @abstractmethod
    def check_part(self, target: Target, name: str) -> None:
        """Raise a ValueError if a training part lacks rows that it needs."""

    @abstractmethod
    def attributes(self, link: PowerLink | None) -> dict[str, object]:
        """Return the fitted attributes that only this task has."""

    @abstractmethod
    def out_of_fold(self, decision: Array) -> dict[str, Array]:
        """Return the fitted attribute for out-of-fold decision values of all rows given."""

    @abstractmethod
    def errors(self, held_out: HeldOut) -> tuple[Array, Array]:
        """Return the errors of held-out rows, and their weights as given."""

    @abstractmethod
    def labels(self, target: Target) -> ClassLabels:
        """Return y."""

    @abstractmethod
    def some_labels(self, target: Target) -> ClassLabels:
        """Return y of a few rows, among which is every class, or the least."""

    @abstractmethod
    def translated(self, target: Target, task: Self) -> Target:
        """Return the target of rows that another task has read."""

    @abstractmethod
    def precomputed(self, decision: Array, link: PowerLink | None) -> BaseEstimator:
        """Return an estimator with these decision values, for scikit-learn's scorers."""

    @abstractmethod
    def level_sums(
        self,
        bins: Codes,
        n_bins: int,
        target: Target,
        weights: Array,
    ) -> tuple[Array, Array]:
        """Return the sums of `LabelFacts`, of shape (n_bins, n_shares), and their excess."""

    @abstractmethod
    def row_scores(
        self,
        target: Target,
        counts: Array,
        is_smoothed: bool,
    ) -> Callable[[Array, slice], float]:
        """Return a function from the loop's values to the weighted sum of some rows' scores."""

    @abstractmethod
    def score(
        self,
        decision: Array,
        target: Target,
        weights: Array,
    ) -> float:
        """Return the score of decision values that the estimator's `score` is."""

    @abstractmethod
    def standard_error(self, score: float, weight: float) -> float:
        """Return about the standard error of a mean score of rows of this weight."""

    def in_units(self, values: Array) -> Array:
        """Return the loop's values as decision values."""
        return values

    def standard(self, decision: Array) -> Array:
        """Return decision values as the loop's values."""
        return decision

    def path(self, trace: Trace) -> Trace:
        """Return the loop's path as one of decision values."""
        return trace

    def sums(
        self, target: Target, counts: Array, is_smoothed: bool = False
    ) -> Callable[[Array], float]:
        """Return a function from the loop's values to the weighted sum of the rows' scores."""
        of_rows = self.row_scores(target, counts, is_smoothed)
        blocks = row_blocks(len(target), _AT_ONCE)
        return lambda decision: sum(threads.each(partial(of_rows, decision), blocks))

    def risk(self, held_out: Sequence[HeldOut]) -> float:
        """Return the mean loss of held-out rows, over rows and outputs."""
        decision, target, weights = (np.concatenate(part) for part in zip(*held_out, strict=True))
        loss = self.loss.narrowed(_SHARP)
        targets = self.targets(target)
        values = self.standard(decision).T
        risks = [weights @ loss.value(y, f) for y, f in zip(targets, values, strict=True)]
        return float(np.mean(risks) / weights.sum())


@dataclass(frozen=True, eq=False)
class Classification(Task):
    """Classes; the target is their codes."""

    class_weight: ClassWeight = None
    classes: ClassLabels = field(default_factory=lambda: np.zeros(0))
    #: The weights of the classes in the loss.
    per_class: Array = field(default_factory=lambda: np.zeros(0))

    def read(self, y: Labels) -> tuple[Self, Target]:
        classes, codes = check_labels(y)
        return replace(self, classes=classes), codes

    def read_again(self, y: Labels) -> Target:
        return check_labels(y, self.classes)[1]

    def present(self, target: Target) -> tuple[Self, Target]:
        # Without sorting, as there may be millions of codes.
        is_present = np.bincount(target, minlength=len(self.classes)) > 0
        task = replace(self, classes=self.classes[is_present])
        check_two_classes(task.classes)
        return task, (np.cumsum(is_present) - 1)[target]

    def learned(self, target: Target, weights: Array) -> Self:
        totals = np.bincount(target, weights, len(self.classes)).astype(np.float64)
        per_class = class_weights(self.class_weight, self.classes, totals)
        return replace(self, per_class=per_class)

    def example(self) -> tuple[BaseEstimator, ClassLabels]:
        y = np.array([0, 1])
        return PrecomputedClassifier(self.loss, y, np.array([-0.5, 0.5])), y

    @property
    def names(self) -> list[object]:
        names: list[object] = self.classes.tolist()
        return names

    @property
    def statistics(self) -> list[str]:
        return [f"share of {name}" for name in self.names[1:]]

    @property
    def n_outputs(self) -> int:
        return 1 if len(self.classes) == 2 else len(self.classes)

    def weights(self, target: Target, weights: Array) -> Array:
        return np.asarray(weights * self.per_class[target])

    def targets(self, target: Target) -> list[Array]:
        return make_targets(target, len(self.classes))

    def check_part(self, target: Target, name: str) -> None:
        counts = np.bincount(target, minlength=len(self.classes))
        missing = self.classes[counts == 0].tolist()
        if missing:
            raise ValueError(
                f"{name} has no row of the classes {missing}: use folds with every class in every "
                "training part."
            )

    def attributes(self, link: PowerLink | None) -> dict[str, object]:
        return {"classes_": self.classes, "link_": link, "_correction_": None}

    def out_of_fold(self, decision: Array) -> dict[str, Array]:
        return {"oof_decision_function_": decision[:, 0] if self.n_outputs == 1 else decision}

    def errors(self, held_out: HeldOut) -> tuple[Array, Array]:
        codes = held_out.target
        weights = held_out.weights / self.per_class[codes]
        errors = error_of(held_out.decision, codes)
        return errors, weights

    def labels(self, target: Target) -> ClassLabels:
        return np.asarray(self.classes[target])

    def some_labels(self, target: Target) -> ClassLabels:
        return self.labels(np.unique(target))

    def translated(self, target: Target, task: Self) -> Target:
        return np.searchsorted(self.classes, task.classes)[target]

    def precomputed(self, decision: Array, link: PowerLink | None) -> BaseEstimator:
        values = decision[:, 0] if self.n_outputs == 1 else decision
        return PrecomputedClassifier(
            self.loss,
            self.classes,
            values,
            link,
        )

    def level_sums(
        self,
        bins: Codes,
        n_bins: int,
        target: Target,
        weights: Array,
    ) -> tuple[Array, Array]:
        n = len(self.classes)
        sums = np.bincount(bins * n + target, weights, n_bins * n)
        excess = np.zeros(n)
        return sums.reshape(n_bins, n).astype(np.float64), excess

    def row_scores(
        self,
        target: Target,
        counts: Array,
        is_smoothed: bool,
    ) -> Callable[[Array, slice], float]:
        """Return the sums of hits, if `is_smoothed` minus half the squared hinge.

        The accuracy of a few hundred rows alone is too coarse to choose by.
        """
        n_classes = len(self.classes)
        targets = np.column_stack(self.targets(target))

        def sums(decision: Array, rows: slice) -> float:
            f = decision[rows]
            predicted = f[:, 0] > 0.0 if n_classes == 2 else f.argmax(1)
            hits = float(counts[rows] @ (predicted == target[rows]))
            if not is_smoothed:
                return hits
            gaps = 1.0 - targets[rows] * f
            gaps *= gaps > 0.0
            losses = np.add.reduce(counts[rows] @ (gaps * gaps)) / targets.shape[1]
            return hits - _LOSS_SHARE * float(losses)

        return sums

    def score(
        self,
        decision: Array,
        target: Target,
        weights: Array,
    ) -> float:
        hits = self.sums(target, weights)
        return hits(decision) / float(weights.sum())

    def standard_error(self, score: float, weight: float) -> float:
        """Take the score as a frequency if possible."""
        frequency = score if 0.0 < score <= 1.0 else 0.5
        return math.sqrt(frequency * (1.0 - frequency) / weight)


@dataclass(frozen=True, eq=False)
class Regression(Task):
    """Numbers; the loop fits (y - shift) / scale."""

    #: Whether y may be shifted, as an intercept follows.
    is_centred: bool = True
    shift: float = 0.0
    scale: float = 1.0

    def read(self, y: Labels) -> tuple[Self, Target]:
        if isinstance(self.loss, MarginLoss):
            raise ValueError(f"{self.loss} is a loss of labels: use FCGBoostClassifier.")
        return self, self._read(y, "y")

    def read_again(self, y: Labels) -> Target:
        return self._read(y, "y_val")

    def _read(self, y: Labels, name: str) -> Array:
        target = check_numbers(y, name)
        if (target < self.loss.least).any():
            raise ValueError(
                f"{name} has numbers below {self.loss.least:g}, the least that {self.loss} allows."
            )
        return target

    def present(self, target: Target) -> tuple[Self, Target]:
        return self, target

    def learned(self, target: Target, weights: Array) -> Self:
        shift, scale = self.loss.units(target, weights, self.is_centred)
        # Of equal numbers even a loss that is smoothed over units fits this one.
        return replace(self, shift=shift, scale=scale or 1e-9 * (abs(shift) or 1.0))

    def example(self) -> tuple[BaseEstimator, ClassLabels]:
        y = np.array([1.0, 2.0])
        return PrecomputedRegressor(y), y

    @property
    def names(self) -> list[object]:
        return []

    @property
    def statistics(self) -> list[str]:
        return ["mean target"]

    @property
    def n_outputs(self) -> int:
        return 1

    def weights(self, target: Target, weights: Array) -> Array:
        return weights

    def targets(self, target: Target) -> list[Array]:
        return [self.standard(target)]

    def check_part(self, target: Target, name: str) -> None:
        if not len(target):
            raise ValueError(f"{name} has no row of positive weight: give it some.")

    def attributes(self, link: PowerLink | None) -> dict[str, object]:
        return {}

    def out_of_fold(self, decision: Array) -> dict[str, Array]:
        return {"oof_prediction_": self.loss.inverse_link(decision[:, 0])}

    def errors(self, held_out: HeldOut) -> tuple[Array, Array]:
        predicted = self.loss.inverse_link(held_out.decision[:, 0])
        errors = np.abs(held_out.target - predicted)
        return errors, held_out.weights

    def labels(self, target: Target) -> ClassLabels:
        return target

    def some_labels(self, target: Target) -> ClassLabels:
        return target[[target.argmin()]]

    def translated(self, target: Target, task: Self) -> Target:
        return target

    def precomputed(self, decision: Array, link: PowerLink | None) -> BaseEstimator:
        return PrecomputedRegressor(self.loss.inverse_link(decision[:, 0]))

    def level_sums(
        self,
        bins: Codes,
        n_bins: int,
        target: Target,
        weights: Array,
    ) -> tuple[Array, Array]:
        """Count a row of standard target z as 1 - z of one class and z of another.

        The shares of the second are then means of z, and all that is linear in shares holds.
        """
        z = self.standard(target)
        totals = np.bincount(bins, weights, n_bins)
        firsts = np.bincount(bins, weights * z, n_bins)
        excess = float(weights @ (z * z - z))
        sums = np.column_stack([totals - firsts, firsts])
        return sums, np.full(2, excess)

    def row_scores(
        self,
        target: Target,
        counts: Array,
        is_smoothed: bool,
    ) -> Callable[[Array, slice], float]:
        """Return minus the sums of losses."""
        z = self.standard(target)
        loss = self.loss.narrowed(_SHARP)

        def sums(values: Array, rows: slice) -> float:
            losses = loss.value(z[rows], values[rows, 0])
            return -float(counts[rows] @ losses)

        return sums

    def score(
        self,
        decision: Array,
        target: Target,
        weights: Array,
    ) -> float:
        """Return R^2, of standard units, whose squares neither overflow nor vanish."""
        y = self.standard(target)
        f = self.loss.inverse_link(self.standard(decision[:, 0]))
        if len(y) < 2:
            return math.nan
        return float(r2_score(y, f, sample_weight=weights))

    def standard_error(self, score: float, weight: float) -> float:
        """Take what the score lacks of the best, 0 or 1, as the mean of squares of errors."""
        lack = 1.0 - score if score > 0.0 else -score
        return lack * math.sqrt(2.0 / weight)

    def in_units(self, values: Array) -> Array:
        return self.shift + self.scale * values

    def standard(self, decision: Array) -> Array:
        return (decision - self.shift) / self.scale

    def path(self, trace: Trace) -> Trace:
        return trace.in_units(self.shift, self.scale)


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

    def predict_proba(self, X: Rows) -> Matrix:
        if self.link is None:
            has_probability(self)
        return probabilities_of(
            self.loss,
            self.link,
            self.decision,
            self.correction,
        )


@dataclass(eq=False, repr=False)
class PrecomputedRegressor(RegressorMixin, BaseEstimator):
    """A regressor with precomputed predictions."""

    predicted: Array

    def fit(self, X: Rows, y: Labels) -> Self:
        return self

    def predict(self, X: Rows) -> Array:
        return self.predicted


def check_two_classes(classes: ClassLabels) -> None:
    """Raise a ValueError if there are fewer than two classes."""
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class ({classes.tolist()[0]!r}) among the rows of positive weight: a "
            "classifier needs at least two classes."
        )


def make_targets(codes: Codes, n_classes: int) -> list[Array]:
    """Return targets -1 and +1 for each output: one for two classes, else one per class."""
    positives = [1] if n_classes == 2 else range(n_classes)
    return [np.where(codes == positive, 1.0, -1.0) for positive in positives]
