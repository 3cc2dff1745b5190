"""The methods of fitted classifiers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if

from fcgboost import checks
from fcgboost.arrays import (
    Array,
    ClassLabels,
    Flags,
    Labels,
    Rows,
    Tensor,
    Weights,
)
from fcgboost.calibration import (
    Correction,
    PowerLink,
    has_probability,
    labels_of,
    probabilities_of,
)
from fcgboost.prediction import BaseFCGBoost, in_kind, twin_of

if TYPE_CHECKING:
    from fcgboost.auditing import Audit

Method = TypeVar("Method")


def if_probable(method: Method) -> Method:
    """Hide a method if neither the loss nor the link has probabilities."""
    checked: Method = available_if(has_probability)(method)
    return checked


class ClassifierPredictions(ClassifierMixin, BaseFCGBoost):
    """The methods of fitted classifiers."""

    classes_: ClassLabels
    link: str
    link_: PowerLink | None
    # From labels to true classes, if asked for.
    _correction_: Correction | None = None

    @property
    def label_noise_(self) -> Array | None:
        """The noise matrix that predictions are corrected by; None if they are not."""
        self._fitted()
        return None if self._correction_ is None else self._correction_.matrix.copy()

    def decision_function(self, X: Rows) -> Array | Tensor:
        """Return decision values of shape (n_samples,) for two classes, or (n_samples, n_classes).

        For two classes, f > 0 predicts classes_[1]; for more, the largest value wins. Arithmetic
        is in float64 even if X is float32. For a torch tensor the result is a tensor of the same
        precision on the same device.
        """
        return in_kind(twin_of(self)._decision(X), X)

    def audit(self, X: Rows, y: Labels) -> Audit:
        """Say which labels of the training rows are suspicious, why, and how many are wrong.

        Parameters
        ----------
        X, y : as in fit
            The training rows, in the same order.

        Returns
        -------
        Audit
        """
        from fcgboost.auditing import Audit, audit_of  # not needed for fits

        self._fitted()
        return audit_of(Audit, twin_of(self), X, y)

    def predict(self, X: Rows) -> ClassLabels | Tensor:
        """Return the predicted class of each row.

        For a torch tensor and numeric classes the result is a tensor on the same device.
        """
        now = twin_of(self)
        return now._labels_of(now._decision(X), X)

    @if_probable
    def predict_proba(self, X: Rows) -> Array | Tensor:
        """Return class probabilities by the fitted link, or by the formula of the loss.

        For a torch tensor the result is a tensor of the same precision on the same device.
        """
        now = twin_of(self)
        decision = now._decision(X)
        return in_kind(now._probabilities_of(decision), X)

    def predict_set(self, X: Rows, alpha: float = 0.1) -> Flags:
        """Return which classes may be true of each row, by the errors of held-out rows.

        The sets hold the label with probability about 1 - alpha over rows like those of the fit, at
        least 1 - 2 alpha where members of folds are averaged (CV+; Romano, Sesia and Candes 2020),
        as by "auto". Nothing is promised for a setting that was fitted again to all rows. That
        ridge, steps and weights are chosen on the same rows is not in the theory. Sets may be
        empty. Labels are those given, whatever `label_noise` is.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        alpha : float, default=0.1

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
        """
        errors, decisions = twin_of(self)._by_fold(X, alpha)
        return errors.classes(decisions, alpha)

    def labels_of(self, decision: Array) -> ClassLabels:
        """Return the classes that decision values predict, as `predict` of their rows does."""
        self._fitted()
        return twin_of(self)._labels_of(decision)

    @if_probable
    def probabilities_of(self, decision: Array) -> Array:
        """Return the class probabilities of decision values, as `predict_proba` of their rows."""
        now = twin_of(self)
        now._fitted()
        return now._probabilities_of(decision)

    def score(self, X: Rows, y: Labels, sample_weight: Weights = None) -> float:
        """Return the accuracy."""
        labels = checks.to_host(self.predict(X))
        weights = checks.to_host(sample_weight)
        return float(accuracy_score(checks.to_host(y), labels, sample_weight=weights))

    def staged_decision_function(self, X: Rows) -> Iterator[Array | Tensor]:
        """Yield the decision values after 1, 2, ..., n_iter_ steps.

        The values of all atoms are cached if they fit into scikit-learn's `working_memory`.
        """
        for decision in twin_of(self)._staged_decision(X):
            yield in_kind(decision, X)

    def staged_predict(self, X: Rows) -> Iterator[ClassLabels | Tensor]:
        """Yield the predicted classes after 1, 2, ..., n_iter_ steps."""
        now = twin_of(self)
        for decision in now._staged_decision(X):
            yield now._labels_of(decision, X)

    @if_probable
    def staged_predict_proba(self, X: Rows) -> Iterator[Array | Tensor]:
        """Yield the class probabilities after 1, 2, ..., n_iter_ steps, by the fitted link."""
        now = twin_of(self)
        for decision in now._staged_decision(X):
            yield in_kind(now._probabilities_of(decision), X)

    def _flat(self, decision: Array | Tensor) -> Array | Tensor:
        if len(self.classes_) > 2:
            return decision
        return decision[:, 0] if self._correction_ is None else decision[:, 0] - self._shift

    @property
    def _shift(self) -> float:
        return 0.0 if self._correction_ is None else self._correction_.shift

    def _labels_of(self, decision: Array | Tensor, X: Rows = None) -> ClassLabels | Tensor:
        if self._correction_ is not None and decision.ndim == 2:
            decision = self._probabilities_of(decision)
        return labels_of(decision, self.classes_, X)

    def _probabilities_of(self, decision: Array | Tensor) -> Array | Tensor:
        return probabilities_of(self._loss_, self.link_, decision, self._correction_)
