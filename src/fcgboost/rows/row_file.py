"""An opened file of rows."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute
from scipy import sparse

from fcgboost.arrays import Array, ClassLabels, Flags, Rows
from fcgboost.findings import Finding, alike, folded, is_quantity, show_alike
from fcgboost.rows.limits import Source, explained
from fcgboost.rows.texts import (
    Dialect,
    Strays,
    TextReader,
    as_texts,
    label_texts,
    labels_of,
    merged,
    values_for,
)
from fcgboost.tables import Column, NumberColumn
from fcgboost.tables.learning import Reading, wanted_kinds
from fcgboost.tables.opening import closest
from fcgboost.wording import shortened

#: Columns that messages list.
_N_SHOWN = 100
#: How columns without a name are called, before their position.
UNNAMED = "Unnamed: "
#: The bytes that a column takes, however few rows it has.
_PER_COLUMN = 2**12
#: The bytes that a cell takes at least, and a field of text until it is known what it holds.
_PER_CELL = 8
_PER_TEXT = 32
#: Arrow's types of texts that rows may share.
TEXTS = ("string", "large_string", "binary", "large_binary")


#: Takes names of columns and yields their values.
Blocks = Callable[[list[str]], Iterable[pa.RecordBatch]]


@dataclass(frozen=True)
class RowFile:
    """An opened file of rows, as `open_rows` yields it: a table, or sparse rows."""

    source: Source
    columns: tuple[str, ...] = ()
    blocks: Blocks = lambda wanted: ()
    #: How numbers and dates are written in text.
    dialect: Dialect = field(default_factory=Dialect)
    #: The columns that were categories in pandas.
    categories: tuple[str, ...] = ()
    #: Sparse rows as a CSR matrix, their labels, and what their indices count from.
    matrix: sparse.csr_matrix | None = None
    labels: ClassLabels | None = None
    first_index: int | None = None
    #: How columns are written that are not plain, once they have been read.
    readings: dict[str, Reading] = field(default_factory=dict)
    #: Gives the line of the file at which each row begins, where there are lines.
    lines: Callable[[], Sequence[int]] = tuple

    def __post_init__(self) -> None:
        self.source.check(_PER_COLUMN * len(self.columns))
        names = Counter(self.columns)
        if len(names) < len(self.columns):
            column = names.most_common(1)[0][0]
            raise ValueError(f"{self.name}: two columns are named {column!r}.")

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.source.name

    def read(
        self,
        target: str | None = None,
        drop: Sequence[str] = (),
        categorical_features: object = "from_dtype",
    ) -> tuple[Rows, ClassLabels | None]:
        """Return the rows, and what is to be predicted, which is None without a target.

        A column of text becomes what all of its fields are, or nearly all, unless it is listed as
        a category. A target with many different numbers is a quantity, and read as other columns
        are. Labels become numbers if all of them are, else exactly the texts; rows whose field is
        empty are skipped. Sparse rows have labels of their own.
        """
        self.check_columns([*([] if target is None else [target]), *drop])
        X: Rows = self.matrix
        y = self.labels
        if X is None:
            X, y = self._read_table(target, drop, categorical_features)
        if y is None:
            return X, None
        with explained(self.name):
            is_labelled = has_label(y)
            if not is_labelled.all():
                tell_unlabelled(self.source, np.flatnonzero(~is_labelled).tolist())
                X = X[is_labelled]
                y = y[is_labelled]
            return X, target_values(y)

    def _read_table(
        self, target: str | None, drop: Sequence[str], categorical_features: object
    ) -> tuple[pd.DataFrame, ClassLabels | None]:
        names = [name for name in self.columns if name not in {target, *drop}]
        wanted = names if target is None else [*names, target]
        kinds = wanted_kinds(categorical_features, names, has_names=True)
        strays = Strays(self.source)
        reader = TextReader(self.dialect, strays, self.readings)
        with explained(self.name):
            [table] = self._tables(wanted)
            asked = {name for name, kind in zip(names, kinds, strict=True) if kind == "category"}
            columns = {name: table[name] for name in names}
            values = {
                name: column
                for name, column in reader.values(columns, asked.union(self.categories)).items()
                # What separators at the ends of lines make.
                if not name.startswith(UNNAMED) or column.null_count < len(column)
            }
            if target is not None:
                values[target] = self._target(target, table[target])
            if self.source.merges_spellings:
                values = {name: self._merged(name, column) for name, column in values.items()}
            X = pa.table(values).to_pandas(ignore_metadata=True)
        reader.tell()
        strays.tell()
        X = X.astype({name: "category" for name in self.categories if name in X})
        y = None if target is None else X.pop(target).to_numpy()
        numbers = X.select_dtypes("floating")
        infinite = np.argwhere(np.isinf(numbers))
        for i, j in infinite[:1]:
            cell = f"row {i + 1}, column {numbers.columns[j]!r}"
            raise ValueError(f"{self.name}, {cell}: the number is infinite.")
        return X, y

    def _target(self, name: str, column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Return a quantity, however it is written, or labels."""
        labels = labels_of(column) if self.dialect.is_text else column
        strays = Strays(self.source)
        reader = TextReader(self.dialect, strays, {})
        numbers = reader.values({name: column}, ())[name]
        if not is_quantity(numbers.to_pandas().dropna().to_numpy()):
            return labels
        self.readings.update(reader.readings)
        strays.tell()
        return numbers

    def batches(
        self, columns: Mapping[str, Column], keep: Sequence[str], n_rows: int | None
    ) -> Iterator[tuple[pd.DataFrame, pa.Table]]:
        """Yield the columns of a model as data frames, and columns as the file has them.

        Types are those of the model's columns, whatever the rows of a batch look like. Without
        `n_rows` all rows are one batch.
        """
        self.check_columns([*columns, *keep])
        kept = list(dict.fromkeys(keep))
        wanted = list(dict.fromkeys([*columns, *keep]))
        strays = Strays(self.source)
        with explained(self.name):
            for table in self._tables(wanted, n_rows):
                values = {
                    name: values_for(
                        column,
                        table[name],
                        self.dialect,
                        strays,
                    )
                    for name, column in columns.items()
                }
                yield pa.table(values).to_pandas(), table.select(kept)
                strays.n_before += table.num_rows
        strays.tell()

    def _merged(self, name: str, column: pa.Array) -> pa.Array:
        """Give texts that differ only in case or white space the most frequent form, and say so."""
        texts = as_texts(column)
        if texts is None:
            return column
        counts = Counter(texts.drop_null().to_pylist())
        groups = alike(text for text, _ in counts.most_common())
        if not groups:
            return column
        self.source.tell(f"Column {name}: spellings are merged: {show_alike(groups)}.")
        return merged(texts, {folded(group[0]): group[0] for group in groups})

    def about(self) -> dict[str, Any]:
        """Return how the rows that were read are written, for ``open_rows(like=...)``."""
        return {
            "encoding": self.dialect.encoding,
            "separator": self.dialect.separator,
            "sheet": self.dialect.sheet,
            "first_index": self.first_index,
            "merges_spellings": self.source.merges_spellings,
            "columns": self.readings,
        }

    def labels_in(self, column: pa.ChunkedArray) -> ClassLabels:
        """Return the labels of a batch as an array; those of a text file are strings."""
        labels = label_texts(column) if self.dialect.is_text else column
        return np.asarray(labels.to_pandas().to_numpy())

    def numbers_in(self, name: str, column: pa.ChunkedArray, strays: Strays) -> Array:
        """Return a quantity of a batch; missing ones are NaN."""
        numbers = values_for(
            NumberColumn(name),
            column,
            self.dialect,
            strays,
        )
        return np.asarray(numbers.to_pandas().to_numpy(), dtype=np.float64)

    def check_columns(self, wanted: Iterable[str]) -> None:
        """Raise a ValueError that lists the columns if a wanted one is not there."""
        absent = [name for name in wanted if name not in self.columns]
        if not absent:
            return
        if self.matrix is not None:
            raise ValueError(f"{self.name}: sparse rows have no column names; name none.")
        close = closest(absent[0], self.columns)
        hint = "." if close is None else f"; did you mean {close!r}?"
        raise ValueError(
            f"{self.name}: no column {absent[0]!r}{hint} The columns are {self.show_columns()}."
        )

    def show_columns(self) -> str:
        """List the names of the first columns."""
        printable = (name if name.isprintable() else repr(name) for name in self.columns[:_N_SHOWN])
        names = list(map(shortened, printable))
        if len(names) < len(self.columns):
            names.append("...")
        return ", ".join(names)

    def _tables(self, wanted: list[str], n_rows: int | None = None) -> Iterator[pa.Table]:
        """Yield tables of `n_rows` rows, of which the last may have fewer, or all rows at once."""
        per_cell = _PER_TEXT if self.dialect.is_text and n_rows is None else _PER_CELL
        most = n_rows or sys.maxsize
        held: list[pa.RecordBatch] = []
        n_held = 0
        n_bytes = 0
        has_rows = False
        for block in self.blocks(wanted):
            held.append(block)
            n_held += block.num_rows
            n_bytes += size_of(block, per_cell)
            self.source.check(n_bytes)
            has_rows |= block.num_rows > 0
            while n_held >= most:
                table = pa.Table.from_batches(held)
                yield table.slice(0, most)
                held = table.slice(most).to_batches()
                n_bytes = n_bytes * (n_held - most) // n_held
                n_held -= most
        if not has_rows:
            raise ValueError(f"{self.name} has no rows.")
        if n_held:
            yield pa.Table.from_batches(held)


