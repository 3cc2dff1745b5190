"""Reliability diagrams: predicted probabilities against observed frequencies."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.calibration import calibration_curve

from fcgboost.colors import CLASS_COLORS, GREY
from fcgboost.plotting import base
from fcgboost.plotting.base import Array
from fcgboost.scores import wilson

# The strip of counts below the diagram, in units of probability: its foot, and its height.
_FOOT = -0.32
_HEIGHT = 0.18


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(base.Display):
    """A reliability diagram with confidence intervals and counts.

    Rows are binned by their predicted probability. Bars are Wilson's 95 % intervals; those of a
    calibrated classifier contain the diagonal, most of the time. The strip below shows the counts.

    Attributes
    ----------
    line_ : matplotlib Line2D
    errorbar_ : matplotlib ErrorbarContainer
    bars_ : matplotlib BarContainer
        The counts.
    """

    #: The observed frequency in every bin that is not empty.
    prob_true: Array
    #: The mean probability in every bin that is not empty.
    prob_pred: Array
    #: The rows in every bin that is not empty.
    counts: NDArray[np.intp]
    #: The ends of the bins that are not empty, of shape (n_bins, 2).
    edges: Array
    #: The Brier score; for the predicted class among several, the top-label Brier score.
    brier: float
    _: KW_ONLY
    #: The class whose probability is drawn; None is the predicted one among several.
    pos_label: object = None

    @property
    def intervals(self) -> Array:
        """The lower and upper ends of Wilson's intervals for `prob_true`, as rows."""
        pairs = zip(self.prob_true, self.counts, strict=True)
        scores = [wilson(float(share * n), float(n)) for share, n in pairs]
        return np.transpose([(score.low, score.high) for score in scores])

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike,
        **kwargs: Any,
    ) -> Self:
        """Draw the diagram of a classifier with `predict_proba`.

        Parameters
        ----------
        estimator : fitted classifier or Pipeline
            Of this package or of scikit-learn.
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        **kwargs :
            For `from_predictions`.
        """
        cls._check_classes(estimator)
        proba = estimator.predict_proba(X)
        return cls.from_predictions(y, proba, classes=estimator.classes_, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        pos_label: object = None,
        n_bins: int = 10,
        strategy: Literal["quantile", "uniform"] = "quantile",
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
        pos_label : label or None, default=None
            The class whose probability is drawn. None is the second of two classes; of several,
            the predicted one (top label).
        n_bins : int, default=10
        strategy : {"quantile", "uniform"}, default="quantile"
            Bins of equal counts, or of equal width.
        **kwargs :
            For `plot`.
        """
        hits, prob, label = _events(
            y_true,
            np.asarray(y_prob, dtype=np.float64),
            classes,
            pos_label,
        )
        shares, means = calibration_curve(
            hits,
            prob,
            pos_label=True,
            n_bins=n_bins,
            strategy=strategy,
        )
        # It does not return its bins.
        parts = np.linspace(0.0, 1.0, n_bins + 1)
        ends = parts if strategy == "uniform" else np.percentile(prob, 100.0 * parts)
        counts = np.bincount(np.searchsorted(ends[1:-1], prob), minlength=n_bins)
        edges = np.stack([ends[:-1], ends[1:]], axis=1)[counts > 0]
        display = cls(
            shares,
            means,
            counts[counts > 0],
            edges,
            brier=float(np.mean((prob - hits) ** 2)),
            pos_label=label,
        )
        return display.plot(**kwargs)

    def plot(self, ax: base.Axes | None = None, **kwargs: Any) -> Self:
        """Draw into Axes, or into a new figure; `kwargs` for `Axes.errorbar`."""
        ax = self._start(ax)
        ax.plot(
            [0.0, 1.0],
            [0.0, 1.0],
            ":",
            color=base.text_color(ax),
            label="perfectly calibrated",
        )
        style = {"color": CLASS_COLORS[1], "marker": "o", "capsize": 3, **kwargs}
        self.errorbar_ = ax.errorbar(
            self.prob_pred,
            self.prob_true,
            np.abs(self.intervals - self.prob_true),
            label="observed frequency, 95 % interval",
            **style,
        )
        self.line_ = self.errorbar_.lines[0]
        self._draw_counts(ax)
        ax.set(xlim=(-0.02, 1.02), ylim=(_FOOT - 0.02, 1.02), yticks=np.linspace(0.0, 1.0, 6))
        is_top = self.pos_label is None
        event = "the predicted class" if is_top else base.label_name(self.pos_label)
        base.set_labels(ax, f"predicted probability of {event}", "observed frequency")
        # A line in the legend alone.
        score = "top-label Brier score" if is_top else "Brier score"
        ax.plot([], [], " ", label=f"{score} {self.brier:.3f}")
        base.legend_below(ax, ncols=2)
        return self

    def _draw_counts(self, ax: base.Axes) -> None:
        most = self.counts.max()
        color = base.text_color(ax)
        left, right = self.edges.T
        self.bars_ = ax.bar(
            left,
            height=_HEIGHT * self.counts / most,
            width=np.maximum(right - left, 0.004),
            bottom=_FOOT,
            align="edge",
            color=GREY,
            edgecolor=color,
            linewidth=0.5,
        )
        ax.axhline(-0.04, color=color, linewidth=0.6)
        ax.text(
            0.5,
            -0.055,
            f"rows (at most {most})",
            ha="center",
            va="top",
            fontsize="small",
            color=color,
        )


def _events(
    y: ArrayLike, prob: Array, classes: ArrayLike | None, pos_label: object
) -> tuple[NDArray[np.bool_], Array, object]:
    """Return whether each predicted event occurred, its probability, and its class."""
    codes, names = base.class_codes(y, classes, prob, "probability")
    if not ((prob >= 0.0) & (prob <= 1.0)).all():
        raise ValueError("Probabilities must lie between 0 and 1.")
    if pos_label is None and len(names) > 2 and prob.ndim == 2:
        return codes == prob.argmax(axis=1), prob.max(axis=1), None
    if pos_label is None and len(names) != 2:
        raise ValueError(
            f"Which of the classes {names.tolist()} are the probabilities of? Pass pos_label."
        )
    code = 1 if pos_label is None else base.class_code(names, pos_label)
    return codes == code, prob if prob.ndim == 1 else prob[:, code], names[code]
