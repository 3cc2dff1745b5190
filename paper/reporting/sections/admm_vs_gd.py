"""ADMM against gradient descent, and where 100 ADMM iterations end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from paper.reporting import figures, published
from paper.reporting.document import Body, Picture
from paper.reporting.figures import LOSS_NAMES, SOLVER_STYLES, label_of, style_of
from paper.reporting.summaries import NOTHING, carried, summaries
from paper.reporting.tables import (
    ABSENT,
    Table,
    number,
    plus_minus,
    present,
    repetitions,
    row,
    span,
)

if TYPE_CHECKING:
    from pandas import DataFrame

_NOISES = ("uniform", "outlier", "none")


def write(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Show the race, then the distances from ridge least squares."""
    race, ridge = (frame[frame["kind"] == kind] for kind in ("race", "ridge"))
    tables, pictures = [], []
    if len(race):
        tables.append(_seconds(race))
        pictures.append(_gaps(race))
    if len(ridge):
        tables.append(_distances(ridge))
    return Body((), tuple(tables), tuple(pictures))


def _gaps(race: DataFrame) -> Picture:
    figure, axes = figures.panels(1, 2, 3.8, sharey=True)
    for solver in present(tuple(SOLVER_STYLES), race, "solver"):
        part = race[race["solver"] == solver]
        # Repetitions end at different iterations; one that has ended stays where it is.
        gaps = carried(part, "gap", "iteration").median(axis=1)
        times = 1e3 * carried(part, "seconds", "iteration").median(axis=1)
        style = style_of(SOLVER_STYLES, solver)
        options: dict[str, Any] = {"color": style.color, "linestyle": style.line, "markersize": 3.5}
        # A solver that ends after one iteration is a point.
        options["marker"] = "o" if len(gaps) < 12 else None
        axes[0][0].plot(gaps.index, gaps, label=style.label, **options)
        axes[0][1].plot(times, gaps.reindex(times.index), **options)
    axes[0][0].set(xlabel="iteration (log scale)", ylabel="objective − optimum (log scale)")
    axes[0][1].set(xlabel="time, milliseconds (log scale)")
    for ax in axes[0]:
        figures.log_scales(ax)
    caption = (
        "How far the objective is from its minimum, against iterations (left) and time (right); "
        "medians over repetitions. m = 1000, 15 Gauss atoms of width 0.1, 30 % uniform noise, "
        "λ = 0."
    )
    return figures.finish(figure, "admm-vs-gd", caption, printed="Figure 2")


def _seconds(race: DataFrame) -> Table:
    ends = race.sort_values("iteration").drop_duplicates(["solver", "repetition"], keep="last")
    printed = published.admm_vs_gd()._asdict()
    middles = ends.groupby("solver")["total_seconds"].median()
    first = middles.get("admm", np.nan)
    rows = []
    for solver in present(tuple(SOLVER_STYLES), ends, "solver"):
        own = ends[ends["solver"] == solver]
        times = 1e3 * own["total_seconds"]
        theirs = printed.get(solver)
        cells = (
            number(times.median(), 2),
            span(times, 2),
            number(None if theirs is None else 1e3 * theirs, 0),
            number(middles[solver] / first, 1),
            number(None if theirs is None else theirs / printed["admm"], 1),
            number(own["iteration"].median(), 0),
            _scientific(own["gap"].median()),
        )
        rows.append(row(label_of(SOLVER_STYLES, solver), *cells))
    header = ("solver", "ms, median", "ms, smallest–largest", "ms, paper", "ratio to ADMM")
    return Table(
        "Time of one whole correction, without recording a history.",
        (*header, "ratio, paper", "iterations", "objective − optimum at the end"),
        tuple(rows),
        (
            f"Repetitions: {ends['repetition'].nunique()}. ADMM at γ = α = 1 ends after 100 "
            "iterations, wherever it is; the others end by their own tolerance.",
        ),
    )


def _scientific(value: float) -> str:
    return f"{value:.1e}".replace("-", "−") if value == value else ABSENT


def _distances(ridge: DataFrame) -> Table:
    keys = ["loss", "noise", "n_samples"]
    columns = ("distance_ridge", "distance_minimiser")
    ridge = ridge.assign(**{column: 100.0 * ridge[column] for column in columns})
    found = {column: summaries(ridge, keys, column) for column in columns}
    sizes = sorted(set(ridge["n_samples"]))
    rows = [
        row(
            LOSS_NAMES.get(loss, loss),
            noise,
            *(
                plus_minus(found[column].get((loss, noise, size), NOTHING), 2)
                for size in sizes
                for column in columns
            ),
        )
        for noise in present(_NOISES, ridge, "noise")
        for loss in present(tuple(LOSS_NAMES), ridge[ridge["noise"] == noise], "loss")
    ]
    counts = [value.n for value in found["distance_ridge"].values()]
    return Table(
        "Relative distance, in percent, of ADMM's fit after 100 iterations (γ = α = 1) from the "
        "ridge least-squares fit and from the loss's own minimiser, both with λ = 1/m; 30 Gauss "
        "atoms of width 0.35.",
        ("loss", "noise", *(("from ridge", "from minimiser") * len(sizes))),
        tuple(rows),
        (repetitions(counts),),
        groups=(("", 1), ("", 1), *((f"m = {size:g}", 2) for size in sizes)),
        n_labels=2,
    )
