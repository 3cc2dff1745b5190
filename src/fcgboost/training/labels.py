"""The targets of a fit, judged by members that have not seen their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import column_or_1d

from fcgboost import hashing
from fcgboost.arrays import Array, Codes, Flags, Labels, Target
from fcgboost.checks import to_host
from fcgboost.label_noise import LabelNoise, estimate_noise, true_probabilities
from fcgboost.training.dataset import Data


@dataclass(frozen=True, eq=False, kw_only=True)
class Judged:
    """The targets of all rows given, and which members have not seen them.

    Attributes
    ----------
    target : ndarray of shape (n_rows,)
        Numbers, or the classes of the labels, -1 for those that are no class.
    trusted : ndarray of shape (n_rows,)
        Whether a target is certain.
    folds : list of ndarray
        The rows that each fold judges.
    are_members : bool
        Whether the models of the folds are members of the estimator, those of a kind in a row.
    digests : ndarray of shape (n_rows,)
        Tell rows and targets from others.
    """

    target: Target
    trusted: Flags
    folds: Sequence[Codes]
    are_members: bool
    digests: hashing.Hashes


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedLabels(Judged):
    """What out-of-fold predictions say of the labels, in the order of the rows given.

    Attributes
    ----------
    p : ndarray of shape (n_rows, n_classes)
        Probabilities of labels, class weights undone; NaN for rows that no fold judges.
    likely : ndarray of shape (n_rows,)
        The classes that are most probably true, given the labels; -1 where no fold judges.
    quality : ndarray of shape (n_rows,)
        The probability that a label is right.
    noise : LabelNoise
    """

    p: Array
    likely: Codes
    quality: Array
    noise: LabelNoise


@dataclass(frozen=True, eq=False)
class GivenTargets:
    """The targets of all rows given, as in `Judged`; and which are certain."""

    target: Target
    trusted: Flags

    @classmethod
    def of(cls, y: Labels, trusted: ArrayLike | None, data: Data) -> GivenTargets:
        target = np.empty(data.n_rows, dtype=data.given.target.dtype)
        target[data.kept] = data.given.target
        # Rows of weight zero may have any label.
        others = column_or_1d(to_host(y))[data.others]
        target[data.others] = targets_among(others, data.task.names)
        if trusted is None:
            return cls(target, np.zeros(data.n_rows, dtype=bool))
        mask = np.asarray(to_host(trusted))
        if mask.shape != (data.n_rows,) or mask.dtype != bool:
            raise ValueError(
                f"trusted must be a mask with True or False for each of the {data.n_rows} rows of "
                f"X, got the shape {mask.shape} and the type {mask.dtype}."
            )
        return cls(target, mask)

    def judged(self, data: Data, folds: Sequence[Codes], are_members: bool) -> Judged:
        """Return the targets with the folds that judge them, by models that may be members."""
        hashes = np.empty(data.n_rows, dtype=np.uint64)
        hashes[data.kept] = data.given.row_hashes
        hashes[data.others] = hashing.fingerprint(data.uncounted)
        return Judged(
            target=self.target,
            trusted=self.trusted,
            folds=folds,
            are_members=are_members,
            digests=digests_of(hashes, self.target),
        )


def judge_labels(judged: Judged, shares: Array, data: Data) -> JudgedLabels:
    """Return what relative probabilities of labels say."""
    p = shares / shares.sum(axis=1, keepdims=True)
    weights = np.zeros(data.n_rows)
    weights[data.kept] = data.given.weights
    is_judged = ~np.isnan(p[:, 0]) & (judged.target >= 0)
    counted = is_judged & (weights > 0.0)
    noise = estimate_noise(
        p[counted],
        codes=judged.target[counted],
        weights=weights[counted],
        trusted=judged.trusted[counted],
    )
    rows = np.flatnonzero(is_judged)
    codes = judged.target[rows]
    true = true_probabilities(p[rows], codes, noise.matrix)
    true[judged.trusted[rows]] = np.eye(p.shape[1])[codes[judged.trusted[rows]]]
    likely = np.full(data.n_rows, -1)
    likely[rows] = true.argmax(axis=1)
    quality = np.full(data.n_rows, np.nan)
    quality[rows] = true[np.arange(len(rows)), codes]
    return JudgedLabels(
        **vars(judged),
        p=p,
        likely=likely,
        quality=quality,
        noise=noise,
    )


def targets_among(y: Labels, classes: Sequence[object]) -> Target:
    """Return the positions of labels among classes, -1 for others; without classes, numbers."""
    labels = column_or_1d(to_host(y))
    if not classes:
        return np.asarray(labels, dtype=np.float64)
    code_of = {label: code for code, label in enumerate(classes)}
    return np.array([code_of.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def digests_of(row_hashes: hashing.Hashes, target: Target) -> hashing.Hashes:
    """Return what tells rows and targets from others."""
    numbers = target.astype(np.float64)
    return np.asarray(row_hashes ^ hashing.mix(hashing.fingerprint(numbers[:, None])))
