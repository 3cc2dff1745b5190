"""Learning rates beside the theory's exponents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fcgboost import theory_steps
from paper.reporting import figures
from paper.reporting.document import Body, Picture
from paper.reporting.figures import (
    CORRECTION_STYLES,
    DICTIONARY_STYLES,
    label_of,
    style_of,
)
from paper.reporting.summaries import (
    Summary,
    carried,
    fit_slope,
    growth,
    summaries,
    summarize,
)
from paper.reporting.tables import (
    Table,
    number,
    plus_minus,
    present,
    repetitions,
    row,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

PROBLEMS = {"simulation": "the paper's simulation", "smooth": "smooth η"}
_CORRECTIONS = ("ridge", "exact")
_COLUMNS = {"excess_risk": "excess risk", "excess_loss": "excess squared hinge risk"}
#: What the theorems give for the excess risk: in general, and with Tsybakov's exponent q of the
#: problem, infinite for the simulation and 1 for the smooth one.
THEORY = {"simulation": "−1/4, or −1/2 (q = ∞)", "smooth": "−1/4, or −1/3 (q = 1)"}
_THEORY_LOSS = "−1/2"


def write(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Draw and fit excess risks against m, then against k."""
    size, chosen, steps = (frame[frame["kind"] == kind] for kind in ("size", "chosen", "steps"))
    tables, pictures = [], []
    if len(size) and len(chosen):
        pictures.append(_theory(size, chosen))
    if len(size):
        pictures += [_sizes(size, column) for column in _COLUMNS]
        tables.append(_slopes(size))
    if len(steps):
        pictures.append(_steps(steps))
        tables.append(_minima(steps))
    if len(size) and len(chosen):
        tables.append(_chosen(size, chosen))
    paragraphs = (
        "Not in the paper. Theorem 1 bounds the excess risk at k ~ k₀ by a multiple of "
        "(m / ln m)^(−1/4); with Tsybakov's noise exponent q Theorem 2 improves the exponent to "
        "−(q + 1) / (2 (q + 2)): −1/3 for q = 1, −1/2 for q = ∞. These are bounds: a steeper "
        "slope agrees with them.",
    )
    return Body(paragraphs, tuple(tables), tuple(pictures))


def _cases(frame: DataFrame) -> Iterator[tuple[str, str, str, DataFrame]]:
    for problem in present(tuple(PROBLEMS), frame, "problem"):
        part = frame[frame["problem"] == problem]
        for name in present(tuple(DICTIONARY_STYLES), part, "dictionary"):
            own = part[part["dictionary"] == name]
            for correction in present(_CORRECTIONS, own, "correction"):
                yield problem, name, correction, own[own["correction"] == correction]


class Rate(NamedTuple):
    """An exponent that is proved, how its line is drawn, and what the legend calls it."""

    exponent: float
    line: str
    name: str


_WITHOUT = Rate(-1 / 4, ":", "proved without the noise condition: −1/4")
_PROVED = {
    "simulation": (_WITHOUT, Rate(-1 / 2, "--", "proved with it, q = ∞: −1/2")),
    "smooth": (_WITHOUT, Rate(-1 / 3, "-.", "proved with it, q = 1: −1/3")),
}
_K_AT = {"size": "k = k₀", "chosen": "k chosen by validation"}


def _theory(size: DataFrame, chosen: DataFrame) -> Picture:
    """Draw the excess risk without a ridge, as in the theorems, and the rates that they prove."""
    figure, axes = figures.panels(1, 2, 4.2, sharey=True)
    for ax, (problem, title) in zip(axes[0], PROBLEMS.items(), strict=True):
        for kind, frame in zip(_K_AT, (size, chosen), strict=True):
            rows = frame[(frame["problem"] == problem) & (frame["correction"] == "exact")]
            for name in present(tuple(DICTIONARY_STYLES), rows, "dictionary"):
                _risks(ax, rows[rows["dictionary"] == name], name, kind)
        _bounds(ax, size[size["problem"] == problem], problem)
        ax.set(title=title, xlabel="m / ln m (log scale)")
        figures.log_scales(ax)
        ax.tick_params(which="minor", labelleft=False, labelbottom=False)
        figures.label_heights(ax)
    axes[0][0].set_ylabel("excess risk (log scale)")
    caption = (
        "The excess risk falls faster than is proved: steeper than the grey lines. Full "
        "correction without a ridge, as in the theorems; means over repetitions. Only the slopes "
        "of the lines are the theory's, their heights are arbitrary."
    )
    return figures.finish(figure, "rates-theory", caption, n_columns=2)


