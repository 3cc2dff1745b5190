"""Linear atoms grown on the residual: one direction over all inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fcgboost.arrays import Array, is_sparse
from fcgboost.dictionaries.base import Grower, GrownDictionary, Sample, Scaling
from fcgboost.dictionaries.planes import LinearProfile

# Thresholds for squared z-scores.
_THRESHOLDS = np.array([0.0, 1.0, 2.0, 4.0, 8.0, 16.0])
# The largest number of conjugate gradient steps.
_STEPS = 3
# A direction learned on one half of the rows must hold on the other by this many standard errors.
_ENOUGH = 3.0
# A variance below this share of the mean square is rounding.
_ROUNDING = 1e-12


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

    Parameters
    ----------
    scaling : {"none", "max", "norm"}, default="none"
        How the values of an atom are scaled, see `Dictionary`.
    """

    scaling: Scaling = "none"

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        return np.zeros((1, sample.n_features + 1))

    def n_dense(self, n_features: int) -> int:
        return 1  # or none

    def grower(self, sample: Sample) -> Grower:
        return _DirectionGrower()


class _DirectionGrower(Grower):
    _rows: Any = None

    def _look(self, rows: Any) -> None:
        """Cache what does not depend on the residual."""
        self._rows = rows
        # Hashed words leave most columns empty.
        self._used = np.flatnonzero(np.asarray((rows != 0.0).sum(axis=0)).ravel())
        self._X = rows if len(self._used) == rows.shape[1] else rows[:, self._used]
        self._squares = self._X.power(2) if is_sparse(rows) else self._X**2
        self._is_in = np.arange(rows.shape[0])[:, None] % 2 == [0, 1]

    @np.errstate(all="ignore")  # NaN weights become 0
    def grow(self, rows: Any, residual: Array, weights: Array, key: int) -> Array:
        if rows is not self._rows:
            self._look(rows)
        X, halves, total = self._X, residual[:, None] * self._is_in, weights.sum()
        # The variance of a row's contribution to a sum; repeated rows are independent.
        noise = np.where(weights > 0.0, residual**2 / weights, 0.0)
        sums, squares = X.T @ np.column_stack([halves, weights, noise]), self._squares.T @ noise
        mean = sums[:, 2] / total
        variance = squares - 2.0 * mean * sums[:, 3] + mean**2 * noise.sum()
        units = np.sqrt(np.where(variance > _ROUNDING * squares, variance, np.inf))
        G = sums[:, :2] - mean[:, None] * halves.sum(0)
        # The sums of a half have a smaller standard error.
        first = [_directions(np.sqrt(2.0) * g / units, units) for g in G.T]
        best = self._told(first, mean, halves, noise).argmax()
        told = self._told(
            [
                self._path(own[:, best], g, mean, weights * is_in, _STEPS)
                for own, g, is_in in zip(first, G.T, self._is_in.T, strict=True)
            ],
            *(mean, halves, noise),
        )
        g = G.sum(1)
        way = _directions(g / units, units)[:, best]
        w = self._path(way, g, mean, weights, int(told.argmax()) + 1)[:, -1]
        b = -mean @ w
        size = np.sqrt(weights @ (X @ w + b) ** 2 / total)
        atom = np.zeros((1, rows.shape[1] + 1))
        atom[0, self._used], atom[0, -1] = w / size, b / size
        return atom[: int(told.max() > _ENOUGH and np.isfinite(atom).all())]

    def _path(self, way: Array, g: Array, mean: Array, weights: Array, n: int) -> Array:
        """Return n conjugate gradient iterates as columns, the first step along `way`."""
        factors, w, rest, steps = np.nan_to_num(way / g), 0.0 * g, g, []
        for _ in range(n):
            values = weights * (self._X @ way - mean @ way)
            change, slope = self._X.T @ values - mean * values.sum(), rest @ (factors * rest)
            size = slope / (way @ change)
            w, rest = w + size * way, rest - size * change
            steps.append(w)
            way = factors * rest + rest @ (factors * rest) / slope * way
        return np.column_stack(steps)

    def _told(self, W: list[Array], mean: Array, halves: Array, noise: Array) -> Array:
        """Return by how many standard errors directions of each half hold on the other."""
        found = []
        for own, other in ((0, 1), (1, 0)):
            V = (self._X @ W[own] - mean @ W[own]) * self._is_in[:, [other]]
            found.append(halves[:, other] @ V / np.sqrt(noise @ V**2))
        return np.asarray(np.nan_to_num(found).sum(0) / np.sqrt(2.0))


def _directions(z: Array, units: Array) -> Array:
    """Return the weights for each threshold and choice of units, as columns."""
    shrunk = z[:, None] * np.maximum(0.0, 1.0 - _THRESHOLDS / z[:, None] ** 2)
    return np.nan_to_num(np.hstack([shrunk, shrunk / units[:, None]]))
