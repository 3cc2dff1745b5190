"""How a preset chooses the ridge and the number of steps.

Without validation data, rows are held out for the choice only (several times if they are few), and
the chosen setting is refitted to all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing
from fcgboost.greedy.path import Trace
from fcgboost.stopping import StoppingRule
from fcgboost.training.fit import Fit

# The share of held-out rows, and the number of splits of few rows, where the choice by a single
# split would depend on chance.
_SHARE = 0.25
_FEW_ROWS, _SPLITS_OF_FEW = 2_000, 4
# The choice uses at most this many rows.
_ENOUGH_ROWS = 1 << 20
# A path is given up after k0 steps without a better score, but at least this many: that costs
# nothing measurable and saves up to two thirds of the time.
_PATIENCE = 20
# Time of a trial relative to the final path, for trees with corrected leaves.
_TRIAL_OF_LEAVES = 2.0


def n_trials(n_rows: float, has_validation_data: bool = False) -> int:
    """Return how many paths the choice fits: one, or one per split of few rows."""
    return 1 if has_validation_data or n_rows > _FEW_ROWS else _SPLITS_OF_FEW


def paths_of(fit: Fit) -> list[float]:
    """Return the relative durations of the paths of a fit."""
    if not fit.settings.chooses:
        return [1.0]
    m, is_scored = fit.layout.design.total_weight, fit.layout.validator is not None
    goes_on = fit.state.path is not None and fit.state.l2 is not None
    trials = 0 if goes_on else n_trials(m, is_scored)
    # Correcting leaves takes most of the time, and a trial corrects them for every ridge.
    share = _TRIAL_OF_LEAVES if fit.settings.dictionary.corrects_leaves else 1.0
    return trials * [share] + fit.settings.n_averaged(m * len(fit.layout.targets)) * [1.0]


def tune(fit: Fit, rules: list[StoppingRule]) -> Fit:
    """Return the fit with the best ridge and number of steps.

    Without validation data, some of the training rows are held out. The user's rules apply to every
    path.
    """
    state, is_scored = fit.state, fit.layout.validator is not None
    if state.path is not None and state.l2 is not None:
        # A continued path keeps its ridge, and without validation data its number of steps.
        n_steps = None if is_scored else len(state.path)
        return fit.with_ridge(state.l2, n_steps, _patience(fit) if is_scored else None)
    if is_scored:
        best = _best(fit, _compare(fit, rules, _patience(fit)))
        return fit.with_ridge(fit.ridges[best], patience=_patience(fit))
    if not fit.layout.can_be_split(needs_all=fit.settings.scoring is not None):
        # No rows to choose by: a strong ridge makes up for many steps.
        return fit.with_ridge(fit.recipe.l2, 5 * fit.k0)
    return (_choose if fit.settings.dictionary.corrects_leaves else _vote)(fit, rules)


def _patience(fit: Fit) -> int:
    return max(_PATIENCE, fit.k0)


def _choose(fit: Fit, rules: list[StoppingRule]) -> Fit:
    """Choose the ridge and the number of steps on one split, for many rows."""
    split, is_free = _split(fit, 0), fit.settings.has_free_steps
    traces = _compare(split, rules, _patience(split) if is_free else None)
    best = _best(split, traces)
    k = split.n_kept(traces[best]) if is_free else len(traces[best])
    held_out = [split.layout.predicted(split.model(traces[best], k))]
    split.layout.forget()
    n_steps = traces[best][k - 1].k if k else 0
    return replace(fit.with_ridge(fit.ridges[best], n_steps), held_out=held_out)


def _split(fit: Fit, number: int) -> Fit:
    """Return the fit to some of the rows, validated on the others."""
    key = hashing.derive(fit.state.key, -1 - number) >> 33
    layout = fit.layout.split(fit.settings, _SHARE, _ENOUGH_ROWS, key)
    return Fit.of(fit.settings, layout, replace(fit.state, path=None))


def _compare(fit: Fit, rules: list[StoppingRule], patience: int | None) -> list[Trace]:
    """Return the paths of all ridges, strongest first, with the atoms that one of them chose.

    Sharing the atoms costs nothing measurable and saves a path per ridge.
    """
    ridges = fit.ridges
    leader = ridges[min(fit.settings.preset.leader, len(ridges) - 1)]
    others = tuple(l2 for l2 in ridges if l2 != leader)
    trial = fit.with_ridge(leader, patience=patience).anew("to choose: ")
    trial = replace(trial, recipe=replace(trial.recipe, other_l2=others))
    found = dict(zip((leader, *others), trial.ridge_paths(rules), strict=True))
    return [found[l2] for l2 in ridges]


def _best(fit: Fit, traces: Sequence[Trace]) -> int:
    """Return the index of the strongest ridge, or of the smallest model, that is good enough."""
    tops = [float(np.nanmax(trace.scores, initial=-np.inf)) for trace in traces]
    best = max(tops)
    good = [i for i, top in enumerate(tops) if top >= best - fit.slack(best)]
    if not fit.settings.preset.is_small:
        return good[0]
    sizes = {i: traces[i][fit.n_kept(traces[i], best) - 1].n_atoms for i in good if len(traces[i])}
    return min(sizes, key=sizes.__getitem__, default=0)


def _vote(fit: Fit, rules: list[StoppingRule]) -> Fit:
    """Choose the ridge and the number of steps by the mean score over the splits."""
    settings, splits = fit.settings, []
    for i in range(n_trials(fit.layout.design.total_weight)):
        split = _split(fit, i)
        is_free = settings.has_free_steps
        traces = _compare(split, rules, _patience(split) if is_free else None)
        if not is_free:
            # Only the given number of steps matters.
            traces = [replace(trace, steps=trace.steps[-1:]) for trace in traces]
        splits.append((split, traces))
    preset = settings.preset
    multiples = np.arange(1, preset.limit * preset.n_parts + 1) / preset.n_parts
    scores = [[_scores(trace, multiples, one.k0) for trace in own] for one, own in splits]
    best, number = _winner(split, np.mean(scores, axis=0))
    multiple = float(multiples[number])
    held_out = []
    for split, traces in splits:
        k = int(_ends(traces[best], np.array(multiple), split.k0))
        held_out.append(split.layout.predicted(split.model(traces[best], k)))
        split.layout.forget()
    return replace(fit.with_ridge(fit.ridges[best], round(multiple * fit.k0)), held_out=held_out)


def _winner(fit: Fit, scores: NDArray[np.float64]) -> tuple[int, int]:
    """Return the row (ridge) and column (number of steps) of the best mean score.

    If small models are wanted, the fewest steps that are good enough, and the best ridge there.
    """
    best = float(scores.max())
    if fit.settings.preset.is_small:
        fewest = np.argmax((scores >= best - fit.slack(best)).any(axis=0))
        return int(np.argmax(scores[:, fewest])), int(fewest)
    row, column = np.unravel_index(np.argmax(scores), scores.shape)
    return int(row), int(column)


def _scores(trace: Trace, multiples: NDArray[np.float64], k0: int) -> list[float]:
    """Return the scores at multiples of k0; the last one if a path was given up."""
    ends = _ends(trace, multiples, k0).tolist()
    return [float(trace[k - 1].validation_score or 0.0) if k else 0.0 for k in ends]


def _ends(trace: Trace, multiples: NDArray[np.float64], k0: int) -> NDArray[np.intp]:
    """Return the number of scored steps up to multiples of k0, at least one."""
    n_judged = np.searchsorted(trace.column("k"), np.rint(multiples * k0), side="right")
    return np.minimum(np.maximum(1, n_judged), len(trace))
