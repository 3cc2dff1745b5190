"""Folds: how many there are, which rows share one, and what they do not depend on."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, RepeatedKFold, TimeSeriesSplit

from fcgboost import hashing
from fcgboost.training.dataset import DataSet
from fcgboost.training.folds import (
    SHARE,
    check_groups,
    group_folds,
    hash_folds,
    n_folds_for,
    one_split,
    users_splits,
)


@pytest.mark.parametrize(
    ("n_entries", "n_folds", "n_folds_of_several"),
    [
        (1, 8, 8),
        (60_000, 8, 8),
        (60_002, 5, 5),
        (400_000, 5, 5),
        (400_002, 5, 3),
        (2_500_000, 5, 3),
        (2_500_002, 3, 3),
        (16_000_000, 3, 3),
        (16_000_002, 1, 1),
        (10**9, 1, 1),
    ],
)
def test_few_rows_have_more_folds_and_very_many_one_part(
    n_entries: int, n_folds: int, n_folds_of_several: int
) -> None:
    assert n_folds_for(n_entries, 1, 1) == n_folds
    assert n_folds_for(1, n_entries, 1) == n_folds
    assert n_folds_for(1, max(1, n_entries // 2), 2) == n_folds_of_several


@given(st.integers(1, 10**4), st.integers(1, 200), st.integers(1, 50))
def test_more_rows_columns_or_classes_never_have_more_folds(n: int, d: int, c: int) -> None:
    n_folds = n_folds_for(n, d, c)
    assert n_folds_for(2 * n, d, c) == n_folds_for(n, 2 * d, c)
    assert max(n_folds_for(2 * n, d, c), n_folds_for(n, d, 2 * c)) <= n_folds


def make_rows(seed: int, n_rows: int, n_classes: int) -> DataSet:
    """Give rows of few distinct values, of which many are equal, each class at least once."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n_rows, 2)).astype(float)
    codes = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)])
    return DataSet.of(X, codes, np.ones(n_rows))


def naive_folds(rows: DataSet, n_folds: int, key: int) -> list[int]:
    """Return the fold of each row: its rank in its class plus the class, -1 for lone rows."""
    distinct: dict[int, list[int]] = {}
    hashes = [
        int(hashing.mix(int(one) ^ hashing.derive(key, 0))) for one in rows.row_hashes.tolist()
    ]
    for code, value in zip(rows.target.tolist(), hashes, strict=True):
        values = distinct.setdefault(code, [])
        if value not in values:
            values.append(value)
    folds = []
    for code, value in zip(rows.target.tolist(), hashes, strict=True):
        values = sorted(distinct[code])
        folds.append((values.index(value) + code) % n_folds if len(values) > 1 else -1)
    # Without empty ones.
    filled = sorted({*folds} - {-1})
    return [filled.index(fold) if fold >= 0 else -1 for fold in folds]


def folds_of(splits: list[Any], n_rows: int) -> list[int]:
    folds = np.full(n_rows, -1)
    for i, split in enumerate(splits):
        assert (folds[split.test] == -1).all()
        folds[split.test] = i
    return folds.tolist()


data_sets = st.tuples(st.integers(0, 10**6), st.integers(6, 60), st.integers(2, 5))


@given(data_sets, st.integers(2, 8), st.integers(0, 2**31))
@example((3, 6, 5), 8, 0)
def test_folds_are_ranks_of_hashes_in_a_class(parameters: Any, n_folds: int, key: int) -> None:
    rows = make_rows(*parameters)
    splits = hash_folds(rows, n_folds, key)
    expected = naive_folds(rows, n_folds, key)
    found = folds_of(splits, len(rows.target))
    assert found == expected
    for split in splits:
        assert len(split.test) > 0
        assert sorted([*split.train, *split.test]) == list(range(len(rows.target)))
        # No training part lacks a class.
        assert set(rows.target[split.train]) == set(rows.target)


@given(data_sets, st.integers(2, 8))
def test_equal_rows_of_a_class_share_a_fold(parameters: Any, n_folds: int) -> None:
    rows = make_rows(*parameters)
    folds = folds_of(hash_folds(rows, n_folds, 7), len(rows.target))
    by_row: dict[Any, set[int]] = {}
    for row, code, fold in zip(rows.X.tolist(), rows.target.tolist(), folds, strict=True):
        by_row.setdefault((*row, code), set()).add(fold)
    assert all(len(own) == 1 for own in by_row.values())


