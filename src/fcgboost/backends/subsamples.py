"""Some rows that are looked at closely: where atoms are learned.

The rows are those with the smallest keyed hashes, each once, in that order. Residuals of equal rows
are added up. So nothing that is learned depends on the order of the data, on repetitions that could
have been weights, or on the machine where a row lies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing
from fcgboost.arrays import is_tensor
from fcgboost.backends.base import Array, Subsample


@dataclass(frozen=True)
class Members:
    """Which of the rows that lie here belong to a subsample.

    Attributes
    ----------
    rows : ndarray of int
        Rows that are equal to one of the subsample.
    slots : ndarray of int
        Which one.
    n_slots : int
        The number of rows of the subsample.
    is_plain : bool
        Whether every row of the subsample is one row here, and they are in its order.
    """

    rows: NDArray[np.intp]
    slots: NDArray[np.intp]
    n_slots: int
    is_plain: bool

    @classmethod
    def of(cls, wanted: hashing.Words, words: hashing.Words) -> Members:
        """Find the rows by their fingerprints."""
        order = np.argsort(wanted)
        ordered = wanted[order]
        places = np.minimum(np.searchsorted(ordered, words), max(0, len(wanted) - 1))
        rows = np.flatnonzero(ordered[places] == words) if len(wanted) else np.zeros(0, np.intp)
        slots = order[places[rows]]
        if len(rows) == len(wanted) == len(np.unique(slots)):
            # One row each: then it is nothing but an index.
            by_slot = np.argsort(slots)
            return cls(rows[by_slot], slots[by_slot], len(wanted), True)
        return cls(rows, slots, len(wanted), False)

    def add_up(self, values: Array) -> Array:
        """Add up the values of equal rows, of shape (n_samples, n_outputs)."""
        if self.is_plain:
            return values[self.rows]
        sums = np.empty((self.n_slots, values.shape[1]))
        for c in range(values.shape[1]):
            sums[:, c] = np.bincount(self.slots, values[self.rows, c], self.n_slots)
        return sums


class MemorySubsample(Subsample):
    """Rows of a design in one memory.

    Parameters
    ----------
    rows : ndarray, CSR matrix or tensor of shape (n_rows, n_features)
    members : Members
    weights : m-vector
    put : callable
        Brings an array to where the rows are.
    """

    def __init__(
        self, rows: Any, members: Members, weights: Any, put: Callable[[Any], Any]
    ) -> None:
        self.rows = rows
        self._members = members
        self._weights = weights
        self._put = put

    def residuals(self, R: Any) -> tuple[Any, Any]:
        """Return residuals and active weights."""
        if self._members.is_plain:
            residuals = R[self._members.rows]
            return residuals, (residuals != 0.0) * self._weights[self._members.rows, None]
        if is_tensor(R):
            # Sums on a device would depend on the order its threads come in.
            host = residuals_at(self._members, R.cpu().numpy(), self._weights.cpu().numpy())
            return self._put(host[0]), self._put(host[1])
        return residuals_at(self._members, R, self._weights)


def residuals_at(members: Members, R: Array, weights: Array) -> tuple[Array, Array]:
    """Return the residuals and the active weights of the rows of a subsample that lie here."""
    active = np.where(R != 0.0, weights[:, None], 0.0)
    return members.add_up(R), members.add_up(active)
