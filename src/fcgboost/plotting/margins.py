"""Margins, and the rows of the active set."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fcgboost.colors import BLUE, ORANGE, VERMILION
from fcgboost.losses import Square
from fcgboost.plotting import base
from fcgboost.plotting.base import Array

_N_BINS, _MOST_BINS = 40, 120
# Margins that differ by less than this from the others are always drawn.
_NEAR = 5.0


@dataclass(eq=False, repr=False)
class MarginDisplay(base.Display):
    """The margins y f(x) of rows, with the active set y f < 1 and the errors y f < 0.

    Margins far from all others are left out of the picture, not of the shares; the axis label
    counts them. With hinge losses only rows of the active set have a loss, so only they determine
    the coefficients. With several classes the margin is the value of the true class minus the
    largest value of the others.
    """

    margins: Array
    _: KW_ONLY
    #: Whether they are margins of several classes.
    is_lead: bool = False
    #: Whether rows with a margin above 1 have no loss.
    has_active_set: bool = True

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
    def from_estimator(cls, estimator: Any, X: Any, y: ArrayLike, **kwargs: Any) -> Self:
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
        _, classifier = base.split(estimator, cls)
        display = cls._of(y, _decision_values(estimator, X), estimator.classes_)
        # With the square loss every row counts.
        display.has_active_set &= not isinstance(vars(classifier).get("_loss_"), Square)
        return display.plot(**kwargs)

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
        display = cls._of(y_true, np.asarray(decision, dtype=np.float64), classes)
        return display.plot(**kwargs)

    @classmethod
    def _of(cls, y: ArrayLike, decision: Array, classes: ArrayLike | None) -> Self:
        codes, known = base.class_codes(y, classes, decision, "decision")
        is_lead = decision.ndim == 2
        if not is_lead and len(known) != 2:
            raise ValueError(f"A decision of one column is for 2 classes, not {known.tolist()}.")
        return cls(margins_of(codes, decision), is_lead=is_lead, has_active_set=not is_lead)

    def plot(
        self,
        ax: base.Axes | None = None,
        *,
        kind: Literal["histogram", "ecdf"] = "histogram",
        **kwargs: Any,
    ) -> Self:
        """Draw into Axes, or into a new figure; `kwargs` for `Axes.hist` or `Axes.ecdf`."""
        draw = {"histogram": self._draw_histogram, "ecdf": self._draw_ecdf}.get(kind)
        if draw is None:
            raise ValueError(f"kind must be 'histogram' or 'ecdf', got {kind!r}.")
        ax, edges = self._start(ax), _edges(self.margins)
        ylabel = draw(ax, edges, f"error (margin < 0): {self.error_share:.1%}", kwargs)
        name = "active set" if self.has_active_set else "uncertain or wrong"
        style: dict[str, Any] = {"color": ORANGE, "alpha": 0.2, "linewidth": 0, "zorder": 0.5}
        style["label"] = f"{name} (margin < 1): {self.active_share:.1%}"
        ax.axvspan(edges[0], min(1.0, edges[-1]), **style)
        for place, line in ((0.0, "-"), (1.0, ":")):
            ax.axvline(place, color=base.text_color(ax), linestyle=line, linewidth=1.0)
        ax.set_xlim(edges[0], edges[-1])
        lead = "margin: true class − largest other class"
        far = f"\nrows farther out: {self.n_outside}" if self.n_outside else ""
        base.set_labels(ax, (lead if self.is_lead else "margin $y$ $f(x)$") + far, ylabel)
        base.legend_below(ax, ncols=2)
        return self

    def _draw_histogram(
        self, ax: base.Axes, edges: Array, error: str, options: dict[str, Any]
    ) -> str:
        """Draw one histogram of correct rows, another of errors; return the y label."""
        is_wrong, label = self.margins < 0.0, f"correct (margin ≥ 0): {1.0 - self.error_share:.1%}"
        style = {"bins": edges, "color": BLUE, "label": label, **options}
        ax.hist(self.margins[~is_wrong], **style)
        ax.hist(self.margins[is_wrong], **{**style, "color": VERMILION, "label": error, **options})
        ax.locator_params(axis="y", integer=True)
        return "rows"

    def _draw_ecdf(self, ax: base.Axes, _: Array, error: str, options: dict[str, Any]) -> str:
        """Draw the shares of rows below every margin; return the y label."""
        ax.ecdf(self.margins, **{"color": BLUE, "label": "share of rows", **options})
        ax.plot(0.0, self.error_share, "o", color=VERMILION, label=error)
        ax.plot(1.0, self.active_share, "o", color=ORANGE)
        return "share of rows below"


def margins_of(codes: NDArray[np.intp], decision: Array) -> Array:
    """Return y f, or the value of the true class minus the largest of the others.

    A label that is none of the classes has the code -1; it is always a mistake.
    """
    if decision.ndim == 1:
        return np.where(codes < 0, -np.abs(decision), np.where(codes == 1, decision, -decision))
    rows, is_known = np.arange(len(codes)), codes >= 0
    own = np.where(is_known, decision[rows, codes], decision.min(axis=1))
    others = decision.copy()
    others[rows[is_known], codes[is_known]] = -np.inf
    return np.asarray(own - others.max(axis=1))


def _decision_values(estimator: Any, X: Any) -> Array:
    """Return values whose sign, for several classes whose largest, is the predicted class."""
    n_classes = len(estimator.classes_)
    if hasattr(estimator, "decision_function"):  # a user's classifier; forests have none
        decision = np.asarray(estimator.decision_function(X), dtype=np.float64)
        if decision.ndim == 1 or decision.shape[1] == n_classes:
            return decision
    proba = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    return 2.0 * proba[:, 1] - 1.0 if n_classes == 2 else proba


def _edges(margins: Array) -> Array:
    """Return edges of equal bins, 0 and as a rule 1 among them, that hold the usual margins."""
    usual = base.usual_range(margins, _NEAR)
    low, high = min(0.0, usual[0]), max(1.0, usual[1])
    # Bins have whole numbers of units, or units have whole numbers of bins.
    per_unit = max(1, round(_N_BINS / (high - low)))
    units = max(1.0, np.ceil((high - low) / _MOST_BINS))
    first, last = np.floor(low * per_unit / units), np.ceil(high * per_unit / units)
    # The last bin is closed: one more keeps a margin of just 1 from the bins below.
    return np.asarray(np.arange(first, last + 2) * units / per_unit)
