"""The average of several paths with different random draws, which depends less on chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing
from fcgboost.dictionaries import stack_rows
from fcgboost.greedy.path import Trace
from fcgboost.stopping import Step, StoppingRule
from fcgboost.training.fit import Fit


def average(fit: Fit, first: Trace, rules: list[StoppingRule]) -> Trace:
    """Fit further paths with as many steps and return the average of all.

    The user's rules apply to them too.
    """
    layout = fit.layout
    n = fit.settings.n_averaged(layout.design.total_weight * len(layout.targets))
    if n == 1 or not fit.settings.chooses or len(first) == 0:
        return first
    traces = [first]
    for number in range(1, n):
        key = hashing.derive(fit.state.key, number) >> 33
        recipe = replace(fit.recipe, key=key, max_iter=len(first))
        unscored = replace(layout, validator=None)
        other = fit.anew(f"path {number + 1}: ", recipe=recipe, layout=unscored, patience=None)
        traces.append(other.path(rules)[0])
    mean = averaged([trace for trace in traces if len(trace)])
    if layout.validator is None:
        return mean
    steps, judged = list(mean), [step.k for step in first if step.validation_score is not None]
    scores = layout.validator.scores([steps[k - 1] for k in judged], mean.atoms)
    for k, score in zip(judged, scores, strict=True):
        steps[k - 1] = replace(steps[k - 1], validation_score=score)
    return replace(mean, steps=tuple(steps))


def averaged(traces: Sequence[Trace]) -> Trace:
    """Return the average of paths, step by step; shorter ones keep their last step."""
    entered = np.concatenate([trace.entered for trace in traces])
    # In order of entry, then of the paths.
    order = np.argsort(entered, kind="stable")
    positions = np.split(np.argsort(order), np.cumsum([len(t.entered) for t in traces])[:-1])
    n_entered = np.searchsorted(entered[order], np.arange(1, len(traces[0]) + 1), side="right")
    steps = [
        _average([_after(trace, k) for trace in traces], positions, k, n)
        for k, n in enumerate(n_entered.tolist(), start=1)
    ]
    return Trace(
        steps=tuple(steps),
        atoms=stack_rows([trace.atoms for trace in traces])[order],
        entered=entered[order],
        start=np.mean([trace.start for trace in traces], axis=0),
        endings=tuple(ending for trace in traces for ending in trace.endings),
    )


def _after(trace: Trace, k: int) -> Step:
    """Return the record after k steps, or the last one if the path ended before."""
    if k <= len(trace):
        return trace[k - 1]
    last = trace[-1]
    chosen, scores = np.full_like(last.chosen, -1), np.zeros_like(last.scores)
    return replace(
        last, chosen=chosen, scores=scores, solver_iterations=0, removed=last.removed[:0]
    )


def _average(
    steps: Sequence[Step], positions: Sequence[NDArray[np.intp]], k: int, n_entered: int
) -> Step:
    """Return the average of step k; positions are those of each path's atoms among all."""
    coef = np.zeros((len(steps[0].intercept), n_entered))
    intercept = np.mean([step.intercept for step in steps], axis=0)
    chosen, removed, gone = [], [], []
    for step, own in zip(steps, positions, strict=True):
        coef[:, own[: step.n_entered]] = step.coef / len(steps)
        chosen.append(np.where(step.chosen >= 0, own[step.chosen], -1))
        removed.append(np.column_stack([step.removed[:, 0], own[step.removed[:, 1]]]))
        gone.append(own[step.gone])
    return Step(
        k=k,
        chosen=np.concatenate(chosen),
        scores=np.concatenate([step.scores for step in steps]),
        objectives=np.concatenate([step.objectives for step in steps]),
        coef=coef,
        intercept=intercept,
        solver_iterations=sum(step.solver_iterations for step in steps),
        residual=max(step.residual for step in steps),
        is_corrected=all(step.is_corrected for step in steps),
        seconds=sum(step.seconds for step in steps),
        removed=np.vstack(removed),
        gone=np.sort(np.concatenate(gone)),
    )
