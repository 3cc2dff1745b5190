"""What players add to atoms on the way from the rows of a background to one row."""

from __future__ import annotations

import numpy as np
from scipy import special

from fcgboost._kernels import Array, ArrayPointer, Rows, library


def of_trees(
    nodes: Array, depths: Rows, x: Array, background: Array, players: Rows, n_players: int
) -> Array:
    """Return the Shapley values of checked trees, summed over the background.

    They have the shape (n_trees, n_players); every feature belongs to a player.
    """
    size = min(int(depths.max(initial=0)), n_players)
    i, j = np.ogrid[1.0 : size + 1, 1.0 : size + 1]
    shares, owners = special.beta(i, j), np.zeros(n_players, dtype=np.int8)
    phi = np.zeros((len(nodes), n_players))
    rows = *background.shape, background, x, players, n_players
    library().fcg_shapley_trees(*nodes.shape[:2], nodes, *rows, owners, size, shares, phi)
    return phi


def of_products(own: Array, others: Array, points: Array, weights: Array) -> Array:
    """Return the Shapley values of products over players, summed over the background.

    They have the shape (n_players, n_atoms), as have the factors of x, `own`; `others` are those of
    the background. Points and weights are a rule for integrals over [0, 1].
    """
    phi, room = np.zeros_like(own), np.empty((own.shape[0] + 2, own.shape[1]))
    rule = len(points), points, weights
    library().fcg_shapley_products(*others.shape, own, others, *rule, room, phi)
    return phi


def walk(
    moves: Rows,
    first: Rows,
    gaps: Array,
    weights: Array,
    start: Array,
    profile: int | None,
    coef: Array,
) -> Array:
    """Return sums before all moves and after each, of shape (n_walks, n_moves + 1, n_atoms).

    They begin at `start`, which is overwritten. A move p > 0 adds what player p - 1 changes, -p
    takes it back: gaps @ weights over the inputs from first[p - 1] to first[p]. With a profile, one
    of `kernels.h`, return the values of atoms times coefficients of shape (n_outputs, n_atoms)
    instead, of shape (n_walks, n_moves + 1, n_outputs).
    """
    width = weights.shape[1] if profile is None else len(coef)
    values, room = np.empty((len(moves), moves.shape[1] + 1, width)), np.empty(weights.shape[1])
    where = None if profile is None else ArrayPointer.from_param(coef)
    inputs = gaps.shape[1], first, gaps, weights.shape[1], weights, start
    outputs = profile or 0, width, where, room, values
    library().fcg_shapley_walks(*moves.shape, moves, *inputs, *outputs)
    return values
