"""A time limit for a whole fit, in which every path gets its part of the time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

from fcgboost.stopping import Status, Step

# What is left of the limit for the work behind the last path.
_KEPT = 0.03
# The next correction of all coefficients takes longer than the last one, but not this much longer.
_LONGER = 1.5


class TimeLimit:
    """A stopping rule that all paths of a fit share.

    After its first step a path gets an equal part of the time that is left; what it does not need
    is left to those after it. It ends early enough for one more correction of all coefficients.

    Parameters
    ----------
    seconds : float
        The whole fit's, from now on.
    clock : callable, default=time.perf_counter
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.perf_counter) -> None:
        self._seconds, self._clock = seconds, clock
        self._started = self._last = clock()
        self._k, self._n_left, self._end, self._longest = 0, 1, 0.0, 0.0
        #: Whether it has ended a path.
        self.is_reached = False

    def plan(self, n_paths: int) -> None:
        """Hear how many paths there will be; warn if the time is over already."""
        self._n_left, self._k, taken = n_paths, 0, self._clock() - self._started
        if taken > self._seconds:
            warnings.warn(
                f"Reading and checking the data took {taken:.2g} s, longer than "
                f"time_limit={self._seconds:g}: every path ends after one step.",
                stacklevel=4,
            )

    def __call__(self, step: Step) -> Status | None:
        """Return TIME_LIMIT once the path has taken its part of the time."""
        now = self._clock()
        if step.k != self._k + 1 or step.k == 1:
            left = self._started + (1.0 - _KEPT) * self._seconds - now
            self._end, self._longest = now + left / max(1, self._n_left), 0.0
            self._n_left -= 1
        elif step.solver_iterations > 0:
            self._longest = max(self._longest, now - self._last)
        self._k, self._last = step.k, now
        if now + _LONGER * self._longest < self._end:
            return None
        self.is_reached = True
        return Status.TIME_LIMIT
