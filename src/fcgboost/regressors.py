"""The methods of fitted regressors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags

from fcgboost import checks
from fcgboost.arrays import (
    Array,
    Labels,
    Rows,
    Tensor,
    Weights,
)
from fcgboost.losses import Poisson
from fcgboost.prediction import BaseFCGBoost, in_kind, twin_of

if TYPE_CHECKING:
    from fcgboost.auditing import RegressionAudit


class RegressorPredictions(RegressorMixin, BaseFCGBoost):
    """The methods of fitted regressors."""

    _losses = "regression loss"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss == "poisson" or isinstance(self.loss, Poisson)
        return tags

    @property
    def has_intervals(self) -> bool:
        """Whether held-out rows tell how far off predictions are."""
        self._fitted()
        return self._errors_ is not None

    def predictions_of(self, decision: Array) -> Array:
        """Return the predictions of decision values, as `predict` of their rows."""
        self._fitted()
        return self._loss_.inverse_link(decision)

    def audit(self, X: Rows, y: Labels) -> RegressionAudit:
        """Say which numbers of the training rows are suspicious, and why.

        Parameters
        ----------
        X, y : as in fit
            The training rows, in the same order.

        Returns
        -------
        RegressionAudit
        """
        from fcgboost.auditing import RegressionAudit, audit_of  # not needed for fits

        self._fitted()
        return audit_of(RegressionAudit, twin_of(self), X, y)

    def predict(self, X: Rows) -> Array | Tensor:
        """Return the predicted number for each row.

        Arithmetic is in float64 even if X is float32. For a torch tensor the result is a tensor of
        the same precision on the same device.
        """
        now = twin_of(self)
        decision = now._decision(X)
        return in_kind(now._loss_.inverse_link(decision), X)

    def predict_interval(self, X: Rows, alpha: float = 0.1) -> Array:
        """Return an interval for y of each row, by the errors of held-out rows.

        The intervals hold y with probability about 1 - alpha over rows like those of the fit, at
        least 1 - 2 alpha where members of folds are averaged (CV+; Barber, Candes, Ramdas and
        Tibshirani 2021), as by "auto". Nothing is promised for a setting that was fitted again to
        all rows. That ridge, steps and weights are chosen on the same rows is not in the theory.
        Ends are infinite where there are fewer than 1 / alpha - 1 rows.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        alpha : float, default=0.1

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        now = twin_of(self)
        errors, decisions = now._by_fold(X, alpha)
        centres = [now._loss_.inverse_link(decision[:, 0]) for decision in decisions]
        # No y is below the least target.
        return np.maximum(errors.interval(centres, alpha), now._loss_.least)

    def score(self, X: Rows, y: Labels, sample_weight: Weights = None) -> float:
        """Return R^2, the share of the variance that is explained."""
        predicted = checks.to_host(self.predict(X))
        weights = checks.to_host(sample_weight)
        return float(r2_score(checks.to_host(y), predicted, sample_weight=weights))

    def staged_predict(self, X: Rows) -> Iterator[Array | Tensor]:
        """Yield the predictions after 1, 2, ..., n_iter_ steps.

        The values of all atoms are cached if they fit into scikit-learn's `working_memory`.
        """
        now = twin_of(self)
        for decision in now._staged_decision(X):
            yield in_kind(now._loss_.inverse_link(decision), X)

    def _flat(self, decision: Array | Tensor) -> Array | Tensor:
        return decision[:, 0]
