"""A progress display: one updating line on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fcgboost.stopping import Progress, Status, Step

# Explanations of fewer seconds are not worth a line.
_SILENCE = 1.0

logger = logging.getLogger("fcgboost")


@dataclass
class ProgressLine:
    """A stopping rule that never stops and shows the progress of the whole fit, or of explanations.

    With `verbose` 1 it writes to standard error, with 2 also to the log.
    """

    verbose: int
    clock: Callable[[], float] = time.perf_counter
    #: The tenth of the fit that was shown last, where there is no terminal.
    _tenth: int = 0
    #: Whether a line on a terminal has no end yet.
    _is_open: bool = False

    def __post_init__(self) -> None:
        self._started = self.clock()

    @property
    def is_heard(self) -> bool:
        """Whether anybody reads it: an unread line takes as long as recording a small step."""
        return self.verbose > 0 or logger.isEnabledFor(self._level)

    @property
    def _level(self) -> int:
        return logging.INFO if self.verbose > 1 else logging.DEBUG

    def __call__(self, step: Step) -> Status | None:
        assert step.progress is not None
        self._show(step.progress.share, self._parts(step, step.progress))
        return None

    def show_rows(self, n_done: int, n_rows: int) -> None:
        """Show how many rows are explained, if that has taken a second."""
        if self.clock() - self._started >= _SILENCE:
            self._show(n_done / n_rows, [f"{n_done:,} of {n_rows:,} rows"])

    def _show(self, share: float, parts: Sequence[str]) -> None:
        taken = self.clock() - self._started
        left = taken * (1.0 / share - 1.0)
        times = f"{taken:.1f} s, {left:.1f} s left"
        line = "  ".join([f"{100.0 * share:.0f} %", *parts, times])
        logger.log(self._level, line)
        tenth = int(10.0 * share)
        if self._has_terminal:
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()
            self._is_open = True
        elif self.verbose > 0 and tenth > self._tenth:
            sys.stderr.write(line + "\n")
            self._tenth = tenth

    def _parts(self, step: Step, progress: Progress) -> list[str]:
        parts = []
        if progress.n_paths > 1:
            parts.append(f"path {progress.path} of {progress.n_paths}")
        if progress.fold is not None:
            parts.append(f"fold {progress.fold}")
        parts += [f"step {step.k}", f"atoms {step.n_atoms}"]
        parts.append(f"objective {step.objectives.mean():.4f}")
        if step.validation_score is not None:
            parts.append(f"validation {step.validation_score:.4f}")
        return parts

    def close(self) -> None:
        """End the updating line."""
        if self._is_open:
            sys.stderr.write("\n")

    @property
    def _has_terminal(self) -> bool:
        return self.verbose > 0 and sys.stderr.isatty()
