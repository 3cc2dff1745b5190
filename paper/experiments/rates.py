"""Learning rates: excess risk against m at k = k0, and against k. Not in the paper.

Theorems 1 and 2 bound the excess risk at k ~ k0 by (m / ln m)^(-1/4) and, under Tsybakov's noise
condition with exponent q, by (m / ln m)^(-(q+1)/(2(q+2))). Theorem 4 bounds the excess squared
hinge risk of the clipped f by a multiple of 1/k + k ln(m) / m, which is smallest near k0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context

from fcgboost import Dictionary, FCGBoostClassifier, GaussDictionary, ReluDictionary, theory_steps
from fcgboost.datasets import bayes_boundary
from paper.base import Experiment, Preset, Row, Split, Unit
from paper.settings import CORRECTIONS, PAPER

Array = NDArray[np.float64]

_N_TEST = 20_000
#: All n = m candidates are scored up to this m, a fresh sample per step beyond it.
_SCORED_IN_FULL = 16_000
# Where k is chosen: the path's length in multiples of k0, and the largest sets and repetitions,
# since so long paths without a ridge take long.
_MULTIPLE = 5
_LARGEST_CHOSEN = 2_000
_MOST_CHOSEN = 5
_HELD_OUT = 0.2
# Room to keep the values of that many candidates on that many rows.
_MEBIBYTES = 2048
_CORRECTIONS = ("ridge", "exact")
_DICTIONARIES: Mapping[str, Dictionary] = {
    "gauss": GaussDictionary(width=0.35),
    "relu": ReluDictionary(),
}
#: On "smooth" Assumption 1 holds for Gauss atoms by construction; the simulation has a jump.
_PAIRS = (("simulation", "gauss"), ("simulation", "relu"), ("smooth", "gauss"))
_SIZES = {
    "quick": (250, 500, 1000, 2000),
    "standard": tuple(250 * 2**i for i in range(9)),
    "full": tuple(250 * 2**i for i in range(9)),
}
_REPETITIONS = {"quick": 2, "standard": 20, "full": 50}
# The largest sets take longest and vary least.
_REPETITIONS_LARGE = {"quick": 2, "standard": 5, "full": 20}
_LARGE = 8000
#: How far the paths of `kind` "steps" go, at this m.
_LONG_PATH = {"quick": 65, "standard": 200, "full": 300}
_LONG_PATH_SAMPLES = 1000

# f_rho = 2 eta - 1 of "smooth" is a short sum of Gauss atoms of the dictionary's width: centres
# and coefficients, of an l1 norm of 3.36, such that |f_rho| < 1 on the unit square.
_CENTERS = np.array([[0.2, 0.7], [0.7, 0.3], [0.5, 0.5], [0.9, 0.9], [0.1, 0.1]])
_COEF = 0.7 * np.array([1.3, -1.3, 0.5, 0.9, -0.8])
_WIDTH = 0.35


@dataclass(frozen=True)
class RatesUnit(Unit):
    """One training set; `kind` is "size" (k = k0), "chosen" (k by validation) or "steps".

    For "chosen" a fifth of the rows judges every step up to 5 k0, for "steps" the path is long.
    """

    kind: str
    problem: str
    dictionary: str
    n_samples: int
    repetition: int
    max_iter: int
    selection: str


class Rates(Experiment[RatesUnit]):
    """Excess risks from the known Bayes rule, without label noise in the measurement."""

    name = "rates"
    title = "Learning rates"
    about = (
        "Not in the paper: excess risk at k = k0 against m from 250 to 64,000, and at the k that "
        "validation chooses up to 2,000, beside the theory's exponents, and excess risk against k "
        "at m = 1000 beside Theorem 4."
    )
    unit_type = RatesUnit
    results = ("correction", "k", "excess_risk", "excess_loss", "atoms")

    def units(self, preset: Preset, split: Split | None) -> list[RatesUnit]:
        """Declare the training sets."""
        sizes = [
            RatesUnit("size", *pair, m, repetition, theory_steps(m), _selection(m))
            for pair in _PAIRS
            for m in _SIZES[preset]
            for repetition in range((_REPETITIONS_LARGE if m >= _LARGE else _REPETITIONS)[preset])
        ]
        chosen = [
            replace(unit, kind="chosen", max_iter=_MULTIPLE * unit.max_iter)
            for unit in sizes
            if unit.n_samples <= _LARGEST_CHOSEN and unit.repetition < _MOST_CHOSEN
        ]
        paths = [
            RatesUnit("steps", *pair, _LONG_PATH_SAMPLES, repetition, _LONG_PATH[preset], "all")
            for pair in _PAIRS
            for repetition in range(_REPETITIONS[preset])
        ]
        return sizes + chosen + paths

    def run(self, unit: RatesUnit) -> list[Row]:
        """Fit with and without the ridge, and measure the distance from the Bayes rule."""
        random = np.random.default_rng([unit.repetition, unit.n_samples])
        X, X_test = random.uniform(size=(unit.n_samples, 2)), random.uniform(size=(_N_TEST, 2))
        chance = (1.0 + bayes_function(unit.problem, X)) / 2.0
        y = np.where(random.uniform(size=unit.n_samples) < chance, 1.0, -1.0)
        f_rho = bayes_function(unit.problem, X_test)
        return [row for name in _CORRECTIONS for row in _measure(unit, name, X, y, X_test, f_rho)]

    def cost(self, unit: RatesUnit) -> float:
        """Estimate the seconds: steps times candidates times rows."""
        if unit.kind == "steps":
            return 3.0
        n = unit.n_samples if unit.selection == "all" else 128
        return 0.05 + 2.2e-9 * unit.n_samples * n * unit.max_iter


def bayes_function(problem: str, X: Array) -> Array:
    """Give f_rho = 2 P(y = 1 | x) - 1.

    On the simulation with 30 % flips it is 0.4 on one side of the boundary and -0.4 on the
    other; the excess risk is then 0.4 times the clean test error.
    """
    if problem == "simulation":
        return np.where(X[:, 1] >= bayes_boundary(X[:, 0]), 0.4, -0.4)
    squares = ((X[:, None, :] - _CENTERS) ** 2).sum(axis=2)
    return np.asarray(np.exp(-squares / (2.0 * _WIDTH**2)) @ _COEF)


def _selection(n_samples: int) -> str:
    return "all" if n_samples <= _SCORED_IN_FULL else "sampled"


def _measure(
    unit: RatesUnit, correction: str, X: Array, y: Array, X_test: Array, f_rho: Array
) -> list[Row]:
    """Give the excess risks of sign(f) and of the clipped f, along the path or at its end."""
    classifier = FCGBoostClassifier(
        _DICTIONARIES[unit.dictionary],
        max_iter=unit.max_iter,
        n_jobs=1,
        random_state=unit.repetition,
        # A path that ends early would look as if it did not over-fit.
        tol=0.0,
        validation_fraction=_HELD_OUT if unit.kind == "chosen" else None,
        **{**PAPER, **CORRECTIONS[correction], "selection": unit.selection},
    )
    with config_context(working_memory=_MEBIBYTES):
        classifier.fit(X, y)
    last = classifier.n_iter_
    shown = _points(last) if unit.kind == "steps" else {last}
    rows = []
    for k, f in enumerate(classifier.staged_decision_function(X_test), start=1):
        if k in shown:
            is_wrong = (f > 0.0) != (f_rho > 0.0)
            rows.append(
                unit.row(
                    correction=correction,
                    k=k,
                    excess_risk=float(np.mean(np.abs(f_rho) * is_wrong)),
                    excess_loss=float(np.mean((np.clip(f, -1.0, 1.0) - f_rho) ** 2)),
                    atoms=classifier.trace_[k - 1].n_atoms,
                )
            )
    return rows


def _points(last: int) -> set[int]:
    return set(np.geomspace(1, last, 40).round().astype(int).tolist())
