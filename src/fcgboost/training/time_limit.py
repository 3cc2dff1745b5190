"""A time limit for a whole fit, shared among its paths."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence

from fcgboost.stopping import Status, Step
from fcgboost.training.dataset import Data, thinned

# The share of the limit reserved for the work after the last path.
_KEPT = 0.03
# The time of the first steps relative to reading the rows, and the smallest share of rows to keep.
_WORK, _LEAST_SHARE = 24.0, 0.02
# Never drop rows below this number.
_ENOUGH_ROWS = 10_000
# The next correction of all coefficients takes at most this many times as long as the last.
_LONGER = 1.5


class TimeLimit:
    """A stopping rule shared by all paths of a fit.

    After its first step a path gets its share of the remaining time; later paths inherit what it
    does not need. It ends early enough for one more correction of all coefficients.

    Parameters
    ----------
    seconds : float
        Time for the whole fit, from now on.
    clock : callable, default=time.perf_counter
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.perf_counter) -> None:
        self._seconds, self._clock = seconds, clock
        self._started = self._last = clock()
        self._k, self._parts, self._end, self._longest = 0, [1.0], 0.0, 0.0
        #: Whether the limit has ended a path.
        self.is_reached = False

    def plan(self, parts: Sequence[float]) -> None:
        """Set the relative durations of the paths; warn if the time is already over."""
        self._parts, self._k, taken = [*parts], 0, self._clock() - self._started
        if taken > self._seconds:
            warnings.warn(
                f"Reading and checking the data took {taken:.2g} s, longer than "
                f"time_limit={self._seconds:g}: each path ends after one step.",
                stacklevel=5,
            )

    def some_rows(self, data: Data) -> Data:
        """Return as many training rows as there is time for."""
        taken, n_rows = self._clock() - self._started, len(data.train.codes)
        left = max(0.0, self._seconds - taken)
        share = left / (_WORK * taken) if taken > 0.0 else 1.0
        train = thinned(data.train, max(share, _LEAST_SHARE, _ENOUGH_ROWS / n_rows))
        if len(train.codes) < n_rows:
            warnings.warn(
                f"time_limit={self._seconds:g} is too short for all rows: only "
                f"{len(train.codes):,} of {n_rows:,} are used.",
                stacklevel=4,
            )
        return data._replace(train=train)

    def __call__(self, step: Step) -> Status | None:
        now = self._clock()
        if step.k != self._k + 1 or step.k == 1:
            left = self._started + (1.0 - _KEPT) * self._seconds - now
            share = self._parts[0] / sum(self._parts) if self._parts else 1.0
            self._end, self._longest = now + share * left, 0.0
            del self._parts[:1]
        elif step.solver_iterations > 0:
            self._longest = max(self._longest, now - self._last)
        self._k, self._last = step.k, now
        if now + _LONGER * self._longest < self._end:
            return None
        self.is_reached = True
        return Status.TIME_LIMIT
