"""What a model remembers of how its file was written, so that later files are read alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from fcgboost.tables.learning import PLURALS, WAYS, Reading


@dataclass(frozen=True)
class Memory:
    """How a file was written, as `RowFile.about` tells."""

    encoding: str | None = None
    separator: str | None = None
    sheet: str | None = None
    first_index: int | None = None
    merges_spellings: bool = False
    #: Unit and style of the columns that are not plain.
    columns: dict[str, Reading] = field(default_factory=dict)

    @classmethod
    def of(cls, record: Mapping[str, object]) -> Memory:
        """Check what a model file holds: users may have stored anything."""
        try:
            memory = cls(**record)  # type: ignore[arg-type]
            columns = {name: Reading(*pair) for name, pair in memory.columns.items()}
            for value in (memory.encoding, memory.separator, memory.sheet):
                if not isinstance(value, str | None):
                    raise TypeError(f"{value!r} is not a text")
            are_known = all(unit in PLURALS and style in WAYS for unit, style in columns.values())
            if not are_known or memory.first_index not in (None, 0, 1):
                raise ValueError("it holds what this version does not know")
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                f"What the model says about its file cannot be used: {error}"
            ) from None
        return replace(memory, columns=columns)
