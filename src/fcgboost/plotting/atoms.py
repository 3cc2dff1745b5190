"""Where the atoms of a model over two features lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fcgboost import dictionaries
from fcgboost.arrays import to_numpy
from fcgboost.dictionaries.planes import LinearProfile
from fcgboost.members import Member
from fcgboost.plotting.base import Array

Kind = Literal["centre", "hinge", "half-way line", "step"]
# The first family that an atom's dictionary belongs to says how it is drawn in a plane.
_KINDS: dict[type, Kind | None] = {
    dictionaries.GaussDictionary: "centre",
    dictionaries.PolynomialDictionary: None,
    dictionaries.SigmoidDictionary: "half-way line",
    dictionaries.StepDictionary: "step",
    LinearProfile: None,
    dictionaries.InnerProductDictionary: "hinge",
}


@dataclass(frozen=True)
class AtomPositions:
    """Where the atoms of a model over two features lie."""

    kind: Kind
    #: Centres of shape (n_atoms, 2), or rows (w, b) of the lines <w, x> + b = 0.
    places: Array
    #: Of shape (1 or n_classes, n_atoms).
    coef: Array


def atom_positions(members: Sequence[Member]) -> AtomPositions | None:
    """Return where atoms lie; None for atoms without a place in a plane, or of several kinds."""
    drawn = []
    for member in members:
        groups = member.model.by_family()
        if len(groups) > 1:
            return None
        drawn += [(_kind_of(group.family), to_numpy(group.rows)) for group in groups]
    kinds = {kind for kind, _ in drawn}
    if len(kinds) != 1:
        # Centres and lines in one picture would be taken for the same thing.
        return None
    [kind] = kinds
    if kind is None:
        return None
    places = np.vstack([rows for _, rows in drawn])
    if kind == "centre":
        places = places[:, :2]
    coef = np.hstack([member.weight * member.model.coef for member in members])
    return AtomPositions(kind, places, coef)


def _kind_of(family: dictionaries.Dictionary) -> Kind | None:
    return next((kind for known, kind in _KINDS.items() if isinstance(family, known)), None)
