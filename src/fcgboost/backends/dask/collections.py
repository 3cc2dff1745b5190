"""Rows in Dask collections, checked partition by partition where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import dask
import dask.array as da
import numpy as np
from dask.base import is_dask_collection, tokenize
from dask.delayed import Delayed
from scipy import sparse

from fcgboost.arrays import Array, ClassLabels, Rows
from fcgboost.checks import check_plain_matrix, check_weights, read_columns
from fcgboost.losses import Square
from fcgboost.tables.columns import Column
from fcgboost.tables.opening import names_of, open_table
from fcgboost.training.dataset import Labelled
from fcgboost.training.tasks import Task

#: A Dask array or data frame: Dask is not typed.
Collection: TypeAlias = Any

_HOW = (
    "make it a Dask collection, for example dask.array.from_array(X, chunks=(100_000, -1)) or "
    "dask.dataframe.from_pandas(df, npartitions=8), or use FCGBoostClassifier for data in memory"
)


class Features(NamedTuple):
    """The names of the columns, if any, their number, and whether values may be missing."""

    names: tuple[object, ...] | None
    number: int
    allows_missing: bool = True

    def columns(self) -> tuple[list[str], bool]:
        """Return the names of the columns, and whether X has string names."""
        if self.names is None:
            return [f"x{j}" for j in range(self.number)], False
        return names_of(self.names), all(isinstance(name, str) for name in self.names)

    def __str__(self) -> str:
        return f"{self.number} without names" if self.names is None else f"{list(self.names)}"


class DelayedRows(NamedTuple):
    """Delayed `Labelled` rows, and their columns."""

    parts: tuple[Delayed, ...]
    features: Features


def make_table(
    task: Task,
    X: Collection,
    y: Collection,
    weights: Collection | None,
    suffix: str = "",
    expected: Features | None = None,
    table_columns: Sequence[Column] | None = None,
) -> DelayedRows:
    """Return labelled rows as partitions.

    The suffix is "_val" for validation data. Columns must match the expected ones, if any.
    `table_columns` read the columns of a data frame; None if X has plain numbers.
    """
    collections = {f"X{suffix}": X, f"y{suffix}": y, f"sample_weight{suffix}": weights}
    if weights is None:
        collections.popitem()
    for name, value in collections.items():
        check_collection(value, name)
    features = find_features(X, f"X{suffix}")
    if expected is not None and features[:2] != expected[:2]:
        raise ValueError(
            f"X{suffix} has the columns {features}, but the X of the fit has {expected}."
        )
    features = expected or features
    # A worker dies of rows to load with a loss that it cannot import.
    reader = replace(task, loss=Square())
    collections |= {name: _aligned(collections[name], X, name) for name in list(collections)[1:]}
    # Dask's optimisation may merge partitions of X but not of y.
    for optimize in (True, False):
        delayed = (value.to_delayed(optimize_graph=optimize) for value in collections.values())
        blocks = [np.ravel(parts).tolist() for parts in delayed]
        counts = dict(zip(collections, map(len, blocks), strict=True))
        if len(set(counts.values())) == 1:
            break
    else:
        raise ValueError(
            f"Partitions do not match: {counts}. Use the same partitions for all, for example "
            "with y.repartition(...) or y.rechunk(X.chunks[0])."
        )
    if weights is None:
        blocks.append([None] * len(blocks[0]))
    token = tokenize(reader, X, y, weights, table_columns)
    load = dask.delayed(load_rows, pure=True)
    # In the graph once, as there may be many levels.
    shared = table_columns and dask.delayed(
        table_columns, name=f"fcgboost-columns-{token}", traverse=False
    )
    parts = tuple(
        load(
            reader,
            *part,
            i,
            features,
            suffix,
            shared,
            dask_key_name=f"fcgboost-load-{token}-{i}",
        )
        for i, part in enumerate(zip(*blocks, strict=True))
    )
    return DelayedRows(parts, features)


def check_collection(value: object, name: str) -> None:
    """Raise a TypeError for data in memory."""
    if not is_dask_collection(value):
        raise TypeError(f"{name} is a {type(value).__name__}: {_HOW}.")


def find_features(X: Collection, name: str) -> Features:
    """Return the features of a collection."""
    check_collection(X, name)
    if hasattr(X, "columns"):  # a data frame of any library
        return Features(tuple(X.columns), len(X.columns))
    if not isinstance(X, da.Array) or X.ndim != 2:
        shape = getattr(X, "ndim", "?")
        raise ValueError(f"{name} must be a table or a matrix, got {type(X).__name__} ({shape}-d).")
    check_whole_rows(X, name)
    if np.isnan(X.shape[1]):
        raise ValueError(f"{name} has an unknown number of columns: call compute_chunk_sizes().")
    return Features(None, int(X.shape[1]))


def check_whole_rows(X: Collection, name: str) -> None:
    """Raise a ValueError if rows of an array are cut."""
    if X.numblocks[1] != 1:
        raise ValueError(
            f"{name} has {X.numblocks[1]} chunks of columns, but every chunk must hold whole rows: "
            f"use {name}.rechunk({{1: -1}})."
        )


def _aligned(values: Collection, X: Collection, name: str) -> Collection:
    """Return labels or weights as a vector, in the partitions of X if these are known."""
    if not isinstance(values, da.Array):
        return values
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got {values.ndim}.")
    if not isinstance(X, da.Array) or np.isnan([*values.chunks[0], *X.chunks[0]]).any():
        return values
    if values.shape[0] != X.shape[0]:
        raise ValueError(f"X and {name} have {X.shape[0]} and {values.shape[0]} rows.")
    return values.rechunk((X.chunks[0],))


def load_rows(
    task: Task,
    X: Rows,
    y: ClassLabels,
    weights: Array | None,
    i: int,
    features: Features,
    suffix: str,
    table_columns: Sequence[Column] | None = None,
) -> Labelled:
    """Check one partition and return it as arrays."""
    where = f"partition {i} of "
    names = tuple(X.columns) if hasattr(X, "columns") else None  # a data frame
    columns = features._replace(names=names, number=X.shape[1])
    if columns != features:
        raise ValueError(f"{where}X{suffix} has the columns {columns}, expected {features}.")
    n_rows = X.shape[0]
    for name, values in (("y", y), ("sample_weight", weights)):
        if values is not None and len(values) != n_rows:
            raise ValueError(
                f"{where}X{suffix} has {n_rows} rows, but that of {name}{suffix} has "
                f"{len(values)}: partitions must match row by row."
            )
    try:
        if n_rows == 0:
            nothing = np.zeros(0)
            return Labelled(
                task,
                np.zeros((0, features.number)),
                nothing.astype(np.intp),
                nothing,
            )
        task, target = task.read(y)
        if table_columns is None:
            X = check_plain_matrix(
                X,
                f"X{suffix}",
                names,
                features.allows_missing,
            )
        else:
            X = read_columns(open_table(X, min_rows=1), table_columns)
        # Data frames store columns; everything here works by rows.
        X = X if sparse.issparse(X) else np.ascontiguousarray(X)
        weights = check_weights(weights, n_rows, f"sample_weight{suffix}")
        return Labelled(
            task,
            X,
            target,
            weights,
        )
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{where}the data: {error}") from error
