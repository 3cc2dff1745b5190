"""What one level of a tree in growth is: rows in open nodes, and the splits of these nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fcgboost.dictionaries.base import Array
from fcgboost.dictionaries.trees.binning import N_BINS, Bins
from fcgboost.dictionaries.trees.nodes import Integers

Flags = NDArray[np.uint8]
Indices = NDArray[np.int32]

#: A split must raise the sum of squares by more than rounding does.
FLOOR = 1.0 + 2.0**-40


@dataclass(frozen=True)
class Rules:
    """What a tree may look like.

    Attributes
    ----------
    depth : int
    min_leaf, smoothing, peak : float
    is_oblivious : bool
    """

    depth: int
    min_leaf: float
    smoothing: float
    peak: float
    is_oblivious: bool


@dataclass(frozen=True)
class Groups:
    """The rows of the open nodes, those of one node side by side.

    Attributes
    ----------
    order : ndarray of int32, shape (n_members,)
        Which rows.
    starts : ndarray of int64, shape (n_nodes + 1,)
    pull, weight : ndarray of shape (n_rows,)
        Residuals and weights of all rows, multiples of numbers so large that all sums are exact.
    """

    order: Indices
    starts: Integers
    pull: Array
    weight: Array

    def __len__(self) -> int:
        return len(self.starts) - 1


class Splits:
    """The best split of every open node that was found so far.

    Parameters
    ----------
    totals : ndarray of shape (n_nodes, 2)
        Sums of residuals and weights.
    smoothing : float

    Attributes
    ----------
    parents : ndarray of float64, shape (n_nodes,)
        S^2 / (n + smoothing) of the nodes: what a leaf explains of the squared residual, nearly.
    score : ndarray of float64, shape (n_nodes,)
        The sum of this over both sides; before there is a split, what it must be more than.
    feature, place : ndarray of int64, shape (n_nodes,)
        The feature, -1 if there is no split, and the last bin that goes left.
    left : ndarray of float64, shape (n_nodes, 2)
        Sums of the left side.
    is_missing_left : ndarray of uint8, shape (n_nodes,)
    table : ndarray of uint8, shape (n_nodes, 256)
        Whether a bin goes left.
    """

    def __init__(self, totals: Array, smoothing: float) -> None:
        n_nodes = len(totals)
        self.totals = totals
        self.parents = totals[:, 0] * totals[:, 0] / (totals[:, 1] + smoothing)
        self.score = self.parents * FLOOR
        self.feature, self.place = np.full(n_nodes, -1), np.zeros(n_nodes, np.int64)
        self.left = np.zeros((n_nodes, 2))
        self.is_missing_left = np.zeros(n_nodes, np.uint8)
        self.table = np.zeros((n_nodes, N_BINS), np.uint8)


class Engine(ABC):
    """Does the work on rows and bins, which is most of the time; all engines give the same bits."""

    @abstractmethod
    def sums(
        self,
        bins: Bins,
        groups: Groups,
        block: slice,
        before: Array | None = None,
        parents: Integers | None = None,
    ) -> Array:
        """Add up residuals and weights by node and bin.

        Parameters
        ----------
        bins : Bins
        groups : Groups
        block : slice
            Of the features.
        before : ndarray of shape (n_parents, n_bins, 2), or None
            The sums of the nodes above, if nodes 2 i and 2 i + 1 are all of node parents[i]: one of
            the two is then what the other leaves.
        parents : ndarray of int64, shape (n_nodes / 2,), or None

        Returns
        -------
        ndarray of shape (n_nodes, n_bins, 2)
            The bins of all features of the block in one line.
        """

    @abstractmethod
    def split(self, bins: Bins, sums: Array, block: slice, rules: Rules, splits: Splits) -> None:
        """Find better splits of the nodes by the features of a block.

        Of equal ones the lowest feature wins, then the lowest threshold, then missing values on the
        left.
        """

    @abstractmethod
    def gains(
        self,
        bins: Bins,
        sums: Array,
        block: slice,
        rules: Rules,
        splits: Splits,
        ranks: Sequence[Integers],
    ) -> Array:
        """Add up what splits gain over all nodes that they fit, node after node.

        A split fits a node if both sides have enough rows.

        Parameters
        ----------
        bins, sums, block, rules, splits
            As for `split`.
        ranks : sequence of ndarray of int64
            For every feature of the block, the order of its bins.

        Returns
        -------
        ndarray of shape (n_features, 256, 2)
            For every feature and number of bins that go left, less one, with missing values on the
            left and on the right; 0 where there are no bins.
        """

    @abstractmethod
    def part(
        self, bins: Bins, groups: Groups, splits: Splits, slots: Integers, n_slots: int
    ) -> Groups:
        """Bring the rows to the nodes of the next level.

        Parameters
        ----------
        bins : Bins
        groups : Groups
        splits : Splits
        slots : ndarray of int64, shape (n_nodes, 2)
            The groups of the right and the left side; -1: these rows have arrived.
        n_slots : int
        """
