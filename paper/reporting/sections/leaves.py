"""Trees corrected whole or leaf by leaf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paper.reporting.beyond import common, grid, verdicts
from paper.reporting.document import Body
from paper.reporting.ledger.beyond import LEAVES
from paper.reporting.tables import present
from paper.rivals import RIVALS

if TYPE_CHECKING:
    from pandas import DataFrame

LABELS: Mapping[str, str] = {
    "trees": "one a tree",
    "leaves": "one a leaf",
    "near_trees": "one a leaf, near its tree's",
    "rgf": RIVALS["rgf"].title,
}


def write(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Compare on the splits that all have."""
    models = present(tuple(LABELS), frame, "model")
    shared = common(frame, models, ("dataset", "repetition"))
    tables = [verdicts("leaves", LEAVES, frame)]
    if len(shared):
        test, train = "on the test part", "on the training part"
        tables += [
            grid(
                *(shared, "accuracy", LABELS, "Test accuracies in percent."),
                digits=2,
                factor=100.0,
                largest=True,
            ),
            grid(shared, "squared_hinge", LABELS, f"Squared hinge {test}.", digits=4),
            grid(shared, "training_squared_hinge", LABELS, f"Squared hinge {train}.", digits=4),
            grid(shared, "n_trees", LABELS, "Trees that were chosen.", digits=0),
            grid(shared, "n_coefficients", LABELS, "Coefficients (RGF: leaves).", digits=0),
        ]
    how = (
        "The same trees, from one path with the ridge 0.1/√m, are corrected with one coefficient "
        "a tree and with one a leaf; four ridges and k₀, 2k₀ or 3k₀ trees are chosen by "
        "validation accuracy less half the squared hinge. The squared hinge is that of decision "
        "values cut to [−1, 1], for RGF of 2p − 1."
    )
    return Body((how,), tuple(tables))
