"""The fitted model: atoms, coefficients and intercept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fcgboost._kernels import walks
from fcgboost._kernels.walks import Sum
from fcgboost.arrays import (
    Array,
    Codes,
    Matrix,
    is_sparse,
    is_tensor,
    to_device_of,
    to_numpy,
)
from fcgboost.clipping import Limits, clip, within_reach
from fcgboost.dictionaries import Dictionary, TreeDictionary, UnionDictionary
from fcgboost.dictionaries.planes import product_on_one_thread
from fcgboost.dictionaries.union import FamilyAtoms
from fcgboost.sums import Summand, sum_of
from fcgboost.threads import cached

__all__ = [
    "Model",
]

# Blocks fit into the cache (1 MiB), but have so many rows that the overhead of Python, which only
# one thread has at a time, stays small.
_BLOCK_ENTRIES = 1 << 17
# Larger blocks where slicing a sparse matrix (1 MiB) or launching a kernel (128 MiB) is costly.
_COSTLY_ENTRIES = 1 << 17
_DEVICE_ENTRIES = 1 << 24

_CACHED = ("_layouts", "_sum")

_OfRows = Callable[[Matrix], Matrix]


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A sparse additive model, which does not know how it was trained.

    Do not modify its arrays: predictions cache what they need of them.

    Attributes
    ----------
    dictionary : Dictionary
        The family of the atoms.
    atoms : ndarray or CSR matrix of shape (n_atoms, n_parameters)
        The parameters of the atoms.
    coef : ndarray of shape (n_outputs, n_atoms)
        The coefficients.
    intercept : ndarray of shape (n_outputs,)
        The intercepts.
    scale : ndarray of shape (n_features,)
        One standardised unit of each column, used by dictionaries of distances.
    entered : ndarray of shape (n_atoms,)
        The step at which each atom entered.
    limits : Limits or None
        Inputs are clipped to them.
    """

    dictionary: Dictionary
    atoms: Matrix
    coef: Array
    intercept: Array
    scale: Array
    entered: Codes
    limits: Limits | None = None

    def __repr__(self) -> str:
        family = type(self.dictionary).__name__
        n_outputs = len(self.intercept)
        return f"Model({family}, n_atoms={self.n_atoms}, n_outputs={n_outputs})"

    @property
    def n_atoms(self) -> int:
        return int(self.coef.shape[1])

    @property
    def bounds(self) -> Limits | None:
        """What inputs are clipped to: the limits, and what keeps atoms finite."""
        return bounds_of(self.dictionary, self.scale, self.limits)

    def decision(self, X: Matrix) -> Matrix:
        """Return decision values of shape (n_samples, n_outputs); for a tensor, a tensor.

        Arithmetic is in float64 even for float32 X, unless the device has no float64: columns far
        from the origin would lose in float32 what separates the classes.
        """
        if isinstance(X, np.ndarray) and self._sum is not None:
            return walks.add_up(self._sum, X)
        return self._over_rows(X, self._laid_out(X).decide)

    def by_family(self, positions: Codes | slice = slice(None)) -> list[FamilyAtoms]:
        """Return the atoms, or some of them, grouped by family."""
        atoms = self.atoms[positions]
        inputs = slice(0, len(self.scale))
        if isinstance(self.dictionary, UnionDictionary):
            return list(self.dictionary.members(atoms, inputs.stop))
        whole = FamilyAtoms(
            self.dictionary,
            np.arange(atoms.shape[0]),
            atoms,
            inputs,
        )
        return [whole] if atoms.shape[0] else []

    def summand(self, weight: float = 1.0) -> Summand:
        """Return what it adds to a sum of models, times a weight."""
        return Summand(
            self.by_family(),
            coef=weight * self.coef,
            intercept=weight * self.intercept,
            scale=self.scale,
            limits=self.bounds,
        )

    @cached
    def _sum(self) -> Sum | None:
        return sum_of([self.summand()])

    def columns(self, X: Matrix) -> Matrix:
        """Return the values of all atoms at the rows of X, of shape (n_samples, n_atoms)."""
        return self._over_rows(X, self._laid_out(X).evaluate)

    def _over_rows(self, X: Matrix, function: _OfRows) -> Matrix:
        """Evaluate a function of rows block by block."""
        n_samples = X.shape[0]
        size = self._rows_at_once(X)
        if n_samples <= size:
            return function(X)
        first = function(X[:size])
        values = to_device_of(np.empty((n_samples, first.shape[1])), X)
        values[:size] = first
        for start in range(size, n_samples, size):
            values[start : start + size] = function(X[start : start + size])
        return values

    def _rows_at_once(self, X: Matrix) -> int:
        n_atoms = max(1, self.n_atoms)
        row_entries = X.shape[1]
        if is_tensor(X):
            entries = _DEVICE_ENTRIES
        elif is_sparse(X):
            row_entries = X.nnz // max(1, X.shape[0])
            entries = _COSTLY_ENTRIES
        elif is_sparse(self.atoms):
            entries = _COSTLY_ENTRIES
        else:
            entries = _BLOCK_ENTRIES
        return int(max(1, entries // max(n_atoms, row_entries)))

    def _laid_out(self, X: Matrix) -> _ModelArrays:
        """Return the arrays of the model in the memory of X."""
        memory = X.device if is_tensor(X) else None
        layout = self._layouts.get(memory)
        if layout is None:
            layout = self._layouts[memory] = _ModelArrays(self, X)
        return layout

    @cached
    def _layouts(self) -> dict[object, _ModelArrays]:
        return {}

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name not in _CACHED}


class _ModelArrays:
    """A model's arrays in one memory, and its functions of rows there."""

    def __init__(self, model: Model, X: Matrix) -> None:
        self._coef = to_device_of(np.ascontiguousarray(model.coef.T), X)
        self._intercept = to_device_of(model.intercept, X)
        limits = model.bounds
        self._limits = (
            None if limits is None else (to_device_of(limits.low, X), to_device_of(limits.high, X))
        )
        self._values: _OfRows | None = None
        if model.n_atoms:
            atoms = to_device_of(to_numpy(model.atoms), X) if is_tensor(X) else model.atoms
            self._values = model.dictionary.prepared(atoms, to_device_of(model.scale, X))

    def evaluate(self, X: Matrix) -> Matrix:
        if self._values is None:
            return to_device_of(np.empty((X.shape[0], 0)), X)
        if X.dtype != self._coef.dtype:
            X = X.to(self._coef.dtype) if is_tensor(X) else X.astype(self._coef.dtype)
        return self._values(X if self._limits is None else clip(X, *self._limits))

    def decide(self, X: Matrix) -> Matrix:
        decision = product_on_one_thread(self.evaluate(X), self._coef)
        decision += self._intercept
        return decision


def bounds_of(dictionary: Dictionary, scale: Array, limits: Limits | None = None) -> Limits | None:
    """Return what keeps the atoms of a dictionary finite, within limits; trees always are."""
    is_forest = isinstance(dictionary, TreeDictionary)
    return limits if is_forest else within_reach(limits, scale)


def of_columns(values: Array, pairs: Sequence[tuple[int, int]]) -> Array:
    """Return values of columns, given theirs and behind them those of pairs, which columns share.

    Both columns of a pair get half of its value.
    """
    totals = values[: len(values) - len(pairs)].copy()
    for pair, value in zip(pairs, values[len(totals) :], strict=True):
        totals[list(pair)] += value / 2.0
    return totals
