"""Where the atoms of a model over two features lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fcgboost import dictionaries
from fcgboost.arrays import to_numpy
from fcgboost.dictionaries.planes import LinearProfile
from fcgboost.dictionaries.union import FamilyAtoms
from fcgboost.members import Member
from fcgboost.model import Model
from fcgboost.plotting.base import Array

Kind = Literal["centre", "hinge", "half-way line", "step"]
# The first family that an atom's dictionary belongs to says how it is drawn in a plane.
_KINDS: dict[type, Kind | None] = {
    dictionaries.GaussDictionary: "centre",
    dictionaries.PolynomialDictionary: "centre",
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


def atom_positions(members: Sequence[Member], points: Array) -> AtomPositions | None:
    """Return where atoms lie; None for atoms without a place in a plane, or of several kinds."""
    drawn = []
    for member in members:
        model = member.model
        groups = model.by_family()
        if len(groups) > 1:
            return None
        drawn += [_positions(atoms, model, points) for atoms in groups]
    kinds = {kind for kind, _ in drawn}
    if len(kinds) != 1:
        # Centres and lines in one picture would be taken for the same thing.
        return None
    [kind] = kinds
    if kind is None:
        return None
    positions = np.vstack([rows for _, rows in drawn])
    coef = np.hstack([member.weight * member.model.coef for member in members])
    return AtomPositions(kind, positions, coef)


def _positions(atoms: FamilyAtoms, model: Model, points: Array) -> tuple[Kind | None, Array]:
    """Return how the atoms of one family are drawn, and where."""
    family = atoms.family
    rows = to_numpy(atoms.rows)
    kind = next((kind for known, kind in _KINDS.items() if isinstance(family, known)), None)
    if isinstance(family, dictionaries.PolynomialDictionary):
        return kind, _polynomial_centers(model, rows, points)
    if kind == "centre":
        rows = rows[:, :2]
    return kind, rows


def _polynomial_centers(model: Model, atoms: Array, points: Array) -> Array:
    """Solve w = (c - shift) / (q scale^2) and b = -<w, shift> for c.

    Two atoms that are not parallel determine the shift; what fewer leave open is the points' mean.
    """
    weights = atoms[:, :2]
    offsets = atoms[:, 2]
    unit = model.scale
    mean = points.mean(axis=0) if (unit != 1.0).any() else np.zeros(2)
    missing = -offsets - weights @ mean
    shift = mean + np.linalg.lstsq(weights * unit, missing, rcond=1e-9)[0] * unit
    q = model.dictionary.q
    if q == "scale":
        q = np.mean(np.sum(((points - shift) / unit) ** 2, axis=1)) or 1.0
    return np.asarray(shift + weights * unit**2 * float(q))
