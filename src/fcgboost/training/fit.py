"""One fit: lay out a data set, fit a path, and return fitted attributes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Self

import joblib
import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse

from fcgboost import threads
from fcgboost.arrays import host
from fcgboost.calibration import HeldOut, PowerLink, fit_link
from fcgboost.clipping import Limits, ends_of, zeros_in
from fcgboost.designs.base import Design
from fcgboost.designs.devices import find_device
from fcgboost.designs.memory import MemoryDesign
from fcgboost.designs.moments import find_limits, moments_of
from fcgboost.dictionaries import Dictionary
from fcgboost.greedy.choice import Recipe
from fcgboost.greedy.loop import Watcher, fit_path, fit_ridges
from fcgboost.greedy.path import StepScore, Trace
from fcgboost.losses import ProbabilityLoss
from fcgboost.model import Model
from fcgboost.selection.fixed import default_selection
from fcgboost.stopping import NoImprovement, Status, StoppingRule, theory_steps
from fcgboost.tables.columns import Column
from fcgboost.tables.inputs import (
    Inputs,
    encode,
    facts_of,
    has_categories,
    learn_inputs,
    median_rows,
    number_columns,
    plain_inputs,
    words_of,
)
from fcgboost.training.checks import Array, check_columns, class_weights
from fcgboost.training.dataset import Data, DataSet, can_be_split, split_data, thinned
from fcgboost.training.progress import Progress
from fcgboost.training.resume import FitState, Writer, find_state
from fcgboost.training.scoring import make_score, make_targets
from fcgboost.training.settings import Settings
from fcgboost.training.validation import Validator, make_validator

# Rows over which feature_importances_ are averaged.
_IMPORTANCE_ROWS = 256


@dataclass(frozen=True)
class Layout(ABC):
    """Rows laid out for a path, in this process or elsewhere, with a target per output."""

    classes: NDArray[Any]
    design: Design
    targets: Sequence[Any]
    validator: StepScore | None
    limits: Limits | None
    validation_weight: float
    #: What atoms see of the columns; None for sparse rows.
    inputs: Inputs | None

    @abstractmethod
    def can_be_split(self, needs_all: bool) -> bool:
        """Return whether all classes, or two of them, have enough rows to be split."""

    @abstractmethod
    def split(self, settings: Settings, share: float, n_enough: int, key: int) -> Layout:
        """Lay out at most n_enough of the rows, a share of them for validation."""

    @abstractmethod
    def predicted(self, model: Model) -> HeldOut:
        """Return a model's decision values for the validation rows, with class weights."""

    def forget(self) -> None:
        """Free what was computed from the rows."""
        self.design.forget()


@dataclass(frozen=True)
class MemoryLayout(Layout):
    """Rows in this process."""

    design: MemoryDesign
    train: DataSet
    validation: DataSet | None
    class_weights: Array
    readers: Sequence[Column | str]

    def can_be_split(self, needs_all: bool) -> bool:
        return can_be_split(np.bincount(self.train.codes), needs_all)  # equal rows are merged

    def split(self, settings: Settings, share: float, n_enough: int, key: int) -> MemoryLayout:
        train = thinned(self.train, n_enough / len(self.train.codes), key >> 1)
        data = Data(self.classes, *split_data(train, share, key), self.readers)
        return lay_out(settings, data)

    def judge(self, data: DataSet, score: Callable[[Array], Any]) -> Validator:
        """Return a validator that scores steps on rows."""
        design, seen = self.design, replace(data, X=encode(self.inputs, data.X))
        where = seen.within(self.limits).X, design.dictionary, design.scale
        return make_validator(*where, score, design.device)

    def predicted(self, model: Model) -> HeldOut:
        data, device = self.validation, self.design.device
        assert data is not None
        X, weights = encode(self.inputs, data.X), data.weights * self.class_weights[data.codes]
        decision = model.decision(device.put(X) if device.is_torch else X)
        return HeldOut(host(decision), data.codes, weights)


def lay_out(settings: Settings, data: Data, other: MemoryLayout | None = None) -> MemoryLayout:
    """Lay a dictionary over clipped rows, reusing another layout of the same rows if given."""
    classes, train, validation, readers = data
    totals: Array = np.bincount(train.codes, train.weights, len(classes)).astype(np.float64)
    per_class = class_weights(settings.class_weight, classes, totals)
    if other is not None and isinstance(other.design, MemoryDesign):
        inputs, limits = other.inputs, other.limits
        seen = settings.dictionary if inputs is None else inputs.dictionary(settings.dictionary)
        design = other.design.with_dictionary(seen)
    else:
        inputs, seen, rows = _make_inputs(settings.dictionary, data)
        weights = train.weights * per_class[train.codes]
        limits, design = _make_design(settings, seen, rows, weights)
    weight = 0.0 if validation is None else float(validation.weights.sum())
    targets = make_targets(train.codes, len(classes))
    rows_of = (train, validation, per_class, readers)
    layout = MemoryLayout(classes, design, targets, None, limits, weight, inputs, *rows_of)
    if validation is None:
        return layout
    how = settings.scoring, settings.is_preset, settings.loss, classes
    return replace(layout, validator=layout.judge(validation, make_score(*how, validation)))


