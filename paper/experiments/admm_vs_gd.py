"""ADMM against gradient descent, with Newton beside both; and what 100 ADMM iterations return."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fcgboost import GaussDictionary
from fcgboost.datasets import make_simulation
from fcgboost.designs.memory import MemoryDesign
from fcgboost.losses import CubedHinge, Hinge, Loss, Square, SquaredHinge
from fcgboost.solvers import (
    AdmmSolver,
    GradientDescentSolver,
    InteriorPointSolver,
    NewtonSolver,
    Problem,
    Solver,
)
from paper.base import Experiment, Preset, Row, Split, Unit

LOSSES: Mapping[str, Loss] = {
    "squared_hinge": SquaredHinge(),
    "hinge": Hinge(),
    "cubed_hinge": CubedHinge(),
    "square": Square(),
}
SOLVERS = ("admm", "gradient_descent", "admm_scaled", "newton")
#: Names of noises and how they are drawn.
_NOISES: Mapping[str, Mapping[str, Any]] = {
    "uniform": {"noise": "uniform", "level": 0.3},
    "outlier": {"noise": "outlier", "tol": 0.3, "ratio": 0.4},
    "none": {"noise": None},
}
_REPETITIONS = {"quick": 1, "standard": 10, "full": 20}
_TIMINGS = 5
# Optima are known to far less than this; a gap below it is drawn as this.
_ROUNDING = 1e-15


@dataclass(frozen=True)
class RaceUnit(Unit):
    """One problem: atoms of one width, a loss and a solver.

    `kind` is "race" (a solver's history) or "ridge" (where 100 ADMM iterations end).
    """

    kind: str
    solver: str
    loss: str
    noise: str
    n_samples: int
    n_atoms: int
    width: float
    repetition: int


class AdmmVsGd(Experiment[RaceUnit]):
    """Objective against iteration and time on the paper's correction problem, lambda = 0."""

    name = "admm-vs-gd"
    printed = ("Figure 2",)
    title = "ADMM against gradient descent"
    about = (
        "Objective against iteration and time at m = 1000, 15 Gauss atoms of width 0.1, 30 % "
        "uniform noise: ADMM as in the paper, gradient descent, ADMM with γ = α = 1/m, Newton. "
        "And how far 100 ADMM iterations are from ridge least squares, for every loss."
    )
    unit_type = RaceUnit
    results = (
        *("iteration", "seconds", "objective", "gap", "total_seconds"),
        *("distance_ridge", "distance_minimiser"),
    )
    is_timed = True

    def units(self, preset: Preset, split: Split | None) -> list[RaceUnit]:
        """Declare the races, then the comparisons with ridge least squares."""
        repetitions = range(_REPETITIONS[preset])
        races = [
            RaceUnit("race", solver, "squared_hinge", "uniform", 1000, 15, 0.1, repetition)
            for repetition in repetitions
            for solver in SOLVERS
        ]
        ridges = [
            RaceUnit("ridge", "admm", loss, noise, n_samples, 30, 0.35, repetition)
            for n_samples in (1000, 4000)
            for noise in _NOISES
            for loss in LOSSES
            for repetition in repetitions
        ]
        return races + ridges

    def run(self, unit: RaceUnit) -> list[Row]:
        """Solve one problem."""
        return _race(unit) if unit.kind == "race" else [_compare(unit)]

    def cost(self, unit: RaceUnit) -> float:
        """Estimate the seconds."""
        return 0.2 if unit.solver == "gradient_descent" else 0.05


def _problem(unit: RaceUnit, l2: float, loss: Loss | None = None) -> Problem:
    """Lay randomly drawn atoms over a training set."""
    X, y = make_simulation(unit.n_samples, random_state=unit.repetition, **_NOISES[unit.noise])
    dictionary = GaussDictionary(width=unit.width)
    design = MemoryDesign(dictionary, X, np.ones(len(X)), standardize=False)
    key = unit.repetition
    atoms = dictionary.candidates(design.sample(unit.n_atoms, key), unit.n_atoms, key)
    loss = loss or LOSSES[unit.loss]
    columns = design.columns(y, loss, unit.n_atoms, has_constant=False)
    columns.append(atoms)
    return Problem(columns, 0, l2)


def _solver(name: str, n_samples: int, keep_history: bool) -> Solver:
    if name == "admm":
        return AdmmSolver(keep_history=keep_history)
    if name == "admm_scaled":
        share = 1.0 / n_samples
        return AdmmSolver(alpha=share, gamma=share, max_iter=1000, keep_history=keep_history)
    if name == "gradient_descent":
        return GradientDescentSolver(max_iter=20_000, keep_history=keep_history)
    return NewtonSolver(keep_history=keep_history)


def _race(unit: RaceUnit) -> list[Row]:
    """Follow a solver; what its history costs is kept out of its total time."""
    start = np.zeros(unit.n_atoms)
    optimum = NewtonSolver(tol=1e-14).solve(_problem(unit, 0.0), start).objective
    history = _solver(unit.solver, unit.n_samples, True).solve(_problem(unit, 0.0), start).history
    solver = _solver(unit.solver, unit.n_samples, False)
    seconds = []
    for _ in range(_TIMINGS):
        # A new one every time: a problem keeps the Gram matrix of the last solve.
        problem = _problem(unit, 0.0)
        started = time.perf_counter()
        solver.solve(problem, start)
        seconds.append(time.perf_counter() - started)
    last = len(history)
    shown = np.unique(np.geomspace(1, last, 60).round().astype(int))
    return [
        unit.row(
            iteration=int(i),
            seconds=history[i - 1].seconds,
            objective=history[i - 1].objective,
            gap=max(history[i - 1].objective - optimum, _ROUNDING),
            total_seconds=float(np.median(seconds)),
            distance_ridge=None,
            distance_minimiser=None,
        )
        for i in shown
    ]


def _compare(unit: RaceUnit) -> Row:
    """Measure ADMM's fit from ridge least squares, and from the minimiser at lambda = 1/m."""
    start = np.zeros(unit.n_atoms)
    problem = _problem(unit, 0.0)
    l2 = 1.0 / unit.n_samples
    exact = InteriorPointSolver() if unit.loss == "hinge" else NewtonSolver()
    fit, ridge, minimiser = (
        problem.rows().values(coef)
        for coef in (
            AdmmSolver().solve(problem, start).coef,
            NewtonSolver().solve(_problem(unit, l2, Square()), start).coef,
            exact.solve(_problem(unit, l2), start).coef,
        )
    )
    return unit.row(
        iteration=100,
        seconds=None,
        objective=None,
        gap=None,
        total_seconds=None,
        distance_ridge=float(np.linalg.norm(fit - ridge) / np.linalg.norm(ridge)),
        distance_minimiser=float(np.linalg.norm(fit - minimiser) / np.linalg.norm(minimiser)),
    )
