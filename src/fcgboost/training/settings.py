"""Settings: every name, "auto" and preset of an estimator resolved to plain values, once.

What depends on the size of the data is a method, called once the data are known.
"""

from __future__ import annotations

import copy
import functools
import os
import types
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from fcgboost.dictionaries import Dictionary, GrownDictionary, UnionDictionary
from fcgboost.greedy.elimination import Removal
from fcgboost.greedy.schemes import FullyCorrective, Scheme
from fcgboost.losses import CurvedLoss, Loss
from fcgboost.selection.fixed import Selection
from fcgboost.selection.learned import LearnedCandidates
from fcgboost.solvers import NewtonSolver
from fcgboost.stopping import theory_steps
from fcgboost.training.checks import check_number, check_word, make_part, make_solver
from fcgboost.training.presets import PLAIN, Preset, preset_of
from fcgboost.training.scoring import check_metrics, check_score

#: The parameters that may change between a fit and its continuation.
MAY_CHANGE = {
    *("max_iter", "n_iter_no_change", "n_jobs", "verbose", "warm_start"),
    *("checkpoint", "client", "device", "link", "metrics", "time_limit"),
}
# Nested objects are described down to this depth.
_DEPTH = 8
_WHOLE, _POSITIVE = {"whole": True}, {"strict": True}
# Numeric parameters: their name in errors, other values they take, the smallest number.
_NUMBERS: Mapping[str, tuple[str, tuple[Any, ...], float, Mapping[str, bool]]] = {
    "max_iter": ("max_iter ('auto', 'theory' or a number)", ("auto", "theory"), 1, _WHOLE),
    "l2": ("l2 ('auto' or a number)", ("auto",), 0, {}),
    "n_candidates": ("n_candidates", (None,), 1, _WHOLE),
    "tol": ("tol", (), 0, {}),
    "verbose": ("verbose", (True, False), 0, _WHOLE),
    "n_jobs": ("n_jobs (None or a number)", (None,), -np.inf, _WHOLE),
    "clip": ("clip (None, 'auto' or a number)", (None, "auto"), 0, _POSITIVE),
    "n_iter_no_change": ("n_iter_no_change", (None,), 1, _WHOLE),
    "time_limit": ("time_limit (None or seconds)", (None,), 0, _POSITIVE),
}
_FLAGS = ("fit_intercept", "standardize", "normalize", "reselect", "warm_start")
_WORDS: Mapping[str, tuple[Any, ...]] = {
    "link": ("auto", "theory", "power"),
    **dict.fromkeys(_FLAGS, (True, False)),
}


