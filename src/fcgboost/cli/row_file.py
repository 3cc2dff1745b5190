"""An opened file of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute
from scipy import sparse

from fcgboost.cli.guards import Limit, explained
from fcgboost.cli.texts import (
    Dialect,
    Strays,
    as_texts,
    label_texts,
    labels_of,
    values_for,
    values_of,
    without_strays,
)
from fcgboost.tables import Column
from fcgboost.tables.encoder import closest
from fcgboost.tables.learning import wanted_kinds

_N_SHOWN, _LONGEST, _N_ROWS = 20, 60, 65_536
#: The bytes that a field of text takes at least, until it is known what its column holds.
_PER_TEXT = 32


@dataclass(frozen=True)
class RowFile:
    """An opened file of rows: a table, or sparse rows."""

    limit: Limit
    columns: tuple[str, ...] = ()
    #: Takes names of columns and yields their values as Arrow's record batches.
    blocks: Callable[[list[str]], Iterable[Any]] = lambda wanted: ()
    #: How numbers and dates are written in text; None where the file has types.
    dialect: Dialect | None = None
    #: The columns that were categories in pandas.
    categories: tuple[str, ...] = ()
    #: The column with the labels, if the format says which it is.
    default_target: str | None = None
    #: Sparse rows as a CSR matrix, their labels, and what their indices count from.
    matrix: Any = None
    labels: Any = None
    first_index: int | None = None
    strays: Strays = field(default_factory=Strays)

    def __post_init__(self) -> None:
        self.limit.check(0, len(self.columns))
        column, n = Counter(self.columns).most_common(1)[0] if self.columns else ("", 1)
        if n > 1:
            raise ValueError(f"{self.name}: two columns are named {column!r}.")

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.limit.name

    @property
    def is_sparse(self) -> bool:
        return self.matrix is not None

    def read(
        self, target: str, drop: Sequence[str], categorical_features: Any = "from_dtype"
    ) -> tuple[Any, Any]:
        """Return all rows of a table as a data frame, and their labels as an array.

        A column of text becomes what all of its fields are, or nearly all, unless it is listed as
        a category. Labels become numbers if all of them are, else exactly the texts; only an empty
        field is a missing label.
        """
        self.check_columns([target, *drop])
        if target in drop:
            raise ValueError(f"The target {target!r} cannot be dropped.")
        wanted = [column for column in self.columns if column not in set(drop)]
        names = [column for column in wanted if column != target]
        kinds = wanted_kinds(categorical_features, names, has_names=True)
        with explained(self.name):
            table = pa.Table.from_batches(list(self._rows(wanted, is_whole=True)))
            values = {
                name: self._values_of(name, table[name], is_category=kind == "category")
                for name, kind in zip(names, kinds, strict=True)
            }
            labels = table[target] if self.dialect is None else labels_of(table[target])
            X = pa.table({**values, target: labels}).to_pandas(ignore_metadata=True)
        self.strays.tell()
        X = X.astype({c: "category" for c in self.categories if c in X})
        y = X.pop(target).to_numpy()
        for column in X.columns[[dtype.kind == "f" for dtype in X.dtypes]]:
            is_infinite = np.isinf(X[column].to_numpy())
            if is_infinite.any():
                place = f"row {is_infinite.argmax() + 1}, column {column!r}"
                raise ValueError(f"{self.name}, {place}: the number is infinite.")
        return X, y

    def batches(
        self, columns: Mapping[str, Column], keep: Sequence[str], n_rows: int | None
    ) -> Iterator[tuple[Any, Any]]:
        """Yield the columns of a model as data frames, and columns as the file has them.

        Types are those of the model's columns, whatever the rows of a batch look like. The limit
        is that of a batch; with `n_rows` None, of all batches, which the caller may keep.
        """
        self.check_columns([*columns, *keep])
        kept = list(dict.fromkeys(keep))
        wanted = [*columns, *(name for name in kept if name not in columns)]
        with explained(self.name):
            rows, n_done = self._rows(wanted, is_whole=n_rows is None), 0
            for table in _recut(rows, n_rows or _N_ROWS, self.limit):
                values = {
                    name: values_for(column, table[name], self.dialect, self.strays, n_done)
                    for name, column in columns.items()
                }
                yield pa.table(values).to_pandas(), table.select(kept)
                n_done += table.num_rows
        self.strays.tell()

    def with_features(self, n_features: int) -> Any:
        """Return sparse rows with as many features as wanted."""
        n_rows, n = self.matrix.shape
        if n > n_features:
            raise ValueError(f"{self.name} has {n} features, but the model knows {n_features}.")
        parts = (self.matrix.data, self.matrix.indices, self.matrix.indptr)
        return sparse.csr_matrix(parts, shape=(n_rows, n_features))

    def labels_in(self, column: Any) -> Any:
        """Return labels of a batch as an array, those of a file of text as texts."""
        labels = column if self.dialect is None else label_texts(column)
        return labels.to_pandas().to_numpy()

    def check_columns(self, wanted: Iterable[str]) -> None:
        """Raise a ValueError that lists the columns if a wanted one is not there."""
        there = set(self.columns)
        absent = next((name for name in wanted if name not in there), None)
        if absent is None:
            return
        if self.is_sparse:
            raise ValueError(f"{self.name}: sparse rows have no column names; name none.")
        close = closest(absent, self.columns)
        hint = "." if close is None else f"; did you mean {close!r}?"
        shown = self.show_columns(_N_SHOWN)
        raise ValueError(f"{self.name}: no column {absent!r}{hint} The columns are {shown}.")

    def show_columns(self, n_shown: int | None = None) -> str:
        """List the names of the first columns, with a hint if they look odd."""
        names = [name if name.isprintable() else repr(name) for name in self.columns]
        names = [f"{name[:_LONGEST]}{'...' * (len(name) > _LONGEST)}" for name in names]
        is_odd = any("\n" in name or '"' in name for name in self.columns)
        hint = " (is there an unclosed quote in the header?)" if is_odd else ""
        return ", ".join(names[:n_shown]) + ", ..." * (names[:n_shown] != names) + hint

    def _values_of(self, name: str, values: Any, is_category: bool) -> Any:
        if self.dialect is not None:
            return values_of(name, values, self.dialect, None if is_category else self.strays)
        is_category |= name in self.categories or pa.types.is_dictionary(values.type)
        texts = None if is_category else as_texts(values)
        return values if texts is None else without_strays(name, texts, texts, self.strays)

    def _rows(self, wanted: list[str], *, is_whole: bool) -> Iterator[Any]:
        n_rows = n_bytes = 0
        per_row = (8 if self.dialect is None else _PER_TEXT) * len(wanted)
        for block in self.blocks(wanted):
            n_bytes += max(block.nbytes, per_row * block.num_rows) if is_whole else 0
            self.limit.check(n_bytes)
            yield block
            n_rows += block.num_rows
        if n_rows == 0:
            raise ValueError(f"{self.name} has no rows.")


def size_of(batch: Any) -> int:
    """Return the bytes of a record batch whose cells are written out, each of them 8 at least."""
    n_bytes = 0
    for column in batch.columns:
        size, kind = int(column.nbytes), column.type
        if pa.types.is_dictionary(kind) and kind.value_type in (pa.string(), pa.large_string()):
            lengths = compute.binary_length(column.dictionary).cast(pa.int64())
            size += compute.sum(lengths.take(column.indices)).as_py() or 0
        n_bytes += max(size, 8 * len(column))
    return n_bytes


def _recut(batches: Iterable[Any], n_rows: int, limit: Limit) -> Iterator[Any]:
    """Yield batches as tables of the wanted number of rows; the last may have fewer."""
    held, n_bytes = None, 0
    for batch in batches:
        table = pa.Table.from_batches([batch])
        held = table if held is None else pa.concat_tables([held, table])
        n_bytes += size_of(batch)
        limit.check(n_bytes)
        while held.num_rows >= n_rows:
            yield held.slice(0, n_rows)
            n_bytes = n_bytes * (held.num_rows - n_rows) // held.num_rows
            held = held.slice(n_rows)
    if held is not None and held.num_rows:
        yield held
