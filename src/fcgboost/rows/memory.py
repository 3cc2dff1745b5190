"""What a model remembers of how its file was written, so that later files are read alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from fcgboost.rows.limits import Source
from fcgboost.rows.texts import Dialect
from fcgboost.tables.learning import PLURALS, WAYS, Reading

_TEXTS = ("encoding", "separator", "sheet")


@dataclass(frozen=True)
class Memory:
    """How a file was written, as `RowFile.about` tells."""

    encoding: str | None = None
    separator: str | None = None
    sheet: str | None = None
    first_index: Literal[0, 1] | None = None
    merges_spellings: bool = False
    #: Unit and style of the columns that are not plain.
    columns: dict[str, Reading] = field(default_factory=dict)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Memory:
        """Check what a model file holds: users may have stored anything."""
        try:
            pairs = dict(record.get("columns", {}))
            columns = {name: Reading(*pair) for name, pair in pairs.items()}
            memory = cls(**{**record, "columns": columns})
            for reading in columns.values():
                if reading.unit not in PLURALS or reading.style not in WAYS:
                    raise ValueError(f"{reading} is unknown")
            if not {type(getattr(memory, name)) for name in _TEXTS} <= {str, type(None)}:
                raise TypeError(f"{', '.join(_TEXTS)} must be texts")
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"What the model says about its file cannot be used: {error}"
            ) from None
        return memory

    def completed(self, options: Dialect, source: Source) -> Dialect:
        """Return the options and what they leave open; say where they differ."""
        styles = {reading.style for reading in self.columns.values()} - {""}
        for style in options.styles():
            alike = {
                other for other in styles if other.endswith("first") == style.endswith("first")
            }
            if alike and style not in alike:
                self._tell(source, style or "decimal point", ", ".join(sorted(alike)))
        for option in ("encoding", "sheet"):
            value = getattr(options, option)
            own = getattr(self, option)
            if None not in (value, own) and value != own:
                self._tell(source, f"{option} {value}", own)
        return replace(
            options,
            sheet=options.sheet or self.sheet,
            separator=self.separator,
            columns=self.columns,
            likely_encoding=self.encoding,
        )

    def _tell(self, source: Source, here: str, there: str) -> None:
        source.tell(f"{source.name} is read with {here}, but the model's file was with {there}.")
