"""The sizes of the real data, as the loaders give them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paper.base import Experiment, Preset, Row, Split, Unit
from paper.data import fetch_uci
from paper.data.catalog import UCI_SETS
from paper.experiments.uci import missing_sets


@dataclass(frozen=True)
class SizesUnit(Unit):
    """One set."""

    dataset: str


class Sizes(Experiment[SizesUnit]):
    """Rows, attributes and classes, counted in what is loaded."""

    name = "sizes"
    printed = ("Table 4",)
    title = "Sizes of the UCI data sets"
    about = "Rows and attributes of the eleven sets, counted in what the loaders return."
    unit_type = SizesUnit
    results = ("n_rows", "n_complete", "n_attributes", "n_inputs", "n_positive")

    def units(self, preset: Preset, split: Split | None) -> list[SizesUnit]:
        """Declare the sets."""
        return list(map(SizesUnit, UCI_SETS))

    def run(self, unit: SizesUnit) -> list[Row]:
        """Load the set, and count."""
        facts = UCI_SETS[unit.dataset]
        bunch: Any = fetch_uci(unit.dataset, return_X_y=False)
        n_complete, n_inputs = bunch.data.shape
        return [
            unit.row(
                n_rows=facts.n_rows,
                n_complete=n_complete,
                n_attributes=sum(not name.startswith("id_") for name in facts.columns),
                n_inputs=n_inputs,
                n_positive=int((bunch.target > 0).sum()),
            )
        ]

    def cost(self, unit: SizesUnit) -> float:
        """Estimate the seconds."""
        return 0.5

    def obstacle(self, units: Sequence[SizesUnit]) -> str | None:
        """Say which sets can be neither found nor downloaded."""
        return missing_sets([unit.dataset for unit in units])
