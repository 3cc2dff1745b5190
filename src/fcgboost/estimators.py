"""The estimators."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from inspect import cleandoc
from typing import Literal, Self, TypeVar

from numpy.typing import ArrayLike

from fcgboost import threads
from fcgboost.arrays import Labels, Rows, Weights
from fcgboost.checks import ClassWeight, Metrics, RandomState, Scorer
from fcgboost.classifiers import ClassifierPredictions
from fcgboost.dictionaries import Dictionary
from fcgboost.greedy.elimination import Removal
from fcgboost.greedy.schemes import Scheme
from fcgboost.losses import Loss, Quantile
from fcgboost.names import advised, make_part, with_advice
from fcgboost.prediction import (
    OUT_OF_FOLD,
    BaseFCGBoost,
    all_or_nothing,
)
from fcgboost.regressors import RegressorPredictions
from fcgboost.selection.base import Selection
from fcgboost.solvers import Solver
from fcgboost.tables.columns import StrayText, left_out
from fcgboost.training.callbacks import CallbackSupport, with_callbacks
from fcgboost.training.dataset import check_data
from fcgboost.training.metrics import try_metrics
from fcgboost.training.run import Job, prepare
from fcgboost.training.settings import CrossValidation, resolve
from fcgboost.training.tasks import Classification, Regression, Task
from fcgboost.training.time_limit import TimeLimit

__all__ = ["FCGBoostClassifier", "FCGBoostRegressor"]


C = TypeVar("C", bound=type)


def documented(cls: C) -> C:
    """Complete the parameters and attributes in a docstring by those of `_Parameters`."""
    if cls.__doc__ is None:  # with python -OO
        return cls
    text = cleandoc(cls.__doc__)
    shared_text = cleandoc(_Parameters.__doc__ or "")
    parameters = [field.name for field in fields(cls)]
    for title in ("Parameters", "Attributes"):
        own = _entries(text, title)
        shared = _entries(shared_text, title)
        entries = own | shared | own
        names = parameters if title == "Parameters" else list(entries)
        body = "".join(entries[name] for name in names)
        text = text.replace("".join(own.values()), body)
    cls.__doc__ = text
    return cls


def _entries(text: str, title: str) -> dict[str, str]:
    """Return the entries of a section of a docstring by their names."""
    underline = "-" * len(title)
    _, section = text.split(f"{title}\n{underline}\n")
    section = re.split(r"^$\n(?=\S)", section, maxsplit=1, flags=re.MULTILINE)[0]
    entries = {}
    for entry in re.split(r"^(?=\S)", section, flags=re.MULTILINE):
        name = entry.split(" :")[0]
        entries[name] = entry.rstrip() + "\n"
    entries.pop("")
    return entries


@dataclass(eq=False, repr=False)
class _Parameters(CallbackSupport, BaseFCGBoost):
    """What the parameters and attributes of both estimators mean.

    Parameters
    ----------
    dictionary : str or Dictionary, default="auto"
        The family of atoms. "auto", "fast" and "compact" are presets: they learn their atoms, and
        choose the ridge penalty and the number of steps on held-out rows.

        - "auto": the weighted average of members, one of each kind per fold. In one kind ramps,
          trees and Gaussian bumps take turns; the other is a forest of deep trees whose leaves are
          all refitted. Sparse X has the first kind alone, or with more than 256 columns, such as
          word counts, trees and linear directions.
        - "fast": one path. A quarter of the rows chooses, then all rows are fitted; the first kind
          below 10,000 distinct rows, a forest from there.
        - "compact": one path of ramps, for much smaller models. Folds choose.
        - "gauss", "polynomial", "sigmoid", "relu": the families of the paper.
        - "linear", "step", "tree", "direction": further families.

        Objects such as `GaussDictionary(width=0.5)` or `UnionDictionary([...])` give full control.
    scheme : str or Scheme, default="fully_corrective"
        How each step updates the coefficients: "fully_corrective", which alone uses `solver` and
        `l2`, "original", "shrinkage", "truncation", "epsilon" or "rescaled".
    solver : str or Solver, default="auto"
        The solver for the coefficients: "newton", "interior_point", "admm" or "gradient_descent".
        "auto" is exact: Newton's method, or the interior-point method for the hinge. "admm" with
        l2=0 is the paper's algorithm.
    selection : {"auto", "all", "sampled", "learned"} or Selection, default="auto"
        What each step scores: all candidates, a fresh random sample, or atoms learned from the
        residual. "auto" learns unions and grown atoms such as trees; otherwise it scores all
        candidates up to ten million values (rows times candidates), and a sample beyond.
    n_candidates : int or None, default=None
        The number of candidates when all are scored; None means the number of distinct rows.
        Ignored if atoms are sampled or learned.
    max_iter : int, "auto" or "theory", default="auto"
        The number of steps. "theory" is k0. "auto" is 5 k0, or with folds or validation data the
        best of k0, 2 k0, ..., 5 k0 (10 k0 with `removal`). A preset chooses at most 10 k0 and 230
        (62 for forests), "compact" at most 5 k0. A number is fixed, and held-out rows choose the
        rest; for a single path with validation data the best step up to it is kept.
    l2 : float, "auto" or list of these, default="auto"
        The ridge penalty on the coefficients. "auto" is 1 / m; a preset chooses it on held-out
        rows. Held-out rows also choose from a list.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    standardize : bool, default=True
        Whether atoms see columns of mean 0 and variance 1. Sparse X stays sparse.
    clip : float, "auto" or None, default="auto"
        Clip inputs to this many standard deviations from the training mean of their column, in
        predictions too; None does not clip. Zeros in the training data stay zero. "auto" is 4 in a
        preset, except for deep trees and wide sparse X, and otherwise None.
    normalize : bool, default=False
        Whether to divide scores by the atom's empirical norm, as in orthogonal matching pursuit.
    reselect : bool, default=False
        Whether full correction may choose an atom of the model again, as Algorithm 1 of the paper
        literally does; the fit then ends with status "stalled".
    removal : {"backward"}, float, Removal or None, default=None
        Whether atoms may be removed again, for sparser models. "backward" removes the least useful
        atom if that undoes at most half of the step's gain; a number replaces the half. None is
        0.25 with "compact", else no removal. Requires full correction.
    cv : "auto", int, splitter, iterable or None, default="auto"
        What judges members and chooses ridge and steps. "auto": 8 folds up to 60,000 numbers
        (distinct rows times columns, times classes if more than two), 5 up to 2.5 million (400,000
        with several classes), 3 up to 16 million; beyond, and for "fast", a quarter of the rows is
        held out once. None if `dictionary` is no preset. A number: folds, of classes stratified,
        which depend neither on the order of the rows nor on whether weights are written as repeated
        rows; fewer if there are too few distinct rows to fill them. A splitter of scikit-learn, or
        an iterable of (train, test) positions. None: a single path. Validation data and
        `validation_fraction` judge instead.
    ensemble : "auto" or bool, default="auto"
        Whether members are averaged. False fits the best setting again to all rows, or with
        validation data keeps the best member: a smaller model. "auto" is False for "fast" and
        "compact", else True.
    validation_fraction : float or None, default=None
        Fraction of the rows, or of `groups`, held out to judge instead of folds, as validation data
        do. None is 0.1 if `n_iter_no_change` is set with neither validation data nor folds, else
        nothing.
    n_iter_no_change : int or None, default=None
        Stop after this many steps without a better validation score.
    tol : float, default=1e-6
        Stop once the best candidate's score falls below `tol` times that of the first step.
    warm_start : bool, default=False
        Whether `fit` continues the previous path (same data in any order, larger `max_iter`).
        That needs a single path: presets need ``cv=None``. Without validation data the first fit's
        link is kept.
    device : str, default="cpu"
        "cpu" uses NumPy, "torch" PyTorch on the CPU, and "cuda", "cuda:1", "mps" and so on PyTorch
        devices; all but "cpu" need ``fcgboost[torch]``. A GPU pays off from about 50,000 rows.
        Models agree up to rounding, which can tip the search for a learned atom and so change the
        path as another seed would. For tensors, predictions are tensors.
    n_jobs : int or None, default=None
        Number of threads of fits, predictions and explanations; -1 is all cores. None is all cores
        that the process may use: those of its affinity and its container's quota, at most
        OMP_NUM_THREADS. In a worker of joblib it is at most the worker's share: what loky says,
        else one. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed for drawing candidates, folds and held-out rows.
    verbose : int, default=0
        1 shows progress on standard error, also of explanations beyond a second; 2 also logs every
        step to the logger "fcgboost".
    time_limit : float or None, default=None
        Seconds for the whole fit. Folds are added while there is time; if not even one can be
        finished, its paths end early, and rows for which there is no time are dropped with a
        warning. The model then depends on the machine.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        The categorical columns. "from_dtype": text, and what pandas, polars or Arrow declare as
        categories, enums or dictionaries. A list of names or positions, or a mask: exactly those.
        None: no column, and text is an error. Unless listed, text that consists of numbers or ISO
        dates counts as numeric, except codes with leading zeros.
    dayfirst : bool or None, default=None
        Whether 03/04/2020 means 3 April (True) or 4 March (False). None reads such dates if one
        order alone fits the whole column, and else treats them as categories.
    stray_text : {"error", "missing"}, default="error"
        What a text such as "unknown" is among numbers or dates, in fits (if at least 20 values and
        95 % of the column are numbers, or dates) and in predictions: an error, or a missing value.
    keep_columns : list of str or None, default=None
        Columns of a frame that are used even if they look like row numbers or ids, which are left
        out otherwise: whole numbers that count the rows (unless `cv` is a splitter or an iterable,
        which may follow them), and text of which no value occurs twice. Arrays keep all columns.
    metrics : str, callable, list of str, dict or None, default=None
        Scores of the training and held-out rows of each member to record for every step, in
        ``trace_.metrics`` or ``members_[i].trace.metrics``:
        scikit-learn's names, a callable (recorded as "score"), or a dict of these. They do not
        affect the fit. Probabilities use the fitted link; undefined scores are NaN.

    Attributes
    ----------
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The column names, if X has string names.
    members_ : tuple of Member
        The paths whose weighted decision values the model adds up; one without an ensemble. Each
        has `model`, `trace`, `n_iter`, `l2`, `status`, `weight` and `inputs`.
    member_weights_ : ndarray of shape (n_members,)
        The weights of the members.
    cv_results_ : dict of ndarray
        The scores of kinds of members ("param_dictionary"), ridges ("param_l2") and steps
        ("param_max_iter", the mean over folds): "split<i>_test_score", "mean_test_score",
        "std_test_score", "rank_test_score". Not for a single path.
    atoms_ : ndarray or CSR matrix of shape (n_atoms_, n_parameters)
        The parameters of the atoms in order of entry, in the units of the raw inputs. This and
        `atom_coef_`, `intercept_`, `l2_`, `trace_`, `status_` and `model_` belong to one path: with
        several members they raise an AttributeError that says where the members have them.
    atom_coef_ : ndarray of shape (1 or n_classes, n_atoms_)
        The coefficients of the atoms.
    intercept_ : ndarray of shape (1 or n_classes,)
        The intercepts.
    n_atoms_ : int
        The number of distinct atoms in the model, summed over members.
    n_iter_ : int
        The number of steps in the model, or in its longest member.
    l2_ : float
        The ridge penalty used.
    trace_ : Trace
        A record of every step, including those that held-out rows discarded, and the `metrics`.
    status_ : Status
        Why the path ended.
    feature_importances_ : ndarray of shape (n_features_in_,)
        How much the model depends on each column of X; they sum to 1.
    model_ : Model
        The bare model of the path: dictionary, atoms, coefficients.
    columns_ : tuple of Column
        How each column of X was read (`NumberColumn` or `CategoryColumn`), and encoded for the
        first member that uses it; empty for sparse X.
    findings_ : tuple of Finding
        What may not be what it seems: columns that are left out, that alone predict the label or
        hold one value, rows that differ in the label alone, labels that look alike. A `Finding` has
        a `kind`, `columns`, `rows` (some, from 0) and a `text`.
    notes_ : tuple of str
        The same in sentences, which count rows from 1.
    about_ : dict
        Metadata from the model file, for a loaded model; otherwise empty.
    """

    dictionary: str | Dictionary = "auto"
    loss: str | Loss = "square"
    scheme: str | Scheme = "fully_corrective"
    solver: str | Solver = "auto"
    selection: str | Selection = "auto"
    n_candidates: int | None = None
    max_iter: int | Literal["auto", "theory"] = "auto"
    l2: float | Literal["auto"] | Sequence[float | Literal["auto"]] = "auto"
    fit_intercept: bool = True
    standardize: bool = True
    clip: float | Literal["auto"] | None = "auto"
    normalize: bool = False
    reselect: bool = False
    removal: Literal["backward"] | float | Removal | None = None
    cv: CrossValidation = "auto"
    ensemble: bool | Literal["auto"] = "auto"
    validation_fraction: float | None = None
    n_iter_no_change: int | None = None
    scoring: str | Scorer | None = None
    tol: float = 1e-6
    warm_start: bool = False
    device: str = "cpu"
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: int = 0
    time_limit: float | None = None
    categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype"
    dayfirst: bool | None = None
    stray_text: StrayText = "error"
    keep_columns: Sequence[str] | None = None
    metrics: Metrics = None

    def _fit(
        self,
        X: Rows,
        y: Labels,
        sample_weight: Weights,
        *,
        groups: ArrayLike | None,
        validation: tuple[Rows, Labels | None, Weights],
        trusted: ArrayLike | None = None,
    ) -> Self:
        with all_or_nothing(self) as twin:
            settings = resolve(twin, has_validation_data=validation[0] is not None)
            limit = None if settings.time_limit is None else TimeLimit(settings.time_limit)
            # The loop's products are small: threads of the BLAS would only cost time.
            with threads.shared.ours(settings.n_threads):
                data = check_data(
                    twin,
                    settings.task,
                    X,
                    y,
                    sample_weight,
                    validation,
                )
                last = vars(twin).get("_state_") if self.warm_start else None
                if limit is not None and not self.warm_start:
                    data = limit.affordable_rows(data)
                job = prepare(
                    settings,
                    data,
                    last,
                    X,
                    y,
                    groups,
                    trusted,
                )
                try_metrics(settings, data)
                # Scoring callbacks hand all metadata to scorers, which know no groups.
                metadata = {"sample_weight": sample_weight}
                arguments = {"estimator": self, "X": X, "y": y, "metadata": metadata}
                twin._follow(job, arguments, limit)
        return self

    def _follow(
        self, job: Job, arguments: dict[str, object], limit: TimeLimit | None = None
    ) -> None:
        """Run a fit and set the fitted attributes."""
        for name in ("cv_results_", *OUT_OF_FOLD):
            self.__dict__.pop(name, None)
        self.__dict__.update(job.run(self.stopping_rules(), arguments, limit))
        self.findings_ = (*vars(self).get("findings_", ()), *job.findings)
        if self._table_columns_ is not None:
            are_said = {finding.columns for finding in self.findings_ if finding.kind == "text"}
            others = left_out(self.columns_)
            self.findings_ += tuple(f for f in others if f.columns not in are_said)


@with_advice
@documented
@dataclass(eq=False, repr=False)
class FCGBoostClassifier(_Parameters, ClassifierPredictions):
    """Classifier fitted by fully corrective greedy boosting.

    The model is a sum of atoms: simple functions such as ramps, Gaussian bumps or trees. Each step
    adds the atom that best matches the residual and refits the coefficients of all atoms (by
    default only once the model has grown by a fifth or by half). More than two classes are fitted
    one-versus-rest. Below, m is the number of training rows (the sum of their weights) and
    k0 = ceil(sqrt(m / ln m)).

    Parameters
    ----------
    loss : {"squared_hinge", "hinge", "cubed_hinge", "square"} or Loss, default="squared_hinge"
        The loss to minimise. All but the hinge determine probabilities (see `link`).
    link : {"auto", "theory", "power"}, default="auto"
        How decision values f become probabilities. "theory" is the formula of the loss, (1 + f) / 2
        for the squared hinge. "power" fits a curve with two parameters to all held-out rows, also
        for the hinge. "auto" is "power" in a preset with held-out rows and a loss with a formula,
        else "theory". The predicted classes do not depend on it.
    label_noise : None, "estimate" or array-like of shape (n_classes, n_classes), default=None
        Which labels are wrong how often: the share of the rows of each true class (rows of the
        matrix, which sum to 1) that have each label (columns), in the order of `classes_`.
        Probabilities and predicted classes then refer to the true classes: for two classes
        decision values move, for more `predict` takes the most probable class. "estimate" counts
        held-out rows (see `audit`), and corrects nothing where they cannot tell, with a note.
        Scores on labels that are wrong as often refer to these, and fall. Fits do not depend on it.
    scoring : str, callable or None, default=None
        The score of held-out rows, as in scikit-learn. None is accuracy, in presets less half the
        mean squared hinge. Probabilities are those of the loss: the link is fitted later. A
        callable gets an estimator with the predictions, and weights if it accepts `sample_weight`.
    class_weight : dict, "balanced" or None, default=None
        Class weights in the training loss and the link; probabilities refer to the weighted
        classes. Validation scores ignore them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    oof_decision_function_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Decision values of the training rows, as given, by members that have not seen them. NaN for
        rows that no fold holds out, the mean for rows held out several times. With folds only.
    oof_score_ : float
        `scoring` (None is accuracy) of the out-of-fold values, with sample weights. The same rows
        chose ridge, steps and weights: the accuracy of 200 rows was up to 6.5 points too high, of
        1,000 up to 1.8, of 5,000 up to 0.6 (`python -m benchmarks.study_scores`). With folds only.
    label_quality_ : ndarray of shape (n_samples,)
        The probability that each label, as given, is the true one, by members that have not seen
        the row and the estimated rates of wrong labels (see `audit`); class weights are undone. NaN
        for rows that no fold holds out, or with a label that is no class. With folds only.
    label_noise_ : ndarray of shape (n_classes, n_classes), or None
        The matrix that predictions are corrected by (see `label_noise`).
    link_ : PowerLink or None
        The fitted link to probabilities; None stands for the formula of the loss.

    References
    ----------
    J. Zeng, M. Zhang and S.-B. Lin, "Fully-Corrective Gradient Boosting with Squared Hinge:
    Fast Learning Rates and Early Stopping", arXiv:2004.00179.

    Examples
    --------
    >>> from fcgboost import FCGBoostClassifier
    >>> from fcgboost.datasets import make_simulation
    >>> X, y = make_simulation(1000, noise="uniform", level=0.3, random_state=0)
    >>> X_test, y_test = make_simulation(1000, noise=None, random_state=1)
    >>> clf = FCGBoostClassifier(random_state=0).fit(X, y)
    >>> bool(clf.score(X_test, y_test) > 0.93)
    True
    >>> paper = FCGBoostClassifier("relu", max_iter="theory", random_state=0).fit(X, y)
    >>> paper.n_atoms_
    13
    """

    # Requested unless said otherwise, as scikit-learn's splitters do.
    __metadata_request__fit = {"groups": True, "trusted": True}  # noqa: RUF012 - not a field

    loss: str | Loss = "squared_hinge"
    link: Literal["auto", "theory", "power"] = "auto"
    label_noise: Literal["estimate"] | ArrayLike | None = None
    class_weight: ClassWeight = None

    @advised
    @with_callbacks
    def fit(
        self,
        X: Rows,
        y: Labels,
        sample_weight: Weights = None,
        *,
        groups: ArrayLike | None = None,
        trusted: ArrayLike | None = None,
        X_val: Rows | None = None,
        y_val: Labels | None = None,
        sample_weight_val: Weights = None,
    ) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Counts: a row of weight 2 is like two equal rows, one of weight 0 is left out.
        groups : array-like of shape (n_samples,), default=None
            Rows of a group are held out together, by folds or `validation_fraction`; an iterable
            of splits may divide them. Where nothing is held out, groups are an error.
        trusted : array-like of bool of shape (n_samples,), default=None
            Rows whose labels are certain: `label_quality_` is 1, and rates of wrong labels count
            them as right. The model does not depend on it. Without folds it is an error.
        X_val, y_val, sample_weight_val : like X, y and sample_weight, default=None
            Validation data, which judge members instead of folds.

        Returns
        -------
        self
        """
        return self._fit(
            X,
            y,
            sample_weight,
            groups=groups,
            trusted=trusted,
            validation=(X_val, y_val, sample_weight_val),
        )

    def _make_task(self) -> Task:
        return Classification(make_part("loss", self.loss), self.class_weight)


