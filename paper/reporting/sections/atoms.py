"""Learned atoms against random ones: how many reach the same goal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from paper.reporting import published
from paper.reporting.beyond import in_points, verdicts
from paper.reporting.document import Body
from paper.reporting.ledger.atoms import (
    ATOMS,
    GOALS,
    atom_ratios,
    half_differences,
)
from paper.reporting.ledger.base import select
from paper.reporting.tables import (
    ABSENT,
    Table,
    number,
    present,
    row,
    signed_plus_minus,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series

WAYS: Mapping[str, str] = {
    "random": "random",
    "again": "random, other seed",
    "learned": "learned",
}


def write(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Show how many atoms reach each goal, and where each path is best by itself."""
    tables = [verdicts("atoms", ATOMS, frame)]
    half = select(frame, criterion="half")
    if len(half):
        tables.append(_half(half))
    for criterion, text in GOALS.items():
        rows = select(frame, criterion=criterion)
        if len(rows):
            tables.append(_reached(rows, text))
    own = select(frame, criterion="accuracy")
    if len(own):
        tables.append(_own(own))
    how = (
        "K is the least number of steps with which a path's validation accuracy reaches the goal; "
        "medians over splits, a path that does not reach it counting as infinite. Ratios are "
        "medians of ratios. Test accuracies are those after K steps, means over splits on which "
        "both reach the goal."
    )
    chosen = (
        "For the first claim validation chooses the ridge, from the same four, and the number of "
        "atoms by accuracy less half the squared hinge; those of at most half as many are chosen "
        "among shorter models. The other claims have one ridge, 0.1/√m."
    )
    return Body((chosen, how), tuple(tables))


def _half(frame: DataFrame) -> Table:
    differences = {way: half_differences(frame, way) for way in ("halved", "learned")}
    lines = []
    for name in present(published.datasets(), frame, "dataset"):
        ways = select(frame, dataset=name).groupby("way")
        means = ways[["k", "test_accuracy", "own_k", "own_test_accuracy"]].mean()
        cells = [
            f"{number(100.0 * means['test_accuracy'][way], 2)} ({number(means['k'][way], 1)})"
            if way in means.index
            else ABSENT
            for way in ("random", "halved", "learned")
        ]
        points = [signed_plus_minus(in_points(found[name]), 2) for found in differences.values()]
        own = ABSENT
        if "learned" in means.index:
            accuracy, k = means.loc["learned", ["own_test_accuracy", "own_k"]]
            own = f"{number(100.0 * accuracy, 2)} ({number(k, 1)})"
        lines.append(row(name, *cells, *points, own))
    return Table(
        "Test accuracies of the models that validation chooses, with the mean number of atoms: "
        "random ones, then at most half as many of each kind; differences to random ones in points "
        "± standard errors over splits; last, learned ones on paths of half as many steps.",
        (
            *("data set", "random", "random, half", "learned, half"),
            *("random, half: difference", "learned, half: difference", "learned"),
        ),
        tuple(lines),
    )


def _ratio(rows: DataFrame, way: str) -> float:
    if not {"random", way} <= set(rows["way"]):
        return float("nan")
    return float(atom_ratios(rows, way).iloc[0])


def _shown(value: float, digits: int) -> str:
    return "∞" if np.isinf(value) else number(value, digits)


def _median(values: Series) -> float:
    return float(values.fillna(np.inf).median()) if len(values) else float("nan")


def _reached(frame: DataFrame, text: str) -> Table:
    lines = []
    for name in present(published.datasets(), frame, "dataset"):
        rows = select(frame, dataset=name)
        ks = {way: _median(rows[rows["way"] == way]["k"]) for way in ("random", "again", "learned")}
        ratios = [_shown(_ratio(rows, way), 2) for way in ("again", "learned")]
        wide = rows.pivot_table(index="repetition", columns="way", values="test_accuracy")
        tests = [ABSENT, ABSENT]
        if {"random", "learned"} <= set(wide):
            both = 100.0 * wide[["random", "learned"]].dropna()
            tests = [number(float(both[way].mean()), 2) for way in ("random", "learned")]
        lines.append(row(name, *(_shown(k, 0) for k in ks.values()), *ratios, *tests))
    return Table(
        f"Atoms that reach {text}.",
        (
            *("data set", "K", "K, other seed", "K, learned", "ratio, other seed"),
            *("ratio, learned", "test accuracy", "test accuracy, learned"),
        ),
        tuple(lines),
    )


def _own(frame: DataFrame) -> Table:
    ways = present(tuple(WAYS), frame, "way")
    lines = []
    for name in present(published.datasets(), frame, "dataset"):
        means = select(frame, dataset=name).groupby("way")[["own_k", "own_test_accuracy"]].mean()
        cells = [
            f"{number(100.0 * means['own_test_accuracy'][way], 2)} ({means['own_k'][way]:.0f})"
            if way in means.index
            else ABSENT
            for way in ways
        ]
        lines.append(row(name, *cells))
    return Table(
        "Test accuracies where the validation accuracy of each path of the one ridge is best, with "
        "the mean number of steps.",
        ("data set", *(WAYS.get(way, way) for way in ways)),
        tuple(lines),
    )
