"""ROC and precision-recall curves: what each threshold for a class finds, and what it costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from fcgboost.report.models import Array, EvaluatedRows
from fcgboost.report.path import plain
from fcgboost.report.text import label

# Thresholds on the page: at most this many from all rows, and as many from those of the class.
_MOST_THRESHOLDS = 150
# Classes in the menu, the most frequent ones.
_MOST_CLASSES = 30


def threshold_data(evaluation: EvaluatedRows) -> dict[str, object] | None:
    """Return the curves of all classes that have both positive and negative rows, for JSON."""
    scores = evaluation.decision
    default = 0.0
    if evaluation.proba is not None:
        scores = evaluation.proba
        default = 0.5
    elif scores.ndim == 1:
        scores = np.stack([-scores, scores], axis=1)
    is_class = evaluation.codes >= 0
    codes = evaluation.codes[is_class]
    scores = scores[is_class]
    counts = np.bincount(codes, minlength=len(evaluation.classes))
    frequent = np.sort(np.argsort(-counts, kind="stable")[:_MOST_CLASSES])
    names = [label(value) for value in evaluation.classes]
    is_pair = len(names) == 2
    curves = [
        {
            "name": names[code],
            "rest": names[1 - code] if is_pair else "other classes",
            **_curve(scores[:, code], codes == code, default),
        }
        for code in frequent.tolist()
        if 0 < counts[code] < len(codes)
    ]
    if not curves:
        return None
    is_probability = evaluation.proba is not None
    return {"classes": curves, "first": int(is_pair), "isProbability": is_probability}


def _curve(scores: Array, is_positive: NDArray[np.bool_], default: float) -> dict[str, object]:
    """Count true and false positives at falling thresholds, of which `start` is the default.

    A row is predicted as the class if its score is at least the threshold. Both areas are exact,
    also where the page holds only some of the thresholds.
    """
    positive = np.sort(scores[is_positive])
    negative = np.sort(scores[~is_positive])
    shares = np.linspace(0.0, 1.0, _MOST_THRESHOLDS)
    among_all = np.quantile(scores, shares, method="nearest")
    among_positive = np.quantile(positive, shares, method="nearest")
    thresholds = np.unique([*among_all, *among_positive, default])[::-1]
    return {
        "thresholds": plain(thresholds),
        "true": (len(positive) - np.searchsorted(positive, thresholds)).tolist(),
        "false": (len(negative) - np.searchsorted(negative, thresholds)).tolist(),
        "start": thresholds.tolist().index(default),
        "positives": len(positive),
        "negatives": len(negative),
        "auc": roc_auc_score(is_positive, scores),
        "averagePrecision": average_precision_score(is_positive, scores),
    }
