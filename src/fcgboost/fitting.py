"""From parameters and checked data to one run of the loop, and back to fitted attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state

from fcgboost import threads
from fcgboost.backends.memory import MemoryDesign
from fcgboost.backends.places import place_for
from fcgboost.data import Data, split_data
from fcgboost.dictionaries import Dictionary
from fcgboost.greedy import Recipe, Trace, Validator, Watcher, fit_path
from fcgboost.losses import Loss, ProbabilityLoss
from fcgboost.model import Model
from fcgboost.prediction import KnownDecision, scorer_options, winners
from fcgboost.progress import Progress
from fcgboost.schemes import FullyCorrective, Scheme
from fcgboost.selection import Selection, default_selection
from fcgboost.stopping import NoImprovement, Status, StoppingRule, theory_steps
from fcgboost.validation import (
    Array,
    check_number,
    check_word,
    class_weights,
    make_part,
    make_solver,
)

#: Parameters that may change between a fit and its continuation under warm_start.
_MAY_CHANGE = {"max_iter", "n_iter_no_change", "n_jobs", "verbose", "warm_start"}

# Rows on which the slope of the model is averaged for feature_importances_.
_IMPORTANCE_ROWS = 256


@dataclass(frozen=True)
class Parts:
    """The objects that an estimator's parameters name."""

    dictionary: Dictionary
    loss: Loss
    scheme: Scheme
    selection: Selection | None


@contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """Leave a failed fit as if it had never been called."""
    fitted = {name: value for name, value in vars(estimator).items() if name.endswith("_")}
    try:
        yield
    except BaseException:
        for name in [name for name in vars(estimator) if name.endswith("_")]:
            delattr(estimator, name)
        vars(estimator).update(fitted)
        raise


def check_parameters(estimator: Any, has_validation_data: bool) -> Parts:
    """Check all parameters and turn names into parts, before any work."""
    p = estimator
    dictionary: Dictionary = make_part("dictionary", p.dictionary)
    loss: Loss = make_part("loss", p.loss)
    scheme: Scheme = make_part("scheme", p.scheme)
    if isinstance(scheme, FullyCorrective):
        if scheme.solver is not None and p.solver != "auto":
            raise ValueError("Give a solver to the scheme or to the estimator, not to both.")
        own = "auto" if scheme.solver is None else scheme.solver
        scheme = FullyCorrective(make_solver(p.solver if p.solver != "auto" else own, loss))
    elif p.solver != "auto":
        make_part("solver", p.solver)
    is_auto = isinstance(p.selection, str) and p.selection == "auto"
    selection = None if is_auto else make_part("selection", p.selection)
    solver = scheme.solver if isinstance(scheme, FullyCorrective) else None
    for part in (dictionary, loss, scheme, solver, selection):
        if part is not None:
            part.check_parameters()
    _check_numbers(p)
    _check_validation_parameters(p, loss, has_validation_data)
    return Parts(dictionary, loss, scheme, selection)


def _check_numbers(p: Any) -> None:
    if not (isinstance(p.max_iter, str) and p.max_iter in ("auto", "theory")):
        check_number("max_iter ('auto', 'theory' or a number)", p.max_iter, 1, whole=True)
    if not (isinstance(p.l2, str) and p.l2 == "auto"):
        check_number("l2 ('auto' or a number)", p.l2, 0)
    if p.n_candidates is not None:
        check_number("n_candidates", p.n_candidates, 1, whole=True)
    check_number("tol", p.tol, 0)
    if not isinstance(p.verbose, bool):
        check_number("verbose", p.verbose, 0, whole=True)
    if p.n_jobs is not None:
        check_number("n_jobs (None or a number)", p.n_jobs, -np.inf, whole=True)
        if p.n_jobs == 0:
            raise ValueError("n_jobs must be None, a positive number, or -1 for all cores; got 0.")
    for name in ("fit_intercept", "standardize", "normalize", "reselect", "warm_start"):
        check_word(name, getattr(p, name), (True, False))
    if not isinstance(p.device, str):
        raise ValueError(
            "device must be 'cpu', 'torch', or the name of a torch device such as 'cuda', 'cuda:1' "
            f"or 'mps', got {p.device!r}."
        )


def _check_validation_parameters(p: Any, loss: Loss, has_validation_data: bool) -> None:
    if isinstance(p.scoring, list | tuple | set | dict):
        raise ValueError(f"scoring must be one score, got {p.scoring!r}.")
    scorer = check_scoring(KnownDecision(loss), scoring=p.scoring)
    if isinstance(p.scoring, str) and not isinstance(loss, ProbabilityLoss):
        # A score that needs probabilities is refused here, not at the first step.
        scorer(KnownDecision(loss, np.array([0, 1]), np.array([-0.5, 0.5])), [[0.0], [1.0]], [0, 1])
    if p.validation_fraction is not None:
        check_number("validation_fraction", p.validation_fraction, 0, strict=True)
        if p.validation_fraction >= 1:
            raise ValueError(
                f"validation_fraction must be less than 1, got {p.validation_fraction!r}."
            )
        if has_validation_data:
            raise ValueError("Give X_val or validation_fraction, not both.")
    if p.n_iter_no_change is not None:
        check_number("n_iter_no_change", p.n_iter_no_change, 1, whole=True)


