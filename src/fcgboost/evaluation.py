"""How good predictions are: scores with 95 % intervals, the baseline and the confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import is_regressor

from fcgboost.arrays import Array, ClassLabels, Codes, Flags, Rows
from fcgboost.checks import check_numbers
from fcgboost.prediction import BaseFCGBoost
from fcgboost.regressors import RegressorPredictions
from fcgboost.residuals import ALPHA, RegressionEvaluation
from fcgboost.scores import Score, Z, finite, mean_score, score_within, wilson
from fcgboost.threads import cached
from fcgboost.wording import shortened, text_table

__all__ = [
    "Baseline",
    "Evaluation",
    "evaluate",
    "log_losses",
    "margins_of",
    "predictions_of",
    "score_predictions",
]

#: The scores and their display names.
TITLES = {"accuracy": "accuracy", "auc": "AUC", "brier": "Brier score", "log_loss": "log-loss"}

#: The name of all labels that are not a class of the model.
_OTHER = "(other)"
#: With more classes, only the largest confusions are printed.
_MOST_CLASSES = 10
_MOST_CONFUSIONS = 10
#: Names are cut at these lengths, in heads of columns and elsewhere.
_WIDEST_HEAD = 10
_LONGEST_NAME = 40


class Baseline(NamedTuple):
    """The most frequent class, and the accuracy of always predicting it."""

    label: object
    accuracy: float


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Predictions for labelled rows, and how good they are; printing it shows a summary.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    y : ndarray of shape (n_samples,)
        The true labels. One that is not in `classes` counts as wrong, with probability 0.
    labels : ndarray of shape (n_samples,)
        The predicted labels.
    decision : ndarray of shape (n_samples,) or (n_samples, n_classes), or None
    proba : ndarray of shape (n_samples, n_classes) or None
    """

    classes: ClassLabels
    y: ClassLabels
    labels: ClassLabels
    decision: Array | None
    proba: Array | None

    @classmethod
    def from_decision(cls, classifier: BaseFCGBoost, decision: Array, y: ArrayLike) -> Evaluation:
        """Evaluate a fitted classifier of this package, given its decision values."""
        labels, proba = predictions_of(classifier, decision)
        return cls(
            classifier.classes_,
            np.asarray(y),
            labels,
            decision,
            proba,
        )

    def __len__(self) -> int:
        return len(self.y)

    @cached
    def codes(self) -> Codes:
        """The position of every true label among the classes; -1 if it is none of them."""
        is_class = self.y[:, None] == self.classes
        return np.where(is_class.any(axis=1), is_class.argmax(axis=1), -1)

    @cached
    def scores(self) -> dict[str, Score]:
        """The scores by name, as `score_predictions` returns them."""
        return score_predictions(
            self.y,
            self.labels,
            self.proba,
            self.classes,
            decision=self.decision,
        )

    @cached
    def confusion(self) -> Codes:
        """Counts of rows by true class (rows) and predicted class (columns).

        If some labels are not a class, they have one more row at the end.
        """
        n_classes = len(self.classes)
        predicted = (self.labels[:, None] == self.classes).argmax(axis=1)
        counts = np.zeros((n_classes + 1, n_classes), dtype=np.intp)
        np.add.at(counts, (self.codes, predicted), 1)
        return counts if counts[-1].any() else counts[:-1]

    @cached
    def names(self) -> list[str]:
        """The names of the rows of the confusion matrix."""
        names = [str(value) for value in self.classes.tolist()]
        return names if len(names) == len(self.confusion) else [*names, _OTHER]

    @property
    def baseline(self) -> Baseline:
        """The most frequent class of the rows, and the accuracy of always predicting it."""
        totals = self.confusion.sum(axis=1)
        most = int(totals[: len(self.classes)].argmax())
        return Baseline(self.classes[most], float(totals[most] / len(self)))

    @property
    def precision(self) -> Array:
        """The share of correct rows among those predicted as each class; NaN if there are none."""
        return self._hit_shares(axis=0)

    @property
    def recall(self) -> Array:
        """The share of each class's rows that are found; NaN if it has none."""
        return self._hit_shares(axis=1)

    def _hit_shares(self, axis: int) -> Array:
        hits = self.confusion.diagonal()
        with np.errstate(invalid="ignore"):
            return np.asarray(hits / self.confusion.sum(axis)[: len(hits)])

    @cached
    def margins(self) -> Array:
        """The lead of the true class, y f(x) for two classes; negative for mistakes."""
        if self.decision is None:
            raise ValueError("Margins need decision values, and the classifier has none.")
        return margins_of(self.codes, self.decision)

    @cached
    def mistakes(self) -> Codes:
        """The misclassified rows, the worst first."""
        wrong = np.flatnonzero(self.labels != self.y)
        return wrong[np.argsort(self.margins[wrong], kind="stable")]

    def to_dict(self) -> dict[str, Any]:
        """Return scores, baseline, confusion matrix, precision and recall for JSON."""
        baseline = self.baseline
        return {
            "scores": {name: score.to_dict() for name, score in self.scores.items()},
            "baseline": {"class": str(baseline.label), "accuracy": baseline.accuracy},
            "confusion": {"classes": self.names, "counts": self.confusion.tolist()},
            "precision": dict(zip(self.names, map(finite, self.precision), strict=False)),
            "recall": dict(zip(self.names, map(finite, self.recall), strict=False)),
        }

    def __str__(self) -> str:
        baseline = self.baseline
        rows = [
            (TITLES[name], f"{score.value:.4f}", f"{score.low:.4f} to {score.high:.4f}")
            for name, score in self.scores.items()
        ]
        return (
            f"Baseline (always {baseline.label}): accuracy {baseline.accuracy:.4f}\n\n"
            f"{text_table(('score', 'value', '95 % interval'), rows)}\n\n{self._matrix()}"
        )

    def _matrix(self) -> str:
        """Return the confusion matrix as text, or its largest entries."""
        names = [shortened(name, _LONGEST_NAME) for name in self.names]
        # Labels that are not a class have no recall.
        recall = [*map(_share_text, self.recall), ""]
        if len(names) > _MOST_CLASSES:
            return self._largest_confusions(names, recall)
        heads = [shortened(str(value), _WIDEST_HEAD) for value in self.classes.tolist()]
        rows = [
            [name, *(f"{n:,}" for n in counts), share]
            for name, counts, share in zip(names, self.confusion, recall, strict=False)
        ]
        rows.append(["precision", *map(_share_text, self.precision), ""])
        table = text_table(["", *heads, "recall"], rows)
        return f"Confusion matrix (rows: true class, columns: predicted class)\n\n{table}"

    def _largest_confusions(self, names: list[str], recall: list[str]) -> str:
        wrong = self.confusion.copy()
        np.fill_diagonal(wrong, 0)
        order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_CONFUSIONS]
        pairs = zip(*np.unravel_index(order, wrong.shape), strict=True)
        rows = [
            [names[i], names[j], f"{wrong[i, j]:,}", recall[i]] for i, j in pairs if wrong[i, j]
        ]
        table = text_table(["true class", "predicted class", "rows", "recall"], rows, n_labels=2)
        return f"The largest confusions of {len(names)} classes (--json has all)\n\n{table}"