@dataclass(frozen=True)
class Settings:
    """All that a fit needs besides the data; fields without a comment are as in the estimator."""

    dictionary: Dictionary
    loss: Loss
    scheme: Scheme
    #: None: all candidates or a sample, depending on the size of the data.
    selection: Selection | None
    n_candidates: int | None
    max_iter: int | str
    #: None: chosen by the preset.
    l2: float | None
    fit_intercept: bool
    standardize: bool
    clip: float | None
    normalize: bool
    reselect: bool
    removal: Removal | None
    link: str
    validation_fraction: float | None
    n_iter_no_change: int | None
    scoring: Any
    tol: float
    class_weight: Any
    warm_start: bool
    checkpoint: str | os.PathLike[str] | None
    device: str
    n_jobs: int | None
    random_state: Any
    verbose: int
    time_limit: float | None
    #: Scores by name.
    metrics: dict[str, Any]
    preset: Preset
    #: How many paths are averaged if rows are few.
    n_members: int
    #: Whether all parts are left to the preset, so that it may choose others for many rows.
    is_free: bool
    #: The parameters that a continuation must not change, with their values as text.
    described: dict[str, str]

    @property
    def is_preset(self) -> bool:
        return bool(self.preset.families)

    @property
    def has_free_steps(self) -> bool:
        """Whether validation may choose the number of steps."""
        return self.max_iter == "auto"

    @property
    def chooses(self) -> bool:
        """Whether validation chooses the ridge or the steps of a preset."""
        is_corrective = isinstance(self.scheme, FullyCorrective)
        return self.is_preset and is_corrective and (self.l2 is None or self.has_free_steps)

    def n_steps(self, m: float, is_scored: bool = False) -> int:
        """Return the largest number of steps for rows of weight m."""
        if not isinstance(self.max_iter, str):
            return int(self.max_iter)
        k0 = theory_steps(m)
        if not self.has_free_steps:
            return k0
        if self.is_preset:
            # A time limit replaces the limit on steps.
            is_bounded = self.preset.max_steps is not None and self.time_limit is None
            longest = self.preset.limit * k0
            return min(longest, self.preset.max_steps or longest) if is_bounded else longest
        # With removal progress is slower, and a path that is too long does no harm.
        return (2 if is_scored and self.removal is not None else 1) * self.preset.limit * k0

    def ridge(self, m: float) -> float:
        """Return lambda if it is not chosen: a number, strength / sqrt(m), or 1 / m."""
        if self.l2 is not None:
            return self.l2
        strength = self.preset.strength
        return 1.0 / m if strength is None else strength / float(np.sqrt(m))

    def ridges(self, m: float) -> list[float]:
        """Return the lambdas to choose from, strongest first."""
        strengths = self.preset.strengths if self.l2 is None else ()
        return [one / float(np.sqrt(m)) for one in strengths] or [self.ridge(m)]

    def at(self, n_rows: int, n_sparse: int, has_categories: bool = False) -> Settings:
        """Return the settings for this many rows, and columns if sparse (n_sparse > 0).

        A preset differs for many rows, for wide sparse ones, and for categories.
        """
        preset = self.preset.at(n_rows, n_sparse) if self.is_free else self.preset
        if not self.is_preset:
            return self
        if preset is self.preset:
            if not has_categories or self.n_members == 1:
                return self
            preset = preset.of_categories or preset
            return replace(self, preset=preset, n_members=preset.n_members)
        return replace(
            self,
            dictionary=preset.dictionary(),
            preset=preset,
            clip=preset.clip,
            scheme=FullyCorrective(preset.solver, preset.growth),
            selection=preset.selection,
        )

    def n_averaged(self, n_rows: float) -> int:
        """Return how many paths are averaged for this many rows times outputs."""
        union = self.dictionary
        families = union.families if isinstance(union, UnionDictionary) else [union]
        # Without random draws all paths would be the same.
        is_drawn = not all(isinstance(family, GrownDictionary) for family in families)
        return self.n_members if is_drawn and n_rows <= self.preset.n_few else 1


def resolve(estimator: Any, has_validation_data: bool) -> Settings:
    """Check all parameters of an estimator and turn them into settings."""
    p, preset = estimator, preset_of(estimator.dictionary) or PLAIN
    dictionary: Dictionary = make_part("dictionary", p.dictionary)
    loss: Loss = make_part("loss", p.loss)
    scheme = _scheme(p, loss, preset)
    selection = _selection(p.selection, dictionary, preset)
    removal = _removal(p.removal, preset, loss, scheme)
    solver = scheme.solver if isinstance(scheme, FullyCorrective) else None
    for part in (dictionary, loss, scheme, solver, selection, removal):
        if part is not None:
            part.check_parameters()
    if dictionary.corrects_leaves:
        _check_leaves(scheme, removal)
    _check_values(p)
    check_score(p.scoring, loss)
    l2 = None if _is_auto(p.l2) else float(p.l2)
    # A given number of steps, ridge or removal refers to a single path.
    is_single = not _is_auto(p.max_iter) or l2 is not None or p.removal is not None
    found: dict[str, Any] = {
        "dictionary": dictionary,
        "loss": loss,
        "scheme": scheme,
        "selection": selection,
        "removal": removal,
        "l2": l2 if isinstance(scheme, FullyCorrective) else 0.0,
        "clip": preset.clip if _is_auto(p.clip) else p.clip,
        "validation_fraction": _fraction(p, has_validation_data),
        "metrics": check_metrics(p.metrics, loss, p.link),
        "preset": preset,
        "n_members": 1 if is_single else preset.n_members,
        "is_free": _is_free(p, loss),
        "described": _described(p, preset is not PLAIN and l2 is None),
        **{name: bool(getattr(p, name)) for name in _FLAGS},
    }
    names = {field.name for field in fields(Settings)} - found.keys()
    return Settings(**found, **{name: getattr(p, name) for name in names})


