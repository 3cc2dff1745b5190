"""A progress display: one line that moves on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

from fcgboost.stopping import Status, Step

logger = logging.getLogger("fcgboost")


class Progress:
    """A stopping rule that never stops and shows how far the fit is.

    `verbose` is 1 for a line on standard error, or another stream, and 2 for the log as well; the
    title says which of several paths it is.
    """

    def __init__(
        self, max_iter: int, verbose: int, title: str = "", stream: TextIO | None = None
    ) -> None:
        self.max_iter, self.title, self.verbose = max_iter, title, verbose
        self.stream = sys.stderr if stream is None else stream

    def __call__(self, step: Step) -> Status | None:
        level = logging.INFO if self.verbose > 1 else logging.DEBUG
        # A line nobody reads would take as long as the rest of the record of a small step.
        if self.verbose == 0 and not logger.isEnabledFor(level):
            return None
        score = step.validation_score
        line = (
            f"{self.title}step {step.k}/{self.max_iter}  atoms {step.n_atoms}  "
            f"objective {step.objectives.mean():.4f}"
            f"{'' if score is None else f'  validation {score:.4f}'}  {step.seconds:.1f} s, "
            f"{step.seconds / step.k * (self.max_iter - step.k):.1f} s left"
        )
        logger.log(level, line)
        if self.verbose > 0 and self.stream.isatty():
            self.stream.write(f"\r\x1b[K{line}")
            self.stream.flush()
        elif self.verbose > 0 and step.k % max(1, self.max_iter // 10) == 0:
            self.stream.write(line + "\n")
        return None

    def close(self) -> None:
        """End the moving line."""
        if self.verbose > 0 and self.stream.isatty():
            self.stream.write("\n")
            self.stream.flush()
