"""An opened file of rows, and what its columns of text hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute
from scipy import sparse

from fcgboost.cli.guards import Limit, explained
from fcgboost.tables import CategoryColumn, Column, NumberColumn
from fcgboost.tables.encoder import closest

#: Texts that stand for a missing value, spaces around them left out.
_MISSING = pa.array(
    ["", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL", "None"]
)
_EMPTY = pa.array([""])
_N_SHOWN, _LONGEST, _N_ROWS = 20, 60, 65_536
#: The bytes that a field of text takes at least, until it is known what its column holds.
_PER_TEXT = 32
_TRUTHS = pa.array(["true", "false", None])
_TIMES = (pa.timestamp("us"), pa.timestamp("us", tz="UTC"))


@dataclass(frozen=True)
class RowFile:
    """An opened file of rows: a table, or sparse rows."""

    limit: Limit
    columns: tuple[str, ...] = ()
    #: Takes names of columns and yields their values as Arrow's record batches.
    blocks: Callable[[list[str]], Iterable[Any]] = lambda wanted: ()
    #: The decimal mark, a point or a comma, of numbers in text; None where the file has types.
    decimal: str | None = None
    #: The columns that were categories in pandas.
    categories: tuple[str, ...] = ()
    #: The column with the labels, if the format says which it is.
    default_target: str | None = None
    #: Sparse rows as a CSR matrix, their labels, and what their indices count from.
    matrix: Any = None
    labels: Any = None
    first_index: int | None = None

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

    def read(self, target: str, drop: Sequence[str]) -> tuple[Any, Any]:
        """Return all rows of a table as a data frame, and their labels as an array.

        A column of text becomes what all of its fields are. Labels become numbers if all of them
        are, else exactly the texts; only an empty field is a missing label.
        """
        self.check_columns([target, *drop])
        if target in drop:
            raise ValueError(f"The target {target!r} cannot be dropped.")
        wanted = [column for column in self.columns if column not in set(drop)]
        with explained(self.name):
            table = pa.Table.from_batches(list(self._rows(wanted, is_whole=True)))
            if self.decimal is not None:
                values = {c: _values(table[c], self.decimal) for c in wanted if c != target}
                table = pa.table({**values, target: _labels(table[target])})
            X = table.to_pandas(ignore_metadata=True)
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
            rows = self._rows(wanted, is_whole=n_rows is None)
            for table in _recut(rows, n_rows or _N_ROWS, self.limit):
                values = {name: table[name] for name in columns}
                if self.decimal is not None:
                    values = {c: _values_for(columns[c], table[c], self.decimal) for c in columns}
                yield pa.table(values).to_pandas(), table.select(kept)

    def with_features(self, n_features: int) -> Any:
        """Return sparse rows with as many features as wanted."""
        n_rows, n = self.matrix.shape
        if n > n_features:
            raise ValueError(f"{self.name} has {n} features, but the model knows {n_features}.")
        parts = (self.matrix.data, self.matrix.indices, self.matrix.indptr)
        return sparse.csr_matrix(parts, shape=(n_rows, n_features))

    def labels_in(self, column: Any) -> Any:
        """Return labels of a batch as an array, those of a file of text as texts."""
        labels = column if self.decimal is None else _cleaned(column, _EMPTY)
        return labels.to_pandas().to_numpy()

    def check_columns(self, wanted: Iterable[str]) -> None:
        """Raise a ValueError that lists the columns if one of those wanted is not among them."""
        there = set(self.columns)
        absent = next((name for name in wanted if name not in there), None)
        if absent is None:
            return
        if self.is_sparse:
            raise ValueError(f"{self.name}: sparse rows have no named columns; name none.")
        close = closest(absent, self.columns)
        hint = "." if close is None else f"; did you mean {close!r}?"
        shown = self.show_columns(_N_SHOWN)
        raise ValueError(f"{self.name}: no column {absent!r}{hint} The columns are {shown}.")

    def show_columns(self, n_shown: int | None = None) -> str:
        """List the names of the first columns, and say what an odd look may mean."""
        names = [name if name.isprintable() else repr(name) for name in self.columns]
        names = [f"{name[:_LONGEST]}{'...' * (len(name) > _LONGEST)}" for name in names]
        is_odd = any("\n" in name or '"' in name for name in self.columns)
        hint = " (is a quote in the header opened and never closed?)" if is_odd else ""
        return ", ".join(names[:n_shown]) + ", ..." * (names[:n_shown] != names) + hint

    def _rows(self, wanted: list[str], *, is_whole: bool) -> Iterator[Any]:
        n_rows = n_bytes = 0
        per_row = (8 if self.decimal is None else _PER_TEXT) * len(wanted)
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
    """Yield batches as tables that have as many rows as wanted, but for the last."""
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


def _values(texts: Any, decimal: str) -> Any:
    """Return fields as what all of them are: truth values, numbers, times, else texts."""
    texts = _cleaned(texts, _MISSING)
    lower = compute.utf8_lower(texts)
    is_truth = compute.all(compute.is_in(lower, value_set=_TRUTHS)).as_py()
    if is_truth and texts.null_count < len(texts):
        truths = compute.equal(lower, "true")
        return truths.cast(pa.float64()) if truths.null_count else truths
    # With leading zeros they are codes, as those of places and persons.
    is_code = compute.any(compute.match_substring_regex(texts, r"^[+-]?0\d")).as_py()
    numbers = None if is_code else _numbers(_with_points(texts, decimal))
    times = (_cast(texts, time) for time in _TIMES)
    return next(values for values in chain([numbers], times, [texts]) if values is not None)


def _labels(texts: Any) -> Any:
    """Return labels as numbers if all of them are and floats tell them apart, else as texts."""
    texts = _cleaned(texts, _EMPTY)
    numbers = _numbers(texts)
    if numbers is None or numbers.type == pa.int64():
        return texts if numbers is None else numbers
    is_exact = compute.less(compute.abs(numbers), 2.0**53)  # not of NaN: a class may be "nan"
    is_safe = compute.all(compute.or_(is_exact, compute.is_inf(numbers))).as_py()
    return numbers if is_safe else texts


def _values_for(column: Column, texts: Any, decimal: str) -> Any:
    """Return fields as a column of an encoder takes them, which judges what is no number."""
    is_number = isinstance(column, NumberColumn) and (column.unit, column.style) == ("number", "")
    numbers = _cast(texts, pa.float64()) if is_number else None
    if numbers is not None:  # most often there is nothing to clean
        return numbers
    texts = _cleaned(texts, _MISSING)
    if is_number:
        texts = _with_points(texts, decimal)
        numbers = _cast(texts, pa.float64())
    elif isinstance(column, CategoryColumn):
        # A level 1 may have become 1.0 in a later file; 01 and 1.50 are texts of their own.
        is_level = compute.is_in(texts, value_set=pa.array(column.levels, pa.string()))
        whole = compute.replace_substring_regex(texts, r"^(-?(0|[1-9]\d*))\.0$", r"\1")
        texts = compute.if_else(is_level, texts, whole)
    return texts if numbers is None else numbers


def _with_points(texts: Any, decimal: str) -> Any:
    """Write numbers that have a decimal comma with a point."""
    pattern = r"^([+-]?\d*),(\d*([eE][+-]?\d+)?)$"
    is_comma = decimal == ","
    return compute.replace_substring_regex(texts, pattern, r"\1.\2") if is_comma else texts


def _cleaned(texts: Any, missing: Any) -> Any:
    """Take the spaces around texts away; null where a text stands for a missing value."""
    trimmed = compute.utf8_trim_whitespace(texts)
    is_missing = compute.is_in(trimmed, value_set=missing)
    return compute.if_else(is_missing, pa.scalar(None, pa.string()), trimmed)


def _cast(texts: Any, to: Any) -> Any:
    try:
        return compute.cast(texts, to)
    except pa.ArrowInvalid:
        return None


def _numbers(texts: Any) -> Any:
    """Return texts as whole numbers or floats; None if one of them is no number."""
    # Floats first: as whole numbers, and only as these, hexadecimal ones are read too.
    floats = _cast(texts, pa.float64())
    whole = None if floats is None or texts.null_count else _cast(texts, pa.int64())
    return floats if whole is None else whole