def _is_free(p: Any, loss: Loss) -> bool:
    """Return whether deep trees with corrected leaves can do all that is asked for."""
    is_default = p.scheme == "fully_corrective" and p.removal is None
    is_plain = not (p.normalize or p.reselect)
    given = (p.solver, p.selection, p.clip)
    return isinstance(loss, CurvedLoss) and is_default and is_plain and all(map(_is_auto, given))


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _scheme(p: Any, loss: Loss, preset: Preset) -> Scheme:
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
        solved.growth = preset.growth
    return solved


def _selection(value: Any, dictionary: Dictionary, preset: Preset) -> Selection | None:
    takes_turns = isinstance(dictionary, UnionDictionary)
    is_learned = takes_turns or isinstance(dictionary, GrownDictionary)
    if _is_auto(value):
        return preset.selection or (LearnedCandidates() if is_learned else None)
    selection: Selection = make_part("selection", value)
    if is_learned and not isinstance(selection, LearnedCandidates):
        raise ValueError(
            f"{type(dictionary).__name__} needs selection='learned' (or 'auto'), got {selection!r}."
        )
    return selection


def _removal(value: Any, preset: Preset, loss: Loss, scheme: Scheme) -> Removal | None:
    # Whether the cost of a removal is known.
    is_able = isinstance(scheme, FullyCorrective) and isinstance(loss, CurvedLoss)
    if value is None:
        return preset.removal if is_able else None
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


def _fraction(p: Any, has_validation_data: bool) -> float | None:
    if p.validation_fraction is not None:
        check_number("validation_fraction", p.validation_fraction, 0, strict=True)
        if p.validation_fraction >= 1:
            raise ValueError(
                f"validation_fraction must be less than 1, got {p.validation_fraction!r}."
            )
        if has_validation_data:
            raise ValueError("Pass X_val or set validation_fraction, not both.")
        return float(p.validation_fraction)
    return None if p.n_iter_no_change is None or has_validation_data else 0.1


def _described(p: Any, is_ridge_chosen: bool) -> dict[str, str]:
    # A checkpoint does not hold the chosen ridge, and choosing again depends on max_iter.
    is_from_file = p.checkpoint is not None and not p.warm_start
    free = MAY_CHANGE - {"max_iter"} if is_ridge_chosen and is_from_file else MAY_CHANGE
    given = p.get_params(deep=False)
    return {name: describe(value) for name, value in given.items() if name not in free}


def describe(value: Any, depth: int = _DEPTH) -> str:
    """Return a text for a parameter's value that is the same in another process."""
    inside = functools.partial(describe, depth=depth - 1)
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, functools.partial):
        value = value.func, value.args, value.keywords
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        return f"{value.__module__}.{value.__qualname__}"
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    # The seed drawn from a generator is stored as the key of the path.
    if isinstance(value, np.random.RandomState | types.ModuleType) or depth == 0:
        return name
    if isinstance(value, dict):
        items = sorted(f"{inside(key)}: {inside(item)}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list | tuple):
        texts = list(map(inside, value))
    elif isinstance(value, set | frozenset):
        texts = sorted(map(inside, value))
    else:
        is_part = isinstance(value, BaseEstimator)
        held = value.get_params(deep=False) if is_part else getattr(value, "__dict__", {})
        texts = [f"{key}={inside(item)}" for key, item in held.items()]
    return f"{name}({', '.join(texts)})"


def _check_values(p: Any) -> None:
    for name, (label, words, low, options) in _NUMBERS.items():
        value = getattr(p, name)
        is_word = value is None or isinstance(value, str | bool)
        if not (is_word and value in words):
            check_number(label, value, low, **options)
    for name, words in _WORDS.items():
        check_word(name, getattr(p, name), words)
    if p.dayfirst is not None:
        check_word("dayfirst (None or a boolean)", p.dayfirst, (True, False))
    if p.n_jobs == 0:
        raise ValueError("n_jobs must be None, a positive number, or -1 for all cores, got 0.")
    if not (p.checkpoint is None or isinstance(p.checkpoint, str | os.PathLike)):
        raise ValueError(f"checkpoint must be a file path or None, got {p.checkpoint!r}.")
    if not isinstance(p.device, str):
        raise ValueError(
            "device must be 'cpu', 'torch', or the name of a torch device such as 'cuda', 'cuda:1' "
            f"or 'mps', got {p.device!r}."
        )
