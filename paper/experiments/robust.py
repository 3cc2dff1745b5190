"""Options against wrong labels, on top of any classifier that takes weights.

They use what every user can: `sample_weight`, a validation part, and a fit that is done again. The
first fit, a single path, chooses ridge and number of steps by the validation part; those that
follow have both. How much is done, from nothing on, is chosen by accuracy on the validation part;
of equal ones the least wins.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold

from fcgboost import FCGBoostClassifier

Array = NDArray[np.float64]


class Option(ClassifierMixin, BaseEstimator):
    """What robust options share; labels are -1 and +1.

    Parameters
    ----------
    estimator : FCGBoostClassifier
    first : FCGBoostClassifier or None, default=None
        The same, fitted already; None fits it.

    Attributes
    ----------
    classifier_ : FCGBoostClassifier
        The fit that won.
    amount_ : float
        How much was done; 0 if the first fit won.
    """

    estimator: FCGBoostClassifier
    first: FCGBoostClassifier | None

    def fit(self, X: Array, y: Array, X_val: Array, y_val: Array) -> Self:
        """Fit, and fit again with every amount."""
        first = self.first
        if first is None:
            first = clone(self.estimator).fit(X, y, X_val=X_val, y_val=y_val)
        self.classifier_ = first
        self.amount_ = 0.0
        best = float(first.score(X_val, y_val))
        for amount, classifier in self._tries(first, X, y):
            accuracy = float(classifier.score(X_val, y_val))
            if accuracy > best:
                self.classifier_, self.amount_, best = classifier, amount, accuracy
        self.classes_ = first.classes_
        return self

    @abstractmethod
    def _tries(
        self, first: FCGBoostClassifier, X: Array, y: Array
    ) -> Iterator[tuple[float, FCGBoostClassifier]]:
        """Give other fits, the least change first."""

    def predict(self, X: Array) -> Any:
        """Give the labels of the fit that won."""
        return self.classifier_.predict(X)


class Reweighted(Option):
    """A bounded loss by re-weighting: rows that lose more than a cap count as little as the cap.

    A row of squared hinge l has the weight min(1, cap / l), or 0 beyond the cap. That is the
    concave-convex procedure for a loss that grows as cap log(l), or not at all, beyond the cap.

    Parameters
    ----------
    estimator : FCGBoostClassifier
    caps : tuple of float, default=(2.0, 1.0)
        Among which validation chooses, beside none. A row on the border loses 1.
    n_rounds : int, default=2
    is_hard : bool, default=False
        Whether rows beyond the cap are left out.
    first : FCGBoostClassifier or None, default=None
    """

    def __init__(
        self,
        estimator: FCGBoostClassifier,
        caps: tuple[float, ...] = (2.0, 1.0),
        n_rounds: int = 2,
        is_hard: bool = False,
        first: FCGBoostClassifier | None = None,
    ) -> None:
        self.estimator = estimator
        self.caps = caps
        self.n_rounds = n_rounds
        self.is_hard = is_hard
        self.first = first

    def _tries(
        self, first: FCGBoostClassifier, X: Array, y: Array
    ) -> Iterator[tuple[float, FCGBoostClassifier]]:
        for cap in self.caps:
            classifier = first
            for _ in range(self.n_rounds):
                loss = np.maximum(0.0, 1.0 - y * classifier.decision_function(X)) ** 2
                weights = capped_weights(loss, cap, self.is_hard)
                if not has_both(y[weights > 0.0]):
                    return
                classifier = again(self.estimator, first).fit(X, y, weights)
            yield 1.0 / cap, classifier


class Trimmed(Option):
    """Rows with the worst out-of-fold margins are dropped, or have their labels turned.

    Parameters
    ----------
    estimator : FCGBoostClassifier
    shares : tuple of float, default=(0.05, 0.1, 0.2, 0.3)
        Of the rows; among which validation chooses, beside none.
    n_folds : int, default=4
    is_turned : bool, default=False
        Whether labels are turned, of rows on the wrong side only, instead of rows left out.
    first : FCGBoostClassifier or None, default=None
    margins : ndarray of shape (n_samples,) or None, default=None
        The out-of-fold margins y f, known already; None finds them.
    """

    def __init__(
        self,
        estimator: FCGBoostClassifier,
        shares: tuple[float, ...] = (0.05, 0.1, 0.2, 0.3),
        n_folds: int = 4,
        is_turned: bool = False,
        first: FCGBoostClassifier | None = None,
        margins: Array | None = None,
    ) -> None:
        self.estimator = estimator
        self.shares = shares
        self.n_folds = n_folds
        self.is_turned = is_turned
        self.first = first
        self.margins = margins

    def _tries(
        self, first: FCGBoostClassifier, X: Array, y: Array
    ) -> Iterator[tuple[float, FCGBoostClassifier]]:
        margins = self.margins
        if margins is None:
            margins = out_of_fold_margins(self.estimator, first, X, y, self.n_folds)
        order = np.argsort(margins, kind="stable")
        for share in self.shares:
            worst = order[: round(share * len(y))]
            labels, weights = y.copy(), np.ones(len(y))
            if self.is_turned:
                labels[worst[margins[worst] < 0.0]] *= -1.0
            else:
                weights[worst] = 0.0
            if not has_both(labels[weights > 0.0]):
                return
            yield share, again(self.estimator, first).fit(X, labels, weights)


class Reseeded(Option):
    """A control: nothing is done about labels, only other seeds are tried.

    What it gains is owed to one more choice by the validation part.

    Parameters
    ----------
    estimator : FCGBoostClassifier
    n_seeds : int, default=4
    first : FCGBoostClassifier or None, default=None
    """

    def __init__(
        self,
        estimator: FCGBoostClassifier,
        n_seeds: int = 4,
        first: FCGBoostClassifier | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_seeds = n_seeds
        self.first = first

    def _tries(
        self, first: FCGBoostClassifier, X: Array, y: Array
    ) -> Iterator[tuple[float, FCGBoostClassifier]]:
        for seed in range(1, self.n_seeds + 1):
            other = clone(self.estimator).set_params(random_state=seed)
            yield float(seed), again(other, first).fit(X, y)


def again(estimator: FCGBoostClassifier, first: FCGBoostClassifier) -> FCGBoostClassifier:
    """Give a classifier to be fitted as the first one was: the same ridge and number of steps."""
    path: FCGBoostClassifier = clone(estimator)
    return path.set_params(cv=None, l2=first.l2_, max_iter=max(1, first.n_iter_))


def out_of_fold_margins(
    estimator: FCGBoostClassifier, first: FCGBoostClassifier, X: Array, y: Array, n_folds: int = 4
) -> Array:
    """Give y f of every row by a classifier that has not seen it."""
    margins = np.zeros(len(y))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    for train, aside in folds.split(X, y):
        classifier = again(estimator, first).fit(X[train], y[train])
        margins[aside] = y[aside] * classifier.decision_function(X[aside])
    return margins


def capped_weights(loss: Array, cap: float, is_hard: bool = False) -> Array:
    """Give the weights of rows by their losses."""
    if is_hard:
        return (loss <= cap).astype(np.float64)
    return np.minimum(1.0, cap / np.maximum(loss, cap))


def has_both(y: Array) -> bool:
    """Whether both classes are there."""
    return bool(np.any(y > 0.0) and np.any(y < 0.0))
