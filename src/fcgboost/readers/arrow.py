"""Files that know the types of their columns: Parquet, and Arrow's own form (Feather)."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fcgboost.readers.frames import FrameFile, Request, check_distinct, exactly
from fcgboost.readers.sources import Source


class TypedFile(FrameFile):
    """A file that Arrow reads as batches of typed columns."""

    #: What the form is called in errors.
    form: str

    def __init__(self, source: Source, batch_rows: int) -> None:
        super().__init__(source, batch_rows)
        with self._explained():
            schema = self._schema()
            found = list(schema.names)
        about = _about_pandas(schema)
        # In these pandas keeps the names of rows, which are no features.
        index = about.get("index_columns", [])
        names = [name for name in found if name not in index]
        self.names = self.columns = check_distinct(source, names)
        self._categories = [
            column.get("name")
            for column in about.get("columns", [])
            if isinstance(column, dict) and column.get("pandas_type") == "categorical"
        ]

    def _parts(self, request: Request) -> Iterator[tuple[Any, Any]]:
        wanted = tuple(dict.fromkeys([*request.columns, *request.keep]))
        with self._explained():
            for batch in self._record_batches(wanted):
                if batch.num_rows:
                    frame = self._to_frame(batch.select(list(request.columns)))
                    yield frame, exactly(batch, request.keep)

    def _whole(self, request: Request) -> Any:
        import pyarrow as pa

        with self._explained():
            # Not data frames joined: of these, each has categories of its own.
            batches = list(self._record_batches(request.columns))
            self.refuse_no_rows(len(batches))
            return self._to_frame(pa.Table.from_batches(batches))

    def _to_frame(self, rows: Any) -> Any:
        """Give a data frame; what was a category in pandas is one again, which Parquet forgets."""
        frame = rows.to_pandas(ignore_metadata=True)
        return frame.astype({name: "category" for name in self._categories if name in frame})

    def _place(self, row: int) -> str:
        return f"row {row + 1}"

    @abstractmethod
    def _schema(self) -> Any: ...

    @abstractmethod
    def _record_batches(self, wanted: tuple[str, ...]) -> Iterator[Any]: ...

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn Arrow's errors into one that names the file; files that are not there stay so."""
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise ValueError(
                f"{self.source} is damaged, or not a file in {self.form} form: {error}"
            ) from error


class ParquetRows(TypedFile):
    """A Parquet file."""

    form = "Parquet"

    def _schema(self) -> Any:
        from pyarrow import parquet

        return parquet.read_schema(self.source.place)

    def _record_batches(self, wanted: tuple[str, ...]) -> Iterator[Any]:
        from pyarrow import parquet

        with parquet.ParquetFile(self.source.place) as file:
            for batch in file.iter_batches(self.batch_rows, columns=list(wanted)):
                yield batch.select(list(wanted))


class ArrowRows(TypedFile):
    """A file in Arrow's own form, which Feather is too: with a table of contents or as a stream."""

    form = "Arrow"

    def _schema(self) -> Any:
        with self._open() as reader:
            return reader.schema

    def _record_batches(self, wanted: tuple[str, ...]) -> Iterator[Any]:
        with self._open() as reader:
            for batch in _each(reader):
                # A damaged file may point outside its own memory.
                batch.validate(full=True)
                chosen = batch.select(list(wanted))
                for start in range(0, chosen.num_rows, self.batch_rows):
                    yield chosen.slice(start, self.batch_rows)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        import pyarrow as pa

        with pa.OSFile(str(self.source.place)) as file:
            is_whole = file.read(6) == b"ARROW1"
            file.seek(0)
            yield pa.ipc.open_file(file) if is_whole else pa.ipc.open_stream(file)


def _each(reader: Any) -> Iterator[Any]:
    n_batches = getattr(reader, "num_record_batches", None)
    if n_batches is None:
        yield from reader
    else:
        for place in range(n_batches):
            yield reader.get_batch(place)


def _about_pandas(schema: Any) -> dict[str, Any]:
    """Give what pandas wrote down about its data frame."""
    try:
        about = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    except ValueError:
        return {}
    return about if isinstance(about, dict) else {}
