"""Checked data, and how it is split: by the values of its rows, never by their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from fcgboost import hashing
from fcgboost.clipping import Limits
from fcgboost.tables.columns import Column
from fcgboost.tables.encoder import is_table
from fcgboost.threads import cached
from fcgboost.training import checks
from fcgboost.training.checks import Array

#: Distinct rows of a class from which on some can be spared for validation.
LEAST_ROWS = 4


@dataclass(frozen=True)
class DataSet:
    """Checked rows with their classes as codes, positive weights, and fingerprints.

    `written` are the rows as the user wrote them, if wanted; `positions` says which row each is.
    """

    X: Any
    codes: NDArray[np.intp]
    weights: Array
    words: hashing.Words
    written: DataSet | None = None
    positions: NDArray[np.intp] | None = None

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
        order = hashing.order_of(self.words)
        words = self.words[order]
        is_first = np.append(True, words[1:] != words[:-1])
        # Hardly a word is there twice: classes and weights are sorted where one is.
        again = np.flatnonzero(~is_first)
        tied = np.flatnonzero(~(is_first & np.append(is_first[1:], True)))
        rows = order[tied]
        order[tied] = rows[np.lexsort((self.weights[rows], self.codes[rows], words[tied]))]
        is_first[again] = ~self._equal(order[again], order[again - 1])
        starts = np.flatnonzero(is_first)
        first, weights = order[starts], np.add.reduceat(self.weights[order], starts)
        canonical = DataSet(_rows(self.X, first), self.codes[first], weights, self.words[first])
        if not keeps_written:
            return canonical
        positions = np.empty_like(order)
        positions[order] = np.cumsum(is_first) - 1
        return replace(canonical, written=self, positions=positions)

    def _equal(self, some: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Say whether rows of one word equal others in all their values and in their class."""
        equal = self.codes[some] == self.codes[others]
        X, Z = self.X[some[equal]], self.X[others[equal]]
        if sparse.issparse(X):
            equal[equal] = np.asarray((X != Z).sum(axis=1)).ravel() == 0
        else:
            equal[equal] = ((X == Z) | (np.isnan(X) & np.isnan(Z))).all(axis=1)
        return np.asarray(equal)

    def take(self, mask: NDArray[np.bool_]) -> DataSet:
        """Return some of the rows."""
        at = np.flatnonzero(mask)
        part = DataSet(_rows(self.X, at), self.codes[at], self.weights[at], self.words[at])
        if self.written is None or self.positions is None:
            return part
        kept = mask[self.positions]
        positions = (np.cumsum(mask) - 1)[self.positions[kept]]
        return replace(part, written=self.written.take(kept), positions=positions)

    def within(self, limits: Limits | None) -> DataSet:
        """Return the rows clipped to limits; draws go by what they were, which no limit rounds."""
        return self if limits is None else replace(self, X=limits.apply(self.X))

    @cached
    def has_missing(self) -> bool:
        """Whether a value is NaN."""
        return not sparse.issparse(self.X) and bool(np.isnan(self.X).any())

    def medians(self) -> Array:
        """Return the medians of the columns, 0 where all values are missing."""
        X = np.where(np.isnan(self.X).all(axis=0), 0.0, self.X)
        return np.asarray(np.nanmedian(X, axis=0))

    def imputed(self, medians: Array | None = None) -> Any:
        """Return X with medians for missing values, those of these rows where none are given."""
        if not self.has_missing:
            return self.X
        return np.where(np.isnan(self.X), self.medians() if medians is None else medians, self.X)

    def digest(self) -> hashing.Digest:
        """Return words for all rows with their labels and weights, in any order."""
        return hashing.Digest.of(self.words, self.codes, self.weights)


def _rows(X: Any, at: NDArray[np.intp]) -> Any:
    """Return some rows; `take` is twice as fast as brackets, and sparse matrices lack it."""
    return X[at] if sparse.issparse(X) else X.take(at, axis=0)


class Data(NamedTuple):
    """The classes, the rows to train on, and those to validate on, if there are any.

    `readers` are the columns of a table that rows were read from; names, where these are numbers.
    """

    classes: NDArray[Any]
    train: DataSet
    validation: DataSet | None
    readers: Sequence[Column | str]


def check_labelled(
    estimator: Any, X: Any, y: Any, sample_weight: Any, known: NDArray[Any] | None = None
) -> tuple[NDArray[Any], Any, NDArray[np.intp], Array]:
    """Check data and return the classes, X, codes and weights, zeros among them.

    Validation data has known classes.
    """
    ending = "" if known is None else "_val"
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    if known is not None:
        checks.check_same_columns(estimator, X)
    try:
        X = checks.check_matrix(estimator, X, reset=known is None, name=f"X{ending}")
    except ValueError as error:
        if known is None:
            raise
        raise ValueError(f"X_val: {error}") from error
    classes, codes = checks.check_labels(y, known)
    if X.shape[0] != len(codes):
        raise ValueError(f"X{ending} and y{ending} have {X.shape[0]} and {len(codes)} rows.")
    weights = checks.check_weights(sample_weight, X.shape[0], f"sample_weight{ending}")
    check_some_weight(weights, f"sample_weight{ending}")
    return classes, X, codes, weights


