"""ROC and precision-recall curves: what each threshold for a class finds, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.web.models import Array, Evaluation, FittedModel
from fcgboost.web.plane import plain
from fcgboost.web.text import label

# Thresholds that the page holds: so many among all rows, and so many among those of the class.
_MOST_THRESHOLDS = 150
# Classes in the menu, the most frequent ones.
_MOST_CLASSES = 30


@dataclass(frozen=True, eq=False)
class Curve:
    """One class against the rest: true and false positives at falling thresholds.

    A row is predicted as the class if its score is at least the threshold. Both areas are exact,
    also where the page holds only some of the thresholds; `default` is the place of the usual one.
    """

    name: str
    thresholds: Array
    true: NDArray[np.intp]
    false: NDArray[np.intp]
    default: int
    n_positive: int
    n_negative: int
    auc: float
    average_precision: float


def find_curves(model: FittedModel, evaluation: Evaluation) -> list[Curve]:
    """Return the curves of all classes that have both positive and negative rows."""
    scores, default = evaluation.decision, 0.0
    if evaluation.proba is not None:
        scores, default = evaluation.proba, 0.5
    elif scores.ndim == 1:
        scores = np.stack([-scores, scores], axis=1)
    is_known = evaluation.codes >= 0
    codes, scores = evaluation.codes[is_known], scores[is_known]
    counts = np.bincount(codes, minlength=len(model.classes))
    often = np.argsort(-counts, kind="stable")[:_MOST_CLASSES]
    both = [c for c in sorted(often.tolist()) if 0 < counts[c] < len(codes)]
    return [_curve(label(model.classes[c]), scores[:, c], codes == c, default) for c in both]


def _curve(name: str, scores: Array, is_own: NDArray[np.bool_], default: float) -> Curve:
    own, other = np.sort(scores[is_own]), np.sort(scores[~is_own])

    def counts(thresholds: Array) -> Any:
        return [len(part) - np.searchsorted(part, thresholds) for part in (own, other)]

    true, false = counts(np.unique(scores)[::-1])
    gained = np.diff(true, prepend=0)
    auc = float(np.sum(np.diff(false, prepend=0) * (true - gained / 2)) / (len(own) * len(other)))
    precision = float(np.sum(gained * true / (true + false)) / len(own))
    shares = np.linspace(0.0, 1.0, _MOST_THRESHOLDS)
    some = [np.quantile(part, shares, method="nearest") for part in (scores, own)]
    thresholds = np.unique([*np.concatenate(some), default])[::-1]
    place = int(np.flatnonzero(thresholds == default)[0])
    true, false = counts(thresholds)
    return Curve(name, thresholds, true, false, place, len(own), len(other), auc, precision)


def threshold_data(curves: list[Curve], is_probability: bool) -> dict[str, Any]:
    """Return the curves as the page's script draws them, the second of two classes first."""
    classes = [
        {
            "name": one.name,
            "rest": curves[1 - i].name if len(curves) == 2 else "other classes",
            "thresholds": plain(one.thresholds),
            "true": one.true.tolist(),
            "false": one.false.tolist(),
            "start": one.default,
            "positives": one.n_positive,
            "negatives": one.n_negative,
            "auc": one.auc,
            "averagePrecision": one.average_precision,
        }
        for i, one in enumerate(curves)
    ]
    return {"classes": classes, "first": int(len(curves) == 2), "isProbability": is_probability}
