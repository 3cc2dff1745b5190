"""The protocol of the real data: half to train, a quarter to validate, a quarter to test.

How the rows are dealt depends on the data and the repetition alone, so that all methods see the
same three parts, standardised by the training part.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class Deal(NamedTuple):
    """The row numbers of the three parts."""

    train: Rows
    validation: Rows
    test: Rows


class Data(NamedTuple):
    """The three parts; labels are -1 and +1."""

    X: Array
    y: Array
    X_val: Array
    y_val: Array
    X_test: Array
    y_test: Array

    @property
    def has_one_class(self) -> bool:
        """Whether there is nothing to learn: a sorted file, split in its order, can do that."""
        return bool(np.all(self.y == self.y[0]))

    def majority(self) -> float:
        """Give the class that is most frequent in the training part."""
        return 1.0 if float(self.y.sum()) >= 0.0 else -1.0

    def at_most(self, n_rows: int, seed: int) -> Data:
        """Draw at most so many training rows and so many validation rows, by class."""
        train, val = (_sample(y, n_rows, seed) for y in (self.y, self.y_val))
        parts = (self.X[train], self.y[train], self.X_val[val], self.y_val[val])
        return Data(*parts, self.X_test, self.y_test)


def seed_of(name: str, repetition: int) -> int:
    """Give the seed of one repetition, which no other data set has."""
    digest = hashlib.sha256(f"{name} {repetition}".encode()).digest()
    return int.from_bytes(digest[:4], "little")


def deal_random(n_rows: int, seed: int, limit: int = 0) -> Deal:
    """Deal the rows, or the first `limit` of them after shuffling, at random."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return _cut(order[:limit] if limit else order)


def deal_in_order(n_rows: int, limit: int = 0) -> Deal:
    """Give the first half, the next quarter and the last one; `limit` spreads over the file."""
    kept = min(limit, n_rows) if limit else n_rows
    return _cut(np.linspace(0, n_rows - 1, kept).round().astype(np.intp))


def deal_groups(groups: Any, seed: int) -> Deal:
    """Deal whole groups at random: half of them, a quarter, a quarter."""
    names, group = np.unique(np.asarray(groups), return_inverse=True)
    dealt = _cut(np.random.default_rng(seed).permutation(len(names)))
    train, validation, test = (np.flatnonzero(np.isin(group, part)) for part in dealt)
    return Deal(train, validation, test)


def arrange(X: Array, y: Array, deal: Deal) -> Data:
    """Standardise by the training part, and give the three parts."""
    mean, spread = X[deal.train].mean(axis=0), X[deal.train].std(axis=0)
    # A column that is constant in training may vary elsewhere; it is then kept as it is.
    Z = (X - mean) / np.where(spread > 0.0, spread, 1.0)
    train, validation, test = deal
    return Data(Z[train], y[train], Z[validation], y[validation], Z[test], y[test])


def accuracy(predicted: Array, y: Array) -> float:
    """Give the share of right labels."""
    return float(np.mean(predicted == y))


def _cut(order: Rows) -> Deal:
    half, rest = len(order) // 2, len(order) // 4
    return Deal(order[:half], order[half : half + rest], order[half + rest :])


def _sample(y: Array, n_rows: int, seed: int) -> Rows:
    """Draw rows with the shares of the classes kept, and never one class of two alone."""
    order = np.random.default_rng(seed).permutation(len(y))
    if len(y) <= n_rows:
        return order
    by_class = order[np.argsort(y[order], kind="stable")]
    return by_class[np.linspace(0, len(y) - 1, n_rows).round().astype(np.intp)]
