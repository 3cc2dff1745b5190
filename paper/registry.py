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
from paper.experiments.earthquake import Earthquake
from paper.experiments.gaps import Gaps
from paper.experiments.leaves import Leaves
from paper.experiments.rates import Rates
from paper.experiments.robustness import Robustness
from paper.experiments.samples import Samples
from paper.experiments.sim1 import Sim1
from paper.experiments.sim2 import Sim2
from paper.experiments.sim3 import Sim3
from paper.experiments.sim4 import Sim4
from paper.experiments.tables import Tables
from paper.experiments.uci import Uci

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: Mapping[str, Experiment[Any]] = MappingProxyType(
    {
        experiment.name: experiment
        for experiment in (
            *(AdmmVsGd(), Samples(), Sim1(), Sim2(), Sim3(), Sim4()),
            *(Uci(), Earthquake(), Rates(), Contest()),
            *(Robustness(), Calibration(), Atoms(), Leaves(), Tables(), Gaps()),
        )
    }
)
