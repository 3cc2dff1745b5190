"""Fused float32 kernels that screen candidates on a CPU, compiled by numba where it is installed.

They give inner products together with bounds on their errors, so that a caller scores again in
float64 only what can still be the best. Each call runs in one thread and without Python's lock:
threads share the work by slices of candidates, and what comes out for one candidate does not
depend on the slice, to the last bit.

Sums are float32 over at most BLOCK rows and float64 from there on. u is the roundoff 2^-24 of
float32; a value that went through k roundings is off by at most gamma(k) = k u / (1 - k u).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcgboost.backends.base import Array
from fcgboost.compiling import compiled

Floats = NDArray[np.float32]

#: The most rows over which sums are float32: short, because the error bounds grow with it, and
#: long enough that the sums in float64 cost nothing.
BLOCK = 64
# Rows that are taken at once: they share what is loaded of the candidates, and their products
# are added up before they join a sum, which then rounds four times less often.
_ROWS = 4
# Stored rows that are taken at once: the memory gives eight streams faster than four.
_STORED_ROWS = 8
# Candidates side by side: all of a tile's numbers for four rows fit the fastest cache. A tile is
# a multiple of _LANES wide, the numbers that the widest vector loops take at once, so that no
# candidate falls into the rest of a loop, where rounding might differ.
_TILE = 256
_LANES = 64

_LOG2_E = 1.4426950408889634
# 2^f on 0 <= f <= 1, off by 1.39 u at most: close to the polynomial of degree 5 with the smallest
# relative error among those with p(0) = 1, so that an atom is exactly 1 at its centre.
_C1 = np.float32(0.6931512951850891)
_C2 = np.float32(0.24016457796096802)
_C3 = np.float32(0.055799588561058044)
_C4 = np.float32(0.009017364121973515)
_C5 = np.float32(0.0018670102581381798)
_ONE = np.float32(1.0)
# All below 2^-126 counts as 0: float32 has fewer digits there, and processors may be slow.
_LOWEST = np.float32(-127.0)

_U32 = 2.0**-24
_U64 = 2.0**-53
# What an atom that counts as 0 can be, and what a product loses at most to underflow.
_TINY = 2.0**-125
_UNDERFLOW = 2.0**-149
# Exponents beyond 127 log 2 give 0.
_STEEPEST = 88.1

_COMPILING = Lock()


class _Compiled(NamedTuple):
    gauss: Callable[..., None]
    stored: Callable[..., None]


def is_available() -> bool:
    """Whether numba is installed, without importing it."""
    return importlib.util.find_spec("numba") is not None


def load() -> None:
    """Load the compiled code, or compile it, now rather than at its first use."""
    _compiled()


def gauss_dots(Z: Floats, centers: Floats, steepness: Floats, R: Floats) -> tuple[Array, Array]:
    """Give the inner products of Gauss atoms and of their sizes with residuals.

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
    dots = np.zeros((len(centers), R.shape[1]))
    sizes = np.zeros_like(dots)
    factors = (-_LOG2_E * steepness.astype(np.float64)).astype(np.float32)
    _compiled().gauss(Z, centers, factors, R, dots, sizes)
    return dots, sizes


