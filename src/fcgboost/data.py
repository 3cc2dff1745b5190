"""Checked data, and how it is split: by the values of its rows, never by their order."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost import hashing
from fcgboost.inputs import Limits
from fcgboost.sums import ExactSum, power_above, totals_of
from fcgboost.validation import (
    Array,
    check_known_labels,
    check_labels,
    check_matrix,
    check_weights,
)

# Distinct rows of a class from which on some can be spared for validation.
_LEAST_ROWS = 4
# Equal rows are made one where this share of the rows is left at most.
_WORTH_MERGING = 0.75


@dataclass(frozen=True)
class Data:
    """Checked data, labels as codes."""

    X: Any
    codes: NDArray[np.intp]
    weights: Array

    @cached_property
    def words(self) -> hashing.Words:
        """The fingerprints of the rows, which many things ask for and take their time."""
        return hashing.fingerprint(self.X)

    def take(self, rows: NDArray[Any]) -> Data:
        """Return some of the rows."""
        return Data(self.X[rows], self.codes[rows], self.weights[rows])

    def within(self, limits: Limits | None) -> Data:
        """Return the rows clipped to limits."""
        X = self.X if limits is None else limits.apply(self.X)
        return self if X is self.X else replace(self, X=X)

    def merged(self) -> Data:
        """Return equal rows of a class as one that weighs as much, where there are many of them."""
        hashes = self.words ^ hashing.mix(self.codes.astype(np.uint64))
        distinct, first, groups = np.unique(hashes, return_index=True, return_inverse=True)
        if len(distinct) > _WORTH_MERGING * len(hashes):
            return self
        heaviest = float(self.weights.max())
        totals = totals_of(self.weights, groups, len(distinct), heaviest).value
        if not totals.all():
            # So light beside the heaviest that they are lost in units of it.
            return self
        return replace(self.take(first), weights=totals * power_above(heaviest))

    @cached_property
    def has_missing(self) -> bool:
        """Whether a value is NaN."""
        X = self.X
        return not sparse.issparse(X) and bool(np.isnan(X.sum())) and bool(np.isnan(X).any())

    def known(self) -> Any:
        """Return the rows with the median of their column for missing values."""
        if not self.has_missing:
            return self.X
        is_missing = np.isnan(self.X)
        medians = np.zeros(self.X.shape[1])
        is_there = ~is_missing.all(axis=0)
        medians[is_there] = np.nanmedian(self.X[:, is_there], axis=0)
        return np.where(is_missing, medians, self.X)

    def digest(self) -> hashing.Digest:
        """Return words for all rows with their labels and weights, in any order."""
        return hashing.Digest.of(self.words, self.codes, self.weights)


def check_labelled(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[NDArray[Any], Data]:
    """Check training data and give the classes and all rows, those of weight zero included."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    X = check_matrix(estimator, X, reset=True)
    classes, codes = check_labels(y)
    check_lengths("X and y", X.shape[0], len(codes))
    weights = check_weights(sample_weight, X.shape[0])
    check_some_weight(weights, "sample_weight")
    return classes, Data(X, codes, weights)


def check_data(
    estimator: Any, X: Any, y: Any, sample_weight: Any, given: tuple[Any, Any, Any]
) -> tuple[NDArray[Any], Data, Data | None]:
    """Check the data and give the classes, the training part and the validation part."""
    X_val, y_val, sample_weight_val = given
    if (X_val is None) != (y_val is None) or (X_val is None and sample_weight_val is not None):
        raise ValueError("Pass X_val and y_val together, and sample_weight_val only with them.")
    classes, data = check_labelled(estimator, X, y, sample_weight)
    classes, data = _keep_present_classes(classes, _weigh(data))
    if X_val is None:
        return classes, data, None
    try:
        X_val = check_matrix(estimator, X_val, reset=False, name="X_val")
    except ValueError as error:
        raise ValueError(f"X_val: {error}") from error
    codes = check_known_labels(y_val, classes)
    check_lengths("X_val and y_val", X_val.shape[0], len(codes))
    weights = check_weights(sample_weight_val, X_val.shape[0], "sample_weight_val")
    check_some_weight(weights, "sample_weight_val")
    return classes, data, _weigh(Data(X_val, codes, weights))


