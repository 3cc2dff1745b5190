"""Settings: every name, every "auto" and every preset of an estimator as plain values, once.

Nothing below asks the estimator again. What depends on the size of the data is a rule, which is
asked once, when the data are there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

import numpy as np

from fcgboost.dictionaries import Dictionary, GrownDictionary, UnionDictionary
from fcgboost.losses import CurvedLoss, Loss, ProbabilityLoss
from fcgboost.removal import Removal
from fcgboost.schemes import FullyCorrective, Scheme
from fcgboost.selection.fixed import Selection
from fcgboost.selection.learned import LearnedCandidates
from fcgboost.stopping import theory_steps
from fcgboost.training.checks import check_number, check_word, make_part, make_solver
from fcgboost.training.presets import PLAIN, Preset, preset_of
from fcgboost.training.resume import MAY_CHANGE, describe
from fcgboost.training.scoring import check_score

# Numbers that the columns of a preset's path may hold, 256 MiB of them; but k0 columns in any case.
_ENTRIES = 1 << 25


@dataclass(frozen=True)
class StepRule:
    """The most steps of a path: a number, or multiples of k0, other ones with validation data.

    There are fewer where columns would hold more than `n_entries` numbers. `is_free` says whether
    validation may choose fewer.
    """

    number: int | None = None
    multiple: int = 1
    multiple_scored: int = 1
    n_entries: float = np.inf
    is_free: bool = False

    def limit(self, m: float, is_scored: bool = False) -> int:
        """Return the most steps for rows of weight m."""
        if self.number is not None:
            return self.number
        k0 = theory_steps(m)
        longest = (self.multiple_scored if is_scored else self.multiple) * k0
        return max(k0, int(min(longest, self.n_entries / m)))


@dataclass(frozen=True)
class RidgeRule:
    """The ridge: a number, strength / sqrt(m), or 1 / m; validation chooses among strengths."""

    number: float | None = None
    strength: float | None = None
    strengths: tuple[float, ...] = ()

    def ridge(self, m: float) -> float:
        """Return lambda where nothing is chosen."""
        if self.number is not None:
            return self.number
        return 1.0 / m if self.strength is None else self.strength / float(np.sqrt(m))

    def choices(self, m: float) -> list[float]:
        """Return what lambda may be, strongest first: of equals that one wins."""
        return [one / float(np.sqrt(m)) for one in self.strengths] or [self.ridge(m)]


@dataclass(frozen=True)
class Settings:
    """What a fit needs to know besides the data; what is not described is as in the estimator.

    Attributes
    ----------
    dictionary_for_missing : Dictionary
        What takes the dictionary's place where values are missing.
    selection : Selection or None
        None: all candidates or a sample, by the size of the data.
    is_preset, chooses : bool
        Whether the dictionary is a preset, and leaves the ridge or the steps to validation.
    slack, is_small, n_members, n_few :
        As in a `Preset`.
    fits_link, needs_link : bool
        Whether a link is fitted where rows are held out, and whether there must be one.
    patience : int or None
        Steps without a better score after which a path ends.
    described : dict from str to str
        The parameters that a continuation must not change, and their values in words.
    """

    dictionary: Dictionary
    dictionary_for_missing: Dictionary
    loss: Loss
    scheme: Scheme
    selection: Selection | None
    removal: Removal | None
    steps: StepRule
    ridge: RidgeRule
    is_preset: bool
    chooses: bool
    slack: float
    is_small: bool
    n_members: int
    n_few: int
    fits_link: bool
    needs_link: bool
    clip: float | None
    validation_fraction: float | None
    patience: int | None
    is_shared: bool
    described: dict[str, str]
    n_candidates: int | None
    scoring: Any
    class_weight: Any
    fit_intercept: bool
    standardize: bool
    normalize: bool
    reselect: bool
    tol: float
    device: str
    n_jobs: int | None
    verbose: int
    warm_start: bool
    checkpoint: str | os.PathLike[str] | None
    random_state: Any

    def for_missing(self) -> Settings:
        """Return the settings for data with missing values."""
        return replace(self, dictionary=self.dictionary_for_missing)

    def n_averaged(self, n_rows: float) -> int:
        """Return how many paths are averaged; rows count once for every output."""
        union = self.dictionary
        families = union.families if isinstance(union, UnionDictionary) else [union]
        # Paths without draws would all be the same.
        is_drawn = not all(isinstance(family, GrownDictionary) for family in families)
        return self.n_members if is_drawn and n_rows <= self.n_few else 1


def resolve(estimator: Any, has_validation_data: bool) -> Settings:
    """Check all parameters of an estimator and turn them into settings, before any work."""
    p, preset = estimator, preset_of(estimator.dictionary) or PLAIN
    dictionary: Dictionary = make_part("dictionary", p.dictionary)
    loss: Loss = make_part("loss", p.loss)
    scheme = _scheme(p, loss)
    selection = _selection(p.selection, dictionary, preset)
    removal = _removal(p.removal, preset, loss, scheme)
    solver = scheme.solver if isinstance(scheme, FullyCorrective) else None
    for part in (dictionary, loss, scheme, solver, selection, removal):
        if part is not None:
            part.check_parameters()
    _check_learned(dictionary, selection)
    _check_numbers(p)
    check_score(p.scoring, loss)
    steps, is_preset = _steps(p.max_iter, preset, removal), preset is not PLAIN
    ridge = _ridge(p.l2, preset) if isinstance(scheme, FullyCorrective) else RidgeRule(0.0)
    # Who wants a number of steps, a ridge, or atoms that leave, wants those of one path.
    is_single = not steps.is_free or not ridge.strengths or p.removal is not None
    can_calibrate = is_preset and isinstance(loss, ProbabilityLoss)
    found: dict[str, Any] = {
        "dictionary": dictionary,
        "dictionary_for_missing": preset.dictionary(True) if is_preset else dictionary,
        "loss": loss,
        "scheme": scheme,
        "selection": selection,
        "removal": removal,
        "steps": steps,
        "ridge": ridge,
        "is_preset": is_preset,
        "chooses": is_preset
        and isinstance(scheme, FullyCorrective)
        and (steps.is_free or bool(ridge.strengths)),
        "slack": preset.slack,
        "is_small": preset.is_small,
        "n_members": 1 if is_single else preset.n_members,
        "n_few": preset.n_few,
        "fits_link": p.link == "power" or (p.link == "auto" and can_calibrate),
        "needs_link": p.link == "power",
        "clip": preset.clip if _is_auto(p.clip) else p.clip,
        "validation_fraction": _fraction(p, has_validation_data),
        "patience": p.n_iter_no_change,
        "is_shared": p.multiclass == "shared",
        "described": _described(p, is_preset and _is_auto(p.l2)),
    }
    names = {field.name for field in fields(Settings)} - found.keys()
    return Settings(**found, **{name: getattr(p, name) for name in names})


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _scheme(p: Any, loss: Loss) -> Scheme:
    scheme: Scheme = make_part("scheme", p.scheme)
    if not isinstance(scheme, FullyCorrective):
        if not _is_auto(p.solver):
            make_part("solver", p.solver)
        return scheme
    if scheme.solver is None:
        return FullyCorrective(make_solver(p.solver, loss))
    if not _is_auto(p.solver):
        raise ValueError("Give a solver to the scheme or to the estimator, not to both.")
    return FullyCorrective(make_solver(scheme.solver, loss))


def _selection(value: Any, dictionary: Dictionary, preset: Preset) -> Selection | None:
    if not _is_auto(value):
        return make_part("selection", value)  # type: ignore[no-any-return]
    if preset.selection is None and isinstance(dictionary, GrownDictionary | UnionDictionary):
        return LearnedCandidates()
    return preset.selection


def _removal(value: Any, preset: Preset, loss: Loss, scheme: Scheme) -> Removal | None:
    # Whether it can be told what an atom that leaves would cost.
    is_able = isinstance(scheme, FullyCorrective) and isinstance(loss, CurvedLoss)
    if value is None:
        return preset.removal if is_able else None
    if isinstance(value, Real) and not isinstance(value, bool):
        value = Removal(share=float(value))
    removal: Removal = make_part("removal", value)
    if not is_able:
        raise ValueError(
            "removal needs full correction and a loss with a second derivative, such as the "
            f"squared hinge; got {type(scheme).__name__} and {type(loss).__name__}."
        )
    return removal


def _steps(max_iter: Any, preset: Preset, removal: Removal | None) -> StepRule:
    if not isinstance(max_iter, str):
        return StepRule(number=int(max_iter))
    if max_iter == "theory":
        return StepRule()
    if preset is not PLAIN:
        return StepRule(None, preset.limit, preset.limit, _ENTRIES, is_free=True)
    # Where atoms leave it takes longer to get as far, and a path that is too long does no harm.
    return StepRule(None, preset.limit, (1 if removal is None else 2) * preset.limit, is_free=True)


def _ridge(l2: Any, preset: Preset) -> RidgeRule:
    if _is_auto(l2):
        return RidgeRule(None, preset.strength, preset.strengths)
    return RidgeRule(float(l2))


def _fraction(p: Any, has_validation_data: bool) -> float | None:
    if p.validation_fraction is not None:
        check_number("validation_fraction", p.validation_fraction, 0, strict=True)
        if p.validation_fraction >= 1:
            raise ValueError(
                f"validation_fraction must be less than 1, got {p.validation_fraction!r}."
            )
        if has_validation_data:
            raise ValueError("Give X_val or validation_fraction, not both.")
        return float(p.validation_fraction)
    return None if p.n_iter_no_change is None or has_validation_data else 0.1


def _described(p: Any, is_ridge_chosen: bool) -> dict[str, str]:
    """Describe what a continuation must not change.

    A file does not say which ridge was chosen. It is chosen again, and the number of steps has a
    say in that.
    """
    is_from_file = p.checkpoint is not None and not p.warm_start
    free = MAY_CHANGE - {"max_iter"} if is_ridge_chosen and is_from_file else MAY_CHANGE
    given = p.get_params(deep=False)
    return {name: describe(value) for name, value in given.items() if name not in free}


def _check_learned(dictionary: Dictionary, selection: Selection | None) -> None:
    """Raise a ValueError where atoms have to be learned and the selection does not."""
    takes_turns = isinstance(dictionary, UnionDictionary)
    is_grown = isinstance(dictionary, GrownDictionary)
    if (takes_turns or is_grown) and not isinstance(selection, LearnedCandidates):
        what = "families that take turns" if takes_turns else "atoms that are grown"
        raise ValueError(
            f"{type(dictionary).__name__} has {what}, which needs selection='learned' (or 'auto'); "
            f"got {selection!r}."
        )


def _check_numbers(p: Any) -> None:
    if not (isinstance(p.max_iter, str) and p.max_iter in ("auto", "theory")):
        check_number("max_iter ('auto', 'theory' or a number)", p.max_iter, 1, whole=True)
    if not _is_auto(p.l2):
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
    if not (p.clip is None or _is_auto(p.clip)):
        check_number("clip (None, 'auto' or a number)", p.clip, 0, strict=True)
    if p.n_iter_no_change is not None:
        check_number("n_iter_no_change", p.n_iter_no_change, 1, whole=True)
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