def gauss_error(n_features: int) -> tuple[float, float]:
    """Give (slope, relative) that bound the error of a computed atom.

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
    """Give bounds on how far the dots of `gauss_dots` are from the exact ones.

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
    """Give the inner products of stored columns with a residual, over the rows that have one.

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
    dots = np.zeros(len(range(*slice(start, stop).indices(G.shape[1]))))
    # A row that counts 0 times fills the last group.
    missing = -len(rows) % _STORED_ROWS
    rows = np.concatenate([rows, np.repeat(rows[-1:], missing)])
    r = np.concatenate([r, np.zeros(missing, np.float32)])
    _compiled().stored(G, rows, r, start, dots)
    return dots


def stored_error(n_rows: int) -> float:
    """Give the largest relative error of a sum of n_rows products, in blocks as here."""
    # A product rounds, it is twice added to others of its group, and groups are added up; then
    # so are the blocks. Counting the terms in float64 once more covers products of errors, and the
    # sums of pieces. Groups of eight stored rows are added three times, and are half as many.
    return gamma(BLOCK // _ROWS + 3) + 2.0 * n_rows / BLOCK * _U64


def gamma(n_roundings: int) -> float:
    """Give the largest relative error after so many roundings to float32."""
    lost = n_roundings * _U32
    return lost / (1.0 - lost)


def _compiled() -> _Compiled:
    # Threads that come first, at once, must not all compile.
    with _COMPILING:
        return _compile_all()


@cache
def _compile_all() -> _Compiled:
    try:
        from numba import float32, float64, int64, types, void
        from numba.extending import register_jitable
    except ImportError as error:
        raise ImportError(
            "Compiled kernels need numba: python -m pip install 'fcgboost[fast]'."
        ) from error

    # Fused multiplications and additions round less; nothing else may be changed in the formulas.
    fused = {"fastmath": {"contract"}, "error_model": "numpy"}
    for part in (_power, _pack, _start_squares, _add_squares, _raise, _add_products):
        register_jitable(forceinline=True, **fused)(part)

    def given(kind: Any, n_axes: int) -> Any:
        return types.Array(kind, n_axes, "C", readonly=True)

    matrix, vector = given(float32, 2), given(float32, 1)
    gauss = void(matrix, matrix, vector, matrix, float64[:, ::1], float64[:, ::1])
    stored = void(matrix, given(int64, 1), vector, int64, float64[::1])
    # Stored columns wait for the memory, not for arithmetic: strict rounding is free there, and
    # makes the rest of a loop the same as its vectors.
    return _Compiled(
        compiled(_gauss_dots, gauss, **fused),
        compiled(_stored_dots, stored),
    )


# What follows is compiled. Loops over the lanes of a tile become vector instructions; numba would
# spoil that with a look at every index that might be negative, so these count from 0.


def _gauss_dots(
    Z: Floats, centers: Floats, factors: Floats, R: Floats, dots: Array, sizes: Array
) -> None:
    """Add to dots and sizes."""
    n, n_outputs = dots.shape
    d = Z.shape[1]
    n_pairs = (d + 1) // 2
    width = min(_TILE, (n + _LANES - 1) // _LANES * _LANES)
    # Each tile holds the coordinates of its candidates, padded to an even number, then factors.
    tiles = np.zeros(((n + _TILE - 1) // _TILE, 2 * n_pairs + 1, width), np.float32)
    for j in range(n):
        for k in range(d):
            tiles[j // width, k, j % width] = centers[j, k]
        tiles[j // width, 2 * n_pairs, j % width] = factors[j]
    rows = np.zeros((BLOCK, 2 * n_pairs), np.float32)
    residuals = np.zeros((BLOCK, n_outputs), np.float32)
    values = np.empty((_ROWS, width), np.float32)
    sums = np.empty((2 * n_outputs, width), np.float32)
    i = 0
    while i < len(Z):
        i, n_rows = _pack(Z, R, i, rows, residuals)
        for at in range(len(tiles)):
            tile = tiles[at]
            sums[:] = 0.0
            for q in range(0, n_rows, _ROWS):
                _start_squares(rows, q, tile, values)
                for k in range(2, 2 * n_pairs, 2):
                    _add_squares(rows, q, tile, values, k)
                _raise(tile[2 * n_pairs], values)
                for o in range(n_outputs):
                    _add_products(residuals, q, o, values, sums)
            first = at * width
            for o in range(n_outputs):
                for lane in range(min(width, n - first)):
                    dots[first + lane, o] += np.float64(sums[2 * o, lane])
                    sizes[first + lane, o] += np.float64(sums[2 * o + 1, lane])


def _pack(Z: Floats, R: Floats, i: int, rows: Floats, residuals: Floats) -> tuple[int, int]:
    """Copy the next rows that have a residual; give where to go on, and their number."""
    n_rows = 0
    while i < len(Z) and n_rows < BLOCK:
        has_residual = False
        for o in range(R.shape[1]):
            has_residual = has_residual or R[i, o] != 0.0
        if has_residual:
            for k in range(Z.shape[1]):
                rows[n_rows, k] = Z[i, k]
            for o in range(R.shape[1]):
                residuals[n_rows, o] = R[i, o]
            n_rows += 1
        i += 1
    # Rows of before fill the last group and count 0 times.
    while n_rows % _ROWS != 0:
        residuals[n_rows] = 0.0
        n_rows += 1
    return i, n_rows


def _start_squares(rows: Floats, q: int, tile: Floats, values: Floats) -> None:
    """Set the squared distances of four rows in the first two coordinates."""
    a0, a1, b0, b1 = rows[q, 0], rows[q, 1], rows[q + 1, 0], rows[q + 1, 1]
    c0, c1, d0, d1 = rows[q + 2, 0], rows[q + 2, 1], rows[q + 3, 0], rows[q + 3, 1]
    for lane in range(values.shape[1]):
        s, t = tile[0, lane], tile[1, lane]
        values[0, lane] = (a0 - s) * (a0 - s) + (a1 - t) * (a1 - t)
        values[1, lane] = (b0 - s) * (b0 - s) + (b1 - t) * (b1 - t)
        values[2, lane] = (c0 - s) * (c0 - s) + (c1 - t) * (c1 - t)
        values[3, lane] = (d0 - s) * (d0 - s) + (d1 - t) * (d1 - t)


def _add_squares(rows: Floats, q: int, tile: Floats, values: Floats, k: int) -> None:
    """Add the squared distances of four rows in two more coordinates.

    Differences cost about a tenth more time than inner products and the squares of norms, whose
    errors grow with the distance from the origin.
    """
    a0, a1, b0, b1 = rows[q, k], rows[q, k + 1], rows[q + 1, k], rows[q + 1, k + 1]
    c0, c1, d0, d1 = rows[q + 2, k], rows[q + 2, k + 1], rows[q + 3, k], rows[q + 3, k + 1]
    for lane in range(values.shape[1]):
        s, t = tile[k, lane], tile[k + 1, lane]
        # In this order both products are fused with a sum.
        values[0, lane] = values[0, lane] + (a0 - s) * (a0 - s) + (a1 - t) * (a1 - t)
        values[1, lane] = values[1, lane] + (b0 - s) * (b0 - s) + (b1 - t) * (b1 - t)
        values[2, lane] = values[2, lane] + (c0 - s) * (c0 - s) + (c1 - t) * (c1 - t)
        values[3, lane] = values[3, lane] + (d0 - s) * (d0 - s) + (d1 - t) * (d1 - t)


def _raise(factors: Floats, values: Floats) -> None:
    """Turn squared distances into atoms."""
    for lane in range(values.shape[1]):
        factor = factors[lane]
        values[0, lane] = _power(factor * values[0, lane])
        values[1, lane] = _power(factor * values[1, lane])
        values[2, lane] = _power(factor * values[2, lane])
        values[3, lane] = _power(factor * values[3, lane])


def _power(y: np.float32) -> np.float32:
    """Give 2^y for y <= 0, which is 0 below -126."""
    y = max(y, _LOWEST)
    whole = np.floor(y)
    f = y - whole
    p = ((((_C5 * f + _C4) * f + _C3) * f + _C2) * f + _C1) * f + _ONE
    # The bits of a float32 that hold its exponent; all are 0 where whole is -127.
    bits = np.int32((np.int32(whole) + 127) << 23)
    return np.float32(p * bits.view(np.float32))


def _add_products(residuals: Floats, q: int, o: int, values: Floats, sums: Floats) -> None:
    """Add the products of four rows with one output's residuals, and with their sizes."""
    r0, r1, r2, r3 = residuals[q, o], residuals[q + 1, o], residuals[q + 2, o], residuals[q + 3, o]
    s0, s1, s2, s3 = abs(r0), abs(r1), abs(r2), abs(r3)
    for lane in range(values.shape[1]):
        g0, g1, g2, g3 = values[0, lane], values[1, lane], values[2, lane], values[3, lane]
        sums[2 * o, lane] += (r0 * g0 + r1 * g1) + (r2 * g2 + r3 * g3)
        sums[2 * o + 1, lane] += (s0 * g0 + s1 * g1) + (s2 * g2 + s3 * g3)


