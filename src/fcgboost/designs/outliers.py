"""Outliers of the training rows, and the limits to which rows are clipped."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fcgboost.arrays import Flags
from fcgboost.clipping import FAR, Limits, limits_of, outlier_limits
from fcgboost.designs.base import Array
from fcgboost.designs.moments import Moments
from fcgboost.dictionaries import Dictionary

# A column is examined if a value is this many deviations from the mean.
_FAR_FROM_MEAN = 4.0
# With more columns, such as word counts, none is examined.
_MOST_COLUMNS = 256


def find_limits(
    clip: float | None,
    dictionary: Dictionary,
    moments_within: Callable[[Limits | None], Moments],
    extreme_values: Callable[[Flags], Sequence[Sequence[Array]]],
    zeros_within: Callable[[Limits | None], Flags],
) -> tuple[Limits | None, Moments]:
    """Return the limits to which rows are clipped, if any, and the moments within them.

    Parameters
    ----------
    clip : float or None
        The distance of the limits from the mean, in deviations; None limits only outliers.
    dictionary : Dictionary
        Its categories are never clipped; if all its families take missing values, no outliers.
    moments_within : callable
        Returns the moments of the rows within limits.
    extreme_values : callable
        Returns the extreme values of some columns, as `clipping.extreme_values`.
    zeros_within : callable
        Returns which columns have a zero within limits.
    """
    moments = moments_within(None)
    categories = dictionary.categories(len(moments.mean))
    limits = None
    suspects = _suspects(moments)
    # Outliers do not harm trees.
    if suspects.any() and not dictionary.takes_missing:
        limits = outlier_limits(suspects, extreme_values(suspects)).without(categories)
        # Values that determine the mean, such as zeros of sparse rows, are not outliers.
        low = limits.low / 1.5 + moments.low / 3.0
        high = limits.high / 1.5 + moments.high / 3.0
        is_usual = (moments.mean < low) | (moments.mean > high)
        limits = limits.without(is_usual & (moments.largest <= FAR))
        is_exceeded = (moments.low < limits.low) | (moments.high > limits.high)
        limits = limits if is_exceeded.any() else None
    if limits is not None:
        moments = moments_within(limits)
    if clip is not None:
        limits = limits_of(
            clip,
            mean=moments.mean,
            deviation=np.sqrt(moments.variance),
            low=moments.low,
            high=moments.high,
            has_zero=zeros_within(limits),
        ).without(categories)
        moments = moments_within(limits)
    return limits, moments


def _suspects(moments: Moments) -> Flags:
    """Return the columns that may have outliers, or numbers without squares."""
    suspects = moments.largest > FAR
    if len(suspects) <= _MOST_COLUMNS:
        # Halves, because the difference may be infinite.
        ends = np.stack([moments.low, moments.high])
        half = np.abs(ends / 2.0 - moments.mean / 2.0).max(axis=0)
        suspects |= half > _FAR_FROM_MEAN / 2.0 * np.sqrt(moments.variance)
    return suspects
