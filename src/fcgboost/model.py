"""The frozen result: atoms, coefficients, intercept; decision(X) and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.dictionaries import Array, Dictionary

# Temporaries of a prediction hold about this many float64 numbers (8 MiB).
_BLOCK_ENTRIES = 1 << 20


@dataclass(frozen=True, eq=False)
class Model:
    """A sparse additive model. It does not know how it was trained.

    Attributes
    ----------
    dictionary : Dictionary
    atoms : ndarray or CSR matrix of shape (n_atoms, n_parameters)
    coef : ndarray of shape (n_outputs, n_atoms)
    intercept : ndarray of shape (n_outputs,)
    scale : ndarray of shape (n_features,)
        One standardised unit of each column, for dictionaries of distances.
    entered : ndarray of shape (n_atoms,)
        The step at which each atom entered.
    """

    dictionary: Dictionary
    atoms: Any
    coef: Array
    intercept: Array
    scale: Array
    entered: NDArray[np.intp]

    @property
    def n_atoms(self) -> int:
        """The number of atoms."""
        return int(self.coef.shape[1])

    def decision(self, X: Any) -> Array:
        """Give the decision values, of shape (n_samples, n_outputs)."""
        values = np.empty((X.shape[0], len(self.intercept)))
        size = max(1, _BLOCK_ENTRIES // max(1, self.n_atoms, X.shape[1]))
        for start in range(0, X.shape[0], size):
            rows = slice(start, start + size)
            values[rows] = self.columns(X[rows]) @ self.coef.T + self.intercept
        return values

    def columns(self, X: Any) -> Array:
        """Give the values of all atoms at the rows of X, of shape (n_samples, n_atoms)."""
        if self.n_atoms == 0:
            return np.zeros((X.shape[0], 0))
        return self.dictionary.evaluate(X, self.atoms, self.scale)