def _stored_dots(G: Floats, rows: NDArray[np.intp], r: Floats, start: int, dots: Array) -> None:
    """Add to dots."""
    n = len(dots)
    sums = np.empty(n, np.float32)
    for first in range(0, len(rows), BLOCK):
        sums[:] = 0.0
        for q in range(first, min(first + BLOCK, len(rows)), _STORED_ROWS):
            r0, r1, r2, r3 = r[q], r[q + 1], r[q + 2], r[q + 3]
            r4, r5, r6, r7 = r[q + 4], r[q + 5], r[q + 6], r[q + 7]
            g0 = G[rows[q]][start : start + n]
            g1 = G[rows[q + 1]][start : start + n]
            g2 = G[rows[q + 2]][start : start + n]
            g3 = G[rows[q + 3]][start : start + n]
            g4 = G[rows[q + 4]][start : start + n]
            g5 = G[rows[q + 5]][start : start + n]
            g6 = G[rows[q + 6]][start : start + n]
            g7 = G[rows[q + 7]][start : start + n]
            for j in range(n):
                upper = (r0 * g0[j] + r1 * g1[j]) + (r2 * g2[j] + r3 * g3[j])
                lower = (r4 * g4[j] + r5 * g5[j]) + (r6 * g6[j] + r7 * g7[j])
                sums[j] += upper + lower
        for j in range(n):
            dots[j] += np.float64(sums[j])
