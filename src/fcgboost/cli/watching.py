"""One watch over all paths of a fit: how far it is, and whether its time is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from fcgboost.stopping import Status, Step
from fcgboost.training.settings import resolve
from fcgboost.training.tuning import n_trials

# The first steps of a path count for the whole fit, but not for the path's part of the time: in a
# new process every family of atoms is compiled in one of them.
_WARM_UP = 4


class Plan(NamedTuple):
    """The paths of a fit: first trials, to choose by, then those of the model not made by these."""

    n_trials: int
    n_others: int
    n_steps: int  # the most that one path has

    @property
    def n_paths(self) -> int:
        return self.n_trials + self.n_others

    def name(self, number: int) -> str:
        """Name a path; the first one has the number 1."""
        if number <= self.n_trials:
            return f"path {number} of {self.n_trials} to choose by"
        if self.n_others <= 1:
            return "the path of the model"
        return f"path {number - self.n_trials} of {self.n_others} of the model"


def plan_of(classifier: Any, n_rows: int, n_classes: int) -> Plan:
    """Return the paths that a classifier makes at most for so many rows without weights."""
    settings = resolve(classifier, has_validation_data=False)
    n_steps = settings.n_steps(n_rows)
    if not settings.chooses:
        return Plan(0, 1, n_steps)
    n_averaged = settings.n_averaged(n_rows * (1 if n_classes == 2 else n_classes))
    is_held_out = settings.validation_fraction is not None
    return Plan(n_trials(n_rows, is_held_out), n_averaged, n_steps)


class Cut(NamedTuple):
    """A path that the time limit ended."""

    path: str
    steps: int
    seconds: float

    def __str__(self) -> str:
        steps = "1 step" if self.steps == 1 else f"{self.steps} steps"
        return f"{self.path} after {self.seconds:.1f} s and {steps}"


class Watch:
    """A stopping rule for all paths of a fit, which also shows how far it is.

    Every path may take an equal part of the time that is left after its first steps; what it does
    not need is left to those after it. So the last path has its time, too, and the whole fit ends
    by about `time_limit` seconds (0: no limit). `cuts` are the paths that the limit ended; `show`
    is called after every step with the share of the fit that is done and a text.
    """

    def __init__(
        self,
        plan: Plan,
        time_limit: float,
        show: Callable[[float, str], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.plan, self.time_limit = plan, time_limit
        self.cuts: list[Cut] = []
        self._show, self._clock = show, clock
        self._start = self._path_start = self._last = self._counted = clock()
        self._number, self._k, self._longest, self._done = 0, 0, 0, 0.0

    @property
    def seconds(self) -> float:
        return self._clock() - self._start

    def __call__(self, step: Step) -> Status | None:
        """Return TIME_LIMIT once the path has taken its part of the time."""
        if step.k != self._k + 1 or self._number == 0:
            self._number += 1
            self._path_start = self._counted = self._last
            self._longest = max(self._longest, self._k)
        self._k, self._last = step.k, self._clock()
        if step.k <= _WARM_UP:
            self._counted = self._last
        used = self._used()
        self._tell(step, used)
        if used < 1.0:
            return None
        name = self.plan.name(self._number)
        self.cuts.append(Cut(name, step.k, self._last - self._path_start))
        return Status.TIME_LIMIT

    def _used(self) -> float:
        """Return how much of its time the path has taken, as a share."""
        if self.time_limit == 0.0:
            return 0.0
        left = self._start + self.time_limit - self._counted
        n_left = max(1, self.plan.n_paths - self._number + 1)
        return (self._last - self._counted) * n_left / left if left > 0.0 else 1.0

    def _tell(self, step: Step, used: float) -> None:
        # Of a path it is known only later how long it is: about as long as the longest before it.
        share = min(1.0, max(step.k / (self._longest or self.plan.n_steps), used))
        self._done = max(self._done, min(1.0, (self._number - 1 + share) / self.plan.n_paths))
        path = f"{self.plan.name(self._number)}, " if self.plan.n_paths > 1 else ""
        atoms = "1 atom" if step.n_atoms == 1 else f"{step.n_atoms} atoms"
        self._show(self._done, f"{path}step {step.k}, {atoms}")
