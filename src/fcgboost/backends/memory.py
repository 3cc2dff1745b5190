"""A design in this process's memory (NumPy, SciPy sparse matrices)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost import hashing
from fcgboost.backends.base import Array, Candidates, Columns, Design, Divisor
from fcgboost.backends.screening import Screen, divide
from fcgboost.dictionaries import Dictionary, Sample

# Temporary blocks hold about this many float64 numbers (1 MiB): small enough for the cache to
# help (half the time of blocks of 8 MiB), large enough that Python's part of it is nothing.
_BLOCK_ENTRIES = 1 << 17
_CANDIDATES_AT_ONCE = 256
# Room for columns that is taken at once; more is only found by copying.
_COLUMNS_AT_FIRST = 1024
# A screen takes as long to make as some fifty passes over the values: after this many, a path that
# ends right then has lost a fifth of its time. Fewer values than these stay in the cache, where a
# pass takes less time than a screen's own work.
_PASSES_BEFORE_SCREEN = 256
_SCREEN_ENTRIES = 1 << 21
# The kept Gram matrix is recomputed after so many updates, or once a column has lost all but
# this share of its squared norm: long before rounding shows.
_GRAM_UPDATES = 64
_GRAM_LOSS = 1e-3


def row_blocks(n_rows: int, n_columns: int, at_least: int = 1) -> list[slice]:
    """Cut rows into blocks so that a block of n_columns columns stays small."""
    size = max(at_least, _BLOCK_ENTRIES // max(1, n_columns))
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


class MemoryDesign(Design):
    """A dictionary over a NumPy array or CSR matrix.

    Parameters
    ----------
    dictionary : Dictionary
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
        Positive.
    standardize : bool
        Whether atoms see columns of mean 0 and variance 1.
    memory_budget : int, default=2**30
        Bytes that stored candidates may take.
    n_threads : int, default=1
        Threads over blocks of candidates. The result does not depend on it.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        X: Any,
        weights: Array,
        standardize: bool,
        memory_budget: int = 2**30,
        n_threads: int = 1,
    ) -> None:
        self.dictionary = dictionary
        self.X = X
        self.weights = weights
        self.total_weight = float(weights.sum())
        self.memory_budget = memory_budget
        self.n_threads = n_threads
        self.low, self.high = _bounding_box(X)
        mean, variance = weighted_moments(X, weights)
        variance[_is_constant(self.low, self.high)] = 0.0
        if standardize:
            self.shift, self.scale = mean, np.where(variance > 0.0, np.sqrt(variance), 1.0)
        else:
            self.shift, self.scale = np.zeros_like(mean), np.ones_like(mean)
        self.deviation = np.sqrt(variance)
        self.variance = float(np.mean(variance / self.scale**2))
        self.mean_square = float(np.sum((variance + (mean - self.shift) ** 2) / self.scale**2))
        self.fingerprints, self._distinct = np.unique(hashing.fingerprint(X), return_index=True)
        self.n_distinct = len(self.fingerprints)

    def sample(self, n: int, key: int) -> Sample:
        """Draw distinct rows in hash order."""
        order = hashing.keyed_order(self.fingerprints, key, n)
        rows = self.X[self._distinct[order]]
        return Sample(
            rows, self.shift, self.scale, self.low, self.high, self.variance, self.mean_square
        )

    def stack(self, vectors: Sequence[Array]) -> Array:
        """Put m-vectors side by side."""
        return np.stack(vectors, axis=1)

    def candidates(
        self, atoms: Any, *, reuse: bool, store: bool | Literal["auto"]
    ) -> MemoryCandidates:
        """Lay atoms over the rows; keep their values where this pays and fits."""
        n_bytes = 8 * self.X.shape[0] * atoms.shape[0]
        budget = self.memory_budget
        if store is True and n_bytes > budget:
            raise MemoryError(
                f"The dictionary of {self.X.shape[0]} rows x {atoms.shape[0]} candidates takes "
                f"{n_bytes} bytes, and store=True asks to keep it in a budget of {budget} bytes. "
                "Use store='auto' or False (evaluated in blocks), selection='sampled', fewer "
                "n_candidates, or raise sklearn.set_config(working_memory=...) (MiB)."
            )
        is_stored = n_bytes <= budget and reuse if store == "auto" else store
        return MemoryCandidates(self, atoms, is_stored)

    def columns(self, capacity: int, has_constant: bool) -> MemoryColumns:
        """Give an empty set of columns."""
        return MemoryColumns(self, capacity, has_constant)

    def evaluate(self, atoms: Any) -> Array:
        """Give all values of atoms, Fortran-ordered, of shape (n_samples, n_atoms)."""
        values = np.empty((self.X.shape[0], atoms.shape[0]), order="F")

        def fill(rows: slice) -> None:
            values[rows] = self.dictionary.evaluate(self.X[rows], atoms, self.scale)

        self.each(fill, row_blocks(*values.shape))
        return values

    def each(self, work: Callable[[slice], None], blocks: list[slice]) -> None:
        """Do independent pieces of work, in threads where allowed."""
        if self.n_threads == 1 or len(blocks) == 1:
            for block in blocks:
                work(block)
            return
        with ThreadPoolExecutor(self.n_threads) as pool:
            list(pool.map(work, blocks))


