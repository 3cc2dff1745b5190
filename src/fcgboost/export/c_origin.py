"""A point amid the data, from which a model in single precision measures its inputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost.dictionaries import Array
from fcgboost.export.c_text import PRECISIONS, Precision
from fcgboost.export.formula import Block, Formula

# Inputs this many units from zero lose a digit of single precision; an origin has to gain more.
_FAR = 8.0
_GAIN = 4.0
# Directions that the planes of the atoms hardly see say nothing about where the data lie.
_SEEN = 0.01


def shift_block(block: Block, origin: Array | None) -> Block:
    """Return the atoms as functions of x - origin; trees stay as they are."""
    if origin is None or block.kind == "tree":
        return block
    if block.kind == "gauss":
        return replace(block, rows=block.rows - origin[block.inputs])
    return replace(block, last=block.last + block.rows @ origin[block.inputs])


def origin_of(formula: Formula, precision: Precision) -> Array | None:
    """Return a point amid the data, where differences from it keep digits of single precision.

    Single precision holds the point itself, so these differences are exact, and what remains of
    centres and offsets is small. In double precision all is as in Python, where inputs are not
    shifted either.
    """
    blocks = [block for block in formula.blocks if block.kind != "tree"]
    is_sparse = any(sparse.issparse(block.rows) for block in blocks)
    if precision is PRECISIONS["double"] or is_sparse or not blocks:
        return None
    bells = [block for block in blocks if block.kind == "gauss"]
    if formula.limits is not None:
        low, high = formula.limits.low, formula.limits.high
        origin = np.where(np.sign(low) == np.sign(high), low / 2.0 + high / 2.0, 0.0)
    elif bells:
        origin = _origin_of_centers(formula, bells[0], has_planes=len(blocks) > 1)
    else:
        origin = _origin_of_planes(formula, blocks)
    origin = origin.astype(np.float32).astype(np.float64)
    return origin if np.isfinite(origin).all() and origin.any() else None


def from_usual(centers: Any, precision: Precision) -> tuple[Any, Array]:
    """Return how centres differ from their medians in columns far from zero, and these, or 0."""
    if sparse.issparse(centers):
        return centers, np.zeros(centers.shape[1])
    median = np.median(centers, axis=0)
    is_far = np.abs(median) > _GAIN * np.median(np.abs(centers - median), axis=0)
    usual = precision.round(np.where(is_far, median, 0.0)).astype(np.float64)
    return centers - usual, usual


def _origin_of_centers(formula: Formula, bells: Block, *, has_planes: bool) -> Array:
    """Return the mean of the centres in columns far from zero, which is 0 in all others.

    Far is many times the spread of the centres and the smallest width, since the narrowest atom
    loses most; a plane loses as much as an atom of one unit's width.
    """
    mean = bells.rows.mean(axis=0)
    spread = np.abs(bells.rows - mean).max(axis=0)
    scale, origin = formula.scale[bells.inputs], np.zeros(formula.n_features)
    narrowest = bells.last.min() * scale
    if has_planes:
        narrowest = np.minimum(narrowest, scale)
    is_far = np.abs(mean) > _GAIN * np.maximum(spread, narrowest)
    origin[bells.inputs] = np.where(is_far, mean, 0.0)
    return origin


def _origin_of_planes(formula: Formula, blocks: list[Block]) -> Array:
    """Return the point nearest to all planes <w, x> + b = 0, or zero if they are near that.

    The planes of sigmoid and rectified linear atoms go through training inputs, those of a
    polynomial through their mean.
    """
    # Weights of inputs that a block does not see are 0.
    around = [(one.inputs.start, formula.n_features - one.inputs.stop) for one in blocks]
    rows = [np.pad(one.rows, [(0, 0), own]) for one, own in zip(blocks, around, strict=True)]
    weights = np.vstack(rows) * formula.scale
    offsets = np.concatenate([block.last for block in blocks])
    lengths: Any = np.linalg.norm(weights, axis=1)
    is_plane = lengths > 0.0
    normals = weights[is_plane] / lengths[is_plane, None]
    distances = offsets[is_plane] / lengths[is_plane]
    if np.abs(distances).max(initial=0.0) < _FAR:
        return np.zeros(formula.n_features)
    point, *_ = np.linalg.lstsq(normals, -distances, rcond=_SEEN)
    left = np.abs(distances + normals @ point).max()
    is_better = _GAIN * left < np.abs(distances).max()
    return np.asarray(point * formula.scale if is_better else 0.0 * formula.scale)
