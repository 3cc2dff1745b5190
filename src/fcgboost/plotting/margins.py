"""Histograms of margins."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from fcgboost.colors import BLUE, ORANGE, VERMILION
from fcgboost.evaluation import margins_of
from fcgboost.plotting import base
from fcgboost.plotting.base import Array

_N_BINS = 40
_MOST_BINS = 120
# Margins that differ by less than this from the others are always drawn.
_NEAR = 5.0


@dataclass(eq=False, repr=False)
class MarginDisplay(base.Display):
    """The margins y f(x) of rows, with the errors y f < 0 and the active set y f < 1.

    Margins far from all others are left out of the picture, not of the shares; the axis label
    counts them. With hinge losses only rows of the active set have a loss, so only they determine
    the coefficients. With several classes the margin is the value of the true class minus the
    largest value of the others.
    """

    margins: Array
    _: KW_ONLY
    #: Whether they are margins of several classes.
    is_lead: bool = False

    @property
    def error_share(self) -> float:
        """The share of the rows with a margin below 0."""
        return float(np.mean(self.margins < 0.0))

    @property
    def active_share(self) -> float:
        """The share of the rows with a margin below 1."""
        return float(np.mean(self.margins < 1.0))

    @property
    def n_outside(self) -> int:
        """How many rows lie outside the picture, far from all others."""
        edges = _edges(self.margins)
        return int(np.sum((self.margins < edges[0]) | (self.margins > edges[-1])))

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike,
        **kwargs: Any,
    ) -> Self:
        """Draw the margins of a classifier.

        Parameters
        ----------
        estimator : fitted classifier or Pipeline
            Of this package, or another with decision values; without them, 2 p - 1 counts as f.
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        **kwargs :
            For `plot`.
        """
        cls._check_classes(estimator)
        decision = _decision_values(estimator, X)
        return cls.from_predictions(y, decision, classes=estimator.classes_, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        decision: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the margins of known decision values.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
        decision : array-like of shape (n_samples,) or (n_samples, n_classes)
            Positive values stand for the second of two classes.
        classes : array-like of shape (n_classes,) or None, default=None
            None is the sorted labels of `y_true`.
        **kwargs :
            For `plot`.
        """
        values = np.asarray(decision, dtype=np.float64)
        codes, names = base.class_codes(
            y_true,
            classes,
            values,
            "decision",
        )
        is_lead = values.ndim == 2
        if not is_lead and len(names) != 2:
            raise ValueError(f"A decision of one column is for 2 classes, not {names.tolist()}.")
        return cls(margins_of(codes, values), is_lead=is_lead).plot(**kwargs)

    def plot(self, ax: base.Axes | None = None, **kwargs: Any) -> Self:
        """Draw into Axes, or into a new figure; `kwargs` for `Axes.hist`."""
        ax = self._start(ax)
        edges = _edges(self.margins)
        is_wrong = self.margins < 0.0
        correct = f"correct (margin ≥ 0): {1.0 - self.error_share:.1%}"
        error = f"error (margin < 0): {self.error_share:.1%}"
        for rows, color, label in ((~is_wrong, BLUE, correct), (is_wrong, VERMILION, error)):
            style = {"bins": edges, "color": color, "label": label, **kwargs}
            ax.hist(self.margins[rows], **style)
        ax.locator_params(axis="y", integer=True)
        ax.axvspan(
            edges[0],
            min(1.0, edges[-1]),
            color=ORANGE,
            alpha=0.2,
            linewidth=0,
            zorder=0.5,
            label=f"uncertain or wrong (margin < 1): {self.active_share:.1%}",
        )
        for margin, line in ((0.0, "-"), (1.0, ":")):
            ax.axvline(margin, color=base.text_color(ax), linestyle=line, linewidth=1.0)
        ax.set_xlim(edges[0], edges[-1])
        name = "margin: true class − largest other class" if self.is_lead else "margin $y$ $f(x)$"
        outside = f"\nrows farther out: {self.n_outside}" if self.n_outside else ""
        base.set_labels(ax, name + outside, "rows")
        base.legend_below(ax, ncols=2)
        return self


def _decision_values(estimator: BaseEstimator, X: ArrayLike) -> Array:
    """Return values whose sign, for several classes whose largest, is the predicted class."""
    n_classes = len(estimator.classes_)
    if hasattr(estimator, "decision_function"):  # a user's classifier; forests have none
        decision = np.asarray(estimator.decision_function(X))
        if decision.ndim == 1 or decision.shape[1] == n_classes:
            return decision
    proba = np.asarray(estimator.predict_proba(X))
    return 2.0 * proba[:, 1] - 1.0 if n_classes == 2 else proba


def _edges(margins: Array) -> Array:
    """Return edges of equal bins, 0 and as a rule 1 among them, that hold the usual margins."""
    usual = base.usual_range(margins, _NEAR)
    low = min(0.0, usual[0])
    high = max(1.0, usual[1])
    # Bins have whole numbers of units, or units have whole numbers of bins.
    per_unit = max(1, round(_N_BINS / (high - low)))
    units = max(1.0, np.ceil((high - low) / _MOST_BINS))
    first = np.floor(low * per_unit / units)
    last = np.ceil(high * per_unit / units)
    # The last bin is closed: one more keeps a margin of just 1 from the bins below.
    return np.asarray(np.arange(first, last + 2) * units / per_unit)
