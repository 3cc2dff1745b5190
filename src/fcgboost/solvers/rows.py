"""Passes over the rows at one point: compiled for the squared hinge in NumPy's memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from fcgboost import _kernels
from fcgboost.arrays import namespace
from fcgboost.losses import CurvedLoss, SquaredHinge


def weighted_terms(loss: CurvedLoss, y: Any, shares: Any, f: Any) -> tuple[Any, Any, Any]:
    """Return the losses, and their slopes and curvatures times the rows' shares."""
    if type(loss) is SquaredHinge and _are_plain(y, shares, f):
        return _kernels.squared_hinge(y, shares, f)
    values, slopes, curvatures = loss.terms(y, f)
    return values, shares * slopes, shares * curvatures


def unforeseen(length: float, g: Any, h: Any, along: Any, new_g: Any, new_h: Any) -> Any:
    """Return how far slopes are from those that a constant curvature would have led to."""
    if _are_plain(g, h, along, new_g, new_h):
        return _kernels.unforeseen(length, g, h, along, new_g, new_h)
    return namespace(h).where(new_h != h, new_g - g - length * (h * along), 0.0)


def _are_plain(*vectors: Any) -> bool:
    return all(
        type(vector) is np.ndarray and vector.dtype == np.float64 and vector.flags.c_contiguous
        for vector in vectors
    )
