"""The presets `dictionary="auto"` and `dictionary="compact"`.

A preset is a union of families, how their atoms are learned, and the ridge strengths among which
validation chooses (lambda = strength / sqrt(m): 1 / m is too weak for learned atoms). For many rows
"auto" grows deep trees with corrected leaves, for wide sparse ones directions over all columns.
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
    """A complete configuration under one name."""

    name: str
    #: They take turns in this order, or compete if all are grown.
    families: tuple[Dictionary, ...] = ()
    selection: LearnedCandidates | None = None
    #: Ridge strengths to try, strongest first: among equal scores the simpler model wins.
    strengths: tuple[float, ...] = (3.0, 0.3, 0.03)
    #: The ridge strength without validation; None means a ridge of 1 / m.
    strength: float | None = 0.3
    #: Clip inputs to this many standard deviations from their mean, if at all.
    clip: float | None = 4.0
    #: The longest path, in multiples of k0 and in steps.
    limit: int = 10
    max_steps: int | None = None
    #: Scores within this many standard errors of the best count as equally good.
    slack: float = 0.25
    #: Among equally good models, keep the smallest instead of the best with the strongest ridge.
    is_small: bool = False
    removal: Removal | None = None
    #: The growth factor after which all coefficients are corrected again.
    growth: float = 1.0
    #: How many paths are averaged, and up to how many rows: with more rows a path depends so little
    #: on chance that an average is not worth its time and size.
    n_members: int = 1
    n_few: int = 0
    #: Which strength leads the path: its residuals decide which atoms are learned.
    leader: int = 1
    #: None means the estimator's solver.
    solver: NewtonSolver | None = None
    #: The preset for many rows, and the number from which it applies.
    other: Preset | None = None
    n_many: int = 0
    #: The preset for sparse rows, and the number of columns from which it applies.
    of_words: Preset | None = None
    n_wide: int = 0
    #: How many numbers of steps are compared up to k0 when several splits vote.
    n_parts: int = 4
    #: The preset for tables with categories, where averages gain more.
    of_categories: Preset | None = None

    def at(self, n_rows: int, n_sparse: int) -> Preset:
        """Return the preset for this many rows, and columns if the rows are sparse."""
        if n_sparse:
            return self if self.of_words is None or n_sparse < self.n_wide else self.of_words
        return self if self.other is None or n_rows < self.n_many else self.other

    def dictionary(self) -> Dictionary:
        """Return the union of the families, or the trees alone if their leaves are corrected."""
        first = self.families[0]
        return first if first.corrects_leaves else UnionDictionary(list(self.families))


# More draws and longer searches gained nothing on average (docs/beyond.md).
_TIMID = LearnedCandidates(size=32, max_steps=8, pull=0.3, n_rows=4_096)

#: Deep trees with corrected leaves.
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
#: Directions over all columns, and trees on those most often non-zero. The atoms are so few that
#: there is no ridge to choose.
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
#: For dictionaries that are not presets.
PLAIN = Preset("plain", strengths=(), strength=None, clip=None, limit=5, slack=0.0)
PRESETS: Mapping[str, Preset] = {preset.name: preset for preset in (AUTO, COMPACT)}


def preset_of(dictionary: Any) -> Preset | None:
    """Return the preset that the parameter `dictionary` names, if any."""
    return PRESETS.get(dictionary) if isinstance(dictionary, str) else None
