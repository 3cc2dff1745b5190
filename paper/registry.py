"""The experiments by name, in the order of the paper; what goes beyond it comes last."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from paper.base import Experiment
from paper.experiments.admm_vs_gd import AdmmVsGd
from paper.experiments.atoms import Atoms
from paper.experiments.calibration import Calibration
from paper.experiments.contest import Contest
from paper.experiments.earthquake import Earthquake, EarthquakeItaly
from paper.experiments.gaps import Gaps
from paper.experiments.leaves import Leaves
from paper.experiments.rates import Rates
from paper.experiments.robustness import Robustness
from paper.experiments.samples import Samples
from paper.experiments.sim1 import Sim1
from paper.experiments.sim2 import Sim2
from paper.experiments.sim3 import Sim3
from paper.experiments.sim4 import Sim4
from paper.experiments.sizes import Sizes
from paper.experiments.tables import Tables
from paper.experiments.uci import Uci

EXPERIMENTS: Mapping[str, Experiment[Any]] = MappingProxyType(
    {
        experiment.name: experiment
        for experiment in (
            *(AdmmVsGd(), Samples(), Sim1(), Sim2(), Sim3(), Sim4()),
            *(Sizes(), Uci(), Earthquake(), EarthquakeItaly(), Rates(), Contest()),
            *(Robustness(), Calibration(), Atoms(), Leaves(), Tables(), Gaps()),
        )
    }
)


def named(text: str) -> list[str]:
    """Return the experiments of a name: ours, or a table or figure of the paper in any spelling.

    >>> named("Table 3"), named("figure-6"), named("sim5")
    (['sim4'], ['earthquake'], [])
    """
    if text in EXPERIMENTS:
        return [text]
    return [
        name
        for name, experiment in EXPERIMENTS.items()
        if _plain(text) in map(_plain, experiment.printed)
    ]


def _plain(text: str) -> str:
    """Return the letters and digits of a text in lower case."""
    return "".join(filter(str.isalnum, text.lower()))