def _make_inputs(dictionary: Dictionary, data: Data) -> tuple[Inputs | None, Dictionary, DataSet]:
    """Learn what the families of a dictionary see; return it, the dictionary and the rows."""
    train, readers = data.train, data.readers
    if sparse.issparse(train.X):
        return None, dictionary, train
    names = [one for one in readers if isinstance(one, str)]
    if names and not train.has_missing:
        return plain_inputs(dictionary, names, median_rows(train.X)), dictionary, train
    columns, labels = number_columns(readers), data.classes.tolist()
    facts = facts_of(columns, train, len(labels))
    inputs = learn_inputs(dictionary, columns, facts, median_rows(train.X), labels)
    encoded = inputs.encode_training(train.X, train.words, facts)
    return inputs, inputs.dictionary(dictionary), replace(train, X=encoded)


def _make_design(
    settings: Settings, dictionary: Dictionary, train: DataSet, weights: Array
) -> tuple[Limits | None, MemoryDesign]:
    limits, moments = find_limits(
        settings.clip,
        dictionary,
        lambda limits: moments_of(train.within(limits).imputed(), weights),
        lambda columns: ends_of(train.X, columns),
        lambda limits: zeros_in(train.within(limits).X),
    )
    rows = train.within(limits)
    if sparse.issparse(rows.X) and settings.device != "cpu":
        raise ValueError(
            f"X is sparse, but device={settings.device!r} needs dense arrays: use device='cpu', or "
            "X.toarray() if it fits into memory."
        )
    dictionary.check_rows(rows.X)
    return limits, MemoryDesign(
        dictionary,
        rows.X,
        weights,
        standardize=settings.standardize,
        memory_budget=int(sklearn.get_config()["working_memory"] * 2**20),
        n_threads=threads.allowed(joblib.effective_n_jobs(settings.n_jobs)),
        device=find_device(settings.device),
        words=train.words,
        moments=moments,
    )


def make_recipe(settings: Settings, design: Design, key: int, is_scored: bool = False) -> Recipe:
    """Return the recipe for a design, filling in what depends on the size of the data."""
    m, selection, n_candidates = design.total_weight, settings.selection, 0
    if selection is None or selection.is_fixed:
        n_candidates = int(settings.n_candidates or design.n_distinct)
    same = ("loss", "scheme", "fit_intercept", "normalize", "reselect", "tol", "removal")
    return Recipe(
        selection=default_selection(m, n_candidates) if selection is None else selection,
        n_candidates=n_candidates,
        max_iter=settings.n_steps(m, is_scored),
        l2=settings.ridge(m),
        key=key,
        **{name: getattr(settings, name) for name in same},
    )


