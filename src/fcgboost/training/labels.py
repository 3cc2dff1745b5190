"""The labels of a fit, judged by members that have not seen their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import column_or_1d

from fcgboost import hashing
from fcgboost.arrays import Array, Codes, Flags, Labels
from fcgboost.checks import to_host
from fcgboost.label_noise import LabelNoise, estimate_noise, true_probabilities
from fcgboost.training.dataset import Data


@dataclass(frozen=True, eq=False)
class JudgedLabels:
    """What out-of-fold predictions say of the labels, in the order of the rows given.

    Attributes
    ----------
    p : ndarray of shape (n_rows, n_classes)
        Probabilities of labels, class weights undone; NaN for rows that no fold judges.
    codes : ndarray of shape (n_rows,)
        The classes of the labels, -1 for those that are no class.
    trusted : ndarray of shape (n_rows,)
        Whether a label is certain.
    likely : ndarray of shape (n_rows,)
        The classes that are most probably true, given the labels; -1 where no fold judges.
    quality : ndarray of shape (n_rows,)
        The probability that a label is right.
    noise : LabelNoise
    folds : list of ndarray
        The rows that each fold judges.
    are_members : bool
        Whether the models of the folds are members of the classifier, those of a kind in a row.
    digests : ndarray of shape (n_rows,)
        Tell rows and labels from others.
    """

    p: Array
    codes: Codes
    trusted: Flags
    likely: Codes
    quality: Array
    noise: LabelNoise
    folds: Sequence[Codes]
    are_members: bool
    digests: hashing.Hashes


@dataclass(frozen=True, eq=False)
class GivenLabels:
    """The classes of all rows given, -1 for labels that are no class; and which are certain."""

    codes: Codes
    trusted: Flags

    @classmethod
    def of(cls, y: Labels, trusted: ArrayLike | None, data: Data) -> GivenLabels:
        codes = np.empty(data.n_rows, dtype=np.intp)
        codes[data.kept] = data.given.strata
        # Rows of weight zero may have any label.
        labels = column_or_1d(to_host(y))
        codes[data.others] = codes_among(labels[data.others], data.task.names)
        if trusted is None:
            return cls(codes, np.zeros(data.n_rows, dtype=bool))
        mask = np.asarray(to_host(trusted))
        if mask.shape != (data.n_rows,) or mask.dtype != bool:
            raise ValueError(
                f"trusted must be a mask with True or False for each of the {data.n_rows} rows of "
                f"X, got the shape {mask.shape} and the type {mask.dtype}."
            )
        return cls(codes, mask)

    def judged(
        self, shares: Array, data: Data, folds: Sequence[Codes], are_members: bool
    ) -> JudgedLabels:
        """Return what relative probabilities of labels say, by models that may be members."""
        p = shares / shares.sum(axis=1, keepdims=True)
        weights = np.zeros(data.n_rows)
        weights[data.kept] = data.given.weights
        is_judged = ~np.isnan(p[:, 0]) & (self.codes >= 0)
        counted = is_judged & (weights > 0.0)
        noise = estimate_noise(
            p[counted],
            codes=self.codes[counted],
            weights=weights[counted],
            trusted=self.trusted[counted],
        )
        judged = np.flatnonzero(is_judged)
        codes = self.codes[judged]
        true = true_probabilities(p[judged], codes, noise.matrix)
        true[self.trusted[judged]] = np.eye(p.shape[1])[codes[self.trusted[judged]]]
        likely = np.full(data.n_rows, -1)
        likely[judged] = true.argmax(axis=1)
        quality = np.full(data.n_rows, np.nan)
        quality[judged] = true[np.arange(len(judged)), codes]
        hashes = np.empty(data.n_rows, dtype=np.uint64)
        hashes[data.kept] = data.given.row_hashes
        hashes[data.others] = hashing.fingerprint(data.uncounted)
        return JudgedLabels(
            p,
            codes=self.codes,
            trusted=self.trusted,
            likely=likely,
            quality=quality,
            noise=noise,
            folds=folds,
            are_members=are_members,
            digests=digests_of(hashes, self.codes),
        )


def codes_among(y: Labels, classes: Sequence[object]) -> Codes:
    """Return the positions of labels among classes, -1 for others."""
    code_of = {label: code for code, label in enumerate(classes)}
    labels = column_or_1d(to_host(y)).tolist()
    return np.array([code_of.get(label, -1) for label in labels], dtype=np.intp)


def digests_of(row_hashes: hashing.Hashes, codes: Codes) -> hashing.Hashes:
    """Return what tells rows and labels from others."""
    return np.asarray(row_hashes ^ hashing.mix((codes + 1).astype(np.uint64)))
