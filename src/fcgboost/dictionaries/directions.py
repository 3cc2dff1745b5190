"""Linear atoms that are grown on the residual: one direction over all inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fcgboost.arrays import Array, is_sparse
from fcgboost.dictionaries.base import Grower, GrownDictionary, Sample, Scaling
from fcgboost.dictionaries.planes import LinearProfile

# What squared z-scores are shrunk by.
_THRESHOLDS = np.array([0.0, 1.0, 2.0, 4.0, 8.0, 16.0])
# A direction enters if what one half of the rows says of it holds on the other half, by so many
# standard errors.
_ENOUGH = 3.0
# A variance below this share of the mean square is rounding.
_ROUNDING = 1e-12


@dataclass(eq=False, repr=False)
class DirectionDictionary(LinearProfile, GrownDictionary):
    """Linear atoms <w, x> + b of all inputs, grown on the residual; a row is (w, b).

    With z_j the correlation of input j with the residual in standard errors, its weight is

        w_j = z_j max(0, 1 - t / z_j^2) / u_j,

    Breiman's garrote (Technometrics 1995): inputs that tell nothing have no weight. The threshold t
    and the units u, those of the inputs or their deviations, are the ones whose directions, learned
    on one half of the rows, correlate best with the residual of the other half; there is no atom
    where none does. Rows may be sparse, and are never made dense. The atom has mean 0 and variance
    1 over the rows with a residual.

    Parameters
    ----------
    scaling : {"none", "max", "norm"}, default="none"
    """

    scaling: Scaling = "none"

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        """Return the atom that is 0: others are grown."""
        return np.zeros((1, sample.n_features + 1))

    def n_dense(self, n_features: int) -> int:
        return 1  # or none

    def grower(self, sample: Sample) -> Grower:
        return _DirectionGrower()


class _DirectionGrower(Grower):
    """Grows one direction, or none."""

    _rows: Any = None

    @np.errstate(all="ignore")  # what is no number has no weight
    def grow(self, rows: Any, residual: Array, weights: Array, key: int) -> Array:
        if rows is not self._rows:
            self._rows, self._squares = rows, rows.multiply(rows) if is_sparse(rows) else rows**2
        is_first = np.arange(rows.shape[0])[:, None] % 2 == [0, 1]
        R = residual[:, None] * is_first
        noise = np.where(weights > 0.0, residual**2 / np.where(weights > 0.0, weights, 1.0), 0.0)
        sums = rows.T @ np.column_stack([R, weights, noise])
        squares, mean = self._squares.T @ noise, sums[:, 2] / weights.sum()
        variance = squares - 2.0 * mean * sums[:, 3] + mean**2 * noise.sum()
        units = np.sqrt(np.where(variance > _ROUNDING * squares, variance, np.inf))
        Z = (sums[:, :2] - mean[:, None] * R.sum(0)) / units[:, None]
        # The standard error of a half is smaller.
        halves = [_directions(np.sqrt(2.0) * z, units) for z in Z.T]
        V = rows @ np.hstack(halves) - mean @ np.hstack(halves)
        others = np.repeat(is_first[:, ::-1], halves[0].shape[1], axis=1)
        errors = np.sqrt(noise @ (V**2 * others))
        found = (residual @ (V * others) / errors).reshape(2, -1)
        told = np.nan_to_num(found).sum(0) / np.sqrt(2.0)
        w = _directions(Z.sum(1), units)[:, told.argmax()]
        values = rows @ w - mean @ w
        size = np.sqrt(weights @ values**2 / weights.sum())
        atom = np.append(w, -mean @ w)[None] / size
        return atom[: int(told.max() > _ENOUGH and np.isfinite(atom).all())]


def _directions(z: Array, units: Array) -> Array:
    """Return weights for every threshold, in units of the inputs and in others, as columns."""
    square = np.maximum(z**2, np.finfo(np.float64).tiny)
    shrunk = z[:, None] * np.maximum(0.0, 1.0 - _THRESHOLDS / square[:, None])
    return np.nan_to_num(np.hstack([shrunk, shrunk / units[:, None]]))
