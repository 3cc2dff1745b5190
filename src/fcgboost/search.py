"""Cross-validation over dictionaries, their parameters, ridge penalties and numbers of steps.

The ridge penalties of one fold and dictionary share one loop, and the dictionaries of a fold share
its layout of the data. The scores equal those of separate fits.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils.parallel import Parallel, delayed

from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import Dictionary
from fcgboost.estimators import FCGBoostClassifier
from fcgboost.greedy.elimination import Removal
from fcgboost.greedy.loop import fit_paths
from fcgboost.greedy.path import Trace
from fcgboost.greedy.schemes import Scheme
from fcgboost.losses import Loss
from fcgboost.prediction import BaseFCGBoost
from fcgboost.selection.fixed import Selection
from fcgboost.solvers import Solver
from fcgboost.stopping import theory_steps
from fcgboost.tables.inputs import views_of
from fcgboost.threads import all_or_nothing, blas, fitted_attributes
from fcgboost.training.checks import (
    Array,
    check_columns,
    check_number,
    check_word,
    make_part,
    warn_of_shares,
)
from fcgboost.training.dataset import check_data, check_labelled, hash_folds, readers_of
from fcgboost.training.fit import MemoryLayout as Layout
from fcgboost.training.fit import lay_out, make_recipe
from fcgboost.training.presets import preset_of
from fcgboost.training.progress import Progress
from fcgboost.training.resume import draw_key
from fcgboost.training.scoring import make_score
from fcgboost.training.settings import Settings, resolve

#: The rows to train on, and those to test on.
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
#: X, y and the weights.
_Labelled = tuple[Any, NDArray[Any], Array]


@dataclass(eq=False, repr=False)
class FCGBoostClassifierCV(BaseFCGBoost):
    """`FCGBoostClassifier` with cross-validated dictionary, ridge penalty and number of steps.

    Fits one path per fold, dictionary and ridge penalty, scores the numbers of steps along it, and
    refits the best setting on all rows. Ridge penalties share the passes over the candidates, so
    they cost much less than dictionaries.

    Parameters
    ----------
    dictionaries : sequence or mapping, default=("gauss", "polynomial", "sigmoid", "relu")
        Names or `Dictionary` objects, or a mapping from names to parameter grids, such as
        ``{"gauss": {"width": [0.2, 0.5, 1.0]}, "relu": {}}``. The presets "auto" and "compact"
        tune themselves and are not allowed; compare them with GridSearchCV.
    l2s : sequence of float or "auto", default=("auto",)
        Ridge penalties to try.
    cv : int, splitter or iterable, default=5
        The folds. A number gives stratified folds that depend on neither the order of the rows nor
        whether weights are written as repeated rows; there are fewer if no class has that many
        distinct rows.
    scoring : str, callable or None, default=None
        The score, as in scikit-learn; None is accuracy.
    refit : bool, default=True
        Whether to refit the best setting on all rows, which `predict` needs.
    n_jobs : int or None, default=None
        Number of parallel jobs over folds and dictionaries. The results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed for drawing folds and candidates.
    loss, scheme, solver, selection, n_candidates, max_iter, fit_intercept, standardize, \
    clip, normalize, reselect, removal, tol, class_weight, device, verbose, categorical_features, \
    dayfirst, metrics :
        As in `FCGBoostClassifier`; `link` is "theory", and metrics are those of the refit.
        max_iter="auto" chooses among k0, 2 k0, ..., 5 k0 steps (k0 from the rows of each fit), a
        number among 1, ..., max_iter.

    Attributes
    ----------
    best_estimator_ : FCGBoostClassifier
        The refitted classifier. It exists only with refit=True, as do the fitted attributes of
        `FCGBoostClassifier`.
    best_params_ : dict
        The best "dictionary", "l2" and "max_iter".
    best_score_ : float
        The mean test score of the best setting.
    best_index_ : int
        The position of the best setting in `cv_results_`.
    cv_results_ : dict of arrays
        One entry per setting and number of steps: "param_dictionary", "param_l2",
        "param_max_iter", "params", "split<i>_test_score", "mean_test_score",
        "std_test_score", "rank_test_score".
    n_splits_ : int
        The number of folds.

    Examples
    --------
    >>> from fcgboost import FCGBoostClassifierCV
    >>> from fcgboost.datasets import make_simulation
    >>> X, y = make_simulation(300, random_state=0)
    >>> search = FCGBoostClassifierCV({"gauss": {"width": [0.02, 1.0]}}, cv=3, random_state=0)
    >>> search.fit(X, y).best_params_["dictionary"]
    GaussDictionary(width=1.0)
    """

    _unfitted = "This %(name)s has no model yet. Call 'fit' with refit=True first."

    dictionaries: Any = ("gauss", "polynomial", "sigmoid", "relu")
    l2s: Sequence[float | Literal["auto"]] = ("auto",)
    cv: Any = 5
    scoring: Any = None
    refit: bool = True
    n_jobs: int | None = None
    random_state: Any = None
    loss: str | Loss = "squared_hinge"
    scheme: str | Scheme = "fully_corrective"
    solver: str | Solver = "auto"
    selection: str | Selection = "auto"
    n_candidates: int | None = None
    max_iter: int | Literal["auto"] = "auto"
    fit_intercept: bool = True
    standardize: bool = True
    clip: float | Literal["auto"] | None = "auto"
    normalize: bool = False
    reselect: bool = False
    removal: Literal["backward"] | float | Removal | None = None
    tol: float = 1e-6
    class_weight: Any = None
    device: str = "cpu"
    verbose: int = 0
    categorical_features: Any = "from_dtype"
    dayfirst: bool | None = None
    metrics: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Find the best setting and, with refit=True, fit it to all rows.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Counts, used in training and in scoring.
        groups : array-like of shape (n_samples,), default=None
            Group labels for splitters such as GroupKFold; not allowed if `cv` is a number.

        Returns
        -------
        self
        """
        with all_or_nothing(self) as twin:
            for name in fitted_attributes(twin):
                delattr(twin, name)
            seed = draw_key(self.random_state)
            prototype = self._prototype(seed)
            dictionaries, l2s = _grid(self.dictionaries, self.l2s)
            grid = [{"dictionary": part, "l2": l2} for part in dictionaries for l2 in l2s]
            classifiers = [clone(prototype).set_params(**entry, n_jobs=1) for entry in grid]
            settings = [resolve(one, has_validation_data=True) for one in classifiers]
            classes, X_all, codes, weights = check_labelled(twin, X, y, sample_weight)
            warn_of_shares(weights.sum(), int(np.count_nonzero(weights)), stacklevel=3)
            data, readers = (X_all, classes[codes], weights), readers_of(twin)
            # The cells have been read.
            plain = clone(prototype).set_params(categorical_features="from_dtype")
            folds = _folds(self.cv, data, groups, seed)
            # One job lays out each fold once. Several share no memory and need more tasks; the
            # ridge penalties of a dictionary stay together.
            size = len(grid) if effective_n_jobs(self.n_jobs) == 1 else len(l2s)
            found = Parallel(n_jobs=self.n_jobs)(
                delayed(_score_fold)(plain, readers, settings[i : i + size], data, fold)
                for fold in folds
                for i in range(0, len(grid), size)
            )
            scores = np.reshape(found, (len(folds), len(grid), -1)).swapaxes(0, 1)
            twin._report(grid, scores, theory_steps(weights.sum()))
            if self.refit:
                best = clone(prototype).set_params(**twin.best_params_, scoring=None)
                with warnings.catch_warnings():
                    # Already warned above.
                    warnings.filterwarnings("ignore", "The sample weights sum to")
                    twin.best_estimator_ = best.fit(X, y, weights)
                twin.__dict__.update(fitted_attributes(best))
        return self

    def _prototype(self, seed: int) -> FCGBoostClassifier:
        check_word("refit", self.refit, (True, False))
        if not (isinstance(self.max_iter, str) and self.max_iter == "auto"):
            check_number("max_iter ('auto' or a number)", self.max_iter, 1, whole=True)
        shared = FCGBoostClassifier().get_params(deep=False).keys() & vars(self).keys()
        return FCGBoostClassifier(**{**{n: vars(self)[n] for n in shared}, "random_state": seed})

    def _report(self, grid: list[dict[str, Any]], scores: Array, k0: int) -> None:
        """Set cv_results_ and the best setting from scores by setting, fold and steps."""
        unit = k0 if self.max_iter == "auto" else 1
        ks = [unit * (i + 1) for i in range(scores.shape[2])]
        rows = [{**entry, "max_iter": k} for entry in grid for k in ks]
        by_row = scores.transpose(0, 2, 1).reshape(len(rows), -1)
        mean = by_row.mean(axis=1)
        results: dict[str, Any] = {"params": rows}
        for name in ("dictionary", "l2", "max_iter"):
            results[f"param_{name}"] = column = np.empty(len(rows), dtype=object)
            column[:] = [row[name] for row in rows]
        results |= {f"split{i}_test_score": split for i, split in enumerate(by_row.T)}
        results["mean_test_score"], results["std_test_score"] = mean, by_row.std(axis=1)
        results["rank_test_score"] = rankdata(-mean, method="min").astype(np.int32)
        self.cv_results_, self.n_splits_ = results, by_row.shape[1]
        self.best_index_ = int(np.argmax(mean))
        self.best_params_ = rows[self.best_index_]
        self.best_score_ = float(mean[self.best_index_])


