"""The average of several paths of one recipe with other draws, which depends less on chance.

Atoms are drawn, so two paths differ, the more the fewer rows there are, and what they do not have
in common is mostly wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing
from fcgboost.designs.base import Array
from fcgboost.dictionaries import stack_rows
from fcgboost.stopping import Step, StoppingRule
from fcgboost.trace import Trace, Validator
from fcgboost.training.fit import Fit


def average(fit: Fit, first: Trace, rules: list[StoppingRule]) -> Trace:
    """Fit the other paths, as many steps of each, and return the average of all.

    The user's rules see their steps, too, and may end them earlier.
    """
    design = fit.layout.design
    n = fit.settings.n_averaged(design.total_weight * len(fit.layout.targets))
    if n == 1 or not fit.settings.chooses or len(first) == 0:
        return first
    first = first.forward()
    paths = [_other(fit, number, len(first)).path(rules, None)[0] for number in range(1, n)]
    mean, validator = averaged([first, *filter(len, paths)]), fit.layout.validator
    return _scored(mean, validator) if isinstance(validator, Validator) else mean


def _other(fit: Fit, number: int, n_steps: int) -> Fit:
    """Return a fit with other draws that makes so many steps and is not scored."""
    key = hashing.derive(fit.start.key, number) >> 33
    return replace(
        fit,
        recipe=replace(fit.recipe, key=key, max_iter=n_steps),
        layout=replace(fit.layout, validator=None),
        start=replace(fit.start, path=None),
        patience=None,
        title=f"path {number + 1}: ",
        is_written=False,
    )


def _scored(mean: Trace, validator: Validator) -> Trace:
    """Score every step of an average."""
    pairs = zip(mean, validator.scores(mean.steps, mean.atoms), strict=True)
    return replace(mean, steps=tuple(replace(s, validation_score=score) for s, score in pairs))


def averaged(traces: Sequence[Trace]) -> Trace:
    """Return the average of paths, step by step; a short one stays where it ended."""
    entered = np.concatenate([trace.entered for trace in traces])
    # In order of entry, and of the members where they entered at the same time.
    order = np.argsort(entered, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    starts = np.cumsum([0, *(len(trace.entered) for trace in traces)])
    members = [
        _Member(trace, places[start:end])
        for trace, start, end in zip(traces, starts, starts[1:], strict=False)
    ]
    n_entered = np.searchsorted(entered[order], np.arange(1, len(traces[0]) + 1), side="right")
    return Trace(
        steps=tuple(_average(members, k, int(n)) for k, n in enumerate(n_entered, start=1)),
        atoms=stack_rows([trace.atoms for trace in traces])[order],
        entered=entered[order],
        start=np.mean([trace.start for trace in traces], axis=0),
        endings=tuple(ending for trace in traces for ending in trace.endings),
        is_shared=traces[0].is_shared,
    )


class _Member(NamedTuple):
    """A path, and where its atoms are among those of all."""

    trace: Trace
    places: NDArray[np.intp]

    def at(self, k: int) -> Step:
        """Return the path's record after k steps, the last one if it ended before."""
        if k <= len(self.trace):
            return self.trace[k - 1]
        last = self.trace[-1]
        return replace(
            last,
            chosen=np.full_like(last.chosen, -1),
            scores=np.zeros_like(last.scores),
            solver_iterations=0,
            removed=last.removed[:0],
        )

    def chosen(self, step: Step) -> NDArray[np.intp]:
        """Return where the atoms are that a step chose."""
        return np.where(step.chosen >= 0, self.places[step.chosen], -1)

    def removed(self, step: Step) -> NDArray[np.intp]:
        """Return the outputs and where the atoms are that left in a step."""
        return np.column_stack([step.removed[:, 0], self.places[step.removed[:, 1]]])


def _average(members: Sequence[_Member], k: int, n_entered: int) -> Step:
    """Return the record of all paths after k steps."""
    steps = [member.at(k) for member in members]
    coef: Array = np.zeros((len(steps[0].intercept), n_entered))
    for member, step in zip(members, steps, strict=True):
        coef[:, member.places[: step.n_entered]] = step.coef / len(members)
    intercept = np.mean([step.intercept for step in steps], axis=0)
    for values in (coef, intercept):
        values.setflags(write=False)
    pairs = list(zip(members, steps, strict=True))
    return Step(
        k=k,
        chosen=np.concatenate([member.chosen(step) for member, step in pairs]),
        scores=np.concatenate([step.scores for step in steps]),
        objectives=np.concatenate([step.objectives for step in steps]),
        coef=coef,
        intercept=intercept,
        solver_iterations=sum(step.solver_iterations for step in steps),
        residual=max(step.residual for step in steps),
        is_corrected=all(step.is_corrected for step in steps),
        seconds=sum(step.seconds for step in steps),
        removed=np.vstack([member.removed(step) for member, step in pairs]),
        gone=np.sort(np.concatenate([member.places[step.gone] for member, step in pairs])),
    )
