"""From parameters and checked data to one run of the loop, and back to fitted attributes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from fcgboost import hashing
from fcgboost.designs.base import Design
from fcgboost.checkpoints import Writer
from fcgboost.data import DataSet, split_data
from fcgboost.dictionaries import GrownDictionary, UnionDictionary
from fcgboost.greedy import Recipe, Watcher, fit_path
from fcgboost.grounds import Ground, find_limits, lay_out, make_targets, weights_of_classes
from fcgboost.judging import make_validator
from fcgboost.learned import LearnedCandidates
from fcgboost.links import HeldOut, PowerLink, fit_link
from fcgboost.losses import ProbabilityLoss
from fcgboost.model import Model
from fcgboost.parameters import Parts
from fcgboost.presets import preset_of
from fcgboost.progress import Progress
from fcgboost.schemes import FullyCorrective, Scheme
from fcgboost.selection import Selection, default_selection
from fcgboost.starting import Start, digest_of, find_start
from fcgboost.stopping import NoImprovement, Status, Step, StoppingRule, theory_steps
from fcgboost.trace import Trace, fresh

# Rows on which the slope of the model is averaged for feature_importances_.
_IMPORTANCE_ROWS = 256


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


class Run:
    """One run of the loop.

    Parameters
    ----------
    estimator : FCGBoostClassifier
    parts : Parts
    ground : Ground
    start : Start
    """

    def __init__(self, estimator: Any, parts: Parts, ground: Ground, start: Start) -> None:
        self.estimator, self._parts = estimator, parts
        self.ground, self.start, self._is_trial = ground, start, False
        #: What models like its own say about rows that were set aside to choose by.
        self.held_out: Sequence[HeldOut] = ()
        #: What its progress is shown under.
        self.title = ""
        self.patience: int | None = estimator.n_iter_no_change
        is_scored = ground.validator is not None
        self.recipe = make_recipe(estimator, parts, ground.design, start.key, is_scored)
        self.k0 = theory_steps(ground.design.total_weight)
        n_steps = 0 if start.resume is None else len(start.resume.forward())
        if n_steps > self.recipe.max_iter:
            raise ValueError(
                f"max_iter={self.recipe.max_iter} is less than the {n_steps} steps that the fit "
                "goes on from; use truncate(k) for a shorter model."
            )

    def with_ridge(self, l2: float, n_steps: int | None = None, patience: int | None = None) -> Run:
        """Return a run with another ridge.

        Parameters
        ----------
        l2 : float
        n_steps, patience : int or None
            The most steps, and those without a better score after which it ends, unless the
            user has limits.
        """
        twin, limit = copy.copy(self), self.recipe.max_iter
        if n_steps is not None and self.estimator.max_iter == "auto":
            limit = min(limit, max(1, n_steps))
        if twin.patience is None:
            twin.patience = patience
        twin.recipe = replace(self.recipe, l2=l2, max_iter=limit)
        return twin

    def trial(self, l2: float, patience: int | None) -> Run:
        """Return a run with another ridge that begins at nothing and leaves no file behind."""
        twin = self.with_ridge(l2, patience=patience)
        twin.start, twin._is_trial = self.start.anew(), True
        twin.title = f"to choose, ridge {l2:.2g}: "
        return twin

    def member(self, number: int, n_steps: int) -> Run:
        """Return a run with other draws that makes so many steps and is not scored."""
        twin = copy.copy(self)
        twin.start, twin._is_trial, twin.patience = self.start.anew(), True, None
        twin.ground, twin.title = replace(self.ground, validator=None), f"path {number + 1}: "
        key = hashing.derive(self.start.key, number) >> 33
        twin.recipe = replace(self.recipe, key=key, max_iter=n_steps)
        return twin

    def path(self, rules: list[StoppingRule], watcher: Watcher | None) -> tuple[Trace, Status]:
        """Run the loop with the estimator's own rules and the user's."""
        p, ground, resume = self.estimator, self.ground, self.start.resume
        if self.patience is not None:
            patience = NoImprovement(int(self.patience))
            for step in resume.forward() if resume else ():
                ending = patience(step)
            if resume and ending is not None:
                return resume, ending
            rules = [patience, *rules]
        progress = Progress(self.recipe.max_iter, int(p.verbose), self.title)
        writer = self._writer()
        try:
            trace, status = fit_path(
                ground.design,
                ground.targets,
                self.recipe,
                [progress, *rules],
                fresh(ground.validator),
                _both(watcher, writer),
                resume,
            )
            if writer is not None:
                writer.close(trace)
            return trace, status
        finally:
            progress.close()

    def _writer(self) -> Writer | None:
        path = self.estimator.checkpoint
        return (
            None
            if path is None or self._is_trial
            else Writer(path, self.start.key, self.start.identity)
        )

    def model(self, trace: Trace, k: int) -> Model:
        """Return the model after k steps of a path."""
        design = self.ground.design
        return trace.model(k, design.dictionary, design.scale, self.ground.limits)

    def attributes(self, trace: Trace) -> dict[str, Any]:
        """Return what a fit sets on the estimator."""
        (k, _), design = self.kept(trace), self.ground.design
        model = self.model(trace, k)
        return {
            "classes_": self.ground.classes,
            "model_": model,
            "trace_": trace,
            "_path_": trace,
            "n_iter_": k,
            "l2_": self.recipe.l2,
            "link_": self._link(model),
            "_loss_": self.recipe.loss,
            "_sample_": design.sample(_IMPORTANCE_ROWS, self.start.key).rows,
            "_deviation_": design.deviation,
            "_state_": self.start.identity,
            "_key_": self.start.key,
            "_k0_": self.k0,
        }

    def check_link(self) -> None:
        """Raise a ValueError if a link is wanted and there is nothing to fit it to."""
        has_rows = self.ground.validation is not None or len(self.held_out) > 0
        if self.estimator.link == "power" and not has_rows and self.start.link is None:
            raise ValueError(
                "link='power' is fitted to rows held out, and there are none: set "
                "validation_fraction (0.2 is a fifth of the rows), or give X_val and y_val to fit, "
                "or use link='theory'."
            )

    def _link(self, model: Model) -> PowerLink | None:
        """Return what turns decision values into probabilities; None is the loss's own formula."""
        wanted, preset = self.estimator.link, preset_of(self.estimator.dictionary)
        has_formula = isinstance(self.recipe.loss, ProbabilityLoss)
        if wanted == "theory" or (wanted == "auto" and (preset is None or not has_formula)):
            return None
        parts = [self.judged(model)] if self.ground.validation is not None else self.held_out
        return fit_link(parts) if parts else self.start.link

    def judged(self, model: Model) -> HeldOut:
        """Return what a model says about the validation data; classes weigh as in fits."""
        data, per_class = self.ground.validation, self.ground.class_weights
        assert data is not None
        assert per_class is not None
        return HeldOut(model.decision(data.X), data.codes, data.weights * per_class[data.codes])

    def kept(self, trace: Trace, wanted: float = np.inf) -> tuple[int, float]:
        """Return the number of steps that is best on validation, and its score.

        Of equals that of fewest atoms, and of these the fewest steps. Scores that are only a share
        of a standard error below the best, or below `wanted`, are equals for a preset of small
        models.
        """
        if self.ground.validator is None or len(trace) == 0:
            return len(trace), -np.inf
        scores, sizes = trace.column("validation_score"), trace.column("n_atoms")
        ks = self._compared(trace)
        best = max(float(scores[k - 1]) for k in ks)
        preset = preset_of(self.estimator.dictionary)
        enough = min(best, wanted)
        if preset is not None and preset.is_small:
            enough -= self.slack(enough)
        good = [k for k in ks if float(scores[k - 1]) >= enough]
        chosen = min(good, key=lambda k: (int(sizes[k - 1]), -float(scores[k - 1]), k))
        return chosen, float(scores[chosen - 1])

    def top(self, trace: Trace) -> float:
        """Return the best validation score of a path."""
        scores = trace.column("validation_score")
        return float(scores.max()) if len(trace) else -np.inf

    def _compared(self, trace: Trace) -> list[int]:
        """Return the numbers of steps that are compared on validation."""
        ks = list(range(1, len(trace) + 1))
        if self.estimator.max_iter != "auto" or preset_of(self.estimator.dictionary) is not None:
            return ks
        n_forward = len(trace.forward())
        multiples = list(range(self.k0, n_forward + 1, self.k0))
        # A path that ended between two multiples is worth a look at its end, and so is everything
        # after that, where atoms only leave.
        return sorted({*multiples, *ks[max(0, n_forward - 1) :]}) if multiples else ks

    def error(self, score: float) -> float:
        """Return the standard error of a relative frequency of the size of a score.

        For scores that are none, the largest that there is.
        """
        if self.ground.n_validation == 0.0:
            return 0.0
        frequency = score if 0.0 < score <= 1.0 else 0.5
        return float(np.sqrt(frequency * (1.0 - frequency) / self.ground.n_validation))

    def slack(self, score: float) -> float:
        """Return how much below a score is as good, for a preset."""
        preset = preset_of(self.estimator.dictionary)
        return 0.0 if preset is None else preset.slack * self.error(score)


