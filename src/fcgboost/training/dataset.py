"""Checked data, and splits that depend on the values of the rows, not on their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from fcgboost import _kernels, checks, hashing
from fcgboost.arrays import (
    Array,
    Codes,
    Flags,
    Labels,
    Matrix,
    Rows,
    Target,
    Weights,
    is_sparse,
)
from fcgboost.clipping import Limits
from fcgboost.tables.columns import Column, NumberColumn
from fcgboost.tables.opening import is_table
from fcgboost.threads import cached
from fcgboost.training.tasks import Task

T = TypeVar("T")


@dataclass(frozen=True)
class DataSet:
    """Checked rows with targets, positive weights and fingerprints.

    The target is the code of a class (an integer), or a number.
    `positions` maps the user's original rows to these, and `originals` are those rows, if needed.
    """

    X: Matrix
    target: Target
    weights: Array
    row_hashes: hashing.Hashes
    originals: DataSet | None = None
    positions: Codes | None = None

    @classmethod
    def of(cls, X: Matrix, target: Target, weights: Array) -> DataSet:
        """Return the rows of positive weight."""
        kept = weights > 0.0
        if not kept.all():
            X = X[kept]
            target = target[kept]
            weights = weights[kept]
        return cls(
            X,
            target=target,
            weights=weights,
            row_hashes=hashing.fingerprint(X),
        )

    @property
    def strata(self) -> Codes:
        """The part of each row, its class if it has one: splits hold out a share of each part."""
        if self.target.dtype.kind == "i":
            return self.target
        return np.zeros(len(self.target), dtype=np.intp)

    def canonical(self, keeps_originals: bool = False) -> DataSet:
        """Return the rows sorted by fingerprint, target and weight, with equal rows merged.

        Sums then depend neither on the order of the rows nor on whether a row is repeated or has
        the weight 2.
        """
        order = hashing.order_of(self.row_hashes)
        row_hashes = _kernels.take_rows(self.row_hashes, order)
        is_first = np.append(True, row_hashes[1:] != row_hashes[:-1])
        # Few fingerprints repeat; only those rows are compared, and sorted by target and weight.
        again = np.flatnonzero(~is_first)
        tied = np.flatnonzero(~(is_first & np.append(is_first[1:], True)))
        rows = order[tied]
        order[tied] = rows[np.lexsort((self.weights[rows], self.target[rows], row_hashes[tied]))]
        is_first[again] = ~self._equal(order[again], order[again - 1])
        starts = np.flatnonzero(is_first)
        weights = np.add.reduceat(_kernels.take_rows(self.weights, order), starts)
        positions = np.empty_like(order)
        positions[order] = np.cumsum(is_first) - 1
        return replace(
            self._rows(order[starts]),
            weights=weights,
            originals=self if keeps_originals else None,
            positions=positions,
        )

    def _equal(self, some: Codes, others: Codes) -> Flags:
        """Return whether rows with equal fingerprints have equal values and targets."""
        equal = self.target[some] == self.target[others]
        X = self.X[some[equal]]
        Z = self.X[others[equal]]
        if is_sparse(X):
            equal[equal] = np.asarray((X != Z).sum(axis=1)).ravel() == 0
        else:
            equal[equal] = ((X == Z) | (np.isnan(X) & np.isnan(Z))).all(axis=1)
        return np.asarray(equal)

    def _rows(self, at: Codes) -> DataSet:
        """Return some rows, without the original ones."""
        take = _kernels.take_rows
        return DataSet(
            X=self.X[at] if is_sparse(self.X) else take(self.X, at),
            target=take(self.target, at),
            weights=take(self.weights, at),
            row_hashes=take(self.row_hashes, at),
        )

    def take(self, mask: Flags) -> DataSet:
        part = self._rows(np.flatnonzero(mask))
        if self.originals is None or self.positions is None:
            return part
        kept = mask[self.positions]
        positions = (np.cumsum(mask) - 1)[self.positions[kept]]
        return replace(part, originals=self.originals.take(kept), positions=positions)

    def drawn(self, n: int) -> DataSet:
        """Return n rows in a random order that depends on their values alone."""
        return self._rows(hashing.least(hashing.keyed(self.row_hashes, 0), n))

    def within(self, limits: Limits | None) -> DataSet:
        """Return the rows clipped to limits; their fingerprints stay those of the raw rows."""
        return self if limits is None else replace(self, X=limits.apply(self.X))

    @cached
    def has_missing(self) -> bool:
        if is_sparse(self.X):
            return False
        # The least value is NaN if any is, and takes no memory.
        with np.errstate(invalid="ignore"):
            return bool(np.isnan(self.X.min(initial=0.0)))

    def medians(self) -> Array:
        """Return the medians of the columns, 0 if all values are missing."""
        X = np.where(np.isnan(self.X).all(axis=0), 0.0, self.X)
        return np.asarray(np.nanmedian(X, axis=0))

    def imputed(self, medians: Array | None = None) -> Matrix:
        """Return X with missing values replaced by medians, by default those of these rows."""
        if not self.has_missing:
            return self.X
        return np.where(np.isnan(self.X), self.medians() if medians is None else medians, self.X)

    def digest(self) -> hashing.Digest:
        """Return a digest of the rows, targets and weights that does not depend on their order."""
        return hashing.Digest.of(self.row_hashes, self.target, self.weights)


class Data(NamedTuple):
    """The task, the training rows, the validation rows if any, and the columns.

    The task is learned from all training rows, also in a part of them. `table_columns` are the
    columns, each of which knows how it is read. `given` are the training rows before equal ones
    were merged, and `kept` their positions among all n_rows rows of X. `uncounted` are the rows of
    weight zero, and `others` their positions.
    """

    task: Task
    train: DataSet
    validation: DataSet | None
    table_columns: Sequence[Column]
    given: DataSet
    kept: Codes
    uncounted: Matrix
    others: Codes
    n_rows: int

    def part(self, mask: Flags) -> Data:
        """Return the data with some of the training rows."""
        assert self.train.positions is not None
        is_kept = mask[self.train.positions]
        positions = (np.cumsum(mask) - 1)[self.train.positions[is_kept]]
        return self._replace(
            train=replace(self.train.take(mask), positions=positions),
            given=self.given.take(is_kept),
            kept=self.kept[is_kept],
        )


class Labelled(NamedTuple):
    """Checked rows, with the task that read their target and their weights, zeros included."""

    task: Task
    X: Matrix
    target: Target
    weights: Array

    def data(self) -> DataSet:
        return DataSet.of(self.X, self.target, self.weights)


def _check_rows(
    estimator: BaseEstimator,
    X: Rows,
    y: Labels | None,
    sample_weight: Weights,
    read: Callable[[Labels], T],
    is_training: bool = True,
) -> tuple[Matrix, T, Array]:
    """Check training or validation data; return the rows, what is read of y, and the weights."""
    ending = "" if is_training else "_val"
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    if not is_training:
        checks.check_same_columns(estimator, X)
    try:
        X = checks.check_matrix(
            estimator,
            X,
            reset=is_training,
            name=f"X{ending}",
        )
    except ValueError as error:
        if is_training:
            raise
        raise ValueError(f"X_val: {error}") from error
    known = read(y)
    if X.shape[0] != _num_samples(y):
        raise ValueError(f"X{ending} and y{ending} have {X.shape[0]} and {_num_samples(y)} rows.")
    weights = checks.check_weights(sample_weight, X.shape[0], f"sample_weight{ending}")
    check_some_weight(weights, f"sample_weight{ending}")
    return X, known, weights


def check_data(
    estimator: BaseEstimator,
    task: Task,
    X: Rows,
    y: Labels | None,
    sample_weight: Weights,
    validation: tuple[Rows, Labels | None, Weights],
) -> Data:
    """Check the data of a fit; the user's score functions get the original rows."""
    metrics = checks.named_metrics(estimator.metrics).values()
    keeps_originals = any(map(callable, (estimator.scoring, *metrics)))
    X_val, y_val, sample_weight_val = validation
    if (X_val is None) != (y_val is None) or (X_val is None and sample_weight_val is not None):
        raise ValueError("Pass X_val and y_val together, and sample_weight_val only with them.")
    uncounted = None
    if sample_weight is not None and is_table(X):
        # Rows of weight zero must not decide what a column holds.
        weights = checks.check_weights(sample_weight, _num_samples(X))
        check_some_weight(weights, "sample_weight")
        kept = np.flatnonzero(weights)
        uncounted = _safe_indexing(X, np.flatnonzero(weights == 0.0))
        X = _safe_indexing(X, kept)
        y = _safe_indexing(y, kept)
        sample_weight = weights[kept]
    X, (task, target), counts = _check_rows(
        estimator,
        X,
        y,
        sample_weight,
        task.read,
    )
    if uncounted is None:
        kept = np.flatnonzero(counts)
        uncounted = X[counts == 0.0]
    elif len(kept) < len(weights):
        uncounted = checks.check_matrix(estimator, uncounted, reset=False)
    else:
        uncounted = X[:0]
    n_rows = len(kept) + uncounted.shape[0]
    is_other = np.ones(n_rows, dtype=bool)
    is_other[kept] = False
    given = DataSet.of(X, target, counts)
    checks.warn_of_shares(given.weights.sum(), len(given.weights))
    task, target = task.present(given.target)
    given = replace(given, target=target)
    held_out = None
    if X_val is not None:
        X_val, target, counts = _check_rows(
            estimator,
            X_val,
            y_val,
            sample_weight_val,
            task.read_again,
            is_training=False,
        )
        held_out = DataSet.of(X_val, target, counts).canonical(keeps_originals)
    train = given.canonical(keeps_originals)
    return Data(
        task.learned(train.target, train.weights),
        train=train,
        validation=held_out,
        table_columns=table_columns_of(estimator),
        given=given,
        kept=kept,
        uncounted=uncounted,
        others=np.flatnonzero(is_other),
        n_rows=n_rows,
    )


