"""Simulation 3: four losses beside the paper's two tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paper.experiments.sim3 import LEVELS
from paper.reporting import published
from paper.reporting.document import Body, Picture
from paper.reporting.figures import (
    CORRECTION_STYLES,
    DICTIONARY_STYLES,
    LOSS_NAMES,
    NOISE_NAMES,
    curve,
    finish,
    panels,
)
from paper.reporting.summaries import NOTHING, Summary, marks, summaries
from paper.reporting.tables import (
    Cell,
    Table,
    deviations,
    difference,
    number,
    plus_minus,
    repetitions,
    row,
)

if TYPE_CHECKING:
    from pandas import DataFrame

#: How far above the published error counts as the same, unless two standard errors are more.
CLOSE = 0.02
#: The paper's tables.
_PRINTED = {"uniform": "Table 1", "outlier": "Table 2"}
_KEYS = ["noise", "level", "dictionary", "loss"]

#: noise, level, dictionary, loss
Case = tuple[str, float, str, str]


def write(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Compare the four losses with the paper, for both corrections."""
    corrections = [name for name in ("ridge", "admm") if (frame["correction"] == name).any()]
    tables, paragraphs = [], []
    for correction in corrections:
        part = frame[frame["correction"] == correction]
        found = summaries(part, _KEYS, "test_error")
        label = CORRECTION_STYLES[correction].label
        paragraphs.append(f"{label[0].upper()}{label[1:]}: {_counts(found)}")
        for noise in ("uniform", "outlier"):
            own = part[part["noise"] == noise]
            if len(own):
                tables.append(_table(own, found, noise, correction))
    return Body(tuple(paragraphs), tuple(tables), _pictures(frame))


def _pictures(frame: DataFrame) -> tuple[Picture, ...]:
    """Draw the errors of the squared hinge against the share of wrong labels."""
    rows = frame[(frame["correction"] == "ridge") & (frame["loss"] == "squared_hinge")]
    if rows.empty:
        return ()
    found = summaries(rows, ["noise", "level", "dictionary"], "test_error")
    figure, axes = panels(1, 2, 3.2, sharey=True)
    for ax, (noise, title) in zip(axes[0], NOISE_NAMES.items(), strict=True):
        levels = [(level, share) for kind, level, share in LEVELS if kind == noise]
        for name, style in DICTIONARY_STYLES.items():
            points = {
                100.0 * share: found[noise, level, name]
                for level, share in levels
                if (noise, level, name) in found
            }
            if points:
                curve(ax, list(points), list(points.values()), style)
        ax.set(title=title, xlabel="wrong training labels, %")
    axes[0, 0].set(ylabel="test error on clean labels", ylim=(0.0, None))
    caption = (
        "Test error against the share of wrong training labels: squared hinge, exact correction, "
        "λ = 1/m, everything chosen by cross-validation on the noisy labels. Under uniform noise "
        "every label flips with the same probability, under outlier noise only labels far from the "
        "boundary do. Bands are standard errors."
    )
    return (finish(figure, "sim3-noise", caption),)


def is_close(ours: Summary, printed: float) -> bool:
    """Whether a test error is below the published one, or near it.

    Near is within 0.02 or two standard errors.
    """
    error = ours.error if ours.error == ours.error else 0.0
    return ours.mean - printed <= max(CLOSE, 2.0 * error)


def _counts(found: Mapping[Case, Summary]) -> str:
    cases = [
        (found[noise, level, name, "squared_hinge"], noise, level, name, printed)
        for noise, level, printed in LEVELS
        for name in DICTIONARY_STYLES
        if (noise, level, name, "squared_hinge") in found
    ]
    close = sum(
        is_close(ours, published.sim3(noise, name, printed, "squared_hinge") or 0.0)
        for ours, noise, _, name, printed in cases
    )
    wins = sum(
        _own_marks(found, noise, level, name)["squared_hinge"] == "best"
        for _, noise, level, name, _ in cases
    )
    theirs = sum(
        published.sim3_best(noise, name, printed) == "squared_hinge"
        for _, noise, _, name, printed in cases
    )
    return (
        f"in {close} of {len(cases)} cells of the squared hinge our test error is below the "
        f"published one, or within {CLOSE} or two standard errors of it. The squared hinge is "
        f"best, or ties, among the four losses in {wins} of {len(cases)} settings; in the paper "
        f"it is in bold in {theirs} of the same."
    )


def _own_marks(
    found: Mapping[Case, Summary], noise: str, level: float, name: str
) -> dict[str, Any]:
    means = {loss: found.get((noise, level, name, loss), NOTHING).mean for loss in LOSS_NAMES}
    return marks(means, 4, second=False)


def _table(frame: DataFrame, found: Mapping[Case, Summary], noise: str, correction: str) -> Table:
    levels = [(level, printed) for kind, level, printed in LEVELS if kind == noise]
    rows = [
        _row(frame, found, noise, level, printed, name)
        for level, printed in levels
        for name in DICTIONARY_STYLES
        if ((frame["level"] == level) & (frame["dictionary"] == name)).any()
    ]
    shown = [value.n for key, value in found.items() if key[0] == noise]
    return Table(
        f"Test errors of four losses under {noise} noise; {CORRECTION_STYLES[correction].label}.",
        ("flipped labels", "dictionary", *(("ours", "paper", "difference") * len(LOSS_NAMES))),
        tuple(rows),
        (repetitions(shown), "Marked: the best loss of a row, and the paper's bold figures."),
        groups=(("", 1), ("", 1), *((loss, 3) for loss in LOSS_NAMES.values())),
        n_labels=2,
        printed=_PRINTED[noise],
    )


def _row(
    frame: DataFrame,
    found: Mapping[Case, Summary],
    noise: str,
    level: float,
    printed: float,
    name: str,
) -> tuple[Cell, ...]:
    part = frame[(frame["level"] == level) & (frame["dictionary"] == name)]
    best = _own_marks(found, noise, level, name)
    bold = published.sim3_best(noise, name, printed)
    cells = []
    for loss in LOSS_NAMES:
        ours = found.get((noise, level, name, loss), NOTHING)
        theirs = published.sim3(noise, name, printed, loss)
        note = deviations(part[part["loss"] == loss])
        cells += [
            Cell(plus_minus(ours, 4), best[loss], note),
            Cell(number(theirs, 4), "best" if loss == bold else ""),
            Cell(difference(ours.mean, theirs, 4)),
        ]
    return row(f"{100 * printed:g} %", DICTIONARY_STYLES[name].label, *cells)
