"""The paper's figure of the data: training samples with both kinds of noise."""

from __future__ import annotations

from dataclasses import dataclass

from fcgboost.datasets import bayes_boundary
from paper.base import Experiment, Preset, Row, Split, Unit
from paper.settings import NOISES, simulate


@dataclass(frozen=True)
class SamplesUnit(Unit):
    """One training set."""

    noise: str
    level: float
    seed: int


class Samples(Experiment[SamplesUnit]):
    """The noisy training samples themselves."""

    name = "samples"
    printed = ("Figure 3",)
    title = "The noisy training samples"
    about = "One training set of m = 1000 with 30 % uniform noise, and one with outlier noise."
    unit_type = SamplesUnit
    results = ("x1", "x2", "label", "is_flipped")

    def units(self, preset: Preset, split: Split | None) -> list[SamplesUnit]:
        """Declare the two training sets."""
        return [SamplesUnit(noise, level, 0) for noise, level in NOISES]

    def run(self, unit: SamplesUnit) -> list[Row]:
        """Draw the points; four digits are more than a figure shows."""
        sample = simulate(unit.noise, unit.level, unit.seed)
        is_positive = sample.X[:, 1] >= bayes_boundary(sample.X[:, 0])
        return [
            unit.row(
                x1=round(float(x[0]), 4),
                x2=round(float(x[1]), 4),
                label=int(label),
                is_flipped=int((label > 0) != clean),
            )
            for x, label, clean in zip(sample.X, sample.y, is_positive, strict=True)
        ]

    def cost(self, unit: SamplesUnit) -> float:
        """Estimate the seconds."""
        return 0.1
