"""The contract of selections: what a step asks for, and the atoms that it gets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from fcgboost.arrays import Matrix
from fcgboost.designs.base import Design, Residuals
from fcgboost.parts import Part
from fcgboost.selection.gain import Gain

__all__ = ["Choice", "Chooser", "Request", "Selection"]


@dataclass
class Choice:
    """The best candidate for one output."""

    atom: Matrix
    id: int
    score: float
    #: What `ActiveColumns.append` takes besides the atom, known from scoring.
    entry: object = None


@dataclass
class Request:
    """What step k needs to choose an atom for each output."""

    k: int
    #: The residuals of the outputs.
    residuals: Residuals
    #: The ids that each output must not choose.
    excluded: Sequence[Collection[int]]
    #: Whether scores of pooled candidates are divided by their norms.
    normalize: bool
    #: How learned atoms are scored.
    gains: Sequence[Gain]


#: Chooses an atom for each output; None if there is none to choose.
Chooser = Callable[[Request], list[Choice | None]]


class Selection(Part):
    """Which candidates each step considers."""

    #: Whether all steps use one fixed set of candidates.
    is_fixed = True

    @abstractmethod
    def chooser(self, design: Design, n: int, key: int) -> Chooser:
        """Prepare a fit with n candidates if they are fixed; the key seeds all randomness."""
