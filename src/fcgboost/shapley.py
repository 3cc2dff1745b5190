"""Shapley values: how much each column of a row adds to its decision values.

The columns of a coalition take their values from the row, all others from a background row; the
coalition is worth the mean decision value over the background. The Shapley value of a column is
what it adds when it joins, averaged over all orders in which the columns may join.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fcgboost._kernels import shapley, walks
from fcgboost.arrays import Array, Codes, Flags, Matrix, differ, to_numpy
from fcgboost.dictionaries import (
    Dictionary,
    DirectionDictionary,
    GaussDictionary,
    LinearDictionary,
    ReluDictionary,
    SigmoidDictionary,
    StepDictionary,
    TreeDictionary,
)
from fcgboost.dictionaries.nodes import nodes_of
from fcgboost.model import Model, of_columns

Integers = NDArray[np.int64]
# Maps moves, (n_walks, n_moves), to decision values, (n_walks, n_moves + 1, n_outputs). Walks begin
# at the rows of the background in turn; a move p > 0 gives column p - 1 the values of the row that
# is explained, -p takes them back.
_Worth = Callable[[Integers], Array]
# The same for any row and the atoms of one family.
_Walk = Callable[[Array, Integers], Array]
# Maps rows to their Shapley values, of shape (n_rows, n_columns, n_outputs).
_Values = Callable[[Array], Array]

# With at most this many columns, enumerate all coalitions; otherwise sample orders.
_MOST_EXACT = 12
# A round is an order and its reverse for every row of the background. Rounds are drawn in batches
# of about _ORDERS orders until three standard errors are within _TOLERANCE of the row's largest
# value, or _MOST_ORDERS have been drawn.
_ORDERS = 800
_MOST_ORDERS = 100_000
_DEVIATIONS = 3.0
_TOLERANCE = 0.01
#: The largest number of background rows.
MOST_ROWS = 100
# Numbers per block of work, and of the factors of a background that are kept (32 MiB).
_ENTRIES = 1 << 20
_MOST_KNOWN = 1 << 22


@dataclass(frozen=True, eq=False)
class Term:
    """A model, the weight of its decision values, and the background as it sees it.

    Parameters
    ----------
    model : Model
    weight : float
    background : ndarray of shape (n_background, n_inputs)
    sources : ndarray of shape (n_inputs,)
        The column that each input is computed from.
    """

    model: Model
    weight: float
    background: Array
    sources: Codes


class Game:
    """The cooperative game of a sum of models.

    Its rows are composed of a background row and the row explained. Models may see the columns
    through different inputs: those of one follow those of the other.

    Parameters
    ----------
    terms : sequence of Term
        All backgrounds are the same rows.
    n_columns : int
    pairs : sequence of (int, int)
        Columns whose combination is a player of its own, numbered after the columns. Its value is
        that of both columns in equal parts.
    """

    def __init__(
        self, terms: Sequence[Term], n_columns: int, pairs: Sequence[tuple[int, int]] = ()
    ) -> None:
        self._terms = terms
        self._pairs = pairs
        self._n_columns = n_columns + len(pairs)
        self._sources = np.concatenate([term.sources for term in terms])
        self._background = self._within([term.background for term in terms])
        decisions = [term.weight * term.model.decision(term.background) for term in terms]
        #: The mean decision values of the background.
        self.base: Array = np.sum(decisions, axis=0).mean(axis=0)
        self._exact: list[tuple[slice, _Values]] = []
        self._walks: list[tuple[slice, _Walk]] = []
        start = 0
        for term in terms:
            self._add(term, start)
            start += len(term.sources)

    def _add(self, term: Term, start: int) -> None:
        """Add the atoms of a model whose inputs begin at a position."""
        model = term.model
        for group in model.by_family():
            inputs = slice(start + group.inputs.start, start + group.inputs.stop)
            kind = type(group.family)
            atoms = _Atoms(
                group.family,
                rows=group.rows,
                coef=term.weight * model.coef[:, group.places].T,
                scale=model.scale[group.inputs],
                background=np.ascontiguousarray(self._background[:, inputs]),
                columns=self._sources[inputs].astype(np.int64),
                n_columns=self._n_columns,
            )
            if kind in _EXACT:
                self._exact.append((inputs, _EXACT[kind](atoms)))
            else:
                walk = _planes if kind in _PROFILES else _rows
                self._walks.append((inputs, walk(atoms)))

    def _within(self, rows: Sequence[Array]) -> Array:
        """Return the inputs of all models, each within the limits of its own."""
        parts = []
        for term, Z in zip(self._terms, rows, strict=True):
            limits = term.model.bounds
            parts.append(Z if limits is None else limits.apply(Z))
        return np.hstack(parts)

    def values(self, rows: Sequence[Array]) -> tuple[Array, Array]:
        """Return the Shapley values, of shape (n_rows, n_columns, n_outputs), and their errors.

        Rows are given as each model sees them, of shape (n_rows, n_inputs). The error is three
        standard errors of the least certain value of a row; 0 if all are exact.
        """
        X = self._within(rows)
        phi = np.zeros((len(X), self._n_columns, len(self.base)))
        errors = np.zeros(len(X))
        for inputs, values in self._exact:
            phi += values(X[:, inputs])
        if self._walks:
            for i, x in enumerate(X):
                phi[i], errors[i] = self._add_walks(phi[i], x)
        # A pair is a player whose value its columns share.
        of_players = phi.swapaxes(0, 1)
        return of_columns(of_players, self._pairs).swapaxes(0, 1), errors

    def _add_walks(self, phi: Array, x: Array) -> tuple[Array, float]:
        """Add the values of atoms without a formula to those of a row; return also the error."""
        players = np.unique(self._sources[differ(x, self._background)])
        if len(players) == 0:
            return phi, 0.0

        def worth(moves: Integers) -> Array:
            return np.asarray(sum(walk(x[inputs], moves) for inputs, walk in self._walks))

        n_background = len(self._background)
        if len(players) > _MOST_EXACT:
            return _sampled(phi, worth, np.tile(players, (n_background, 1)))
        moves, weights = _coalitions(len(players))
        moves = np.sign(moves) * (players[np.abs(moves) - 1] + 1)
        worths = worth(np.tile(moves, (n_background, 1)))
        phi[players] += weights @ worths.mean(axis=0)
        return phi, 0.0


def _sampled(phi: Array, worth: _Worth, players: Integers) -> tuple[Array, float]:
    """Add Shapley values estimated from random orders to the exact ones; return also the error.

    An order and its reverse cancel pairwise interactions (antithetic sampling).
    """
    rng = np.random.default_rng(0)
    n_rounds = max(2, min(_ORDERS // len(players), _ENTRIES // players.size))
    in_order = np.tile(players, (n_rounds, 1, 1))
    n = 0
    total = 0.0
    squares = 0.0
    error = 1.0
    wanted = 0.0
    while error > wanted and n * len(players) < _MOST_ORDERS:
        orders = rng.permuted(in_order, axis=2)
        both = _added(worth, orders, len(phi))
        both += _added(worth, orders[:, :, ::-1], len(phi))
        n = n + n_rounds
        total = total + both.sum(axis=0)
        squares = squares + (both**2).sum(axis=0)
        variance = max(0.0, np.max(squares - total**2 / n)) / (n - 1)
        mean = phi + total / (2 * n)
        # With few rounds the variance is uncertain; the factor approximates Student's t.
        error = _DEVIATIONS * (1.0 + 4.0 / n) * np.sqrt(variance / n) / 2.0
        wanted = _TOLERANCE * np.abs(mean).max()
    return mean, float(error)


def _added(worth: _Worth, orders: Integers, n_columns: int) -> Array:
    """Return what columns add when they join orders, of shape (n_rounds, n_columns, n_outputs)."""
    n_rounds, n_background, n_players = orders.shape
    worths = worth(orders.reshape(-1, n_players) + 1)
    added = np.diff(worths, axis=1).reshape(orders.size, -1)
    groups = (orders + n_columns * np.arange(n_rounds)[:, None, None]).ravel()
    sums = [np.bincount(groups, output, n_rounds * n_columns) for output in added.T]
    return np.asarray(np.column_stack(sums).reshape(n_rounds, n_columns, -1) / n_background)


@lru_cache(maxsize=1)
def _coalitions(n: int) -> tuple[Integers, Array]:
    """Return moves that visit all coalitions of n columns, and the weights of the coalitions."""
    numbers = np.arange(2**n)
    gray = numbers ^ (numbers >> 1)  # one bit changes from each to the next
    is_in = (gray[:, None] >> np.arange(n)) & 1 > 0
    sizes = is_in.sum(axis=1, keepdims=True).astype(np.float64)
    joined = special.beta(np.maximum(sizes, 1.0), n - sizes + 1.0)
    missed = special.beta(sizes + 1.0, np.maximum(n - sizes, 1.0))
    weights = np.where(is_in, joined, -missed)
    changed = np.argmax(is_in[1:] != is_in[:-1], axis=1)
    signs = np.where(is_in[numbers[1:], changed], 1, -1)
    return signs * (changed + 1), weights.T


@lru_cache(maxsize=8)
def _rule(n_columns: int) -> tuple[Array, Array]:
    """Return a quadrature rule on [0, 1] that is exact for products over n_columns columns.

    Beyond a hundred columns it has fewer points, and its error is of the size of rounding errors:
    the steepest product, t^n, changes within 1 / n of the end, where the points are dense.
    """
    n_exact = -(-n_columns // 2)
    n_enough = 20 + int(4 * n_columns**0.5)
    points, weights = special.roots_legendre(min(n_exact, n_enough))
    return (points + 1.0) / 2.0, weights / 2.0


@dataclass(eq=False)
class _Atoms:
    """The atoms of one family, and the background as they see it."""

    family: Dictionary
    rows: Matrix
    coef: Array
    scale: Array
    background: Array
    columns: Integers
    n_columns: int

    @property
    def parameters(self) -> Array:
        return np.asarray(to_numpy(self.rows), dtype=np.float64)


def _trees(atoms: _Atoms) -> _Values:
    trees = shapley.TreesOverBackground(
        walks.check_trees(nodes_of(atoms.rows), len(atoms.scale)),
        atoms.background,
        atoms.columns,
        atoms.n_columns,
    )
    coef = np.ascontiguousarray(atoms.coef) / len(atoms.background)
    return lambda X: trees.values(np.ascontiguousarray(X), coef)


def _lines(atoms: _Atoms) -> _Values:
    slopes = atoms.parameters[:, :-1].T @ atoms.coef
    mean = atoms.background.mean(axis=0)

    def values(X: Array) -> Array:
        phi = np.zeros((len(X), atoms.n_columns, slopes.shape[1]))
        added = (X - mean)[:, :, None] * slopes
        for j, column in enumerate(atoms.columns):
            phi[:, column] += added[:, j]
        return phi

    return values


def _bells(atoms: _Atoms) -> _Values:
    """Products over columns; columns in which all rows agree are one constant factor."""
    order = np.argsort(atoms.columns, kind="stable")
    columns, numbers = np.unique(atoms.columns[order], return_inverse=True)
    every = np.ones(len(order), bool)
    centers = _padded(atoms.parameters[:, order]).T
    units = _padded(0.5**0.5 / (atoms.parameters[:, -1:] * atoms.scale[order])).T
    coef = _padded(atoms.coef)
    background = atoms.background[:, order]

    def factors(X: Array, is_used: Flags) -> Array:
        """Return the factors of the columns of some inputs: (n_rows, n_used, n_atoms)."""
        gaps = X[:, is_used, None] - centers[is_used]
        gaps *= units[is_used]
        np.square(gaps, out=gaps)
        _, first = np.unique(numbers[is_used], return_index=True)
        return np.exp(-np.add.reduceat(gaps, first, axis=1))

    n_entries = background.size * centers.shape[1]
    known = factors(background, every) if n_entries <= _MOST_KNOWN else None

    def values_of_row(x: Array) -> Array:
        phi = np.zeros((atoms.n_columns, atoms.coef.shape[1]))
        players = np.unique(numbers[differ(x, background)])
        if len(players) == 0:
            return phi
        is_used = np.isin(numbers, players)
        (of_x,) = factors(x[None, :], every)
        same = np.delete(of_x, players, axis=0).prod(axis=0)
        size = max(1, _ENTRIES // (is_used.sum() * centers.shape[1]))
        if known is not None:
            size = len(background)
        for start in range(0, len(background), size):
            block = slice(start, start + size)
            if known is None:
                others = factors(background[block], is_used)
            else:
                others = known if is_used.all() else np.ascontiguousarray(known[:, players])
            of_products = shapley.of_products(of_x[players], others, *_rule(len(players)))
            phi[columns[players]] += (same * of_products) @ coef
        return phi / len(background)

    return lambda X: np.array(list(map(values_of_row, X[:, order])))


def _planes(atoms: _Atoms) -> _Walk:
    """Functions of a sum over columns."""
    order = np.argsort(atoms.columns, kind="stable")
    # Where the inputs of each column begin.
    first = np.searchsorted(atoms.columns[order], np.arange(atoms.n_columns + 1))
    parameters = _padded(atoms.parameters)
    weights = np.ascontiguousarray(parameters[:, order].T)
    starts = atoms.background @ parameters[:, :-1].T + parameters[:, -1]
    background = np.ascontiguousarray(atoms.background[:, order])
    coef = np.ascontiguousarray(_padded(atoms.coef).T)

    def walk(x: Array, moves: Integers) -> Array:
        n_rounds = len(moves) // len(background)
        return shapley.walk(
            moves,
            first,
            np.tile(x[order] - background, (n_rounds, 1)),
            weights,
            np.tile(starts, (n_rounds, 1)),
            _PROFILES[type(atoms.family)],
            coef,
        )

    return walk


def _padded(rows: Array) -> Array:
    """Append zeros to a multiple of LANES rows."""
    return np.pad(rows, [(0, -len(rows) % shapley.LANES), (0, 0)])


def _rows(atoms: _Atoms) -> _Walk:
    """Other families: composed rows are evaluated."""

    def walk(x: Array, moves: Integers) -> Array:
        n_steps = moves.shape[1] + 1
        size = max(1, _ENTRIES // (n_steps * atoms.n_columns))
        values = []
        for start in range(0, len(moves), size):
            block = moves[start : start + size]
            # Every move changes whether its column has joined.
            changes = np.zeros((len(block), n_steps, atoms.n_columns), dtype=bool)
            moved = np.abs(block)[:, :, None] - 1
            np.put_along_axis(changes[:, 1:], moved, True, axis=2)
            has_joined = np.logical_xor.accumulate(changes, axis=1)
            numbers = np.arange(start, start + len(block)) % len(atoms.background)
            background = atoms.background[numbers][:, None, :]
            rows = np.where(has_joined[:, :, atoms.columns], x, background)
            rows = rows.reshape(-1, len(x))
            columns = atoms.family.evaluate(rows, atoms.rows, atoms.scale)
            decisions = to_numpy(columns) @ atoms.coef
            values.append(decisions.reshape(len(block), n_steps, -1))
        return np.concatenate(values)

    return walk


# Families derived from these may have other values, so only the classes themselves are known.
_EXACT: dict[type[Dictionary], Callable[[_Atoms], _Values]] = {
    TreeDictionary: _trees,
    GaussDictionary: _bells,
    LinearDictionary: _lines,
    DirectionDictionary: _lines,
}
# The numbers of profiles in `kernels.h`.
_PROFILES = {ReluDictionary: 0, StepDictionary: 1, SigmoidDictionary: 2}
