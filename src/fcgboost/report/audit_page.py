"""The page about an audit of labels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from fcgboost.auditing import Audit
from fcgboost.colors import BLUE, VERMILION
from fcgboost.files import FilePath
from fcgboost.plotting.base import legend_below, set_labels
from fcgboost.report.blocks import Block, Card, Picture, Section, Table, TableCell, TableColumn
from fcgboost.report.images import drawing, image_of
from fcgboost.report.models import Codes
from fcgboost.report.page import write_page
from fcgboost.report.tables import class_names, finding_table, matrix_columns
from fcgboost.report.text import label, percent
from fcgboost.wording import count, fixed, shortened

_LONGEST_NAME = 28
_N_BINS = 25
_MEANING = (
    "Models that have not seen a row judged its label. A suspicious label is one whose row "
    "probably belongs to another class; it need not be wrong, so look at the row before you change "
    "it."
)
_ASSUMES = (
    "The estimate counts labels of rows that are almost surely of a class, with a 90 % interval. "
    "It takes mistakes to depend on the true class alone: if the clearest rows have the wrong "
    "labels it is too high, and if only rows near the boundary have, too low. Where a class cannot "
    "be told apart, neither can its wrong labels."
)


def write_audit_report(
    path: FilePath,
    audit: Audit,
    *,
    title: str | None,
    top: int,
    rows: Mapping[str, ArrayLike] | None,
) -> Path:
    """Write the page of `Audit.report`."""
    findings: list[Block] = ["Nothing was found."]
    if audit.findings:
        findings = [finding_table(audit.findings)]
    sections: list[Section] = [
        ("suspects", "Suspicious labels", _suspects(audit, top, rows)),
        ("classes", "How many labels are wrong", [_class_table(audit), _ASSUMES]),
        ("quality", "Label quality", [[_draw_quality(audit)]]),
        ("findings", "Findings", findings),
    ]
    return write_page(
        path,
        title or "An audit of labels",
        [_MEANING],
        _cards(audit),
        sections,
    )


def _cards(audit: Audit) -> list[Card]:
    n_rows = len(audit.label_quality)
    n_suspects = len(audit.suspects)
    n_unjudged = int(np.isnan(audit.label_quality).sum())
    wrong = audit.wrong
    unjudged = f"{count(n_unjudged)} of them not judged" if n_unjudged else "all of them judged"
    return [
        Card("Suspicious labels", count(n_suspects), f"{percent(n_suspects / n_rows)} of the rows"),
        Card(
            "Wrong labels",
            percent(wrong.share) if wrong.is_known else "cannot tell",
            f"{percent(wrong.low)} to {percent(wrong.high)}",
        ),
        Card("Rows", count(n_rows), unjudged),
    ]


def _suspects(audit: Audit, top: int, rows: Mapping[str, ArrayLike] | None) -> list[Block]:
    suspects = audit.suspects[:top]
    if len(suspects) == 0:
        return ["No label is suspicious."]
    frame = audit.to_frame().iloc[suspects]
    names_of = {"row": np.arange(1, len(audit.label_quality) + 1), **(rows or {})}
    number, *names = [_name_column(name, values, suspects) for name, values in names_of.items()]
    columns = [
        number,
        TableColumn.of_texts("label", map(label, frame["given_label"])),
        TableColumn.of_texts("more likely", map(label, frame["predicted_label"])),
        TableColumn.of_numbers("quality", frame["label_quality"], partial(fixed, digits=3)),
        *names,
    ]
    notes = [
        "Rows are counted from 1, as they are in the data. Quality: the probability that the "
        "label is right."
    ]
    if audit.has_reasons:
        columns.append(TableColumn.of_texts("reasons", audit.reasons(suspects), "text"))
        notes.append(
            "Reasons: the columns that speak most against the label, and what each adds to the "
            "decision value of the class that is more likely (Shapley values of models that have "
            "not seen the row)."
        )
    n_all = len(audit.suspects)
    caption = f"All {count(n_all, 'suspicious label')}, the most suspicious first"
    if len(suspects) < n_all:
        caption = f"The {len(suspects)} most suspicious of {count(n_all, 'label')}"
    return [Table(caption, columns, notes)]


def _name_column(name: str, values: ArrayLike, rows: Codes) -> TableColumn:
    names = np.asarray(values)[rows]
    title = shortened(name, _LONGEST_NAME)
    if names.dtype.kind in "iu":
        return TableColumn.of_numbers(title, names, count)
    texts = ["" if cell is None else shortened(str(cell), _LONGEST_NAME) for cell in names]
    return TableColumn.of_texts(title, texts)


def _class_table(audit: Audit) -> Table:
    """Count the rows of every label by the class that is most likely, and the wrong labels."""
    flips = audit.flips
    n_rows = flips.sum(axis=1)
    names, heads = class_names(audit.estimator.classes_)
    wrong = audit.wrong_by_class.values()
    columns = [
        TableColumn.of_texts("label", names),
        TableColumn.of_numbers("rows", n_rows, count),
        *matrix_columns(heads, flips),
        TableColumn.of_numbers("suspicious", n_rows - np.diag(flips), count),
        TableColumn("wrong labels", [TableCell(str(w), w.share) for w in wrong], "number"),
    ]
    return Table(
        "Labels, the classes that are most likely, and how many labels of a class are wrong",
        columns,
        groups=[("", 2), ("most likely class", len(heads)), ("", 2)] if heads else (),
    )


def _draw_quality(audit: Audit) -> Picture:
    """Draw the histogram of label quality."""
    quality = audit.label_quality
    with drawing(3.2) as ax:
        ax.hist(
            [quality[audit.is_issue], quality],
            bins=_N_BINS,
            range=(0.0, 1.0),
            color=[VERMILION, BLUE],
            histtype="stepfilled",
            label=["suspicious labels", "all labels"],
            log=True,
        )
        ax.set_xlim(0.0, 1.0)
        ax.set_ylim(bottom=0.7)
        ax.yaxis.set_major_formatter("{x:,.0f}")
        ax.yaxis.set_minor_formatter("")
        set_labels(ax, "label quality", "rows (logarithmic)")
        legend_below(ax)
    caption = (
        f"The probability that a label is right, of {count(len(quality), 'row')}. Heights are "
        "logarithmic: a few rows can be seen beside thousands."
    )
    return Picture("label-quality", image_of(ax), "Histogram of label quality", caption)
