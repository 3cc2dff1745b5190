"""Sums of the atoms of models, laid out for the compiled library.

A sum has the same bits on every machine, for any number of threads, and for a row by itself or
among others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcgboost._kernels import walks
from fcgboost._kernels.header import CONSTANTS
from fcgboost._kernels.walks import PART, Sum
from fcgboost.arrays import Array
from fcgboost.clipping import Limits
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    ReluDictionary,
    SigmoidDictionary,
    StepDictionary,
    TreeDictionary,
)
from fcgboost.dictionaries.nodes import FIELDS, nodes_of
from fcgboost.dictionaries.union import FamilyAtoms

_BELL = CONSTANTS["FCG_BELL"]
_TREE = CONSTANTS["FCG_TREE"]
_LANES = CONSTANTS["FCG_LANES"]
# Families derived from these may have other values, so only the classes themselves are known.
_PROFILES: dict[type[Dictionary], int] = {
    ReluDictionary: CONSTANTS["FCG_RAMP"],
    StepDictionary: CONSTANTS["FCG_STEP"],
    SigmoidDictionary: CONSTANTS["FCG_SIGMOID"],
    GaussDictionary: _BELL,
    TreeDictionary: _TREE,
}


@dataclass(frozen=True, eq=False)
class Summand:
    """What a model adds to a sum.

    Attributes
    ----------
    families : sequence of FamilyAtoms
    coef : ndarray of shape (n_outputs, n_atoms)
    intercept : ndarray of shape (n_outputs,)
    scale : ndarray of shape (n_features,)
    limits : Limits or None
        What its inputs are clipped to.
    fills : ndarray of shape (n_features,) or None
        What stands for missing inputs.
    """

    families: Sequence[FamilyAtoms]
    coef: Array
    intercept: Array
    scale: Array
    limits: Limits | None
    fills: Array | None = None

    @property
    def is_compiled(self) -> bool:
        """Whether the library knows the values of all its atoms."""
        return all(
            type(atoms.family) in _PROFILES and isinstance(atoms.rows, np.ndarray)
            for atoms in self.families
        )


def sum_of(summands: Sequence[Summand]) -> Sum | None:
    """Return the sum of summands that see the same rows; None unless the library knows them all."""
    if not all(summand.is_compiled for summand in summands):
        return None
    layout = _Layout()
    for summand in summands:
        layout.add(summand)
    first = summands[0]
    intercept = np.sum([summand.intercept for summand in summands], axis=0)
    laid_out = Sum(
        n_features=len(first.scale),
        n_outputs=len(first.intercept),
        n_parts=len(layout.parts),
    )
    parts = np.array(layout.parts, PART)
    for name, array in {
        "parts": parts,
        "numbers": layout.numbers.whole,
        "intercept": np.ascontiguousarray(intercept),
        "nodes": layout.nodes.whole,
        "branches": layout.branches.whole,
    }.items():
        laid_out.hold(name, array, len(array))
    return laid_out


class _Chain:
    """Arrays one after the other."""

    def __init__(self, empty: NDArray[np.generic]) -> None:
        self._arrays = [empty]
        self.n_entries = 0

    def append(self, array: NDArray[np.generic]) -> int:
        """Append an array; return the place of its first entry."""
        self._arrays.append(array)
        self.n_entries += len(array)
        return self.n_entries - len(array)

    @property
    def whole(self) -> NDArray[np.generic]:
        return np.concatenate(self._arrays)


class _Layout:
    """The arrays of a sum, to which summands are added."""

    def __init__(self) -> None:
        self.parts: list[tuple[int, ...]] = []
        self.numbers = _Chain(np.empty(0))
        self.nodes = _Chain(np.empty((0, FIELDS)))
        self.branches = _Chain(np.empty(0, walks.BRANCH))

    def add(self, summand: Summand) -> None:
        limits: dict[tuple[int, int], int] = {}
        for atoms in summand.families:
            inputs = atoms.inputs
            ends = (inputs.start, inputs.stop)
            if ends not in limits:
                limits[ends] = self._append_limits(summand, inputs)
            profile = _PROFILES[type(atoms.family)]
            n_inputs = inputs.stop - inputs.start
            n_nodes = 0
            if profile == _TREE:
                trees = walks.check_trees(nodes_of(atoms.rows), n_inputs)
                n_nodes = trees.branches.shape[1]
                place = self.nodes.append(trees.nodes.reshape(-1, FIELDS))
                self.branches.append(trees.branches.ravel())
            else:
                rows = atoms.rows
                if profile == _BELL:
                    rows = _bells(rows, summand.scale[inputs])
                place = self.numbers.append(_in_lanes(rows))
            coef = summand.coef[:, atoms.places]
            part = (
                profile,
                len(atoms.rows),
                inputs.start,
                n_inputs,
                limits[ends],
                place,
                n_nodes,
                self.numbers.append(np.concatenate([_in_lanes(c[:, None]) for c in coef])),
            )
            self.parts.append(part)

    def _append_limits(self, summand: Summand, inputs: slice) -> int:
        """Append what keeps inputs within limits; return its place, or -1."""
        if summand.limits is None and summand.fills is None:
            return -1
        n_features = len(summand.scale)
        fills, low, high = np.outer([np.nan, -np.inf, np.inf], np.ones(n_features))
        if summand.fills is not None:
            fills = summand.fills
        if summand.limits is not None:
            low = summand.limits.low
            high = summand.limits.high
        return self.numbers.append(np.concatenate([fills[inputs], low[inputs], high[inputs]]))


def _bells(rows: Array, scale: Array) -> Array:
    """Return rows (centre and factor of each input in turn)."""
    units = 0.5**0.5 / (rows[:, -1:] * scale)
    return np.stack([rows[:, :-1], units], axis=2).reshape(len(rows), -1)


def _in_lanes(rows: Array) -> Array:
    """Return the numbers of rows in groups of LANES rows, column by column, padded with zeros."""
    n_groups = -(-len(rows) // _LANES)
    padded = np.zeros((n_groups * _LANES, rows.shape[1]))
    padded[: len(rows)] = rows
    return padded.reshape(n_groups, _LANES, -1).transpose(0, 2, 1).ravel()
