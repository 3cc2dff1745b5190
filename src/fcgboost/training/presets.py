"""The presets `dictionary="auto"`, `"fast"` and `"compact"`.

A preset has kinds of members: a kind is a union of families or a forest, how its atoms are learned,
and the ridge strengths among which held-out rows choose (lambda = strength / sqrt(m): 1 / m is too
weak for learned atoms).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fcgboost.dictionaries import (
    Dictionary,
    DirectionDictionary,
    GaussDictionary,
    ReluDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.greedy.elimination import Removal
from fcgboost.losses import Loss, ModifiedHuber
from fcgboost.selection.learned import LearnedCandidates
from fcgboost.solvers import NewtonSolver


@dataclass(frozen=True)
class Kind:
    """How the members of one kind are fitted."""

    dictionary: Dictionary | None = None
    selection: LearnedCandidates | None = None
    #: Ridge strengths to try, strongest first: among equal scores the simpler model wins.
    strengths: tuple[float, ...] = ()
    #: The ridge strength without held-out rows; None means a ridge of 1 / m.
    strength: float | None = None
    #: Clip inputs to this many standard deviations from their mean, if at all.
    clip: float | None = None
    #: The longest path, in multiples of k0 and in steps.
    limit: int = 5
    max_steps: int | None = None
    #: How many training and validation rows a path has beside other kinds; None means all.
    most_rows: int | None = None
    #: The growth factor after which all coefficients are corrected again.
    growth: float = 1.0
    removal: Removal | None = None
    #: None means the estimator's solver.
    solver: NewtonSolver | None = None
    #: A loss for the last coefficients that averaged members may have instead of the squared hinge.
    tail: Loss | None = None


# More draws and longer searches gained nothing on average (docs/beyond.md).
_TIMID = LearnedCandidates(
    size=32,
    max_steps=8,
    proximity=0.3,
    n_rows=4_096,
)

#: Families in turn.
FAMILIES = Kind(
    UnionDictionary(
        [ReluDictionary(), TreeDictionary("shallow"), GaussDictionary(width=(0.42, 4.2))]
    ),
    _TIMID,
    strengths=(3.0, 0.3, 0.03),
    strength=0.3,
    clip=4.0,
    limit=10,
    max_steps=230,
    most_rows=131_072,
    growth=1.2,
    tail=ModifiedHuber(threshold=0.5),
)
#: Deep trees with corrected leaves.
FOREST = Kind(
    TreeDictionary(30, max_leaf_nodes=255, corrects_leaves=True),
    LearnedCandidates(),
    strengths=(20.0, 5.0, 1.0, 0.1),
    strength=5.0,
    limit=10,
    max_steps=62,
    growth=1.5,
    solver=NewtonSolver(tol=1e-8, max_iter=2),
)
#: For wide sparse rows: directions over all columns, and trees on those most often non-zero. The
#: atoms are so few that there is no ridge to choose.
WORDS = Kind(
    UnionDictionary([DirectionDictionary(), TreeDictionary(max_features=256)]),
    LearnedCandidates(),
    strengths=(0.1,),
    strength=0.1,
    limit=2,
    max_steps=12,
    solver=NewtonSolver(),
)
#: ReLU atoms alone, which may be removed again.
SMALL = Kind(
    UnionDictionary([ReluDictionary()]),
    _TIMID,
    strengths=(3.0, 0.3, 0.03),
    strength=0.3,
    clip=4.0,
    limit=5,
    removal=Removal(0.25),
)

# Sparse rows with at least this many columns are wide.
_N_WIDE = 257
# Averaged forests have a leaf for this many rows each, up to a limit: on 40,000 rows of covtype
# that is worth half a point of AUC. It would make a single path half as long again.
_ROWS_A_LEAF = 64
_MOST_LEAVES = 1_023


def _with_more_leaves(kind: Kind, n_rows: int) -> Kind:
    """Return a kind whose corrected trees have as many leaves as the rows allow."""
    trees = kind.dictionary
    if not (isinstance(trees, TreeDictionary) and trees.max_leaf_nodes):
        return kind
    n_leaves = min(_MOST_LEAVES, n_rows // _ROWS_A_LEAF)
    if n_leaves <= trees.max_leaf_nodes:
        return kind
    return replace(kind, dictionary=replace(trees, max_leaf_nodes=n_leaves))


@dataclass(frozen=True)
class Preset:
    """Kinds of members, and how they make up a model."""

    #: The kinds of members, the first of which is fitted where only one can be.
    kinds: tuple[Kind, ...]
    for_wide: tuple[Kind, ...]
    #: Whether the members of the folds are averaged; otherwise the best setting is fitted again.
    is_ensemble: bool = False
    #: Whether one held-out part judges instead of all folds.
    has_one_split: bool = False
    #: From this many distinct rows on only the last kind is fitted, if a number is given.
    n_many: int | None = None
    #: Scores within this many standard errors of the best count as equally good: of such models the
    #: smallest is kept.
    slack: float = 0.0

    def dictionary(self) -> Dictionary:
        """Return the dictionary of the first kind."""
        dictionary = self.kinds[0].dictionary
        assert dictionary is not None
        return dictionary

    def kinds_for(self, n_rows: int, n_sparse: int) -> tuple[Kind, ...]:
        """Return the kinds for this many rows, and columns if the rows are sparse."""
        if n_sparse:
            return self.for_wide if n_sparse >= _N_WIDE else self.kinds[:1]
        if self.n_many is None:
            return tuple(_with_more_leaves(kind, n_rows) for kind in self.kinds)
        return self.kinds[-1:] if n_rows >= self.n_many else self.kinds[:1]


AUTO = Preset(
    (FAMILIES, FOREST),
    (WORDS,),
    is_ensemble=True,
)
FAST = Preset(
    (FAMILIES, FOREST),
    (WORDS,),
    has_one_split=True,
    n_many=10_000,
)
COMPACT = Preset(
    (SMALL,),
    (SMALL,),
    slack=0.5,
)
#: Of dictionaries that are not presets.
PLAIN = Preset((Kind(),), (Kind(),), is_ensemble=True)
#: The presets by their names.
PRESETS: Mapping[str, Preset] = {"auto": AUTO, "fast": FAST, "compact": COMPACT}


def preset_of(dictionary: object) -> Preset | None:
    """Return the preset that the parameter `dictionary` names, if any."""
    return PRESETS.get(dictionary) if isinstance(dictionary, str) else None