@with_advice
@documented
@dataclass(eq=False, repr=False)
class FCGBoostRegressor(_Parameters, RegressorPredictions):
    """Regressor fitted by fully corrective greedy boosting.

    The model is a sum of atoms: simple functions such as ramps, Gaussian bumps or trees. Each step
    adds the atom that best matches the residual and refits the coefficients of all atoms (by
    default only once the model has grown by a fifth or by half). Below, m is the number of training
    rows (the sum of their weights) and k0 = ceil(sqrt(m / ln m)). Losses and ridge penalties are
    those of y in standard units: mean 0 and standard deviation 1, with losses that outliers change
    little the median and the median deviation, with "poisson" y itself. The model is in units of y.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        The loss to minimise: "squared_error"; "absolute_error", "quantile" or "huber", for which
        outliers count less; or "poisson" for counts and rates, whose logarithm is then the sum of
        the atoms. An object such as `Huber(threshold=0.5)` is in standard units, too.
    quantile : float, default=0.5
        The quantile to predict with loss="quantile".
    scoring : str, callable or None, default=None
        The score of held-out rows, as in scikit-learn. None is minus the mean loss, of y in
        standard units. A callable gets an estimator with the predictions, and weights if it accepts
        `sample_weight`.

    Attributes
    ----------
    oof_prediction_ : ndarray of shape (n_samples,)
        Predictions for the training rows, as given, by members that have not seen them. NaN for
        rows that no fold holds out, the mean for rows held out several times. With folds only.
    oof_score_ : float
        `scoring` (None is R^2) of the out-of-fold predictions, with sample weights. The same rows
        chose ridge, steps and weights, so it is a little too high. With folds only.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from fcgboost import FCGBoostRegressor
    >>> X, y = make_friedman1(400, random_state=0)
    >>> X_test, y_test = make_friedman1(400, random_state=1)
    >>> model = FCGBoostRegressor("fast", random_state=0).fit(X, y)
    >>> bool(model.score(X_test, y_test) > 0.95)
    True
    """

    # Requested unless said otherwise, as scikit-learn's splitters do.
    __metadata_request__fit = {"groups": True, "trusted": True}  # noqa: RUF012 - not a field

    loss: str | Loss = "squared_error"
    quantile: float = 0.5

    @advised
    @with_callbacks
    def fit(
        self,
        X: Rows,
        y: Labels,
        sample_weight: Weights = None,
        *,
        groups: ArrayLike | None = None,
        trusted: ArrayLike | None = None,
        X_val: Rows | None = None,
        y_val: Labels | None = None,
        sample_weight_val: Weights = None,
    ) -> Self:
        """Fit the regressor.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Finite numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Counts: a row of weight 2 is like two equal rows, one of weight 0 is left out.
        groups : array-like of shape (n_samples,), default=None
            Rows of a group are held out together, by folds or `validation_fraction`; an iterable
            of splits may divide them. Where nothing is held out, groups are an error.
        trusted : array-like of bool of shape (n_samples,), default=None
            Rows whose numbers are certain, so that `audit` does not suspect them. The model does
            not depend on it. Without folds it is an error.
        X_val, y_val, sample_weight_val : like X, y and sample_weight, default=None
            Validation data, which judge members instead of folds.

        Returns
        -------
        self
        """
        return self._fit(
            X,
            y,
            sample_weight,
            groups=groups,
            trusted=trusted,
            validation=(X_val, y_val, sample_weight_val),
        )

    def _make_task(self) -> Task:
        loss = make_part(self._losses, self.loss)
        if self.loss == "quantile":
            loss = Quantile(self.quantile)
        return Regression(loss, bool(self.fit_intercept))
