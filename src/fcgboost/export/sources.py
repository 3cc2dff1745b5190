"""What the inputs of a sum are made of: numbers with gaps, or the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

from fcgboost.prediction import BaseFCGBoost
from fcgboost.tables import Column, NumberColumn, NumberOutput, TableEncoder
from fcgboost.tables.columns import View
from fcgboost.tables.inputs import PlainInputs


class Source(NamedTuple):
    """A column, and its outputs with their places among the inputs of the sum."""

    column: Column
    outputs: list[tuple[int, Any]]


@dataclass(frozen=True, eq=False)
class Sources:
    """The columns of the data, in their order."""

    all: list[Source]
    #: Whether every column is given on its own; else a row is an array of numbers.
    is_table: bool

    @classmethod
    def of(cls, columns: Sequence[Column], is_table: bool) -> Sources:
        """Return where the outputs of columns go: those that only some atoms see are apart."""
        outputs = [(j, one) for j, column in enumerate(columns) for one in column.outputs]
        views = get_args(View)
        found = [Source(column, []) for column in columns]
        ordered = sorted(outputs, key=lambda pair: views.index(pair[1].view))
        for place, (j, one) in enumerate(ordered):
            found[j].outputs.append((place, one))
        return cls(found, is_table)

    @property
    def used(self) -> list[Source]:
        """The columns that become something."""
        return [source for source in self.all if source.outputs]

    @property
    def in_order(self) -> list[tuple[int, Any]]:
        """Of every input the number of its column, and which output it is."""
        found = [(place, j, own) for j, one in enumerate(self.all) for place, own in one.outputs]
        return [(j, own) for _, j, own in sorted(found, key=lambda triple: triple[0])]

    @property
    def has_gaps(self) -> bool:
        """Whether some input is NaN where a value is missing."""
        return any(
            isinstance(own, NumberOutput) and own.fill is None and own.part != "missing"
            for _, own in self.in_order
        )


def sources_of(encoder: TableEncoder | None, classifier: BaseFCGBoost) -> Sources | None:
    """Return what the inputs of a model are made of; None if they are the numbers of a row."""
    inputs = vars(classifier).get("_inputs_")
    if encoder is not None:
        if inputs is not None and not isinstance(inputs, PlainInputs):
            raise ValueError(
                "A classifier behind a TableEncoder can be exported if it takes the numbers as "
                "they are: fit it without categorical_features, or to the table itself."
            )
        return Sources.of(encoder.columns_, is_table=True)
    if inputs is None:
        return None
    are_numbers = [isinstance(one, NumberColumn) and one.unit == "number" for one in inputs.columns]
    sources = Sources.of(inputs.columns, is_table=not all(are_numbers))
    raw = [(j, NumberOutput()) for j in range(len(inputs.columns))]
    return None if not sources.is_table and sources.in_order == raw else sources