class Run:
    """One run of the loop.

    Parameters
    ----------
    estimator : FCGBoostClassifier
    parts : Parts
    classes : ndarray of shape (n_classes,)
    train : Data
    validation : Data or None
    """

    def __init__(
        self,
        estimator: Any,
        parts: Parts,
        classes: NDArray[Any],
        train: Data,
        validation: Data | None,
    ) -> None:
        p = self.estimator = estimator
        self.classes = classes
        fraction = p.validation_fraction
        if fraction is None and p.n_iter_no_change is not None and validation is None:
            fraction = 0.1
        self.resume, self.key = _continuation(p, classes, train, validation, fraction)
        if fraction is not None:
            train, validation = split_data(train, fraction, self.key)
        self.validation = validation
        self.design = lay_out(p, parts.dictionary, classes, train)
        self.recipe = make_recipe(p, parts, self.design, self.key)
        self.k0 = theory_steps(self.design.total_weight)
        self.targets = make_targets(train.codes, len(classes))
        if self.resume is not None and len(self.resume) > self.recipe.max_iter:
            raise ValueError(
                f"max_iter={self.recipe.max_iter} is less than the {len(self.resume)} steps that "
                "warm_start goes on from; use truncate(k) for a shorter model."
            )

    def path(self, rules: list[StoppingRule], watcher: Watcher | None) -> tuple[Trace, Status]:
        """Run the loop with the estimator's own rules and the user's."""
        p = self.estimator
        if p.n_iter_no_change is not None:
            patience = NoImprovement(int(p.n_iter_no_change))
            for step in self.resume or ():
                ending = patience(step)
            if self.resume and ending is not None:
                return self.resume, ending
            rules = [patience, *rules]
        progress = Progress(self.recipe.max_iter, int(p.verbose))
        try:
            return fit_path(
                self.design,
                self.targets,
                self.recipe,
                [progress, *rules],
                self._validator(),
                watcher,
                self.resume,
            )
        finally:
            progress.close()

    def attributes(self, trace: Trace) -> dict[str, Any]:
        """Give what a fit sets on the estimator."""
        k = self._kept(trace)
        return {
            "classes_": self.classes,
            "model_": trace.model(k, self.design.dictionary, self.design.scale),
            "trace_": trace,
            "n_iter_": k,
            "_loss_": self.recipe.loss,
            "_sample_": self.design.sample(_IMPORTANCE_ROWS, self.key).rows,
            "_deviation_": self.design.deviation,
            "_key_": self.key,
            "_k0_": self.k0,
        }

    def _kept(self, trace: Trace) -> int:
        """Choose the number of steps: the best on validation, the fewest of equals."""
        if self.validation is None or len(trace) == 0:
            return len(trace)
        ks = list(range(1, len(trace) + 1))
        if self.estimator.max_iter == "auto":
            multiples = [i * self.k0 for i in range(1, 6) if i * self.k0 <= len(trace)]
            # A path that ended between two multiples is worth a look at its end.
            ks = sorted({*multiples, len(trace)}) if multiples else ks
        scores = trace.column("validation_score")
        return max(ks, key=lambda k: float(scores[k - 1]))

    def _validator(self) -> Validator | None:
        if self.validation is None:
            return None
        return make_validator(
            self.estimator, self.design, self.recipe.loss, self.classes, self.validation
        )


def lay_out(p: Any, dictionary: Dictionary, classes: NDArray[Any], train: Data) -> MemoryDesign:
    """Lay a dictionary over training data as an estimator's parameters say."""
    if sparse.issparse(train.X) and p.device != "cpu":
        raise ValueError(
            f"X is sparse, and device={p.device!r} takes dense arrays only: use device='cpu', or "
            "X.toarray() if there is room for it."
        )
    # The training loss only: scores on validation data count rows as they are.
    per_class = class_weights(p.class_weight, classes, train.codes, train.weights)
    return MemoryDesign(
        dictionary,
        train.X,
        train.weights * per_class[train.codes],
        standardize=bool(p.standardize),
        memory_budget=int(sklearn.get_config()["working_memory"] * 2**20),
        n_threads=threads.allowed(joblib.effective_n_jobs(p.n_jobs)),
        place=place_for(p.device),
        words=train.words,
    )


