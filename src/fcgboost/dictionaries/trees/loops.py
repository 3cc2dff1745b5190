"""The loops that numba compiles; nothing calls them as they are.

Arrays are those of `levels` and `nodes`, whose names they have.
"""

from __future__ import annotations

import numpy as np

from fcgboost.dictionaries.base import Array
from fcgboost.dictionaries.trees.binning import N_BINS, Codes
from fcgboost.dictionaries.trees.levels import Flags, Indices
from fcgboost.dictionaries.trees.nodes import N_CODES, Integers

# Rows whose inputs stay in the fastest cache while trees pass by, and rows that walk side by side:
# each step waits for the memory, and the others go on meanwhile.
_BLOCK, _LANES = 128, 16


def sums(
    codes: Codes,
    offsets: Integers,
    order: Indices,
    starts: Integers,
    pull: Array,
    weight: Array,
    before: Array,
    parents: Integers,
    members: Array,
    sums: Array,
) -> None:
    """Fill the sums of pairs of siblings, or of one node after the other."""
    step = 2 if len(parents) > 0 else 1
    for first in range(0, len(starts) - 1, step):
        small, large = first, first + step - 1
        if starts[large + 1] - starts[large] < starts[small + 1] - starts[small]:
            small, large = large, small
        rows = order[starts[small] : starts[small + 1]]
        for i in range(len(rows)):
            members[i, 0], members[i, 1] = pull[rows[i]], weight[rows[i]]
        for j in range(len(offsets) - 1):
            own, bins = sums[small, offsets[j] : offsets[j + 1]], codes[j]
            own[:] = 0.0
            for i in range(len(rows)):
                place = bins[rows[i]]
                own[place, 0] += members[i, 0]
                own[place, 1] += members[i, 1]
        if large != small:
            above, one, other = before[parents[first // 2]], sums[small], sums[large]
            for place in range(len(above)):
                other[place, 0] = above[place, 0] - one[place, 0]
                other[place, 1] = above[place, 1] - one[place, 1]


def split(
    sums: Array,
    offsets: Integers,
    n_numbers: Integers,
    is_category: Flags,
    first_feature: int,
    smoothing: float,
    min_leaf: float,
    totals: Array,
    score: Array,
    feature: Integers,
    place: Integers,
    left: Array,
    is_missing_left: Flags,
    table: Flags,
) -> None:
    """Improve the splits of all nodes by the features of a block."""
    room = np.empty((6, N_BINS))
    ranks = np.empty(N_BINS, np.int64)
    for k in range(len(sums)):
        if totals[k, 1] < 2.0 * min_leaf:
            continue
        for j in range(len(offsets) - 1):
            own, n = sums[k, offsets[j] : offsets[j + 1]], n_numbers[j]
            missing_pull = own[n, 0] if len(own) > n else 0.0
            missing_weight = own[n, 1] if len(own) > n else 0.0
            n_ranks = rank(own, n, is_category[j], smoothing, ranks, room)
            top, best, is_left = scan(
                *(room, n_ranks, missing_pull, missing_weight, totals[k, 0], totals[k, 1]),
                *(smoothing, min_leaf, score[k]),
            )
            if best < 0:
                continue
            score[k], feature[k], place[k] = top, first_feature + j, best
            left[k, 0] = room[0, best] + (missing_pull if is_left else 0.0)
            left[k, 1] = room[1, best] + (missing_weight if is_left else 0.0)
            if missing_weight == 0.0:
                is_left = 2.0 * left[k, 1] >= totals[k, 1]
            is_missing_left[k] = is_left
            table[k] = is_left
            for at in range(n_ranks):
                table[k, ranks[at] if is_category[j] else at] = at <= best


def rank(
    own: Array, n: int, is_category: bool, smoothing: float, ranks: Integers, room: Array
) -> int:
    """Order the bins and add them up in that order; give how many there are.

    Levels are in the order of their mean residuals, those without rows are left out.
    """
    pull, weight, n_ranks = 0.0, 0.0, 0
    if not is_category:
        for code in range(n):
            pull += own[code, 0]
            weight += own[code, 1]
            room[0, code], room[1, code] = pull, weight
        return n
    means = room[2]
    for code in range(n):
        if own[code, 1] > 0.0:
            means[code] = own[code, 0] / (own[code, 1] + smoothing)
            at = n_ranks
            while at > 0 and means[ranks[at - 1]] > means[code]:
                ranks[at] = ranks[at - 1]
                at -= 1
            ranks[at] = code
            n_ranks += 1
    for at in range(n_ranks):
        pull += own[ranks[at], 0]
        weight += own[ranks[at], 1]
        room[0, at], room[1, at] = pull, weight
    return n_ranks


def scan(
    room: Array,
    n_ranks: int,
    missing_pull: float,
    missing_weight: float,
    pull: float,
    weight: float,
    smoothing: float,
    min_leaf: float,
    top: float,
) -> tuple[float, int, bool]:
    """Give the score, the place and the side of missing values of a split better than `top`."""
    best, is_left = -1, False
    for side in range(2 if missing_weight > 0.0 else 1):
        for at in range(n_ranks):
            a, b = room[0, at] + side * missing_pull, room[1, at] + side * missing_weight
            c, d = pull - a, weight - b
            found = a * a / (b + smoothing) + c * c / (d + smoothing)
            room[3 + side, at] = found if (b >= min_leaf) & (d >= min_leaf) else -1.0
    for at in range(n_ranks):
        if missing_weight > 0.0 and room[4, at] > top:
            top, best, is_left = room[4, at], at, True
        if room[3, at] > top:
            top, best, is_left = room[3, at], at, False
    return top, best, is_left


def gains(
    sums: Array,
    offsets: Integers,
    n_numbers: Integers,
    ranks: Integers,
    smoothing: float,
    min_leaf: float,
    totals: Array,
    parents: Array,
    gains: Array,
) -> None:
    """Add the gains of splits that nodes share; ranks of all features stand in one line."""
    lefts, first = np.empty((N_BINS, 2)), 0
    for j in range(len(n_numbers)):
        n = n_numbers[j]
        order = ranks[first : first + n]
        first += n
        for k in range(len(sums)):
            own = sums[k, offsets[j] : offsets[j + 1]]
            pull, weight = 0.0, 0.0
            for at in range(n):
                pull += own[order[at], 0]
                weight += own[order[at], 1]
                lefts[at, 0], lefts[at, 1] = pull, weight
            has_missing = len(own) > n
            for side in range(0 if has_missing else 1, 2):
                more = 1.0 - side if has_missing else 0.0
                for at in range(n):
                    a = lefts[at, 0] + (more * own[n, 0] if has_missing else 0.0)
                    b = lefts[at, 1] + (more * own[n, 1] if has_missing else 0.0)
                    c, d = totals[k, 0] - a, totals[k, 1] - b
                    gain = a * a / (b + smoothing) + c * c / (d + smoothing) - parents[k]
                    gains[j, at, side] += gain if (b >= min_leaf) & (d >= min_leaf) else 0.0


def part(
    codes: Codes,
    order: Indices,
    starts: Integers,
    feature: Integers,
    table: Flags,
    slots: Integers,
    new_order: Indices,
    new_starts: Integers,
) -> None:
    """Bring rows to new nodes: those of the left side from the front, others from the back."""
    first = np.int64(0)
    for k in range(len(starts) - 1):
        bins, goes_left = codes[max(feature[k], 0)], table[k]
        rows = order[starts[k] : starts[k + 1]]
        left, right = first, first + len(rows)
        if slots[k, 0] >= 0 and slots[k, 1] >= 0:
            first = right
            for i in range(len(rows)):
                is_left = np.int64(goes_left[bins[rows[i]]])
                right -= 1 - is_left
                new_order[right + (left - right) * is_left] = rows[i]
                left += is_left
        elif slots[k, 0] >= 0 or slots[k, 1] >= 0:
            for i in range(len(rows)):
                if slots[k, goes_left[bins[rows[i]]]] >= 0:
                    new_order[first] = rows[i]
                    first += np.int64(1)
            left = first
        if slots[k, 1] >= 0:
            new_starts[slots[k, 1] + 1] = left
        if slots[k, 0] >= 0:
            new_starts[slots[k, 0] + 1] = first


def walk(
    X: Array,
    feature: Integers,
    left: Integers,
    threshold: Array,
    leaf: Array,
    mask: Integers,
    is_missing_right: Flags,
    is_category: Flags,
    roots: Integers,
    depths: Integers,
    has_categories: bool,
    values: Array,
) -> None:
    """Fill the values, row block by row block."""
    nodes = np.empty(_LANES, np.int64)
    for start in range(0, len(X), _BLOCK):
        for tree in range(len(roots)):
            for first in range(start, min(start + _BLOCK, len(X)), _LANES):
                n_lanes = min(_LANES, len(X) - first)
                nodes[:] = roots[tree]
                for _ in range(depths[tree]):
                    for lane in range(n_lanes):
                        node = nodes[lane]
                        x = X[first + lane, feature[node]]
                        is_right = (x > threshold[node]) | ((x != x) & is_missing_right[node])
                        if has_categories and is_category[node]:
                            is_right = goes_right(x, mask[node], is_missing_right[node])
                        nodes[lane] = left[node] + is_right
                for lane in range(n_lanes):
                    values[first + lane, tree] = leaf[nodes[lane]]


def goes_right(x: float, mask: int, is_missing_right: bool) -> bool:
    """Whether a category goes right."""
    if not (x >= 0.0 and x < N_CODES and x == np.floor(x)):
        return is_missing_right
    return bool((mask >> np.int64(x)) & 1 == 0)
