"""Whole set-ups under one name: `dictionary="auto"` and `dictionary="compact"`.

A preset is a union of families that take turns, how their atoms are learned, and the strengths of
the ridge among which validation chooses (lambda = strength / sqrt(m): 1 / m is too weak for atoms
that were searched for).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    ReluDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.learned import LearnedCandidates


@dataclass(frozen=True)
class Preset:
    """A set-up.

    Attributes
    ----------
    families : tuple of Dictionary
        They take turns in this order.
    selection : LearnedCandidates
    strengths : tuple of float
        Of the ridge, strongest first: of equal scores the simpler model wins.
    clip : float
        Inputs are clipped to so many deviations from their mean.
    limit : int
        The longest path, in multiples of k0.
    """

    families: tuple[Dictionary, ...]
    selection: LearnedCandidates
    strengths: tuple[float, ...] = (0.3, 0.03)
    clip: float = 4.0
    limit: int = 10

    @property
    def takes_missing(self) -> bool:
        """Whether some family takes NaN."""
        return any(family.takes_missing for family in self.families)

    def dictionary(self, has_missing: bool = False) -> UnionDictionary:
        """Give the union; of data with missing values, that of the families that take them."""
        able = [family for family in self.families if family.takes_missing or not has_missing]
        return UnionDictionary(able)


PRESETS: Mapping[str, Preset] = {
    "auto": Preset(
        (ReluDictionary(), TreeDictionary(), GaussDictionary(width=(0.42, 4.2))),
        LearnedCandidates(),
    ),
    "compact": Preset((ReluDictionary(),), LearnedCandidates()),
}


def preset_of(dictionary: Any) -> Preset | None:
    """Give the preset that the parameter `dictionary` names, if it names one."""
    return PRESETS.get(dictionary) if isinstance(dictionary, str) else None
