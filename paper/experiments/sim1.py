"""Simulation 1: test error against the number of steps k (the paper's figure "Effect of k")."""

from __future__ import annotations

from dataclasses import dataclass

from fcgboost import theory_steps
from paper.base import Experiment, Preset, Row, Split, Unit
from paper.settings import (
    CORRECTIONS,
    DICTIONARIES,
    N_TRAIN,
    NOISES,
    cross_validate,
    dictionaries,
    error,
    fit_path,
    parameter,
    simulate,
)

_REPETITIONS = {"quick": 1, "standard": 10, "full": 20}


@dataclass(frozen=True)
class Sim1Unit(Unit):
    """One training set and one family of dictionaries."""

    noise: str
    level: float
    dictionary: str
    repetition: int


class Sim1(Experiment[Sim1Unit]):
    """Error against steps, for every way to correct the coefficients.

    The family's parameter is chosen once per training set, by cross-validation with the default
    correction, and shared by all corrections: the curves of one panel then differ by nothing
    else.
    """

    name = "sim1"
    printed = ("Figure 4",)
    title = "Simulation 1: the number of steps k"
    about = (
        "Test error against k for four dictionaries under uniform (30 %) and outlier noise; "
        "exact with λ = 1/m, exact with λ = 0, by ADMM, and Algorithm 1 to the letter."
    )
    unit_type = Sim1Unit
    results = ("correction", "k", "test_error", "training_error", "atoms", "parameter", "status")

    def units(self, preset: Preset, split: Split | None) -> list[Sim1Unit]:
        """Declare the training sets."""
        return [
            Sim1Unit(noise, level, dictionary, repetition)
            for noise, level in NOISES
            for dictionary in DICTIONARIES
            for repetition in range(_REPETITIONS[preset])
        ]

    def run(self, unit: Sim1Unit) -> list[Row]:
        """Choose the parameter, then follow one path per correction."""
        sample = simulate(unit.noise, unit.level, unit.repetition)
        dictionary, _ = cross_validate(sample, dictionaries(unit.dictionary), unit.repetition)
        ks = steps_shown(theory_steps(N_TRAIN))
        rows = []
        for correction, options in CORRECTIONS.items():
            # No tolerance: a path that ends early would look stable.
            path = fit_path(sample, dictionary, unit.repetition, ks[-1], tol=0.0, **options)
            for k in ks:
                # A path that stands still keeps its last model.
                short = path.truncate(min(k, len(path.trace_)))
                rows.append(
                    unit.row(
                        correction=correction,
                        k=k,
                        test_error=error(short, sample.X_test, sample.y_test),
                        training_error=error(short, sample.X, sample.y),
                        atoms=short.n_atoms_,
                        parameter=parameter(dictionary),
                        status=path.status_.name.lower(),
                    )
                )
        return rows

    def cost(self, unit: Sim1Unit) -> float:
        """Estimate the seconds, nearly all of them for the choice and for ADMM."""
        return 2.2 + 0.35 * len(dictionaries(unit.dictionary))


def steps_shown(k0: int) -> list[int]:
    """Give the paper's eleven numbers of steps: k0/2 rounded up, k0, 2 k0, ..., 10 k0."""
    return [-(-k0 // 2), *(multiple * k0 for multiple in range(1, 11))]
