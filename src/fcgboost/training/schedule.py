"""The paths of one fit: how many there are, which one runs, and how much of the fit is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from fcgboost.stopping import Progress, Status, Step, StoppingRule
from fcgboost.training.callbacks import FitTasks
from fcgboost.training.trials import Trial


@dataclass
class Schedule:
    """Asks rules after the steps of all paths of a fit, and tells them its progress.

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
    """

    rules: list[StoppingRule]
    n_paths: int
    tasks: FitTasks
    attributes: Callable[[Trial], dict[str, object]]
    _path: int = 0
    _fold: int | None = None
    _n_steps: int = 0
    _longest: int = 0
    _max_iter: int = 1
    _share: float = 0.0

    def begin(self, max_iter: int, fold: int | None) -> list[StoppingRule]:
        """Begin the next path, of at most max_iter steps; return the rule to ask, if any."""
        self._path += 1
        self._fold = fold
        self._longest = max(self._longest, self._n_steps)
        self._max_iter = max_iter
        return [self] if self.rules else []

    def __call__(self, step: Step) -> Status | None:
        self._n_steps = step.k
        step = replace(step, progress=self._progress(step.k))
        endings = [rule(step) for rule in self.rules]
        return next(filter(None, endings), None)

    def _progress(self, k: int) -> Progress:
        # A path rarely makes all steps it may: the longest one so far is a better guess.
        share_of_path = min(1.0, k / (self._longest or self._max_iter))
        self._share = max(self._share, (self._path - 1 + share_of_path) / self.n_paths)
        return Progress(
            path=self._path,
            n_paths=self.n_paths,
            fold=self._fold,
            share=min(1.0, self._share),
        )
