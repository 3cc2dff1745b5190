"""Cross-fitting: members are judged by rows that they have not seen, and averaged.

For each split and kind one path is fitted to the training part, and the held-out part judges its
steps for all ridges. From the held-out predictions of all splits come the ridge and the number of
steps of each kind, the weights of the kinds, and the link to probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import sklearn
from scipy.optimize import minimize_scalar

from fcgboost import hashing, threads
from fcgboost.arrays import Array, Flags
from fcgboost.calibration import HeldOut
from fcgboost.greedy.loop import recorrect
from fcgboost.losses import Loss
from fcgboost.members import Member, of_fold
from fcgboost.stopping import Status
from fcgboost.training.fit import Fit
from fcgboost.training.layout import FitRows, Layout
from fcgboost.training.schedule import Schedule
from fcgboost.training.settings import Settings
from fcgboost.training.tasks import Task
from fcgboost.training.time_limit import TimeLimit
from fcgboost.training.trials import Best, Trial, choose, judged_weight, results_table

# A path is given up after k0 steps without a better score, but at least this many: that costs
# nothing measurable and saves up to two thirds of the time.
_PATIENCE = 20
# A kind below this weight is not worth its time and size.
_LEAST_WEIGHT = 0.05
# The weight of a kind is known well enough to give it up once this many rows have judged it.
_ENOUGH_WEIGHT = 1_000.0
# Where validation rows judge, a preset averages this many paths that differ in their draws.
_N_DRAWS = 3


@dataclass(frozen=True)
class CrossFit:
    """The members, and what the rows held out from them say."""

    members: tuple[Member, ...]
    #: Where the metrics of each member are computed, if there are any.
    layouts: Sequence[Layout | None]
    #: The blended decision values of each split's held-out rows.
    held_out: Sequence[HeldOut]
    #: Whether the members of the splits are averaged, those of a kind in a row.
    is_average: bool
    results: Mapping[str, Array]

    def judged_by(self, split: int) -> list[Member]:
        """Return members that know nothing of a split's rows, with weights that sum to one."""
        if not self.is_average:
            return list(self.members)
        return of_fold(self.members, split, len(self.held_out))


@dataclass(frozen=True)
class _Round:
    """The trials of one kind on all splits, what they choose, and what it predicts."""

    trials: Sequence[Trial]
    best: Best
    members: Sequence[Member]
    held_out: Sequence[HeldOut]

    @classmethod
    def of(cls, trials: Sequence[Trial], rows: FitRows, best: Best | None = None) -> _Round:
        best = best or choose(trials)
        members = []
        held_out = []
        for trial, k in zip(trials, best.steps, strict=True):
            member = trial.member(best.ridge, k)
            members.append(member)
            held_out += trial.held_out(member)
        if not rows.n_splits:
            # The same validation rows have judged all of them.
            decision = np.mean([part.decision for part in held_out], axis=0)
            held_out = [held_out[0]._replace(decision=decision)]
        return cls(
            trials,
            best,
            members,
            held_out,
        )

    @property
    def settings(self) -> Settings:
        return self.trials[0].settings


@dataclass(frozen=True)
class _Paths:
    """The paths of all kinds and splits."""

    kinds: Sequence[Settings]
    rows: FitRows
    key: int
    schedule: Schedule
    #: scikit-learn's settings, which belong to the thread that sets them.
    config: Mapping[str, object]

    def fit(self, place: tuple[int, int]) -> Trial:
        """Fit the path of one kind to one split."""
        settings = self.kinds[place[1]]
        with sklearn.config_context(**self.config):
            fit = self.path(place).with_ridges()
            if settings.tunes_steps and settings.is_preset:
                fit = replace(fit, patience=fit.patience or max(_PATIENCE, fit.k0))
            return fit.run(self.schedule)

    def with_tail(self, chosen: _Round, kind: int, tail: Loss) -> _Round:
        """Return the same atoms of a kind with coefficients that minimise another loss."""
        settings = replace(chosen.settings, loss=tail)
        best = chosen.best

        def corrected(split: int) -> Trial:
            trial = chosen.trials[split]
            l2 = trial.ridges[best.ridge]
            with sklearn.config_context(**self.config):
                fit = self.path((split, kind))
                layout = fit.layout
                trace = recorrect(
                    layout.design,
                    layout.targets,
                    replace(fit.recipe, loss=tail, l2=l2),
                    trial.traces[best.ridge].truncated(best.steps[split]),
                    layout.validator and layout.validator.fresh(),
                )
            return replace(
                trial,
                settings=settings,
                ridges=[l2],
                traces=[trace],
            )

        trials = threads.each(
            corrected,
            range(len(chosen.trials)),
            settings.n_threads,
            self.schedule.n_at_once,
        )
        return _Round.of(trials, self.rows, best._replace(ridge=0))

    def path(self, place: tuple[int, int]) -> Fit:
        """Return the path of one kind on one split, before ridges are compared."""
        split, kind = place
        settings = self.kinds[kind]
        key = self.key
        if settings.is_ensemble:
            # Members of an average differ in their draws, too.
            key = hashing.derive(key, split * len(self.kinds) + kind) >> 33
        return Fit.of(
            settings,
            self.rows.lay_out(settings, split if self.rows.n_splits else None),
            key,
            split + 1,
        )


