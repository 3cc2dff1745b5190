"""Settings: every name, "auto" and preset of an estimator resolved to plain values, once.

What depends on the size of the data is a method, called once the data are known.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Real
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator

from fcgboost import threads
from fcgboost.arrays import Codes
from fcgboost.checks import RandomState, Scorer, check_number, check_word
from fcgboost.dictionaries import Dictionary, GrownDictionary, UnionDictionary
from fcgboost.greedy.elimination import Removal
from fcgboost.greedy.schemes import FullyCorrective, Scheme
from fcgboost.losses import CurvedLoss, Loss, SquaredHinge
from fcgboost.names import NAMES, make_part, part_named
from fcgboost.parts import Part, is_ours
from fcgboost.selection.base import Selection
from fcgboost.selection.learned import LearnedCandidates
from fcgboost.solvers import NewtonSolver, Solver
from fcgboost.stopping import theory_steps
from fcgboost.training.presets import AUTO, FAST, PLAIN, Kind, Preset, preset_of
from fcgboost.training.scoring import check_metrics, check_score
from fcgboost.training.tasks import Task

#: What a parameter `cv` may be: the word "auto", a number of folds, a splitter, or splits.
CrossValidation: TypeAlias = str | int | BaseCrossValidator | Iterable[tuple[Codes, Codes]] | None
#: The parameters that may change between a fit and its continuation.
MAY_CHANGE = {
    "client",
    "device",
    "label_noise",
    "link",
    "max_iter",
    "metrics",
    "n_iter_no_change",
    "n_jobs",
    "time_limit",
    "verbose",
    "warm_start",
}
# Parameters that settings have as they are.
_GIVEN = (
    "n_candidates",
    "max_iter",
    "link",
    "label_noise",
    "n_iter_no_change",
    "scoring",
    "tol",
    "device",
    "random_state",
    "verbose",
    "time_limit",
)
# What parameters of classifiers are for numbers.
_OF_NUMBERS = {"link": "theory", "label_noise": None}
_FLAGS = ("fit_intercept", "standardize", "normalize", "reselect", "warm_start")


def _is_users(value: object) -> bool:
    """Whether a value of a parameter is, or has, a part of another package."""
    if isinstance(value, list | tuple):
        return any(map(_is_users, value))
    if not isinstance(value, Part):
        return False
    return not is_ours(value) or any(map(_is_users, vars(value).values()))


@dataclass(frozen=True)
class Settings:
    """All that a fit needs besides the data; fields without a comment are as in the estimator."""

    #: Before it has seen data.
    task: Task
    dictionary: Dictionary
    loss: Loss
    scheme: Scheme
    #: None: all candidates or a sample, depending on the size of the data.
    selection: Selection | None
    n_candidates: int | None
    max_iter: int | str
    #: What to choose from; None leaves it to the kind.
    l2: tuple[float | None, ...] | None
    fit_intercept: bool
    standardize: bool
    clip: float | None
    normalize: bool
    reselect: bool
    removal: Removal | None
    link: str
    label_noise: str | ArrayLike | None
    validation_fraction: float | None
    n_iter_no_change: int | None
    scoring: str | Scorer | None
    tol: float
    device: str
    #: How many threads may work at once.
    n_threads: int
    random_state: RandomState
    verbose: int
    time_limit: float | None
    #: Scores by name.
    metrics: dict[str, str | Scorer]
    #: How one path is fitted where that is not said above.
    kind: Kind
    #: `PLAIN` if there is none.
    preset: Preset
    #: Whether all parts are left to the preset, so that it may have members of other kinds.
    may_switch: bool
    #: What judges members: folds, or their number; None for a single path.
    cv: CrossValidation
    #: Whether the members of the folds are averaged.
    is_ensemble: bool
    #: The parameters that a continuation must not change.
    fixed: dict[str, object]

    @property
    def is_preset(self) -> bool:
        return self.preset is not PLAIN

    @property
    def is_crossfitted(self) -> bool:
        """Whether held-out rows choose the ridge and the number of steps of members."""
        return self.cv is not None

    @property
    def tunes_steps(self) -> bool:
        """Whether held-out rows may choose the number of steps."""
        return self.max_iter == "auto"

    @property
    def tail(self) -> Loss | None:
        """The loss that the last coefficients of members may have instead, if any."""
        is_default = type(self.loss) is SquaredHinge and self.link == "auto"
        return self.kind.tail if is_default and self.scoring is None else None

    @property
    def slack(self) -> float:
        """How many standard errors a small model may be worse than the best."""
        return self.preset.slack

    def n_steps(self, m: float, is_scored: bool = False) -> int:
        """Return the largest number of steps for rows of weight m."""
        if not isinstance(self.max_iter, str):
            return int(self.max_iter)
        k0 = theory_steps(m)
        if not self.tunes_steps:
            return k0
        longest = self.kind.limit * k0
        if self.is_preset:
            return min(longest, self.kind.max_steps or longest)
        # With removal progress is slower, and a path that is too long does no harm.
        return 2 * longest if is_scored and self.removal is not None else longest

    def ridges(self, m: float) -> list[float]:
        """Return the lambdas to choose from, strongest first: numbers, or strength / sqrt(m).

        "auto" is the last of a list: its place must not depend on m, which differs by fold.
        """
        if self.l2 is not None:
            return [self._usual_ridge(m) if l2 is None else l2 for l2 in self.l2]
        return [strength / math.sqrt(m) for strength in self.kind.strengths] or [
            self._usual_ridge(m)
        ]

    @property
    def runs_users_code(self) -> bool:
        """Whether a score, or a part, is not one of ours: such code may keep a state."""
        parts = (self.dictionary, self.loss, self.scheme, self.selection, self.removal)
        return callable(self.scoring) or any(map(_is_users, parts))

    def ridge(self, m: float) -> float:
        """Return lambda where it is not chosen."""
        return self._usual_ridge(m) if self.l2 is None else self.ridges(m)[0]

    def _usual_ridge(self, m: float) -> float:
        strength = self.kind.strength
        return 1.0 / m if strength is None else strength / math.sqrt(m)

    def of_kinds(self, n_rows: int, n_sparse: int) -> list[Settings]:
        """Return the settings of each kind of members for this many rows.

        Of sparse rows, n_sparse is the number of columns.
        """
        kinds = [self]
        if self.is_preset and self.may_switch:
            kinds = [self._of_kind(kind) for kind in self.preset.kinds_for(n_rows, n_sparse)]
        if len(kinds) > 1:
            return kinds
        # Alone, a kind learns from all rows.
        (alone,) = kinds
        return [replace(alone, kind=replace(alone.kind, most_rows=None))]

    def without_folds(self) -> Settings:
        """Return the settings where rows cannot be divided into folds: "auto" means "fast"."""
        if not self.is_preset:
            return self
        preset = FAST if self.preset is AUTO else self.preset
        return replace(self, preset=preset, is_ensemble=False)

    def _of_kind(self, kind: Kind) -> Settings:
        if kind is self.kind:
            return self
        assert kind.dictionary is not None
        return replace(
            self,
            kind=kind,
            dictionary=kind.dictionary,
            clip=kind.clip,
            scheme=FullyCorrective(kind.solver or NewtonSolver(), kind.growth),
            selection=kind.selection,
        )


def resolve(estimator: BaseEstimator, has_validation_data: bool) -> Settings:
    """Check all parameters of an estimator and turn them into settings."""
    preset = preset_of(estimator.dictionary) or PLAIN
    kind = preset.kinds[0]
    dictionary: Dictionary = make_part("dictionary", estimator.dictionary)
    task: Task = estimator._make_task()
    loss = task.loss
    scheme = _scheme(estimator, loss, kind)
    selection = _selection(estimator.selection, dictionary, kind)
    removal = _removal(
        estimator.removal,
        kind,
        loss,
        scheme,
    )
    solver = scheme.solver if isinstance(scheme, FullyCorrective) else None
    for part in (dictionary, loss, scheme, solver, selection, removal):
        if part is not None:
            part.check_parameters()
    if dictionary.corrects_leaves:
        _check_leaves(scheme, removal)
    _check_values(estimator)
    check_score(estimator.scoring, task)
    is_corrective = isinstance(scheme, FullyCorrective)
    cv = _cross_validation(
        estimator,
        preset,
        is_corrective,
        has_validation_data,
    )
    parameters = _OF_NUMBERS | estimator.get_params(deep=False)
    _check_probabilities(
        parameters["link"],
        parameters["label_noise"],
        parameters.get("class_weight"),
    )
    return Settings(
        **{name: parameters[name] for name in _GIVEN},
        task=task,
        dictionary=dictionary,
        loss=loss,
        scheme=scheme,
        selection=selection,
        l2=_ridges(estimator.l2) if is_corrective else (0.0,),
        fit_intercept=bool(estimator.fit_intercept),
        standardize=bool(estimator.standardize),
        clip=kind.clip if _is_auto(estimator.clip) else estimator.clip,
        normalize=bool(estimator.normalize),
        # Not by members: a thread that asks joblib is in the process's list of threads for ever.
        n_threads=threads.allowed(estimator.n_jobs),
        reselect=bool(estimator.reselect),
        removal=removal,
        validation_fraction=_fraction(estimator, has_validation_data, cv is not None),
        metrics=check_metrics(estimator.metrics, task, parameters["link"]),
        kind=kind,
        preset=preset,
        may_switch=_may_switch(estimator, loss),
        cv=cv,
        is_ensemble=preset.is_ensemble if _is_auto(estimator.ensemble) else estimator.ensemble,
        fixed={name: _snapshot(parameters[name]) for name in parameters if name not in MAY_CHANGE},
    )


def _may_switch(p: BaseEstimator, loss: Loss) -> bool:
    """Return whether deep trees with corrected leaves can do all that is asked for."""
    is_default = p.scheme == "fully_corrective" and p.removal is None
    is_plain = not (p.normalize or p.reselect)
    is_auto = all(map(_is_auto, (p.solver, p.selection, p.clip)))
    return isinstance(loss, CurvedLoss) and is_default and is_plain and is_auto


def _cross_validation(
    p: BaseEstimator, preset: Preset, is_corrective: bool, has_validation_data: bool
) -> CrossValidation:
    """Return what judges members; None for a single path."""
    cv: CrossValidation = p.cv
    if _is_auto(cv):
        cv = "auto" if preset is not PLAIN and is_corrective else None
    elif isinstance(cv, Real):
        check_number(
            "cv",
            cv,
            2,
            whole=True,
        )
    elif cv is not None and not _gives_splits(cv):
        raise ValueError(
            "cv must be 'auto', a number of folds, a splitter of scikit-learn, an iterable of "
            f"(train, test) positions, or None, got {cv!r}."
        )
    is_list = isinstance(p.l2, list | tuple | np.ndarray)
    if p.warm_start and (cv is not None or is_list):
        raise ValueError(
            "warm_start=True continues a single path, but this fit averages or compares several: "
            "set cv=None, and l2 to one number."
        )
    if cv is None and is_list:
        if not has_validation_data and p.validation_fraction is None:
            raise ValueError(
                f"l2={p.l2!r} is a list to choose from: set cv, for example to 5, or pass X_val "
                "and y_val."
            )
        return "auto"
    return cv


def _gives_splits(cv: object) -> bool:
    if isinstance(cv, str):
        return False
    return hasattr(cv, "split") or isinstance(cv, Iterable)  # as scikit-learn says it


def _ridges(l2: object) -> tuple[float | None, ...] | None:
    """Return the ridges to choose from, None for that of the kind; or None if all are its."""
    if _is_auto(l2):
        return None
    if not isinstance(l2, list | tuple | np.ndarray):
        return (float(l2),)  # type: ignore[arg-type]
    numbers = sorted({float(number) for number in l2 if not _is_auto(number)}, reverse=True)
    return (*numbers, *([None] if any(map(_is_auto, l2)) else []))


def _is_auto(value: object) -> bool:
    return isinstance(value, str) and value == "auto"


def _scheme(p: BaseEstimator, loss: Loss, kind: Kind) -> Scheme:
    scheme: Scheme = make_part("scheme", p.scheme)
    if not isinstance(scheme, FullyCorrective):
        if not _is_auto(p.solver):
            make_part("solver", p.solver)
        return scheme
    if scheme.solver is not None and not _is_auto(p.solver):
        raise ValueError("Set the solver of the scheme or of the estimator, not both.")
    solved = copy.copy(scheme)  # possibly of a user-defined subclass
    solved.solver = make_solver(p.solver if scheme.solver is None else scheme.solver, loss)
    if isinstance(p.scheme, str):
        solved.growth = kind.growth
    return solved


def make_solver(value: str | Solver, loss: Loss) -> Solver:
    """Return the solver that a parameter names; it must be able to minimise the loss."""
    # In the order of preference.
    able = [name for name in NAMES["solver"] if part_named("solver", name)().accepts(loss)]
    if _is_auto(value):
        if not able:
            raise ValueError(
                f"No solver can minimise {type(loss).__name__}: it has neither a curvature "
                "(CurvedLoss) nor a proximal map (ProximalLoss). Add one of them, or use a scheme "
                "that needs only the gradient, such as scheme='original'."
            )
        value = able[0]
    solver: Solver = make_part("solver", value)
    if not solver.accepts(loss):
        raise ValueError(
            f"{type(solver).__name__} cannot minimise {type(loss).__name__}: it needs "
            f"{solver.needs_text}. Solvers for this loss: {able}."
        )
    return solver


def _selection(value: str | Selection, dictionary: Dictionary, kind: Kind) -> Selection | None:
    is_learned = isinstance(dictionary, UnionDictionary | GrownDictionary)
    if _is_auto(value):
        return kind.selection or (LearnedCandidates() if is_learned else None)
    selection: Selection = make_part("selection", value)
    if is_learned and not isinstance(selection, LearnedCandidates):
        raise ValueError(
            f"{type(dictionary).__name__} needs selection='learned' (or 'auto'), got {selection!r}."
        )
    return selection


def _removal(
    value: str | float | Removal | None, kind: Kind, loss: Loss, scheme: Scheme
) -> Removal | None:
    # Whether the cost of a removal is known.
    is_able = isinstance(scheme, FullyCorrective) and isinstance(loss, CurvedLoss)
    if value is None:
        return kind.removal if is_able else None
    if isinstance(value, Real) and not isinstance(value, bool):
        value = Removal(share=float(value))
    removal: Removal = make_part("removal", value)
    if not is_able:
        raise ValueError(
            "removal needs full correction and a loss with a second derivative, such as the "
            f"squared hinge, got {type(scheme).__name__} and {type(loss).__name__}."
        )
    return removal


def _check_leaves(scheme: Scheme, removal: Removal | None) -> None:
    """Raise a ValueError for what trees with corrected leaves cannot do."""
    solver = scheme.solver if isinstance(scheme, FullyCorrective) else scheme
    if not isinstance(solver, NewtonSolver) or removal is not None:
        raise ValueError(
            "Trees with corrects_leaves=True need scheme='fully_corrective', solver='newton' and "
            f"removal=None, got {type(solver).__name__} and {removal!r}. Use "
            "corrects_leaves=False, with one coefficient per tree."
        )


def _fraction(
    p: BaseEstimator,
    has_validation_data: bool,
    has_folds: bool,
) -> float | None:
    fraction = p.validation_fraction
    if fraction is None:
        is_judged = has_validation_data or has_folds
        return None if p.n_iter_no_change is None or is_judged else 0.1
    check_number(
        "validation_fraction",
        fraction,
        0,
        strict=True,
    )
    if fraction >= 1:
        raise ValueError(f"validation_fraction must be less than 1, got {fraction!r}.")
    if has_validation_data:
        raise ValueError("Pass X_val or set validation_fraction, not both.")
    return float(fraction)


def _snapshot(value: object) -> object:
    """Return a parameter as plain values, which later changes of a part in place do not reach."""
    if isinstance(value, BaseEstimator):
        return type(value), _snapshot(value.get_params(deep=False))
    if isinstance(value, dict):
        return {key: _snapshot(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_snapshot(item) for item in value]
    return value


def _check_probabilities(link: object, noise: object, class_weight: object) -> None:
    check_word("link", link, ("auto", "theory", "power"))
    if isinstance(noise, str):
        check_word("label_noise (None, 'estimate' or a matrix)", noise, ("estimate",))
    if noise is not None and class_weight is not None:
        raise ValueError(
            "label_noise turns probabilities of labels into those of true classes, but "
            "class_weight changes both: set one of them to None."
        )


def _check_values(p: BaseEstimator) -> None:
    check_word("ensemble", p.ensemble, ("auto", True, False))
    check_number(
        "max_iter ('auto', 'theory' or a number)",
        p.max_iter,
        1,
        whole=True,
        words=("auto", "theory"),
    )
    ridges = p.l2 if isinstance(p.l2, list | tuple | np.ndarray) else [p.l2]
    if len(ridges) == 0:
        raise ValueError("l2 is an empty list: pass numbers to choose from, or 'auto'.")
    for l2 in ridges:
        check_number(
            "l2 ('auto', a number, or a list of these)",
            l2,
            0,
            words=("auto",),
        )
    for name in ("n_candidates", "n_iter_no_change"):
        check_number(
            name,
            getattr(p, name),
            1,
            whole=True,
            words=(None,),
        )
    check_number("tol", p.tol, 0)
    check_number(
        "verbose",
        p.verbose,
        0,
        whole=True,
        words=(True, False),
    )
    check_number(
        "n_jobs (None or a number)",
        p.n_jobs,
        -np.inf,
        whole=True,
        words=(None,),
    )
    check_number(
        "clip (None, 'auto' or a number)",
        p.clip,
        0,
        strict=True,
        words=(None, "auto"),
    )
    check_number(
        "time_limit (None or seconds)",
        p.time_limit,
        0,
        strict=True,
        words=(None,),
    )
    for name in _FLAGS:
        check_word(name, getattr(p, name), (True, False))
    if p.dayfirst is not None:
        check_word("dayfirst (None or a boolean)", p.dayfirst, (True, False))
    check_word("stray_text", p.stray_text, ("error", "missing"))
    if p.n_jobs == 0:
        raise ValueError("n_jobs must be None, a positive number, or -1 for all cores, got 0.")
    if not isinstance(p.device, str):
        raise ValueError(
            "device must be 'cpu', 'torch', or the name of a torch device such as 'cuda', 'cuda:1' "
            f"or 'mps', got {p.device!r}."
        )
