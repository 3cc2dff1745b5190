"""What players add to atoms on the way from the rows of a background to one row."""

from __future__ import annotations

import numpy as np
from scipy import special

from fcgboost._kernels import Array, Rows, check_sizes, library


def of_trees(
    nodes: Array,
    depths: Rows,
    x: Array,
    background: Array,
    players: Rows,
    n_players: int,
) -> Array:
    """Return the Shapley values of checked trees, summed over the background.

    They have the shape (n_trees, n_players); every feature belongs to a player.
    """
    size = min(int(depths.max(initial=0)), n_players)
    i, j = np.ogrid[1.0 : size + 1, 1.0 : size + 1]
    shares = special.beta(i, j)
    owners = np.zeros(n_players, dtype=np.int8)
    phi = np.zeros((len(nodes), n_players))
    library().fcg_shapley_trees(
        *nodes.shape[:2],
        nodes,
        *background.shape,
        background,
        x,
        players,
        n_players,
        owners,
        size,
        shares,
        phi,
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
    (n_outputs, n_atoms).
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
        weights.shape[1],
        weights,
        start,
        profile,
        len(coef),
        coef,
        np.empty(weights.shape[1]),
        values,
    )
    return values
