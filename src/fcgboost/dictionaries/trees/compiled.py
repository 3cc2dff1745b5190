"""Growth and walks compiled by numba, where it is installed.

Everything runs in one thread and without Python's lock. Nothing is reordered or fused in the
formulas, so the bits are those of NumPy.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from functools import cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from fcgboost.compiling import compiled
from fcgboost.dictionaries.base import Array
from fcgboost.dictionaries.trees import loops
from fcgboost.dictionaries.trees.binning import N_BINS, Bins
from fcgboost.dictionaries.trees.levels import Engine, Groups, Rules, Splits
from fcgboost.dictionaries.trees.nodes import Forest, Integers

_COMPILING = Lock()


class _Compiled(NamedTuple):
    sums: Callable[..., None]
    split: Callable[..., None]
    gains: Callable[..., None]
    part: Callable[..., None]
    walk: Callable[..., None]


def is_available() -> bool:
    """Whether numba is installed, without importing it."""
    return importlib.util.find_spec("numba") is not None


def is_at_hand() -> bool:
    """Whether the compiled code is loaded, or loaded in no time because numba is."""
    return _compile_all.cache_info().currsize > 0 or "numba" in sys.modules


class CompiledEngine(Engine):
    """Compiled loops.

    What `sums` and `part` give is overwritten by the second call that follows: fresh memory would
    take as long as the work. So an engine serves one tree at a time.
    """

    def __init__(self) -> None:
        self._held: dict[tuple[str, bool], Any] = {}
        self._is_second = {"sums": False, "order": False, "members": False}

    def sums(
        self,
        bins: Bins,
        groups: Groups,
        block: slice,
        before: Array | None = None,
        parents: Integers | None = None,
    ) -> Array:
        """Add up the smaller of two siblings; the other is the rest."""
        offsets = bins.offsets[block.start : block.stop + 1] - bins.offsets[block.start]
        sums: Array = self._room("sums", 2 * len(groups) * int(offsets[-1])).reshape(
            len(groups), -1, 2
        )
        if before is None or parents is None:
            before, parents = np.empty((0, 0, 2)), np.empty(0, np.int64)
        members = self._room("members", 2 * len(groups.order)).reshape(-1, 2)
        rows = groups.order, groups.starts, groups.pull, groups.weight
        _compiled().sums(bins.codes[block], offsets, *rows, before, parents, members, sums)
        return sums

    def split(self, bins: Bins, sums: Array, block: slice, rules: Rules, splits: Splits) -> None:
        """Scan the bins of one node and feature after the other."""
        offsets = bins.offsets[block.start : block.stop + 1] - bins.offsets[block.start]
        about = bins.n_numbers[block], bins.is_category[block], block.start
        limits = float(rules.smoothing), float(rules.min_leaf)
        found = splits.score, splits.feature, splits.place, splits.left, splits.is_missing_left
        _compiled().split(sums, offsets, *about, *limits, splits.totals, *found, splits.table)

    def gains(
        self,
        bins: Bins,
        sums: Array,
        block: slice,
        rules: Rules,
        splits: Splits,
        ranks: Sequence[Integers],
    ) -> Array:
        """Scan the bins of one feature and node after the other."""
        offsets = bins.offsets[block.start : block.stop + 1] - bins.offsets[block.start]
        gains = np.zeros((block.stop - block.start, N_BINS, 2))
        about = offsets, bins.n_numbers[block], np.concatenate(ranks)
        limits = float(rules.smoothing), float(rules.min_leaf)
        _compiled().gains(sums, *about, *limits, splits.totals, splits.parents, gains)
        return gains

    def part(
        self, bins: Bins, groups: Groups, splits: Splits, slots: Integers, n_slots: int
    ) -> Groups:
        """Count the rows of every new node, then bring them there."""
        order = self._room("order", len(groups.order), np.int32)
        starts = np.zeros(n_slots + 1, np.int64)
        how = splits.feature, splits.table, slots
        _compiled().part(bins.codes, groups.order, groups.starts, *how, order, starts)
        return Groups(order[: starts[-1]], starts, groups.pull, groups.weight)

    def _room(self, name: str, size: int, kind: Any = np.float64) -> Any:
        """Give memory that was given for this name two calls ago, or more of it."""
        self._is_second[name] = not self._is_second[name]
        place = name, self._is_second[name]
        if place not in self._held or len(self._held[place]) < size:
            self._held[place] = np.empty(size, kind)
        return self._held[place][:size]


def walk(X: Array, forest: Forest) -> Array:
    """Give the leaves' values, of shape (n_rows, n_trees)."""
    values = np.empty((len(X), len(forest.roots)))
    tables = forest.feature, forest.left, forest.threshold, forest.leaf
    flags = forest.mask, forest.is_missing_right, forest.is_category
    trees = forest.roots, forest.depths, forest.has_categories
    _compiled().walk(X, *tables, *flags, *trees, values)
    return values


def load() -> None:
    """Load the compiled code, or compile it, now rather than at its first use."""
    _compiled()


def _compiled() -> _Compiled:
    # Threads that come first, at once, must not all compile.
    with _COMPILING:
        return _compile_all()


@cache
def _compile_all() -> _Compiled:
    from numba import boolean, float64, int32, int64, types, uint8, void
    from numba.extending import register_jitable

    for helper in (loops.rank, loops.scan, loops.goes_right):
        register_jitable(error_model="numpy")(helper)

    def given(kind: Any, n_axes: int) -> Any:
        return types.Array(kind, n_axes, "C", readonly=True)

    integers, numbers, codes = given(int64, 1), given(float64, 1), given(uint8, 2)
    rows = given(int32, 1), integers
    booleans, out, cube = given(boolean, 1), float64[::1], float64[:, :, ::1]
    found = out, int64[::1], int64[::1], float64[:, ::1], uint8[::1], uint8[:, ::1]
    sums = void(
        *(codes, integers, *rows, numbers, numbers, given(float64, 3), integers),
        *(float64[:, ::1], cube),
    )
    split = void(
        *(given(float64, 3), integers, integers, booleans, int64, float64, float64),
        *(given(float64, 2), *found),
    )
    gains = void(
        *(given(float64, 3), integers, integers, integers, float64, float64),
        *(given(float64, 2), numbers, cube),
    )
    part = void(codes, *rows, integers, codes, given(int64, 2), int32[::1], int64[::1])
    tables = integers, integers, numbers, numbers, integers, booleans, booleans
    walked = void(given(float64, 2), *tables, integers, integers, boolean, float64[:, ::1])
    return _Compiled(
        compiled(loops.sums, sums),
        compiled(loops.split, split),
        compiled(loops.gains, gains),
        compiled(loops.part, part),
        compiled(loops.walk, walked),
    )
