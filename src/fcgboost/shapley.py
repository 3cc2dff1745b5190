"""Shapley values: what every column of a row adds to its decision values.

A coalition of columns has the values of the row, the other columns those of a row of the
background; its worth is the mean decision value over the background. The Shapley value of a column
is what it adds to a coalition, on average over all orders in which columns may join.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fcgboost import _kernels
from fcgboost._kernels import shapley
from fcgboost.arrays import Array, host
from fcgboost.dictionaries import (
    GaussDictionary,
    LinearProfile,
    PlaneDictionary,
    ReluDictionary,
    SigmoidDictionary,
    StepDictionary,
    TreeDictionary,
)
from fcgboost.dictionaries.growth import nodes_of
from fcgboost.model import Model, by_family

Places = NDArray[np.int64]
# A walk maps moves to decision values: (n_walks, n_moves) to (n_walks, n_moves + 1, n_outputs). It
# begins at the rows of the background in turn; a move p > 0 gives column p - 1 the values of the
# row that is explained, -p takes them back.
Walk = Callable[[Places], Array]

# Up to so many columns all coalitions are looked at; of more, random orders of the columns.
_MOST_EXACT = 12
# A round is an order and its reverse for every row of the background. There are some at a time, of
# so many orders in all, until three standard errors are at most this share of the row's largest
# value, or so many orders have been looked at.
_ROUNDS, _ORDERS, _MOST_ORDERS = 8, 800, 100_000
_DEVIATIONS, _TOLERANCE = 3.0, 0.01
#: The most rows of a background.
MOST_ROWS = 100
# Numbers that stay in the cache, and that memory has room for.
_CACHED, _ENTRIES = 1 << 17, 1 << 20


class Game:
    """The decision values of a model between the rows of a background and another row.

    Parameters
    ----------
    model : Model
    background : ndarray of shape (n_background, n_inputs)
    sources : ndarray of shape (n_inputs,)
        The column that every input is made of.
    n_columns : int
    """

    def __init__(self, model: Model, background: Array, sources: Any, n_columns: int) -> None:
        self._limits, self._n_columns = model.bounds, n_columns
        #: The mean decision values of the background.
        self.base: Array = model.decision(background).mean(axis=0)
        background = self._within(background)
        self._parts: list[tuple[slice, _Exact | _Walks]] = []
        for family, places, rows, inputs in by_family(model.dictionary, model.atoms, len(sources)):
            part = next((kind for own, kind in _KINDS.items() if _is_plain(family, own)), _Rows)
            columns = sources[inputs].astype(np.int64)
            seen = np.ascontiguousarray(background[:, inputs]), columns, n_columns
            coef = np.ascontiguousarray(model.coef[:, places].T)
            self._parts.append((inputs, part(family, rows, coef, model.scale[inputs], *seen)))

    def _within(self, rows: Array) -> Array:
        return rows if self._limits is None else np.asarray(self._limits.apply(rows))

    def values(self, row: Array) -> tuple[Array, float]:
        """Return the Shapley values, of shape (n_columns, n_outputs), and their error.

        It is three standard errors of the one that is known worst; 0 where all are exact.
        """
        (x,) = self._within(row[None, :])
        phi, walks = np.zeros((self._n_columns, len(self.base))), list[tuple[_Walks, Array]]()
        for inputs, part in self._parts:
            own = np.ascontiguousarray(x[inputs])
            if isinstance(part, _Walks):
                walks.append((part, own))
            else:
                phi += part.values(own)
        columns = [part.columns[part.differs(own)] for part, own in walks]
        players = np.unique(np.concatenate(columns)) if columns else np.zeros(0, dtype=np.int64)

        def worth(moves: Places) -> Array:
            return np.asarray(sum(part.walk(own, moves) for part, own in walks))

        if len(players) == 0:
            return phi, 0.0
        n_background = len(walks[0][0].background)
        if len(players) <= _MOST_EXACT:
            moves, weights = _coalitions(len(players))
            moves = np.sign(moves) * (players[np.abs(moves) - 1] + 1)
            moves = np.broadcast_to(moves, (n_background, len(moves)))
            phi[players] += weights @ worth(moves).mean(axis=0)
            return phi, 0.0
        return _sampled(phi, worth, np.tile(players, (n_background, 1)))


def _sampled(phi: Array, worth: Walk, players: Places) -> tuple[Array, float]:
    """Add Shapley values over random orders to those that are known, and return their error.

    What a column adds with one other column there, or without it, is the same in an order and its
    reverse together: both are far less random than two orders.
    """
    at_once, rng = max(_ROUNDS, _ORDERS // len(players)), np.random.default_rng(0)
    at_once = max(2, min(at_once, _ENTRIES // players.size))
    some, n, total, squares = np.tile(players, (at_once, 1, 1)), 0, 0.0, 0.0
    error, wanted = 1.0, 0.0
    while error > wanted and n * len(players) < _MOST_ORDERS:
        orders = rng.permuted(some, axis=2)
        both = _added(worth, orders, len(phi)) + _added(worth, orders[:, :, ::-1], len(phi))
        n, total, squares = n + at_once, total + both.sum(axis=0), squares + (both**2).sum(axis=0)
        variance = max(0.0, np.max(squares - total**2 / n)) / (n - 1)
        found = phi + total / (2 * n)
        # Of few rounds the variance is not known well: about what Student's distribution adds.
        error = _DEVIATIONS * (1.0 + 4.0 / n) * np.sqrt(variance / n) / 2.0
        wanted = _TOLERANCE * np.abs(found).max()
    return found, float(error)


def _added(worth: Walk, orders: Places, n_columns: int) -> Array:
    """Return what columns add when they join orders, of shape (n_rounds, n_columns, n_outputs)."""
    n_rounds, n_background, n_players = orders.shape
    added = np.diff(worth(orders.reshape(-1, n_players) + 1), axis=1).reshape(orders.size, -1)
    places = (orders + n_columns * np.arange(n_rounds)[:, None, None]).ravel()
    sums = [np.bincount(places, own, n_rounds * n_columns) for own in added.T]
    return np.asarray(np.column_stack(sums).reshape(n_rounds, n_columns, -1) / n_background)


@lru_cache(maxsize=1)
def _coalitions(n: int) -> tuple[Places, Array]:
    """Return moves through all coalitions of n columns, and the weights of these in the values."""
    numbers = np.arange(2**n)
    gray = numbers ^ (numbers >> 1)  # one bit changes from each to the next
    is_in = (gray[:, None] >> np.arange(n)) & 1 > 0
    sizes = is_in.sum(axis=1, keepdims=True).astype(np.float64)
    joined = special.beta(np.maximum(sizes, 1.0), n - sizes + 1.0)
    missed = special.beta(sizes + 1.0, np.maximum(n - sizes, 1.0))
    changed = np.argmax(is_in[1:] != is_in[:-1], axis=1)
    signs = np.where(is_in[np.arange(1, 2**n), changed], 1, -1)
    return signs * (changed + 1), np.where(is_in, joined, -missed).T


@lru_cache(maxsize=8)
def _rule(n_columns: int) -> tuple[Array, Array]:
    """Return a rule for integrals over [0, 1] that is exact for products of so many columns.

    Of more than a hundred there are fewer points than that takes, and the error is one of rounding:
    the steepest product is t^n, which changes within 1 / n of the end, where points lie densely.
    """
    points, weights = special.roots_legendre(min(-(-n_columns // 2), 20 + int(4 * n_columns**0.5)))
    return (points + 1.0) / 2.0, weights / 2.0


@dataclass(eq=False)
class _Part:
    """The atoms of one family, and the background as they see it."""

    family: Any
    rows: Any
    coef: Array
    scale: Array
    background: Array
    columns: Places
    n_columns: int

    def __post_init__(self) -> None:
        """Lay out what no row changes."""

    def differs(self, x: Array) -> NDArray[np.bool_]:
        """Say which inputs differ somewhere in the background."""
        X = self.background
        return np.asarray(((x != X) & ~(np.isnan(X) & np.isnan(x))).any(axis=0))

    def by_column(self) -> tuple[Places, Places]:
        """Return the inputs column by column, and where those of each column begin."""
        order = np.argsort(self.columns, kind="stable")
        return order, np.searchsorted(self.columns[order], np.arange(self.n_columns + 1))


class _Exact(_Part, ABC):
    """Atoms whose Shapley values are known."""

    @abstractmethod
    def values(self, x: Array) -> Array:
        """Return the Shapley values of a row, of shape (n_columns, n_outputs)."""


class _Trees(_Exact):
    def __post_init__(self) -> None:
        self._nodes = nodes_of(self.rows)
        self._depths = _kernels.check_trees(self._nodes, len(self.scale))

    def values(self, x: Array) -> Array:
        columns = x, self.background, self.columns, self.n_columns
        found = shapley.of_trees(self._nodes, self._depths, *columns)
        return found.T @ self.coef / len(self.background)


class _Lines(_Exact):
    def values(self, x: Array) -> Array:
        slopes = host(self.rows)[:, :-1].T @ self.coef
        added = (x - self.background.mean(axis=0))[:, None] * slopes
        return np.column_stack([np.bincount(self.columns, a, self.n_columns) for a in added.T])


class _Bells(_Exact):
    """Products over columns; where all rows agree, of one factor more."""

    def __post_init__(self) -> None:
        atoms = np.asarray(host(self.rows), dtype=np.float64)
        self._order, _ = self.by_column()
        self._centers = atoms[:, self._order].T
        self._units = (0.5**0.5 / (atoms[:, -1:] * self.scale[self._order])).T

    def values(self, x: Array) -> Array:
        differs, phi = self.differs(x)[self._order], np.zeros((self.n_columns, self.coef.shape[1]))
        columns = self.columns[self._order][differs]
        if len(columns) == 0:
            return phi
        players, first = np.unique(columns, return_index=True)
        same = np.exp(-self._squares(x[None, :], ~differs).sum(axis=1)[0])
        (own,) = self._factors(x[None, :], differs, first)
        size = max(1, _ENTRIES // (len(columns) * own.shape[1]))
        for start in range(0, len(self.background), size):
            others = self._factors(self.background[start : start + size], differs, first)
            found = shapley.of_products(own, others, *_rule(len(players)))
            phi[players] += (same * found) @ self.coef
        return phi / len(self.background)

    def _squares(self, X: Array, some: NDArray[np.bool_]) -> Array:
        gaps = X[:, self._order[some], None] - self._centers[some]
        gaps *= self._units[some]
        return np.square(gaps, out=gaps)

    def _factors(self, X: Array, some: NDArray[np.bool_], first: Places) -> Array:
        return np.exp(-np.add.reduceat(self._squares(X, some), first, axis=1))


class _Walks(_Part, ABC):
    """Atoms of which nothing more is known than their values."""

    @abstractmethod
    def walk(self, x: Array, moves: Places) -> Array:
        """Return decision values along walks to a row."""


class _Planes(_Walks):
    """Functions of sums, to which every column adds."""

    def __post_init__(self) -> None:
        atoms = np.asarray(host(self.rows), dtype=np.float64)
        self._order, self._first = self.by_column()
        self._weights = np.ascontiguousarray(atoms[:, self._order].T)
        self._start = self.background @ atoms[:, :-1].T + atoms[:, -1]
        self._rows_of_coef = np.ascontiguousarray(self.coef.T)
        self._ordered = np.ascontiguousarray(self.background[:, self._order])

    def walk(self, x: Array, moves: Places) -> Array:
        rows = np.arange(len(moves)) % len(self.background)
        # Compiled walks apply a profile at once, in about half the time.
        profile = _PROFILES.get(type(self.family))
        width = len(self.coef) if profile is None else self.coef.shape[1]
        size, values = max(1, _CACHED // ((1 + moves.shape[1]) * width)), []
        for start in range(0, len(moves), size):
            own = rows[start : start + size]
            walks = np.ascontiguousarray(moves[start : start + size]), self._first
            inputs = x[self._order] - self._ordered[own], self._weights, self._start[own]
            found = shapley.walk(*walks, *inputs, profile, self._rows_of_coef)
            values.append(self.family.profile(found) @ self.coef if profile is None else found)
        return np.concatenate(values)


class _Rows(_Walks):
    """A family of the user's: rows are put together and evaluated."""

    def walk(self, x: Array, moves: Places) -> Array:
        values = []
        for own, other in zip(moves, cycle(self.background), strict=False):
            joins = np.zeros((len(own) + 1, self.n_columns), dtype=bool)
            joins[np.arange(1, len(joins)), np.abs(own) - 1] = True
            is_in = np.logical_xor.accumulate(joins, axis=0)[:, self.columns]
            rows = np.where(is_in, x, other)
            values.append(host(self.family.evaluate(rows, self.rows, self.scale)) @ self.coef)
        return np.array(values)


_KINDS: dict[type, type[_Exact | _Walks]] = {
    TreeDictionary: _Trees,
    GaussDictionary: _Bells,
    LinearProfile: _Lines,
    PlaneDictionary: _Planes,
}
# The numbers of profiles in `kernels.h`.
_PROFILES = {ReluDictionary: 0, StepDictionary: 1, SigmoidDictionary: 2}


def _is_plain(family: Any, own: type) -> bool:
    """Whether atoms have the values of a class, and not those of a class derived from it."""
    names = ["evaluate", "prepared"] + ["profile"] * (own is LinearProfile)
    return isinstance(family, own) and all(
        getattr(type(family), name) is getattr(own, name) for name in names
    )
