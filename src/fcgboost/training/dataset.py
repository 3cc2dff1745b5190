"""Checked data, and splits that depend on the values of the rows, not on their order."""

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

#: The number of distinct rows of a class from which some can be held out.
LEAST_ROWS = 4


@dataclass(frozen=True)
class DataSet:
    """Checked rows with class codes, positive weights and fingerprints.

    `written` are the user's original rows, if needed, and `positions` maps them to these rows.
    """

    X: Any
    codes: NDArray[np.intp]
    weights: Array
    words: hashing.Words
    written: DataSet | None = None
    positions: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, X: Any, codes: NDArray[np.intp], weights: Array) -> DataSet:
        """Return the rows of positive weight."""
        kept = weights > 0.0
        if not kept.all():
            X, codes, weights = X[kept], codes[kept], weights[kept]
        return cls(X, codes, weights, hashing.fingerprint(X))

    def canonical(self, keeps_written: bool = False) -> DataSet:
        """Return the rows sorted by fingerprint, class and weight, with equal rows merged.

        Sums then depend neither on the order of the rows nor on whether a row is repeated or has
        the weight 2.
        """
        order = hashing.order_of(self.words)
        words = self.words[order]
        is_first = np.append(True, words[1:] != words[:-1])
        # Few words repeat; only those are sorted by class and weight.
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
        """Return whether rows with equal words have equal values and classes."""
        equal = self.codes[some] == self.codes[others]
        X, Z = self.X[some[equal]], self.X[others[equal]]
        if sparse.issparse(X):
            equal[equal] = np.asarray((X != Z).sum(axis=1)).ravel() == 0
        else:
            equal[equal] = ((X == Z) | (np.isnan(X) & np.isnan(Z))).all(axis=1)
        return np.asarray(equal)

    def take(self, mask: NDArray[np.bool_]) -> DataSet:
        at = np.flatnonzero(mask)
        part = DataSet(_rows(self.X, at), self.codes[at], self.weights[at], self.words[at])
        if self.written is None or self.positions is None:
            return part
        kept = mask[self.positions]
        positions = (np.cumsum(mask) - 1)[self.positions[kept]]
        return replace(part, written=self.written.take(kept), positions=positions)

    def within(self, limits: Limits | None) -> DataSet:
        """Return the rows clipped to limits; their fingerprints stay those of the raw rows."""
        return self if limits is None else replace(self, X=limits.apply(self.X))

    @cached
    def has_missing(self) -> bool:
        return not sparse.issparse(self.X) and bool(np.isnan(self.X).any())

    def medians(self) -> Array:
        """Return the medians of the columns, 0 if all values are missing."""
        X = np.where(np.isnan(self.X).all(axis=0), 0.0, self.X)
        return np.asarray(np.nanmedian(X, axis=0))

    def imputed(self, medians: Array | None = None) -> Any:
        """Return X with missing values replaced by medians, by default those of these rows."""
        if not self.has_missing:
            return self.X
        return np.where(np.isnan(self.X), self.medians() if medians is None else medians, self.X)

    def digest(self) -> hashing.Digest:
        """Return a digest of the rows, labels and weights that does not depend on their order."""
        return hashing.Digest.of(self.words, self.codes, self.weights)


def _rows(X: Any, at: NDArray[np.intp]) -> Any:
    """Return some rows; `take` is twice as fast as indexing, but sparse matrices lack it."""
    return X[at] if sparse.issparse(X) else X.take(at, axis=0)


class Data(NamedTuple):
    """The classes, the training rows, the validation rows if any, and the columns.

    `readers` are the columns of a table, or the names of columns that hold plain numbers.
    """

    classes: NDArray[Any]
    train: DataSet
    validation: DataSet | None
    readers: Sequence[Column | str]


