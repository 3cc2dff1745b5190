"""The experiments by name, in the order of the paper; what goes beyond it comes last."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fcgboost.experiments.admm_vs_gd import AdmmVsGd
from fcgboost.experiments.atoms import Atoms
from fcgboost.experiments.base import Experiment
from fcgboost.experiments.calibration import Calibration
from fcgboost.experiments.contest import Contest
from fcgboost.experiments.earthquake import Earthquake
from fcgboost.experiments.leaves import Leaves
from fcgboost.experiments.rates import Rates
from fcgboost.experiments.robustness import Robustness
from fcgboost.experiments.samples import Samples
from fcgboost.experiments.sim1 import Sim1
from fcgboost.experiments.sim2 import Sim2
from fcgboost.experiments.sim3 import Sim3
from fcgboost.experiments.sim4 import Sim4
from fcgboost.experiments.uci import Uci

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: Mapping[str, Experiment[Any]] = MappingProxyType(
    {
        experiment.name: experiment
        for experiment in (
            *(AdmmVsGd(), Samples(), Sim1(), Sim2(), Sim3(), Sim4()),
            *(Uci(), Earthquake(), Rates(), Contest()),
            *(Robustness(), Calibration(), Atoms(), Leaves()),
        )
    }
)
