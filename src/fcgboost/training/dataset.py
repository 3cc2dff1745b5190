"""Checked data, and how it is split: by the values of its rows, never by their order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost import hashing
from fcgboost.clipping import Limits
from fcgboost.training import checks
from fcgboost.training.checks import Array

# Distinct rows of a class from which on some can be spared for validation.
_LEAST_ROWS = 4


@dataclass(frozen=True)
class DataSet:
    """Checked rows with their classes as codes, positive weights, and fingerprints.

    `written` are the rows as the user wrote them, if wanted; `places` says which row each is.
    """

    X: Any
    codes: NDArray[np.intp]
    weights: Array
    words: hashing.Words
    written: DataSet | None = None
    places: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, X: Any, codes: NDArray[np.intp], weights: Array) -> DataSet:
        """Return rows of positive weight in their order."""
        kept = weights > 0.0
        if not kept.all():
            X, codes, weights = X[kept], codes[kept], weights[kept]
        return cls(X, codes, weights, hashing.fingerprint(X))

    def canonical(self, keeps_written: bool = False) -> DataSet:
        """Return the rows in the order of fingerprints, classes and weights, equal ones as one.

        Ordinary sums then depend neither on the order in which rows were written nor on whether a
        row was written twice or has the weight 2.
        """
        order = np.argsort(self.words, kind="stable")
        if (np.diff(self.words[order]) == 0).any():
            order = np.lexsort((self.weights, self.codes, self.words))
        is_first = np.append(True, ~self._equal(order[1:], order[:-1]))
        first = order[is_first]
        weights = np.add.reduceat(self.weights[order], np.flatnonzero(is_first))
        places = np.empty_like(order)
        places[order] = np.cumsum(is_first) - 1
        canonical = DataSet(self.X[first], self.codes[first], weights, self.words[first])
        return replace(canonical, written=self, places=places) if keeps_written else canonical

    def _equal(self, some: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Say whether rows equal others in all their values and in their class."""
        equal = self.words[some] == self.words[others]
        equal &= self.codes[some] == self.codes[others]
        found = np.flatnonzero(equal)
        if len(found):
            X, Z = self.X[some[found]], self.X[others[found]]
            if sparse.issparse(X):
                equal[found] = np.asarray((X != Z).sum(axis=1)).ravel() == 0
            else:
                equal[found] = ((X == Z) | (np.isnan(X) & np.isnan(Z))).all(axis=1)
        return np.asarray(equal)

    def take(self, mask: NDArray[np.bool_]) -> DataSet:
        """Return some of the rows."""
        part = DataSet(self.X[mask], self.codes[mask], self.weights[mask], self.words[mask])
        if self.written is None or self.places is None:
            return part
        kept = mask[self.places]
        places = (np.cumsum(mask) - 1)[self.places[kept]]
        return replace(part, written=self.written.take(kept), places=places)

    @property
    def as_scored(self) -> DataSet:
        """The rows as a score sees them: a function of the user's, as they were written."""
        return self if self.written is None else self.written

    def within(self, limits: Limits | None) -> DataSet:
        """Return the rows clipped to limits; draws go by what they were, which no limit rounds."""
        X = self.X if limits is None else limits.apply(self.X)
        return self if X is self.X else replace(self, X=X)

    @cached_property
    def has_missing(self) -> bool:
        """Whether a value is NaN."""
        X = self.X
        return not sparse.issparse(X) and bool(np.isnan(X.sum())) and bool(np.isnan(X).any())

    def imputed(self) -> Any:
        """Return X with the median of their column for missing values."""
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