def _both(first: Watcher | None, second: Watcher | None) -> Watcher | None:
    """Let two watchers see every step; the first one may end the path."""
    if first is None or second is None:
        return first or second

    def watch(step: Step, path: Callable[[], Trace]) -> Status | None:
        ending = first(step, path)
        second(step, path)
        return ending

    return watch


def run_in_memory(
    p: Any, parts: Parts, classes: NDArray[Any], train: DataSet, validation: DataSet | None
) -> Run:
    """Prepare a run on data in this process."""
    fraction = held_out_fraction(p, validation is not None)
    held_out = None if validation is None else validation.digest()
    kind = (train.X.shape[1], fraction, sparse.issparse(train.X))
    start = find_start(p, digest_of(classes, train.digest(), held_out, kind))
    if fraction is not None:
        train, validation = split_data(train, fraction, start.key)
    return run_on(p, parts, classes, train, validation, start)


def run_on(
    p: Any,
    parts: Parts,
    classes: NDArray[Any],
    train: DataSet,
    validation: DataSet | None,
    start: Start,
) -> Run:
    """Prepare a run on rows that are split already."""
    limits = find_limits(p, classes, train)
    train = train.within(limits)
    design = lay_out(p, parts.dictionary, classes, train)
    targets = make_targets(train.codes, len(classes))
    validator = None
    if validation is not None:
        validator = make_validator(p, design, parts.loss, classes, validation, limits)
    per_class = weights_of_classes(p, classes, train)
    ground = Ground(classes, design, targets, validator, limits, validation, per_class)
    return Run(p, parts, ground, start)


