"""Parts of dates, from days since 1970-01-01 by arithmetic that C and ONNX have as well."""

from __future__ import annotations

import numpy as np

from fcgboost.tables.cells import Array

#: The parts of a date, each with its smallest and its largest value. Monday is 0.
PARTS = {"month": (1, 12), "weekday": (0, 6), "hour": (0, 23)}
#: A part of an hour that rounding may take from a time.
ROUNDING = 1e-8


def part_of_date(part: str, days: Array) -> Array:
    """Return a part of dates; NaN where there is none."""
    day = np.floor(days)
    if part == "hour":
        return np.minimum(np.floor((days - day) * 24.0 + ROUNDING), 23.0)
    if part == "weekday":
        return (day + 3.0) % 7.0
    return _month(day)


def _month(day: Array) -> Array:
    """Count days of a Gregorian cycle of 400 years from the first of March, when leap days end."""
    of_cycle = (day + 719468.0) % 146097.0
    leap_days = np.floor(of_cycle / 1460.0) - np.floor(of_cycle / 36524.0)
    leap_days += np.floor(of_cycle / 146096.0)
    year = np.floor((of_cycle - leap_days) / 365.0)
    of_year = of_cycle - (365.0 * year + np.floor(year / 4.0) - np.floor(year / 100.0))
    month = np.floor((5.0 * of_year + 2.0) / 153.0)
    return np.asarray(np.where(month < 10.0, month + 3.0, month - 9.0))