class MemoryCandidates(Candidates):
    """Candidates whose values are stored, or evaluated again in blocks at each pass."""

    def __init__(self, design: MemoryDesign, atoms: Any, is_stored: bool) -> None:
        self.atoms = atoms
        self._design = design
        self._values = design.evaluate(atoms) if is_stored else None
        self._divisors: dict[Divisor, Array] = {"none": np.ones(atoms.shape[0])}
        self._made_screen: Screen | None = None
        self._n_passes = 0

    def correlate(
        self, R: Array, divisor: Divisor, allowed: NDArray[np.bool_] | None = None
    ) -> Array:
        """Give the scores of all candidates, of stored ones through a screen where that pays."""
        screen = self._screen() if allowed is not None else None
        if screen is not None and allowed is not None and divisor in self._divisors:
            scores = screen.score(R, self._divisors[divisor], allowed, self._blocks(), self._exact)
            if scores is not None:
                return scores
        dots = self._score_all(R, divisor)
        if screen is not None:
            screen.anchor(R, dots)
        return divide(dots, self._divisors[divisor])

    def _screen(self) -> Screen | None:
        """Give the screen once enough passes came, unless it does not pay."""
        self._n_passes += 1
        values = self._values
        if values is not None and self._n_passes == _PASSES_BEFORE_SCREEN:
            # A float32 copy is the largest screen.
            is_room = 1.5 * values.nbytes <= self._design.memory_budget
            if is_room and values.size >= _SCREEN_ENTRIES:
                self._made_screen = Screen(values)
        if self._made_screen is not None and not self._made_screen.is_worth_it:
            self._made_screen = None
        return self._made_screen

    def _score_all(self, R: Array, divisor: Divisor) -> Array:
        """Score one block of candidates at a time, and measure the atoms the first time."""
        n = self.atoms.shape[0]
        dots = np.empty((n, R.shape[1]))
        is_known = divisor in self._divisors
        divisors = self._divisors[divisor] if is_known else np.empty(n)

        def score(block: slice) -> None:
            dots[block], sizes = self._score_block(block, R, "none" if is_known else divisor)
            if not is_known:
                divisors[block] = sizes

        self._design.each(score, self._blocks())
        self._divisors[divisor] = divisors
        return dots

    def _exact(self, block: slice, R: Array) -> Array:
        return self._score_block(block, R, "none")[0]

    def _blocks(self) -> list[slice]:
        n = self.atoms.shape[0]
        starts = range(0, n, _CANDIDATES_AT_ONCE)
        return [slice(start, min(start + _CANDIDATES_AT_ONCE, n)) for start in starts]

    def _score_block(self, block: slice, R: Array, divisor: Divisor) -> tuple[Array, Array]:
        """Score one block of candidates over all rows, and measure the atoms if asked."""
        design = self._design
        n = block.stop - block.start
        dots, sizes = np.zeros((n, R.shape[1])), np.zeros(n)
        atoms = self.atoms[block]
        for rows in row_blocks(len(R), n):
            if self._values is not None:
                values = self._values[rows, block]
            else:
                values = design.dictionary.evaluate(design.X[rows], atoms, design.scale)
            dots += values.T @ R[rows]
            if divisor == "max":
                np.maximum(sizes, np.abs(values).max(axis=0), out=sizes)
            elif divisor == "norm":
                sizes += design.weights[rows] @ values**2
        return dots, np.sqrt(sizes / design.total_weight) if divisor == "norm" else sizes