def held_out_fraction(p: Any, has_validation_data: bool) -> float | None:
    """Return the share of the rows that is set aside, if any."""
    if p.validation_fraction is None and p.n_iter_no_change is not None:
        return None if has_validation_data else 0.1
    return None if p.validation_fraction is None else float(p.validation_fraction)


def make_recipe(p: Any, parts: Parts, design: Design, key: int, is_scored: bool = False) -> Recipe:
    """Fill in what an estimator's parameters leave to the data, which may choose the steps."""
    m = design.total_weight
    preset, k0 = preset_of(p.dictionary), theory_steps(m)
    # Where atoms leave it takes longer to get as far, and a path that is too long does no harm.
    longest = 10 * k0 if parts.removal is not None and is_scored else 5 * k0
    limits = {"auto": longest if preset is None else preset.n_steps(m, k0), "theory": k0}
    selection = parts.selection or _default_selection(p, design)
    n = 0
    if selection.is_fixed:
        n = design.n_distinct if p.n_candidates is None else int(p.n_candidates)
    return Recipe(
        loss=parts.loss,
        scheme=parts.scheme,
        selection=selection,
        n_candidates=n,
        max_iter=limits.get(p.max_iter, p.max_iter),
        l2=_ridge(p, parts.scheme, m),
        fit_intercept=bool(p.fit_intercept),
        normalize=bool(p.normalize),
        reselect=bool(p.reselect),
        tol=float(p.tol),
        key=key,
        removal=parts.removal,
        is_shared=p.multiclass == "shared",
    )


def _default_selection(p: Any, design: Design) -> Selection:
    """Return what selection="auto" means; all rows are counted only where it matters."""
    preset = preset_of(p.dictionary)
    if preset is not None:
        return preset.selection
    if isinstance(design.dictionary, GrownDictionary | UnionDictionary):
        return LearnedCandidates()
    m = design.total_weight
    if p.n_candidates is not None:
        return default_selection(m, int(p.n_candidates))
    least = default_selection(m, design.n_distinct)
    return default_selection(m, design.n_distinct) if least.is_fixed else least


def _ridge(p: Any, scheme: Scheme, m: float) -> float:
    """Return lambda; the classical schemes have none."""
    if not isinstance(scheme, FullyCorrective):
        return 0.0
    if p.l2 != "auto":
        return float(p.l2)
    preset = preset_of(p.dictionary)
    return 1.0 / m if preset is None else preset.strength / float(np.sqrt(m))