def check_data(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    validation: tuple[Any, Any, Any],
    *,
    is_fold: bool = False,
) -> Data:
    """Check what a fit is given; functions of the user's see rows as they were written.

    Of the weights of a fold nothing is said that was said of all.
    """
    metrics = checks.named_metrics(estimator.metrics).values()
    keeps_written = any(map(callable, (estimator.scoring, *metrics)))
    X_val, y_val, sample_weight_val = validation
    if (X_val is None) != (y_val is None) or (X_val is None and sample_weight_val is not None):
        raise ValueError("Pass X_val and y_val together, and sample_weight_val only with them.")
    if sample_weight is not None and is_table(X):
        # What a column holds is not told by rows that do not count.
        weights = checks.check_weights(sample_weight, _num_samples(X))
        check_some_weight(weights, "sample_weight")
        kept = np.flatnonzero(weights)
        X, y, sample_weight = _safe_indexing(X, kept), _safe_indexing(y, kept), weights[kept]
    classes, *labelled = check_labelled(estimator, X, y, sample_weight)
    data = DataSet.of(*labelled)
    if not is_fold:
        checks.warn_of_shares(data.weights.sum(), len(data.weights))
    # Not by sorting: there may be millions of codes.
    is_present = np.bincount(data.codes, minlength=len(classes)) > 0
    classes, codes = classes[is_present], (np.cumsum(is_present) - 1)[data.codes]
    check_two_classes(classes)
    data = replace(data, codes=codes).canonical(keeps_written)
    if X_val is None:
        return Data(classes, data, None, readers_of(estimator))
    _, *labelled = check_labelled(estimator, X_val, y_val, sample_weight_val, classes)
    held_out = DataSet.of(*labelled).canonical(keeps_written)
    return Data(classes, data, held_out, readers_of(estimator))


def readers_of(estimator: Any) -> Sequence[Column | str]:
    """Return how the columns of a table are read, or the names of numbers."""
    if estimator._readers_ is not None:
        return estimator._readers_  # type: ignore[no-any-return]
    names = getattr(estimator, "feature_names_in_", None)
    count = range(estimator.n_features_in_)
    return [f"x{j}" for j in count] if names is None else [str(name) for name in names]


def check_two_classes(classes: NDArray[Any]) -> None:
    """Raise a ValueError if there is nothing to tell apart."""
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class ({classes.tolist()[0]!r}) among the rows of positive weight; a "
            "classifier needs at least two classes."
        )


def check_some_weight(weights: Array, name: str) -> None:
    """Raise a ValueError if no row weighs anything."""
    if not weights.any():
        raise ValueError(f"{name}: all weights are zero, there are no rows left.")


def split_data(data: DataSet, fraction: float, key: int) -> tuple[DataSet, DataSet]:
    """Set rows aside for validation: of every class, those with the smallest keyed hashes.

    Equal rows of a class stay together. Every class keeps at least one row for training.
    """
    hashes, weights = hashing.keyed(data.words, key), counts_of(data.weights)
    order, is_validation = hashing.order_of(hashes), np.zeros(len(hashes), dtype=bool)
    codes = data.codes[order]
    for code in np.flatnonzero(np.bincount(codes)):
        rows = order[np.flatnonzero(codes == code)]
        own = hashes[rows]
        groups = np.cumsum(np.append(False, own[1:] != own[:-1]))
        sizes = np.cumsum(np.bincount(groups, weights[rows]))
        n_taken = 1 + int(np.searchsorted(sizes[:-1], fraction * sizes[-1]))
        is_validation[rows] = groups < min(n_taken, len(sizes) - 1)
    if not is_validation.any():
        raise ValueError(
            f"validation_fraction={fraction} leaves no row for validation: every class keeps at "
            "least one distinct row for training."
        )
    return data.take(~is_validation), data.take(is_validation)


def thinned(data: DataSet, share: float, key: int = 0) -> DataSet:
    """Return a share of the rows by their keyed hashes, and at least one of every class."""
    return data if share >= 1.0 else split_data(data, 1.0 - share, key)[0]


def can_be_split(n_distinct: NDArray[np.intp], needs_all: bool) -> bool:
    """Whether every class, or two of them, have a few rows for training and for validation."""
    n_large = int((n_distinct >= LEAST_ROWS).sum())
    return n_large == np.count_nonzero(n_distinct) if needs_all else n_large >= 2


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
    ranks, sizes = np.empty_like(codes), []
    for code, label in enumerate(classes.tolist()):
        rows = np.flatnonzero(codes == code)
        distinct, ranks[rows] = np.unique(hashes[rows], return_inverse=True)
        sizes.append(len(distinct))
        if len(distinct) < 2:
            raise ValueError(
                f"Class {label!r} has only one distinct row: it cannot be in the training part "
                f"of all {n_folds} folds. Remove the class, or pass cv as a splitter."
            )
    n_folds = min(n_folds, max(sizes))
    # Classes start at different folds, so that small ones do not all miss the same.
    folds = (ranks + codes) % n_folds
    return [(np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in range(n_folds)]