class MemoryColumns(Columns):
    """The selected columns, Fortran-ordered, with a Gram matrix kept between calls."""

    def __init__(self, design: MemoryDesign, capacity: int, has_constant: bool) -> None:
        self.has_constant = has_constant
        self.factors = np.ones(int(has_constant))
        self.norms = np.ones(int(has_constant))
        self._design = design
        n_rows = design.X.shape[0]
        # Pages of a Fortran-ordered array that were never written take no memory.
        self._capacity = capacity + int(has_constant)
        self._storage = np.empty((n_rows, min(self._capacity, _COLUMNS_AT_FIRST)), order="F")
        self._storage[:, : int(has_constant)] = 1.0
        self._gram: Array = np.zeros((0, 0))
        self._gram_peak: Array = np.zeros(0)
        self._gram_weights: Array = np.zeros(n_rows)
        self._gram_updates = 0

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.factors)

    @property
    def _A(self) -> Array:  # noqa: N802 - a matrix
        return self._storage[:, : self.n_columns]

    def append(self, atoms: Any) -> None:
        """Evaluate, scale and store columns."""
        values = self._design.evaluate(atoms)
        scaling = self._design.dictionary.scaling
        norms = np.sqrt(self._design.weights @ values**2 / self._design.total_weight)
        if scaling == "max":
            sizes = np.abs(values).max(axis=0)
        elif scaling == "norm":
            sizes = norms
        else:
            sizes = np.ones(values.shape[1])
        factors = 1.0 / np.where(sizes > 0.0, sizes, 1.0)
        first, n_columns = self.n_columns, self.n_columns + len(factors)
        if n_columns > self._storage.shape[1]:
            larger = np.empty((len(values), min(self._capacity, 2 * n_columns)), order="F")
            larger[:, :first] = self._A
            self._storage = larger
        self._storage[:, first:n_columns] = values * factors
        self.factors = np.concatenate([self.factors, factors])
        self.norms = np.concatenate([self.norms, norms * factors])

    def column(self, position: int) -> Array:
        """Give one column."""
        return self._storage[:, position]

    def matvec(self, coef: Array) -> Array:
        """Give A coef."""
        return np.asarray(self._A @ coef)

    def rmatvec(self, vector: Array) -> Array:
        """Give A^T vector."""
        return np.asarray(self._A.T @ vector)

    def gram(self, weights: Array) -> Array:
        """Give A^T diag(weights) A from the last one: changed rows, then new columns."""
        changed = np.flatnonzero(weights != self._gram_weights)
        n_kept = len(self._gram)
        is_mostly_new = n_kept == 0 or 2 * len(changed) > np.count_nonzero(weights)
        if is_mostly_new or self._gram_updates >= _GRAM_UPDATES:
            self._renew_gram(weights)
        elif len(changed):
            rows = self._storage[changed, :n_kept]
            steps = (weights - self._gram_weights)[changed, None]
            self._gram = self._gram + rows.T @ (steps * rows)
            self._gram_updates += 1
            # What is left of a column must not drown in the rounding errors of what went.
            if (np.diag(self._gram) < _GRAM_LOSS * self._gram_peak).any():
                self._renew_gram(weights)
        n_kept = len(self._gram)
        if n_kept < self.n_columns:
            new = self._cross(weights, n_kept)
            self._gram = np.block([[self._gram, new[:n_kept]], [new[:n_kept].T, new[n_kept:]]])
        peak = np.append(self._gram_peak, np.zeros(len(self._gram) - len(self._gram_peak)))
        self._gram_peak = np.maximum(peak, np.diag(self._gram))
        self._gram_weights = weights.copy()
        return self._gram.copy()

    def _renew_gram(self, weights: Array) -> None:
        self._gram, self._gram_peak = self._cross(weights, 0), np.zeros(0)
        self._gram_updates = 0

    def _cross(self, weights: Array, first: int) -> Array:
        """Give A^T diag(weights) A[:, first:] over the rows of non-zero weight."""
        k = self.n_columns
        active = np.flatnonzero(weights)
        if first > 0 and 8 * len(active) > len(weights):
            # For a new column one pass over all rows is cheaper than gathering the active ones.
            return np.asarray(self._A.T @ (weights[:, None] * self._A[:, first:]))
        cross = np.zeros((k, k - first))
        for block in row_blocks(len(active), k):
            rows = self._storage[active[block], :k]
            cross += rows.T @ (weights[active[block], None] * rows[:, first:])
        return cross

    def triangle(self, weights: Array, target: Array) -> Array:
        """Give the triangle by blocks of rows, each reduced together with the last one."""
        k = self.n_columns
        active = np.flatnonzero(weights)
        R = np.zeros((k + 1, k + 1))
        # Each reduction costs (k + 1)^3 beside its rows: it should have more rows than that.
        for block in row_blocks(len(active), k + 1, at_least=4 * (k + 1)):
            rows = active[block]
            values = np.hstack([self._storage[rows, :k], target[rows, None]])
            stacked = np.vstack([R, np.sqrt(weights[rows, None]) * values])
            R = np.asarray(np.linalg.qr(stacked, mode="r"))
        return R

    def rows(self, function: Callable[..., Array], *vectors: Array) -> Array:
        """Map an elementwise function over m-vectors."""
        return function(*vectors)

    def total(self, function: Callable[..., Array], *vectors: Array) -> float:
        """Sum an elementwise function of m-vectors."""
        return float(function(*vectors).sum())

    def least(self, vector: Array) -> float:
        """Give the smallest entry."""
        return float(vector.min())


