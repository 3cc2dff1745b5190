"""Simulation 3: four losses (the two tables "Comparison on the test errors of different losses").

Each loss is fitted exactly with lambda = 1/m, and by ADMM at the paper's settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fcgboost import Dictionary, FCGBoostClassifier, Status
from paper.base import Experiment, Preset, Row, Split, Unit
from paper.settings import (
    CORRECTIONS,
    DICTIONARIES,
    N_FOLDS,
    Sample,
    cross_validate,
    dictionaries,
    error,
    parameter,
    simulate,
)

LOSSES = ("squared_hinge", "hinge", "cubed_hinge", "square")
#: Noise and level, and the level that the paper prints.
LEVELS = (
    *(("uniform", level, level) for level in (0.2, 0.3, 0.4)),
    *(("outlier", 0.2, 0.0851), ("outlier", 0.3, 0.1283), ("outlier", 0.4, 0.1731)),
)
_REPETITIONS = {"quick": 1, "standard": 10, "full": 20}
# A path by ADMM, or for the hinge, takes six times as long as the others. Unless all is as in
# the paper, these take the family's parameter that the squared hinge chose, and hold out one
# fold instead of five to choose the steps.
_SLOW = {"quick": "shared", "standard": "shared", "full": "own"}


@dataclass(frozen=True)
class Sim3Unit(Unit):
    """One training set and one family; `slow_choice` is how the slow fits choose."""

    noise: str
    level: float
    dictionary: str
    repetition: int
    slow_choice: str


class Sim3(Experiment[Sim3Unit]):
    """Four losses, each exactly and by ADMM."""

    name = "sim3"
    printed = ("Table 1", "Table 2")
    title = "Simulation 3: four losses"
    about = (
        "Test errors of squared hinge, hinge, cubed hinge and square loss for four "
        "dictionaries, three levels of uniform and three of outlier noise."
    )
    unit_type = Sim3Unit
    results = ("loss", "correction", "test_error", "steps", "atoms", "parameter", "deviation")

    def units(self, preset: Preset, split: Split | None) -> list[Sim3Unit]:
        """Declare the training sets."""
        return [
            Sim3Unit(noise, level, dictionary, repetition, _SLOW[preset])
            for noise, level, _ in LEVELS
            for dictionary in DICTIONARIES
            for repetition in range(_REPETITIONS[preset])
        ]

    def run(self, unit: Sim3Unit) -> list[Row]:
        """Fit all losses in both ways."""
        sample = simulate(unit.noise, unit.level, unit.repetition)
        family = dictionaries(unit.dictionary)
        rows = []
        shared: Sequence[Dictionary] = family
        for correction in ("ridge", "admm"):
            for loss in LOSSES:
                is_shared = unit.slow_choice == "shared" and _is_slow(loss, correction)
                choices, n_folds = (shared, 1) if is_shared else (family, N_FOLDS)
                row, dictionary = _fit(unit, sample, choices, n_folds, loss, correction)
                rows.append(row)
                if loss == "squared_hinge" and correction == "ridge":
                    shared = [dictionary]
        return rows

    def cost(self, unit: Sim3Unit) -> float:
        """Estimate the seconds."""
        n_choices = len(dictionaries(unit.dictionary))
        fast = 0.3 + 0.9 * n_choices
        return fast + (3.0 if unit.slow_choice == "shared" else 13.0 * n_choices)


def _ended(classifier: FCGBoostClassifier) -> bool:
    is_last = classifier.n_iter_ == len(classifier.trace_)
    return is_last and classifier.status_ is Status.TOLERANCE


def _is_slow(loss: str, correction: str) -> bool:
    return correction == "admm" or loss == "hinge"


def _fit(
    unit: Sim3Unit,
    sample: Sample,
    choices: Sequence[Dictionary],
    n_folds: int,
    loss: str,
    correction: str,
) -> tuple[Row, Dictionary]:
    options: dict[str, Any] = {"loss": loss, **CORRECTIONS[correction]}
    dictionary, chosen = cross_validate(sample, choices, unit.repetition, n_folds, **options)
    notes = ["parameter of the squared hinge, one fold"] * (n_folds == 1)
    # The paper has no tolerance; ours ends paths of polynomial atoms whose first score is huge.
    notes += [f"path ended by tol after {chosen.n_iter_} steps"] * _ended(chosen)
    row = unit.row(
        loss=loss,
        correction=correction,
        test_error=error(chosen, sample.X_test, sample.y_test),
        steps=chosen.n_iter_,
        atoms=chosen.n_atoms_,
        parameter=parameter(dictionary),
        deviation="; ".join(notes) or None,
    )
    return row, dictionary