@given(data_sets, st.integers(2, 8), st.randoms(use_true_random=False))
def test_folds_do_not_depend_on_order_or_repetition(
    parameters: Any, n_folds: int, random: Any
) -> None:
    rows = make_rows(*parameters)
    n = len(rows.target)
    folds = folds_of(hash_folds(rows, n_folds, 3), n)
    order = np.array(random.sample([*range(n), *range(n)], 2 * n))
    again = DataSet.of(rows.X[order], rows.target[order], np.ones(2 * n))
    assert folds_of(hash_folds(again, n_folds, 3), 2 * n) == [folds[i] for i in order]


def test_a_class_of_one_distinct_row_is_always_trained_on() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0], [9.0], [9.0]])
    rows = DataSet.of(X, np.array([0, 0, 1, 1, 2, 2]), np.ones(6))
    splits = hash_folds(rows, 5, 0)
    assert len(splits) == 3
    for split in splits:
        assert {4, 5} <= set(split.train.tolist())


@pytest.mark.parametrize("n_rows", [2, 3, 5, 8, 9])
def test_classes_of_few_rows_miss_different_folds(n_rows: int) -> None:
    X = np.random.default_rng(0).random((40 * n_rows, 2))
    codes = np.arange(len(X)) % 40
    splits = hash_folds(DataSet.of(X, codes, np.ones(len(X))), 8, 0)
    assert len(splits) == 8
    for split in splits:
        counts = np.bincount(codes[split.train], minlength=40)
        assert counts.min() >= n_rows - 1 - n_rows // 9
        assert len(split.test) == 5 * n_rows
    # Each fold holds out the rows of few classes.
    assert all(len(set(codes[split.test])) == min(5 * n_rows, 40) for split in splits)


def test_without_two_distinct_rows_of_a_class_there_are_no_folds() -> None:
    rows = DataSet.of(np.array([[0.0], [1.0], [1.0]]), np.array([0, 1, 1]), np.ones(3))
    assert hash_folds(rows, 5, 0) == []
    assert one_split(rows, 0) == []


@given(st.integers(0, 10**6), st.integers(40, 200))
def test_one_split_holds_out_a_quarter_of_each_class(seed: int, n_rows: int) -> None:
    rng = np.random.default_rng(seed)
    rows = DataSet.of(rng.random((n_rows, 2)), np.arange(n_rows) % 3, np.ones(n_rows))
    (split,) = one_split(rows, seed)
    assert sorted([*split.train, *split.test]) == list(range(n_rows))
    for code in range(3):
        size = int((rows.target == code).sum())
        assert SHARE * size <= (rows.target[split.test] == code).sum() < SHARE * size + 1


@given(st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=50), st.integers(2, 6))
def test_rows_of_a_group_share_a_fold(groups: list[str], n_folds: int) -> None:
    n_groups = len(set(groups))
    # A single class, which every fold has.
    codes = np.zeros(len(groups), dtype=np.intp)
    if n_groups < 2:
        with pytest.raises(ValueError, match="groups has one group only"):
            group_folds(np.array(groups), codes, n_folds, 0)
        return
    splits = group_folds(np.array(groups), codes, n_folds, 0)
    assert len(splits) == min(n_folds, n_groups)
    folds = folds_of(splits, len(groups))
    by_group = {
        group: {f for f, g in zip(folds, groups, strict=True) if g == group} for group in groups
    }
    assert all(len(own) == 1 for own in by_group.values())
    sizes = np.bincount([min(own) for own in by_group.values()])
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize(("share", "n_rows"), [(SHARE, 100), (0.01, 5), (0.5, 200), (0.999, 395)])
def test_one_part_has_a_share_of_the_groups(share: float, n_rows: int) -> None:
    groups = np.arange(400) // 5
    (split,) = group_folds(groups, np.arange(400) % 3, 1, 0, share)
    assert len(split.test) == n_rows
    assert not set(groups[split.train]) & set(groups[split.test])


def as_numbers(groups: np.ndarray) -> np.ndarray:
    return groups * 0.5


def as_texts(groups: np.ndarray) -> np.ndarray:
    # Wider where there are more of them.
    return np.array([f"{'ab'[g % 2] * (1 + g // 10)}{g}" for g in groups.tolist()])