def make_recipe(p: Any, parts: Parts, design: MemoryDesign, key: int) -> Recipe:
    """Fill in what an estimator's parameters leave to the data."""
    m = design.total_weight
    n = design.n_distinct if p.n_candidates is None else int(p.n_candidates)
    limits = {"auto": 5 * theory_steps(m), "theory": theory_steps(m)}
    return Recipe(
        loss=parts.loss,
        scheme=parts.scheme,
        selection=parts.selection or default_selection(m, n),
        n_candidates=n,
        max_iter=limits.get(p.max_iter, p.max_iter),
        l2=_ridge(p.l2, parts.scheme, m),
        fit_intercept=bool(p.fit_intercept),
        normalize=bool(p.normalize),
        reselect=bool(p.reselect),
        tol=float(p.tol),
        key=key,
    )


def make_validator(
    p: Any, design: MemoryDesign, loss: Loss, classes: NDArray[Any], data: Data
) -> Validator:
    """Give what scores the steps of one path on validation data."""
    score = make_scorer(p, data, classes, loss)
    dictionary, scale, none = design.dictionary, design.scale, np.zeros(1)

    def evaluate(atom: Any) -> Array:
        # A model of the one atom takes the rows in blocks.
        model = Model(dictionary, atom, none[None, :], none, scale, np.zeros(1, dtype=np.intp))
        return np.asarray(model.columns(data.X))

    return Validator(evaluate, score)


def _ridge(l2: Any, scheme: Scheme, m: float) -> float:
    """Give lambda; the classical schemes have none."""
    if not isinstance(scheme, FullyCorrective):
        return 0.0
    return 1.0 / m if l2 == "auto" else float(l2)


def make_targets(codes: NDArray[np.intp], n_classes: int) -> list[Array]:
    """Give -1 and +1 for every output: each class against the rest, one of two alone."""
    positives = [1] if n_classes == 2 else range(n_classes)
    return [np.where(codes == positive, 1.0, -1.0) for positive in positives]


def draw_key(random_state: Any) -> int:
    """Give the seed of all draws of a fit."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def _snapshot(value: Any) -> Any:
    """Give something that stays as it is if a parameter changes, and equals that of an equal."""
    if isinstance(value, BaseEstimator):
        parameters = value.get_params(deep=False).items()
        return type(value), {name: _snapshot(parameter) for name, parameter in parameters}
    # Functions need not be picklable, and a generator of random numbers changes by its use.
    is_itself = callable(value) or isinstance(value, np.random.RandomState)
    return value if is_itself else joblib.hash(value)


def _continuation(
    p: Any,
    classes: NDArray[Any],
    train: Data,
    validation: Data | None,
    fraction: float | None,
) -> tuple[Trace | None, int]:
    """Give the path to go on from, if any, and the key of all draws."""
    settings = {k: v for k, v in p.get_params(deep=False).items() if k not in _MAY_CHANGE}
    held_out = fraction if validation is None else validation.fingerprint()
    state: dict[str, Any] = {
        "data": (classes.tolist(), train.fingerprint(), held_out, sparse.issparse(train.X)),
        "parameters": {name: _snapshot(value) for name, value in settings.items()},
    }
    last = vars(p).get("_state_")
    p._state_ = state
    if not p.warm_start or last is None:
        return None, draw_key(p.random_state)
    if last["data"] != state["data"]:
        raise ValueError(
            "warm_start=True goes on with the same data, and this data is different: X, y, the "
            "weights, or the rows held out for validation (n_iter_no_change alone holds out a "
            "tenth). Set warm_start=False to start anew."
        )
    old, new = last["parameters"], state["parameters"]
    changed = sorted(name for name in new if old[name] != new[name])
    if changed:
        raise ValueError(
            f"warm_start=True goes on with the same parameters, and {changed} changed since the "
            f"last fit. Only {sorted(_MAY_CHANGE)} may change."
        )
    return p.trace_, p._key_


def make_scorer(p: Any, data: Data, classes: NDArray[Any], loss: Loss) -> Callable[[Array], float]:
    """Give a function from decision values on validation data to a score."""
    if p.scoring is None:

        def accuracy(decision: Array) -> float:
            values = decision[:, 0] if len(classes) == 2 else decision
            hits = winners(values, np.arange(len(classes))) == data.codes
            return float(data.weights @ hits / data.weights.sum())

        return accuracy
    scorer = check_scoring(KnownDecision(loss), scoring=p.scoring)
    y = classes[data.codes]
    options = scorer_options(scorer, data.weights)

    def score(decision: Array) -> float:
        values = decision[:, 0] if len(classes) == 2 else decision
        value = float(scorer(KnownDecision(loss, classes, values), data.X, y, **options))
        if np.isnan(value):
            raise ValueError(
                f"scoring={p.scoring!r} is not defined on the validation data (it gave NaN): does "
                "every class occur there?"
            )
        return value

    return score
