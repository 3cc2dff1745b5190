"""Linear atoms grown on the residual: one direction over all inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fcgboost.arrays import Array, Matrix, is_sparse, to_numpy
from fcgboost.dictionaries.base import Grower, GrownDictionary, Sample
from fcgboost.dictionaries.planes import LinearProfile

# Thresholds for squared z-scores.
_THRESHOLDS = np.array([0.0, 1.0, 2.0, 4.0, 8.0, 16.0])
# The largest number of conjugate gradient steps.
_STEPS = 3
# A direction learned on one half of the rows must hold on the other by this many standard errors.
_ENOUGH = 3.0
# A variance below this share of the mean square is rounding.
_ROUNDING = 1e-12
# Columns so many times their range away from zero are shifted there: variances would be rounding.
_FAR = 2.0**13


@dataclass(eq=False, repr=False)
class DirectionDictionary(LinearProfile, GrownDictionary):
    """Linear atoms <w, x> + b of all inputs, grown on the residual; a row is (w, b).

    With z_j the correlation of input j with the residual in standard errors, the weights start as

        w_j = z_j max(0, 1 - t / z_j^2) / u_j,

    Breiman's garrote (Technometrics 1995): uninformative inputs get no weight. This is the first of
    at most three conjugate gradient steps towards the least-squares fit of the residual,
    preconditioned by the ratio of the w_j to the correlations. The threshold t, the units u (those
    of the inputs or their standard deviations) and the number of steps are chosen so that
    directions learned on one half of the rows correlate best with the residual of the other half;
    if none does, there is no atom. Sparse rows stay sparse. The atom has mean 0 and variance 1 over
    the rows with a residual.
    """

    def candidates(self, sample: Sample, n: int, key: int) -> Matrix:
        return np.zeros((1, sample.n_features + 1))

    def n_dense(self, n_features: int) -> int:
        return 1  # or none

    def grower(self, sample: Sample) -> Grower:
        return _DirectionGrower(sample.rows)


class _DirectionGrower(Grower):
    def __init__(self, rows: Matrix) -> None:
        self._n_features = rows.shape[1]
        # Hashed words leave most columns empty.
        counts = np.asarray((rows != 0.0).sum(axis=0)).ravel()
        self._used = np.flatnonzero(counts)
        self._X: Matrix = rows
        if len(self._used) < rows.shape[1]:
            self._X = rows[:, self._used]
        self._origin = _far_origin(self._X)
        if is_sparse(self._X) and self._origin.any():
            self._X = self._X.copy()
            shifts = self._origin[self._X.indices]
            self._X.data -= shifts
        elif self._origin.any():
            self._X = self._X - self._origin
        self._squares = self._X.power(2) if is_sparse(self._X) else self._X**2
        self._is_in = np.arange(rows.shape[0])[:, None] % 2 == [0, 1]

    @np.errstate(all="ignore")  # NaN weights become 0
    def grow(self, residual: Array, weights: Array, key: int) -> Array:
        X = self._X
        total = weights.sum()
        halves = residual[:, None] * self._is_in
        # The variance of a row's contribution to a sum; repeated rows are independent.
        noise = np.where(weights > 0.0, residual**2 / weights, 0.0)
        sums = X.T @ np.column_stack([halves, weights, noise])
        squares = self._squares.T @ noise
        mean = sums[:, 2] / total
        variance = squares - 2.0 * mean * sums[:, 3] + mean**2 * noise.sum()
        is_there = variance > _ROUNDING * squares
        units = np.sqrt(np.where(is_there, variance, np.inf))
        # The correlations of the inputs with the residual of each half.
        G = sums[:, :2] - mean[:, None] * halves.sum(0)
        # The sums of a half have a smaller standard error.
        starts = [_directions(np.sqrt(2.0) * g / units, units) for g in G.T]
        best = int(
            self._held_out(
                starts,
                mean,
                halves,
                noise,
            ).argmax()
        )
        paths = []
        for half, start in enumerate(starts):
            path = self._path(
                start[:, best],
                G[:, half],
                mean,
                weights * self._is_in[:, half],
                _STEPS,
            )
            paths.append(path)
        evidence = self._held_out(
            paths,
            mean,
            halves,
            noise,
        )
        g = G.sum(1)
        start = _directions(g / units, units)[:, best]
        w = self._path(
            start,
            g,
            mean,
            weights,
            int(evidence.argmax()) + 1,
        )[:, -1]
        b = -mean @ w
        # Divided by its deviation.
        deviation = np.sqrt(weights @ (X @ w + b) ** 2 / total)
        atom = np.zeros((1, self._n_features + 1))
        atom[0, self._used] = w / deviation
        atom[0, -1] = (b - self._origin @ w) / deviation
        if evidence.max() > _ENOUGH and np.isfinite(atom).all():
            return atom
        return atom[:0]

    def _path(
        self,
        way: Array,
        g: Array,
        mean: Array,
        weights: Array,
        n: int,
    ) -> Array:
        """Return n conjugate gradient iterates as columns, the first step along `way`."""
        factors = np.nan_to_num(way / g)
        w = 0.0 * g
        rest = g
        steps = []
        for _ in range(n):
            values = weights * (self._X @ way - mean @ way)
            change = self._X.T @ values - mean * values.sum()
            slope = rest @ (factors * rest)
            size = slope / (way @ change)
            w = w + size * way
            rest = rest - size * change
            steps.append(w)
            scaled = factors * rest
            way = scaled + rest @ scaled / slope * way
        return np.column_stack(steps)

    def _held_out(
        self,
        W: list[Array],
        mean: Array,
        halves: Array,
        noise: Array,
    ) -> Array:
        """Return by how many standard errors directions of each half hold on the other."""
        scores = []
        for half, other in ((0, 1), (1, 0)):
            V = self._X @ W[half] - mean @ W[half]
            V = V * self._is_in[:, [other]]
            errors = np.sqrt(noise @ V**2)
            scores.append(halves[:, other] @ V / errors)
        return np.asarray(np.nan_to_num(scores).sum(0) / np.sqrt(2.0))


def _directions(z: Array, units: Array) -> Array:
    """Return the weights for each threshold and choice of units, as columns."""
    factors = np.maximum(0.0, 1.0 - _THRESHOLDS / z[:, None] ** 2)
    shrunk = z[:, None] * factors
    return np.nan_to_num(np.hstack([shrunk, shrunk / units[:, None]]))


def _far_origin(X: Matrix) -> Array:
    """Return the least entry of each column that is far from zero, and thus full; else 0."""
    low = to_numpy(X.min(axis=0)).ravel()
    high = to_numpy(X.max(axis=0)).ravel()
    size = np.minimum(np.abs(low), np.abs(high))
    is_far = size > _FAR * (high - low)
    return np.where(is_far, low, 0.0)
