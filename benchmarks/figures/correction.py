"""Correcting the coefficients along a path of 165 steps on MAGIC, beside 100-iteration ADMM.

Both solve the same problems: Newton's path is fitted a second time, and on every fifth step ADMM
gets the columns that Newton has. In the first path nothing disturbs Newton.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.data import halves, load
from benchmarks.measure import Record, at_least, at_most
from benchmarks.stopwatches import phases
from fcgboost import AdmmSolver, FCGBoostClassifier, NewtonSolver, SampledCandidates
from fcgboost.solvers import Solver
from fcgboost.solvers.base import Solution

THREADS = 2
EVERY = 5
# Objectives that agree to this share are the same number.
ROUNDING = 1e-12


class Beside(Solver):
    """Newton's method, with ADMM beside it on every fifth problem.

    ADMM gets one BLAS thread, and on every twentieth problem also two: what suits it counts.
    """

    def __init__(self) -> None:
        self.newton, self.admm = NewtonSolver(), AdmmSolver(max_iter=100)
        self.needs, self.needs_text = self.newton.needs, self.newton.needs_text
        self.n_problems = 0
        self.seconds: list[float] = []
        self.pairs: list[tuple[float, float]] = []
        self.excess: list[float] = []

    def check_parameters(self) -> None:
        pass

    def solve(self, *arguments: Any) -> Solution:
        solution = self.newton.solve(*arguments)
        self.n_problems += 1
        if self.n_problems % EVERY == 0:
            seconds, other = self._admm(1, arguments)
            self.seconds.append(seconds)
            self.excess.append((solution.objective - other.objective) / abs(other.objective))
        if self.n_problems % (4 * EVERY) == 0:
            self.pairs.append((seconds, self._admm(THREADS, arguments)[0]))
        return solution

    def _admm(self, threads: int, arguments: Any) -> tuple[float, Solution]:
        with threadpool_limits(threads, user_api="blas"):
            start = time.perf_counter()
            solution = self.admm.solve(*arguments)
            return time.perf_counter() - start, solution

    def path_seconds(self) -> tuple[float, str]:
        """Give what ADMM would take on all problems, and with how many threads."""
        total = sum(self.seconds) * self.n_problems / len(self.seconds)
        one, two = (sum(times) for times in zip(*self.pairs, strict=True))
        return (total, "1 thread") if one <= two else (total * two / one, f"{THREADS} threads")


def measure(quick: bool) -> list[Record]:
    n_steps, runs = (20, 1) if quick else (165, 3)
    split = halves(*load("magic_gamma_telescope", quick), seed=0)
    candidates = SampledCandidates(64)
    # The first use of a library is slower.
    _classifier(2, selection=candidates).fit(split.X, split.y)
    results = [phases(_classifier(n_steps), candidates, split.X, split.y) for _ in range(runs)]
    parts = {name: statistics.median(run[name] for run in results) for name in results[0]}
    beside = Beside()
    _classifier(n_steps, selection=candidates, solver=beside).fit(split.X, split.y)
    admm, threads = beside.path_seconds()
    where = f"{n_steps} steps at m = {len(split.y):,}"
    speed = Record(
        f"correction along {where}",
        unit="s",
        ours=parts["correction"],
        baseline=admm,
        baseline_name=f"ADMM, 100 iterations, the same columns, float64, {threads}",
        bound=at_least(50.0, of="speedup"),
        details={"runs": runs, "ADMM is timed on every ... problem": EVERY},
    )
    quality = Record(
        f"correction along {where}: largest excess of the objective, same lambda",
        unit="relative",
        ours=max(beside.excess),
        baseline_name="ADMM, 100 iterations",
        bound=at_most(ROUNDING, of="ours"),
        details={"smallest": min(beside.excess)},
    )
    cost = Record(
        f"correction along {where} beside selection among 64 sampled",
        unit="s",
        ours=parts["correction"],
        baseline=parts["drawing"] + parts["scoring"],
        baseline_name=f"drawing and scoring in the same path, {THREADS} threads",
        bound=at_most(1.0),
        details={f"{name} (s)": value for name, value in parts.items()},
    )
    return [speed, quality, cost]


def _classifier(n_steps: int, **parts: Any) -> FCGBoostClassifier:
    return FCGBoostClassifier(
        "relu", normalize=True, max_iter=n_steps, n_jobs=THREADS, random_state=0, **parts
    )
