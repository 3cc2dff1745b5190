"""How the columns of a Dask collection are read: like those of a table in memory."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np
from dask.base import tokenize
from distributed import Client

from fcgboost.dask.collections import Features
from fcgboost.dask.workers import await_all
from fcgboost.tables import learning
from fcgboost.tables.columns import Column, NumberColumn
from fcgboost.tables.encoder import is_frame, is_table, open_table
from fcgboost.tables.learning import Levels
from fcgboost.training.checks import keep_readers, lists_categories

Readers = tuple[Column, ...]


def learn_readers(estimator: Any, X: Any, features: Features, client: Client) -> Readers | None:
    """Decide how columns are read, store it on the estimator and return it.

    None stands for plain numbers. Partitions are inspected, in one pass, only for columns whose
    dtype does not settle it.
    """
    if not is_table(X) and not lists_categories(estimator):
        keep_readers(estimator, [], [])
        return None
    names, has_names = features.columns()
    wanted = learning.wanted_kinds(estimator.categorical_features, names, has_names)
    dtypes = list(X.dtypes) if features.names is not None else [X.dtype] * len(names)
    units = [
        None if kind == "category" else learning.unit_of_dtype(dtype)
        for kind, dtype in zip(wanted, dtypes, strict=True)
    ]
    are_declared = list(map(learning.declares_category, dtypes))
    asked = [j for j, unit in enumerate(units) if unit is None]
    levels = dict(zip(asked, _levels(X, asked, client), strict=True))
    learned: list[tuple[Column, list[str]]] = [
        (NumberColumn(name, unit=unit), [])
        if unit is not None
        else learning.choose_reader(name, levels[j], wanted[j], are_declared[j], estimator.dayfirst)
        for j, (name, unit) in enumerate(zip(names, units, strict=True))
    ]
    keep_readers(estimator, names, learned)
    return tuple(reader for reader, _ in learned)


def known_readers(estimator: Any, X: Any, features: Features) -> Readers | None:
    """Return how later partitions are read; None stands for plain numbers."""
    readers: Readers | None = vars(estimator).get("_readers_")
    if readers is not None or not is_table(X):
        return readers
    return tuple(NumberColumn(name) for name in features.columns()[0])


def _levels(X: Any, places: list[int], client: Client) -> list[Levels]:
    if not places:
        return []
    some = X[[X.columns[j] for j in places]] if is_frame(X) else X[:, places]
    look, token = dask.delayed(levels_in, pure=True), tokenize(some)
    futures = client.compute(
        [
            look(block, dask_key_name=f"fcgboost-levels-{token}-{i}")
            for i, block in enumerate(np.ravel(some.to_delayed()).tolist())
        ]
    )
    with client.as_current():
        await_all(client, futures)
    return [Levels.united(parts) for parts in zip(*client.gather(futures), strict=True)]


def levels_in(part: Any) -> list[Levels]:
    """Return the levels of all columns of one partition."""
    table = open_table(part, min_rows=0)
    if table.matrix is not None:
        raise ValueError("X is sparse, but categories need dense columns: pass a table.")
    return [Levels.of(values) for values in table.columns.values()]
