"""Simulation 2: test error against the size n of the dictionary (the figure "Effect of n")."""

from __future__ import annotations

from dataclasses import dataclass

from paper.base import Experiment, Preset, Row, Split, Unit
from paper.settings import (
    DICTIONARIES,
    N_TRAIN,
    NOISES,
    cross_validate,
    dictionaries,
    error,
    parameter,
    simulate,
)

_REPETITIONS = {"quick": 1, "standard": 10, "full": 20}
_MULTIPLES = {
    "quick": "1 3",
    "standard": "1 2 4 7 10",
    "full": " ".join(map(str, range(1, 11))),
}


@dataclass(frozen=True)
class Sim2Unit(Unit):
    """One training set and one family; `multiples` are the values of n / m."""

    noise: str
    level: float
    dictionary: str
    repetition: int
    multiples: str


class Sim2(Experiment[Sim2Unit]):
    """Error against n, centres drawn uniformly over the bounding box for every n.

    The family's parameter is chosen at n = m; for every n the steps are chosen anew.
    """

    name = "sim2"
    printed = ("Figure 5",)
    title = "Simulation 2: the size n of the dictionary"
    about = (
        "Test error against n = m, ..., 10 m for four dictionaries under uniform (30 %) and "
        "outlier noise, k among k0, ..., 5 k0 by cross-validation for every n."
    )
    unit_type = Sim2Unit
    results = ("n", "test_error", "steps", "atoms", "parameter")

    def units(self, preset: Preset, split: Split | None) -> list[Sim2Unit]:
        """Declare the training sets."""
        return [
            Sim2Unit(noise, level, dictionary, repetition, _MULTIPLES[preset])
            for noise, level in NOISES
            for dictionary in DICTIONARIES
            for repetition in range(_REPETITIONS[preset])
        ]

    def run(self, unit: Sim2Unit) -> list[Row]:
        """Choose the parameter at n = m, then the steps for every n."""
        sample = simulate(unit.noise, unit.level, unit.repetition)
        choices = dictionaries(unit.dictionary, centers="box")
        dictionary, _ = cross_validate(sample, choices, unit.repetition, n_candidates=N_TRAIN)
        rows = []
        for multiple in map(int, unit.multiples.split()):
            n = multiple * N_TRAIN
            _, chosen = cross_validate(sample, [dictionary], unit.repetition, n_candidates=n)
            rows.append(
                unit.row(
                    n=n,
                    test_error=error(chosen, sample.X_test, sample.y_test),
                    steps=chosen.n_iter_,
                    atoms=chosen.n_atoms_,
                    parameter=parameter(dictionary),
                )
            )
        return rows

    def cost(self, unit: Sim2Unit) -> float:
        """Estimate the seconds: six paths for every n, each as long as n is large."""
        n_paths = sum(map(int, unit.multiples.split()))
        return 0.3 * len(dictionaries(unit.dictionary)) + 0.27 * n_paths
