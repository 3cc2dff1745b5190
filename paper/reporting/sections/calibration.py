"""Probabilities: Brier scores, log-losses and calibration errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paper.reporting.beyond import clipped, common, grid, over_sets, verdicts
from paper.reporting.document import Body
from paper.reporting.ledger.beyond import CALIBRATION
from paper.reporting.tables import Table, present, row, signed_plus_minus
from paper.rivals import RIVALS

if TYPE_CHECKING:
    from pandas import DataFrame

LINKS: Mapping[str, str] = {
    "theory": "(1 + πf)/2",
    "shrunk": "shrunk, 1 parameter",
    "logistic": "logistic, 1 parameter",
    "power": "power, 2 parameters (the default's)",
    "platt": "Platt, 2 parameters",
    "isotonic": "isotonic",
}
LABELS: Mapping[str, str] = {
    **LINKS,
    **{name: RIVALS[name].title for name in ("lightgbm", "catboost", "random_forest")},
}
_SCORES: Mapping[str, str] = {
    "brier": "Brier scores",
    "log_loss": "Log-losses",
    "calibration_error": "Expected calibration errors, 10 bins of equal width",
}


def write(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Show all scores, and the links' differences to the theory's probabilities."""
    models = present(tuple(LABELS), frame, "model")
    shared = common(frame, models, ("dataset", "repetition"))
    tables = [verdicts("calibration", CALIBRATION, frame), _differences(frame)]
    if len(shared):
        caption = "{}; means over the splits that all have."
        tables += [
            grid(shared, column, LABELS, caption.format(text), digits=4)
            for column, text in _SCORES.items()
        ]
    how = (
        "Links are fitted to the validation part, which has chosen ridge and number of steps as "
        f"well. In the log-loss probabilities are {clipped(facts)}. LightGBM (16 leaves), CatBoost "
        "(depth 6) and the random forest (300 trees) are taken as they come, the boosters with "
        "the number of trees of the lowest validation log-loss."
    )
    return Body((how,), tuple(tables))


def _differences(frame: DataFrame) -> Table:
    lines = []
    for link in present(tuple(LINKS), frame[frame["model"].isin(LINKS)], "model"):
        if link != "theory":
            found = (over_sets(frame, column, "theory", link) for column in _SCORES)
            shown = (signed_plus_minus(difference, 4) for difference in found)
            lines.append(row(LINKS[link], *shown))
    return Table(
        "Links minus (1 + πf)/2: lower is better.",
        ("link", "Brier score", "log-loss", "calibration error"),
        tuple(lines),
        ("± is the standard error over sets.",),
    )
