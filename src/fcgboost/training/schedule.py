"""The paths of one fit: how many there are, which of them run, and how much of the fit is done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from fcgboost import threads
from fcgboost.stopping import Progress, Status, Step, StoppingRule
from fcgboost.training.callbacks import FitTasks
from fcgboost.training.trials import Trial


@dataclass
class _Path:
    """A path that has begun."""

    number: int
    max_iter: int
    fold: int | None
    n_steps: int = 0
    has_ended: bool = False


@dataclass
class Schedule:
    """Asks rules after the steps of all paths of a fit, one at a time, and tells them its progress.

    Parameters
    ----------
    rules : list of StoppingRule
        They are all asked; the first answer counts.
    n_paths : int
        How many paths the fit makes, at most.
    tasks : FitTasks
        What scikit-learn's callbacks watch.
    attributes : callable
        Returns the fitted attributes of a classifier with a single path, for the callbacks.
    n_at_once : int, default=1
        How many paths may run at once.
    """

    rules: list[StoppingRule]
    n_paths: int
    tasks: FitTasks
    attributes: Callable[[Trial], dict[str, object]]
    n_at_once: int = 1
    _paths: list[_Path] = field(default_factory=list)
    _share: float = 0.0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    @contextmanager
    def path(self, max_iter: int, fold: int | None) -> Iterator[list[StoppingRule]]:
        """Begin a path of at most max_iter steps; yield the rule to ask."""
        with self._lock:
            path = _Path(len(self._paths) + 1, max_iter, fold)
            self._paths.append(path)
        try:
            yield [partial(self._ask, path)]
        finally:
            path.has_ended = True

    def _ask(self, path: _Path, step: Step) -> Status | None:
        # The fit may have failed, or been interrupted, in another path.
        threads.check()
        if not self.rules:
            return None
        with self._lock:
            path.n_steps = step.k
            step = replace(step, progress=self._progress(path))
            endings = [rule(step) for rule in self.rules]
        return next(filter(None, endings), None)

    def _progress(self, path: _Path) -> Progress:
        # A path rarely makes all steps it may: the longest one so far is a better guess.
        longest = max((other.n_steps for other in self._paths if other.has_ended), default=0)
        n_done = 0.0
        for other in self._paths:
            share = other.n_steps / (longest or other.max_iter)
            n_done += 1.0 if other.has_ended else min(1.0, share)
        self._share = max(self._share, n_done / self.n_paths)
        return Progress(
            path=path.number,
            n_paths=self.n_paths,
            fold=path.fold,
            share=min(1.0, self._share),
        )
