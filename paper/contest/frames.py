"""Who takes part in the contest on tables, and how everybody is tuned and measured there.

All learn from the same rows, the training and the validation part together. Ours and the defaults
of rivals get them as they are. A rival that is tuned is fitted to the training part with every
choice of its grid; the lowest log-loss on the validation part wins, and is fitted again to both
parts with the number of trees found there. Nothing looks at the test part but `measure`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import make_pipeline

from fcgboost import FCGBoostClassifier
from fcgboost.evaluation import log_losses, score_predictions
from paper.base import Value
from paper.contest.counting import stored_numbers
from paper.contest.tuning import busy_seconds, shown
from paper.data.tables import LabelledFrame
from paper.protocol import Data, Deal
from paper.rivals import RIVALS
from paper.rivals.base import Params, Terms
from paper.rivals.boosters import learning_rate
from paper.rivals.coding import one_hot
from paper.rivals.frames import FRAME_RIVALS, Rows

AS_IT_IS, ONE_HOT, TUNED = "fcg", "fcg_one_hot", "_tuned"
#: Those of `score_predictions`.
SCORES = ("log_loss", "auc", "accuracy", "brier")


class Parts(NamedTuple):
    """The rows of a table: for training, to validate, both of these, and to test."""

    train: Rows
    validation: Rows
    learning: Rows
    test: Rows


class Model(NamedTuple):
    """A fitted classifier with its size, and how it came about.

    Attributes
    ----------
    classifier : classifier or pipeline that takes frames
    n_parts : int
        Trees a class, or atoms.
    n_numbers : int
        The numbers it stores, counted as in `Learned`.
    params : mapping
        What was chosen.
    n_choices : int
        Of how many.
    note : str
        What keeps the effort below that on other tables; empty if nothing does.
    """

    classifier: Any
    n_parts: int
    n_numbers: int
    params: Params
    n_choices: int = 1
    note: str = ""


Method = Callable[[Parts, Terms, int], Model]


def arrange(table: LabelledFrame, deal: Deal) -> Parts:
    """Give the parts of a table."""
    learning = np.concatenate([deal.train, deal.validation])
    numbers = (deal.train, deal.validation, learning, deal.test)
    return Parts(*(Rows(table.X.iloc[rows], table.y[rows]) for rows in numbers))


def fit_ours(is_coded: bool, parts: Parts, terms: Terms, seed: int) -> Model:
    """Fit our classifier as a user would: to the frame itself, or behind the usual coding."""
    ours = FCGBoostClassifier(n_jobs=1, random_state=seed)
    classifier = make_pipeline(one_hot(), ours) if is_coded else ours
    classifier.fit(*parts.learning)
    return Model(classifier, ours.n_atoms_, stored_numbers(ours), {"steps": ours.n_iter_})


def fit_default(name: str, parts: Parts, terms: Terms, seed: int) -> Model:
    """Fit a rival with its defaults."""
    return _finished(name, {}, parts, seed)


def fit_tuned(name: str, parts: Parts, terms: Terms, seed: int) -> Model:
    """Choose from the rival's grid by the validation part, and fit to all rows for learning."""
    rival, rate = FRAME_RIVALS[name], learning_rate(len(parts.train.y))
    plan = _plan(name, parts, terms)
    tried = []
    for i, choice in enumerate(plan.choices):
        params = {**choice, "learning_rate": rate}
        fitted = rival.fitted(params, parts.train, parts.validation, seed)
        n_trees = rival.n_trees(fitted[-1])
        # Of equal choices the first wins.
        tried.append((_loss(fitted, parts.validation), i, {**params, **rival.rounds(n_trees)}))
    model = _finished(name, min(tried)[2], parts, seed)
    return model._replace(n_choices=len(plan.choices), note=plan.note)


def _plan(name: str, parts: Parts, terms: Terms) -> Any:
    """Give the grid that the rival has in the contest on numbers."""
    contest: Any = RIVALS[name].contest
    # Frames where it expects arrays: a grid asks for no more than their size.
    given: Any = (*parts.train, *parts.validation, *parts.test)
    return contest.plan(Data(*given), terms)


def _finished(name: str, params: Params, parts: Parts, seed: int) -> Model:
    rival = FRAME_RIVALS[name]
    fitted = rival.fitted(params, parts.learning, None, seed)
    n_trees, n_numbers = rival.n_trees(fitted[-1]), rival.count(fitted[-1])
    return Model(fitted, n_trees, n_numbers, {**params, "trees": n_trees})


def _loss(classifier: Any, rows: Rows) -> float:
    is_true = rows.y[:, None] == classifier.classes_
    of_truth = np.where(is_true, classifier.predict_proba(rows.X), 0.0).sum(axis=1)
    return float(log_losses(of_truth).mean())


METHODS: Mapping[str, Method] = {
    AS_IT_IS: partial(fit_ours, False),
    ONE_HOT: partial(fit_ours, True),
    **{name: partial(fit_default, name) for name in FRAME_RIVALS},
    **{f"{name}{TUNED}": partial(fit_tuned, name) for name in FRAME_RIVALS},
}


def measure(method: str, parts: Parts, terms: Terms, seed: int) -> dict[str, Value]:
    """Fit, and give the results on the test part."""
    started = busy_seconds()
    model = METHODS[method](parts, terms, seed)
    fitted = busy_seconds()
    p = model.classifier.predict_proba(parts.test.X)
    ended = busy_seconds()
    # CatBoost gives the labels of several classes as a column.
    labels = np.ravel(model.classifier.predict(parts.test.X))
    scores = score_predictions(parts.test.y, labels, p, model.classifier.classes_)
    return {
        **{name: scores[name].value if name in scores else None for name in SCORES},
        "seconds": fitted - started,
        "seconds_predict": ended - fitted,
        "stored_numbers": model.n_numbers,
        "n_parts": model.n_parts,
        "parameters": shown(model.params),
        "n_choices": model.n_choices,
        "deviation": model.note,
    }
