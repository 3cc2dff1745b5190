"""Growth with NumPy alone, and the shared splits of oblivious trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fcgboost.dictionaries.base import Array
from fcgboost.dictionaries.trees.binning import N_BINS, Bins
from fcgboost.dictionaries.trees.levels import Engine, Flags, Groups, Rules, Splits
from fcgboost.dictionaries.trees.nodes import Integers, Truths


class PlainEngine(Engine):
    """Counts with `bincount`, and scores all nodes at once, feature by feature."""

    def sums(
        self,
        bins: Bins,
        groups: Groups,
        block: slice,
        before: Array | None = None,
        parents: Integers | None = None,
    ) -> Array:
        """Add up directly; sums are exact, so a difference would give the same."""
        offsets = bins.offsets[block.start : block.stop + 1]
        sums = np.empty((len(groups), offsets[-1] - offsets[0], 2))
        nodes = np.repeat(np.arange(len(groups)), np.diff(groups.starts))
        members = groups.pull[groups.order], groups.weight[groups.order]
        for j in range(block.start, block.stop):
            first, width = bins.offsets[j] - offsets[0], bins.offsets[j + 1] - bins.offsets[j]
            places = nodes * width + bins.codes[j, groups.order]
            for k, values in enumerate(members):
                found = np.bincount(places, values, minlength=len(groups) * width)
                sums[:, first : first + width, k] = found.reshape(len(groups), width)
        return sums

    def split(self, bins: Bins, sums: Array, block: slice, rules: Rules, splits: Splits) -> None:
        """Score all splits of all nodes by one feature after the other."""
        for j in range(block.start, block.stop):
            numbers, missing = _own(bins, sums, block, j)
            ranks = _ranks(numbers, bool(bins.is_category[j]), rules.smoothing)
            left = _lefts(np.take_along_axis(numbers, ranks[:, :, None], axis=1), missing)
            scores = _scores(left, splits.totals, rules)
            has_missing = missing[:, 1] > 0.0
            scores[~has_missing, :, 0] = -1.0
            scores = scores.reshape(len(scores), -1)
            best = scores.argmax(axis=1)
            top = scores[np.arange(len(best)), best]
            for k in np.flatnonzero(top > splits.score):
                place, is_right = divmod(int(best[k]), 2)
                splits.score[k], splits.feature[k], splits.place[k] = top[k], j, place
                splits.left[k] = left[k, place, is_right]
                # Where no value is missing, those to come go with the majority.
                is_left = bool(2.0 * splits.left[k, 1] >= splits.totals[k, 1])
                is_left = is_right == 0 if has_missing[k] else is_left
                splits.is_missing_left[k] = is_left
                is_known = (numbers[k, :, 1] > 0.0) | ~bins.is_category[j]
                splits.table[k] = _table(ranks[k], place, is_left, is_known)

    def gains(
        self,
        bins: Bins,
        sums: Array,
        block: slice,
        rules: Rules,
        splits: Splits,
        ranks: Sequence[Integers],
    ) -> Array:
        """Score all nodes at once, feature by feature."""
        gains = np.zeros((block.stop - block.start, N_BINS, 2))
        for j, order in enumerate(ranks):
            numbers, missing = _own(bins, sums, block, block.start + j)
            scores = _scores(_lefts(numbers[:, order], missing), splits.totals, rules)
            for score, parent in zip(scores, splits.parents, strict=True):
                gains[j, : len(order)] += np.where(score >= 0.0, score - parent, 0.0)
        return gains

    def part(
        self, bins: Bins, groups: Groups, splits: Splits, slots: Integers, n_slots: int
    ) -> Groups:
        """Sort the rows by their new nodes."""
        nodes = np.repeat(np.arange(len(groups)), np.diff(groups.starts))
        # A node without a split sends all rows to one place, whatever the feature.
        bin_of_row = bins.codes[np.maximum(splits.feature, 0)[nodes], groups.order]
        slot = slots[nodes, splits.table[nodes, bin_of_row]]
        order = np.argsort(slot, kind="stable")
        order = order[np.count_nonzero(slot < 0) :]
        counts = np.bincount(slot[order], minlength=n_slots)
        starts = np.concatenate([[0], np.cumsum(counts)])
        return Groups(groups.order[order], starts, groups.pull, groups.weight)


def split_alike(
    engine: Engine,
    bins: Bins,
    sums: Array,
    block: slice,
    rules: Rules,
    splits: Splits,
    top: float,
) -> float:
    """Find the one split that is best for all nodes together, and note it where it fits.

    Parameters
    ----------
    engine : Engine
    bins, sums, block, rules, splits
        As for `Engine.split`.
    top : float
        What the gain must be more than.

    Returns
    -------
    float
        The gain, or what it must still be more than.
    """
    owns = [_own(bins, sums, block, j) for j in range(block.start, block.stop)]
    shared = [numbers.sum(axis=0) for numbers, _ in owns]
    is_category = bins.is_category[block]
    ranks = [
        _ranks(total[None], bool(flag), rules.smoothing)[0]
        for total, flag in zip(shared, is_category, strict=True)
    ]
    gains = engine.gains(bins, sums, block, rules, splits, ranks)
    gains[[not missing[:, 1].any() for _, missing in owns], :, 0] = -1.0
    best = int(gains.argmax())
    if not gains.flat[best] > top:
        return top
    j, place, is_right = map(int, np.unravel_index(best, gains.shape))
    left = _lefts(owns[j][0][:, ranks[j]], owns[j][1])[:, place, is_right]
    weights = splits.totals[:, 1]
    fits = (left[:, 1] >= rules.min_leaf) & (weights - left[:, 1] >= rules.min_leaf)
    is_left = is_right == 0
    if not owns[j][1][:, 1].any():
        is_left = bool(2.0 * left[fits, 1].sum() >= weights[fits].sum())
    splits.feature[:] = np.where(fits, block.start + j, -1)
    splits.place[:], splits.left[:], splits.is_missing_left[:] = place, left, is_left
    is_known = (shared[j][:, 1] > 0.0) | ~is_category[j]
    # A node that waits sends all rows to one side.
    splits.table[:] = fits[:, None] * _table(ranks[j], place, is_left, is_known)
    return float(gains.flat[best])


def _own(bins: Bins, sums: Array, block: slice, j: int) -> tuple[Array, Array]:
    """Give the sums of the bins of one feature, and of its missing values."""
    first, last = bins.offsets[j : j + 2] - bins.offsets[block.start]
    own, n_numbers = sums[:, first:last], bins.n_numbers[j]
    return own[:, :n_numbers], own[:, n_numbers:].sum(axis=1)


def _ranks(numbers: Array, is_category: bool, smoothing: float) -> Integers:
    """Give the order of the bins: that of their numbers, or of the levels' mean residuals.

    Levels without rows come last.
    """
    n_nodes, n_bins, _ = numbers.shape
    if not is_category:
        return np.broadcast_to(np.arange(n_bins), (n_nodes, n_bins))
    with np.errstate(invalid="ignore"):
        means = numbers[:, :, 0] / (numbers[:, :, 1] + smoothing)
    return np.argsort(np.where(numbers[:, :, 1] > 0.0, means, np.inf), axis=1, kind="stable")


def _lefts(numbers: Array, missing: Array) -> Array:
    """Give the sums of the left sides, of shape (n_nodes, n_bins, 2 missing left or right, 2)."""
    below = np.cumsum(numbers, axis=1)
    return np.stack([below + missing[:, None], below], axis=2)


def _scores(left: Array, totals: Array, rules: Rules) -> Array:
    """Give the scores of splits, -1 where a side has too few rows."""
    right = totals[:, None, None] - left
    is_allowed = (left[..., 1] >= rules.min_leaf) & (right[..., 1] >= rules.min_leaf)
    with np.errstate(invalid="ignore"):  # an empty side, not smoothed
        explained = [
            side[..., 0] * side[..., 0] / (side[..., 1] + rules.smoothing) for side in (left, right)
        ]
    return np.where(is_allowed, explained[0] + explained[1], -1.0)


def _table(ranks: Integers, place: int, is_missing_left: bool, is_known: Truths) -> Flags:
    """Tell which bins go left; levels that are not known go where missing values go."""
    table = np.full(N_BINS, is_missing_left, np.uint8)
    goes_left = np.zeros(len(ranks), np.uint8)
    goes_left[ranks[: place + 1]] = 1
    table[: len(ranks)] = np.where(is_known, goes_left, table[: len(ranks)])
    return table
