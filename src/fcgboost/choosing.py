"""Choosing the ridge and the number of steps: what "auto" means for them in a preset.

Paths are fitted for several strengths of the ridge, weakest first, and one that falls far behind
the best so far is given up. With validation data the best path is the result. Without, rows are set
aside for the choice only (several times where there are few), and all rows are fitted again as was
chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing
from fcgboost.data import DataSet, can_be_split, split_data
from fcgboost.fitting import Run, run_on
from fcgboost.parameters import Parts
from fcgboost.presets import preset_of
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
    path: tuple[Trace, Status] | None = None


def chooses(p: Any, parts: Parts) -> bool:
    """Whether an estimator's parameters leave the ridge or the number of steps to validation."""
    is_left = "auto" in (p.l2, p.max_iter) and isinstance(parts.scheme, FullyCorrective)
    return preset_of(p.dictionary) is not None and is_left


def n_trials(p: Any, n_rows: float, has_validation_data: bool) -> int:
    """Return how many paths the choice makes: one for every ridge, on every split of few rows."""
    preset = preset_of(p.dictionary)
    n_ridges = len(preset.strengths) if preset is not None and p.l2 == "auto" else 1
    return n_ridges if has_validation_data else n_ridges * _n_splits(n_rows)


def choose(
    p: Any, run: Run, parts: Parts, data: tuple[NDArray[Any], DataSet], rules: list[StoppingRule]
) -> Chosen:
    """Try every strength of the preset.

    Parameters
    ----------
    p : FCGBoostClassifier
    run : Run
        On all the data, with any strength.
    parts : Parts
    data : classes, DataSet
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
        return Chosen(run.with_ridge(run.start.l2, n_steps, patience))
    if not has_validation_data:
        return _vote(p, run, parts, data, rules)
    trials, paths = _race(run, _ridges(p, run), rules)
    best = (_smallest if preset.is_small else _strongest)(trials, [trace for trace, _ in paths])
    # With a file to write, the path is made again for it.
    path = paths[best] if p.checkpoint is None else None
    return Chosen(run.with_ridge(trials[best].recipe.l2, patience=patience), path)


def _race(
    run: Run, ridges: Sequence[float], rules: list[StoppingRule]
) -> tuple[list[Run], list[tuple[Trace, Status]]]:
    """Try every ridge; give up those that fall far behind the best of the weaker ones."""
    trials, paths, leader = [], [], np.zeros(0)
    marks = [multiple * run.k0 for multiple in _MARKS]
    for l2 in reversed(ridges):
        trials.append(run.trial(l2, _patience(run)))
        rule = FarBehind(leader, marks, run.error)
        paths.append(trials[-1].path([rule, *rules], None))
        scores = paths[-1][0].forward().column("validation_score")
        if len(leader) == 0 or scores.max(initial=-np.inf) >= leader.max():
            leader = scores
    # The strongest first: of equals it wins.
    return trials[::-1], paths[::-1]


def _strongest(trials: Sequence[Run], traces: Sequence[Trace]) -> int:
    """Return the number of the first path whose best score is as good as the best of all."""
    tops = [trial.top(trace) for trial, trace in zip(trials, traces, strict=True)]
    enough = max(tops) - trials[0].slack(max(tops))
    return next(i for i, top in enumerate(tops) if top >= enough)


def _smallest(trials: Sequence[Run], traces: Sequence[Trace]) -> int:
    """Return the number of the path that has the smallest model which is as good as the best."""
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
    data: tuple[NDArray[Any], DataSet],
    rules: list[StoppingRule],
) -> Chosen:
    """Choose the ridge and the number of steps that did best on rows set aside."""
    (classes, train), ridges = data, _ridges(p, run)
    if not can_be_split(train, needs_all=p.scoring is not None):
        # Nothing to choose by: a strong ridge makes up for many steps.
        return Chosen(run.with_ridge(run.recipe.l2, 5 * run.k0))
    total: NDArray[np.float64] = np.zeros((len(ridges), len(_MULTIPLES)))
    n_splits = _n_splits(run.ground.design.total_weight)
    splits = []
    for i in range(n_splits):
        key = hashing.derive(run.start.key, -1 - i) >> 33
        kept, aside = split_data(train, _SHARE, key)
        split = run_on(p, parts, classes, kept, aside, run.start.anew())
        splits.append((split, _compared(p, split, rules)))
        for row, trace in zip(total, splits[-1][1], strict=True):
            row += _at_multiples(trace, split.k0)
    best, number = _winner(p, split, total / n_splits)
    multiple = _MULTIPLES[number]
    found = run.with_ridge(ridges[best], round(multiple * run.k0))
    found.held_out = [
        split.judged(split.model(traces[best], _end(traces[best], multiple, split.k0)))
        for split, traces in splits
    ]
    return Chosen(found)


def _winner(p: Any, run: Run, scores: NDArray[np.float64]) -> tuple[int, int]:
    """Return the place of the best of mean scores: a row per ridge, a column per number of steps.

    Of small models, the fewest steps that are as good, and of these the best.
    """
    preset, top = preset_of(p.dictionary), float(scores.max())
    if preset is not None and preset.is_small:
        fewest = int(np.argmax((scores >= top - run.slack(top)).any(axis=0)))
        return int(np.argmax(scores[:, fewest])), fewest
    row, column = np.unravel_index(int(np.argmax(scores)), scores.shape)
    return int(row), int(column)


def _compared(p: Any, run: Run, rules: list[StoppingRule]) -> list[Trace]:
    """Return the paths of all ridges whose scores are compared, or the ends of them.

    Where the number of steps is given, no other one matters.
    """
    ridges = _ridges(p, run)
    if p.max_iter == "auto":
        return [trace for trace, _ in _race(run, ridges, rules)[1]]
    traces = [run.trial(l2, None).path(rules, None)[0].forward() for l2 in ridges]
    return [replace(trace, steps=trace.steps[-1:]) for trace in traces]


def _ridges(p: Any, run: Run) -> list[float]:
    """Return what the ridge may be, strongest first: of equals that one wins."""
    preset = preset_of(p.dictionary)
    assert preset is not None
    if p.l2 != "auto":
        return [float(p.l2)]
    return [
        strength / float(np.sqrt(run.ground.design.total_weight)) for strength in preset.strengths
    ]


def _n_splits(n_rows: float) -> int:
    return _SPLITS_OF_FEW if n_rows <= _FEW_ROWS else 1


def _patience(run: Run) -> int:
    return max(_PATIENCE, run.k0)


def _at_multiples(trace: Trace, k0: int) -> NDArray[np.float64]:
    """Return the scores after some multiples of k0; the last one where a path was given up."""
    scores: Sequence[float] = [float(step.validation_score or 0.0) for step in trace.forward()]
    if not scores:
        return np.zeros(len(_MULTIPLES))
    return np.array([scores[_end(trace, multiple, k0) - 1] for multiple in _MULTIPLES])


def _end(trace: Trace, multiple: float, k0: int) -> int:
    """Return a multiple of k0 as a number of steps, from one to the whole path."""
    return min(max(1, round(multiple * k0)), len(trace.forward()))