def has_label(y: ClassLabels) -> Flags:
    """Return which labels are neither missing nor empty."""
    labels = pd.Series(y)
    return np.asarray(labels.notna() & labels.ne(""))


def tell_unlabelled(source: Source, rows: Sequence[int]) -> None:
    """Say which rows are skipped."""
    text = f"Rows skipped because they have no target: {len(rows):,}."
    source.tell(str(Finding("labels", text, rows=tuple(rows))))


def target_values(y: ClassLabels) -> ClassLabels:
    """Return what is to be predicted, as an array whose type is that of the values there."""
    if len(y) == 0:
        raise ValueError("The target is missing in every row.")
    labels = np.asarray(list(y))
    if labels.dtype.kind not in "biufU" or labels.ndim > 1:
        raise ValueError(
            f"The target holds values of the type {type(y[0]).__name__}: it must hold texts, "
            "numbers or truth values."
        )
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            raise ValueError("The target holds an infinite number, which cannot be predicted.")
        is_whole = (labels == np.floor(labels)).all()
        if is_whole and np.abs(labels).max() < 2.0**53:
            # Whole numbers that were read as floats because some were missing.
            labels = labels.astype(np.int64)
    return labels


def size_of(batch: pa.RecordBatch, per_cell: int = _PER_CELL) -> int:
    """Return the bytes of a record batch with texts written out: at least `per_cell` a cell."""
    n_bytes = 0
    for column in batch.columns:
        size = int(column.nbytes)
        kind = column.type
        if pa.types.is_dictionary(kind) and str(kind.value_type) in TEXTS:
            lengths = compute.binary_length(column.dictionary).cast(pa.int64())
            size += compute.sum(lengths.take(column.indices)).as_py() or 0
        n_bytes += max(size, per_cell * len(column))
    return n_bytes
