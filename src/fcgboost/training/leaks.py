"""Columns that alone predict the label, found in a small share of the time of a fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from fcgboost.arrays import Array, Codes, Flags
from fcgboost.findings import Finding

# A column that alone predicts the label has this AUC out of fold.
_LEAK_AUC = 0.995
# Trees with few leaves on so many rows judge columns whose shares of the classes over a few ranges,
# in fewer rows, have this AUC: the ends of leaves are in the middle of ranges.
_SCREEN_AUC = 0.95
_N_SCREENED = 2_000
_N_RANGES = 32
_N_JUDGED = 10_000
_N_AT_ONCE = 64
_N_LEAVES = 8
_N_FOLDS = 5
_LARGEST = 1e30
# Classes with fewer rows say little about a column.
_LEAST_OF_CLASS = 10


def find_leaks(
    X: Array,
    codes: Codes,
    are_levels: Flags,
    names: Sequence[str],
) -> list[Finding]:
    """Name the columns that alone predict the label, out of fold; some may hold codes of levels.

    Few rows are looked at, so that this takes a small share of a fit.
    """
    # In a random order: in that of a sorted file, equal values would have one label each.
    n_judged = min(len(codes), _N_JUDGED)
    rows = np.random.default_rng(0).choice(len(codes), n_judged, replace=False)
    counts = np.bincount(codes[rows])
    rows = rows[counts[codes[rows]] >= _LEAST_OF_CLASS]
    classes, codes = np.unique(codes[rows], return_inverse=True)
    if len(classes) < 2:
        return []
    few = _few_of_each(codes, _N_SCREENED // len(classes))
    findings = []
    for start in range(0, X.shape[1], _N_AT_ONCE):
        columns = X[rows[few], start : start + _N_AT_ONCE].T.astype(np.float64)
        for j in np.flatnonzero(are_levels[start : start + _N_AT_ONCE]).tolist():
            columns[j] = _screened_levels(columns[j], codes[few])
        is_suspect = _auc_of_ranges(columns, codes[few]) >= _SCREEN_AUC
        for j in (start + np.flatnonzero(is_suspect)).tolist():
            auc = _auc_of_tree(X[rows, j], codes, bool(are_levels[j]))
            if auc >= _LEAK_AUC:
                findings.append(_leak(names[j], auc))
    return findings


def _leak(name: str, auc: float) -> Finding:
    text = (
        f"{name!r} alone predicts the label (AUC {auc:.3f} out of fold): is it known before the "
        "label is? If not, leave it out."
    )
    return Finding("leak", text, (name,))


def _few_of_each(codes: Codes, n_rows: int) -> Codes:
    """Return the positions of the first rows of each class, in their order."""
    positions = [np.flatnonzero(codes == code)[:n_rows] for code in range(codes.max() + 1)]
    return np.sort(np.concatenate(positions))


def _screened_levels(levels: Array, codes: Codes) -> Array:
    """Return the mean code of the class at each level, in the other half of the rows."""
    means = np.empty(len(codes))
    half = np.arange(len(codes)) % 2
    for part in (0, 1):
        means[half == part] = _class_means(levels, codes, half != part)[half == part]
    return means


def _class_means(levels: Array, codes: Codes, known: Flags) -> Array:
    """Return the mean code of the class at each row's level, over the rows that are known."""
    distinct, levels_of = np.unique(levels, return_inverse=True)
    n = np.bincount(levels_of[known], minlength=len(distinct))
    sums = np.bincount(levels_of[known], codes[known], len(distinct))
    means = np.where(n > 0, sums / np.maximum(n, 1), codes[known].mean())
    return np.asarray(means[levels_of])


def _auc_of_ranges(columns: Array, codes: Codes) -> Array:
    """Return the AUC of the shares of the classes over ranges of each column, a mean of classes."""
    n = columns.shape[1]
    labels = codes[np.argsort(columns, axis=1)]
    starts = np.unique(
        np.linspace(
            0,
            n,
            _N_RANGES,
            endpoint=False,
            dtype=np.intp,
        )
    )
    sizes = np.diff(np.append(starts, n))
    n_classes = int(codes.max()) + 1
    aucs = []
    for code in range(int(n_classes == 2), n_classes):
        hits = np.add.reduceat(
            labels == code,
            starts,
            axis=1,
            dtype=np.float64,
        )
        order = np.argsort(hits / sizes, axis=1)
        hits = np.take_along_axis(hits, order, axis=1)
        misses = sizes[order] - hits
        lower = np.cumsum(misses, axis=1) - 0.5 * misses
        aucs.append((hits * lower).sum(axis=1) / (hits.sum(axis=1) * misses.sum(axis=1)))
    return np.asarray(np.mean(aucs, axis=0))


def _auc_of_tree(values: Array, codes: Codes, are_levels: bool) -> float:
    """Return the AUC of a small tree on one column, out of fold, a mean of classes."""
    # Few fits come here, and the import takes longer than a fit to few rows.
    from sklearn.tree import DecisionTreeClassifier

    n_classes = int(codes.max()) + 1
    tree = DecisionTreeClassifier(max_leaf_nodes=max(_N_LEAVES, 2 * n_classes), random_state=0)
    shares = np.empty((len(codes), n_classes))
    # scikit-learn adds up the numbers of its trees as float32.
    column = np.clip(values, -_LARGEST, _LARGEST)[:, None]
    for train, test in StratifiedKFold(_N_FOLDS).split(column, codes):
        if are_levels:
            known = np.isin(np.arange(len(codes)), train)
            column = _class_means(values, codes, known)[:, None]
        tree.fit(column[train], codes[train])
        shares[test] = tree.predict_proba(column[test])
    scores = shares[:, 1] if n_classes == 2 else shares
    return float(roc_auc_score(codes, scores, multi_class="ovr"))
