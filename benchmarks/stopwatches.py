"""Parts of a fit that time other parts: what selection and correction take inside a real path."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fcgboost import NewtonSolver
from fcgboost.selection.fixed import PooledSelection
from fcgboost.solvers import Solver
from fcgboost.solvers.base import Solution

# The methods by which candidates are scored.
_SCORING = frozenset({"best", "correlate"})


def _nothing() -> None:
    pass


class TimedSolver(Solver):
    """A solver that times another one, which is all that is written on it.

    Parameters
    ----------
    solver : Solver
    synchronise : callable
        Called before the clock is read; for devices that compute while Python goes on.
    """

    def __init__(self, solver: Solver, synchronise: Callable[[], None] = _nothing) -> None:
        self.solver = solver
        self.synchronise = synchronise
        self.needs, self.needs_text = solver.needs, solver.needs_text
        self.seconds: list[float] = []

    def check_parameters(self) -> None:
        self.solver.check_parameters()

    def solve(self, *arguments: Any) -> Solution:
        self.synchronise()
        start = time.perf_counter()
        solution = self.solver.solve(*arguments)
        self.synchronise()
        self.seconds.append(time.perf_counter() - start)
        return solution


class TimedSelection(PooledSelection):
    """A selection that times another one.

    Parameters
    ----------
    selection : PooledSelection
    synchronise : callable
        Called before the clock is read.
    after : callable
        Called after each scoring, outside of its time: the place of an interleaved baseline.

    Attributes
    ----------
    began : float
        The clock when the fit asked for candidates first: data checks and the design are over.
    preparing : float
        Seconds of that; for a fixed dictionary its values, if they are stored.
    drawing, scoring : list of float
        Seconds of every step.
    """

    def __init__(
        self,
        selection: PooledSelection,
        synchronise: Callable[[], None] = _nothing,
        after: Callable[[], None] = _nothing,
    ) -> None:
        self.selection = selection
        self.synchronise = synchronise
        self.after = after
        self.began = self.preparing = 0.0
        self.drawing: list[float] = []
        self.scoring: list[float] = []

    def check_parameters(self) -> None:
        self.selection.check_parameters()

    def pools(self, design: Any, n: int, key: int) -> Any:
        self.synchronise()
        self.began = time.perf_counter()
        source = self.selection.pools(design, n, key)
        self.synchronise()
        self.preparing = time.perf_counter() - self.began

        def draw(*arguments: Any) -> Any:
            start = time.perf_counter()
            pool = source(*arguments)
            self.synchronise()
            self.drawing.append(time.perf_counter() - start)
            return replace(pool, candidates=_TimedCandidates(pool.candidates, self))

        return draw

    @property
    def steps(self) -> list[float]:
        """Seconds of drawing and scoring, step by step."""
        return [d + s for d, s in zip(self.drawing, self.scoring, strict=True)]


class _TimedCandidates:
    """Candidates that report how long a scoring takes, and are those of another in all else."""

    def __init__(self, candidates: Any, watch: TimedSelection) -> None:
        self._candidates = candidates
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._candidates, name)
        return self._timed(attribute) if name in _SCORING else attribute

    def _timed(self, score: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **options: Any) -> Any:
            watch = self._watch
            watch.synchronise()
            start = time.perf_counter()
            scores = score(*arguments, **options)
            watch.synchronise()
            watch.scoring.append(time.perf_counter() - start)
            watch.after()
            return scores

        return timed


def phases(
    clf: Any, selection: PooledSelection, X: Any, y: Any, synchronise: Callable[[], None] = _nothing
) -> dict[str, float]:
    """Fit a classifier with this selection and Newton's method; say what took how long."""
    solver = TimedSolver(NewtonSolver(), synchronise)
    watch = TimedSelection(selection, synchronise)
    clf.set_params(solver=solver, selection=watch)
    start = time.perf_counter()
    clf.fit(X, y)
    synchronise()
    whole = time.perf_counter() - start
    parts = {
        "data checks": watch.began - start,
        "dictionary": watch.preparing,
        "drawing": sum(watch.drawing),
        "scoring": sum(watch.scoring),
        "correction": sum(solver.seconds),
    }
    return {"whole fit": whole, **parts, "rest": whole - sum(parts.values())}
