"""Predicted probabilities beside what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fcgboost.plotting import fitted
from fcgboost.plotting.canvas import (
    CLASS_COLORS,
    Array,
    Display,
    check_matplotlib,
    ink,
    label_name,
    legend_below,
    set_labels,
)
from fcgboost.scores import Score, wilson

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The strip of counts below the diagram, in units of probability: its foot, and its height.
_FOOT, _HEIGHT = -0.32, 0.18
# What happens or not, of several classes: that the predicted one is the true one.
_TOP = "the predicted class"


class ReliabilityDisplay(Display):
    """A reliability diagram: how often what was said to happen with probability p happens.

    Rows are put into bins by their probability. Bars are 95 % intervals of Wilson; a calibrated
    classifier has the diagonal within most of them. The strip below shows the counts.

    Parameters
    ----------
    prob_true, prob_pred : ndarray of shape (n_bins,)
        The share of hits, and the mean probability, of every bin that is not empty.
    counts : ndarray of shape (n_bins,)
        The rows in it.
    edges : ndarray of shape (n_bins, 2)
        Its ends.
    brier : float
        The mean squared difference of probability and hit. Of the predicted class among several
        it is not the Brier score of all classes, and is called the top-label Brier score.
    event : str, default="the second class"
        What the probabilities are of.

    Attributes
    ----------
    low, high : ndarray of shape (n_bins,)
        Wilson's intervals for `prob_true`.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib ErrorbarContainer
    bars_ : matplotlib BarContainer
        The counts.

    Examples
    --------
    >>> import numpy as np
    >>> from fcgboost.plotting import ReliabilityDisplay
    >>> y, p = np.array([0, 0, 0, 1]), np.array([0.1, 0.2, 0.3, 0.8])
    >>> display = ReliabilityDisplay.from_predictions(y, p, n_bins=2, strategy="uniform")
    >>> display.counts, display.prob_true
    (array([3, 1]), array([0., 1.]))
    """

    line_: Any
    bars_: Any

    def __init__(
        self,
        prob_true: Array,
        prob_pred: Array,
        counts: NDArray[np.intp],
        edges: Array,
        brier: float,
        *,
        event: str = "the second class",
    ) -> None:
        self.prob_true = prob_true
        self.prob_pred = prob_pred
        self.counts = counts
        self.edges = edges
        self.brier = brier
        self.event = event

    @property
    def is_top_label(self) -> bool:
        """Whether the probabilities are those of the predicted class, whichever it is."""
        return self.event == _TOP

    @property
    def low(self) -> Array:
        """The lower ends of Wilson's intervals."""
        return np.array([one.low for one in self._intervals()])

    @property
    def high(self) -> Array:
        """The upper ends of Wilson's intervals."""
        return np.array([one.high for one in self._intervals()])

    def _intervals(self) -> list[Score]:
        pairs = zip(self.prob_true, self.counts, strict=True)
        return [wilson(float(share * n), float(n)) for share, n in pairs]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        pos_label: Any = None,
        n_bins: int = 10,
        strategy: Literal["quantile", "uniform"] = "quantile",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the diagram of a classifier with `predict_proba`.

        Parameters
        ----------
        estimator : fitted classifier or Pipeline
            Of this package or of scikit-learn.
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        pos_label : label or None, default=None
            The class whose probability is judged. None is the second of two classes; of several
            it is the predicted one, whichever that is (top label).
        n_bins : int, default=10
        strategy : {"quantile", "uniform"}, default="quantile"
            Bins with as many rows each, or of the same width.
        ax : matplotlib Axes or None, default=None
        **kwargs :
            For `Axes.errorbar`.

        Returns
        -------
        ReliabilityDisplay
        """
        check_matplotlib(cls.__name__)
        _, classifier = fitted.split(estimator)
        if not hasattr(estimator, "predict_proba"):  # a hinge, or a user's classifier
            raise AttributeError(
                f"{type(classifier).__name__} has no predict_proba here, so there are no "
                "probabilities to judge: use loss='squared_hinge', or calibrate it with "
                "sklearn.calibration.CalibratedClassifierCV."
            )
        proba = estimator.predict_proba(X)
        options = {"n_bins": n_bins, "strategy": strategy, "ax": ax, **kwargs}
        classes = estimator.classes_
        return cls.from_predictions(y, proba, classes=classes, pos_label=pos_label, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        pos_label: Any = None,
        n_bins: int = 10,
        strategy: Literal["quantile", "uniform"] = "quantile",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the diagram of known probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
        y_prob : array-like of shape (n_samples,) or (n_samples, n_classes)
            The probability of `pos_label`, or of all classes.
        classes : array-like of shape (n_classes,) or None, default=None
            None is the sorted labels of `y_true`.
        pos_label, n_bins, strategy, ax, **kwargs :
            As in `from_estimator`.

        Returns
        -------
        ReliabilityDisplay
        """
        check_matplotlib(cls.__name__)
        known = np.unique(np.asarray(y_true)) if classes is None else np.asarray(classes)
        hits, prob, event = _events(y_true, np.asarray(y_prob, dtype=np.float64), known, pos_label)
        bins, edges = _bins(prob, n_bins, strategy)
        all_counts = np.bincount(bins, minlength=len(edges))
        full = all_counts > 0
        counts = all_counts[full]
        sums = [np.bincount(bins, values, minlength=len(edges))[full] for values in (hits, prob)]
        brier = float(np.mean((prob - hits) ** 2))
        display = cls(sums[0] / counts, sums[1] / counts, counts, edges[full], brier, event=event)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw into Axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
        **kwargs :
            For `Axes.errorbar`.

        Returns
        -------
        ReliabilityDisplay
        """
        ax = self._take(ax)
        ax.plot([0.0, 1.0], [0.0, 1.0], ":", color=ink(ax), label="perfectly calibrated")
        reach = np.stack([self.prob_true - self.low, self.high - self.prob_true])
        label = "share of hits, 95 % interval"
        style = {"fmt": "o-", "color": CLASS_COLORS[1], "capsize": 3, "label": label, **kwargs}
        self.line_ = ax.errorbar(self.prob_pred, self.prob_true, np.maximum(reach, 0.0), **style)
        self._draw_counts(ax)
        ax.set(xlim=(-0.02, 1.02), ylim=(_FOOT - 0.02, 1.02), yticks=np.linspace(0.0, 1.0, 6))
        set_labels(ax, f"predicted probability of {self.event}", "share of hits")
        # A line in the legend without anything in the picture.
        name = "top-label Brier score" if self.is_top_label else "Brier score"
        ax.plot([], [], " ", label=f"{name} {self.brier:.3f}")
        legend_below(ax, ncols=2)
        return self

    def _draw_counts(self, ax: Axes) -> None:
        """Draw the counts as a strip below the diagram."""
        widths = np.maximum(np.diff(self.edges, axis=1)[:, 0], 0.004)
        heights = _HEIGHT * self.counts / self.counts.max()
        style: dict[str, Any] = {"bottom": _FOOT, "color": "#999999", "linewidth": 0.5}
        self.bars_ = ax.bar(
            self.edges[:, 0], heights, widths, align="edge", edgecolor=ink(ax), **style
        )
        ax.axhline(-0.04, color=ink(ax), linewidth=0.6)
        note = f"rows (at most {self.counts.max()})"
        ax.text(0.5, -0.055, note, ha="center", va="top", fontsize="small", color=ink(ax))


def _events(
    y: ArrayLike, prob: Array, classes: NDArray[Any], pos_label: Any
) -> tuple[Array, Array, str]:
    """Give hits (0 or 1), their probabilities and what they are."""
    codes = fitted.codes_of(y, classes)
    if prob.shape[:1] != codes.shape or prob.ndim > 2:
        raise ValueError(f"y has {len(codes)} rows, but the probabilities have shape {prob.shape}.")
    if prob.ndim == 2 and prob.shape[1] != len(classes):
        raise ValueError(f"{prob.shape[1]} columns of probabilities for {len(classes)} classes.")
    if not ((prob >= 0.0) & (prob <= 1.0)).all():
        raise ValueError("Probabilities must lie between 0 and 1.")
    if pos_label is None and len(classes) > 2 and prob.ndim == 2:
        return (codes == prob.argmax(axis=1)) * 1.0, prob.max(axis=1), _TOP
    if pos_label is None and len(classes) != 2:
        raise ValueError(
            f"Which of the classes {classes.tolist()} are the probabilities of? Pass pos_label."
        )
    code = 1 if pos_label is None else fitted.position(classes, pos_label)[0]
    chosen = prob if prob.ndim == 1 else prob[:, code]
    return (codes == code) * 1.0, chosen, f"label {label_name(classes[code])}"


def _bins(prob: Array, n_bins: int, strategy: str) -> tuple[NDArray[np.intp], Array]:
    """Give the bin of every row, and the ends of the bins."""
    if strategy not in ("quantile", "uniform"):
        raise ValueError(f"strategy must be 'quantile' or 'uniform', got {strategy!r}.")
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins!r}.")
    parts = np.linspace(0.0, 1.0, n_bins + 1)
    # Many rows of the same probability, such as 0 and 1, leave fewer different quantiles.
    edges = parts if strategy == "uniform" else np.unique(np.quantile(prob, parts))
    inner = edges[1:-1]
    ends = np.stack([np.r_[edges[0], inner], np.r_[inner, edges[-1]]], axis=1)
    return np.searchsorted(inner, prob, side="right"), ends