def weighted_moments(X: Any, weights: Array) -> tuple[Array, Array]:
    """Give the mean and variance of every column; weights are counts."""
    total = weights.sum()
    mean = np.asarray(X.T @ weights, dtype=np.float64).ravel() / total
    if sparse.issparse(X):
        squares = _squared_deviations(X, weights, mean)
    else:
        squares = np.zeros(X.shape[1])
        for rows in row_blocks(*X.shape):
            squares += weights[rows] @ (X[rows] - mean) ** 2
    return mean, squares / total


def _squared_deviations(X: Any, weights: Array, mean: Array) -> Array:
    """Sum the weighted squared deviations of the columns of a sparse matrix."""
    deviations = (X.data - mean[X.indices]) ** 2
    squares = sparse.csr_array((deviations, X.indices, X.indptr), shape=X.shape).T @ weights
    stored = sparse.csr_array((np.ones(X.nnz), X.indices, X.indptr), shape=X.shape).T @ weights
    # The zeros that are not stored; without exact zeros for full columns, rounding of the
    # difference times a large mean would be taken for variance.
    is_full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    unstored = np.where(is_full, 0.0, weights.sum() - stored)
    return np.asarray(squares + unstored * mean**2)


def _is_constant(low: Array, high: Array) -> NDArray[np.bool_]:
    """Whether a column's spread is mere rounding: a unit scale must not blow that up."""
    return high - low <= 8.0 * np.finfo(np.float64).eps * np.maximum(np.abs(low), np.abs(high))


def _bounding_box(X: Any) -> tuple[Array, Array]:
    low, high = X.min(axis=0), X.max(axis=0)
    if sparse.issparse(X):
        low, high = low.toarray(), high.toarray()
    return np.asarray(low, np.float64).ravel(), np.asarray(high, np.float64).ravel()
