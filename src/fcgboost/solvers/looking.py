"""Passes over the rows compiled by numba, where it is loaded: the terms of the squared hinge.

A look at a point takes some fifteen passes over m-vectors with NumPy, and two here. Nothing is
reordered or fused in the formulas, so the bits are those of NumPy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from fcgboost.arrays import namespace
from fcgboost.compiling import compiled
from fcgboost.losses import CurvedLoss, SquaredHinge

_COMPILING = Lock()


class _Compiled(NamedTuple):
    terms: Callable[..., None]
    unforeseen: Callable[..., None]


def weighted_terms(loss: CurvedLoss, y: Any, shares: Any, f: Any) -> tuple[Any, Any, Any]:
    """Give the losses, and their slopes and curvatures times the rows' shares."""
    if type(loss) is SquaredHinge and _is_served(y, shares, f):
        found = np.empty((3, len(f)))
        _compiled().terms(y, shares, f, *found)
        return found[0], found[1], found[2]
    values, slopes, curvatures = loss.terms(y, f)
    return values, shares * slopes, shares * curvatures


def unforeseen(length: float, g: Any, h: Any, along: Any, new_g: Any, new_h: Any) -> Any:
    """Give how far slopes are from those that a constant curvature would have led to."""
    if not _is_served(g, h, along, new_g, new_h):
        return namespace(h).where(new_h != h, new_g - g - length * (h * along), 0.0)
    rest = np.empty(len(g))
    _compiled().unforeseen(float(length), g, h, along, new_g, new_h, rest)
    return rest


def _is_served(*vectors: Any) -> bool:
    """Whether compiled code is loaded in no time, and takes such vectors."""
    return "numba" in sys.modules and all(
        type(vector) is np.ndarray and vector.dtype == np.float64 and vector.flags.c_contiguous
        for vector in vectors
    )


def _compiled() -> _Compiled:
    # Threads that come first, at once, must not all compile.
    with _COMPILING:
        return _compile_all()


@cache
def _compile_all() -> _Compiled:
    from numba import float64, types, void

    given, out = types.Array(float64, 1, "C", readonly=True), float64[::1]
    return _Compiled(
        compiled(_terms, void(*[given] * 3, *[out] * 3)),
        compiled(_unforeseen, void(float64, *[given] * 5, out)),
    )


# What follows is compiled.


def _terms(y: Any, shares: Any, f: Any, values: Any, slopes: Any, curvatures: Any) -> None:
    for i in range(len(f)):
        shortfall = 1.0 - y[i] * f[i]
        shortfall = 0.0 if shortfall <= 0.0 else shortfall
        values[i] = shortfall * shortfall
        slopes[i] = shares[i] * (-2.0 * y[i] * shortfall)
        curvatures[i] = shares[i] * (2.0 if shortfall > 0.0 else 0.0)


def _unforeseen(
    length: float, g: Any, h: Any, along: Any, new_g: Any, new_h: Any, rest: Any
) -> None:
    for i in range(len(g)):
        is_new = new_h[i] != h[i]
        rest[i] = new_g[i] - g[i] - length * (h[i] * along[i]) if is_new else 0.0
