"""What players add to atoms on the way from the rows of a background to one row."""

from __future__ import annotations

import numpy as np
from scipy import special

from fcgboost._kernels import Array, Rows, check_sizes, checked, library
from fcgboost._kernels.header import CONSTANTS
from fcgboost._kernels.walks import Trees

LANES = CONSTANTS["FCG_LANES"]


class TreesOverBackground:
    """Trees, and which rows of a background each of their nodes sends left.

    Parameters
    ----------
    trees : Trees
    background : ndarray of shape (n_background, n_features)
    players : ndarray of shape (n_features,)
        The player of each feature.
    n_players : int
    """

    def __init__(self, trees: Trees, background: Array, players: Rows, n_players: int) -> None:
        self._trees = trees
        self._n_background = len(background)
        self._players = players
        self._n_players = n_players
        self._depth = int(trees.depths.max(initial=0))
        self._size = min(self._depth, n_players)
        i, j = np.ogrid[1.0 : self._size + 1, 1.0 : self._size + 1]
        self._shares = special.beta(i, j)
        n_groups = -(-len(background) // CONSTANTS["FCG_GROUP"])
        self._lefts = np.empty((n_groups, *trees.branches.shape), np.uint64)
        library().fcg_go_left(
            *trees.branches.shape,
            trees.nodes,
            trees.branches,
            *background.shape,
            background,
            self._lefts,
        )

    def values(self, X: Array, coef: Array) -> Array:
        """Return the Shapley values of rows, summed over the background.

        They have the shape (n_rows, n_players, n_outputs); coefficients have (n_trees, n_outputs).
        """
        n_outputs = coef.shape[1]
        phi = np.zeros((len(X), self._n_players, n_outputs))
        checked(
            library().fcg_shapley_trees(
                *self._trees.branches.shape,
                self._trees.nodes,
                self._depth,
                self._n_background,
                self._lefts,
                *X.shape,
                X,
                self._players,
                self._n_players,
                self._size,
                self._shares,
                n_outputs,
                coef,
                phi,
            )
        )
        return phi


def of_products(factors: Array, others: Array, points: Array, weights: Array) -> Array:
    """Return the Shapley values of products over players, summed over the background.

    They have the shape (n_players, n_atoms), as have the `factors` of x; `others` are those of
    the background. Points and weights are a rule for integrals over [0, 1].
    """
    phi = np.zeros_like(factors)
    room = np.empty((factors.shape[0] + 2, factors.shape[1]))
    library().fcg_shapley_products(
        *others.shape,
        factors,
        others,
        len(points),
        points,
        weights,
        room,
        phi,
    )
    return phi


def walk(
    moves: Rows,
    first: Rows,
    gaps: Array,
    weights: Array,
    start: Array,
    profile: int,
    coef: Array,
) -> Array:
    """Return decision values before all moves and after each: (n_walks, n_moves + 1, n_outputs).

    Walks begin at the sums `start`, which are overwritten. A move p > 0 adds what player p - 1
    changes, -p takes it back: gaps @ weights over the inputs from first[p - 1] to first[p]. A
    profile, one of `kernels.h`, turns sums into values of atoms; coefficients have the shape
    (n_outputs, n_atoms). Atoms are padded to a multiple of LANES, with coefficients 0.
    """
    check_sizes(
        first=(first, 1 + np.abs(moves).max(initial=0)),
        gaps=(gaps, len(gaps) * first.max(initial=0)),
    )
    values = np.empty((len(moves), moves.shape[1] + 1, len(coef)))
    library().fcg_shapley_walks(
        *moves.shape,
        moves,
        gaps.shape[1],
        first,
        gaps,
        weights.shape[1] // LANES,
        weights,
        start,
        profile,
        len(coef),
        coef,
        np.empty((-(-len(moves) // 64), weights.shape[1])),  # for every 64 walks
        values,
    )
    return values
