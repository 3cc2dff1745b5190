"""Scores with 95 % intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest, norm

from fcgboost.arrays import Array

__all__ = ["Score", "wilson"]

#: How many standard errors an interval reaches.
Z = float(norm.ppf(0.975))


@dataclass(frozen=True)
class Score:
    """A score and its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"

    def to_dict(self) -> dict[str, float | None]:
        """Return the score for JSON; infinite ends are None."""
        return {name: finite(value) for name, value in vars(self).items()}


def finite(value: float) -> float | None:
    """Return a number for JSON, which has neither NaN nor infinity."""
    return float(value) if np.isfinite(value) else None


def wilson(n_hits: float, n: float) -> Score:
    """Return a share with Wilson's interval."""
    share = n_hits / n
    interval = binomtest(round(n_hits), round(n)).proportion_ci(method="wilson")
    # At 0 or 1 one end is exact, up to rounding.
    low = min(share, float(interval.low))
    high = max(share, float(interval.high))
    return Score(share, low, high)


def mean_score(values: Array, largest: float = np.inf) -> Score:
    """Return a mean with its interval, of values from 0 to the largest."""
    value = float(values.mean())
    half = Z * float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else np.inf
    return score_within(value, half, largest)


def score_within(value: float, half: float, largest: float = 1.0) -> Score:
    """Return a score with an interval around it, within what is possible."""
    return Score(value, max(0.0, value - half), min(largest, value + half))
