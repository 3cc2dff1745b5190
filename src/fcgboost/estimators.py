"""The classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

from fcgboost.dictionaries import Dictionary
from fcgboost.greedy.elimination import Removal
from fcgboost.greedy.schemes import Scheme
from fcgboost.losses import Loss
from fcgboost.prediction import BaseFCGBoost
from fcgboost.selection.fixed import Selection
from fcgboost.solvers import Solver
from fcgboost.stopping import Status
from fcgboost.tables.columns import left_out
from fcgboost.threads import all_or_nothing, blas
from fcgboost.training.averaging import average
from fcgboost.training.callbacks import CallbackSupport, watch_fit, with_callbacks
from fcgboost.training.dataset import check_data
from fcgboost.training.fit import Fit, prepare
from fcgboost.training.metrics import try_metrics, with_metrics
from fcgboost.training.settings import resolve
from fcgboost.training.time_limit import TimeLimit
from fcgboost.training.tuning import paths_of, tune


@dataclass(eq=False, repr=False)
class FCGBoostClassifier(CallbackSupport, BaseFCGBoost):
    """Classifier fitted by fully corrective greedy boosting.

    The model is a sum of atoms: simple functions such as ramps, Gaussian bumps or trees. Each step
    adds the atom that best matches the residual and refits the coefficients of all atoms (by
    default only once the model has grown by a fifth or by half). More than two classes are fitted
    one-versus-rest. Below, m is the number of training rows (the sum of their weights) and
    k0 = ceil(sqrt(m / ln m)).

    Parameters
    ----------
    dictionary : str or Dictionary, default="auto"
        The family of atoms. "auto" and "compact" are presets: they learn their atoms, and choose
        the ridge penalty and the number of steps on held-out rows.

        - "auto": ramps, trees and Gaussian bumps in turn, averaged over three paths up to 5,000
          rows (times classes, if more than two), or eight up to 10,000 with categorical columns.
          From 10,000 rows on, deep trees whose leaves are all refitted; for sparse X with more than
          256 columns, such as word counts, trees and linear directions.
        - "compact": ramps only, for much smaller models.
        - "gauss", "polynomial", "sigmoid", "relu": the families of the paper.
        - "linear", "step", "tree", "direction": further families.

        Objects such as `GaussDictionary(width=0.5)` or `UnionDictionary([...])` give full control.
    loss : {"squared_hinge", "hinge", "cubed_hinge", "square"} or Loss, default="squared_hinge"
        The loss to minimise. All but the hinge determine probabilities (see `link`).
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
        The number of steps. "theory" is k0. "auto" is 5 k0, or with validation data the best of
        k0, 2 k0, ..., 5 k0 (10 k0 with `removal`). A preset chooses: "auto" at most 10 k0 and 230
        (62 for deep trees), "compact" at most 5 k0. With a number a preset fits a single path.
    l2 : float or "auto", default="auto"
        The ridge penalty on the coefficients. "auto" is 1 / m; a preset chooses it on held-out
        rows.
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
    link : {"auto", "theory", "power"}, default="auto"
        How decision values f become probabilities. "theory" is the formula of the loss, (1 + f) / 2
        for the squared hinge. "power" fits a curve with two parameters to held-out rows, also for
        the hinge. "auto" is "power" in a preset with held-out rows and a loss with a formula, else
        "theory". The predicted classes do not depend on it.
    validation_fraction : float or None, default=None
        Fraction of the rows held out to choose the number of steps and, in a preset, the ridge
        penalty. None is 0.1 if `n_iter_no_change` is set without validation data. Otherwise None
        holds out nothing, except that a preset holds out rows to choose by, then refits on all.
    n_iter_no_change : int or None, default=None
        Stop after this many steps without a better validation score.
    scoring : str, callable or None, default=None
        The validation score, as in scikit-learn. None is accuracy, in a preset minus half the mean
        squared hinge. Probabilities are those of the loss: the link is fitted later. A callable
        gets an estimator with the predictions, and weights if it accepts `sample_weight`.
    tol : float, default=1e-6
        Stop once the best candidate's score falls below `tol` times that of the first step.
    class_weight : dict, "balanced" or None, default=None
        Class weights in the training loss and the link; probabilities refer to the weighted
        classes. Validation scores ignore them.
    warm_start : bool, default=False
        Whether `fit` continues the previous path (same data in any order, larger `max_iter`).
        Without validation data the first fit's link is kept.
    checkpoint : str, path or None, default=None
        File in which the path is saved during the fit. If it exists, the fit resumes from it, also
        in another process; it must belong to the same data and parameters.
    device : str, default="cpu"
        "cpu" uses NumPy, "torch" PyTorch on the CPU, and "cuda", "cuda:1", "mps" and so on PyTorch
        devices; all but "cpu" need ``fcgboost[torch]``. A GPU pays off from about 50,000 rows.
        Models agree up to rounding, which can tip the search for a learned atom and so change the
        path as another seed would. For tensors, predictions are tensors.
    n_jobs : int or None, default=None
        Number of threads that evaluate candidates. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed for drawing candidates and held-out rows.
    verbose : int, default=0
        1 shows progress on standard error; 2 also logs every step to the logger "fcgboost".
    time_limit : float or None, default=None
        Seconds for the whole fit. Paths end early (see `status_`), and rows for which there is no
        time are dropped with a warning. The model then depends on the machine.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        The categorical columns. "from_dtype": text, and what pandas, polars or Arrow declare as
        categories, enums or dictionaries. A list of names or positions, or a mask: exactly those.
        None: no column, and text is an error. Unless listed, text that consists of numbers or ISO
        dates counts as numeric, except codes with leading zeros.
    dayfirst : bool or None, default=None
        Whether 03/04/2020 means 3 April (True) or 4 March (False); None treats such text as
        categories.
    metrics : str, callable, list of str, dict or None, default=None
        Scores of the training and validation rows to record in ``trace_.metrics`` for every step:
        scikit-learn's names, a callable (recorded as "score"), or a dict of these. They do not
        affect the fit. Probabilities use the fitted link; undefined scores are NaN.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The column names, if X has string names.
    atoms_ : ndarray or CSR matrix of shape (n_atoms_, n_parameters)
        The parameters of the atoms in order of entry, in the units of the raw inputs.
    atom_coef_ : ndarray of shape (1 or n_classes, n_atoms_)
        The coefficients of the atoms.
    intercept_ : ndarray of shape (1 or n_classes,)
        The intercepts.
    n_atoms_ : int
        The number of distinct atoms in the model.
    n_iter_ : int
        The number of steps in the model.
    l2_ : float
        The ridge penalty used.
    link_ : PowerLink or None
        The fitted link to probabilities; None stands for the formula of the loss.
    trace_ : Trace
        A record of every step, including those that validation discarded, and the `metrics`.
    status_ : Status
        Why the fit ended.
    feature_importances_ : ndarray of shape (n_features_in_,)
        How much the model depends on each column of X; they sum to 1.
    model_ : Model
        The bare model: dictionary, atoms, coefficients.
    columns_ : tuple of Column
        How each column of X was read (`NumberColumn` or `CategoryColumn`); empty for sparse X.
    notes_ : tuple of str
        Remarks on columns that may not be what they seem.
    about_ : dict
        Metadata from the model file, for a loaded model; otherwise empty.

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

    dictionary: str | Dictionary = "auto"
    loss: str | Loss = "squared_hinge"
    scheme: str | Scheme = "fully_corrective"
    solver: str | Solver = "auto"
    selection: str | Selection = "auto"
    n_candidates: int | None = None
    max_iter: int | Literal["auto", "theory"] = "auto"
    l2: float | Literal["auto"] = "auto"
    fit_intercept: bool = True
    standardize: bool = True
    clip: float | Literal["auto"] | None = "auto"
    normalize: bool = False
    reselect: bool = False
    removal: Literal["backward"] | float | Removal | None = None
    link: Literal["auto", "theory", "power"] = "auto"
    validation_fraction: float | None = None
    n_iter_no_change: int | None = None
    scoring: Any = None
    tol: float = 1e-6
    class_weight: Any = None
    warm_start: bool = False
    checkpoint: Any = None
    device: str = "cpu"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    time_limit: float | None = None
    categorical_features: Any = "from_dtype"
    dayfirst: bool | None = None
    metrics: Any = None

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Counts: a row of weight 2 is like two equal rows, one of weight 0 is left out.
        X_val, y_val, sample_weight_val : like X, y and sample_weight, default=None
            Validation data to choose the number of steps and, in a preset, the ridge penalty.

        Returns
        -------
        self
        """
        # The loop's products are small: more BLAS threads only cost time. Candidates are evaluated
        # in threads of our own.
        with all_or_nothing(self) as twin, blas.one_thread():
            settings = resolve(twin, has_validation_data=X_val is not None)
            limit = None if settings.time_limit is None else TimeLimit(settings.time_limit)
            data = check_data(twin, X, y, sample_weight, (X_val, y_val, sample_weight_val))
            last = vars(twin).get("_state_") if settings.warm_start else None
            if limit is not None and not (settings.warm_start or settings.checkpoint):
                data = limit.some_rows(data)
            given = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
            fit = prepare(settings, data, last)
            try_metrics(fit)
            twin._follow(fit, {"estimator": self, **given}, limit)
            twin.trace_ = with_metrics(fit, twin.trace_, twin.link_)
        return self

    def _follow(self, fit: Fit, given: dict[str, Any], limit: TimeLimit | None = None) -> None:
        """Tune, fit the paths, and set the fitted attributes."""
        rules = self.stopping_rules()
        if limit is not None:
            limit.plan(paths_of(fit))
            rules = [*rules, limit]
        if fit.settings.chooses:
            fit = tune(fit, rules)
        fit.check_link()
        watcher, close = watch_fit(fit.recipe.max_iter, given, fit.attributes)
        first, self.status_ = fit.path(rules, watcher)
        trace = average(fit, first, rules)
        if limit is not None and limit.is_reached:
            self.status_ = Status.TIME_LIMIT
        self.__dict__.update(fit.attributes(trace, first))
        if self._readers_ is not None:
            self.notes_ = (*vars(self).get("notes_", ()), *left_out(self.columns_))
        fit.layout.forget()
        close(trace)
