"""The fits of `benchmarks.labels` on one table, in the process that calls this."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.labels_sets import Clean, Flipped, flip
from benchmarks.measure import MissingError
from benchmarks.mid_fit import METHODS, N_READY
from benchmarks.rivals import timed
from fcgboost import FCGBoostClassifier

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame

    Codes = NDArray[np.int64]
    Array = NDArray[np.float64]

OURS = "fcgboost"
#: The folds of rivals; those of ours are its own.
N_FOLDS = 5


class Judgement(NamedTuple):
    """Out-of-fold probabilities of labels and, of ours, what the package makes of them."""

    p: Array
    quality: Array | None = None
    wrong: Any = None


def judge_ours(X: DataFrame, given: Codes, draw: int) -> Judgement:
    """Fit the default; out-of-fold values and the quality of labels are by-products."""
    audit = FCGBoostClassifier(n_jobs=1, random_state=draw).fit(X, given).audit(X, given)
    clf = audit.estimator
    p = clf.probabilities_of(clf.oof_decision_function_)
    return Judgement(p, audit.label_quality, audit.wrong)


def judge_rival(name: str, X: DataFrame, given: Codes, draw: int) -> Judgement:
    """Predict each fold by a rival with its defaults, fitted to the other folds."""
    p = np.zeros((len(given), int(given.max()) + 1))
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=draw)
    for train, test in folds.split(X, given):
        p[test] = METHODS[name].fit(X.iloc[train], given[train]).predict_proba(X.iloc[test])
    return Judgement(p)


#: By name, in the order of tables.
JUDGES: Mapping[str, Callable[[DataFrame, Codes, int], Judgement]] = {
    OURS: judge_ours,
    **{
        name: partial(judge_rival, name)
        for name in ("catboost", "lightgbm", "xgboost", "random_forest")
    },
}


def points(data: str, draw: int, method: str, kinds: list[str]) -> list[dict[str, Any]] | None:
    """Measure a method for some kinds of noise; None where the table is not on this machine."""
    try:
        clean = Clean.of(data, draw)
    except MissingError as error:
        print(error, file=sys.stderr)
        return None
    warnings.filterwarnings("ignore", message=".*smallest class.*|.*least populated class.*")
    JUDGES[method](clean.X[:N_READY], clean.y[:N_READY], draw)
    rows = []
    for kind in kinds:
        part = flip(clean, kind)
        judgement, cost = timed(partial(JUDGES[method], part.X, part.given, draw))
        print(f"{data}, draw {draw}, {kind}, {method}: {cost.cpu:.2f} s", file=sys.stderr)
        rows.append(
            {
                "data": data,
                "draw": draw,
                "kind": kind,
                "method": method,
                "rows": len(part.given),
                "cpu": cost.cpu,
                **scores(part, judgement),
            }
        )
    return rows


def scores(part: Flipped, judgement: Judgement) -> dict[str, Any]:
    """Return how well wrong labels are ranked and counted.

    `plain` ranks by the probabilities of the labels, `adjusted` as cleanlab adjusts them, `quality`
    by ours. `joint` is the share of wrong labels by cleanlab, `error` one minus the accuracy.
    """
    from cleanlab.count import estimate_joint
    from cleanlab.rank import get_label_quality_scores

    p = judgement.p
    is_wrong = part.given != part.true

    def precision(quality: Array) -> float:
        return float(average_precision_score(is_wrong, -quality)) if is_wrong.any() else np.nan

    adjusted = get_label_quality_scores(part.given, p, adjust_pred_probs=True)
    joint = estimate_joint(part.given, p)
    wrong = judgement.wrong
    return {
        "wrong": is_wrong.mean(),
        "plain": precision(p[np.arange(len(p)), part.given]),
        "adjusted": precision(adjusted),
        "quality": "" if judgement.quality is None else precision(judgement.quality),
        "error": (p.argmax(axis=1) != part.given).mean(),
        "joint": 1.0 - np.trace(joint),
        **{
            name: "" if wrong is None else float(getattr(wrong, name))
            for name in ("share", "low", "high", "is_known")
        },
    }