def as_objects(groups: np.ndarray) -> np.ndarray:
    return as_texts(groups).astype(object)


def as_days(groups: np.ndarray) -> np.ndarray:
    return np.datetime64("2020-01-01") + groups


@pytest.mark.parametrize("named", [np.asarray, as_numbers, as_texts, as_objects, as_days])
@pytest.mark.parametrize("n_folds", [1, 3, 8])
def test_groups_that_do_not_count_change_nothing(named: Any, n_folds: int) -> None:
    groups = np.arange(120) // 6
    codes = np.arange(120) % 2
    for absent in ([0], [19], [3, 4, 11, 18]):
        is_counted = ~np.isin(groups, absent)
        alone = group_folds(named(groups[is_counted]), codes[is_counted], n_folds, 5)
        all_rows = group_folds(named(groups), np.where(is_counted, codes, -1), n_folds, 5)
        positions = np.flatnonzero(is_counted)
        for split, of_all in zip(alone, all_rows, strict=True):
            np.testing.assert_array_equal(
                positions[split.test], of_all.test[is_counted[of_all.test]]
            )
            # A group that does not count is judged as one.
            assert not set(groups[of_all.test]) & set(groups[of_all.train])


def test_groups_are_told_by_their_values() -> None:
    groups = np.arange(60) // 3
    codes = np.arange(60) % 2
    for same in (groups.astype(float), groups.astype(object)):
        for split, other in zip(
            group_folds(groups, codes, 4, 1), group_folds(same, codes, 4, 1), strict=True
        ):
            np.testing.assert_array_equal(split.test, other.test)
    # Equal numbers of different groups have other folds.
    moved = group_folds(groups + 1, codes, 4, 1)[0].test
    assert moved.tolist() != group_folds(groups, codes, 4, 1)[0].test.tolist()


def test_a_class_within_one_fold_is_always_trained_on() -> None:
    groups = np.arange(60) // 6
    codes = np.arange(60) % 2
    codes[groups == 4] = 2
    splits = group_folds(groups, codes, 3, 0)
    folds = np.array(folds_of(splits, 60))
    assert (folds[groups == 4] == -1).all()
    assert set(folds[groups != 4]) == {0, 1, 2}
    assert all(set(codes[split.train]) == {0, 1, 2} for split in splits)
    with pytest.raises(ValueError, match="Every class lies within the groups of one fold"):
        group_folds(codes, codes, 3, 0)


def test_groups_are_one_for_each_row_and_of_one_type() -> None:
    codes = np.zeros(10, dtype=np.intp)
    for n in (9, 11):
        with pytest.raises(ValueError, match=rf"groups has the shape \({n},\), but X has 10 rows"):
            check_groups(np.arange(n), 10)
    np.testing.assert_array_equal(check_groups(["a", "b"], 2), ["a", "b"])
    with pytest.raises(ValueError, match="pass numbers alone, or texts alone"):
        group_folds(np.array(["a", None] * 5, dtype=object), codes, 2, 0)


def test_no_splits_are_an_error() -> None:
    y = np.arange(12) % 2
    used_up = iter([(np.arange(6), np.arange(6, 12))])
    list(used_up)
    for cv in ([], used_up):
        with pytest.raises(ValueError, match="cv gives no split"):
            users_splits(cv, np.zeros((12, 1)), y, None)


@pytest.mark.parametrize(
    "cv", [KFold(3), TimeSeriesSplit(3), RepeatedKFold(n_splits=2, n_repeats=2, random_state=0)]
)
def test_splits_of_the_users_are_theirs(cv: Any) -> None:
    X = np.zeros((20, 1))
    y = np.arange(20) % 2
    expected = list(cv.split(X, y))
    for given_splits in (cv, expected, iter(expected)):
        splits = users_splits(given_splits, X, y, None)
        for split, (train, test) in zip(splits, expected, strict=True):
            np.testing.assert_array_equal(split.train, train)
            np.testing.assert_array_equal(split.test, test)


def test_masks_select_what_positions_do() -> None:
    mask = np.arange(12) % 3 == 0
    (split,) = users_splits([(~mask, mask)], np.zeros((12, 1)), np.arange(12) % 2, None)
    np.testing.assert_array_equal(split.train, np.flatnonzero(~mask))
    np.testing.assert_array_equal(split.test, np.flatnonzero(mask))
