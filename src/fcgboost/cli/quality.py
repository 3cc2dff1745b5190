"""How well a model predicts: scores, the baseline, and the confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.cli import console
from fcgboost.scores import Score, as_data, score_predictions
from fcgboost.training.scoring import precomputed

#: Of more classes only the largest confusions are printed.
_MOST_CLASSES, _MOST_CONFUSIONS = 10, 10
#: If names of classes are longer, columns are numbered; names that are longer still are cut.
_WIDEST, _LONGEST = 12, 40


@dataclass(frozen=True, eq=False)
class Quality:
    """The scores of predictions for rows, and how often a class was predicted as which.

    A row of the confusion matrix is a true class, a column a prediction. There may be one more row,
    of labels that are no class.
    """

    scores: dict[str, Score]
    names: list[str]
    confusion: NDArray[np.int64]

    @property
    def baseline(self) -> dict[str, Any]:
        """The most frequent class of the rows, and the accuracy of always predicting it."""
        totals = self.confusion.sum(axis=1)
        most = int(totals[: self.confusion.shape[1]].argmax())
        return {"class": self.names[most], "accuracy": float(totals[most] / totals.sum())}

    def by_class(self) -> tuple[list[float | None], list[float | None]]:
        """Return precision and recall of every class; None where there is nothing to divide by."""
        hits = np.diagonal(self.confusion).tolist()
        totals = (self.confusion.sum(axis=axis).tolist() for axis in (0, 1))
        precision, recall = (
            [hit / n if n else None for hit, n in zip(hits, own, strict=False)] for own in totals
        )
        return precision, recall

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        precision, recall = (dict(zip(self.names, own, strict=False)) for own in self.by_class())
        confusion = {"classes": self.names, "counts": self.confusion.tolist()}
        found = {"confusion": confusion, "precision": precision, "recall": recall}
        return {"scores": as_data(self.scores), "baseline": self.baseline, **found}

    def print(self) -> None:
        """Print the baseline, the scores, and the confusion matrix or its largest entries."""
        baseline, names = self.baseline, [*map(_short, self.names)]
        console.say(f"Baseline (always {baseline['class']}): accuracy {baseline['accuracy']:.4f}\n")
        console.print_scores(self.scores)
        precision, recall = ([*map(_share, own)] for own in self.by_class())
        recall.append("")  # of labels that are no class
        if len(names) > _MOST_CLASSES:
            wrong = self.confusion.copy()
            np.fill_diagonal(wrong, 0)
            order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_CONFUSIONS]
            pairs = zip(*np.unravel_index(order, wrong.shape), strict=True)
            rows = [[names[i], names[j], f"{wrong[i, j]:,}", recall[i]] for i, j in pairs]
            console.say(f"\nThe largest confusions of {len(names)} classes (--json has all):\n")
            header = ["true class", "predicted class", "rows", "recall"]
            console.print_table(header, [row for row in rows if row[2] != "0"], n_labels=2)
            return
        heads = names
        if max(map(len, names)) > _WIDEST:
            heads = [str(i) for i in range(1, len(names) + 1)]
            names = [f"{i} {name}" for i, name in zip(heads, names, strict=True)]
        counts = [[f"{n:,}" for n in row] for row in self.confusion.tolist()]
        rows = [[own, *n, share] for own, n, share in zip(names, counts, recall, strict=False)]
        console.say("\nConfusion matrix (rows are the true classes, columns the predicted ones):\n")
        header = ["", *heads[: len(precision)], "recall"]
        console.print_table(header, [*rows, ["precision", *precision, ""]])


def judge(classifier: Any, decision: Any, y: Any) -> Quality:
    """Judge a classifier by its decision values for rows and their true labels."""
    found, classes = precomputed(classifier, decision), classifier.classes_.tolist()
    has_proba = hasattr(classifier, "predict_proba")  # not with the hinge
    labels, proba = found.predict(None), found.predict_proba(None) if has_proba else None
    scores = score_predictions(y, labels, proba, classifier.classes_, decision=decision)
    n, codes = len(classes), {value: i for i, value in enumerate(classes)}
    pairs = zip(np.asarray(y).tolist(), labels.tolist(), strict=True)
    places = [codes.get(true, n) * n + codes[predicted] for true, predicted in pairs]
    counts = np.bincount(places, minlength=n * (n + 1)).reshape(n + 1, n)
    has_others = bool(counts[n].any())
    names = [*map(str, classes), *["(other)"] * has_others]
    return Quality(scores, names, counts[: n + has_others])


def print_influence(names: Sequence[str], influence: Sequence[float], top: int) -> None:
    """Print the columns of a table that move a model most, each with its share."""
    order = [j for j in np.argsort(-np.asarray(influence), kind="stable")[:top] if influence[j]]
    console.say("\nThe columns that matter most:\n")
    rows = [(str(names[j]), f"{100 * influence[j]:.1f} %") for j in order]
    console.print_table(("column", "influence"), rows)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."