def check_lengths(names: str, first: int, second: int) -> None:
    """Raise a ValueError unless two numbers of rows agree."""
    if first != second:
        raise ValueError(f"{names} have {first} and {second} rows.")


def check_some_weight(weights: Array, name: str) -> None:
    """Raise a ValueError if no row weighs anything."""
    if not weights.any():
        raise ValueError(f"{name}: all weights are zero, there are no rows left.")


def _weigh(data: Data) -> Data:
    """Leave out rows of weight zero: a weight is a count."""
    kept = data.weights > 0.0
    return data if kept.all() else data.take(kept)


def _keep_present_classes(classes: NDArray[Any], data: Data) -> tuple[NDArray[Any], Data]:
    # Not by sorting: there may be millions of codes.
    is_present = np.bincount(data.codes, minlength=len(classes)) > 0
    present, codes = np.flatnonzero(is_present), (np.cumsum(is_present) - 1)[data.codes]
    if len(present) < 2:
        raise ValueError(
            f"y has only one class ({classes.tolist()[present[0]]!r}) among the rows of positive "
            "weight; a classifier needs at least two classes."
        )
    return classes[present], replace(data, codes=codes)


def split_data(data: Data, fraction: float, key: int) -> tuple[Data, Data]:
    """Set rows aside for validation."""
    is_validation = hash_split(data.words, data.codes, data.weights, fraction, key)
    if not is_validation.any():
        raise ValueError(
            f"validation_fraction={fraction} leaves no row for validation: every class keeps at "
            "least one distinct row for training."
        )
    return data.take(~is_validation), data.take(is_validation)


def can_be_split(data: Data, needs_all: bool = True) -> bool:
    """Whether every class, or two of them, have a few rows for training and for validation."""
    counts = [len(np.unique(data.words[data.codes == code])) for code in np.unique(data.codes)]
    n_large = sum(count >= _LEAST_ROWS for count in counts)
    return n_large == len(counts) if needs_all else n_large >= 2


def hash_split(
    words: hashing.Words, codes: NDArray[np.intp], weights: Array, fraction: float, key: int
) -> NDArray[np.bool_]:
    """Say which rows go to validation: of every class, those with the smallest keyed hashes.

    Equal rows of a class stay together, and weights count as repetitions, so the split does not
    depend on how the data is written down. Every class keeps at least one row for training. The
    words are the rows' fingerprints.
    """
    hashes = hashing.keyed(words, key)
    is_validation = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        distinct, groups = np.unique(hashes[rows], return_inverse=True)
        sizes = totals_of(weights[rows], groups, len(distinct), float(weights.max()))
        n_taken = _count_taken(sizes, fraction)
        is_validation[rows] = groups < min(n_taken, len(distinct) - 1)
    return is_validation


def _count_taken(sizes: ExactSum, fraction: float) -> int:
    """Return how many groups come before a share of all is reached; no rounding has a say in it."""
    high, low = np.cumsum(sizes.high), np.cumsum(sizes.low)
    wanted = fraction * float(int(high[-1]) * 2**31 + int(low[-1]))
    return 1 + bisect_left(
        range(len(high) - 1), wanted, key=lambda i: int(high[i]) * 2**31 + int(low[i])
    )


def hash_folds(
    X: Any, y: NDArray[Any], n_folds: int, key: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return stratified folds that do not depend on row order, weights or repetition.

    There are fewer folds where no class has that many distinct rows: none is ever empty.
    """
    hashes = hashing.keyed(hashing.fingerprint(X), key)
    classes, codes = np.unique(y, return_inverse=True)
    places, sizes = np.empty_like(codes), []
    for code, label in enumerate(classes.tolist()):
        rows = np.flatnonzero(codes == code)
        distinct, places[rows] = np.unique(hashes[rows], return_inverse=True)
        sizes.append(len(distinct))
        if len(distinct) < 2:
            raise ValueError(
                f"Class {label!r} has only one distinct row: it cannot be in the training part "
                f"of all {n_folds} folds. Remove the class, or pass cv as a splitter."
            )
    n_folds = min(n_folds, max(sizes))
    # Classes start at different folds, so that small ones do not all miss the same.
    folds = (places + codes) % n_folds
    return [(np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in range(n_folds)]