@dataclass(frozen=True)
class Fit:
    """One path to be fitted, and its results.

    It ends after `patience` steps without a better score. `held_out` has the predictions of trial
    models for the rows held out in the choice.
    """

    settings: Settings
    layout: Layout
    state: FitState
    recipe: Recipe
    patience: int | None
    title: str = ""
    held_out: Sequence[HeldOut] = ()

    @classmethod
    def of(cls, settings: Settings, layout: Layout, state: FitState) -> Self:
        recipe = make_recipe(settings, layout.design, state.key, layout.validator is not None)
        n_steps = len(state.path or ())
        if n_steps > recipe.max_iter:
            raise ValueError(
                f"max_iter={recipe.max_iter} is less than the {n_steps} steps that the fit "
                "continues from: use truncate(k) for a shorter model."
            )
        return cls(settings, layout, state, recipe, settings.n_iter_no_change)

    @property
    def k0(self) -> int:
        return theory_steps(self.layout.design.total_weight)

    @property
    def ridges(self) -> list[float]:
        return self.settings.ridges(self.layout.design.total_weight)

    def with_ridge(self, l2: float, n_steps: int | None = None, patience: int | None = None) -> Fit:
        """Return a fit with another ridge and, unless the user set them, other limits."""
        limit = self.recipe.max_iter
        if n_steps is not None and self.settings.has_free_steps:
            limit = min(limit, max(1, n_steps))
        recipe = replace(self.recipe, l2=l2, max_iter=limit)
        return replace(self, recipe=recipe, patience=self.patience or patience)

    def anew(self, title: str, **changes: Any) -> Fit:
        """Return a fit that starts from scratch and writes no checkpoint."""
        settings, state = replace(self.settings, checkpoint=None), replace(self.state, path=None)
        return replace(self, settings=settings, state=state, title=title, **changes)

    def path(
        self, rules: list[StoppingRule], watcher: Watcher | None = None
    ) -> tuple[Trace, Status]:
        """Run the loop with the rules of the settings and the user's."""
        resume = self.state.path
        if self.patience is not None:
            rule = NoImprovement(int(self.patience))
            endings = [rule(step) for step in resume or ()]
            if resume and endings[-1] is not None:
                return resume, endings[-1]
            rules = [rule, *rules]
        if self.settings.checkpoint is not None:
            watcher = Writer(self.settings.checkpoint, self.state, watcher)
        trace, status = self._run(fit_path, rules, watcher, resume)
        if isinstance(watcher, Writer):
            watcher.close(trace)
        return trace, status

    def ridge_paths(self, rules: list[StoppingRule]) -> list[Trace]:
        """Run the loop for several ridges at once."""
        if self.patience is not None:
            rules = [NoImprovement(int(self.patience)), *rules]
        traces: list[Trace] = self._run(fit_ridges, rules)
        return traces

    def _run(self, loop: Callable[..., Any], rules: list[StoppingRule], *more: Any) -> Any:
        layout = self.layout
        validator = layout.validator and layout.validator.anew()
        with closing(Progress(self.recipe.max_iter, int(self.settings.verbose), self.title)) as own:
            given = layout.design, layout.targets, self.recipe
            return loop(*given, [own, *rules], validator, *more)

    def model(self, trace: Trace, k: int) -> Model:
        design = self.layout.design
        return trace.model(k, design.dictionary, design.scale, self.layout.limits)

    def attributes(self, trace: Trace, first: Trace | None = None) -> dict[str, Any]:
        """Return the fitted attributes; warm starts continue the `first` path of an average."""
        k, design, l2 = self.n_kept(trace), self.layout.design, self.recipe.l2
        model = self.model(trace, k)
        link = self._link(model)
        return {
            "classes_": self.layout.classes,
            "_inputs_": self.layout.inputs,
            "model_": model,
            "trace_": trace,
            "n_iter_": k,
            "l2_": l2,
            "link_": link,
            "_loss_": self.recipe.loss,
            "_sample_": design.sample(_IMPORTANCE_ROWS, self.state.key).rows,
            "_deviation_": design.deviation,
            "_state_": replace(self.state, path=first or trace, l2=l2, link=link),
            "_k0_": self.k0,
        }

    def check_link(self) -> None:
        """Raise a ValueError if a link is wanted but there are no rows to fit it to."""
        has_rows = self.layout.validation_weight > 0.0 or len(self.held_out) > 0
        if self.settings.link == "power" and not has_rows and self.state.link is None:
            raise ValueError(
                "link='power' needs held-out rows, but there are none: set validation_fraction, "
                "for example to 0.2, pass X_val and y_val to fit, or use link='theory'."
            )

    def _link(self, model: Model) -> PowerLink | None:
        """Return the link to probabilities; None stands for the formula of the loss."""
        settings, has_rows = self.settings, self.layout.validation_weight > 0.0
        can_calibrate = settings.is_preset and isinstance(settings.loss, ProbabilityLoss)
        if not (settings.link == "power" or (settings.link == "auto" and can_calibrate)):
            return None
        parts = [self.layout.predicted(model)] if has_rows else self.held_out
        return fit_link(parts) if parts else self.state.link

    def n_kept(self, trace: Trace, wanted: float = np.inf) -> int:
        """Return the number of steps with the best validation score.

        Ties go to the fewest atoms, then to the fewest steps. If small models are wanted, scores
        within a share of a standard error of the best, or of `wanted`, are ties.
        """
        if self.layout.validator is None or len(trace) == 0:
            return len(trace)
        scores, sizes = trace.scores, trace.column("n_atoms")
        ks = np.flatnonzero(~np.isnan(scores)) + 1
        if len(trace) >= self.k0 and self.settings.has_free_steps and not self.settings.is_preset:
            # The end of the path counts too, even between two multiples.
            multiples = np.arange(self.k0, len(trace) + 1, self.k0)
            ks = np.union1d(ks[np.searchsorted(ks, multiples, side="right") - 1], ks[-1])
        enough = min(float(scores[ks - 1].max()), wanted)
        if self.settings.preset.is_small:
            enough -= self.slack(enough)
        good = ks[scores[ks - 1] >= enough]
        order = np.lexsort((good, -scores[good - 1], sizes[good - 1]))
        return int(good[order[0]])

    def error(self, score: float) -> float:
        """Return the standard error of a score, taken as a frequency if possible."""
        weight = self.layout.validation_weight
        if weight == 0.0:
            return 0.0
        frequency = score if 0.0 < score <= 1.0 else 0.5
        return float(np.sqrt(frequency * (1.0 - frequency) / weight))

    def slack(self, score: float) -> float:
        """Return how far below a score is still equally good."""
        return self.settings.preset.slack * self.error(score)


def prepare(settings: Settings, data: Data, last: FitState | None) -> Fit:
    """Return the fit to data in this process, which may continue the last one."""
    train = data.train
    is_sparse = sparse.issparse(train.X)
    digests = [part.digest() for part in (train, data.validation) if part is not None]
    kind = train.X.shape[1], is_sparse, *words_of(data.readers)
    state = find_state(settings, data.classes, digests, kind, last)
    n_sparse = train.X.shape[1] if is_sparse else 0
    settings = settings.at(len(train.codes), n_sparse, has_categories(data.readers))
    if settings.validation_fraction is not None:
        train, validation = split_data(train, settings.validation_fraction, state.key)
        data = data._replace(train=train, validation=validation)
    return Fit.of(settings, check_columns(lay_out(settings, data)), state)
