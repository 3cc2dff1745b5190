"""What a model remembers of how its file was written, so that later files are read alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from fcgboost.documents.checking import DocumentError, convert
from fcgboost.documents.schema import Record
from fcgboost.tables.learning import Reading


class Memory(Record):
    """How a file was written, as `RowFile.about` tells."""

    encoding: str | None = None
    separator: str | None = None
    sheet: str | None = None
    first_index: Literal[0, 1] | None = None
    merges_spellings: bool = False
    #: Unit and style of the columns that are not plain.
    columns: dict[str, Reading] = {}  # noqa: RUF012 (every record gets its own)


def memory_of(record: Mapping[str, object]) -> Memory:
    """Check what a model file holds: users may have stored anything."""
    try:
        return convert(record, Memory)  # type: ignore[no-any-return]
    except DocumentError as error:
        problem = f"What the model says about its file cannot be used: {error}"
        raise ValueError(problem) from None
