"""The classifier: the border between a user's data and the loop."""

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
    """Sparse classifier by fully corrective greedy boosting.

    In every step the atom of a dictionary that is most correlated with the residual enters the
    model, and the coefficients of all atoms are fitted again (in the default whenever the model has
    grown by a fifth or a half). Several classes are fitted one against the rest, with atoms of
    their own.

    Parameters
    ----------
    dictionary : str or Dictionary, default="auto"
        Which atoms exist. Two presets learn atoms, and choose the ridge and the number of steps on
        validation data of their own or given to fit: "auto" of several families in turn, the
        average of three paths up to 5,000 rows (times classes, if more than two), of eight up to
        10,000 where some columns are categories, from 10,000 rows on deep trees whose leaves are
        corrected, and of sparse rows with more than 256 columns, such as counts of words, the
        better of a tree and a linear direction over all columns in every step; "compact" for much
        smaller models. "gauss", "polynomial", "sigmoid" and "relu" are the paper's families;
        "linear", "step", "tree" and "direction" are others. Objects such as
        `GaussDictionary(width=0.5)` or `UnionDictionary([...])` give full control.
    loss : {"squared_hinge", "hinge", "cubed_hinge", "square"} or Loss, default="squared_hinge"
        What is minimised. All but the hinge determine probabilities (see `link`).
    scheme : {"fully_corrective", "original", "shrinkage", "truncation", "epsilon", "rescaled"} \
            or Scheme, default="fully_corrective"
        How coefficients move in a step. Only full correction uses `solver` and `l2`.
    solver : {"auto", "newton", "admm", "gradient_descent", "interior_point"} or Solver, \
            default="auto"
        What solves the fully corrective problem. "auto" is exact: Newton's method, for the
        hinge an interior point method. "admm" with l2=0 is the paper to the letter.
    selection : {"auto", "all", "sampled", "learned"} or Selection, default="auto"
        Score all candidates in every step, or a fresh sample per step, or improve the best of a
        sample on its own parameters. "auto" samples where m x n exceeds ten million, and learns
        where families take turns or atoms are grown.
    n_candidates : int or None, default=None
        The size n of a dictionary that is scored in full; None is the number of distinct rows. It
        has no effect where atoms are sampled or learned.
    max_iter : int, "auto" or "theory", default="auto"
        The number of steps. "theory" is k0 = ceil(sqrt(m / ln m)); "auto" is 5 k0, and with
        validation data the best of k0, 2 k0, ..., 5 k0, or 10 k0 where atoms may leave. A preset
        chooses, "auto" at most 10 k0, and 230, or 62 trees of many rows, "compact" at most 5 k0; a
        number asks for one path, no average.
    l2 : float or "auto", default="auto"
        The ridge lambda on the coefficients; "auto" is 1 / m, and in a preset what does best on
        validation data.
    fit_intercept : bool, default=True
        Whether a constant, without ridge, is in the model from the start.
    standardize : bool, default=True
        Whether atoms see columns of mean 0 and variance 1. Sparse X is never centred.
    clip : float, "auto" or None, default="auto"
        Inputs count as at most so many deviations from the mean of their column in the training
        data, here and in predictions; None is as they are. Zero stays zero in a column that has
        it. "auto" is 4 in a preset of fewer than 10,000 rows, else None.
    normalize : bool, default=False
        Whether scores are divided by the atom's empirical norm (orthogonal matching pursuit).
    reselect : bool, default=False
        Whether full correction may choose an active atom again, as Algorithm 1 of the paper
        to the letter does; the fit then ends with the status "stalled".
    removal : {"backward"}, float, Removal or None, default=None
        Whether atoms may leave again, for sparser models: "backward" lets the one that is missed
        least leave if what it gave is at most half of what the step has gained; a number is another
        share than a half. None is a quarter with "compact", else none. Needs full correction.
    link : {"auto", "theory", "power"}, default="auto"
        How decision values f become probabilities. "theory" is the formula of the loss, (1 + f) / 2
        for the squared hinge, without a fit. "power" fits a curve of two parameters, which is
        certain only up to rounding, to rows held out: those that choose the ridge and the steps.
        "auto" is "power" in a preset where rows are held out and the loss has a formula, else
        "theory". The predicted classes are the same; with "power" the hinge has probabilities, too.
    validation_fraction : float or None, default=None
        Share of the rows set aside to choose the number of steps, and in a preset the ridge. None
        is none, but 0.1 where n_iter_no_change is set and fit gets no validation data.
    n_iter_no_change : int or None, default=None
        Steps without a better validation score after which the fit ends.
    scoring : str, callable or None, default=None
        The validation score, as in scikit-learn; None is accuracy, in a preset less half the
        squared hinge. A function is called with an object that predicts for the validation data; it
        gets weights if it takes them. Probabilities there are those of the loss: a link is fitted
        to the model that was chosen.
    tol : float, default=1e-6
        A best score below tol times the first one ends the fit.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the training loss, and where a link is fitted: probabilities are
        those of classes so weighted. Validation scores do not use them.
    warm_start : bool, default=False
        Whether fit goes on from the last path (same data in any order, larger max_iter). Without
        validation data the link stays that of the first fit.
    checkpoint : str, path or None, default=None
        A file that keeps the path while it is fitted. If it exists, the fit goes on from it, also
        in another process; a file of other data or parameters is refused by name.
    device : str, default="cpu"
        Where to compute: "cpu" is NumPy; "torch" is torch on the processor; "cuda", "cuda:1",
        "mps" and the like are torch devices, with the extra ``fcgboost[torch]``; a GPU is quicker
        from about 50,000 rows on. The model is the same up to rounding, which where atoms are
        refined may tip a search: the path is then another one from there on, as with another
        seed. Tensors are taken, and predictions for tensors are tensors.
    n_jobs : int or None, default=None
        Threads that evaluate candidates. The model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds the choice of candidates.
    verbose : int, default=0
        1 shows progress on standard error; 2 also logs every step to the logger "fcgboost".
    time_limit : float or None, default=None
        Seconds that the whole fit may take. Paths end early, each with its part of the time that
        is left, and `status_` says so; rows that there is no time for are left out with a warning.
        The result then depends on the machine. Without a limit nothing depends on the clock.
    categorical_features : "from_dtype", array-like of str, int or bool, or None, \
            default="from_dtype"
        Which columns are categories. "from_dtype": columns of text, and those that pandas, polars
        or Arrow call categories, enums or dictionaries, whatever their levels are; numbers and
        truth values are numbers. A list of names or positions, or a mask: those and no others. None
        is none; text is then an error. Before that, text that is wholly numbers or ISO dates counts
        as such, unless leading zeros say that they are codes; a column that is listed stays a
        category.
    dayfirst : bool or None, default=None
        Whether texts such as 03/04/2020 are the 3rd of April, or the 4th of March; None leaves them
        categories.
    metrics : str, callable, list of str, dict or None, default=None
        Scores of training and validation rows that ``trace_.metrics`` records for every step: names
        of scikit-learn, a function, called "score", or a dict from names to names or functions, as
        `scoring` of its `cross_validate`. They choose nothing, as `scoring` here does.
        Probabilities are those of the fitted link; NaN is a score that is not defined.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had string column names.
    atoms_ : ndarray or CSR matrix of shape (n_atoms_, n_parameters)
        The atoms' parameters in order of entry, in the units of the raw inputs.
    atom_coef_ : ndarray of shape (1 or n_classes, n_atoms_)
    intercept_ : ndarray of shape (1 or n_classes,)
    n_atoms_ : int
    n_iter_ : int
        The number of steps in the model.
    l2_ : float
        The ridge that was used.
    link_ : PowerLink or None
        What turns decision values into probabilities; None is the formula of the loss.
    trace_ : Trace
        A record of every step, also of those that validation did not keep, and the `metrics`.
    status_ : Status
        How the fit ended.
    feature_importances_ : ndarray of shape (n_features_in_,)
    model_ : Model
        The bare model: dictionary, atoms, coefficients.
    columns_ : tuple of Column
        What became of every column of X: a `NumberColumn` or `CategoryColumn` with its outputs;
        empty if X was sparse.
    notes_ : tuple of str
        Sentences for people on columns that are not what they seem to be.
    about_ : dict
        What travelled with the model file it was loaded from; else empty.

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
            Counts: a weight of 2 is a row given twice, 0 a row left out.
        X_val, y_val, sample_weight_val : like X, y and sample_weight, default=None
            Data that chooses the number of steps, and in a preset the ridge.

        Returns
        -------
        self
        """
        # The loop's products are small: more BLAS threads cost more than they give, and under
        # load many times more; candidates are evaluated in threads of our own.
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
        """Choose what is left to a choice, follow the paths, and take what they found."""
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
            self.notes_ = (*left_out(self.columns_), *vars(self).get("notes_", ()))
        fit.layout.forget()
        close(trace)