def cross_fit(
    kinds: Sequence[Settings],
    rows: FitRows,
    key: int,
    schedule: Schedule,
    limit: TimeLimit | None,
) -> CrossFit:
    """Fit and judge members, and average them or fit the best setting to all rows.

    Without splits the validation rows judge members that are fitted to all training rows, of which
    a preset averages some that differ in their draws.
    """
    paths = _Paths(
        kinds,
        rows,
        key,
        schedule,
        sklearn.get_config(),
    )
    trials: list[list[Trial]] = [[] for _ in kinds]
    running = list(range(len(kinds)))
    given_up: list[int] = []
    is_settled = len(kinds) == 1
    n_splits = max(n_paths_of(settings, rows) for settings in kinds)
    n_at_once = None if limit is None else schedule.n_at_once
    for splits in _batches(
        n_splits,
        rows.split_weights,
        len(kinds),
        n_at_once,
    ):
        if limit is not None and not limit.allows_split():
            break
        places = [
            (split, kind)
            for split in splits
            for kind in running
            if split < n_paths_of(kinds[kind], rows)
        ]
        fitted = threads.each(
            paths.fit,
            places,
            kinds[0].n_threads,
            schedule.n_at_once,
        )
        newest = dict(zip(places, fitted, strict=True))
        # Without the first split there would be no model.
        late = [place[0] for place, trial in newest.items() if place[0] and _is_late(trial)]
        for (split, kind), trial in newest.items():
            if not late or split < late[0]:
                trials[kind].append(trial)
        if late:
            break
        if not is_settled and judged_weight(trials[0]) >= _ENOUGH_WEIGHT:
            is_settled = True
            rounds = [_Round.of(of_kind, rows) for of_kind in trials]
            weights = blend(rounds, rows.task)
            running = [kind for kind in running if weights[kind] > 0.0]
            given_up = [kind for kind in range(len(kinds)) if kind not in running]
            for kind in given_up:
                schedule.n_paths -= n_paths_of(kinds[kind], rows) - len(trials[kind])
    results = results_table([trials[kind] for kind in (*running, *given_up)])
    rounds = [_Round.of(trials[kind], rows) for kind in running]
    if kinds[0].is_ensemble:
        usual = _average(rounds, rows.task, results)
        tail = rounds[0].settings.tail
        # Time may have ended before the last splits.
        if tail is None or len(rounds[0].trials) < n_paths_of(rounds[0].settings, rows):
            return usual
        bent = _average(
            [paths.with_tail(rounds[0], running[0], tail), *rounds[1:]],
            replace(rows.task, loss=tail),
            results,
        )
        return bent if _has_fewer_errors(bent.held_out, usual.held_out) else usual
    best = min(rounds, key=lambda part: rows.task.risk(part.held_out))
    if not rows.n_splits:
        return _average([best], rows.task, results)
    return _refitted(
        rows,
        best,
        key,
        schedule,
        results,
    )


def n_paths_of(settings: Settings, rows: FitRows) -> int:
    """Return how many paths of a kind are fitted: one per split or, without splits, per draw."""
    if rows.n_splits:
        return rows.n_splits
    # A forest is grown on all rows, without draws.
    is_drawn = not settings.dictionary.corrects_leaves
    return _N_DRAWS if settings.is_preset and settings.is_ensemble and is_drawn else 1