def _risks(ax: Axes, rows: DataFrame, name: str, kind: str) -> None:
    """Draw mean excess risks of a dictionary: filled at k0, hollow where validation chose."""
    found = summaries(rows, ["n_samples"], "excess_risk")
    style = style_of(DICTIONARY_STYLES, name)
    ax.plot(
        growth(list(found)),
        [point.mean for point in found.values()],
        color=style.color,
        marker=style.marker,
        markersize=5,
        markerfacecolor=style.color if kind == "size" else "white",
        linewidth=1.0,
        label=f"{style.label}, {_K_AT[kind]}",
    )


def _bounds(ax: Axes, rows: DataFrame, problem: str) -> None:
    """Draw the proved slopes, above the highest point of the smallest m."""
    if rows.empty:
        return
    ends = growth([rows["n_samples"].min(), rows["n_samples"].max()])
    smallest = rows[rows["n_samples"] == rows["n_samples"].min()]
    height = 1.3 * smallest.groupby(["dictionary", "correction"])["excess_risk"].mean().max()
    for rate in _PROVED[problem]:
        ax.plot(
            ends,
            height * (ends / ends[0]) ** rate.exponent,
            color="#777777",
            linestyle=rate.line,
            linewidth=1.6,
            label=rate.name,
        )


def _chosen(size: DataFrame, chosen: DataFrame) -> Table:
    """Compare the k that validation chooses with k0, at the largest m."""
    m = int(chosen["n_samples"].max())
    rows, counts = [], []
    for problem, name, correction, part in _cases(chosen[chosen["n_samples"] == m]):
        theirs = size[
            (size["n_samples"] == m)
            & (size["problem"] == problem)
            & (size["dictionary"] == name)
            & (size["correction"] == correction)
        ]
        counts.append(len(part))
        rows.append(
            row(
                PROBLEMS.get(problem, problem),
                label_of(DICTIONARY_STYLES, name),
                label_of(CORRECTION_STYLES, correction),
                number(summarize(theirs["k"]).mean, 0),
                plus_minus(summarize(part["k"]), 0),
                plus_minus(summarize(theirs["excess_risk"]), 4),
                plus_minus(summarize(part["excess_risk"]), 4),
            )
        )
    return Table(
        f"Excess risk at k₀, and at the k that a fifth of the rows chooses up to 5 k₀; m = {m}.",
        (
            "problem",
            "dictionary",
            "correction",
            "k₀",
            "chosen k",
            "excess at k₀",
            "excess at the chosen k",
        ),
        tuple(rows),
        (
            repetitions(counts),
            "Where k is chosen, fewer rows are left for the fit.",
        ),
        n_labels=3,
    )


def _sizes(size: DataFrame, column: str) -> Picture:
    figure, axes = figures.panels(1, 2, 4.0, sharey=True)
    for problem, name, correction, part in _cases(size):
        if problem in PROBLEMS:
            ax = axes[0][list(PROBLEMS).index(problem)]
            _cloud(ax, part, column, _style(name, correction))
    for ax, title in zip(axes[0], PROBLEMS.values(), strict=True):
        ax.set(title=title, xlabel="m / ln m (log scale)")
        figures.log_scales(ax)
        ax.tick_params(which="minor", labelleft=False, labelbottom=False)
        figures.label_heights(ax)
    axes[0][0].set_ylabel(f"{_COLUMNS[column]} (log scale)")
    caption = (
        f"{_COLUMNS[column].capitalize()} at k = k₀ against m / ln m: mean over repetitions with "
        "standard errors, and the fitted lines."
    )
    return figures.finish(figure, f"rates-{column.replace('_', '-')}", caption, n_columns=2)


def _style(name: str, correction: str) -> figures.Style:
    """Give a dictionary's colour and a correction's line."""
    of, by = style_of(DICTIONARY_STYLES, name), style_of(CORRECTION_STYLES, correction)
    return figures.Style(f"{of.label}, {by.label}", of.color, by.line, by.marker)


def _cloud(ax: Axes, part: DataFrame, column: str, style: figures.Style) -> None:
    found = summaries(part, ["n_samples"], column)
    x = growth(list(found))
    options: dict[str, Any] = {"color": style.color, "marker": style.marker, "markersize": 4}
    fill = style.color if style.line == "-" else "white"
    means, errors = (np.array(values) for values in list(zip(*found.values(), strict=True))[:2])
    bars = np.nan_to_num(errors)
    options |= {"markerfacecolor": fill, "linestyle": "", "elinewidth": 1.0}
    ax.errorbar(x, means, bars, **options)
    slope = fit_slope(part, column)
    if slope is not None:
        line = np.exp(slope.intercept) * x**slope.slope
        ax.plot(x, line, color=style.color, linestyle=style.line, label=style.label, lw=1.2)