def _share_text(share: float) -> str:
    return "-" if np.isnan(share) else f"{share:.3f}"


def evaluate(model: Any, X: Rows, y: ArrayLike) -> Evaluation | RegressionEvaluation:
    """Evaluate a fitted classifier or regressor on labelled rows.

    Parameters
    ----------
    model : fitted classifier or regressor
        One of this package or of scikit-learn, or a pipeline that ends in one.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        The rows to predict.
    y : array-like of shape (n_samples,)
        Their labels, or numbers.

    Returns
    -------
    Evaluation, or RegressionEvaluation
        Scores of a classifier are "accuracy"; "auc" if it has probabilities or decision values;
        "brier" and "log_loss" if it has probabilities. Those of a regressor are "r2", "rmse" and
        "mae".

    Examples
    --------
    >>> from fcgboost import FCGBoostClassifier
    >>> from fcgboost.datasets import make_simulation
    >>> clf = FCGBoostClassifier(random_state=0).fit(*make_simulation(300, random_state=0))
    >>> evaluation = evaluate(clf, *make_simulation(1000, random_state=1))
    >>> list(evaluation.scores)
    ['accuracy', 'auc', 'brier', 'log_loss']
    >>> accuracy = evaluation.scores["accuracy"]
    >>> evaluation.baseline.accuracy < accuracy.low < accuracy.value < accuracy.high
    True
    >>> evaluation.confusion.shape
    (2, 2)
    """
    if is_regressor(model):
        return _evaluate_regressor(model, X, check_numbers(y, "y"))
    if isinstance(model, BaseFCGBoost):  # one pass over the rows
        return Evaluation.from_decision(model, np.asarray(model.decision_function(X)), y)
    has_proba = hasattr(model, "predict_proba")  # not for every SVC
    has_decision = hasattr(model, "decision_function")  # not for forests
    return Evaluation(
        classes=np.asarray(model.classes_),
        y=np.asarray(y),
        # CatBoost returns multiclass labels as a column.
        labels=np.ravel(model.predict(X)),
        decision=np.asarray(model.decision_function(X)) if has_decision else None,
        proba=np.asarray(model.predict_proba(X)) if has_proba else None,
    )


