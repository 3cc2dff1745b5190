"""Trees on a GPU: passes over rows and the search for splits, one launch each.

Imports Triton, which comes with torch for CUDA. Sums of integers do not depend on the order of
additions, and scores are computed as in `splits.c`: trees are the same to the bit.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def, untyped-decorator"
# Arguments of Triton kernels have no types. Numbers that change from call to call are not
# specialised, or Triton would compile a kernel for each kind.

from __future__ import annotations

import numpy as np
import torch
import triton
import triton.language as tl

from fcgboost._kernels import SPLIT, Rows, Splits
from fcgboost.arrays import Tensor
from fcgboost.backends.growth import WEIGHT_BITS, GrowingRows, weight_of
from fcgboost.designs.devices import HostDevice
from fcgboost.dictionaries.bins import N_BINS

# Rows per program, numbers per program, and warps.
_BLOCK = 512
_NUMBERS = 1024
_WARPS = 4
# Copies of sums, to reduce contention between threads.
_COPIES = 64
_BINS = tl.constexpr(256)
_WORD = tl.constexpr(64)
_WEIGHT_BITS = tl.constexpr(28)
_ALL_WEIGHT = tl.constexpr((1 << 28) - 1)
_MANY = tl.constexpr(1 << 30)
# Levels compared with all others at once, limited by registers.
_LEVELS = tl.constexpr(8)
# Histograms allocated at once.
_ROOM = 256
# A split must gain more than rounding.
_FLOOR = 1.0 + 2.0**-40


@triton.jit(do_not_specialize=["first", "n_splits", "n_copies"])
def _send_rows(
    codes, steps, nodes, slots, parents, added, columns, goes_left, sums,
    first, n_rows, n_columns, n_splits, n_copies, BLOCK: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    is_row = i < n_rows
    slot = tl.load(slots + tl.load(nodes + i, mask=is_row, other=0), mask=is_row, other=-1)
    is_row = is_row & (slot >= 0)
    parent = tl.load(parents + slot, mask=is_row, other=0)
    column = tl.load(columns + parent, mask=is_row, other=0)
    code = tl.load(codes + column * n_rows + i, mask=is_row, other=0).to(tl.int64)
    is_right = 1 - tl.load(goes_left + parent * _BINS + code, mask=is_row, other=0).to(tl.int64)
    tl.store(nodes + i, first + 2 * slot + is_right, mask=is_row)
    is_row = is_row & (is_right == tl.load(added + slot, mask=is_row, other=0))
    step = tl.load(steps + i, mask=is_row, other=0)
    copy = (tl.program_id(0) % n_copies).to(tl.int64)
    sums += (copy * n_splits + slot) * n_columns * _BINS
    for j in range(n_columns):
        bins = tl.load(codes + tl.cast(j, tl.int64) * n_rows + i, mask=is_row, other=0)
        tl.atomic_add(
            sums + j * _BINS + bins.to(tl.int64),
            step,
            mask=is_row,
            sem="relaxed",
        )


@triton.jit(do_not_specialize=["free", "n_splits", "n_copies"])
def _settle(
    copies,
    sums,
    kept,
    free,
    n_splits,
    n_copies,
    n_numbers,
    BLOCK: tl.constexpr,
):
    """Add up copies; the heavier child is the parent minus the lighter one."""
    split = tl.program_id(1).to(tl.int64)
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    is_there = place < n_numbers
    total = tl.zeros([BLOCK], dtype=tl.int64)
    for copy in range(n_copies):
        start = (tl.cast(copy, tl.int64) * n_splits + split) * n_numbers
        total += tl.load(copies + start + place, mask=is_there, other=0)
    tl.store(sums + (free + split) * n_numbers + place, total, mask=is_there)
    above = sums + tl.load(kept + split) * n_numbers + place
    tl.store(above, tl.load(above, mask=is_there, other=0) - total, mask=is_there)


@triton.jit
def _scores(left, total, smoothing, least):
    a = (left >> _WEIGHT_BITS).to(tl.float64)
    b = (left & _ALL_WEIGHT).to(tl.float64)
    c = (total >> _WEIGHT_BITS).to(tl.float64) - a
    d = (total & _ALL_WEIGHT).to(tl.float64) - b
    scores = a * a / (b + smoothing) + c * c / (d + smoothing)
    return tl.where((b >= least) & (d >= least), scores, -1.0)


@triton.jit
def _is_before(sums, levels, bins, smoothing):
    """Return which levels with rows come before bins in the order of mean residuals."""
    counts = sums & _ALL_WEIGHT
    others = bins & _ALL_WEIGHT
    means = ((sums >> _WEIGHT_BITS).to(tl.float64) / (counts + smoothing))[:, None]
    bin_means = ((bins >> _WEIGHT_BITS).to(tl.float64) / (others + smoothing))[None, :]
    is_lower = levels[:, None] < tl.arange(0, _BINS)[None, :]
    return (counts[:, None] > 0) & ((means < bin_means) | ((means == bin_means) & is_lower))


@triton.jit
def _order_levels(sums, n_levels, bins, smoothing):
    """Return the ranks of levels by their mean residuals, and the sums up to each."""
    rank = tl.zeros([_BINS], dtype=tl.int32)
    below = tl.zeros([_BINS], dtype=tl.int64)
    for first_level in range(0, n_levels, _LEVELS):
        levels = first_level + tl.arange(0, _LEVELS)
        of_level = tl.load(sums + levels, mask=levels < n_levels, other=0)
        before = _is_before(
            of_level,
            levels,
            bins,
            smoothing,
        )
        at_most = before | (levels[:, None] == tl.arange(0, _BINS)[None, :])
        rank += tl.sum(before.to(tl.int32), 0)
        below += tl.sum(tl.where(at_most, of_level[:, None], 0), 0)
    return rank, below


@triton.jit
def _search(
    sums, there, totals, features, limits, scores, facts, tables,
    n_features, n_numbers, HAS_CATEGORIES: tl.constexpr,
):  # fmt: skip
    """Find the best split of one node by one feature, and the codes that go left."""
    j = tl.program_id(0)
    node = tl.program_id(1).to(tl.int64)
    smoothing = tl.load(limits)
    least = tl.load(limits + 1)
    features += j
    column = tl.load(features)
    first = tl.load(features + n_features)
    default_bin = tl.load(features + 2 * n_features)
    n_known = tl.load(features + 3 * n_features)
    n_bins = tl.load(features + 4 * n_features)
    total = tl.load(totals + node)
    # Sums by bin; the default bin of a shared column is the total minus the others.
    b = tl.arange(0, _BINS)
    is_there = (b < n_bins) & (b != default_bin)
    place = column * _BINS + first + b - ((default_bin >= 0) & (b > default_bin)).to(tl.int64)
    start = tl.load(there + node) * n_numbers
    bin_sums = tl.load(sums + start + place, mask=is_there, other=0)
    bin_sums += tl.where(b == default_bin, total - tl.sum(bin_sums, 0), 0)
    missing = tl.sum(tl.where((b == n_known) & (b < n_bins), bin_sums, 0), 0)
    # Rows lighter than a unit do not count.
    missing = tl.where((missing & _ALL_WEIGHT) == 0, 0, missing)
    bin_sums = tl.where(b < n_known, bin_sums, 0)
    # The rank of each bin, and the sums up to it.
    rank = b
    below = tl.cumsum(bin_sums, 0)
    has_rows = b < n_known
    if HAS_CATEGORIES:
        is_category = tl.load(features + 5 * n_features) != 0
        n_levels = tl.where(is_category, n_known, 0)
        order = _order_levels(
            sums + start + column * _BINS,
            n_levels,
            bin_sums,
            smoothing,
        )
        rank = tl.where(is_category, order[0], rank)
        below = tl.where(is_category, order[1], below)
        has_rows = tl.where(is_category, (bin_sums & _ALL_WEIGHT) > 0, has_rows)
    # Ties go to the lowest rank, then to missing values on the left.
    with_gaps = _scores(
        below + missing,
        total,
        smoothing,
        least,
    )
    without = _scores(
        below,
        total,
        smoothing,
        least,
    )
    with_gaps = tl.where(has_rows, with_gaps, -1.0)
    without = tl.where(has_rows, without, -1.0)
    best = tl.maximum(tl.max(with_gaps, 0), tl.max(without, 0))
    keys = tl.where(with_gaps == best, 2 * rank, tl.where(without == best, 2 * rank + 1, _MANY))
    key = tl.min(keys, 0)
    at = key // 2
    left = tl.sum(tl.where(has_rows & (rank == at), below, 0), 0)
    left += tl.where(key % 2 == 0, missing, 0)
    is_even = 2 * (left & _ALL_WEIGHT) >= (total & _ALL_WEIGHT)
    is_left = tl.where((missing & _ALL_WEIGHT) == 0, is_even, key % 2 == 0)
    # Codes of other features in the column stand for the default bin of this one.
    bins = b - first
    bins += ((default_bin >= 0) & (bins >= default_bin)).to(tl.int64)
    is_of_feature = (b >= first) & (bins < n_bins)
    bins = tl.where((default_bin >= 0) & (is_of_feature == 0), default_bin, bins)
    is_below = bins <= at
    is_known = bins < n_known
    if HAS_CATEGORIES:
        is_below = tl.where(is_category, rank <= at, is_below)
        is_known = tl.where(is_category, has_rows, is_known)
    goes_left = tl.where(is_known, is_below, is_left)
    at_feature = node * n_features + j
    tl.store(tables + at_feature * _BINS + b, goes_left.to(tl.uint8))
    tl.store(scores + at_feature, best)
    tl.store(facts + 3 * at_feature, at.to(tl.int64))
    tl.store(facts + 3 * at_feature + 1, is_left.to(tl.int64))
    tl.store(facts + 3 * at_feature + 2, left)


@triton.jit(do_not_specialize=["first"])
def _take(
    scores, facts, tables, features, columns, goes_left, results, best_scores,
    first, n_features, WIDTH: tl.constexpr,
):  # fmt: skip
    """Take the best feature of a node; ties go to the first."""
    node = tl.program_id(0).to(tl.int64)
    n = tl.num_programs(0)
    j = tl.arange(0, WIDTH)
    feature_scores = tl.load(scores + node * n_features + j, mask=j < n_features, other=-2.0)
    best = tl.max(feature_scores, 0)
    feature = tl.min(tl.where(feature_scores == best, j, _MANY), 0).to(tl.int64)
    at_feature = node * n_features + feature
    b = tl.arange(0, _BINS)
    table = tl.load(tables + at_feature * _BINS + b)
    tl.store(goes_left + (first + node) * _BINS + b, table)
    tl.store(columns + first + node, tl.load(features + feature))
    tl.store(best_scores + node, best)
    tl.store(results + node, feature)
    for k in tl.static_range(3):
        tl.store(results + (k + 1) * n + node, tl.load(facts + 3 * at_feature + k))
    bits = table.to(tl.int64) << (b % _WORD).to(tl.int64)
    for word in tl.static_range(4):
        tl.store(results + (4 + word) * n + node, tl.sum(tl.where(b // _WORD == word, bits, 0), 0))


class GpuRows(GrowingRows):
    """Rows on a GPU, with the histograms of nodes not yet split.

    Parameters
    ----------
    codes : uint8 tensor of shape (n_columns, n_rows)
    steps : int64 tensor of shape (n_rows,)
    features : int64 tensor of shape (6, n_features)
        Columns, first codes, default bins, numbers of bins without and with missing values, and
        whether a feature is categorical.
    search : tuple
        The smoothing and the smallest weight of a leaf, in units, and whether there are categories.
    device : HostDevice
    """

    def __init__(
        self,
        codes: Tensor,
        steps: Tensor,
        features: Tensor,
        search: tuple[float, float, bool],
        device: HostDevice,
    ) -> None:
        self._codes = codes
        self._steps = steps
        self._features = features
        self._device = device
        self._smoothing, least, self._has_categories = search
        # As an array: Triton rounds scalar arguments to single precision.
        self._limits = device.put(np.array([self._smoothing, least]))
        self.nodes = torch.zeros_like(steps)
        #: Histograms, and the place of each node's.
        self._sums = steps.new_zeros((_ROOM, len(codes) * N_BINS))
        self._kept = np.zeros(1, np.int64)
        #: For each node: the column of its split, and which codes go left.
        self._columns = steps.new_zeros(2 * _ROOM)
        self._goes_left = torch.ones((2 * _ROOM, N_BINS), dtype=torch.uint8, device=steps.device)

    def start(self) -> tuple[int, Splits]:
        # All rows go left and stay in node 0; the last histogram is unused.
        here = self._steps.new_zeros(1)
        self._send(
            here,
            here,
            here,
            here + (_ROOM - 1),
            0,
        )
        total = int(self._sums[0, :N_BINS].sum())
        return total, self._open(
            0,
            here,
            here + total,
            np.array([total]),
        )

    def split(
        self,
        parents: Rows,
        first: int,
        added: Rows,
        totals: Rows,
    ) -> Splits:
        n = len(parents)
        free = (first + 1) // 2
        kept = self._kept[parents]
        slots = np.full(first, -1)
        slots[parents] = np.arange(n)
        # The heavier child replaces its parent.
        there = np.column_stack([kept, kept])
        there[np.arange(n), added] = free + np.arange(n)
        self._kept = np.append(self._kept, there)
        while free + n > len(self._sums):
            self._sums = _doubled(self._sums)
            self._columns = _doubled(self._columns)
            self._goes_left = _doubled(self._goes_left)
        packed = np.concatenate([slots, parents, added, kept, there.ravel(), totals])
        sent = self._device.put(packed, "int64")
        pieces = sent.split([first, n, n, n, 2 * n, 2 * n])
        self._send(
            slots=pieces[0],
            parents=pieces[1],
            added=pieces[2],
            kept=pieces[3],
            first=first,
        )
        return self._open(
            first,
            there=pieces[4],
            sums=pieces[5],
            totals=totals,
        )

    def _send(
        self,
        slots: Tensor,
        parents: Tensor,
        added: Tensor,
        kept: Tensor,
        first: int,
    ) -> None:
        """Send rows to their children, and add up one child per split."""
        n_columns, n_rows = self._codes.shape
        n = len(parents)
        free = (first + 1) // 2
        n_copies = max(1, _COPIES // n)
        n_numbers = n_columns * N_BINS
        copies = self._steps.new_zeros((n_copies, n, n_numbers))
        _send_rows[(triton.cdiv(n_rows, _BLOCK),)](
            *(self._codes, self._steps, self.nodes, slots, parents, added),
            *(self._columns, self._goes_left, copies, first, n_rows, n_columns, n, n_copies),
            BLOCK=_BLOCK,
            num_warps=_WARPS,
        )
        _settle[(triton.cdiv(n_numbers, _NUMBERS), n)](
            *(copies, self._sums, kept, free, n, n_copies, n_numbers), BLOCK=_NUMBERS
        )

    def _open(
        self,
        first: int,
        there: Tensor,
        sums: Tensor,
        totals: Rows,
    ) -> Splits:
        """Find the best splits of nodes, and store them for the rows."""
        n = len(totals)
        n_features = self._features.shape[1]
        scores = torch.empty((n, n_features), dtype=torch.float64, device=sums.device)
        facts = sums.new_empty((n, n_features, 3))
        results = sums.new_empty((9, n))
        tables = self._goes_left.new_empty((n, n_features, N_BINS))
        _search[(n_features, n)](
            *(self._sums, there, sums, self._features, self._limits, scores, facts, tables),
            *(n_features, self._sums.shape[1]),
            HAS_CATEGORIES=self._has_categories,
        )
        _take[(n,)](
            *(scores, facts, tables, self._features, self._columns, self._goes_left),
            *(results, results[8].view(torch.float64), first, n_features),
            WIDTH=triton.next_power_of_2(n_features),
        )
        return self._splits(results.cpu().numpy(), totals)

    def _splits(self, results: Rows, totals: Rows) -> Splits:
        """Return the splits from the results of the GPU."""
        residual_sums = (totals >> WEIGHT_BITS).astype(np.float64)
        scores = results[8].view(np.float64)
        none = residual_sums * residual_sums / (weight_of(totals) + self._smoothing)
        splits = np.zeros(len(totals), SPLIT)
        splits["feature"] = np.where(scores > none * _FLOOR, results[0], -1)
        splits["place"], splits["is_missing_left"], splits["left"] = results[1:4]
        splits["goes_left"] = results[4:8].view(np.uint64).T
        splits["score"] = scores - none
        return splits


def _doubled(tensor: Tensor) -> Tensor:
    """Return a tensor with as many zeros again."""
    return torch.cat([tensor, torch.zeros_like(tensor)])


@triton.jit(do_not_specialize=["n_trees"])
def _leaf_values(
    codes,
    first,
    values,
    f,
    n_rows,
    n_trees,
    BLOCK: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    is_row = i < n_rows
    total = tl.load(f + i, mask=is_row, other=0.0)
    for t in range(n_trees):
        code = tl.load(codes + tl.cast(t, tl.int64) * n_rows + i, mask=is_row, other=0)
        total += tl.load(values + tl.load(first + t) + code.to(tl.int64), mask=is_row, other=0.0)
    tl.store(f + i, total, mask=is_row)


def leaf_values(codes: Tensor, first: Tensor, values: Tensor, f: Tensor) -> None:
    """Add the leaf values of all trees to f; `first` is the first leaf of each tree."""
    n_trees, n_rows = codes.shape
    with torch.cuda.device_of(f):
        _leaf_values[(triton.cdiv(n_rows, _BLOCK),)](
            *(codes, first, values, f, n_rows, n_trees), BLOCK=_BLOCK, num_warps=_WARPS
        )


@triton.jit(do_not_specialize=["n_trees", "n_leaves"])
def _leaf_sums(
    codes,
    first,
    r,
    unit,
    sums,
    n_rows,
    n_trees,
    n_leaves,
    n_copies,
    BLOCK: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    steps = tl.load(r + i, mask=i < n_rows, other=0.0) / tl.load(unit)
    step = (steps + tl.where(steps > 0.0, 0.5, -0.5)).to(tl.int64)
    # Typically half the rows are zero.
    is_row = step != 0
    sums += (tl.program_id(0) % n_copies).to(tl.int64) * n_leaves
    for t in range(n_trees):
        code = tl.load(codes + tl.cast(t, tl.int64) * n_rows + i, mask=is_row, other=0)
        tl.atomic_add(
            sums + tl.load(first + t) + code.to(tl.int64),
            step,
            mask=is_row,
            sem="relaxed",
        )


def leaf_sums(codes: Tensor, first: Tensor, r: Tensor, unit: Tensor, n_leaves: int) -> Tensor:
    """Return the sums of r in integer units over each leaf, of shape (n_leaves,)."""
    n_trees, n_rows = codes.shape
    sums = torch.zeros((_COPIES, n_leaves), dtype=torch.int64, device=r.device)
    with torch.cuda.device_of(r):
        _leaf_sums[(triton.cdiv(n_rows, _BLOCK),)](
            *(codes, first, r, unit, sums, n_rows, n_trees, n_leaves, _COPIES),
            BLOCK=_BLOCK,
            num_warps=_WARPS,
        )
    return sums.sum(0)
