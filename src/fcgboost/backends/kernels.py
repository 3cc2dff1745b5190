"""Fused float32 kernels that screen candidates on a CPU.

They give inner products together with bounds on their errors, so that a caller scores again in
float64 only what can still be the best. Each call runs in one thread and without Python's lock:
threads share the work by slices of candidates, and what comes out for one candidate does not
depend on the slice, to the last bit.

Sums are float32 over at most BLOCK rows and float64 from there on. u is the roundoff 2^-24 of
float32; a value that went through k roundings is off by at most gamma(k) = k u / (1 - k u).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fcgboost import _kernels
from fcgboost.backends.base import Array

Floats = NDArray[np.float32]

#: The most rows over which sums are float32: short, because the error bounds grow with it, and
#: long enough that the sums in float64 cost nothing.
BLOCK = 64
# Rows that are taken at once, also of stored ones (`_kernels/screen.c`).
_ROWS, _STORED_ROWS = 4, 8
_LOG2_E = 1.4426950408889634

_U32 = 2.0**-24
_U64 = 2.0**-53
# What an atom that counts as 0 can be, and what a product loses at most to underflow.
_TINY = 2.0**-125
_UNDERFLOW = 2.0**-149
# Exponents beyond 127 log 2 give 0.
_STEEPEST = 88.1


def gauss_dots(Z: Floats, centers: Floats, steepness: Floats, R: Floats) -> tuple[Array, Array]:
    """Return the inner products of Gauss atoms and of their sizes with residuals.

    With g_ij = exp(-t_j |z_i - c_j|^2) these are sum_i r_io g_ij and sum_i |r_io| g_ij. Rows
    without a residual cost nothing.

    Parameters
    ----------
    Z : ndarray of float32, shape (n_samples, n_features), C-ordered
        Rows, below 2^60 in absolute value.
    centers : ndarray of float32, shape (n_candidates, n_features), C-ordered
        c, below 2^60 in absolute value.
    steepness : ndarray of float32, shape (n_candidates,)
        t, from 0 to 2^100.
    R : ndarray of float32, shape (n_samples, n_outputs), C-ordered
        Sums of its entries must not overflow.

    Returns
    -------
    dots, sizes : ndarray of float64, shape (n_candidates, n_outputs)
        `gauss_bounds` tells how far off the dots are.
    """
    factors = (-_LOG2_E * steepness.astype(np.float64)).astype(np.float32)
    return _kernels.gauss_dots(Z, centers, factors, R)


def gauss_error(n_features: int) -> tuple[float, float]:
    """Return (slope, relative) that bound the error of a computed atom.

    For float32 inputs taken as exact, x = t |z - c|^2, g = exp(-x) and what is computed as g',

        |g' - g| <= (slope x + relative) g + 2^-125.
    """
    # A difference rounds once, which counts twice in its square; the square and d - 1 sums round
    # once each, so do the steepness in units of log 2 and its product with the sum. One more
    # covers the float64 product behind that steepness. Fused operations round less often.
    lost = gamma(n_features + 5)
    # The exponent is off by a factor within 1 +- lost, so the atom by exp(+-lost x), x <= 88.1;
    # beyond that both g and g' are below 2^-125.
    slope = lost * np.exp(_STEEPEST * lost)
    # Splitting the exponent into a whole number and f rounds f by u / 2, and only above -1/2:
    # 0.35 u. The polynomial is off by 1.39 u; its term of degree i rounds at most 2 i + 1 times,
    # on average over the terms, all positive, 2.39 times where that is worst, at f = 1. The
    # product with a power of two is exact. These are 4.13 u; the rest of 4.5 is far more than
    # products of errors and what squares lose to underflow, d 2^-149 t in the exponent.
    return float(slope), 4.5 * _U32


def gauss_bounds(sizes: Array, mass: Array, n_samples: int, n_features: int) -> Array:
    """Return bounds on how far the dots of `gauss_dots` are from the exact ones.

    Parameters
    ----------
    sizes : ndarray of shape (n_candidates, n_outputs)
        As `gauss_dots` gives them.
    mass : ndarray of shape (n_outputs,)
        Sums of the absolute residuals.
    n_samples, n_features : int
    """
    slope, relative = gauss_error(n_features)
    lost = stored_error(n_samples)
    tiny = _TINY * mass + _UNDERFLOW * 2.0 * (n_samples + 1)
    # The sizes are off themselves; S = sum |r| g is at most this.
    worst = lost + (1.0 + lost) * (relative + slope * _STEEPEST)
    most = (sizes + tiny) / (1.0 - worst)
    # The errors of the exponents add up to at most slope times sum |r| g x = sum |r| g log(1/g).
    # As g log(1/g) is concave, that is at most S log(mass / S) (Jensen's inequality): this grows
    # with S up to mass / e, where it is S, and falls from there on.
    logs = np.maximum(1.0, np.log(np.maximum(mass, most) / most))
    return np.asarray(most * (lost + (1.0 + lost) * (relative + slope * logs)) + tiny)


def stored_dots(
    G: Floats, rows: NDArray[np.intp], r: Floats, start: int = 0, stop: int | None = None
) -> Array:
    """Return the inner products of stored columns with a residual, over the rows that have one.

    Only these rows are read, each from start to stop.

    Parameters
    ----------
    G : ndarray of float32, shape (n_samples, n_candidates), C-ordered
    rows : ndarray of intp, shape (n_rows,)
        Indices of rows.
    r : ndarray of float32, shape (n_rows,)
        Their residuals.
    start, stop : int
        The slice of columns.

    Returns
    -------
    ndarray of float64, shape (stop - start,)
        Off by at most `stored_error(n_rows)` times sum_i |r_i g_ij|, plus n_rows 2^-148.
    """
    n = len(range(*slice(start, stop).indices(G.shape[1])))
    # A row that counts 0 times fills the last group.
    missing = -len(rows) % _STORED_ROWS
    rows = np.concatenate([rows, np.repeat(rows[-1:], missing)])
    r = np.concatenate([r, np.zeros(missing, np.float32)])
    return _kernels.stored_dots(G, rows, r, start, n)


def stored_error(n_rows: int) -> float:
    """Return the largest relative error of a sum of n_rows products, in blocks as here."""
    # A product rounds, it is twice added to others of its group, and groups are added up; then
    # so are the blocks. Counting the terms in float64 once more covers products of errors, and the
    # sums of pieces. Groups of eight stored rows are added three times, and are half as many.
    return gamma(BLOCK // _ROWS + 3) + 2.0 * n_rows / BLOCK * _U64


def gamma(n_roundings: int) -> float:
    """Return the largest relative error after so many roundings to float32."""
    lost = n_roundings * _U32
    return lost / (1.0 - lost)