def evaluation_of(
    model: BaseFCGBoost, decision: Array, y: ArrayLike
) -> Evaluation | RegressionEvaluation:
    """Evaluate a fitted model of this package, given its decision values."""
    if isinstance(model, RegressorPredictions):
        return RegressionEvaluation(np.asarray(y), model.predictions_of(decision), None)
    return Evaluation.from_decision(model, decision, y)


def _evaluate_regressor(model: Any, X: Rows, y: Array) -> RegressionEvaluation:
    """Evaluate a fitted regressor, one of this package with its intervals if it has any."""
    has_intervals = isinstance(model, RegressorPredictions) and model.has_intervals
    return RegressionEvaluation(
        y,
        np.ravel(model.predict(X)),
        model.predict_interval(X, alpha=ALPHA) if has_intervals else None,
    )


def predictions_of(classifier: BaseFCGBoost, decision: Array) -> tuple[ClassLabels, Array | None]:
    """Return labels and probabilities, given decision values; no probabilities with the hinge."""
    has_proba = hasattr(classifier, "predict_proba")  # not with the hinge
    proba = np.asarray(classifier.probabilities_of(decision)) if has_proba else None
    return classifier.labels_of(decision), proba


def margins_of(codes: Codes, decision: Array) -> Array:
    """Return y f, or the value of the true class minus the largest of the others.

    Labels that are not a class have the code -1; they are always mistakes.
    """
    if decision.ndim == 1:
        decision = np.stack([-decision, decision], axis=1) / 2.0
    rows = np.arange(len(codes))
    is_class = codes >= 0
    values = np.where(is_class, decision[rows, codes], decision.min(axis=1))
    others = decision.copy()
    others[rows[is_class], codes[is_class]] = -np.inf
    return np.asarray(values - others.max(axis=1))


def score_predictions(
    y: ArrayLike,
    labels: ArrayLike,
    proba: ArrayLike | None,
    classes: Sequence[object] | ClassLabels,
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
    y = np.asarray(y)
    labels = np.asarray(labels)
    classes = np.asarray(classes)
    if y.ndim != 1 or y.shape != labels.shape or len(y) == 0:
        raise ValueError(
            "y and labels must be non-empty vectors of the same length, got shapes "
            f"{y.shape} and {labels.shape}."
        )
    scores = {"accuracy": wilson(float(np.sum(y == labels)), len(y))}
    truth = y[:, None] == classes
    ranked_by = decision if proba is None else proba
    area = None if ranked_by is None else _auc(truth, np.asarray(ranked_by))
    if area is not None:
        scores["auc"] = area
    if proba is None:
        return scores
    p = np.asarray(proba, dtype=np.float64)
    scores["brier"] = mean_score(((p - truth) ** 2).sum(axis=1) / 2.0, 1.0)
    of_truth = np.where(truth, p, 0.0).sum(axis=1)
    scores["log_loss"] = mean_score(log_losses(of_truth), np.inf)
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


def _auc(truth: Flags, values: Array) -> Score | None:
    """Average the areas of all classes that have a curve.

    DeLong's variance is that of the mean of these influences: a positive row's share of the
    negatives below it, a negative row's share of the positives above it, each minus the area and
    divided by the share of its kind.
    """
    if truth.shape[1] == 2:  # both classes have the same area
        truth = truth[:, 1:]
    columns = values.reshape(len(truth), -1)[:, -truth.shape[1] :]
    counts = truth.sum(axis=0)
    n_rarer = np.minimum(counts, len(truth) - counts)
    curves = [_area(truth[:, j], columns[:, j]) for j in np.flatnonzero(n_rarer)]
    if not curves:
        return None
    value = float(np.mean([area for area, _ in curves]))
    influence = np.mean([influence for _, influence in curves], axis=0)
    half = Z * float(np.linalg.norm(influence)) / len(truth)
    if half == 0.0:
        # A perfect ranking of few rows is not certain: use the interval of as many hits.
        n = int(n_rarer[n_rarer > 0].min())
        hits = wilson(value * n, n)
        return Score(value, hits.low, hits.high)
    return score_within(value, half)


def _area(is_positive: Flags, scores: Array) -> tuple[float, Array]:
    """Return the area under the ROC curve of one class and each row's influence on it."""
    n1 = int(is_positive.sum())
    n0 = len(scores) - n1
    # A row's rank among the other kind, in which ties count a half.
    others = rankdata(scores)
    others[is_positive] -= rankdata(scores[is_positive])
    others[~is_positive] -= rankdata(scores[~is_positive])
    wins = np.where(is_positive, others / n0, 1.0 - others / n1)
    area = float(wins[is_positive].mean())
    share = np.where(is_positive, n1, n0) / len(scores)
    return area, (wins - area) / share
