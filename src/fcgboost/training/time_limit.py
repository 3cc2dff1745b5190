"""A time limit for a whole fit, shared among its paths."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

from fcgboost.stopping import Status, Step
from fcgboost.training.dataset import Data, subsample

# The share of the limit reserved for the work after the last path.
_KEPT = 0.03
# The time of the first steps relative to reading the rows, and the smallest share of rows to keep.
_WORK = 24.0
_LEAST_SHARE = 0.02
# Never drop rows below this number.
_ENOUGH_ROWS = 10_000
# The next correction of all coefficients, or the next split, takes at most this many times as long
# as the longest so far.
_LONGER = 1.5


@dataclass
class _Path:
    """When a path made its last step, when it must end, and the longest correction so far."""

    last: float
    end: float
    longest: float = 0.0


@dataclass
class TimeLimit:
    """A stopping rule shared by all paths of a fit.

    The paths that a fit needs at least share the time. What they leave is for further splits: one
    begins if there is time for another like the longest so far, and for the path after the last.

    Parameters
    ----------
    seconds : float
        Time for the whole fit, from now on.
    clock : callable, default=time.perf_counter
    """

    seconds: float
    clock: Callable[[], float] = time.perf_counter
    #: Whether the limit has ended a path.
    is_reached: bool = False
    _n_at_once: int = 1
    #: How many paths of a split run one after the other, and how many follow the last split.
    _n_rounds: int = 1
    _n_finals: int = 0
    _paths: dict[int, _Path] = field(default_factory=dict)
    _split_started: float | None = None
    _longest_split: float = 0.0

    def __post_init__(self) -> None:
        self._started = self.clock()

    @property
    def _left(self) -> float:
        return self._started + (1.0 - _KEPT) * self.seconds - self.clock()

    def plan(self, n_kinds: int, has_final: bool, n_at_once: int = 1) -> None:
        """Set how many paths a split has and run at once, and whether one follows the last."""
        self._n_at_once = n_at_once
        self._n_rounds = math.ceil(n_kinds / n_at_once)
        self._n_finals = int(has_final)
        taken = self.clock() - self._started
        if taken > self.seconds:
            warnings.warn(
                f"Reading and checking the data took {taken:.2g} s, longer than "
                f"time_limit={self.seconds:g}: each path ends after one step.",
                stacklevel=8,
            )

    def allows_split(self) -> bool:
        """Return whether there is time for another split; the first is always made."""
        now = self.clock()
        if self._split_started is None:
            self._split_started = now
            return True
        self._longest_split = max(self._longest_split, now - self._split_started)
        self._split_started = now
        needed = self._longest_split * (1 + self._n_finals / self._n_rounds)
        return self._left > _LONGER * needed

    def affordable_rows(self, data: Data) -> Data:
        """Return as many training rows as there is time for."""
        taken = self.clock() - self._started
        n_rows = len(data.train.weights)
        share = (self.seconds - taken) / (_WORK * taken) if taken > 0.0 else 1.0
        data = subsample(data, max(share, _LEAST_SHARE, _ENOUGH_ROWS / n_rows))
        if len(data.train.weights) < n_rows:
            warnings.warn(
                f"time_limit={self.seconds:g} is too short for all rows: only "
                f"{len(data.train.weights):,} of {n_rows:,} are used.",
                stacklevel=6,
            )
        return data

    def __call__(self, step: Step) -> Status | None:
        assert step.progress is not None
        now = self.clock()
        number = step.progress.path
        path = self._paths.get(number)
        if path is None:
            end = now + self._left / self._n_left(number, step.progress.fold)
            path = self._paths[number] = _Path(now, end)
        elif step.solver_iterations > 0:
            path.longest = max(path.longest, now - path.last)
        path.last = now
        if now + _LONGER * path.longest < path.end:
            return None
        self.is_reached = True
        return Status.TIME_LIMIT

    def _n_left(self, number: int, fold: int | None) -> int:
        """Return how many paths, one after the other, a path shares the time with."""
        if fold is None:
            return 1
        if fold > 1:
            return 1 + self._n_finals
        n_begun = (number - 1) // self._n_at_once
        return max(1, self._n_rounds + self._n_finals - n_begun)
