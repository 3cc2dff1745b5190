"""Simulation 1: the effect of the number of steps k."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fcgboost import theory_steps
from paper.reporting import figures
from paper.reporting.document import Body, Picture
from paper.reporting.figures import CORRECTION_STYLES, DICTIONARY_STYLES, NOISE_NAMES
from paper.reporting.summaries import Mark, marks, summaries, summarize
from paper.reporting.tables import (
    Cell,
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

_M = 1000
_KS = (7, 13, 65, 130)


def write(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Draw test error against k, by dictionary and by correction."""
    paragraphs = (
        "m = n = 1000, test labels are clean. The paper prints a figure and no numbers, and reads "
        "from it that the error falls first and then is stable, and that 5 k₀ steps suffice.",
    )
    pictures = (_by_dictionary(frame), _by_correction(frame))
    return Body(paragraphs, (_errors(frame), _stalls(frame)), pictures)


def _by_dictionary(frame: DataFrame) -> Picture:
    ridge = frame[frame["correction"] == "ridge"]
    figure, axes = figures.panels(1, 2, 3.6, sharey=True)
    for ax, noise in zip(axes[0], NOISE_NAMES, strict=True):
        part = ridge[ridge["noise"] == noise]
        for name in present(tuple(DICTIONARY_STYLES), part, "dictionary"):
            curve(ax, part[part["dictionary"] == name], DICTIONARY_STYLES[name])
        decorate(ax)
        ax.set_title(NOISE_NAMES[noise], pad=figures.TITLE_PAD)
        ax.set_xlabel("steps k")
    axes[0][0].set_ylabel("test error (share of labels)")
    caption = (
        "Test error against the number of steps, full correction with λ = 1/m; mean and a band "
        "of one standard error. Dotted lines: k₀ and 5 k₀."
    )
    return figures.finish(figure, "sim1-steps", caption, printed="Figure 4")


def _by_correction(frame: DataFrame) -> Picture:
    names = tuple(DICTIONARY_STYLES)
    figure, axes = figures.panels(len(NOISE_NAMES), len(names), 4.6, sharex=True, sharey="row")
    for line, noise in zip(axes, NOISE_NAMES, strict=True):
        for ax, name in zip(line, names, strict=True):
            part = frame[(frame["noise"] == noise) & (frame["dictionary"] == name)]
            for correction in present(tuple(CORRECTION_STYLES), part, "correction"):
                curve(ax, part[part["correction"] == correction], CORRECTION_STYLES[correction])
            decorate(ax)
        line[0].set_ylabel(f"{NOISE_NAMES[noise]}\ntest error")
    for ax, name in zip(axes[0], names, strict=True):
        ax.set_title(DICTIONARY_STYLES[name].label, pad=figures.TITLE_PAD)
    for ax in axes[-1]:
        ax.set_xlabel("steps k")
    caption = (
        "The same for four ways to correct the coefficients. Algorithm 1 to the letter may "
        "choose an active atom again; from there its path stands still."
    )
    return figures.finish(figure, "sim1-corrections", caption, n_columns=2)


def curve(ax: Any, frame: DataFrame, style: figures.Style) -> None:
    """Draw the mean test error against k."""
    points = summaries(frame, ["k"], "test_error")
    figures.curve(ax, list(points), list(points.values()), style)


def decorate(ax: Any) -> None:
    """Mark k0 and 5 k0."""
    k0 = theory_steps(_M)
    figures.mark_step(ax, k0, "k₀")
    figures.mark_step(ax, 5 * k0, "5 k₀")


def _cases(frame: DataFrame) -> Iterator[tuple[str, str, DataFrame]]:
    for noise in present(tuple(NOISE_NAMES), frame, "noise"):
        part = frame[frame["noise"] == noise]
        for name in present(tuple(DICTIONARY_STYLES), part, "dictionary"):
            yield noise, name, part[part["dictionary"] == name]


def _errors(frame: DataFrame) -> Table:
    rows, counts = [], []
    for noise, name, part in _cases(frame):
        found = summaries(part, ["correction", "k"], "test_error")
        shown = {key: value for key, value in found.items() if key[1] in _KS}
        best: dict[Any, Mark] = {}
        for k in _KS:
            means = {key: value.mean for key, value in shown.items() if key[1] == k}
            best |= marks(means, 4, second=False)
        counts += [value.n for value in shown.values()]
        for correction in present(tuple(CORRECTION_STYLES), part, "correction"):
            keys = [(correction, k) for k in _KS]
            cells = [
                Cell(plus_minus(shown[key], 4), best[key]) if key in shown else Cell("–")
                for key in keys
            ]
            labels = (noise, DICTIONARY_STYLES[name].label, CORRECTION_STYLES[correction].label)
            rows.append(row(*labels, *cells))
    return Table(
        "Test error after ⌈k₀/2⌉, k₀, 5 k₀ and 10 k₀ steps.",
        ("noise", "dictionary", "correction", *(f"k = {k}" for k in _KS)),
        tuple(rows),
        (
            repetitions(counts),
            "Marked: the best correction for a dictionary and a k. The paper prints no numbers.",
        ),
        n_labels=3,
    )


def _stalls(frame: DataFrame) -> Table:
    rows = []
    letter = frame[frame["correction"] == "letter"]
    for noise, name, part in _cases(letter):
        ends = part[part["k"] == part["k"].max()]
        stalled = ends[ends["status"].astype(str) == "stalled"]["atoms"]
        mean = number(summarize(stalled).mean, 1)
        label = DICTIONARY_STYLES[name].label
        rows.append(row(noise, label, f"{len(stalled)} of {len(ends)}", mean, span(stalled, 0)))
    return Table(
        "Where Algorithm 1 to the letter stalls: the atoms it holds when it chooses an active "
        "atom again.",
        ("noise", "dictionary", "stalled paths", "atoms (mean)", "atoms (smallest–largest)"),
        tuple(rows),
        (f"k₀ = {theory_steps(_M)}; the paper's simulation 4 prints 12.6 atoms.",),
        n_labels=2,
    )
