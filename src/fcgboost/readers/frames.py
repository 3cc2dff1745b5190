"""Files whose rows come as data frames: what is asked for, checked, and numbered."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fcgboost.readers.base import RowFile
from fcgboost.readers.labels import LabelError, labels_in
from fcgboost.readers.sources import Source
from fcgboost.tables import Column, NumberColumn, SkippedColumn
from fcgboost.tables.cells import CellError, numbers_in, read_column
from fcgboost.tables.encoder import closest

_MAX_SHOWN = 20


@dataclass(frozen=True)
class Request:
    """Which columns are asked for, and as what.

    Parameters
    ----------
    columns : tuple of str
    known : dict from str to Column, or None
        What an encoder knows of columns; None if they are read as what they hold.
    target : str or None
        The column of labels, which an encoder does not know.
    keep : tuple of str
        The columns to give beside the others, exactly as the file has them.
    """

    columns: tuple[str, ...]
    known: dict[str, Column] | None
    target: str | None
    keep: tuple[str, ...] = ()


class FrameFile(RowFile):
    """A file whose batches are data frames."""

    #: The names that columns of batches have, also where the file has no names.
    columns: tuple[str, ...]

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        encoder: Any = None,
        target: str | None = None,
        n_features: int | None = None,
    ) -> Iterator[Any]:
        for frame, _ in self._numbered(self._request(columns, encoder, target)):
            yield frame

    def batches_with(
        self,
        keep: Sequence[str],
        *,
        encoder: Any = None,
        target: str | None = None,
        n_features: int | None = None,
    ) -> Iterator[tuple[Any, Any]]:
        yield from self._numbered(self._request(None, encoder, target, keep))

    def read(
        self,
        columns: Sequence[str] | None = None,
        *,
        encoder: Any = None,
        target: str | None = None,
        n_features: int | None = None,
    ) -> Any:
        request = self._request(columns, encoder, target)
        return self._checked(self._whole(request), 0, request)

    def read_labelled(
        self, target: str | None = None, *, drop: Sequence[str] = ()
    ) -> tuple[Any, Any]:
        name = self.check_target(target)
        self._check_columns(drop)
        if name in drop:
            raise ValueError(f"The target {name!r} can not be dropped.")
        columns = [column for column in self.columns if column not in set(drop)]
        X, y = self.split_target(self.read(columns, target=name), name)
        for column in X.columns:
            if X[column].dtype.kind == "f":
                self._check_numbers(X[column], 0, NumberColumn(column, 0.0, False))
        return X, y

    def split_target(self, batch: Any, target: str | None = None) -> tuple[Any, Any]:
        name = self.check_target(target)
        try:
            labels = labels_in(batch[name].to_numpy())
        except LabelError as error:
            place = "" if error.row is None else f"{self._place(batch.index[error.row])}, "
            raise ValueError(f"{self.source}, {place}target {name!r}: {error}.") from None
        return batch.drop(columns=[name]), labels

    def check_target(self, target: str | None) -> str:
        name = self.default_target if target is None else target
        if name is None:
            raise ValueError(f"Name the target of {self.source}: {_list(self.columns)}.")
        self._check_columns([name])
        return name

    @abstractmethod
    def _parts(self, request: Request) -> Iterator[tuple[Any, Any]]:
        """Give frames of at most `batch_rows` rows, and beside each what is to be kept."""

    @abstractmethod
    def _whole(self, request: Request) -> Any:
        """Give all rows as one frame."""

    @abstractmethod
    def _place(self, row: int) -> str:
        """Say where in the file a row is, the first row being 0."""

    def _request(
        self,
        columns: Sequence[str] | None,
        encoder: Any,
        target: str | None,
        keep: Sequence[str] = (),
    ) -> Request:
        self._check_columns([*(columns or ()), *([] if target is None else [target]), *keep])
        known = None if encoder is None else self._known_columns(encoder, target)
        wanted = self.columns if columns is None else tuple(columns)
        return Request(wanted, known, target, tuple(dict.fromkeys(keep)))

    def _numbered(self, request: Request) -> Iterator[tuple[Any, Any]]:
        n_rows = 0
        for frame, kept in self._parts(request):
            checked = self._checked(frame, n_rows, request)
            kept.index = checked.index
            yield checked, kept
            n_rows += len(frame)
        self.refuse_no_rows(n_rows)

    def _known_columns(self, encoder: Any, target: str | None) -> dict[str, Column]:
        """Find the columns an encoder knows: by name, or by position if it knows no names."""
        if getattr(encoder, "feature_names_in_", None) is not None:
            needed = [one for one in encoder.columns_ if not isinstance(one, SkippedColumn)]
            self._check_columns([column.name for column in needed])
            return {column.name: column for column in needed}
        names = [name for name in self.columns if name != target]
        if len(names) != encoder.n_features_in_:
            raise ValueError(
                f"{self.source} has {len(names)} columns, but the model was fitted on "
                f"{encoder.n_features_in_} columns without names."
            )
        return dict(zip(names, encoder.columns_, strict=True))

    def _check_columns(self, wanted: Sequence[str]) -> None:
        there = set(self.columns)
        for name in wanted:
            if name not in there:
                raise ValueError(f"{self.source} has no column {name!r}{_near(name, self.columns)}")

    def _checked(self, frame: Any, first: int, request: Request) -> Any:
        """Give a frame with its rows counted, its numbers being such as the encoder needs."""
        import pandas as pd

        self.refuse_no_rows(len(frame))
        for name, column in (request.known or {}).items():
            if isinstance(column, NumberColumn) and name in request.columns:
                self._check_numbers(frame[name], first, column)
        frame.index = pd.RangeIndex(first, first + len(frame))
        return frame

    def _check_numbers(self, values: Any, first: int, column: NumberColumn) -> None:
        """Raise a ValueError that says where in the file a cell is no finite number."""
        try:
            numbers_in(column.name, read_column(values), column.unit, column.is_marked)
        except CellError as error:
            place = self._place(first + error.row)
            raise ValueError(
                f"{self.source}, {place}, column {values.name!r}: {error.cell!r} {error.problem}."
            ) from None


def exactly(rows: Any, names: Sequence[str]) -> Any:
    """Give columns of Arrow's rows as a data frame that keeps their types."""
    import pandas as pd
    import pyarrow as pa

    if not names:
        return pd.DataFrame(index=pd.RangeIndex(rows.num_rows))
    columns = [rows[name] for name in names]
    plain = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in columns
    ]
    table = pa.table(plain, names=list(names))
    return table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)


def check_distinct(source: Source, names: Sequence[str]) -> tuple[str, ...]:
    """Give names of columns as a tuple, or raise a ValueError where two are equal."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{source} has two columns named {name!r}: give each its own name.")
        seen.add(name)
    return tuple(names)


def _near(name: str, names: tuple[str, ...]) -> str:
    close = closest(name, names)
    hint = "; the" if close is None else f": is {close!r} meant? The"
    return f"{hint}{_list(names).removeprefix('the')}."


def _list(names: tuple[str, ...]) -> str:
    shown = ", ".join(map(repr, names[:_MAX_SHOWN]))
    rest = f" and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else ""
    return f"the columns are {shown}{rest}"
