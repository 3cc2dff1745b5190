"""The folds of cross-fitting: which rows train a member, and which judge it."""

from __future__ import annotations

import math
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv

from fcgboost import hashing
from fcgboost.arrays import ClassLabels, Codes
from fcgboost.training.dataset import DataSet, held_out_rows
from fcgboost.training.settings import CrossValidation

__all__ = ["Split", "n_folds_for"]

# Small data have more folds: their members lack fewer of the rows, and paths take little time. The
# largest have one held-out part. Entries are rows times columns times outputs: how many two classes
# may have, and several, whose outputs each learn atoms of their own.
_FOLDS = (
    (60_000, 60_000, 8),
    (2_500_000, 400_000, 5),
    (16_000_000, 16_000_000, 3),
)
#: The share of the rows that are held out once.
SHARE = 0.25


class Split(NamedTuple):
    """The positions of the rows that train members, and of those that judge them."""

    train: Codes
    test: Codes


def n_folds_for(n_rows: int, n_columns: int, n_outputs: int) -> int:
    """Return the number of folds for distinct rows; 1 stands for one held-out part.

    Examples
    --------
    >>> [n_folds_for(m, 20, 1) for m in (1_000, 100_000, 200_000, 1_000_000)]
    [8, 5, 3, 1]
    """
    n_entries = n_rows * n_columns * n_outputs
    for most_of_two, most_of_several, n_folds in _FOLDS:
        if n_entries <= (most_of_two if n_outputs == 1 else most_of_several):
            return n_folds
    return 1


def one_split(rows: DataSet, key: int, share: float = SHARE) -> list[Split]:
    """Hold out a share of each stratum, if any has two distinct rows."""
    is_test = held_out_rows(rows, share, key)
    return [Split(np.flatnonzero(~is_test), np.flatnonzero(is_test))] if is_test.any() else []


def hash_folds(rows: DataSet, n_folds: int, key: int) -> list[Split]:
    """Return stratified folds that do not depend on row order, weights or repetition.

    Strata of few distinct rows are missing from some folds, each from others. Folds that would
    be empty are left out. Strata with one distinct row are in every training part.
    """
    hashes = hashing.keyed(rows.row_hashes, key)
    ranks = np.empty_like(rows.strata)
    sizes = np.zeros(rows.strata.max() + 1, dtype=np.intp)
    for stratum in range(len(sizes)):
        members = np.flatnonzero(rows.strata == stratum)
        distinct, ranks[members] = np.unique(hashes[members], return_inverse=True)
        sizes[stratum] = len(distinct)
    is_judged = sizes[rows.strata] > 1
    folds = np.full_like(rows.strata, -1)
    # Strata start at different folds, so that small ones do not all miss the same one.
    places = (ranks + rows.strata)[is_judged] % n_folds
    filled, folds[is_judged] = np.unique(places, return_inverse=True)
    return _splits(folds, len(filled))


def group_folds(
    groups: NDArray[np.generic],
    strata: Codes,
    n_folds: int,
    key: int,
    share: float = SHARE,
) -> list[Split]:
    """Return folds that keep groups together, by hashes of labels.

    1 fold is one part, with a share of the groups. Rows of a stratum that only one fold would hold
    out are in every training part. The stratum of rows that do not count is -1.
    """
    labels, numbers = _labels(groups)
    counted = np.unique(numbers[strata >= 0])
    n_groups = len(counted)
    if n_groups < 2:
        raise ValueError("groups has one group only: folds need at least two.")
    hashes = hashing.keyed(_label_hashes(labels), key)
    # Groups that do not count must not move others: the hash alone names their places.
    ranks = (hashes % np.uint64(n_groups)).astype(np.intp)
    ranks[counted[hashing.order_of(hashes[counted])]] = np.arange(n_groups)
    if n_folds == 1:
        is_train = ranks >= min(math.ceil(share * n_groups), n_groups - 1)
        folds = is_train[numbers].astype(np.intp)
    else:
        folds = ranks[numbers] % min(n_folds, n_groups)
    for stratum in range(strata.max() + 1):
        rows = np.flatnonzero(strata == stratum)
        if (folds[rows] == folds[rows[0]]).all():
            folds[rows] = -1
    if (folds[strata >= 0] < 0).all():
        raise ValueError(
            "Every class lies within the groups of one fold, so that no fold can be held out: use "
            "more groups, or leave them out."
        )
    return _splits(folds, min(n_folds, n_groups))


def check_groups(groups: ArrayLike, n_rows: int) -> NDArray[np.generic]:
    """Return the groups of so many rows as an array."""
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(f"groups has the shape {labels.shape}, but X has {n_rows} rows.")
    return labels


def group_hashes(groups: NDArray[np.generic]) -> hashing.Hashes:
    """Return the hash of each row's group."""
    labels, numbers = _labels(groups)
    return _label_hashes(labels)[numbers]


def _labels(groups: NDArray[np.generic]) -> tuple[NDArray[np.generic], Codes]:
    """Return the distinct groups, and their number for each row."""
    try:
        labels, numbers = np.unique(groups, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            f"groups cannot be sorted ({error}): pass numbers alone, or texts alone."
        ) from error
    return labels, numbers


def _label_hashes(labels: NDArray[np.generic]) -> hashing.Hashes:
    """Return a hash of each label's value, whichever others there are."""
    values = labels.tolist()
    if all(isinstance(value, Real) for value in values):
        return hashing.fingerprint(np.array(values, dtype=np.float64)[:, None])
    # Characters are columns; those past the end of a text are zero, and do not count.
    texts = np.array(list(map(str, values)))
    return hashing.fingerprint(texts.view(np.uint32).reshape(len(texts), -1))


def users_splits(
    cv: CrossValidation,
    X: object,
    y: ClassLabels,
    groups: NDArray[np.generic] | None,
) -> list[Split]:
    """Return the splits of a splitter or an iterable over the rows as given."""
    splits = [
        Split(_positions(train, len(y)), _positions(test, len(y)))
        for train, test in check_cv(cv).split(X, y, groups)
    ]
    if not splits:
        raise ValueError(
            "cv gives no split. A generator can be used once only: pass a list of its splits."
        )
    for number, split in enumerate(splits):
        if not len(split.test):
            raise ValueError(
                f"Fold {number} of cv holds out no row: leave it out, or give it rows."
            )
    return splits


def _positions(rows: ArrayLike, n_rows: int) -> Codes:
    """Return the positions that an index or a mask selects."""
    # An empty list is an array of floats.
    chosen = np.asarray(rows, dtype=None if np.size(rows) else np.intp)
    positions: Codes = np.arange(n_rows)[chosen]
    return positions


def _splits(folds: Codes, n_folds: int) -> list[Split]:
    return [Split(np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in range(n_folds)]
