"""Trees on a GPU: rounds of planning, a pass over rows and the search for splits.

Imports Triton, which comes with torch for CUDA. Sums of integers do not depend on the order of
additions, and scores are computed as in `splits.c`: trees are the same to the bit.

The host asks for several rounds at once and then reads a table of all nodes. The GPU guesses what
to split next: nodes that would be in the tree if no more were known. What is in the tree is decided
on the host alone, by `Growth`, which asks for what is missing.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def, untyped-decorator"
# Arguments of Triton kernels have no types. Numbers that change from call to call are not
# specialised, or Triton would compile a kernel for each kind.

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from fcgboost._kernels import SPLIT, Rows, Rules
from fcgboost.arrays import Tensor
from fcgboost.backends.growth import WEIGHT_BITS, GrowingRows, Nodes, weight_of
from fcgboost.backends.torch.graphs import recorded
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
# A split must gain more than rounding.
_FLOOR = tl.constexpr(1.0 + 2.0**-40)
# Nodes that a tree without a limit has room for at first, and numbers of the histograms of a round.
_ROOM = 512
_AT_ONCE = 1 << 23
# Rounds of a first tree, and those that are added where a tree needs more; empty ones cost little.
_ROUNDS = 20
_MORE = 4
# A round splits this share of the nodes that are missing, or a few: more would often be in vain.
_SHARE = tl.constexpr(3)
_FEW = tl.constexpr(16)
# Programs that share the nodes of a round.
_PROGRAMS = 64
# Nodes that are compared with others at once.
_CHUNK = 8
_OTHERS = 128

# What is known of a node: rows of a table of integers. Those up to the score, which is a double,
# are read by the host.
_TOTAL, _LEVEL, _CHILDREN, _FEATURE, _PLACE, _MISSING, _LEFT, _WORDS = map(tl.constexpr, range(8))
_SCORE = tl.constexpr(11)
# Whose turn comes first: the least gain on the way from the root, then the least one below the node
# that has it, and once more; doubles.
_REACHED = tl.constexpr(12)
_N_KEYS = tl.constexpr(3)
# How many nodes come before it, and how many of these have no children.
_RANK, _TURN = map(tl.constexpr, range(15, 17))
# Whether the host wants it split.
_ASKED = tl.constexpr(17)
# Where its histogram is, the column of its split, its number among the splits of the round or -1,
# and which child, 0 or 1, has the smaller weight: only its rows are added up by bin.
_KEPT, _COLUMN, _SLOT, _ADDED = map(tl.constexpr, range(18, 22))
# The parent of each split of the round.
_PARENT = tl.constexpr(22)
# The numbers of nodes, of nodes before the round, of splits and new nodes in the round, and of
# rounds with splits.
_STATE = tl.constexpr(23)
_N_FACTS = 24


@triton.jit(do_not_specialize=["room"])
def _rank(table, reached, room, CHUNK: tl.constexpr, OTHERS: tl.constexpr):
    """Find out how many nodes come before each."""
    n_nodes = tl.load(table + _STATE * room)
    for first in range(tl.program_id(0) * CHUNK, n_nodes, tl.num_programs(0) * CHUNK):
        node = first + tl.arange(0, CHUNK)
        rank = tl.zeros([CHUNK], dtype=tl.int64)
        turn = tl.zeros([CHUNK], dtype=tl.int64)
        for start in range(0, n_nodes, OTHERS):
            other = start + tl.arange(0, OTHERS)
            is_other = other < n_nodes
            children = tl.load(table + _CHILDREN * room + other, mask=is_other, other=1)
            # The older node if all gains are equal.
            is_before = other[None, :] < node[:, None]
            for i in tl.static_range(_N_KEYS):
                key = reached + (_N_KEYS - 1 - i) * room
                own = tl.load(key + node, mask=node < n_nodes, other=0.0)[:, None]
                gains = tl.load(key + other, mask=is_other, other=-1.0)[None, :]
                is_before = (gains > own) | ((gains == own) & is_before)
            count = (is_before & is_other[None, :]).to(tl.int64)
            rank += tl.sum(count, 1)
            turn += tl.sum(tl.where(children[None, :] == 0, count, 0), 1)
        tl.store(table + _RANK * room + node, rank, mask=node < n_nodes)
        tl.store(table + _TURN * room + node, turn, mask=node < n_nodes)


@triton.jit(do_not_specialize=["room", "n_inner", "most"])
def _plan(table, reached, room, n_inner, most, CHUNK: tl.constexpr):
    """Choose what to split in a round, and number the children."""
    state = table + _STATE * room
    n_nodes = tl.load(state)
    most = tl.minimum(most, (room - n_nodes) // 2)
    n_likely = tl.maximum((n_inner - n_nodes // 2) // _SHARE, _FEW)
    n_splits = n_nodes * 0
    for start in range(0, n_nodes, CHUNK):
        node = start + tl.arange(0, CHUNK)
        is_node = node < n_nodes
        here = table + node
        way = tl.load(reached + node, mask=is_node, other=-1.0)
        is_leaf = tl.load(here + _CHILDREN * room, mask=is_node, other=1) == 0
        rank = tl.load(here + _RANK * room, mask=is_node, other=0)
        turn = tl.load(here + _TURN * room, mask=is_node, other=0)
        is_asked = tl.load(here + _ASKED * room, mask=is_node, other=0) > 0
        is_likely = (way >= 0.0) & (rank < n_inner) & (turn < n_likely)
        is_wanted = is_leaf & (is_likely | is_asked)
        slot = n_splits + tl.cumsum(is_wanted.to(tl.int64), 0) - 1
        n_splits += tl.sum(is_wanted.to(tl.int64), 0)
        is_wanted = is_wanted & (slot < most)
        tl.store(here + _SLOT * room, tl.where(is_wanted, slot, -1), mask=is_node)
        tl.store(table + _PARENT * room + slot, node, mask=is_wanted)
        child = n_nodes + 2 * slot
        tl.store(here + _CHILDREN * room, child, mask=is_wanted)
        left = tl.load(here + _LEFT * room, mask=is_wanted, other=0)
        right = tl.load(here + _TOTAL * room, mask=is_wanted, other=0) - left
        level = tl.load(here + _LEVEL * room, mask=is_wanted, other=0) + 1
        kept = tl.load(here + _KEPT * room, mask=is_wanted, other=0)
        added = ((right & _ALL_WEIGHT) < (left & _ALL_WEIGHT)).to(tl.int64)
        tl.store(here + _ADDED * room, added, mask=is_wanted)
        # The heavier child's histogram replaces its parent's.
        free = (n_nodes + 1) // 2 + slot
        for side in tl.static_range(2):
            there = table + child + side
            tl.store(there + _TOTAL * room, right if side else left, mask=is_wanted)
            tl.store(there + _LEVEL * room, level, mask=is_wanted)
            tl.store(there + _KEPT * room, tl.where(added == side, free, kept), mask=is_wanted)
            for key in tl.static_range(_N_KEYS):
                least = tl.load(reached + key * room + node, mask=is_wanted, other=0.0)
                tl.store(reached + key * room + child + side, least, mask=is_wanted)
    n_splits = tl.minimum(n_splits, most)
    tl.store(state, n_nodes + 2 * n_splits)
    tl.store(state + 1, n_nodes)
    tl.store(state + 2, n_splits)
    tl.store(state + 3, 2 * n_splits)
    tl.store(state + 4, tl.load(state + 4) + (n_splits > 0).to(tl.int64))


@triton.jit(do_not_specialize=["room"])
def _send_rows(
    codes, steps, nodes, table, goes_left, copies, n_rows, n_columns, room,
    COPIES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Send rows to the children of their nodes, and add up one child of each by bin."""
    n_splits = tl.load(table + _STATE * room + 2)
    if n_splits == 0:
        return
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    is_row = i < n_rows
    node = tl.load(nodes + i, mask=is_row, other=0)
    here = table + node
    slot = tl.load(here + _SLOT * room, mask=is_row, other=-1)
    is_row = is_row & (slot >= 0)
    column = tl.load(here + _COLUMN * room, mask=is_row, other=0)
    code = tl.load(codes + column * n_rows + i, mask=is_row, other=0).to(tl.int64)
    is_left = tl.load(goes_left + node * _BINS + code, mask=is_row, other=0)
    is_right = 1 - is_left.to(tl.int64)
    child = tl.load(here + _CHILDREN * room, mask=is_row, other=0) + is_right
    tl.store(nodes + i, child.to(tl.int32), mask=is_row)
    is_row = is_row & (is_right == tl.load(here + _ADDED * room, mask=is_row, other=0))
    step = tl.load(steps + i, mask=is_row, other=0)
    n_copies = tl.maximum(COPIES // n_splits, 1)
    copies += (tl.program_id(0) % n_copies * n_splits + slot) * n_columns * _BINS
    for j in range(n_columns):
        bins = tl.load(codes + tl.cast(j, tl.int64) * n_rows + i, mask=is_row, other=0)
        tl.atomic_add(
            copies + j * _BINS + bins.to(tl.int64),
            step,
            mask=is_row,
            sem="relaxed",
        )


@triton.jit(do_not_specialize=["room"])
def _settle(
    copies,
    sums,
    table,
    n_numbers,
    room,
    COPIES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Add up copies and clear them; the heavier child is the parent minus the lighter one."""
    state = table + _STATE * room
    first = tl.load(state + 1)
    n_splits = tl.load(state + 2)
    n_copies = tl.maximum(COPIES // tl.maximum(n_splits, 1), 1)
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    is_there = place < n_numbers
    for split in range(tl.program_id(1), n_splits, tl.num_programs(1)):
        total = tl.zeros([BLOCK], dtype=tl.int64)
        for copy in range(n_copies):
            here = copies + (copy * n_splits + split) * n_numbers + place
            total += tl.load(here, mask=is_there, other=0)
            tl.store(here, total * 0, mask=is_there)
        tl.store(sums + ((first + 1) // 2 + split) * n_numbers + place, total, mask=is_there)
        # The root, the first of all nodes, has no sibling.
        if first > 0:
            parent = tl.load(table + _PARENT * room + split)
            above = sums + tl.load(table + _KEPT * room + parent) * n_numbers + place
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


@triton.jit(do_not_specialize=["room"])
def _search(
    sums, table, features, limits, scores, facts, tables,
    n_features, n_numbers, room, HAS_CATEGORIES: tl.constexpr,
):  # fmt: skip
    """Find the best splits of new nodes by one feature, and the codes that go left."""
    state = table + _STATE * room
    for i in range(tl.program_id(1), tl.load(state + 3), tl.num_programs(1)):
        node = tl.load(state + 1) + i
        _search_node(
            sums + tl.load(table + _KEPT * room + node) * n_numbers,
            tl.load(table + _TOTAL * room + node),
            features,
            limits,
            scores,
            facts,
            tables,
            i,
            n_features,
            HAS_CATEGORIES,
        )


@triton.jit
def _search_node(
    sums, total, features, limits, scores, facts, tables,
    i, n_features, HAS_CATEGORIES: tl.constexpr,
):  # fmt: skip
    j = tl.program_id(0)
    smoothing = tl.load(limits)
    least = tl.load(limits + 1)
    features += j
    column = tl.load(features)
    first = tl.load(features + n_features)
    default_bin = tl.load(features + 2 * n_features)
    n_known = tl.load(features + 3 * n_features)
    n_bins = tl.load(features + 4 * n_features)
    # Sums by bin; the default bin of a shared column is the total minus the others.
    b = tl.arange(0, _BINS)
    is_there = (b < n_bins) & (b != default_bin)
    place = column * _BINS + first + b - ((default_bin >= 0) & (b > default_bin)).to(tl.int64)
    bin_sums = tl.load(sums + place, mask=is_there, other=0)
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
            sums + column * _BINS,
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
    at_feature = i * n_features + j
    tl.store(tables + at_feature * _BINS + b, goes_left.to(tl.uint8))
    tl.store(scores + at_feature, best)
    tl.store(facts + 3 * at_feature, at.to(tl.int64))
    tl.store(facts + 3 * at_feature + 1, is_left.to(tl.int64))
    tl.store(facts + 3 * at_feature + 2, left)


@triton.jit(do_not_specialize=["room", "depth"])
def _take(
    scores, facts, tables, features, limits, table, best_scores, reached, goes_left,
    n_features, room, depth, WIDTH: tl.constexpr,
):  # fmt: skip
    """Take the best feature of new nodes; ties go to the first."""
    state = table + _STATE * room
    j = tl.arange(0, WIDTH)
    b = tl.arange(0, _BINS)
    for i in range(tl.program_id(0), tl.load(state + 3), tl.num_programs(0)):
        node = tl.load(state + 1) + i
        here = table + node
        feature_scores = tl.load(scores + i * n_features + j, mask=j < n_features, other=-2.0)
        best = tl.max(feature_scores, 0)
        feature = tl.min(tl.where(feature_scores == best, j, _MANY), 0).to(tl.int64)
        at_feature = i * n_features + feature
        codes = tl.load(tables + at_feature * _BINS + b)
        tl.store(goes_left + node * _BINS + b, codes)
        tl.store(here + _COLUMN * room, tl.load(features + feature))
        tl.store(best_scores + node, best)
        tl.store(here + _FEATURE * room, feature)
        for k in tl.static_range(3):
            tl.store(here + (_PLACE + k) * room, tl.load(facts + 3 * at_feature + k))
        bits = codes.to(tl.int64) << (b % _WORD).to(tl.int64)
        for word in tl.static_range(4):
            part = tl.sum(tl.where(b // _WORD == word, bits, 0), 0)
            tl.store(here + (_WORDS + word) * room, part)
        total = tl.load(here + _TOTAL * room)
        residual = (total >> _WEIGHT_BITS).to(tl.float64)
        none = residual * residual / ((total & _ALL_WEIGHT).to(tl.float64) + tl.load(limits))
        is_able = (best > none * _FLOOR) & (tl.load(here + _LEVEL * room) < depth)
        gain = tl.where(is_able, best - none, -1.0)
        # A smaller gain than all on the way begins anew.
        is_kept = gain == gain
        for key in tl.static_range(_N_KEYS):
            least = tl.load(reached + key * room + node)
            is_least = is_kept & (gain < least)
            tl.store(reached + key * room + node, tl.where(is_least, gain, least))
            if key > 0:
                tl.store(reached + key * room + node, float("inf"), mask=is_kept == 0)
            is_kept = is_kept & (is_least == 0)


class GpuRows(GrowingRows):
    """Rows on a GPU, with the histograms of nodes not yet split.

    Parameters
    ----------
    codes : uint8 tensor of shape (n_columns, n_rows)
    features : int64 tensor of shape (6, n_features)
        Columns, first codes, default bins, numbers of bins without and with missing values, and
        whether a feature is categorical.
    limits : tuple
        The smoothing and the smallest weight of a leaf, in units, and whether there are categories.
    rules : Rules
    device : HostDevice
    """

    def __init__(
        self,
        codes: Tensor,
        features: Tensor,
        limits: tuple[float, float, bool],
        rules: Rules,
        device: HostDevice,
    ) -> None:
        self._codes = codes
        self._features = features
        self._device = device
        self._rules = rules
        self._smoothing, least, self._has_categories = limits
        # As an array: Triton rounds scalar arguments to single precision.
        self._limits = device.put(np.array([self._smoothing, least]))
        n_features = features.shape[1]
        n_columns, n_rows = codes.shape
        #: Splits in a round.
        self._most = max(1, min(_ROOM, _AT_ONCE // (N_BINS * max(n_columns, n_features))))
        self._n_rounds = _ROUNDS
        #: The table as the host knows it.
        self._known: Rows | None = None
        #: The node of each row.
        self.row_nodes = features.new_empty(n_rows, dtype=torch.int32)
        self._steps = features.new_empty(n_rows)
        #: A round, which takes far less time to launch as a graph.
        self._graph: Any = None
        self._table = features.new_empty((_N_FACTS, 0))
        self._sums = features.new_empty((0, n_columns * N_BINS))
        self._goes_left = codes.new_empty((0, N_BINS))
        self._make_room(max(_ROOM, 4 * rules.max_leaves))
        self._copies = features.new_zeros((max(_COPIES, self._most), n_columns * N_BINS))
        #: Of the new nodes of a round.
        self._scores = self._limits.new_empty((2 * self._most, n_features))
        self._facts = features.new_empty((2 * self._most, n_features, 3))
        self._tables = codes.new_empty((2 * self._most, n_features, N_BINS))

    def _make_room(self, room: int) -> None:
        """Make room for so many nodes."""
        self._table = _enlarged(self._table.T, room).T.contiguous()
        self._sums = _enlarged(self._sums, room // 2 + 1)
        self._goes_left = _enlarged(self._goes_left, room)
        self._graph = None

    @property
    def _reached(self) -> Tensor:
        return self._table[_REACHED.value : _REACHED.value + _N_KEYS.value].view(torch.float64)

    def begin(self, steps: Tensor) -> None:
        """Begin a tree with the sums of all rows, `steps`, at the root."""
        self._steps.copy_(steps)
        if self._known is not None:
            # It is about as deep as the last one.
            self._n_rounds = 2 + int(self._known[_STATE.value, 4])
        self.row_nodes.zero_()
        self._table.zero_()
        self._table[_TOTAL.value, :1] = steps.sum()
        self._reached[:, :1].fill_(np.inf)
        # A round whose only split sends all rows left, and so to the root.
        for place, number in enumerate((1, 0, 1, 1)):
            self._table[_STATE.value, place : place + 1].fill_(number)
        self._goes_left[:1].fill_(1)
        self._open()
        self._advance(self._n_rounds)

    def split(self, wanted: Rows) -> None:
        room = self._table.shape[1]
        if len(self.nodes.totals) + 2 > room:
            self._make_room(2 * room)
        self._table[_ASKED.value, self._device.put(wanted, "int64")] = 1
        self._advance(_MORE)

    def _advance(self, n_rounds: int) -> None:
        """Split what is likely to be in the tree, in rounds, and read what is known then."""
        for _ in range(n_rounds):
            if self._graph is not None:
                self._graph.replay()
                continue
            # The first round compiles the kernels, which a graph cannot.
            self._round()
            if self._table.is_cuda:
                self._graph = recorded(self._round)
        self._device.n_waits += 1
        self._known = known = self._table.cpu().numpy()
        self.nodes = self._nodes(known[:, : known[_STATE.value, 0]])

    def _round(self) -> None:
        table = self._table
        room = table.shape[1]
        n_inner = self._rules.max_leaves - 1 if self._rules.max_leaves else room
        _rank[(_PROGRAMS,)](
            *(table, self._reached, room),
            CHUNK=_CHUNK,
            OTHERS=_OTHERS,
        )
        _plan[(1,)](
            *(table, self._reached, room, n_inner, self._most),
            CHUNK=_NUMBERS,
        )
        self._open()

    def _open(self) -> None:
        """Send the rows of a round, and find the best splits of the new nodes."""
        n_columns, n_rows = self._codes.shape
        n_features = self._features.shape[1]
        n_numbers = n_columns * N_BINS
        table = self._table
        room = table.shape[1]
        _send_rows[(triton.cdiv(n_rows, _BLOCK),)](
            *(self._codes, self._steps, self.row_nodes, table, self._goes_left, self._copies),
            *(n_rows, n_columns, room),
            COPIES=_COPIES,
            BLOCK=_BLOCK,
            num_warps=_WARPS,
        )
        _settle[(triton.cdiv(n_numbers, _NUMBERS), _PROGRAMS)](
            *(self._copies, self._sums, table, n_numbers, room),
            COPIES=_COPIES,
            BLOCK=_NUMBERS,
        )
        _search[(n_features, _PROGRAMS)](
            *(self._sums, table, self._features, self._limits),
            *(self._scores, self._facts, self._tables, n_features, n_numbers, room),
            HAS_CATEGORIES=self._has_categories,
        )
        _take[(_PROGRAMS,)](
            *(self._scores, self._facts, self._tables, self._features, self._limits, table),
            *(table[_SCORE.value].view(torch.float64), self._reached),
            *(self._goes_left, n_features, room, self._rules.depth),
            WIDTH=triton.next_power_of_2(n_features),
            # Several would read gains that one of them has replaced.
            num_warps=1,
        )

    def _nodes(self, known: Rows) -> Nodes:
        """Return the nodes of a table."""
        totals, levels, children, feature, place, missing, left = known[:7]
        residual_sums = (totals >> WEIGHT_BITS).astype(np.float64)
        scores = known[_SCORE.value].view(np.float64)
        none = residual_sums * residual_sums / (weight_of(totals) + self._smoothing)
        splits = np.zeros(len(totals), SPLIT)
        splits["feature"] = np.where(scores > none * _FLOOR.value, feature, -1)
        splits["place"] = place
        splits["is_missing_left"] = missing
        splits["left"] = left
        splits["goes_left"] = known[_WORDS.value : _SCORE.value].view(np.uint64).T
        splits["score"] = scores - none
        nodes = Nodes.of(
            totals,
            levels,
            splits,
            self._rules,
        )
        nodes.children = np.ascontiguousarray(children)
        return nodes


def _enlarged(tensor: Tensor, n: int) -> Tensor:
    """Return a tensor with n rows, of which the new ones are zero."""
    more = tensor.new_zeros((n - len(tensor), *tensor.shape[1:]))
    return torch.cat([tensor, more])