def _grid(dictionaries: Any, l2s: Any) -> tuple[list[Dictionary], list[Any]]:
    if isinstance(dictionaries, str) or not isinstance(dictionaries, Iterable):
        dictionaries = [dictionaries]
    parts = []
    for name in dictionaries:
        if preset_of(name) is not None:
            raise ValueError(
                f"dictionaries contains {name!r}, which tunes itself: use "
                f"FCGBoostClassifier({name!r}), or list families such as UnionDictionary([...])."
            )
        part = make_part("dictionary", name)
        if isinstance(dictionaries, Mapping):
            grid = ParameterGrid(dictionaries[name])
            parts += [clone(part).set_params(**parameters) for parameters in grid]
        else:
            parts.append(part)
    l2s = [l2s] if isinstance(l2s, str | float | int) else list(l2s)
    if not parts or not l2s:
        raise ValueError("dictionaries and l2s must each have at least one entry.")
    return parts, l2s


def _folds(cv: Any, data: _Labelled, groups: Any, seed: int) -> list[Fold]:
    X, y, weights = data
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        check_number("cv", cv, 2, whole=True)
        if groups is not None:
            raise ValueError(
                f"cv={cv} ignores groups: pass a splitter that keeps them together, such as "
                f"cv=sklearn.model_selection.GroupKFold({cv})."
            )
        # Rows of weight zero are in no fold.
        counted = np.flatnonzero(weights)
        folds = hash_folds(X[counted], y[counted], int(cv), seed)
        return [(counted[train], counted[test]) for train, test in folds]
    folds = list(check_cv(cv, y, classifier=True).split(X, y, groups))
    for i, (train, _) in enumerate(folds):
        missing = np.setdiff1d(y[weights > 0.0], y[train])
        if len(missing):
            raise ValueError(
                f"The training part of fold {i} has no row of the classes {missing.tolist()}: use "
                "folds with every class in every training part."
            )
    return folds


