"""The frozen result: atoms, coefficients, intercept; decision(X) and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.arrays import beside, host, is_tensor
from fcgboost.clipping import Limits, clip, within_reach
from fcgboost.dictionaries import Array, Dictionary, TreeDictionary, UnionDictionary
from fcgboost.dictionaries.planes import PRODUCTS_ON_ONE_THREAD
from fcgboost.threads import cached

# Values that stay in the cache (256 KiB here) are read again for nothing. Products stay on one
# thread, which of wide inputs takes few rows; but some, so that Python's part remains small.
_BLOCK_ENTRIES = 1 << 15
_FEW_ROWS = 16
# Cutting a sparse matrix takes as long as thousands of values (1 MiB), launching a kernel on a
# device as long as some hundred thousand (128 MiB).
_COSTLY_ENTRIES = 1 << 17
_DEVICE_ENTRIES = 1 << 24


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A sparse additive model. It does not know how it was trained.

    Its arrays are not to be written on: what predictions need of them is laid out at the first
    one and kept, though not saved.

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
    limits : Limits or None
        Inputs beyond them count as at the limit.
    """

    dictionary: Dictionary
    atoms: Any
    coef: Array
    intercept: Array
    scale: Array
    entered: NDArray[np.intp]
    limits: Limits | None = None

    def __repr__(self) -> str:
        family, n_outputs = type(self.dictionary).__name__, len(self.intercept)
        return f"Model({family}, n_atoms={self.n_atoms}, n_outputs={n_outputs})"

    @property
    def n_atoms(self) -> int:
        """The number of atoms."""
        return int(self.coef.shape[1])

    @property
    def bounds(self) -> Limits | None:
        """What inputs are clipped to: the limits, and what keeps atoms finite."""
        return bounds_of(self.dictionary, self.scale, self.limits)

    def decision(self, X: Any) -> Any:
        """Return the decision values, of shape (n_samples, n_outputs); of a tensor, a tensor.

        Arithmetic is in float64, also for float32 X (on a device without float64, in float32):
        the coefficients were fitted so, and columns far from the origin lose in float32 what
        separates the classes.
        """
        return self._over_rows(X, self._laid_out(X).decide)

    def columns(self, X: Any) -> Any:
        """Return the values of all atoms at the rows of X, of shape (n_samples, n_atoms)."""
        return self._over_rows(X, self._laid_out(X).evaluate)

    def _over_rows(self, X: Any, function: Callable[[Any], Any]) -> Any:
        """Return the values of a function of rows, block after block."""
        n_samples, size = X.shape[0], self._rows_at_once(X)
        if n_samples <= size:
            return function(X)
        first = function(X[:size])
        values = beside(np.empty((n_samples, first.shape[1])), X)
        values[:size] = first
        for start in range(size, n_samples, size):
            values[start : start + size] = function(X[start : start + size])
        return values

    def _rows_at_once(self, X: Any) -> int:
        n_atoms, row_entries = max(1, self.n_atoms), X.shape[1]
        if is_tensor(X):
            entries = _DEVICE_ENTRIES
        elif sparse.issparse(X):
            row_entries, entries = X.nnz // max(1, X.shape[0]), _COSTLY_ENTRIES
        elif sparse.issparse(self.atoms):
            entries = _COSTLY_ENTRIES
        else:
            # Distances are products with two more columns.
            products = n_atoms * max(row_entries + 2, len(self.intercept))
            size = max(_FEW_ROWS, PRODUCTS_ON_ONE_THREAD // products)
            return int(max(1, min(size, _BLOCK_ENTRIES // n_atoms)))
        return int(max(1, entries // max(n_atoms, row_entries)))

    def _laid_out(self, X: Any) -> _Layout:
        """Return the arrays of the model as rows like those of X need them."""
        memory = X.device if is_tensor(X) else None
        layout = self._layouts.get(memory)
        if layout is None:
            layout = self._layouts[memory] = _Layout(self, X)
        return layout

    @cached
    def _layouts(self) -> dict[Any, _Layout]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_layouts"}


class _Layout:
    """A model's arrays in the memory of some rows, and its functions of rows of any precision."""

    def __init__(self, model: Model, X: Any) -> None:
        self._coef = beside(np.ascontiguousarray(model.coef.T), X)
        self._intercept, limits = beside(model.intercept, X), model.bounds
        self._limits = None if limits is None else (beside(limits.low, X), beside(limits.high, X))
        self._values: Callable[[Any], Any] | None = None
        if model.n_atoms:
            atoms = beside(host(model.atoms), X) if is_tensor(X) else model.atoms
            self._values = model.dictionary.prepared(atoms, beside(model.scale, X))

    def evaluate(self, X: Any) -> Any:
        """Return the values of all atoms."""
        if self._values is None:
            return beside(np.empty((X.shape[0], 0)), X)
        if X.dtype != self._coef.dtype:
            X = X.to(self._coef.dtype) if is_tensor(X) else X.astype(self._coef.dtype)
        return self._values(X if self._limits is None else clip(X, *self._limits))

    def decide(self, X: Any) -> Any:
        """Return the decision values."""
        decision = self.evaluate(X) @ self._coef
        decision += self._intercept
        return decision


def bounds_of(dictionary: Dictionary, scale: Array, limits: Limits | None = None) -> Limits | None:
    """Return what keeps the atoms of a dictionary finite, within limits; trees always are."""
    is_forest = isinstance(dictionary, TreeDictionary)
    return limits if is_forest else within_reach(limits, scale)


class Member(NamedTuple):
    """The atoms of one family: their places among all, their rows, and the inputs that they see."""

    family: Dictionary
    places: NDArray[np.intp]
    rows: Any
    inputs: slice


def by_family(dictionary: Dictionary, atoms: Any, n_features: int) -> list[Member]:
    """Return the atoms of every family; of a union several."""
    if isinstance(dictionary, UnionDictionary):
        members, families = dictionary.members(atoms, n_features), dictionary.families
        return [Member(families[number], *own) for number, *own in members]
    whole = Member(dictionary, np.arange(atoms.shape[0]), atoms, slice(0, n_features))
    return [whole] if atoms.shape[0] else []
