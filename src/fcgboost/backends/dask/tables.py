"""How the columns of a Dask collection are read: like those of a table in memory."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np
from dask.base import tokenize
from distributed import Client

from fcgboost.arrays import Rows
from fcgboost.backends.dask.collections import Collection, Features
from fcgboost.backends.dask.workers import await_all
from fcgboost.checks import keep_table_columns, left_out_of, lists_categories
from fcgboost.findings import Finding
from fcgboost.tables import learning
from fcgboost.tables.cells import reading
from fcgboost.tables.columns import Column, NumberColumn
from fcgboost.tables.learning import LevelCounts
from fcgboost.tables.opening import frame_names, is_frame, is_table, open_table

TableColumns = tuple[Column, ...]


def learn_table_columns(estimator: Any, X: Collection, features: Features, client: Client) -> None:
    """Decide how columns are read, and store it on the estimator.

    Partitions are inspected, in one pass, only for columns whose dtype does not settle it.
    """
    leaves_out = left_out_of(estimator, frame_names(X))
    if not is_table(X) and not lists_categories(estimator):
        keep_table_columns(estimator, [])
        return
    names, has_names = features.columns()
    dtypes = list(X.dtypes) if features.names is not None else [X.dtype] * len(names)
    setting = learning.wanted_kinds(estimator.categorical_features, names, has_names)
    wanted = list(map(learning.declared, setting, dtypes))
    units = [
        None if kind == "category" else learning.unit_of_dtype(dtype)
        for kind, dtype in zip(wanted, dtypes, strict=True)
    ]
    asked = [j for j, unit in enumerate(units) if unit is None]
    levels = dict(zip(asked, _levels(X, asked, client), strict=True))
    learned: list[tuple[Column, list[Finding]]] = [
        (NumberColumn(name, unit=unit, stray_text=estimator.stray_text), [])
        if unit is not None
        else learning.choose_column(
            name,
            levels[j],
            wanted[j],
            estimator.dayfirst,
            estimator.stray_text,
            leaves_out.get(name, ()),
        )
        for j, (name, unit) in enumerate(zip(names, units, strict=True))
    ]
    keep_table_columns(estimator, learned)


def known_table_columns(estimator: Any, X: Collection, features: Features) -> TableColumns | None:
    """Return how partitions are read; None stands for plain numbers."""
    table_columns: TableColumns | None = vars(estimator).get("_table_columns_")
    if table_columns is not None or not is_table(X):
        return table_columns
    return tuple(NumberColumn(name) for name in features.columns()[0])


def _levels(X: Collection, positions: list[int], client: Client) -> list[LevelCounts]:
    if not positions:
        return []
    columns = X[[X.columns[j] for j in positions]] if is_frame(X) else X[:, positions]
    look = dask.delayed(levels_in, pure=True)
    token = tokenize(columns)
    futures = client.compute(
        [
            look(block, dask_key_name=f"fcgboost-levels-{token}-{i}")
            for i, block in enumerate(np.ravel(columns.to_delayed()).tolist())
        ]
    )
    try:
        with client.as_current():
            await_all(client, futures)
    except KeyError as error:
        raise ValueError(
            f"A partition of X lacks a column ({error}): each must have all of {list(X.columns)}."
        ) from error
    return [LevelCounts.united(parts) for parts in zip(*client.gather(futures), strict=True)]


def levels_in(part: Rows) -> list[LevelCounts]:
    """Return the levels of all columns of one partition."""
    found = []
    for name, values in open_table(part, min_rows=0).columns.items():
        with reading(name):
            found.append(LevelCounts.of(values))
    return found
