"""How far a run is: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self, TextIO

# Seconds between two lines where there is no terminal.
_BETWEEN_LINES = 30.0


class Display:
    """Progress of one experiment, in estimated seconds of work.

    The time left is the estimated work left, corrected by how the estimates have held so far.

    Parameters
    ----------
    label : str
    work : float
        Estimated seconds of all units.
    done : float
        Those of units that were done before.
    n_jobs : int
    stream : text stream, default=None
        None is standard error.
    """

    def __init__(
        self, label: str, work: float, done: float, n_jobs: int, stream: TextIO | None = None
    ) -> None:
        self.label = label
        self.stream = sys.stderr if stream is None else stream
        self._work = max(work, 1e-9)
        self._done = self._before = done
        self._n_jobs = n_jobs
        self._started = self._shown = time.perf_counter()

    def __enter__(self) -> Self:
        self._show()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._show()
        if self.stream.isatty():
            self.stream.write("\n")
        self.stream.flush()

    def advance(self, work: float) -> None:
        """Count a finished unit."""
        self._done += work
        if self.stream.isatty() or time.perf_counter() - self._shown > _BETWEEN_LINES:
            self._show()

    def seconds_left(self) -> float:
        """Estimate the time to the end."""
        spent = time.perf_counter() - self._started
        fresh = self._done - self._before
        # Until a tenth of the work is done, half-believe the estimate itself.
        pace = (spent + 0.1 * self._work / self._n_jobs) / (fresh + 0.1 * self._work)
        return max(0.0, self._work - self._done) * pace

    def _show(self) -> None:
        self._shown = time.perf_counter()
        share = min(1.0, self._done / self._work)
        left = duration(self.seconds_left()) + " left" if share < 1.0 else "done"
        spent = duration(time.perf_counter() - self._started)
        if self.stream.isatty():
            bar = "━" * round(30 * share) + "─" * (30 - round(30 * share))
            self.stream.write(f"\r\x1b[K{self.label:<12} {bar} {share:4.0%}  {spent}, {left}")
        else:
            self.stream.write(f"{self.label}: {share:.0%}, {spent}, {left}\n")
        self.stream.flush()


def duration(seconds: float) -> str:
    """Write a time as people do.

    >>> duration(42.3), duration(130), duration(7300), duration(1e6)
    ('42 s', '2 min 10 s', '2 h 01 min', '11.6 days')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 48 * 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{seconds / 86400:.1f} days"