def check_labelled(
    estimator: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[NDArray[Any], Any, NDArray[np.intp], Array]:
    """Check training data and return the classes, X, codes and weights, zeros among them."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    X = checks.check_matrix(estimator, X, reset=True)
    classes, codes = checks.check_labels(y)
    return classes, X, codes, _weights_of(X, codes, sample_weight)


def check_data(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    given: tuple[Any, Any, Any],
    keeps_written: bool = False,
) -> tuple[NDArray[Any], DataSet, DataSet | None]:
    """Check the data and return the classes, the training part and the validation part."""
    X_val, y_val, sample_weight_val = given
    if (X_val is None) != (y_val is None) or (X_val is None and sample_weight_val is not None):
        raise ValueError("Pass X_val and y_val together, and sample_weight_val only with them.")
    classes, *labelled = check_labelled(estimator, X, y, sample_weight)
    classes, data = _keep_present_classes(classes, DataSet.of(*labelled))
    data = data.canonical(keeps_written)
    if X_val is None:
        return classes, data, None
    try:
        X_val = checks.check_matrix(estimator, X_val, reset=False, name="X_val")
    except ValueError as error:
        raise ValueError(f"X_val: {error}") from error
    codes = checks.check_known_labels(y_val, classes)
    weights = _weights_of(X_val, codes, sample_weight_val, "_val")
    return classes, data, DataSet.of(X_val, codes, weights).canonical(keeps_written)


def _weights_of(X: Any, codes: NDArray[np.intp], weights: Any, ending: str = "") -> Array:
    if X.shape[0] != len(codes):
        raise ValueError(f"X{ending} and y{ending} have {X.shape[0]} and {len(codes)} rows.")
    weights = checks.check_weights(weights, X.shape[0], f"sample_weight{ending}")
    check_some_weight(weights, f"sample_weight{ending}")
    return np.asarray(weights)


def check_some_weight(weights: Array, name: str) -> None:
    """Raise a ValueError if no row weighs anything."""
    if not weights.any():
        raise ValueError(f"{name}: all weights are zero, there are no rows left.")


def _keep_present_classes(classes: NDArray[Any], data: DataSet) -> tuple[NDArray[Any], DataSet]:
    # Not by sorting: there may be millions of codes.
    is_present = np.bincount(data.codes, minlength=len(classes)) > 0
    present, codes = np.flatnonzero(is_present), (np.cumsum(is_present) - 1)[data.codes]
    if len(present) < 2:
        raise ValueError(
            f"y has only one class ({classes.tolist()[present[0]]!r}) among the rows of positive "
            "weight; a classifier needs at least two classes."
        )
    return classes[present], replace(data, codes=codes)


def split_data(data: DataSet, fraction: float, key: int) -> tuple[DataSet, DataSet]:
    """Set rows aside for validation."""
    is_validation = hash_split(data.words, data.codes, data.weights, fraction, key)
    if not is_validation.any():
        raise ValueError(
            f"validation_fraction={fraction} leaves no row for validation: every class keeps at "
            "least one distinct row for training."
        )
    return data.take(~is_validation), data.take(is_validation)


def can_be_split(data: DataSet, needs_all: bool = True) -> bool:
    """Whether every class, or two of them, have a few rows for training and for validation."""
    counts = [len(np.unique(data.words[data.codes == code])) for code in np.unique(data.codes)]
    n_large = sum(count >= _LEAST_ROWS for count in counts)
    return n_large == len(counts) if needs_all else n_large >= 2


def hash_split(
    words: hashing.Words, codes: NDArray[np.intp], weights: Array, fraction: float, key: int
) -> NDArray[np.bool_]:
    """Say which rows go to validation: of every class, those with the smallest keyed hashes.

    Equal rows of a class stay together. Every class keeps at least one row for training.
    """
    hashes, weights = hashing.keyed(words, key), counts_of(weights)
    is_validation = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        distinct, groups = np.unique(hashes[rows], return_inverse=True)
        sizes = np.cumsum(np.bincount(groups, weights[rows]))
        n_taken = 1 + int(np.searchsorted(sizes[:-1], fraction * sizes[-1]))
        is_validation[rows] = groups < min(n_taken, len(distinct) - 1)
    return is_validation


def counts_of(weights: Array) -> Array:
    """Return weights, or ones where all are equal: shares of those do not depend on rounding."""
    return np.ones_like(weights) if (weights == weights[0]).all() else weights


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
