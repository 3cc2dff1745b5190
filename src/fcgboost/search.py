"""Model choice: dictionary, its parameters, ridge and number of steps in one cross-validation.

A path of fits holds every number of steps, so a setting costs one path per fold, never five.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from fcgboost.data import Data, check_labelled, hash_folds
from fcgboost.estimators import FCGBoostClassifier
from fcgboost.fitting import all_or_nothing, check_parameters
from fcgboost.losses import Loss
from fcgboost.prediction import BaseFCGBoost, scorer_options
from fcgboost.schemes import Scheme
from fcgboost.selection import Selection
from fcgboost.solvers import Solver
from fcgboost.stopping import theory_steps
from fcgboost.validation import (
    Array,
    check_number,
    check_word,
    make_part,
)

Folds = list[tuple[NDArray[np.intp], NDArray[np.intp]]]


#: The attributes of the refitted classifier that the search shows as its own.
_SHOWN = (
    *("classes_", "model_", "trace_", "n_iter_", "status_"),
    *("_loss_", "_sample_", "_deviation_"),
)


class FCGBoostClassifierCV(BaseFCGBoost):
    """Fully corrective greedy boosting with cross-validated dictionary, ridge and steps.

    Fits exactly folds x dictionaries x l2s paths, scores every number of steps along them, and
    fits one more path with the best setting on all data.

    Parameters
    ----------
    dictionaries : sequence or mapping, default=("gauss", "polynomial", "sigmoid", "relu")
        Names or `Dictionary` objects; or a mapping from names to parameter grids, such as
        ``{"gauss": {"width": [0.2, 0.5, 1.0]}, "relu": {}}``.
    l2s : sequence of float or "auto", default=("auto",)
    cv : int, splitter or iterable, default=5
        A number of folds means stratified folds drawn by the rows' hashes, so that a weight
        equals a repetition and the order of the rows does not matter; fewer folds where no
        class has that many distinct rows.
    scoring : str, callable or None, default=None
        As in scikit-learn; None is accuracy.
    refit : bool, default=True
        Whether to fit the best setting on all data. Without it there is no `predict`.
    n_jobs : int or None, default=None
        Paths fitted at the same time.
    random_state : int, RandomState or None, default=None
    loss, scheme, solver, selection, n_candidates, max_iter, fit_intercept, standardize, \
    normalize, reselect, tol, class_weight, device, verbose :
        As in `FCGBoostClassifier`. With max_iter="auto" the steps are chosen among the
        multiples k0, ..., 5 k0, k0 that of the fold's training part and, for the refit, that
        of all data; with a number, among 1, ..., max_iter.

    Attributes
    ----------
    best_estimator_ : FCGBoostClassifier
        Only with refit=True, as are all the fitted attributes of `FCGBoostClassifier`.
    best_params_ : dict
        The best "dictionary", "l2" and "max_iter".
    best_score_ : float
    best_index_ : int
    cv_results_ : dict of arrays
        One entry per setting and number of steps: "param_dictionary", "param_l2",
        "param_max_iter", "params", "split<i>_test_score", "mean_test_score",
        "std_test_score", "rank_test_score".
    n_splits_ : int

    Examples
    --------
    >>> from fcgboost import FCGBoostClassifierCV
    >>> from fcgboost.datasets import make_simulation
    >>> X, y = make_simulation(300, random_state=0)
    >>> search = FCGBoostClassifierCV({"gauss": {"width": [0.02, 1.0]}}, cv=3, random_state=0)
    >>> search.fit(X, y).best_params_["dictionary"]
    GaussDictionary(width=1.0)
    """

    _unfitted = "This %(name)s has no model yet: call 'fit' first, with refit=True."

    def __init__(
        self,
        dictionaries: Any = ("gauss", "polynomial", "sigmoid", "relu"),
        l2s: Sequence[float | Literal["auto"]] = ("auto",),
        cv: Any = 5,
        scoring: Any = None,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        loss: str | Loss = "squared_hinge",
        scheme: str | Scheme = "fully_corrective",
        solver: str | Solver = "auto",
        selection: str | Selection = "auto",
        n_candidates: int | None = None,
        max_iter: int | Literal["auto"] = "auto",
        fit_intercept: bool = True,
        standardize: bool = True,
        normalize: bool = False,
        reselect: bool = False,
        tol: float = 1e-6,
        class_weight: Any = None,
        device: str = "cpu",
        verbose: int = 0,
    ) -> None:
        self.dictionaries = dictionaries
        self.l2s = l2s
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.loss = loss
        self.scheme = scheme
        self.solver = solver
        self.selection = selection
        self.n_candidates = n_candidates
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.normalize = normalize
        self.reselect = reselect
        self.tol = tol
        self.class_weight = class_weight
        self.device = device
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose a setting and fit it.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Counts, in training and in scoring.
        groups : array-like of shape (n_samples,), default=None
            For splitters such as GroupKFold; an error where cv is a number.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            prototype = self._prototype(seed)
            settings = self._settings(prototype)
            classes, data = check_labelled(self, X, y, sample_weight)
            labels = classes[data.codes]
            folds = _folds(self.cv, data, labels, groups, seed)
            scores = Parallel(n_jobs=self.n_jobs)(
                delayed(_score_path)(
                    clone(prototype).set_params(**setting, n_jobs=1), data, labels, fold
                )
                for setting in settings
                for fold in folds
            )
            k0 = theory_steps(data.weights.sum())
            self._report(settings, np.reshape(scores, (len(settings), len(folds), -1)), k0)
            for name in ("best_estimator_", *_SHOWN):
                self.__dict__.pop(name, None)
            if self.refit:
                best = clone(prototype).set_params(**self.best_params_, scoring=None)
                best.fit(X, y, data.weights)
                self.best_estimator_ = best
                self.__dict__.update({name: getattr(best, name) for name in _SHOWN})
        return self

    def _prototype(self, seed: int) -> FCGBoostClassifier:
        shared = set(FCGBoostClassifier().get_params(deep=False)) & set(vars(self))
        parameters = {name: getattr(self, name) for name in shared}
        return FCGBoostClassifier(**{**parameters, "random_state": seed})

    def _settings(self, prototype: FCGBoostClassifier) -> list[dict[str, Any]]:
        """Check all parameters and give every pair of a dictionary and a ridge."""
        check_word("refit", self.refit, (True, False))
        if not (isinstance(self.max_iter, str) and self.max_iter == "auto"):
            check_number("max_iter ('auto' or a number)", self.max_iter, 1, whole=True)
        settings = _settings(self.dictionaries, self.l2s)
        for setting in settings:
            check_parameters(clone(prototype).set_params(**setting), has_validation_data=True)
        return settings

    def _report(self, settings: list[dict[str, Any]], scores: Array, k0: int) -> None:
        """Write cv_results_ and the best setting from scores (setting, fold, number of steps)."""
        unit = k0 if self.max_iter == "auto" else 1
        ks = [unit * (i + 1) for i in range(scores.shape[2])]
        rows = [{**setting, "max_iter": k} for setting in settings for k in ks]
        by_row = scores.transpose(0, 2, 1).reshape(len(rows), -1)
        mean = by_row.mean(axis=1)
        results: dict[str, Any] = {"params": rows}
        for name in ("dictionary", "l2", "max_iter"):
            column = np.empty(len(rows), dtype=object)
            column[:] = [row[name] for row in rows]
            results[f"param_{name}"] = column
        for i, split in enumerate(by_row.T):
            results[f"split{i}_test_score"] = split
        results["mean_test_score"] = mean
        results["std_test_score"] = by_row.std(axis=1)
        results["rank_test_score"] = rankdata(-mean, method="min").astype(np.int32)
        self.cv_results_ = results
        self.n_splits_ = by_row.shape[1]
        self.best_index_ = int(np.argmax(mean))
        self.best_params_ = rows[self.best_index_]
        self.best_score_ = float(mean[self.best_index_])


def _settings(dictionaries: Any, l2s: Any) -> list[dict[str, Any]]:
    """Give every pair of a dictionary and a ridge."""
    if isinstance(dictionaries, Mapping):
        parts = [
            clone(make_part("dictionary", name)).set_params(**parameters)
            for name, grid in dictionaries.items()
            for parameters in ParameterGrid(grid)
        ]
    else:
        if isinstance(dictionaries, str) or not isinstance(dictionaries, Iterable):
            dictionaries = [dictionaries]
        parts = [make_part("dictionary", value) for value in dictionaries]
    l2s = [l2s] if isinstance(l2s, str | float | int) else list(l2s)
    if not parts or not l2s:
        raise ValueError("dictionaries and l2s must each name at least one choice.")
    return [{"dictionary": part, "l2": l2} for part in parts for l2 in l2s]


def _folds(cv: Any, data: Data, y: NDArray[Any], groups: Any, seed: int) -> Folds:
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        check_number("cv", cv, 2, whole=True)
        if groups is not None:
            raise ValueError(
                f"cv={cv} would put rows of one group on both sides: pass a splitter that keeps "
                f"groups together, such as cv=sklearn.model_selection.GroupKFold({cv})."
            )
        # Rows of weight zero are in no fold, as if they were not there.
        counted = np.flatnonzero(data.weights)
        folds = hash_folds(data.X[counted], y[counted], int(cv), seed)
        return [(counted[train], counted[test]) for train, test in folds]
    folds = list(check_cv(cv, y, classifier=True).split(data.X, y, groups))
    for i, (train, _) in enumerate(folds):
        missing = np.setdiff1d(y[data.weights > 0.0], y[train])
        if len(missing):
            raise ValueError(
                f"The training part of fold {i} has no row of {missing.tolist()}: "
                "use folds that keep every class in every training part."
            )
    return folds


def _score_path(
    estimator: FCGBoostClassifier,
    data: Data,
    y: NDArray[Any],
    fold: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> list[float]:
    """Fit one path and give the scores on the fold's test part after 1, 2, ... units of steps.

    A unit is one step, or k0 steps with max_iter="auto". A path that ended early keeps its
    last score.
    """
    (train, test), weights = fold, data.weights
    X_test, y_test, weights_test = data.X[test], y[test], weights[test]
    validation = {"X_val": X_test, "y_val": y_test, "sample_weight_val": weights_test}
    estimator.fit(data.X[train], y[train], weights[train], **validation)
    scores = estimator.trace_.column("validation_score")
    if len(scores) == 0:
        scorer = check_scoring(estimator, scoring=estimator.scoring)
        scores = np.array(
            [scorer(estimator, X_test, y_test, **scorer_options(scorer, weights_test))]
        )
    is_auto = estimator.max_iter == "auto"
    unit, n_units = (estimator._k0_, 5) if is_auto else (1, int(estimator.max_iter))
    return [float(scores[min(unit * (i + 1), len(scores)) - 1]) for i in range(n_units)]