def table_columns_of(estimator: BaseEstimator) -> Sequence[Column]:
    """Return the columns of X, plain numbers unless X was a table."""
    if estimator._table_columns_ is not None:
        return estimator._table_columns_  # type: ignore[no-any-return]
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(estimator.n_features_in_)]
    return [NumberColumn(str(name)) for name in names]


def check_some_weight(weights: Array, name: str) -> None:
    """Raise a ValueError if all weights are zero."""
    if not weights.any():
        raise ValueError(f"{name} is zero for all rows: at least one weight must be positive.")


def held_out_rows(data: DataSet, fraction: float, key: int) -> Flags:
    """Return whether to hold out each row: of each stratum, those with the smallest keyed hashes.

    Equal rows of a stratum stay together. Each keeps at least one row for training.
    """
    hashes = hashing.keyed(data.row_hashes, key)
    weights = counts_of(data.weights)
    order = hashing.order_of(hashes)
    is_held_out = np.zeros(len(hashes), dtype=bool)
    strata = _kernels.take_rows(data.strata, order)
    for stratum in np.flatnonzero(np.bincount(strata)):
        rows = order[np.flatnonzero(strata == stratum)]
        ordered = _kernels.take_rows(hashes, rows)
        is_first = np.append(True, ordered[1:] != ordered[:-1])
        starts = np.append(np.flatnonzero(is_first), len(rows))
        sizes = np.cumsum(np.add.reduceat(_kernels.take_rows(weights, rows), starts[:-1]))
        n_taken = 1 + int(np.searchsorted(sizes[:-1], fraction * sizes[-1]))
        is_held_out[rows[: starts[min(n_taken, len(sizes) - 1)]]] = True
    return is_held_out


def subsample(data: Data, share: float, key: int = 0) -> Data:
    """Return a share of the training rows by their keyed hashes, at least one of each stratum."""
    return data if share >= 1.0 else data.part(~held_out_rows(data.train, 1.0 - share, key))


def at_most(data: Data, n_rows: int | None, key: int) -> Data:
    """Return at most about so many training and validation rows, by their keyed hashes."""
    validation = data.validation
    n_all = len(data.train.weights) + (0 if validation is None else len(validation.weights))
    if n_rows is None or n_all <= n_rows:
        return data
    share = 1.0 - n_rows / n_all
    if validation is not None:
        validation = validation.take(~held_out_rows(validation, share, key))
    train = data.train.take(~held_out_rows(data.train, share, key))
    return data._replace(train=train, validation=validation)


def counts_of(weights: Array) -> Array:
    """Return weights, or ones if all are equal, whose shares do not depend on rounding."""
    return np.ones_like(weights) if (weights == weights[0]).all() else weights