def _score_fold(
    prototype: FCGBoostClassifier,
    readers: Sequence[Any],
    settings: Sequence[Settings],
    data: _Labelled,
    fold: Fold,
) -> list[list[float]]:
    """Return the test scores of settings on one fold, by setting and number of steps."""
    (train, test), (X, y, weights) = fold, data
    scores, before = list[list[float]](), None
    layout: Layout | None = None
    with blas.one_thread():
        held_out, rows = (X[test], y[test], weights[test]), (X[train], y[train], weights[train])
        parts = check_data(clone(prototype), *rows, held_out, is_fold=True)
        parts = parts._replace(readers=readers)
        for dictionary, some in groupby(settings, lambda one: one.dictionary):
            ridges = list(some)
            # Layouts depend on the dictionary only through these.
            given = views_of(dictionary), dictionary.categories(X.shape[1]).tobytes()
            other, before = layout if given == before else None, given
            layout = check_columns(lay_out(ridges[0], parts, other))
            traces = _fit_ridges(layout, ridges)
            scores += [_score_steps(trace, ridges[0], layout) for trace in traces]
    return scores


def _fit_ridges(layout: Layout, ridges: Sequence[Settings]) -> list[Trace]:
    """Fit settings that differ in l2 only, as many at a time as fit into the memory budget."""
    design, key = layout.design, draw_key(ridges[0].random_state)
    assert isinstance(design, MemoryDesign)
    recipes = [make_recipe(one, design, key) for one in ridges]
    # The classical schemes ignore the ridge penalty: all their recipes are the same.
    distinct = list({recipe.l2: recipe for recipe in recipes}.values())
    max_iter, traces = recipes[0].max_iter, dict[float, Trace]()
    n_bytes = 8 * design.n_rows * len(layout.targets) * (max_iter + 1)
    at_once = max(1, design.memory_budget // n_bytes)
    with closing(Progress(max_iter, ridges[0].verbose)) as progress:
        for start in range(0, len(distinct), at_once):
            some = distinct[start : start + at_once]
            paths = fit_paths(design, layout.targets, some, [progress])
            traces |= {recipe.l2: path for recipe, path in zip(some, paths, strict=True)}
    return [traces[recipe.l2] for recipe in recipes]


def _score_steps(trace: Trace, settings: Settings, layout: Layout) -> list[float]:
    """Return the scores after 1, 2, ... units of steps, k0 steps each with max_iter="auto".

    A path that ended early keeps its last score.
    """
    unit, n_units = theory_steps(layout.design.total_weight), 5
    if not isinstance(settings.max_iter, str):
        unit, n_units = 1, int(settings.max_iter)
    validator, validation = layout.validator, layout.validation
    assert validator is not None
    assert validation is not None
    if len(trace) == 0:
        score = make_score(settings.scoring, False, settings.loss, layout.classes, validation)
        return [score(np.tile(trace.start, (len(validation.codes), 1)))] * n_units
    ks = [min(unit * (i + 1), len(trace)) for i in range(n_units)]
    atoms = [trace.atoms[j : j + 1] for j in range(trace[-1].n_entered)]
    steps, validator = {k: trace[k - 1] for k in ks}, validator.anew()
    scores = {k: validator([step], atoms[: step.n_entered])[0] for k, step in steps.items()}
    return [scores[k] for k in ks]
