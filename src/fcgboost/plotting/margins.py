"""Margins, and the rows that still count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fcgboost.losses import Square
from fcgboost.plotting import fitted
from fcgboost.plotting.canvas import (
    Array,
    Display,
    check_matplotlib,
    farther_out,
    ink,
    legend_below,
    set_labels,
    usual_range,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_N_BINS, _MOST_BINS = 40, 120
# Margins that differ by less than this from the others are always drawn.
_NEAR = 5.0
_Y_LABELS = {"histogram": "rows", "ecdf": "share of rows below"}
_LEAD = "margin: value of the true class − largest of the others"
# What the rows are called that are not an active set.
_NO_SET = "unsure or wrong"
_ERROR_COLOR, _ACTIVE_COLOR, _DONE_COLOR = "#D55E00", "#E69F00", "#0072B2"


class MarginDisplay(Display):
    """The margins y f(x) of rows, with the active set y f < 1 and the errors y f < 0.

    Margins far from all others are left out of the picture, not of the shares; the label of the
    axis counts them.

    With the squared hinge and its kin only the rows of the active set have a loss and pull at the
    coefficients. With several classes the margin is f_y, the value of the row's class, less the
    largest value of the others.

    Parameters
    ----------
    margins : ndarray of shape (n_samples,)
    xlabel : str, default="margin $y$ $f(x)$"
    active_name : str, default="active set"
        What rows with a margin below 1 are called.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from fcgboost.plotting import MarginDisplay
    >>> y, f = ["no", "no", "yes", "yes"], [-1.5, 0.5, 0.5, 2.0]
    >>> display = MarginDisplay.from_predictions(y, f)
    >>> display.margins, display.active_share
    (array([ 1.5, -0.5,  0.5,  2. ]), 0.5)
    """

    def __init__(
        self,
        margins: Array,
        *,
        xlabel: str = "margin $y$ $f(x)$",
        active_name: str = "active set",
    ) -> None:
        self.margins = margins
        self.xlabel = xlabel
        self.active_name = active_name

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
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        kind: Literal["histogram", "ecdf"] = "histogram",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the margins of a classifier.

        Parameters
        ----------
        estimator : fitted classifier or Pipeline
            Of this package, or another with decision values; without them, 2 p - 1 counts as f.
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        kind : {"histogram", "ecdf"}, default="histogram"
        ax : matplotlib Axes or None, default=None
        **kwargs :
            For `Axes.hist` or `Axes.ecdf`.

        Returns
        -------
        MarginDisplay
        """
        check_matplotlib(cls.__name__)
        _, classifier = fitted.split(estimator)
        decision = fitted.decision_values(estimator, X)
        # With the square every row has a loss, so there is no active set.
        loss = vars(classifier).get("_loss_")
        display = cls._of(
            y, decision, estimator.classes_, has_active_set=not isinstance(loss, Square)
        )
        return display.plot(ax, kind=kind, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        decision: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        kind: Literal["histogram", "ecdf"] = "histogram",
        ax: Axes | None = None,
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
        kind : {"histogram", "ecdf"}, default="histogram"
        ax : matplotlib Axes or None, default=None
        **kwargs :
            For `Axes.hist` or `Axes.ecdf`.

        Returns
        -------
        MarginDisplay
        """
        check_matplotlib(cls.__name__)
        known = np.unique(np.asarray(y_true)) if classes is None else np.asarray(classes)
        values = np.asarray(decision, dtype=np.float64)
        return cls._of(y_true, values, known).plot(ax, kind=kind, **kwargs)

    @classmethod
    def _of(
        cls, y: ArrayLike, decision: Array, classes: NDArray[Any], has_active_set: bool = True
    ) -> Self:
        """Give the display of decision values; several classes have no single active set."""
        margins = margins_of(_checked_codes(y, decision, classes), decision)
        if decision.ndim == 1:
            return cls(margins, active_name="active set" if has_active_set else _NO_SET)
        return cls(margins, xlabel=_LEAD, active_name=_NO_SET)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["histogram", "ecdf"] = "histogram",
        **kwargs: Any,
    ) -> Self:
        """Draw into Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
        kind : {"histogram", "ecdf"}, default="histogram"
        **kwargs :
            For `Axes.hist` or `Axes.ecdf`.

        Returns
        -------
        MarginDisplay
        """
        if kind not in _Y_LABELS:
            raise ValueError(f"kind must be 'histogram' or 'ecdf', got {kind!r}.")
        ax = self._take(ax)
        edges = _edges(self.margins)
        low, high = edges[0], edges[-1]
        if kind == "histogram":
            self._draw_histogram(ax, edges, kwargs)
        else:
            self._draw_ecdf(ax, kwargs)
        label = f"{self.active_name} (margin < 1): {self.active_share:.1%}"
        ax.axvspan(
            low, min(1.0, high), color=_ACTIVE_COLOR, alpha=0.2, lw=0, zorder=0.5, label=label
        )
        for place, style in ((0.0, "-"), (1.0, ":")):
            ax.axvline(place, color=ink(ax), linestyle=style, linewidth=1.0)
        ax.set_xlim(low, high)
        far = f"\n{farther_out(self.n_outside)}" if self.n_outside else ""
        set_labels(ax, self.xlabel + far, _Y_LABELS[kind])
        legend_below(ax, ncols=2)
        return self

    def _draw_histogram(self, ax: Axes, edges: Array, options: dict[str, Any]) -> None:
        wrong, right = self.margins[self.margins < 0.0], self.margins[self.margins >= 0.0]
        style = {"bins": edges, **options}
        ax.hist(right, **{"color": _DONE_COLOR, "label": self._right_name(), **style})
        ax.hist(wrong, **{"color": _ERROR_COLOR, "label": self._error_name(), **style})
        ax.locator_params(axis="y", integer=True)

    def _draw_ecdf(self, ax: Axes, options: dict[str, Any]) -> None:
        ax.ecdf(self.margins, **{"color": _DONE_COLOR, "label": "share of rows", **options})
        ax.plot(0.0, self.error_share, "o", color=_ERROR_COLOR, label=self._error_name())
        ax.plot(1.0, self.active_share, "o", color=_ACTIVE_COLOR)

    def _error_name(self) -> str:
        return f"error (margin < 0): {self.error_share:.1%}"

    def _right_name(self) -> str:
        return f"right (margin ≥ 0): {1.0 - self.error_share:.1%}"


def margins_of(codes: NDArray[np.intp], decision: Array) -> Array:
    """Give y f, or f_y less the largest value of the other classes.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        The places of the true classes; -1 for a label that is none, which is a mistake.
    decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
    """
    if decision.ndim == 1:
        return np.where(codes < 0, -np.abs(decision), np.where(codes == 1, decision, -decision))
    rows, is_known = np.arange(len(codes)), codes >= 0
    own = np.where(is_known, decision[rows, codes], decision.min(axis=1))
    others = decision.copy()
    others[rows[is_known], codes[is_known]] = -np.inf
    return np.asarray(own - others.max(axis=1))


def _checked_codes(y: ArrayLike, decision: Array, classes: NDArray[Any]) -> NDArray[np.intp]:
    codes = fitted.codes_of(y, classes)
    if decision.shape[:1] != codes.shape or decision.ndim > 2:
        raise ValueError(f"y has {len(codes)} rows, but the decision has shape {decision.shape}.")
    n_columns = 2 if decision.ndim == 1 else decision.shape[1]
    if n_columns != len(classes):
        raise ValueError(
            f"A decision of shape {decision.shape} is for {n_columns} classes, "
            f"but they are {classes.tolist()}."
        )
    return codes


def _edges(margins: Array) -> Array:
    """Give edges of equal bins, 0 and as a rule 1 among them, that hold the usual margins."""
    usual = usual_range(margins, _NEAR)
    low, high = min(0.0, usual[0]), max(1.0, usual[1])
    # Bins have whole numbers of units, or units have whole numbers of bins.
    per_unit = max(1, round(_N_BINS / (high - low)))
    units = max(1.0, np.ceil((high - low) / _MOST_BINS))
    first, last = np.floor(low * per_unit / units), np.ceil(high * per_unit / units)
    # The last bin is closed: one more keeps a margin of just 1 from the bins below.
    return np.asarray(np.arange(first, last + 2) * units / per_unit)
