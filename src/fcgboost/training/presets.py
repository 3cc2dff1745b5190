"""Whole set-ups under one name: `dictionary="auto"` and `dictionary="compact"`.

A preset is a union of families that take turns, how their atoms are learned, and the strengths of
the ridge among which validation chooses (lambda = strength / sqrt(m): 1 / m is too weak for atoms
that were searched for). Of many rows "auto" makes deep trees whose leaves are corrected, of wide
sparse ones directions over all columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fcgboost.dictionaries import (
    Dictionary,
    DirectionDictionary,
    GaussDictionary,
    ReluDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.greedy.elimination import Removal
from fcgboost.selection.learned import LearnedCandidates
from fcgboost.solvers import NewtonSolver


@dataclass(frozen=True)
class Preset:
    """A set-up."""

    name: str
    #: They take turns in this order, or compete if all grow their atoms.
    families: tuple[Dictionary, ...] = ()
    selection: LearnedCandidates | None = None
    #: Of the ridge, strongest first: of equal scores the simpler model wins.
    strengths: tuple[float, ...] = (3.0, 0.3, 0.03)
    #: That of the ridge where there is nothing to choose by; None is a ridge of 1 / m.
    strength: float | None = 0.3
    #: Inputs are clipped to so many deviations from their mean, if at all.
    clip: float | None = 4.0
    #: The longest path, in multiples of k0, and in steps.
    limit: int = 10
    max_steps: int | None = None
    #: Scores that are so many standard errors below the best are as good.
    slack: float = 0.25
    #: Of models that are as good: the smallest is kept, or else the best of the strongest ridge.
    is_small: bool = False
    removal: Removal | None = None
    #: How much a model grows until all coefficients are corrected again.
    growth: float = 1.0
    #: How many paths are averaged, and up to how many rows: of many rows a path depends so little
    #: on chance that an average is not worth its time, or its size.
    n_members: int = 1
    n_few: int = 0
    #: Which of the strengths leads the path: its residuals decide what atoms are grown.
    leader: int = 1
    #: How far all coefficients are corrected; None is the solver's own.
    solver: NewtonSolver | None = None
    #: Another set-up for many rows, and from how many on.
    other: Preset | None = None
    n_many: int = 0
    #: Another one for sparse rows, and from how many columns on.
    of_words: Preset | None = None
    n_wide: int = 0
    #: How many numbers of steps are compared up to k0, where paths of several splits have a vote.
    n_parts: int = 4
    #: Another one for tables with categories, where averages gain more.
    of_categories: Preset | None = None

    def at(self, n_rows: int, n_sparse: int) -> Preset:
        """Return the set-up for so many rows, and columns if rows are sparse."""
        if n_sparse:
            return self if self.of_words is None or n_sparse < self.n_wide else self.of_words
        return self if self.other is None or n_rows < self.n_many else self.other

    def dictionary(self) -> Dictionary:
        """Return the union of the families, or trees alone whose leaves are corrected."""
        first = self.families[0]
        return first if first.corrects_leaves else UnionDictionary(list(self.families))


# In the presets more draws and longer searches gained nothing on average (docs/beyond.md).
_TIMID = LearnedCandidates(size=32, max_steps=8, pull=0.3, n_rows=4_096)

#: Deep trees whose leaves are all corrected.
FOREST = Preset(
    "forest",
    (TreeDictionary(30, max_leaf_nodes=255, corrects_leaves=True),),
    LearnedCandidates(),
    strengths=(20.0, 5.0, 1.0, 0.1),
    clip=None,
    max_steps=62,
    growth=1.5,
    solver=NewtonSolver(tol=1e-8, max_iter=2),
)
#: Directions over all columns, and trees of those that are most often not zero. Atoms are so few
#: that there is no ridge to choose.
WORDS = Preset(
    "words",
    (DirectionDictionary(), TreeDictionary(max_features=256)),
    LearnedCandidates(),
    strengths=(0.1,),
    strength=0.1,
    clip=None,
    limit=2,
    max_steps=12,
    leader=0,
    solver=NewtonSolver(),
    n_parts=16,
)
AUTO = Preset(
    "auto",
    (ReluDictionary(), TreeDictionary("shallow"), GaussDictionary(width=(0.42, 4.2))),
    _TIMID,
    max_steps=230,
    growth=1.2,
    n_members=3,
    n_few=5_000,
    other=FOREST,
    n_many=10_000,
    of_words=WORDS,
    n_wide=257,
)
AUTO = replace(AUTO, of_categories=replace(AUTO, n_members=8, n_few=10_000))
COMPACT = Preset(
    "compact",
    (ReluDictionary(),),
    _TIMID,
    limit=5,
    slack=0.5,
    is_small=True,
    removal=Removal(0.25),
    n_members=3,
    n_few=2_000,
)
#: What a dictionary stands for that is none of them.
PLAIN = Preset("plain", strengths=(), strength=None, clip=None, limit=5, slack=0.0)
PRESETS: Mapping[str, Preset] = {preset.name: preset for preset in (AUTO, COMPACT)}


def preset_of(dictionary: Any) -> Preset | None:
    """Return the preset that the parameter `dictionary` names, if it names one."""
    return PRESETS.get(dictionary) if isinstance(dictionary, str) else None
