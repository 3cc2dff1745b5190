"""Simulation 4: the update schemes beside the paper's table and figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fcgboost import theory_steps
from paper.reporting import figures, published
from paper.reporting.document import Body, Picture
from paper.reporting.figures import SCHEME_STYLES, label_of, style_of
from paper.reporting.summaries import (
    NOTHING,
    Mark,
    Summary,
    carried,
    marks,
    summaries,
    summarize,
)
from paper.reporting.tables import (
    Cell,
    Table,
    difference,
    number,
    plus_minus,
    present,
    repetitions,
    row,
)

if TYPE_CHECKING:
    from pandas import DataFrame

#: The six schemes of the paper's table.
PRINTED = ("original", "shrinkage", "truncation", "epsilon", "rescaled", "fully_corrective")
_M = 1000
_REACH = (
    "To reach: atoms at the first step whose test error is at most 0.005 above the best of the "
    "fully corrective scheme in the same repetition; ≥ where some path never did, and all its "
    "steps and atoms were counted. The ratio is to the fully corrective scheme."
)
_WIDTHS = (
    "The paper chooses among the widths 0.1, 0.5, 1 and 5; here 0.2 and 0.35 are there too. "
    "Without a ridge a path has at most 130 steps."
)


def write(frame: DataFrame, facts: Mapping[str, Any]) -> Body:
    """Compare the schemes, at the width of cross-validation and at fixed ones."""
    frame = frame.assign(width=[_width(value) for value in frame["width"]])
    widths = sorted(set(frame["width"]) - {"cv"}, key=float)
    chosen = frame[frame["width"] == "cv"]
    paragraphs = (
        "The best step of a path is the one of the lowest test error: that is the paper's "
        "printed rule, and the only place where test labels choose anything.",
    )
    tables, pictures = [], []
    if len(chosen):
        tables += [_best(chosen), _reach(chosen)]
        pictures.append(_curves(chosen, "cross-validated width", "sim4-schemes"))
    elif widths:
        shown = frame[frame["width"] == widths[0]]
        pictures.append(_curves(shown, f"width {widths[0]}", "sim4-schemes"))
    if widths:
        tables.append(_fixed(frame, widths))
    return Body(paragraphs, tuple(tables), tuple(pictures))


def _width(value: Any) -> str:
    return "cv" if str(value) == "cv" else f"{float(value):g}"


def _kind(frame: DataFrame, kind: str) -> DataFrame:
    return frame[frame["kind"] == kind]


def _best(frame: DataFrame) -> Table:
    found = {
        column: summaries(_kind(frame, "best"), ["scheme"], column)
        for column in ("test_error", "training_error", "atoms")
    }
    digits = {"test_error": 4, "training_error": 4, "atoms": 1}
    own = {column: _marks(found[column], digits[column]) for column in found}
    rows = []
    for scheme in present(tuple(SCHEME_STYLES), frame, "scheme"):
        printed = published.sim4(scheme)
        cells = []
        for column, n_digits in digits.items():
            ours = found[column].get(scheme, NOTHING)
            theirs = getattr(printed, column) if printed else None
            mark = "" if column == "training_error" else own[column].get(scheme, "")
            cells += [
                Cell(plus_minus(ours, n_digits), mark),
                Cell(number(theirs, n_digits), _printed_mark(scheme, column)),
                Cell(difference(ours.mean, theirs, n_digits)),
            ]
        rows.append(row(label_of(SCHEME_STYLES, scheme), *cells))
    counts = [value.n for value in found["test_error"].values()]
    return Table(
        "Best test error along the path, its training error and its distinct atoms; width by "
        "cross-validation.",
        ("scheme", *(("ours", "paper", "difference") * 3)),
        tuple(rows),
        (
            repetitions(counts),
            f"{_chosen(frame)} {_WIDTHS}",
            "Marked: the best of the paper's six schemes.",
        ),
        groups=(("", 1), ("test error", 3), ("training error", 3), ("distinct atoms", 3)),
        printed="Table 3",
    )


def _marks(found: Mapping[str, Summary], digits: int) -> dict[str, Mark]:
    means = {scheme: found[scheme].mean for scheme in PRINTED if scheme in found}
    return marks(means, digits, second=False)


def _printed_mark(scheme: str, column: str) -> Mark:
    bold = {"test_error": "rescaled", "atoms": "fully_corrective"}
    return "best" if bold.get(column) == scheme else ""


def _chosen(frame: DataFrame) -> str:
    widths = frame.drop_duplicates("repetition")["chosen_width"].value_counts().sort_index()
    shown = ", ".join(f"{width:g} ({count}×)" for width, count in widths.items())
    return f"Widths chosen: {shown or 'none'}."


def _reach(frame: DataFrame) -> Table:
    part = _kind(frame, "reach")
    rows = []
    for scheme in present(tuple(SCHEME_STYLES), part, "scheme"):
        own = part[part["scheme"] == scheme]
        reached = int((own["status"].astype(str) == "reached").sum())
        steps = _bounded(own, "k")
        cells = (f"{reached} of {len(own)}", steps, *_reach_cells(part, scheme))
        rows.append(row(label_of(SCHEME_STYLES, scheme), *cells))
    return Table(
        "Atoms that a scheme needs to come near the fully corrective one; width by "
        "cross-validation.",
        ("scheme", "paths that reach it", "steps", "atoms to reach", "ratio"),
        tuple(rows),
        (repetitions(part.groupby("scheme").size()), _REACH),
    )


def _is_missed(own: DataFrame) -> bool:
    return bool((own["status"].astype(str) != "reached").any())


def _bounded(own: DataFrame, column: str) -> str:
    """Give a mean; where a path missed the goal a lower bound, which has no standard error."""
    found = summarize(own[column])
    return f"≥ {number(found.mean, 1)}" if _is_missed(own) else plus_minus(found, 1)


def _reach_cells(part: DataFrame, scheme: str) -> tuple[str, str]:
    """Give the atoms to reach the goal, and how many times those of full correction they are."""
    own = part[part["scheme"] == scheme]
    full = summarize(part[part["scheme"] == "fully_corrective"]["atoms"])
    ratio = summarize(own["atoms"]).mean / full.mean if full.n else np.nan
    shown = number(ratio, 1)
    return _bounded(own, "atoms"), f"≥ {shown}" if _is_missed(own) else shown


def _fixed(frame: DataFrame, widths: Sequence[str]) -> Table:
    rows = [cells for width in widths for cells in _fixed_rows(frame, width)]
    counts = _kind(frame, "best").groupby(["width", "scheme"]).size()
    return Table(
        "The same at fixed widths: best test error along the path, its training error and atoms, "
        "and the atoms to reach.",
        ("width", "scheme", "test error", "training error", "atoms", "atoms to reach", "ratio"),
        tuple(rows),
        (repetitions(counts), _REACH, "Marked: the best of the paper's six schemes at a width."),
        n_labels=2,
    )


def _fixed_rows(frame: DataFrame, width: str) -> list[tuple[Cell, ...]]:
    part = frame[frame["width"] == width]
    best, reach = _kind(part, "best"), _kind(part, "reach")
    errors, training, atoms = (
        summaries(best, ["scheme"], column) for column in ("test_error", "training_error", "atoms")
    )
    error_marks, atom_marks = _marks(errors, 4), _marks(atoms, 1)
    return [
        row(
            width,
            label_of(SCHEME_STYLES, scheme),
            Cell(plus_minus(errors.get(scheme, NOTHING), 4), error_marks.get(scheme, "")),
            plus_minus(training.get(scheme, NOTHING), 4),
            Cell(plus_minus(atoms.get(scheme, NOTHING), 1), atom_marks.get(scheme, "")),
            *_reach_cells(reach, scheme),
        )
        for scheme in present(tuple(SCHEME_STYLES), part, "scheme")
    ]


def _curves(frame: DataFrame, setting: str, name: str) -> Picture:
    part = _kind(frame, "curve")
    figure, axes = figures.panels(1, 2, 3.8)
    columns = {"test_error": "test error (share of labels)", "atoms": "distinct atoms (log scale)"}
    for ax, (column, label) in zip(axes[0], columns.items(), strict=True):
        for scheme in present(PRINTED, part[part["scheme"].isin(PRINTED)], "scheme"):
            wide = carried(part[part["scheme"] == scheme], column)
            points = [summarize(values) for values in wide.to_numpy()]
            figures.curve(ax, wide.index, points, style_of(SCHEME_STYLES, scheme))
        ax.set(xlabel="steps k (log scale)", ylabel=label)
        figures.log_scales(ax)
        figures.mark_step(ax, theory_steps(_M), "k₀")
    axes[0][0].set(yscale="linear", ylim=(0.0, _ceiling(part)))
    caption = (
        f"Test error (left) and distinct atoms (right) against steps, {setting}; mean and a band "
        "of one standard error. Errors of the first steps beyond the frame are cut off. Where the "
        "bound of truncation never binds, it is the original scheme."
    )
    return figures.finish(
        figure,
        name,
        caption,
        n_columns=3,
        printed="Figure 1",
    )


def _ceiling(part: DataFrame) -> float:
    """Give a height that shows where the schemes differ, not where they start."""
    late = part[part["k"] >= 50]["test_error"].dropna()
    return float(min(0.2, 1.2 * late.max())) if len(late) else 0.5
