"""Files whose rows come as data frames: what is asked for, checked, and numbered."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from fcgboost.readers.base import RowFile
from fcgboost.tables import Column, NumberColumn, SkippedColumn
from fcgboost.tables.cells import CellError, column_array, numbers_in

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
    """

    columns: tuple[str, ...]
    known: dict[str, Column] | None
    target: str | None


class FrameFile(RowFile):
    """A file whose batches are data frames."""

    #: The names that columns of batches have, also where the file has no names.
    columns: tuple[str, ...]
    #: The column of labels if the user names none.
    default_target: str | None = None

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        encoder: Any = None,
        target: str | None = None,
        n_features: int | None = None,
    ) -> Iterator[Any]:
        request = self._request(columns, encoder, target)
        n_rows = 0
        for frame in self._frames(request):
            yield self._checked(frame, n_rows, request)
            n_rows += len(frame)
        self.refuse_no_rows(n_rows)

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

    def split_target(self, batch: Any, target: str | None = None) -> tuple[Any, Any]:
        self.check_target(target)
        name = self.default_target if target is None else target
        return batch.drop(columns=[name]), batch[name].to_numpy()

    def check_target(self, target: str | None) -> None:
        name = self.default_target if target is None else target
        if name is None:
            raise ValueError(f"Name the target of {self.path}: {_list(self.columns)}.")
        self._check_columns([name])

    @abstractmethod
    def _frames(self, request: Request) -> Iterator[Any]:
        """Give frames of at most `batch_rows` rows."""

    @abstractmethod
    def _whole(self, request: Request) -> Any:
        """Give all rows as one frame."""

    @abstractmethod
    def _place(self, row: int) -> str:
        """Say where in the file a row is, the first row being 0."""

    def _request(self, columns: Sequence[str] | None, encoder: Any, target: str | None) -> Request:
        self._check_columns([*(columns or ()), *([] if target is None else [target])])
        known = None if encoder is None else self._known_columns(encoder, target)
        return Request(self.columns if columns is None else tuple(columns), known, target)

    def _known_columns(self, encoder: Any, target: str | None) -> dict[str, Column]:
        """Find the columns an encoder knows: by name, or by position if it knows no names."""
        if getattr(encoder, "feature_names_in_", None) is not None:
            needed = [one for one in encoder.columns_ if not isinstance(one, SkippedColumn)]
            self._check_columns([column.name for column in needed])
            return {column.name: column for column in needed}
        names = [name for name in self.columns if name != target]
        if len(names) != encoder.n_features_in_:
            raise ValueError(
                f"{self.path} has {len(names)} columns, but the model was fitted on "
                f"{encoder.n_features_in_} columns without names."
            )
        return dict(zip(names, encoder.columns_, strict=True))

    def _check_columns(self, wanted: Sequence[str]) -> None:
        there = set(self.columns)
        for name in wanted:
            if name not in there:
                raise ValueError(f"{self.path} has no column {name!r}{_near(name, self.columns)}")

    def _checked(self, frame: Any, first: int, request: Request) -> Any:
        """Give a frame with its rows counted, its numbers being such as the encoder needs."""
        import pandas as pd

        self.refuse_no_rows(len(frame))
        for name, column in (request.known or {}).items():
            if isinstance(column, NumberColumn) and name in request.columns:
                try:
                    numbers_in(column_array(frame[name]), column.unit)
                except CellError as error:
                    place = self._place(first + error.row)
                    raise ValueError(
                        f"{self.path}, {place}, column {name!r}: {error.cell!r} {error.problem}."
                    ) from None
        frame.index = pd.RangeIndex(first, first + len(frame))
        return frame


def check_distinct(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Give names of columns as a tuple, or raise a ValueError where two are equal."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{path} has two columns named {name!r}: give each its own name.")
        seen.add(name)
    return tuple(names)


def _near(name: str, names: tuple[str, ...]) -> str:
    lower = {known.lower(): known for known in names}
    close = get_close_matches(name.lower(), lower, n=1)
    hint = f": is {lower[close[0]]!r} meant? The" if close else "; the"
    return f"{hint}{_list(names).removeprefix('the')}."


def _list(names: tuple[str, ...]) -> str:
    shown = ", ".join(map(repr, names[:_MAX_SHOWN]))
    rest = f" and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else ""
    return f"the columns are {shown}{rest}"
