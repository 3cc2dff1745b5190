"""The sizes of the real data beside the paper's table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paper.data.catalog import UCI_SETS
from paper.reporting import published
from paper.reporting.document import Body
from paper.reporting.tables import Cell, Table, number, present, row

if TYPE_CHECKING:
    from pandas import DataFrame


def write(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Compare rows and attributes with the printed ones."""
    sizes = frame.set_index("dataset")
    rows = [_row(name, sizes.loc[name]) for name in present(published.datasets(), frame, "dataset")]
    table = Table(
        "Rows and attributes, counted in what the loaders return, and as the paper prints them.",
        (
            "data set",
            "rows",
            "complete rows",
            "paper",
            "attributes",
            "paper",
            "inputs",
            "y = +1",
        ),
        tuple(rows),
        (
            "Complete rows are used. Inputs: attributes that hold letters become one number for "
            "each level.",
        ),
        printed="Table 4",
    )
    return Body((), (table,))


def _row(name: str, size: Any) -> tuple[Cell, ...]:
    n_rows, n_attributes = published.uci_size(name)
    is_same = (size["n_complete"], size["n_attributes"]) == (n_rows, n_attributes)
    # A semicolon would begin another footnote.
    note = "" if is_same else UCI_SETS[name].deviation.rstrip(".").replace(";", ",")
    return row(
        Cell(name, note=note),
        number(size["n_rows"], 0),
        number(size["n_complete"], 0),
        number(n_rows, 0),
        number(size["n_attributes"], 0),
        number(n_attributes, 0),
        number(size["n_inputs"], 0),
        number(size["n_positive"], 0),
    )
