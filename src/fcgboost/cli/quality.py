"""How well a model predicts, and by what: scores, baseline, confusion matrix, influences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.cli import console
from fcgboost.scores import Score, as_data, score_predictions
from fcgboost.training.scoring import precomputed

#: A matrix of more classes is not printed, but its largest entries.
_MOST_CLASSES, _MOST_CONFUSIONS = 10, 10
#: Longer names of classes are numbered above a matrix, and those longer still are cut.
_WIDEST, _LONGEST = 12, 40


@dataclass(frozen=True, eq=False)
class Quality:
    """The scores of predictions for rows, and how often each class was taken for which."""

    scores: dict[str, Score]
    #: The names of the classes; behind them "(other)" if rows have labels that are no class.
    names: list[str]
    #: How often a true class (a row) was predicted as a class (a column).
    confusion: NDArray[np.int64]

    @property
    def baseline(self) -> dict[str, Any]:
        """The most frequent class of the rows, and the accuracy of always predicting it."""
        totals = self.confusion.sum(axis=1)
        most = int(totals[: self.confusion.shape[1]].argmax())
        return {"class": self.names[most], "accuracy": float(totals[most] / totals.sum())}

    def by_class(self) -> tuple[list[float | None], list[float | None]]:
        """Return precision and recall of every class; None where there is nothing to divide by."""
        n = self.confusion.shape[1]
        hits = np.diagonal(self.confusion).tolist()
        predicted, true = self.confusion.sum(axis=0).tolist(), self.confusion.sum(axis=1).tolist()
        precision = [hits[j] / predicted[j] if predicted[j] else None for j in range(n)]
        return precision, [hits[i] / true[i] if true[i] else None for i in range(n)]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        precision, recall = self.by_class()
        return {
            "scores": as_data(self.scores),
            "baseline": self.baseline,
            "confusion": {"classes": self.names, "counts": self.confusion.tolist()},
            "precision": dict(zip(self.names, precision, strict=False)),
            "recall": dict(zip(self.names, recall, strict=False)),
        }

    def print(self) -> None:
        """Print the baseline, the scores, and the matrix or its largest entries."""
        baseline = self.baseline
        console.say(f"Baseline (always {baseline['class']}): accuracy {baseline['accuracy']:.4f}\n")
        console.print_scores(self.scores)
        if len(self.names) > _MOST_CLASSES:
            self._print_largest()
        else:
            self._print_matrix()

    def _print_matrix(self) -> None:
        precision, recall = self.by_class()
        heads = names = [_short(name) for name in self.names]
        if max(map(len, names)) > _WIDEST:
            heads = [str(i) for i in range(1, len(names) + 1)]
            names = [f"{i} {name}" for i, name in zip(heads, names, strict=True)]
        counts = [[f"{n:,}" for n in row] for row in self.confusion.tolist()]
        shares = [*map(_share, recall), ""]
        rows = [(own, *n, share) for own, n, share in zip(names, counts, shares, strict=False)]
        console.say("\nConfusion matrix (rows are the true classes, columns the predicted ones):\n")
        header = ("", *heads[: len(precision)], "recall")
        console.print_table(header, [*rows, ("precision", *map(_share, precision), "")])

    def _print_largest(self) -> None:
        wrong = self.confusion.copy()
        np.fill_diagonal(wrong, 0)
        order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_CONFUSIONS]
        recall = [*self.by_class()[1], None]
        rows = [
            (_short(self.names[i]), _short(self.names[j]), f"{wrong[i, j]:,}", _share(recall[i]))
            for i, j in zip(*np.unravel_index(order, wrong.shape), strict=True)
            if wrong[i, j]
        ]
        if rows:
            console.say(f"\nThe largest confusions ({len(self.names)} classes; --json has all):\n")
            header = ("true class", "predicted class", "rows", "recall")
            console.print_table(header, rows, n_labels=2)


def judge(classifier: Any, decision: Any, y: Any) -> Quality:
    """Judge a classifier by its decision values for rows and their true labels."""
    found, classes = precomputed(classifier, decision), classifier.classes_
    has_proba = hasattr(classifier, "predict_proba")  # not with the hinge
    labels = found.predict(None)
    proba = found.predict_proba(None) if has_proba else None
    scores = score_predictions(y, labels, proba, classes, decision=decision)
    n, codes = len(classes), {value: i for i, value in enumerate(classes.tolist())}
    true = np.array([codes.get(value, n) for value in np.asarray(y).tolist()])
    predicted = np.array([codes[value] for value in labels.tolist()])
    counts = np.bincount(true * n + predicted, minlength=n * (n + 1)).reshape(n + 1, n)
    names, has_others = [str(value) for value in classes], bool(counts[n].any())
    return Quality(scores, [*names, *["(other)"] * has_others], counts[: n + has_others])


def print_influence(names: Sequence[str], influence: Sequence[float], top: int) -> None:
    """Print the columns of a table that move a model most, each with its share."""
    order = np.argsort(-np.asarray(influence), kind="stable")[:top]
    console.say("\nThe columns that matter most:\n")
    rows = [(str(names[j]), f"{100 * influence[j]:.1f} %") for j in order]
    console.print_table(("column", "influence"), rows)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _short(name: str) -> str:
    name = " ".join(name.split())
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."
