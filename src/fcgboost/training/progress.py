"""A progress display: one updating line on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

from fcgboost.stopping import Status, Step

logger = logging.getLogger("fcgboost")


class Progress:
    """A stopping rule that never stops and shows the progress of the fit.

    With `verbose` 1 it writes to the stream, standard error by default, with 2 also to the log. The
    title names one of several paths.
    """

    def __init__(
        self, max_iter: int, verbose: int, title: str = "", stream: TextIO | None = None
    ) -> None:
        self.max_iter, self.title, self.verbose = max_iter, title, verbose
        self.stream = sys.stderr if stream is None else stream

    def __call__(self, step: Step) -> Status | None:
        level = logging.INFO if self.verbose > 1 else logging.DEBUG
        # Formatting an unread line takes as long as recording a small step.
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
        """End the updating line."""
        if self.verbose > 0 and self.stream.isatty():
            self.stream.write("\n")
            self.stream.flush()
