"""The progress of a fit over all of its paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fcgboost.stopping import Step
from fcgboost.training.settings import resolve
from fcgboost.training.tuning import n_trials


class Plan(NamedTuple):
    """The paths of a fit: first those that choose on validation rows, then those of the model."""

    n_trials: int
    n_others: int
    n_steps: int  # the most that one path has

    @property
    def n_paths(self) -> int:
        return self.n_trials + self.n_others

    def name(self, number: int) -> str:
        """Name a path; the first one has the number 1."""
        if number <= self.n_trials:
            return f"validation path {number} of {self.n_trials}"
        if self.n_others <= 1:
            return "final path"
        return f"final path {number - self.n_trials} of {self.n_others}"


def plan_of(classifier: Any, n_rows: int, n_classes: int, has_text: bool = False) -> Plan:
    """Return the most paths that a classifier makes for so many unweighted rows."""
    settings = resolve(classifier, has_validation_data=False).at(n_rows, 0, has_text)
    n_steps = settings.n_steps(n_rows)
    if not settings.chooses:
        return Plan(0, 1, n_steps)
    n_averaged = settings.n_averaged(n_rows * (1 if n_classes == 2 else n_classes))
    is_held_out = settings.validation_fraction is not None
    return Plan(n_trials(n_rows, is_held_out), n_averaged, n_steps)


class Watch:
    """A callback for all paths of a fit that shows its progress and never stops it.

    `show` is called after every step with the share of the fit that is done and a text.
    """

    def __init__(self, plan: Plan, show: Callable[[float, str], None]) -> None:
        self.plan, self._show = plan, show
        self._number, self._k, self._longest, self._done = 0, 0, 0, 0.0

    def __call__(self, step: Step) -> None:
        """Show a step."""
        if step.k != self._k + 1 or self._number == 0:
            self._number += 1
            self._longest = max(self._longest, self._k)
        self._k = step.k
        # Of a path it is known only later how long it is: about as long as the longest before it.
        share = min(1.0, step.k / (self._longest or self.plan.n_steps))
        self._done = max(self._done, min(1.0, (self._number - 1 + share) / self.plan.n_paths))
        path = f"{self.plan.name(self._number)}, " if self.plan.n_paths > 1 else ""
        atoms = "1 atom" if step.n_atoms == 1 else f"{step.n_atoms} atoms"
        self._show(self._done, f"{path}step {step.k}, {atoms}")
