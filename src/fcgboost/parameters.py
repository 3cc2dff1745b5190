"""The soundness of an estimator's parameters, and the parts that they name."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring

from fcgboost.dictionaries import Dictionary, GrownDictionary, UnionDictionary
from fcgboost.known import KnownDecision
from fcgboost.losses import CurvedLoss, Loss, ProbabilityLoss
from fcgboost.presets import preset_of
from fcgboost.removal import Removal
from fcgboost.schemes import FullyCorrective, Scheme
from fcgboost.selection.fixed import Selection
from fcgboost.selection.learned import LearnedCandidates
from fcgboost.validation import check_number, check_word, make_part, make_solver


@dataclass(frozen=True)
class Parts:
    """The objects that an estimator's parameters name."""

    dictionary: Dictionary
    loss: Loss
    scheme: Scheme
    selection: Selection | None
    removal: Removal | None


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
    removal = _make_removal(p.removal, loss, scheme)
    preset = preset_of(p.dictionary)
    if removal is None and preset is not None and _can_remove(loss, scheme):
        removal = preset.removal
    for part in (dictionary, loss, scheme, solver, selection, removal):
        if part is not None:
            part.check_parameters()
    _check_learned(dictionary, selection)
    _check_numbers(p)
    _check_validation_parameters(p, loss, has_validation_data)
    return Parts(dictionary, loss, scheme, selection, removal)


def _make_removal(value: Any, loss: Loss, scheme: Scheme) -> Removal | None:
    """Turn the `removal` parameter into a part; None if atoms stay."""
    if value is None:
        return None
    if isinstance(value, Real) and not isinstance(value, bool):
        value = Removal(share=float(value))
    removal: Removal = make_part("removal", value)
    if not _can_remove(loss, scheme):
        raise ValueError(
            "removal needs full correction and a loss with a second derivative, such as the "
            f"squared hinge; got {type(scheme).__name__} and {type(loss).__name__}."
        )
    return removal


def _can_remove(loss: Loss, scheme: Scheme) -> bool:
    """Whether it can be told what an atom that leaves would cost."""
    return isinstance(scheme, FullyCorrective) and isinstance(loss, CurvedLoss)


def for_missing(p: Any, parts: Parts) -> Parts:
    """Return the parts that data with missing values needs: a preset has fewer families then."""
    preset = preset_of(p.dictionary)
    return parts if preset is None else replace(parts, dictionary=preset.dictionary(True))


def n_deviations(p: Any) -> float | None:
    """Return how many deviations from the mean inputs may be; None if they are not clipped."""
    if isinstance(p.clip, str):
        preset = preset_of(p.dictionary)
        return None if preset is None else preset.clip
    return None if p.clip is None else float(p.clip)


def _check_learned(dictionary: Dictionary, selection: Selection | None) -> None:
    """Raise a ValueError where atoms have to be learned and the selection does not."""
    takes_turns = isinstance(dictionary, UnionDictionary)
    is_grown = isinstance(dictionary, GrownDictionary)
    is_able = selection is None or isinstance(selection, LearnedCandidates)
    if (takes_turns or is_grown) and not is_able:
        what = "families that take turns" if takes_turns else "atoms that are grown"
        raise ValueError(
            f"{type(dictionary).__name__} has {what}, which needs selection='learned' (or 'auto'); "
            f"got {selection!r}."
        )


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
    if not (p.clip is None or (isinstance(p.clip, str) and p.clip == "auto")):
        check_number("clip (None, 'auto' or a number)", p.clip, 0, strict=True)
    check_word("multiclass", p.multiclass, ("one_vs_rest", "shared"))
    check_word("link", p.link, ("auto", "theory", "power"))
    for name in ("fit_intercept", "standardize", "normalize", "reselect", "warm_start"):
        check_word(name, getattr(p, name), (True, False))
    if not (p.checkpoint is None or isinstance(p.checkpoint, str | os.PathLike)):
        raise ValueError(f"checkpoint must be the path of a file or None, got {p.checkpoint!r}.")
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