def check_labelled(
    estimator: Any, X: Any, y: Any, sample_weight: Any, known: NDArray[Any] | None = None
) -> tuple[NDArray[Any], Any, NDArray[np.intp], Array]:
    """Check data and return the classes, X, codes and weights, zeros included.

    The classes of validation data are known.
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
    """Check the data of a fit; the user's score functions get the original rows.

    The weights of a fold cause no warning: those of all rows already did.
    """
    metrics = checks.named_metrics(estimator.metrics).values()
    keeps_written = any(map(callable, (estimator.scoring, *metrics)))
    X_val, y_val, sample_weight_val = validation
    if (X_val is None) != (y_val is None) or (X_val is None and sample_weight_val is not None):
        raise ValueError("Pass X_val and y_val together, and sample_weight_val only with them.")
    if sample_weight is not None and is_table(X):
        # Rows of weight zero must not decide what a column holds.
        weights = checks.check_weights(sample_weight, _num_samples(X))
        check_some_weight(weights, "sample_weight")
        kept = np.flatnonzero(weights)
        X, y, sample_weight = _safe_indexing(X, kept), _safe_indexing(y, kept), weights[kept]
    classes, *labelled = check_labelled(estimator, X, y, sample_weight)
    data = DataSet.of(*labelled)
    if not is_fold:
        checks.warn_of_shares(data.weights.sum(), len(data.weights))
    # Without sorting, as there may be millions of codes.
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
    """Return how the columns of a table are read, or the names of numeric columns."""
    if estimator._readers_ is not None:
        return estimator._readers_  # type: ignore[no-any-return]
    names = getattr(estimator, "feature_names_in_", None)
    count = range(estimator.n_features_in_)
    return [f"x{j}" for j in count] if names is None else [str(name) for name in names]


def check_two_classes(classes: NDArray[Any]) -> None:
    """Raise a ValueError if there are fewer than two classes."""
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class ({classes.tolist()[0]!r}) among the rows of positive weight: a "
            "classifier needs at least two classes."
        )


def check_some_weight(weights: Array, name: str) -> None:
    """Raise a ValueError if all weights are zero."""
    if not weights.any():
        raise ValueError(f"{name} is zero for all rows: at least one weight must be positive.")


def split_data(data: DataSet, fraction: float, key: int) -> tuple[DataSet, DataSet]:
    """Split off validation rows: in each class, those with the smallest keyed hashes.

    Equal rows of a class stay together. Each class keeps at least one row for training.
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
            f"validation_fraction={fraction} leaves no row for validation: each class keeps at "
            "least one distinct row for training, so pass more rows, or X_val and y_val."
        )
    return data.take(~is_validation), data.take(is_validation)


def thinned(data: DataSet, share: float, key: int = 0) -> DataSet:
    """Return a share of the rows by their keyed hashes, at least one of each class."""
    return data if share >= 1.0 else split_data(data, 1.0 - share, key)[0]


def can_be_split(n_distinct: NDArray[np.intp], needs_all: bool) -> bool:
    """Return whether all classes, or two of them, have enough rows to be split."""
    n_large = int((n_distinct >= LEAST_ROWS).sum())
    return n_large == np.count_nonzero(n_distinct) if needs_all else n_large >= 2


def counts_of(weights: Array) -> Array:
    """Return weights, or ones if all are equal, whose shares do not depend on rounding."""
    return np.ones_like(weights) if (weights == weights[0]).all() else weights


def hash_folds(
    X: Any, y: NDArray[Any], n_folds: int, key: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return stratified folds that do not depend on row order, weights or repetition.

    There are fewer if no class has that many distinct rows, so that none is empty.
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
                f"Class {label!r} has only one distinct row, which cannot be in the training part "
                f"of all {n_folds} folds. Remove the class, or pass a splitter as cv."
            )
    n_folds = min(n_folds, max(sizes))
    # Classes start at different folds, so that small ones do not all miss the same one.
    folds = (ranks + codes) % n_folds
    return [(np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in range(n_folds)]
