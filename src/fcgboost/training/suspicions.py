"""What is suspicious about training rows, their columns and their labels."""

from __future__ import annotations

import numpy as np

from fcgboost.arrays import Array, ClassLabels, Codes, Flags, is_sparse
from fcgboost.findings import (
    Finding,
    contradicting,
    find_alike,
    find_constants,
    find_duplicates,
    find_quantity,
)
from fcgboost.tables.columns import REASONS, CategoryColumn
from fcgboost.training.dataset import Data
from fcgboost.training.leaks import find_leaks
from fcgboost.training.tasks import Classification

# Why columns are left out in which rows may differ.
_CONTENTS = (REASONS["text"], REASONS["list"])
# Rows that tell of most columns that they are not constant.
_N_FIRST = 1_024
# Classes with fewer distinct rows are worth a note.
_FEW_ROWS = 5


def findings_in(data: Data) -> list[Finding]:
    """Return what users should know about training rows and their labels."""
    rows = data.given
    columns = data.table_columns
    classes = data.task.classes if isinstance(data.task, Classification) else None
    findings = [] if classes is None else _of_labels(data, classes)
    if is_sparse(rows.X):
        return findings
    names = [column.name for column in columns]
    are_levels = np.array([isinstance(column, CategoryColumn) for column in columns])
    # A level for all rows is left out, and said to be when the fit ends.
    may_be_constant = _are_constant(rows.X[:_N_FIRST]) & ~are_levels
    constant = [j for j in np.flatnonzero(may_be_constant) if _are_constant(rows.X[:, j])]
    findings += find_constants([names[j] for j in constant])
    if classes is not None:
        findings += find_leaks(
            rows.X,
            rows.strata,
            are_levels,
            names,
        )
    return findings


def _are_constant(X: Array) -> Flags:
    return np.asarray(X.min(axis=0) == X.max(axis=0))


def _of_labels(data: Data, classes: ClassLabels) -> list[Finding]:
    rows = data.given
    is_contradicted = contradicting(data.train.row_hashes)[data.train.positions]
    # Rows may differ in text that was left out, which an id says nothing about.
    reasons = {getattr(column, "reason", "") for column in data.table_columns}
    is_contradicted &= reasons.isdisjoint(_CONTENTS)
    return [
        *_rare_classes(data.train.strata, classes),
        *find_quantity(classes, len(rows.weights)),
        *find_alike(classes.tolist()),
        *find_duplicates(data.kept[is_contradicted], len(rows.weights)),
    ]


def _rare_classes(codes: Codes, classes: ClassLabels) -> list[Finding]:
    """Say which classes have few distinct rows."""
    counts = np.bincount(codes, minlength=len(classes))
    rare = classes[counts < _FEW_ROWS].tolist()
    if not rare:
        return []
    text = (
        f"{len(rare)} of {len(counts)} classes have fewer than {_FEW_ROWS} distinct rows, such as "
        f"{rare[0]!r}: predictions of such classes are uncertain, and a single row judges nothing."
    )
    return [Finding("classes", text)]
