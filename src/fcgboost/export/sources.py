"""What the inputs of a sum are made of: numbers with gaps, or the columns of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple, get_args

from fcgboost.prediction import BaseFCGBoost
from fcgboost.tables import Column, NumberColumn, NumberOutput, TableEncoder
from fcgboost.tables.columns import View
from fcgboost.tables.inputs import PlainInputs


class Source(NamedTuple):
    """A column, and its outputs with their places among the inputs of the sum."""

    column: Any
    outputs: list[tuple[int, Any]]

    def runs(self) -> Iterator[list[tuple[int, int]]]:
        """Yield places and levels of marks, together as long as both grow by one."""
        marks = [(place, one.level) for place, one in self.outputs if one.level is not None]
        gaps = [(place - i, level - i) for i, (place, level) in enumerate(marks)]
        for _, run in groupby(range(len(marks)), gaps.__getitem__):
            yield [marks[i] for i in run]


class Sources:
    """The columns of the data in their order; in a table, each is given on its own."""

    def __init__(self, columns: Sequence[Column], is_table: bool) -> None:
        outputs = [(j, one) for j, column in enumerate(columns) for one in column.outputs]
        #: Of every input the number of its column, and which output it is.
        self.in_order = sorted(outputs, key=lambda pair: get_args(View).index(pair[1].view))
        self.all = [Source(column, []) for column in columns]
        for place, (j, one) in enumerate(self.in_order):
            self.all[j].outputs.append((place, one))
        #: The columns that become something.
        self.used = [source for source in self.all if source.outputs]
        self.is_table = is_table
        raw = [(j, NumberOutput()) for j in range(len(columns))]
        #: Whether inputs are the numbers of a row as they come.
        self.is_raw = not is_table and self.in_order == raw

    @property
    def has_gaps(self) -> bool:
        """Whether some input is NaN where a value is missing."""
        numbers = [one for _, one in self.in_order if isinstance(one, NumberOutput)]
        return any(one.fill is None and one.part != "missing" for one in numbers)


def sources_of(encoder: TableEncoder | None, classifier: BaseFCGBoost) -> Sources:
    """Return what the inputs of a model are made of."""
    inputs = vars(classifier).get("_inputs_")
    if encoder is not None:
        if inputs is not None and not isinstance(inputs, PlainInputs):
            raise ValueError(
                "A classifier behind a TableEncoder can only be exported if its inputs are plain "
                "numbers: fit it without categorical_features, or to the table itself."
            )
        return Sources(encoder.columns_, is_table=True)
    plain = [NumberColumn("")] * classifier.n_features_in_
    columns = plain if inputs is None else inputs.columns
    are_numbers = [isinstance(one, NumberColumn) and one.unit == "number" for one in columns]
    return Sources(columns, is_table=not all(are_numbers))
