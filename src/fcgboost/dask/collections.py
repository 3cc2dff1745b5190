"""Rows in Dask collections, checked partition by partition where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from dask.base import is_dask_collection, tokenize
from scipy import sparse

from fcgboost.cluster.shard import LoadedRows
from fcgboost.tables.columns import Column
from fcgboost.tables.encoder import names_of, open_table
from fcgboost.training.checks import check_labels, check_plain_matrix, check_weights, read_table

_HOW = (
    "make it a Dask collection, for example dask.array.from_array(X, chunks=(100_000, -1)) or "
    "dask.dataframe.from_pandas(df, npartitions=8), or use FCGBoostClassifier for data in memory"
)


class Features(NamedTuple):
    """The names of the columns, if any, their number, and whether values may be missing."""

    names: tuple[Any, ...] | None
    number: int
    allows_missing: bool = True

    def columns(self) -> tuple[list[str], bool]:
        """Return the names of the columns, and whether X has string names."""
        if self.names is None:
            return [f"x{j}" for j in range(self.number)], False
        return names_of(self.names), all(isinstance(name, str) for name in self.names)

    def __str__(self) -> str:
        return f"{self.number} without names" if self.names is None else f"{list(self.names)}"


class Table(NamedTuple):
    """Labelled rows as delayed `LoadedRows`, and their columns."""

    parts: tuple[Any, ...]
    features: Features


def make_table(
    X: Any,
    y: Any,
    weights: Any,
    suffix: str = "",
    expected: Features | None = None,
    readers: Sequence[Column] | None = None,
) -> Table:
    """Return labelled rows as partitions.

    The suffix is "_val" for validation data. Columns must match the expected ones, if given.
    Readers are those of a table.
    """
    given = {f"X{suffix}": X, f"y{suffix}": y, f"sample_weight{suffix}": weights}
    if weights is None:
        given.popitem()
    for name, value in given.items():
        check_collection(value, name)
    features = find_features(X, f"X{suffix}")
    if expected is not None and features[:2] != expected[:2]:
        raise ValueError(
            f"X{suffix} has the columns {features}, but the X of the fit has {expected}."
        )
    features = expected or features
    given |= {name: _aligned(given[name], X, name) for name in list(given)[1:]}
    # Dask's optimisation may merge partitions of X but not of y.
    for optimize in (True, False):
        blocks = [
            np.ravel(value.to_delayed(optimize_graph=optimize)).tolist() for value in given.values()
        ]
        counts = dict(zip(given, map(len, blocks), strict=True))
        if len(set(counts.values())) == 1:
            break
    else:
        raise ValueError(
            f"Partitions do not match: {counts}. Use the same partitions for all, for example "
            "with y.repartition(...) or y.rechunk(X.chunks[0])."
        )
    if weights is None:
        blocks.append([None] * len(blocks[0]))
    token, load = tokenize(X, y, weights, readers), dask.delayed(load_rows, pure=True)
    # In the graph once, as there may be many levels.
    known = readers and dask.delayed(readers, name=f"fcgboost-readers-{token}", traverse=False)
    parts = tuple(
        load(*part, i, features, suffix, known, dask_key_name=f"fcgboost-load-{token}-{i}")
        for i, part in enumerate(zip(*blocks, strict=True))
    )
    return Table(parts, features)


def check_collection(value: Any, name: str) -> None:
    """Raise a TypeError for data in memory."""
    if not is_dask_collection(value):
        raise TypeError(f"{name} is a {type(value).__name__}: {_HOW}.")


def find_features(X: Any, name: str) -> Features:
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


def check_whole_rows(X: Any, name: str) -> None:
    """Raise a ValueError if rows of an array are cut."""
    if X.numblocks[1] != 1:
        raise ValueError(
            f"{name} has {X.numblocks[1]} chunks of columns, but every chunk must hold whole rows: "
            f"use {name}.rechunk({{1: -1}})."
        )


def _aligned(values: Any, X: Any, name: str) -> Any:
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
    X: Any,
    y: Any,
    weights: Any,
    i: int,
    features: Features,
    suffix: str,
    readers: Sequence[Column] | None = None,
) -> LoadedRows:
    """Check one partition and return it as arrays."""
    where = f"partition {i} of "
    names = tuple(X.columns) if hasattr(X, "columns") else None  # a data frame
    found = features._replace(names=names, number=X.shape[1])
    if found != features:
        raise ValueError(f"{where}X{suffix} has the columns {found}, expected {features}.")
    n_rows = X.shape[0]
    for name, values in (("y", y), ("sample_weight", weights)):
        if values is not None and len(values) != n_rows:
            raise ValueError(
                f"{where}X{suffix} has {n_rows} rows, but that of {name}{suffix} has "
                f"{len(values)}: partitions must match row by row."
            )
    try:
        if n_rows == 0:
            return LoadedRows(np.zeros((0, features.number)), np.asarray(y), np.zeros(0))
        classes, codes = check_labels(y)
        if readers is None:
            X = check_plain_matrix(X, f"X{suffix}", names, features.allows_missing)
        else:
            X = read_table(open_table(X, min_rows=1), readers)
        # Data frames store columns; everything here works by rows.
        X = X if sparse.issparse(X) else np.ascontiguousarray(X)
        weights = check_weights(weights, n_rows, f"sample_weight{suffix}")
        return LoadedRows(X, classes[codes], weights)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{where}the data: {error}") from error
