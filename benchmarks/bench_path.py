"""How long a whole path takes, beside three baselines measured in the same run.

The simulation with 30 % wrong labels, default settings (Gauss, 5 k0 steps), in two sizes:
m = 1,000, where all m candidates are scored in every step, and m = 10,000, where a fresh sample
is. Correction is what the solver takes; the rest of a fit is selection and bookkeeping.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from sklearn.ensemble import AdaBoostClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_info, threadpool_limits

from fcgboost import AdmmSolver, FCGBoostClassifier, NewtonSolver
from fcgboost.backends.base import Array
from fcgboost.datasets import make_simulation
from fcgboost.solvers import Solver
from fcgboost.solvers.base import Problem, Solution

PACKAGES = ("fcgboost", "numpy", "scipy", "scikit-learn")
OURS = "default path"


class Stopwatch(Solver):
    """A solver that adds up the time another one takes."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.needs, self.needs_text = solver.needs, solver.needs_text
        self.seconds = 0.0

    def check_parameters(self) -> None:
        self.solver.check_parameters()

    def solve(self, problem: Problem, coef: Array) -> Solution:
        start = time.perf_counter()
        solution = self.solver.solve(problem, coef)
        self.seconds += time.perf_counter() - start
        return solution


def measure(model: Any, X: Array, y: Array, runs: int) -> dict[str, Any]:
    """Give the median time of a fit."""
    return {"seconds": median(seconds_to_fit(model, X, y) for _ in range(runs)), "runs": runs}


def measure_path(solver: Solver, X: Array, y: Array, runs: int) -> dict[str, Any]:
    """Give the median times of a fit and of its parts."""
    totals, corrections = [], []
    for _ in range(runs):
        stopwatch = Stopwatch(solver)
        totals.append(seconds_to_fit(FCGBoostClassifier(solver=stopwatch, random_state=0), X, y))
        corrections.append(stopwatch.seconds)
    return {
        "seconds": median(totals),
        "runs": runs,
        "selection": median(t - c for t, c in zip(totals, corrections, strict=True)),
        "correction": median(corrections),
    }


def seconds_to_fit(model: Any, X: Array, y: Array) -> float:
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start


def measure_all(n_samples: int, runs: int) -> dict[str, dict[str, Any]]:
    """Time all methods on one draw of the simulation."""
    X, y = make_simulation(n_samples, random_state=0)
    FCGBoostClassifier(max_iter=1).fit(X, y)  # the first use of a library is slower
    # Slow baselines on large data need no median.
    baseline_runs = runs if n_samples <= 2000 else 1
    return {
        OURS: measure_path(NewtonSolver(), X, y, runs),
        "path with ADMM": measure_path(AdmmSolver(), X, y, baseline_runs),
        "SVC(C=1)": measure(SVC(C=1.0), X, y, baseline_runs),
        "AdaBoost(100)": measure(AdaBoostClassifier(n_estimators=100), X, y, baseline_runs),
    }


def environment() -> dict[str, Any]:
    pools = {f"{pool['internal_api']} threads": pool["num_threads"] for pool in threadpool_info()}
    packages = {name: version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **packages, "cores": os.cpu_count(), **pools}


def print_times(n_samples: int, times: dict[str, dict[str, Any]]) -> None:
    print(f"\nm = {n_samples}\n{'':<16}{'seconds':>9}{'ratio':>8}{'runs':>6}", end="")
    print(f"{'selection':>12}{'correction':>12}")
    for name, result in times.items():
        ratio = result["seconds"] / times[OURS]["seconds"]
        parts = [f"{result[key]:>12.3f}" for key in ("selection", "correction") if key in result]
        print(
            f"{name:<16}{result['seconds']:>9.3f}{ratio:>8.2f}{result['runs']:>6}", *parts, sep=""
        )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-samples", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here, too")
    parser.add_argument("--threads", type=int, default=1, help="threads of BLAS and OpenMP")
    options = parser.parse_args(argv)
    results: dict[str, Any] = {}
    with threadpool_limits(options.threads):
        results["environment"] = environment()
        print(", ".join(f"{name} {value}" for name, value in results["environment"].items()))
        for n_samples in options.n_samples:
            times = results[f"m={n_samples}"] = measure_all(n_samples, options.runs)
            print_times(n_samples, times)
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
