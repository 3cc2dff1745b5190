"""Files of text with a header line and fields between separators: CSV, TSV and their like."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from fcgboost.readers import kinds
from fcgboost.readers.frames import FrameFile, Request, check_distinct, exactly
from fcgboost.readers.sources import Source
from fcgboost.readers.streams import find_fault, line_of, open_bytes, refuse_encoding

_SEPARATORS = ",;\t|"
_HEAD = 2**20
_LONGEST_HEAD = 2**24
_N_SNIFFED = 50


class TextFile(FrameFile):
    """A file of text with a header line.

    Parameters
    ----------
    source : Source
    batch_rows : int
    separator : str or None
        What stands between fields; None to find it out.
    """

    def __init__(self, source: Source, batch_rows: int, separator: str | None) -> None:
        super().__init__(source, batch_rows)
        head, hint = _part_hint(_read_head(source))
        self._n_hint_lines = 0 if hint is None else 1
        self._separator = hint or separator or _sniff(head)
        n_blank = len(head) - len(head.lstrip("\r\n"))
        self._n_blank_lines = head[:n_blank].replace("\r\n", "\n").count("\n")
        self._is_one_line = not {"\n", "\r"} & set(head.strip())
        header = next(_records(head, self._separator), [])
        self.names = self.columns = check_distinct(source, _check_header(source, header))
        # A record must fit into a block; records are hardly ever many times their header's length.
        self._block_size = max(_HEAD, 16 * len(head[: head.find("\n") + 1].encode()))

    def _parts(self, request: Request) -> Iterator[tuple[Any, Any]]:
        unknown = _unknown(request)
        seen = (self._clean(table, unknown, request.target) for table in self._tables(unknown))
        found = self._find_kinds(unknown, seen, request.target) if unknown else {}
        wanted = tuple(dict.fromkeys([*request.columns, *request.keep]))
        for table in _even(self._tables(wanted), self.batch_rows):
            cleaned = self._clean(table, request.columns, request.target)
            yield self._convert(cleaned, request, found), _kept(table, request.keep)

    def _whole(self, request: Request) -> Any:
        import pyarrow as pa

        names, target = request.columns, request.target
        tables = [self._clean(table, names, target) for table in self._tables(names)]
        self.refuse_no_rows(len(tables))
        table = pa.concat_tables(tables)
        return self._convert(table, request, self._find_kinds(_unknown(request), [table], target))

    def _place(self, row: int) -> str:
        line = line_of(self.source, self._separator, row + 1)
        return f"row {row + 1}" if line is None else f"line {line}"

    @property
    def _has_comma(self) -> bool:
        """Whether numbers may have a decimal comma: where fields end with one, they can not."""
        return self._separator == ";"

    def _clean(self, table: Any, names: tuple[str, ...], target: str | None) -> Any:
        import pyarrow as pa

        columns = [
            kinds.clean(table[name], (kinds.EMPTY,) if name == target else kinds.MISSING)
            for name in names
        ]
        return pa.table(columns, names=list(names))

    def _find_kinds(
        self, names: tuple[str, ...], tables: Iterable[Any], target: str | None
    ) -> dict[str, str]:
        """Say what columns hold, from all of their texts."""
        found = dict.fromkeys(names, "empty")
        has_missing = dict.fromkeys(names, False)
        for table in tables:
            for name in names:
                texts = table[name]
                has_missing[name] |= texts.null_count > 0
                if found[name] != "text":
                    is_target = name == target
                    kind = (
                        kinds.label_kind_of(texts)
                        if is_target
                        else kinds.kind_of(texts, self._has_comma)
                    )
                    found[name] = kinds.join(found[name], kind)
        return {name: kinds.settle(kind, has_missing[name]) for name, kind in found.items()}

    def _convert(self, table: Any, request: Request, found: dict[str, str]) -> Any:
        import pyarrow as pa

        known = request.known or {}
        columns = [
            kinds.convert(table[name], found[name])
            if name in found
            else kinds.convert_for(table[name], known.get(name), self._has_comma)
            for name in table.column_names
        ]
        return pa.table(columns, names=table.column_names).to_pandas()

    def _tables(self, wanted: tuple[str, ...]) -> Iterator[Any]:
        """Give columns as the texts they are, a block of the file at a time."""
        import pyarrow as pa

        last = None
        if self._is_one_line:
            return
        try:
            with open_bytes(self.source) as file:
                for batch in self._open_csv(file, wanted):
                    if batch.num_rows:
                        last = batch
                        yield pa.Table.from_batches([batch])
        except pa.ArrowInvalid as error:
            self._explain(error)
        if last is not None and _ends_in_lines(last):
            self._refuse_fault()

    def _open_csv(self, file: Any, wanted: tuple[str, ...]) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        return arrow_csv.open_csv(
            pa.PythonFile(file, mode="r"),
            read_options=arrow_csv.ReadOptions(
                use_threads=False,
                block_size=self._block_size,
                column_names=list(self.columns),
                skip_rows=self._n_hint_lines,
                skip_rows_after_names=1 + self._n_blank_lines,
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._separator, newlines_in_values=True
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(wanted),
                column_types=dict.fromkeys(wanted, pa.string()),
                strings_can_be_null=False,
            ),
        )

    def _explain(self, error: Exception) -> None:
        """Say what an error of the parser means, with the line that it is about."""
        if "UTF8" in str(error):
            refuse_encoding(self.source)
        self._refuse_fault()
        if "straddling" in str(error):
            raise ValueError(
                f"{self.source} has a record of more than {self._block_size} bytes: is a quote "
                "opened and never closed?"
            ) from error
        raise ValueError(f"{self.source} can not be read: {error}") from error

    def _refuse_fault(self) -> None:
        fault = find_fault(self.source, self._separator, len(self.columns))
        if fault is not None:
            raise ValueError(f"{self.source}: {fault}.")


def _unknown(request: Request) -> tuple[str, ...]:
    """Name the columns of which only their texts can tell what they hold."""
    if request.known is None:
        return request.columns
    return tuple(name for name in request.columns if name == request.target)


def _kept(table: Any, names: tuple[str, ...]) -> Any:
    """Give columns as the texts they are, nothing where there is none."""
    import pyarrow as pa
    from pyarrow import compute

    nothing = pa.scalar(None, pa.string())
    # Not by `if_else`, which up to pyarrow 21 breaks texts that are a slice of others.
    columns = [
        compute.case_when(compute.make_struct(compute.equal(table[name], "")), nothing, table[name])
        for name in names
    ]
    return exactly(pa.table(columns, names=list(names)) if names else table, names)


def _even(tables: Iterable[Any], n_rows: int) -> Iterator[Any]:
    """Cut tables anew, so that all but the last have as many rows as wanted."""
    import pyarrow as pa

    held: list[Any] = []
    n_held = 0
    for table in tables:
        held.append(table)
        n_held += table.num_rows
        if n_held >= n_rows:
            joined = pa.concat_tables(held)
            n_whole = n_held - n_held % n_rows
            for start in range(0, n_whole, n_rows):
                yield joined.slice(start, n_rows)
            held, n_held = [joined.slice(n_whole)], n_held - n_whole
    if n_held:
        yield pa.concat_tables(held)


def _read_head(source: Source) -> str:
    """Give the text at the beginning of a file: its header line at least."""
    with open_bytes(source) as file:
        head = file.read(_HEAD)
        if b"\n" not in head and b"\r" not in head:
            head += file.read(_LONGEST_HEAD - _HEAD)
        is_all = not file.read(1)
    if not head.strip():
        raise ValueError(f"{source} is empty.")
    if not is_all:
        end = max(head.rfind(b"\n"), head.rfind(b"\r"))
        if end < 0:
            raise ValueError(f"The first line of {source} does not end: is it a table of text?")
        head = head[: end + 1]
    try:
        return head.decode("utf-8-sig")
    except UnicodeDecodeError:
        refuse_encoding(source)


def _part_hint(head: str) -> tuple[str, str | None]:
    """Part a first line that names the separator, as spreadsheets write it, from the others."""
    found = re.match(r"sep=([^\r\n])(\r\n|\r|\n)", head, re.IGNORECASE)
    return (head, None) if found is None else (head[found.end() :], found[1])


def _records(head: str, separator: str) -> Iterator[list[str]]:
    try:
        yield from filter(None, csv.reader(io.StringIO(head, newline=""), delimiter=separator))
    except csv.Error:
        return


def _sniff(head: str) -> str:
    """Find the separator: the one by which the records have as many fields as the header."""

    def fit(separator: str) -> tuple[bool, int]:
        widths = [len(record) for record in islice(_records(head, separator), _N_SNIFFED)]
        return len(set(widths)) == 1 and widths[0] > 1, widths[0] if widths else 0

    return max(_SEPARATORS, key=fit)


def _check_header(source: Source, header: list[str]) -> list[str]:
    """Give the names of the columns; one without a name gets the name that pandas gives it."""
    names = [name.strip() for name in header]
    if names and all(map(_is_number, names)) and not _are_numbered(names):
        raise ValueError(
            f"The first line of {source} holds numbers, not names of columns: add a header line."
        )
    return [name or f"Unnamed: {place}" for place, name in enumerate(names)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _are_numbered(names: list[str]) -> bool:
    """Whether names are distinct whole numbers, as those of an array's columns are."""
    return all(name.isdecimal() for name in names) and len(set(names)) == len(names)


def _ends_in_lines(batch: Any) -> bool:
    """Whether a field of the last row has several lines: it may have swallowed the next rows."""
    last = batch.slice(batch.num_rows - 1)
    return any("\n" in (column[0].as_py() or "") for column in last.columns)
