"""How many labels are wrong, and which: from probabilities by models that have not seen the rows.

Labels are given with probabilities that depend on the true class alone: T_ij is the share of the
rows of class i that are labelled j. Row i of T is counted among the labels of rows that are almost
surely of class i (Northcutt, Jiang and Chuang, "Confident Learning: Estimating Uncertainty in
Dataset Labels", JAIR 2021, section 3; their threshold, the mean probability of a class over its
labels, also lets in rows between the classes, whose labels need not be wrong). A class that nothing
tells apart looks just like one whose labels are wrong, so some rates cannot be told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2, norm

from fcgboost.arrays import Array, Codes, Flags

__all__ = ["LabelNoise", "WrongLabels"]

# Counted are the surest three quarters of a class, half or a quarter: the most whose less sure half
# does not disagree more often than the other, by a one-sided test of 5 %.
_DEPTHS = (0.75, 0.5)
# From fewer rows nothing can be told.
_FEWEST_ROWS = 20.0
# The disagreement of the surest rows may still be overlap: the rate may be lower by this many times
# the rise from the surer to the less sure ones.
_RISES = 2.0
_Z = float(norm.ppf(0.95))
# Rates that differ by less than so many rises and standard errors are taken to be equal.
_HALF = 0.5
# Beyond, a class is not told apart: of as many of the surest rows as it has, so many are of others.
_MOST_OVERLAP = 0.2
_LEAST_CONTRAST = 0.2
# Classes have this test each, and may be many.
_SURELY = 0.999
# A label is right more often than wrong.
_MOST_WRONG = 0.45
# Wider intervals of shares tell nothing.
_WIDEST = 0.12
# Classes become larger than their labels say, or smaller, as rates become known.
_N_ROUNDS = 3
# Of a probability that the matrix makes negative or zero, this share remains.
_REST = 1e-3


class WrongLabels(NamedTuple):
    """The share of wrong labels: an estimate and the ends of its 90 % interval."""

    share: float
    low: float
    high: float
    #: Whether labels of surely known classes make the interval narrow enough to tell.
    is_known: bool

    def __str__(self) -> str:
        between = f"between {100.0 * self.low:.1f} and {100.0 * self.high:.1f} %"
        share = f"{100.0 * self.share:.1f} %" if self.is_known else "cannot tell"
        return f"{share} ({between})"


@dataclass(frozen=True, eq=False)
class LabelNoise:
    """How labels became wrong.

    Attributes
    ----------
    matrix : ndarray of shape (n_classes, n_classes)
        The share of the rows of each true class (rows) that have each label (columns). Rates that
        cannot be told apart are equal.
    low, high : ndarray of shape (n_classes,)
        90 % intervals of the share of wrong labels of each true class, if the noise depends on the
        true class alone.
    likely_low : ndarray of shape (n_classes,)
        Lower ends that allow for one standard error only.
    is_known : ndarray of shape (n_classes,)
        Whether enough rows are almost surely of a class, so that its interval means something;
        otherwise it is from 0 to 1.
    given, true : ndarray of shape (n_classes,)
        The shares of the labels, and of the true classes.
    most : float
        An upper limit of the share of wrong labels: that of labels that are not the predicted ones,
        with its error. More are not wrong, if every row's label is right more often than not.
    """

    matrix: Array
    low: Array
    high: Array
    likely_low: Array
    is_known: Flags
    given: Array
    true: Array
    most: float

    def wrong(self, code: int | None = None) -> WrongLabels:
        """Return the share of wrong labels, among those of a class or among all."""
        rates = 1.0 - np.diag(self.matrix)
        of_class = self.true
        most = self.most
        if code is not None:
            # What each class adds to these labels, if all of its labels were wrong.
            moves = np.where(np.arange(len(rates)) == code, 0.0, self.matrix[:, code] / rates)
            of_class = self.true * moves / max(self.given[code], np.finfo(float).tiny)
            most = 1.0
        low = float(of_class @ self.low)
        high = float(of_class @ self.high)
        is_known = high - low <= _WIDEST
        high = min(most, high)
        low = min(high, low)
        return WrongLabels(float(np.clip(of_class @ rates, low, high)), low, high, is_known)


class _Surest(NamedTuple):
    """Labels of rows that are almost surely of a class.

    `rise` is how much more often the less sure half of them disagrees, and `disagreement` the share
    in as many rows as the class has.
    """

    counts: Array
    rise: float
    disagreement: float


@dataclass(frozen=True)
class _Ranking:
    """The labels of all rows, those that are most surely of a class first.

    Row i of `cumulated` has the weights of the first rows' labels, up to the i-th change of the
    probability.
    """

    code: int
    cumulated: Array

    @classmethod
    def of(cls, p: Array, codes: Codes, weights: Array, code: int) -> _Ranking:
        order = np.argsort(-p[:, code], kind="stable")
        labels = np.eye(p.shape[1])[codes[order]] * weights[order, None]
        is_last = np.append(np.diff(p[order, code]) != 0.0, True)
        start = np.zeros((1, p.shape[1]))
        return cls(code, np.concatenate((start, labels.cumsum(axis=0)[is_last])))

    def surest(self, size: float) -> _Surest:
        """Return what the surest rows of a class of some size say."""
        size = min(size, float(self.cumulated[-1].sum()))
        disagreement = self._wrong(self._counts(size))
        for depth in _DEPTHS:
            n_rows = depth * size
            both = self._counts(n_rows)
            inner = self._counts(n_rows / 2.0)
            rise = self._wrong(both - inner) - self._wrong(inner)
            rate = self._wrong(both)
            variance = max(rate * (1.0 - rate), 0.25 / n_rows)
            if rise <= _Z * np.sqrt(4.0 * variance / n_rows):
                return _Surest(both, max(0.0, rise), disagreement)
        return _Surest(inner, rise, disagreement)

    def _counts(self, size: float) -> Array:
        """Return the weights of the first rows' labels; equally sure rows have a share each."""
        sizes = self.cumulated.sum(axis=1)
        return np.array([np.interp(size, sizes, column) for column in self.cumulated.T])

    def _wrong(self, counts: Array) -> float:
        return float(1.0 - counts[self.code] / counts.sum())


