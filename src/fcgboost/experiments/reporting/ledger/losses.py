"""Claims on the four losses."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from fcgboost.experiments.reporting import published
from fcgboost.experiments.reporting.ledger.base import Claim, Finding, graded, mostly, select
from fcgboost.experiments.reporting.summaries import summaries, summarize
from fcgboost.experiments.settings import DICTIONARIES
from fcgboost.experiments.sim3 import LEVELS, LOSSES

if TYPE_CHECKING:
    from pandas import DataFrame


def _cells(frame: DataFrame, correction: str) -> dict[tuple[str, float, str], dict[str, float]]:
    """Give the mean test error of every loss in each of the 24 cells."""
    rows = select(frame, correction=correction)
    found = summaries(rows, ["noise", "level", "dictionary", "loss"], "test_error")
    cells: dict[tuple[str, float, str], dict[str, float]] = {}
    for (noise, level, dictionary, loss), summary in found.items():
        cells.setdefault((noise, level, dictionary), {})[loss] = summary.mean
    return cells


def _squared_hinge_best(frame: DataFrame) -> Finding:
    texts, beaten = [], 0
    for correction, name in (("ridge", "exactly, λ = 1/m"), ("admm", "by the paper's ADMM")):
        cells = [cell for cell in _cells(frame, correction).values() if len(cell) == len(LOSSES)]
        gaps = {
            loss: summarize([cell[loss] - cell["squared_hinge"] for cell in cells])
            for loss in LOSSES[1:]
        }
        if correction == "ridge":
            beaten = sum(gap.mean > 2.0 * gap.error for gap in gaps.values())
        shown = ", ".join(f"{loss} {g.mean:+.4f} ± {g.error:.4f}" for loss, g in gaps.items())
        texts.append(f"solved {name}: {shown}")
    return Finding(
        graded(beaten, len(LOSSES) - 1),
        "Mean excess of the other losses' test errors over the squared hinge's, over cells; "
        f"{'; '.join(texts)}. Holds for a loss whose excess, solved exactly, is above two "
        f"standard errors: {beaten} of {len(LOSSES) - 1}.",
    )


def _close_to_published(frame: DataFrame) -> Finding:
    rows = select(frame, correction="ridge", loss="squared_hinge")
    found = summaries(rows, ["noise", "level", "dictionary"], "test_error")
    close, below, all_cells = 0, 0, 0
    for (noise, level, printed), dictionary in product(LEVELS, DICTIONARIES):
        goal = published.sim3(noise, dictionary, printed, "squared_hinge")
        ours = found.get((noise, level, dictionary))
        if ours is None or goal is None:
            continue
        all_cells += 1
        below += ours.mean <= goal
        close += ours.mean <= goal + max(0.02, 2.0 * ours.error)
    return Finding(
        graded(close, all_cells),
        f"{close} of {all_cells} means are within 0.02 or two standard errors of the printed "
        f"one or below it; {below} are below it.",
    )


def _dictionary_order(frame: DataFrame) -> Finding:
    cells = _cells(frame, "ridge")
    right = 0
    for noise, level, _ in LEVELS:
        errors = [cells.get((noise, level, name), {}).get("squared_hinge") for name in DICTIONARIES]
        if None not in errors:
            gauss, polynomial, sigmoid, relu = (float(e) for e in errors if e is not None)
            right += max(gauss, relu) < min(polynomial, sigmoid)
    return Finding(
        mostly(right, len(LEVELS)),
        f"Gauss and ReLU are both below polynomial and sigmoid in {right} of {len(LEVELS)} rows.",
    )


def _slip(_: DataFrame) -> Finding:
    hinge = published.sim3("outlier", "polynomial", 0.1283, "hinge")
    bold = published.sim3("outlier", "polynomial", 0.1283, "squared_hinge")
    is_lowest = bold is not None and hinge is not None and bold <= hinge
    return Finding(
        graded(int(is_lowest), 1), f"Printed: squared hinge {bold} in bold, hinge {hinge}."
    )


CLAIMS = (
    Claim(
        "The squared hinge is commonly slightly better than the other losses.",
        "sim3",
        _squared_hinge_best,
    ),
    Claim("The printed test errors of the squared hinge.", "sim3", _close_to_published),
    Claim(
        "Gauss and ReLU are frequently better than polynomial and sigmoid.",
        "sim3",
        _dictionary_order,
    ),
    Claim(
        "0.0245 is the lowest error of polynomial atoms at 12.83 % outlier noise.", "sim3", _slip
    ),
)
