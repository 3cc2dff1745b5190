"""Claims on the four losses."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from paper.experiments.sim3 import LEVELS, LOSSES
from paper.reporting import published
from paper.reporting.ledger.base import (
    TOO_FEW,
    Claim,
    Finding,
    graded,
    mostly,
    needs,
    select,
)
from paper.reporting.summaries import Summary, paired_over, summaries
from paper.settings import DICTIONARIES

if TYPE_CHECKING:
    from pandas import DataFrame

_LEVELS = (0.2, 0.3, 0.4)
#: The 24 cells of the two tables; both noises have levels of the same names.
_CELLS = {"noise": ("uniform", "outlier"), "level": _LEVELS, "dictionary": DICTIONARIES}


def _excess(frame: DataFrame, loss: str) -> Summary:
    """Give a loss's excess of test error over the squared hinge's, averaged over the cells."""
    return paired_over(frame, "test_error", tuple(_CELLS), "loss", "squared_hinge", loss)


def _shown(excess: Summary) -> str:
    return f"{excess.mean:+.4f} ± {excess.error:.4f}"


@needs("test_error", **_CELLS, loss=LOSSES, correction=("ridge", "admm"))
def _squared_hinge_best(frame: DataFrame) -> Finding:
    texts, beaten = [], 0
    for correction, name in (("ridge", "exactly, λ = 1/m"), ("admm", "by the paper's ADMM")):
        rows = select(frame, correction=correction)
        gaps = {loss: _excess(rows, loss) for loss in LOSSES[1:]}
        if any(gap.n < 2 for gap in gaps.values()):
            return TOO_FEW
        if correction == "ridge":
            beaten = sum(gap.mean > 2.0 * gap.error for gap in gaps.values())
        shown = ", ".join(f"{loss} {_shown(gap)}" for loss, gap in gaps.items())
        texts.append(f"solved {name}: {shown}")
    return Finding(
        graded(beaten, len(LOSSES) - 1),
        "Excess of the other losses' test errors over the squared hinge's, averaged over 24 cells, "
        f"± its standard error over repetitions; {'; '.join(texts)}. Holds for a loss whose "
        f"excess, solved exactly, is above two standard errors: {beaten} of {len(LOSSES) - 1}.",
    )


@needs(
    "test_error",
    **{**_CELLS, "noise": ("outlier",)},
    **{"loss": ("squared_hinge", "hinge", "square"), "correction": ("ridge",)},
)
def _robust(frame: DataFrame) -> Finding:
    rows = select(frame, correction="ridge", noise="outlier")
    by_ratio = [select(rows, level=ratio) for ratio in _LEVELS]
    square, hinge = ([_excess(part, loss) for part in by_ratio] for loss in ("square", "hinge"))
    if any(gap.n < 2 for gap in (*square, *hinge)):
        return TOO_FEW
    above = sum(gap.mean > 2.0 * gap.error for gap in square)
    return Finding(
        graded(above, len(_LEVELS)),
        "Excess of test error over the squared hinge's under outliers of ratio 0.2, 0.3 and 0.4, "
        "solved exactly, λ = 1/m, averaged over dictionaries: square loss "
        f"{', '.join(map(_shown, square))}; hinge {', '.join(map(_shown, hinge))}. The square "
        f"loss is above by more than two standard errors at {above} of {len(_LEVELS)}.",
    )


@needs("test_error", **_CELLS, loss=("squared_hinge",), correction=("ridge",))
def _close_to_published(frame: DataFrame) -> Finding:
    rows = select(frame, correction="ridge", loss="squared_hinge")
    found = summaries(rows, tuple(_CELLS), "test_error")
    close, below, n_printed = 0, 0, 0
    for (noise, level, printed), dictionary in product(LEVELS, DICTIONARIES):
        goal = published.sim3(noise, dictionary, printed, "squared_hinge")
        if goal is None:
            continue
        ours = found[noise, level, dictionary]
        n_printed += 1
        below += ours.mean <= goal
        close += ours.mean <= goal + max(0.02, 2.0 * ours.error)
    return Finding(
        graded(close, n_printed),
        f"{close} of {n_printed} means are within 0.02 or two standard errors of the printed "
        f"one or below it; {below} are below it.",
    )


@needs("test_error", **_CELLS, loss=("squared_hinge",), correction=("ridge",))
def _dictionary_order(frame: DataFrame) -> Finding:
    rows = select(frame, correction="ridge", loss="squared_hinge")
    found = summaries(rows, tuple(_CELLS), "test_error")
    right = 0
    for noise, level, _ in LEVELS:
        mean = {name: found[noise, level, name].mean for name in DICTIONARIES}
        right += max(mean["gauss"], mean["relu"]) < min(mean["polynomial"], mean["sigmoid"])
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
    Claim(
        "The squared hinge inherits the hinge's robustness to outliers.",
        "sim3",
        _robust,
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
