"""Simulation 4: six update schemes (the table and the figure "Comparisons on boosting schemes").

The step of the best *test* error is the paper's printed rule. It is the one place where test
labels choose anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fcgboost import FCGBoostClassifier, GaussDictionary
from paper.base import Experiment, Preset, Row, Split, Unit
from paper.settings import (
    CORRECTIONS,
    Sample,
    cross_validate,
    dictionaries,
    error,
    fit_path,
    parameter,
    simulate,
)

#: The schemes, full correction first: it sets the goal that the others are to reach.
SCHEMES: Mapping[str, Mapping[str, Any]] = {
    "fully_corrective": CORRECTIONS["ridge"],
    "exact": CORRECTIONS["exact"],
    "letter": CORRECTIONS["letter"],
    **{
        scheme: {"scheme": scheme}
        for scheme in ("original", "shrinkage", "truncation", "epsilon", "rescaled")
    },
}
#: How much worse than full correction's best error still counts as reached.
_SLACK = 0.005
_CURVE_POINTS = 40
#: The most steps without a ridge: 10 k0.
_STEPS_EXACT = 130
_FIXED_WIDTHS = ("0.1", "0.2", "0.35", "0.5")
#: Candidates, steps of full correction, and of the other schemes.
_SIZES = {
    "quick": (2000, 100, 500),
    "standard": (10_000, 500, 5000),
    "full": (10_000, 500, 5000),
}
#: Repetitions with the width that cross-validation chooses, as in the paper, and with each of
#: the fixed widths, which tell the width's part from the scheme's.
_REPETITIONS = {"quick": (1, 0), "standard": (10, 5), "full": (10, 10)}


@dataclass(frozen=True)
class Sim4Unit(Unit):
    """One training set; `width` is a number, or "cv" where cross-validation chooses it."""

    width: str
    repetition: int
    n_candidates: int
    steps_full: int
    steps_other: int


class Sim4(Experiment[Sim4Unit]):
    """Six schemes on one dictionary of uniformly drawn Gauss atoms."""

    name = "sim4"
    printed = ("Table 3", "Figure 1")
    title = "Simulation 4: six update schemes"
    about = (
        "Best test error along the path, its training error and its number of distinct atoms, "
        "Gauss, n = 10,000, 30 % uniform noise, 500 fully corrective and 5,000 other steps."
    )
    unit_type = Sim4Unit
    results = (
        *("scheme", "kind", "k", "atoms", "test_error", "training_error"),
        *("chosen_width", "status"),
    )

    def units(self, preset: Preset, split: Split | None) -> list[Sim4Unit]:
        """Declare the training sets."""
        n_chosen, n_fixed = _REPETITIONS[preset]
        plan = [("cv", n_chosen), *((width, n_fixed) for width in _FIXED_WIDTHS)]
        return [
            Sim4Unit(width, repetition, *_SIZES[preset])
            for width, n_repetitions in plan
            for repetition in range(n_repetitions)
        ]

    def run(self, unit: Sim4Unit) -> list[Row]:
        """Follow the path of every scheme."""
        sample = simulate("uniform", 0.3, unit.repetition)
        dictionary = _dictionary(unit, sample)
        goal: float | None = None
        rows = []
        for scheme, options in SCHEMES.items():
            steps = _steps(unit, scheme)
            path = fit_path(
                sample,
                dictionary,
                unit.repetition,
                steps,
                n_candidates=unit.n_candidates,
                tol=0.0,
                **options,
            )
            errors = 1.0 - path.trace_.column("validation_score")
            goal = errors.min() + _SLACK if goal is None else goal
            found = {"scheme": scheme, "chosen_width": parameter(dictionary)}
            rows += [unit.row(**found, **seen) for seen in _seen(path, sample, errors, goal)]
        return rows

    def cost(self, unit: Sim4Unit) -> float:
        """Estimate the seconds: passes over the dictionary, and the choice of the width."""
        size = unit.n_candidates / 10_000
        passes = (5 * unit.steps_other + unit.steps_full) * size
        return 0.0018 * passes + (15.0 * size if unit.width == "cv" else 0.0)


def _steps(unit: Sim4Unit, scheme: str) -> int:
    if "scheme" in SCHEMES[scheme]:
        return unit.steps_other
    # Without a ridge, hundreds of nearly dependent columns take minutes, long after the best step.
    return min(unit.steps_full, _STEPS_EXACT) if scheme == "exact" else unit.steps_full


def _dictionary(unit: Sim4Unit, sample: Sample) -> GaussDictionary:
    """Give the Gauss dictionary of the unit's width, or of the one cross-validation chooses."""
    if unit.width != "cv":
        return GaussDictionary(width=float(unit.width), centers="box")
    choices = dictionaries("gauss", centers="box")
    chosen, _ = cross_validate(sample, choices, unit.repetition, n_candidates=unit.n_candidates)
    assert isinstance(chosen, GaussDictionary)
    return chosen


def _seen(
    path: FCGBoostClassifier, sample: Sample, errors: np.ndarray[Any, Any], goal: float
) -> list[dict[str, Any]]:
    """Give points of the curve, the best step, and the first step that reaches the goal."""
    last = len(errors)
    points = np.unique(np.geomspace(1, last, _CURVE_POINTS).round().astype(int))
    best = int(np.argmin(errors)) + 1
    reached = np.flatnonzero(errors <= goal)
    first = int(reached[0]) + 1 if len(reached) else last
    ending = path.status_.name.lower()
    steps = [("curve", int(k), ending) for k in points]
    steps += [("best", best, ending), ("reach", first, "reached" if len(reached) else "missed")]
    return [
        {
            "kind": kind,
            "k": k,
            "atoms": path.trace_[k - 1].n_atoms,
            "test_error": round(float(errors[k - 1]), 10),
            "training_error": error(path.truncate(k), sample.X, sample.y),
            "status": status,
        }
        for kind, k, status in steps
    ]