def _slopes(size: DataFrame) -> Table:
    rows, counts = [], []
    for column, name in _COLUMNS.items():
        for problem, dictionary, correction, part in _cases(size):
            slope = fit_slope(part, column)
            sizes = part.groupby("n_samples").size()
            counts += list(sizes)
            labels = (name, PROBLEMS.get(problem, problem), label_of(DICTIONARY_STYLES, dictionary))
            is_risk = column == "excess_risk"
            cells = (
                f"{sizes.index.min()}–{sizes.index.max()}",
                number(slope.slope if slope else None, 3),
                f"{number(slope.low, 3)} to {number(slope.high, 3)}" if slope else "–",
                THEORY.get(problem, "–") if is_risk else _THEORY_LOSS,
            )
            rows.append(row(*labels, label_of(CORRECTION_STYLES, correction), *cells))
    n_repetitions = " to ".join(map(str, sorted({min(counts), max(counts)})))
    return Table(
        "Slope of ln(mean excess) against ln(m / ln m) at k = k₀.",
        ("excess", "problem", "dictionary", "correction", "m", "slope", "95 % interval", "theory"),
        tuple(rows),
        (
            f"At each m {n_repetitions} repetitions; the interval is a bootstrap over them. "
            "Candidates are all n = m up to m = 16,000, and a fresh sample per step beyond.",
            "Theory: the exponents of upper bounds; Theorem 4 gives the one of the squared hinge "
            "risk at k = k₀. The simulation's η jumps, so Assumption 1 is not granted there.",
        ),
        n_labels=4,
    )


def _steps(steps: DataFrame) -> Picture:
    figure, axes = figures.panels(1, 2, 4.2, sharey=True)
    m = int(steps["n_samples"].max())
    for problem, name, correction, part in _cases(steps):
        if problem in PROBLEMS:
            ax = axes[0][list(PROBLEMS).index(problem)]
            _path(ax, part, _style(name, correction)._replace(marker=""))
    for ax, title in zip(axes[0], PROBLEMS.values(), strict=True):
        k = np.geomspace(1, max(2, steps["k"].max()), 100)
        shape = 1.0 / k + k * np.log(m) / m
        # Only the shape is the theory's: its constants are not known.
        height = steps["excess_loss"].median() / np.median(shape)
        style: dict[str, Any] = {"color": "#777777", "linewidth": 1.0, "linestyle": (0, (1, 1))}
        ax.plot(k, height * shape, **style, label="shape of Theorem 4's bound: 1/k + k ln(m)/m")
        ax.set_title(title, pad=figures.TITLE_PAD)
        ax.set_xlabel("steps k (log scale)")
        figures.log_scales(ax)
        ax.tick_params(which="minor", labelleft=False)
        figures.label_heights(ax)
        figures.mark_step(ax, theory_steps(m), "k₀")
    axes[0][0].set_ylabel("excess squared hinge risk (log scale)")
    caption = (
        f"Excess squared hinge risk against the number of steps, m = {m}; mean and a band of one "
        "standard error, the lowest point marked by a ring. The dotted curve is the shape of the "
        "bound, at an arbitrary height."
    )
    return figures.finish(figure, "rates-steps", caption, n_columns=2)


def _along(part: DataFrame) -> dict[int, Summary]:
    """Summarise the excess at every stored k over all repetitions."""
    wide = carried(part, "excess_loss")
    return {int(k): summarize(wide.loc[k]) for k in wide.index}


def _path(ax: Axes, part: DataFrame, style: figures.Style) -> None:
    points = _along(part)
    if not points:
        return
    figures.curve(ax, list(points), list(points.values()), style)
    lowest = min(points, key=lambda k: points[k].mean)
    ring: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": style.color}
    ax.plot([lowest], [points[lowest].mean], "o", markersize=7, markeredgewidth=1.6, **ring)


def _minima(steps: DataFrame) -> Table:
    k0 = theory_steps(int(steps["n_samples"].max()))
    rows, counts = [], []
    for problem, name, correction, part in _cases(steps):
        points = _along(part)
        if not points:
            continue
        counts += [value.n for value in points.values()]
        lowest = min(points, key=lambda k: points[k].mean)
        near = min(points, key=lambda k: abs(k - k0))
        cells = [f"{lowest}", *(plus_minus(points[k], 4) for k in (lowest, near, max(points)))]
        labels = (PROBLEMS.get(problem, problem), label_of(DICTIONARY_STYLES, name))
        rows.append(row(*labels, label_of(CORRECTION_STYLES, correction), *cells))
    header = ("problem", "dictionary", "correction", "best k", "excess at best k")
    return Table(
        f"Excess squared hinge risk along the path, m = {int(steps['n_samples'].max())}.",
        (*header, "near k₀", "at the last k"),
        tuple(rows),
        (
            repetitions(counts),
            f"k₀ = {k0}; the stored step nearest to it is shown. A path that has ended, because "
            "no candidate was left or useful, keeps its last model.",
        ),
        n_labels=3,
    )
