"""Choosing the ridge and the number of steps: what l2="auto" means for a preset.

Paths are fitted for several strengths of the ridge, weakest first, and one that falls far behind
the best so far is given up. With validation data the best path is the result. Without, rows are set
aside for the choice only (several times where there are few), and all rows are fitted again as was
chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing
from fcgboost.data import Data, can_be_split, split_data
from fcgboost.fitting import Run, run_on
from fcgboost.parameters import Parts
from fcgboost.presets import Preset, preset_of
from fcgboost.schemes import FullyCorrective
from fcgboost.stopping import FarBehind, Status, StoppingRule
from fcgboost.trace import Trace

# The share of the rows that is set aside for the choice, and how often: rows are few where a
# single split leaves the choice to chance.
_SHARE = 0.25
_FEW_ROWS, _SPLITS_OF_FEW = 2_000, 4
# A path whose score has not risen for k0 steps, but at least so many, is given up: that costs
# nothing measurable and saves up to two thirds of the time.
_PATIENCE = 20
# The multiples of k0 at which a path that is a standard error behind the best is given up, which
# costs nothing measurable either and saves half the time.
_MARKS = (1, 2, 4)
# The numbers of steps that are compared where paths of several splits have a vote.
_MULTIPLES = tuple(i / 4 for i in range(1, 41))


class Chosen(NamedTuple):
    """A run with the ridge and the number of steps that were chosen.

    Attributes
    ----------
    run : Run
    path : (Trace, Status) or None
        Its path, where the choice has made it already.
    """

    run: Run
    path: tuple[Trace, Status] | None


def chooses(p: Any, parts: Parts) -> bool:
    """Whether an estimator's parameters leave the ridge to validation."""
    is_ridge = isinstance(parts.scheme, FullyCorrective)
    return preset_of(p.dictionary) is not None and p.l2 == "auto" and is_ridge


def choose(
    p: Any, run: Run, parts: Parts, data: tuple[NDArray[Any], Data], rules: list[StoppingRule]
) -> Chosen:
    """Try every strength of the preset.

    Parameters
    ----------
    p : FCGBoostClassifier
    run : Run
        On all the data, with any strength.
    parts : Parts
    data : classes, Data
        The training rows, of which some are set aside where the run has no validation data.
    rules : list of stopping rules
        Those of the user, which end every path.
    """
    preset, resume = preset_of(p.dictionary), run.start.resume
    assert preset is not None
    has_validation_data = run.ground.validator is not None
    patience = _patience(run) if has_validation_data else None
    if resume is not None and run.start.l2 is not None:
        # The path that goes on has its ridge, and without validation data its number of steps.
        n_steps = None if has_validation_data else len(resume.forward())
        return Chosen(run.with_ridge(run.start.l2, n_steps, patience), None)
    if not has_validation_data:
        strength, multiple = _vote(p, run, parts, data, preset, rules)
        return Chosen(run.with_ridge(_ridge(run, strength), round(multiple * run.k0)), None)
    trials, paths = _race(run, preset, rules)
    best = (_smallest if preset.is_small else _strongest)(trials, [trace for trace, _ in paths])
    # With a file to write, the path is made again for it.
    path = paths[best] if p.checkpoint is None else None
    return Chosen(run.with_ridge(trials[best].recipe.l2, patience=patience), path)


def _race(
    run: Run, preset: Preset, rules: list[StoppingRule]
) -> tuple[list[Run], list[tuple[Trace, Status]]]:
    """Try every strength; give up those that fall far behind the best of the weaker ones."""
    trials, paths, leader = [], [], np.zeros(0)
    marks = [multiple * run.k0 for multiple in _MARKS]
    for strength in reversed(preset.strengths):
        trials.append(_trial(run, strength))
        rule = FarBehind(leader, marks, run.error)
        paths.append(trials[-1].path([rule, *rules], None))
        scores = paths[-1][0].forward().column("validation_score")
        if len(leader) == 0 or scores.max(initial=-np.inf) >= leader.max():
            leader = scores
    # The strongest first: of equals it wins.
    return trials[::-1], paths[::-1]


def _strongest(trials: Sequence[Run], traces: Sequence[Trace]) -> int:
    """Give the number of the first path whose best score is as good as the best of all."""
    tops = [trial.top(trace) for trial, trace in zip(trials, traces, strict=True)]
    enough = max(tops) - trials[0].slack(max(tops))
    return next(i for i, top in enumerate(tops) if top >= enough)


def _smallest(trials: Sequence[Run], traces: Sequence[Trace]) -> int:
    """Give the number of the path that has the smallest model which is as good as the best."""
    tops = [trial.top(trace) for trial, trace in zip(trials, traces, strict=True)]
    best = max(tops)
    sizes = []
    for trial, trace, top in zip(trials, traces, tops, strict=True):
        if len(trace) == 0 or top < best - trial.slack(best):
            sizes.append(np.inf)
        else:
            sizes.append(float(trace[trial.kept(trace, best)[0] - 1].n_atoms))
    return int(np.argmin(sizes))


def _vote(
    p: Any,
    run: Run,
    parts: Parts,
    data: tuple[NDArray[Any], Data],
    preset: Preset,
    rules: list[StoppingRule],
) -> tuple[float, float]:
    """Give the strength and the multiple of k0 that did best on rows set aside."""
    classes, train = data
    if not can_be_split(train):
        # Nothing to choose by: a strong ridge makes up for many steps.
        return preset.strength, 5.0
    total: NDArray[np.float64] = np.zeros((len(preset.strengths), len(_MULTIPLES)))
    n_splits = _SPLITS_OF_FEW if run.ground.design.total_weight <= _FEW_ROWS else 1
    for i in range(n_splits):
        key = hashing.derive(run.start.key, -1 - i) >> 33
        kept, aside = split_data(train, _SHARE, key)
        split = run_on(p, parts, classes, kept, aside, run.start.anew())
        _, paths = _race(split, preset, rules)
        for row, (trace, _) in zip(total, paths, strict=True):
            row += _at_multiples(trace, split.k0)
    best, multiple = np.unravel_index(int(np.argmax(total)), total.shape)
    return preset.strengths[int(best)], _MULTIPLES[int(multiple)]


def _trial(run: Run, strength: float) -> Run:
    """Give a run that ends when its score has not risen for a while."""
    return run.trial(_ridge(run, strength), _patience(run))


def _patience(run: Run) -> int:
    return max(_PATIENCE, run.k0)


def _ridge(run: Run, strength: float) -> float:
    return strength / float(np.sqrt(run.ground.design.total_weight))


def _at_multiples(trace: Trace, k0: int) -> NDArray[np.float64]:
    """Give the scores after some multiples of k0; the last one where a path was given up."""
    scores: Sequence[float] = [float(step.validation_score or 0.0) for step in trace.forward()]
    if not scores:
        return np.zeros(len(_MULTIPLES))
    ends = [min(max(1, round(multiple * k0)), len(scores)) for multiple in _MULTIPLES]
    return np.array([scores[end - 1] for end in ends])
