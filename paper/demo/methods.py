"""The classifiers of the demo, and how each is tuned and measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn import metrics
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from threadpoolctl import threadpool_limits

from fcgboost import FCGBoostClassifier, theory_steps
from fcgboost.plotting import path_error
from paper.contest.counting import stored_numbers
from paper.demo.tasks import Array, Draw, Task
from paper.rivals import RIVALS
from paper.rivals.base import tree_numbers

DEFAULT, COMPACT, BOOSTING = "FCGBoost (default)", "FCGBoost compact", "gradient boosting"
FAMILIES = ("gauss", "polynomial", "sigmoid", "relu")
#: Titles, and the names in `RIVALS`.
COMPETITORS = {
    "SVC": "svm_rbf",
    "random forest": "random_forest",
    BOOSTING: "hist_gradient_boosting",
    "AdaBoost": "adaboost",
}
METHODS = (DEFAULT, COMPACT, *(f"FCGBoost {name}" for name in FAMILIES), *COMPETITORS)


class Result(NamedTuple):
    """A classifier on one task: one line of its table.

    Attributes
    ----------
    model : classifier
        Fitted to the first draw.
    errors : array of shape (n_draws,)
        On test rows with true labels.
    log_loss : float
        Mean over the draws; NaN without probabilities.
    size : int
        Numbers that the model of the first draw stores.
    fit_seconds, tune_seconds : float
        CPU time of the mean fit, and of the search.
    """

    name: str
    model: Any
    errors: Array
    log_loss: float
    size: int
    fit_seconds: float
    tune_seconds: float

    @property
    def standard_error(self) -> float:
        """Of the mean error over draws."""
        return float(self.errors.std(ddof=1) / np.sqrt(len(self.errors)))


def run_task(task: Task, seeds: Sequence[int], n_jobs: int = -1) -> Iterator[Result]:
    """Tune, fit and judge one method after the other."""
    jobs = (delayed(run)(name, task.draw, seeds) for name in METHODS)
    yield from Parallel(n_jobs, return_as="generator")(jobs)


def run(name: str, draw: Callable[[int], Draw], seeds: Sequence[int]) -> Result:
    """Tune a method on the first draw, and fit what was chosen to all."""
    draws = [draw(seed) for seed in seeds]
    # One thread each: times compare like with like, and methods run side by side.
    with threadpool_limits(1):
        start = time.process_time()
        chosen = tune(name, draws[0], seeds[0])
        tuned = time.process_time()
        models = [clone(chosen).fit(one.X, one.y) for one in draws]
        fitted = time.process_time()
    return Result(
        name,
        models[0],
        np.array([1.0 - m.score(d.X_test, d.y_test) for m, d in zip(models, draws, strict=True)]),
        float(np.mean([log_loss(m, d) for m, d in zip(models, draws, strict=True)])),
        count_numbers(name, models[0]),
        (fitted - tuned) / len(draws),
        tuned - start,
    )


def tune(name: str, data: Draw, seed: int) -> Any:
    """Return the classifier with the setting that five folds choose."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    if name == DEFAULT:
        return FCGBoostClassifier(n_jobs=1, random_state=seed)
    if name == COMPACT:
        return FCGBoostClassifier("compact", n_jobs=1, random_state=seed)
    if name in COMPETITORS:
        rival = RIVALS[COMPETITORS[name]]
        model = rival.classifier(random_state=seed)
        search = GridSearchCV(model, rival.folds, cv=folds, refit=False).fit(data.X, data.y)
        return model.set_params(**search.best_params_)
    family = name.removeprefix("FCGBoost ")
    ours = FCGBoostClassifier(family, cv=folds, ensemble=False, n_jobs=1, random_state=seed)
    n_steps = ours.fit(data.X, data.y).n_iter_
    return FCGBoostClassifier(family, max_iter=n_steps, n_jobs=1, random_state=seed)


def log_loss(model: Any, data: Draw) -> float:
    """Return the mean log-loss on labels as noisy as the training labels."""
    if not hasattr(model, "predict_proba"):  # SVC has none.
        return float("nan")
    return float(metrics.log_loss(data.y_same, model.predict_proba(data.X_test)))


def count_numbers(name: str, model: Any) -> int:
    """Count stored numbers: of trees, a feature and a threshold per split and a value per leaf."""
    if name not in COMPETITORS:
        return stored_numbers(model)
    if name == "SVC":
        return int(model.support_vectors_.size + model.dual_coef_.size + 1)
    if name == BOOSTING:
        return sum(tree_numbers(t.get_n_leaf_nodes()) for trees in model._predictors for t in trees)
    return sum(tree_numbers(tree.get_n_leaves()) for tree in model.estimators_)


def long_paths(results: Sequence[Result], data: Draw) -> dict[str, Array]:
    """Return the test error of the families along paths of 10 k0 steps."""
    n_steps = 10 * theory_steps(len(data.y))
    models = {r.name.removeprefix("FCGBoost "): r.model for r in results}
    return {
        name: path_error(
            clone(models[name]).set_params(max_iter=n_steps).fit(data.X, data.y),
            data.X_test,
            data.y_test,
        )
        for name in FAMILIES
    }