def estimate_noise(p: Array, codes: Codes, weights: Array, trusted: Flags) -> LabelNoise:
    """Return how labels became wrong.

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_classes)
        Probabilities of labels by models that have not seen the rows.
    codes : ndarray of shape (n_rows,)
        The classes of the labels.
    weights : ndarray of shape (n_rows,)
        Counts; normalised ones count their rows.
    trusted : ndarray of shape (n_rows,)
        Whether a label is certain. Such rows of another class say nothing of wrong labels.
    """
    n_classes = p.shape[1]
    weights = weights * max(1.0, np.count_nonzero(weights) / weights.sum())
    given = np.bincount(codes, weights, n_classes) / weights.sum()
    rankings = []
    for code in range(n_classes):
        counted = ~trusted | (codes == code)
        rankings.append(_Ranking.of(p[counted], codes[counted], weights[counted], code))
    true = given
    for _ in range(_N_ROUNDS):
        surest = [
            ranking.surest(max(1.0, share * weights.sum()))
            for ranking, share in zip(rankings, true, strict=True)
        ]
        counts = np.array([part.counts for part in surest])
        n_rows = np.maximum(counts.sum(axis=1), 1.0)
        rates = 1.0 - np.diag(counts) / n_rows
        true = _true_shares(_matrix(counts, rates), given)
    rises = np.array([part.rise for part in surest])
    error = np.sqrt((rates + 0.5 / n_rows) * (1.0 - rates + 0.5 / n_rows) / n_rows)
    overlap = _overlap(np.array([part.disagreement for part in surest]), rates, true)
    is_known = (rates < 0.5) & (overlap < _MOST_OVERLAP) & (n_rows >= _FEWEST_ROWS)
    lowest = rates - _RISES * rises
    low = np.maximum(0.0, lowest - _Z * error)
    high = np.minimum(1.0, rates + _Z * error)
    # No rate is zero: the few wrong labels of a table may not be among the surest rows.
    least = 0.5 / (n_rows + 1.0)
    equal = _most_equal(
        rates,
        np.where(is_known, np.maximum(least, rates - _HALF * (rises + error)), least),
        rates + _HALF * error,
        true,
    )
    is_wrong = (p.argmax(axis=1) != codes) & ~trusted
    most = weights[is_wrong].sum() / weights.sum()
    most += _Z * np.sqrt(most * (1.0 - most) / weights.sum())
    return LabelNoise(
        _matrix(counts, equal),
        low=np.where(is_known, low, 0.0),
        high=np.where(is_known, high, 1.0),
        likely_low=np.where(is_known, lowest - error, 0.0),
        is_known=is_known,
        given=given,
        true=true,
        most=float(most),
    )


def _matrix(counts: Array, rates: Array) -> Array:
    """Return a noise matrix with rates of wrong labels.

    Those of a class are spread evenly over the others, unless a test says that they are not.
    """
    others = 1.0 - np.eye(len(rates))
    evenly = others / (len(rates) - 1)
    # Half a label more: what was not counted is not impossible.
    moves = counts * others + 0.5 * evenly
    totals = moves.sum(axis=1, keepdims=True)
    surprise = ((moves / totals - evenly) ** 2).sum(axis=1) * totals[:, 0] * (len(rates) - 1)
    is_uneven = surprise > chi2.ppf(_SURELY, len(rates) - 2)
    moves = np.where(is_uneven[:, None], moves / totals, evenly)
    rates = np.minimum(rates, _MOST_WRONG)
    return np.asarray(np.diag(1.0 - rates) + rates[:, None] * moves)


def _true_shares(matrix: Array, given: Array) -> Array:
    """Return the shares of the true classes that have the given labels."""
    # Every diagonal element is above one half, so the matrix can be solved.
    true = np.maximum(np.linalg.solve(matrix.T, given), 0.25 * given)
    return np.asarray(true / true.sum())


def _overlap(disagreement: Array, rates: Array, true: Array) -> Array:
    """Return how many rows of other classes are among the surest ones, as many as a class has.

    Where labels hardly depend on the class, nobody knows.
    """
    others = (true @ rates - true * rates) / np.maximum(1.0 - true, np.finfo(float).tiny)
    contrast = 1.0 - rates - others
    return np.where(
        contrast > _LEAST_CONTRAST,
        (disagreement - rates) / np.maximum(contrast, _LEAST_CONTRAST),
        1.0,
    )


def _most_equal(rates: Array, low: Array, high: Array, true: Array) -> Array:
    """Return rates within intervals that are as equal as these allow.

    Equal rates leave the order of the plain probabilities.
    """
    mean = float(true @ rates)
    for _ in range(50):
        mean = float(true @ np.clip(mean, low, high))
    return np.asarray(np.clip(mean, low, high))


def true_probabilities(p: Array, codes: Codes, matrix: Array) -> Array:
    """Return the probabilities of the true classes of rows, given their labels.

    The probabilities of labels at a row are mixed from those of its true class, p = T' P(true | x);
    the theorem of Bayes then takes the label into account.
    """
    true = np.maximum(p @ np.linalg.inv(matrix), _REST * p)
    joint = true * matrix[:, codes].T
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))
