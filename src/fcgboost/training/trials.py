"""What held-out rows say about paths: the best ridge penalty and number of steps.

One grid of ridges and steps serves any number of splits: the mean score over them decides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fcgboost.arrays import Array, Codes
from fcgboost.calibration import HeldOut
from fcgboost.greedy.path import Trace
from fcgboost.members import Member
from fcgboost.stopping import Status
from fcgboost.threads import cached
from fcgboost.training.layout import Judge, Layout, View
from fcgboost.training.settings import Settings
from fcgboost.training.tasks import Task


@dataclass(frozen=True)
class Trial:
    """A path and its twins with other ridges, strongest first, on the same training rows."""

    settings: Settings
    task: Task
    view: View
    judge: Judge | None
    k0: int
    ridges: Sequence[float]
    traces: Sequence[Trace]
    status: Status
    #: Where metrics are computed, if there are any.
    layout: Layout | None = None

    @cached
    def stages(self) -> Stages:
        """The scored records; all ridges have the same.

        A path that has none counts as a record of no steps, whose scores are not defined.
        """
        records = np.flatnonzero([step.validation_score is not None for step in self.traces[0]])
        if len(records) == 0:
            nothing = np.zeros((len(self.ridges), 1))
            return Stages(np.zeros(1, dtype=np.intp), nothing + np.nan, nothing)
        return Stages(
            self.traces[0].column("k")[records],
            np.stack([trace.scores[records] for trace in self.traces]),
            np.stack([trace.column("n_atoms")[records] for trace in self.traces]),
        )

    def member(self, ridge: int, k: int) -> Member:
        """Return k steps with one of the ridges as a member."""
        view = self.view
        trace = self.task.path(self.traces[ridge])
        model = trace.model(
            k,
            view.dictionary,
            view.scale,
            view.limits,
        )
        return Member(
            model=model,
            trace=trace,
            n_iter=k,
            l2=self.ridges[ridge],
            status=self.status,
            inputs=view.inputs,
            deviation=view.deviation,
        )

    def best_member(self) -> Member:
        """Return the member that the held-out rows prefer, or the last one."""
        if self.judge is None or len(self.traces[0]) == 0:
            return self.member(0, self.traces[0].n_steps)
        best = choose([self])
        return self.member(best.ridge, best.steps[0])

    def held_out(self, member: Member) -> list[HeldOut]:
        """Return what a member predicts for the held-out rows, if there are any."""
        return [] if self.judge is None else [self.judge.predicted(member)]


class Stages(NamedTuple):
    """The scores of numbers of steps, by ridge and stage, and by trial if there are several.

    `steps` are the numbers of steps of each stage, and `sizes` the mean numbers of atoms.
    """

    steps: Codes
    scores: Array
    sizes: Array


class Best(NamedTuple):
    """The best ridge, by its position, the number of steps in each trial, and the stages."""

    ridge: int
    steps: list[int]
    stages: Stages


def choose(trials: Sequence[Trial]) -> Best:
    """Return the ridge and the number of steps with the best mean score over trials.

    Among equal scores, the model with the fewest atoms wins. If small models are wanted, scores
    within a share of a standard error count as equal.
    """
    stages = _stages(trials)
    scores = _mean_scores(trials, stages)
    best = float(np.nanmax(scores))
    ridges, positions = np.nonzero(scores >= best - _slack(trials, best))
    sizes = stages.sizes[ridges, positions]
    order = np.lexsort((positions, ridges, -scores[ridges, positions], sizes))
    winner = order[0]
    return Best(int(ridges[winner]), stages.steps[positions[winner]].tolist(), stages)


def _mean_scores(trials: Sequence[Trial], stages: Stages) -> Array:
    """Return the mean scores over trials, leaving out those that are not defined.

    Where no path has a step, all are equal.
    """
    scores = stages.scores
    if not stages.steps.any():
        return np.zeros(scores.shape[:2])
    # A score is NaN where a fold lacks a class that it needs, or a path has no step.
    is_defined = ~np.isnan(scores)
    if not is_defined.any():
        raise ValueError(
            f"scoring={trials[0].settings.scoring!r} is NaN on the held-out rows: check that every "
            "class occurs there."
        )
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(scores, axis=2) / is_defined.sum(axis=2))


def _stages(trials: Sequence[Trial]) -> Stages:
    """Return the stages that are compared; a path that has ended keeps its last score."""
    steps = []
    scores = []
    sizes = []
    for trial in trials:
        own = np.searchsorted(trial.stages.steps, _compared(trial, trials), side="right") - 1
        records = np.maximum(own, 0)
        steps.append(trial.stages.steps[records])
        scores.append(trial.stages.scores[:, records])
        sizes.append(trial.stages.sizes[:, records])
    return Stages(np.stack(steps, axis=-1), np.stack(scores, axis=-1), np.mean(sizes, axis=0))


def _compared(trial: Trial, trials: Sequence[Trial]) -> Codes:
    """Return the numbers of steps of a path at which trials are compared."""
    settings = trial.settings
    if settings.is_crossfitted and not settings.tunes_steps:
        # The given number of steps alone counts.
        return trial.stages.steps[-1:]
    longest = [other.traces[0].n_steps / other.k0 for other in trials]
    # The fewest atoms are multiples of the theory's number, unless all paths are shorter.
    if settings.tunes_steps and not settings.is_preset and max(longest) >= 1.0:
        return trial.k0 * np.arange(1, math.ceil(max(longest)) + 1)
    steps = np.unique(np.concatenate([other.stages.steps for other in trials]))
    return steps[steps > 0] if steps.any() else steps


def judged_weight(trials: Sequence[Trial]) -> float:
    """Return the weight of the rows that have judged trials."""
    return sum(trial.judge.weight for trial in trials if trial.judge is not None)


def _slack(trials: Sequence[Trial], score: float) -> float:
    """Return how far below a score is still equally good: a share of its standard error."""
    weight = judged_weight(trials)
    error = trials[0].task.standard_error(score, weight)
    return trials[0].settings.slack * error


def results_table(kinds: Sequence[Sequence[Trial]]) -> Mapping[str, Array]:
    """Return the scores of all kinds, ridges and stages as scikit-learn's searches do.

    A kind that was given up has no scores of the later splits.
    """
    names: list[str] = []
    ridges: list[float] = []
    steps: list[float] = []
    scores = []
    n_splits = max(map(len, kinds))
    for trials in kinds:
        stages = _stages(trials)
        n_stages = len(stages.steps)
        later = np.full((n_stages, n_splits - len(trials)), np.nan)
        for ridge, by_stage in enumerate(stages.scores):
            names += [type(trials[0].settings.dictionary).__name__] * n_stages
            # A mean of equal numbers may differ from them by rounding.
            l2 = float(np.mean(list({trial.ridges[ridge] for trial in trials})))
            ridges += [l2] * n_stages
            steps += stages.steps.mean(axis=1).tolist()
            scores.append(np.hstack([by_stage, later]))
    table = np.ma.masked_invalid(np.concatenate(scores))
    mean = table.mean(axis=1).filled(np.nan)
    return {
        "param_dictionary": np.array(names, dtype=object),
        "param_l2": np.array(ridges),
        "param_max_iter": np.array(steps),
        **{f"split{i}_test_score": column for i, column in enumerate(table.data.T)},
        "mean_test_score": mean,
        "std_test_score": table.std(axis=1).filled(np.nan),
        "rank_test_score": np.searchsorted(np.sort(-mean), -mean) + 1,
    }
