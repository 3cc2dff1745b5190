"""Scores of predictions, each with a 95 % interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, rankdata

Array = NDArray[np.float64]

#: Display names of the scores, and those for which larger is better.
TITLES = {"accuracy": "accuracy", "auc": "AUC", "brier": "Brier score", "log_loss": "log-loss"}
LARGER_IS_BETTER = {"accuracy", "auc"}

_Z = float(norm.ppf(0.975))


@dataclass(frozen=True)
class Score:
    """A score and its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"

    def to_dict(self) -> dict[str, float | None]:
        """Return the score for JSON; infinite ends are None."""
        return {name: value if np.isfinite(value) else None for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Score:
        """Return the score from the result of `to_dict`."""
        high = np.inf if found["high"] is None else float(found["high"])
        return cls(float(found["value"]), float(found["low"]), high)


def as_data(scores: Mapping[str, Score]) -> dict[str, dict[str, float | None]]:
    """Return scores for JSON."""
    return {name: score.to_dict() for name, score in scores.items()}


def evaluate(model: Any, X: Any, y: ArrayLike) -> dict[str, Score]:
    """Score a fitted classifier on data.

    Parameters
    ----------
    model : fitted classifier
        A classifier of this package or of scikit-learn, or a pipeline that ends in one.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        The rows to predict.
    y : array-like of shape (n_samples,)
        Their labels.

    Returns
    -------
    dict from str to Score
        "accuracy"; "auc" if the classifier has probabilities or decision values; "brier" and
        "log_loss" if it has probabilities.

    Examples
    --------
    >>> from fcgboost import FCGBoostClassifier
    >>> from fcgboost.datasets import make_simulation
    >>> clf = FCGBoostClassifier(random_state=0).fit(*make_simulation(300, random_state=0))
    >>> scores = evaluate(clf, *make_simulation(1000, random_state=1))
    >>> list(scores)
    ['accuracy', 'auc', 'brier', 'log_loss']
    >>> scores["accuracy"].low < scores["accuracy"].value < scores["accuracy"].high
    True
    """
    has_proba = hasattr(model, "predict_proba")  # not with the hinge, for example
    has_decision = hasattr(model, "decision_function")  # not for forests, for example
    proba = model.predict_proba(X) if has_proba else None
    decision = model.decision_function(X) if has_decision and not has_proba else None
    # CatBoost returns multiclass labels as a column.
    labels = np.ravel(model.predict(X))
    return score_predictions(y, labels, proba, model.classes_, decision=decision)


def score_predictions(
    y: ArrayLike,
    labels: ArrayLike,
    proba: ArrayLike | None,
    classes: Sequence[Any] | NDArray[Any],
    *,
    decision: ArrayLike | None = None,
) -> dict[str, Score]:
    """Score predictions, with 95 % intervals.

    accuracy
        With Wilson's interval.
    auc
        The area under the ROC curve, with DeLong's interval; for more than two classes the mean
        over classes, one versus rest. A class that is absent from y, or makes up all of it, is left
        out.
    brier
        Half the squared distance between probabilities and truth, from 0 to 1; with two classes
        (p - 1[y = 1])^2.
    log_loss
        The mean of `log_losses`.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The true labels. One that is not in `classes` counts as wrong, with probability 0.
    labels : array-like of shape (n_samples,)
        The predicted labels.
    proba : array-like of shape (n_samples, n_classes) or None
        The predicted probabilities.
    classes : sequence of n_classes labels
        The classes in the order of `proba`.
    decision : array-like of shape (n_samples,) or (n_samples, n_classes), or None
        Decision values, which rank the rows for the AUC if there are no probabilities.

    Returns
    -------
    dict from str to Score
    """
    y, labels, classes = np.asarray(y), np.asarray(labels), np.asarray(classes)
    if y.ndim != 1 or y.shape != labels.shape or len(y) == 0:
        raise ValueError(
            "y and labels must be non-empty vectors of the same length, got shapes "
            f"{y.shape} and {labels.shape}."
        )
    scores = {"accuracy": wilson(float(np.sum(y == labels)), len(y))}
    truth = y[:, None] == classes[None, :]
    ranked_by = decision if proba is None else proba
    area = None if ranked_by is None else _auc(truth, np.asarray(ranked_by))
    if area is not None:
        scores["auc"] = area
    if proba is None:
        return scores
    p = np.asarray(proba, dtype=np.float64)
    scores["brier"] = _mean(((p - truth) ** 2).sum(axis=1) / 2.0, 1.0)
    scores["log_loss"] = _mean(log_losses(np.where(truth, p, 0.0).sum(axis=1)), np.inf)
    return scores


def log_losses(of_truth: ArrayLike) -> Array:
    """Return the log-loss -ln p of each row, with p clipped to [1 / (2 m), 1 - 1 / (2 m)].

    The m rows cannot distinguish smaller probabilities from 0, and no single row should dominate.

    Parameters
    ----------
    of_truth : array-like of shape (n_samples,)
        The predicted probability p of each row's true class.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> log_losses([0.5, 0.9, 0.0]).round(4)
    array([0.6931, 0.1823, 1.7918])
    """
    p = np.asarray(of_truth, dtype=np.float64)
    least = 0.5 / len(p)
    return np.asarray(-np.log(np.clip(p, least, 1.0 - least)))


def wilson(n_hits: float, n: float) -> Score:
    """Return a share with Wilson's interval."""
    share, z2 = n_hits / n, _Z**2 / n
    middle = (share + z2 / 2.0) / (1.0 + z2)
    half = _Z * np.sqrt(share * (1.0 - share) / n + z2 / (4.0 * n)) / (1.0 + z2)
    # At 0 or 1 one end is exact, up to rounding.
    return Score(share, float(min(share, middle - half)), float(max(share, middle + half)))


def _mean(values: Array, largest: float) -> Score:
    value = float(values.mean())
    half = _Z * float(values.std(ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else np.inf
    return Score(value, float(max(0.0, value - half)), float(min(largest, value + half)))


def _auc(truth: NDArray[np.bool_], values: Array) -> Score | None:
    """Average the areas of all classes that have a curve.

    DeLong's variance is that of the mean of these influences: a positive row's share of the
    negatives below it, a negative row's share of the positives above it, each minus the area and
    divided by the share of its kind.
    """
    # A single value per row is for the second of two classes.
    columns = np.stack([-values, values], axis=1) if values.ndim == 1 else values
    m, shares = len(truth), truth.mean(axis=0)
    drawn = np.flatnonzero((shares > 0.0) & (shares < 1.0))
    # Of two classes, both have the same area.
    drawn = drawn[-1:] if truth.shape[1] == 2 else drawn
    if len(drawn) == 0:
        return None
    found = [_area(truth[:, j], columns[:, j]) for j in drawn]
    value = float(np.mean([area for area, _ in found]))
    influence = np.mean([parts for _, parts in found], axis=0)
    half = _Z * float(np.sqrt(np.sum(influence**2))) / m
    if half == 0.0:
        # A perfect ranking of few rows is not certain: use the interval of as many hits.
        n = m * float(np.minimum(shares, 1.0 - shares)[drawn].min())
        around = wilson(value * n, n)
        return Score(value, around.low, around.high)
    return Score(value, max(0.0, value - half), min(1.0, value + half))


def _area(is_positive: NDArray[np.bool_], scores: Array) -> tuple[float, Array]:
    """Return the area under the ROC curve of one class and each row's influence on it."""
    n1 = int(is_positive.sum())
    n0 = len(scores) - n1
    among_all = rankdata(scores)
    among_own = np.empty(len(scores))
    among_own[is_positive] = rankdata(scores[is_positive])
    among_own[~is_positive] = rankdata(scores[~is_positive])
    # The difference is a row's rank among the other kind; ties count a half.
    others = among_all - among_own
    wins = np.where(is_positive, others / n0, 1.0 - others / n1)
    area = float(wins[is_positive].mean())
    share = np.where(is_positive, n1, n0) / len(scores)
    return area, (wins - area) / share
