"""How good predictions of numbers are: scores with 95 % intervals, baseline and coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fcgboost.arrays import Array, Codes
from fcgboost.scores import Score, Z, finite, mean_score
from fcgboost.threads import cached
from fcgboost.wording import number, text_table

__all__ = ["RegressionEvaluation", "score_numbers"]

#: The scores and their display names.
TITLES = {"r2": "R²", "rmse": "root mean squared error", "mae": "mean absolute error"}
#: Of the rows, the share that intervals may miss.
ALPHA = 0.1


@dataclass(frozen=True, eq=False)
class RegressionEvaluation:
    """Predictions for rows with a target, and how good they are; printing it shows a summary.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        The true numbers.
    predicted : ndarray of shape (n_samples,)
    intervals : ndarray of shape (n_samples, 2), or None
        Those of `predict_interval` with alpha=0.1, if there are any.
    """

    y: Array
    predicted: Array
    intervals: Array | None

    def __len__(self) -> int:
        return len(self.y)

    @cached
    def residuals(self) -> Array:
        """True minus predicted numbers."""
        return self.y - self.predicted

    @cached
    def scores(self) -> dict[str, Score]:
        """The scores by name, as `score_numbers` returns them."""
        return score_numbers(self.y, self.predicted)

    @property
    def baseline(self) -> float:
        """The mean of the true numbers, which explains no variance."""
        return float(self.y.mean())

    @property
    def coverage(self) -> float | None:
        """The share of rows whose interval holds the truth."""
        if self.intervals is None:
            return None
        low, high = self.intervals.T
        return float(np.mean((low <= self.y) & (self.y <= high)))

    @cached
    def worst(self) -> Codes:
        """The rows, those with the largest residuals first."""
        return np.argsort(-np.abs(self.residuals), kind="stable")

    def to_dict(self) -> dict[str, Any]:
        """Return scores, baseline and coverage for JSON."""
        return {
            "scores": {name: score.to_dict() for name, score in self.scores.items()},
            "baseline": {"mean": self.baseline, "rmse": finite(self.y.std())},
            "coverage": self.coverage,
        }

    def __str__(self) -> str:
        rows = [
            (TITLES[name], number(score.value), f"{number(score.low)} to {number(score.high)}")
            for name, score in self.scores.items()
        ]
        baseline = (
            f"Baseline (always {number(self.baseline)}, the mean): root mean squared error "
            f"{number(float(self.y.std()))}"
        )
        parts = [baseline, text_table(("score", "value", "95 % interval"), rows)]
        if self.coverage is not None:
            parts.append(self.coverage_text())
        return "\n\n".join(parts)

    def coverage_text(self) -> str:
        """Say how often intervals hold the truth, and how wide they are."""
        assert self.intervals is not None
        assert self.coverage is not None
        width = float(np.median(self.intervals[:, 1] - self.intervals[:, 0]))
        return (
            f"Intervals of {100.0 * (1.0 - ALPHA):.0f} % hold {100.0 * self.coverage:.1f} % of the "
            f"true numbers; their median width is {number(width)}."
        )


def score_numbers(y: Array, predicted: Array) -> dict[str, Score]:
    """Score predictions of numbers, with 95 % intervals.

    r2
        The share of the variance that is explained; left out if there is none. Its interval takes
        the influence of each row on it, to first order.
    rmse
        The root of the mean squared error; the interval is that of the mean.
    mae
        The mean absolute error.

    Parameters
    ----------
    y, predicted : ndarray of shape (n_samples,)

    Returns
    -------
    dict from str to Score
    """
    if y.ndim != 1 or y.shape != predicted.shape or len(y) == 0:
        raise ValueError(
            "y and the predictions must be non-empty vectors of the same length, got shapes "
            f"{y.shape} and {predicted.shape}."
        )
    squares = (y - predicted) ** 2
    spread = (y - y.mean()) ** 2
    scores = {}
    if spread.any():
        value = 1.0 - float(squares.sum() / spread.sum())
        influence = squares - (1.0 - value) * spread
        half = Z * float(np.linalg.norm(influence) / spread.sum())
        scores["r2"] = Score(value, value - half, min(1.0, value + half))
    ends = (mean_score(squares).value, mean_score(squares).low, mean_score(squares).high)
    scores["rmse"] = Score(*(float(np.sqrt(end)) for end in ends))
    scores["mae"] = mean_score(np.abs(y - predicted))
    return scores
