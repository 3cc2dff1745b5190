"""What trees grown in rounds ask of the compiled library, against plain loops."""

import heapq

import numpy as np
import pytest

from fcgboost import TreeDictionary, _kernels
from fcgboost._kernels import rounds
from fcgboost.backends.growth import WEIGHT_BITS, weight_of
from fcgboost.dictionaries.bins import N_BINS, Bins, bin_rows
from tests.suites.marks import also


def make_bins(seed: int, n: int = 200) -> tuple[Bins, np.ndarray, np.ndarray]:
    """Return bins and codes of two columns of few values, and residuals with weights."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, [8, 5], (n, 2)).astype(np.float64)
    bins, codes = bin_rows(X, np.zeros(2, bool))
    residuals = rng.integers(-50, 50, n)
    return bins, codes, (residuals << WEIGHT_BITS) + rng.integers(1, 4, n)


def histogram_of(codes: np.ndarray, sums: np.ndarray) -> np.ndarray:
    histogram = np.zeros((codes.shape[1], N_BINS), np.int64)
    for row, value in zip(codes, sums, strict=True):
        for j, code in enumerate(row):
            histogram[j, code] += value
    return histogram.ravel()


def score_of(total: int, smoothing: float) -> float:
    return float((total >> WEIGHT_BITS) ** 2 / (weight_of(np.int64(total)) + smoothing))


@pytest.mark.parametrize("seed", [0, *also(1, 2)])
@pytest.mark.parametrize("min_leaf", [1, 60])
def test_the_best_split_is_that_of_a_search_through_all(seed: int, min_leaf: int) -> None:
    bins, codes, sums = make_bins(seed)
    trees = TreeDictionary(3, min_leaf=min_leaf, smoothing=2.0)
    rules = trees.rules(3, _kernels.WeightUnit(1.0, True))
    # Of two nodes: the first half of the rows, and the second.
    halves = np.split(np.arange(len(sums)), 2)
    totals = np.array([sums[rows].sum() for rows in halves])
    histograms = np.array([histogram_of(codes[rows], sums[rows]) for rows in halves])
    splits = rounds.find_splits(_kernels.refer_to_bins(bins), rules, totals, histograms)
    for rows, total, split in zip(halves, totals, splits, strict=True):
        best = (0.0, -1, 0)
        for j in range(2):
            for place in range(bins.n_numbers[j] - 1):
                left = sums[rows][codes[rows, bins.column[j]] <= place].sum()
                right = total - left
                if min(weight_of(left), weight_of(right)) < min_leaf:
                    continue
                score = sum(score_of(side, 2.0) for side in (left, right)) - score_of(total, 2.0)
                if score > best[0]:
                    best = (score, j, place)
        assert best[1] >= 0
        assert (split["feature"], split["place"]) == best[1:]
        assert split["score"] == pytest.approx(best[0])
        codes_left = codes[rows, split["column"]] <= split["place"]
        assert split["left"] == sums[rows][codes_left].sum()


def test_a_node_too_light_for_two_leaves_has_no_split() -> None:
    bins, codes, sums = make_bins(0)
    rules = TreeDictionary(3, min_leaf=1000).rules(3, _kernels.WeightUnit(1.0, True))
    totals, histograms = np.array([sums.sum()]), histogram_of(codes, sums)[None]
    splits = rounds.find_splits(_kernels.refer_to_bins(bins), rules, totals, histograms)
    assert splits["feature"].tolist() == [-1]


def test_rows_go_to_the_children_of_their_nodes_and_one_child_is_added_up() -> None:
    bins, codes, sums = make_bins(3)
    nodes = np.random.default_rng(4).integers(0, 3, len(sums)).astype(np.int32)
    before = nodes.copy()
    splits = np.zeros(2, _kernels.SPLIT)
    splits["column"] = [0, 1]
    splits["goes_left"][:, 0] = [0b1011, 0b10]
    splits["children"] = [3, 5]
    splits["added"] = [0, 1]
    histograms = np.zeros((2, 2 * N_BINS), np.int64)
    held = _kernels.refer_to_bins(bins, codes)
    # Node 1 is not split.
    rounds.split_rows(held, np.array([0, -1, 1]), splits, sums, nodes, histograms)
    goes_left = np.where(before == 0, np.isin(codes[:, 0], [0, 1, 3]), codes[:, 1] == 1)
    expected = np.where(before == 1, 1, np.where(before == 0, 3, 5) + ~goes_left)
    np.testing.assert_array_equal(nodes, expected)
    for histogram, child in zip(histograms, (3, 6), strict=True):
        rows = nodes == child
        assert rows.any()
        np.testing.assert_array_equal(histogram, histogram_of(codes[rows], sums[rows]))


def plan_by_hand(
    max_leaves: int, gains: np.ndarray, children: np.ndarray
) -> tuple[list[int], list[int], list[int]]:
    """Return what `plan_tree` does, with the heap of the standard library."""
    order, lefts, wanted = [0], [0], list[int]()
    heap = [(-gains[0], 0)] if gains[0] >= 0.0 and max_leaves != 1 else []
    n_leaves = 1
    while heap and n_leaves != max_leaves:
        n_leaves += 1
        place = heapq.heappop(heap)[1]
        first = children[order[place]]
        if first == 0:
            wanted.append(order[place])
            continue
        lefts[place] = len(order)
        for child in (first, first + 1):
            if gains[child] >= 0.0:
                heapq.heappush(heap, (-gains[child] if max_leaves else 0.0, len(order)))
            order.append(int(child))
            lefts.append(0)
    return order, lefts, wanted


@pytest.mark.parametrize("max_leaves", [0, 1, 2, 5, 12, 100])
def test_a_plan_takes_the_best_splits_first_or_level_by_level(max_leaves: int) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        # Whole gains, some of them equal, and nodes that are not to be split.
        gains = rng.integers(-1, 6, 41).astype(np.float64)
        gains[0] = 3.0
        children = np.zeros(41, np.int64)
        for first in range(1, 41, 2):
            open_nodes = np.flatnonzero((gains >= 0.0) & (children == 0))
            open_nodes = open_nodes[open_nodes < first]
            if len(open_nodes) == 0:
                break
            children[rng.choice(open_nodes)] = first
        plan = rounds.plan_tree(max_leaves, gains, children)
        for part, expected in zip(plan, plan_by_hand(max_leaves, gains, children), strict=True):
            assert part.tolist() == expected