def _batches(
    n_splits: int,
    weights: Sequence[float],
    n_kinds: int,
    n_at_once: int | None,
) -> list[Sequence[int]]:
    """Return the splits, or draws, whose members are fitted at once.

    First come the splits that judge enough rows to give a kind up, then all others. Within a time
    limit the first one comes alone, and then as many as run at once.
    """
    n_first = n_splits
    if n_kinds > 1:
        n_first = 1 + int(np.searchsorted(np.cumsum(weights), _ENOUGH_WEIGHT))
    starts = {0, n_first}
    if n_at_once is not None:
        step = max(1, n_at_once // n_kinds)
        starts |= {*range(1, n_first, step), *range(n_first, n_splits, step)}
    bounds = [*sorted(start for start in starts if start < n_splits), n_splits]
    return [range(first, end) for first, end in pairwise(bounds)]


def _is_late(trial: Trial) -> bool:
    return trial.status is Status.TIME_LIMIT


def _average(
    rounds: Sequence[_Round],
    task: Task,
    results: Mapping[str, Array],
) -> CrossFit:
    """Return the weighted average of all members."""
    weights = blend(rounds, task)
    members: list[Member] = []
    layouts: list[Layout | None] = []
    for weight, of_kind in zip(weights, rounds, strict=True):
        if weight > 0.0:
            share = weight / len(of_kind.members)
            members += [replace(member, weight=share) for member in of_kind.members]
            layouts += [trial.layout for trial in of_kind.trials]
    return CrossFit(
        members=tuple(members),
        layouts=layouts,
        held_out=_blended(rounds, weights),
        is_average=True,
        results=results,
    )


def _refitted(
    rows: FitRows,
    chosen: _Round,
    key: int,
    schedule: Schedule,
    results: Mapping[str, Array],
) -> CrossFit:
    """Return one path, fitted to all rows with the best ridge and number of steps."""
    settings = chosen.settings
    layout = rows.lay_out(settings)
    fit = Fit.of(settings, layout, key)
    best = chosen.best
    limit = fit.recipe.max_iter
    if settings.tunes_steps:
        multiple = float(np.mean(np.divide(best.steps, [trial.k0 for trial in chosen.trials])))
        limit = min(limit, max(1, round(multiple * fit.k0)))
    l2 = settings.ridges(layout.design.total_weight)[best.ridge]
    fit = replace(fit, recipe=replace(fit.recipe, l2=l2, max_iter=limit))
    trial = fit.run(schedule)
    return CrossFit(
        members=(trial.best_member(),),
        layouts=[trial.layout],
        held_out=chosen.held_out,
        is_average=False,
        results=results,
    )


def blend(rounds: Sequence[_Round], task: Task) -> list[float]:
    """Return the convex weights of one or two kinds with the least loss of held-out rows."""
    if len(rounds) == 1:
        return [1.0]

    def risk(weight: float) -> float:
        return task.risk(_blended(rounds, [weight, 1.0 - weight]))

    best = minimize_scalar(
        risk,
        bounds=(0.0, 1.0),
        method="bounded",
        options={"xatol": 1e-3},
    )
    # Sums in another order differ in the last digits; weights must not.
    weight = round(float(best.x), 2)
    if weight < _LEAST_WEIGHT:
        weight = 0.0
    elif weight > 1.0 - _LEAST_WEIGHT:
        weight = 1.0
    return [weight, round(1.0 - weight, 2)]


def _blended(rounds: Sequence[_Round], weights: Sequence[float]) -> list[HeldOut]:
    """Return the weighted sums of what all kinds predict for the held-out rows of each split."""
    blended = []
    for parts in zip(*(part.held_out for part in rounds), strict=True):
        decisions = [w * part.decision for w, part in zip(weights, parts, strict=True)]
        blended.append(parts[0]._replace(decision=np.add.reduce(decisions)))
    return blended


def _has_fewer_errors(held_out: Sequence[HeldOut], others: Sequence[HeldOut]) -> bool:
    """Return whether decision values predict more labels than others, by a standard error."""
    gain = 0.0
    variance = 0.0
    for part, other in zip(held_out, others, strict=True):
        gains = _is_right(part).astype(float) - _is_right(other)
        gain += part.weights @ gains
        variance += part.weights @ gains**2
    return bool(gain > np.sqrt(variance))


def _is_right(part: HeldOut) -> Flags:
    """Return whether each row has the predicted class."""
    decision = part.decision
    predicted = decision.argmax(axis=1) if decision.shape[1] > 1 else decision[:, 0] > 0.0
    return np.asarray(predicted == part.target)
