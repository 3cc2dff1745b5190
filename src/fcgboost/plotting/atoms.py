"""Where the atoms of a model over two features lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fcgboost import dictionaries
from fcgboost.arrays import host
from fcgboost.model import by_family
from fcgboost.plotting.base import Array

Kind = Literal["centre", "hinge", "half-way line", "step"]
# The first family that an atom's dictionary belongs to says how it is drawn in a plane.
_KINDS: dict[type, Kind | None] = {
    dictionaries.GaussDictionary: "centre",
    dictionaries.PolynomialDictionary: "centre",
    dictionaries.SigmoidDictionary: "half-way line",
    dictionaries.StepDictionary: "step",
    dictionaries.LinearProfile: None,
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


def atom_positions(model: Any, points: Array) -> AtomPositions | None:
    """Return where atoms lie; None for atoms without a place in a plane, or of several kinds."""
    found = by_family(model.dictionary, model.atoms, len(model.scale))
    if len(found) > 1:
        # Centres and lines in one picture would be taken for the same thing.
        return None
    dictionary, _, rows, _ = found[0] if found else (model.dictionary, None, model.atoms, None)
    atoms = host(rows)
    kind = next((kind for family, kind in _KINDS.items() if isinstance(dictionary, family)), None)
    if kind is None:
        return None
    places = atoms[:, :2] if kind == "centre" else atoms
    if isinstance(dictionary, dictionaries.PolynomialDictionary):
        places = _polynomial_centers(model, atoms, points)
    return AtomPositions(kind, places, model.coef)


def _polynomial_centers(model: Any, atoms: Array, points: Array) -> Array:
    """Solve w = (c - shift) / (q scale^2) and b = -<w, shift> for c.

    Two atoms that are not parallel determine the shift; what fewer leave open is the points' mean.
    """
    weights, offsets, unit = atoms[:, :2], atoms[:, 2], model.scale
    mean = points.mean(axis=0) if (unit != 1.0).any() else np.zeros(2)
    missing = -offsets - weights @ mean
    shift = mean + np.linalg.lstsq(weights * unit, missing, rcond=1e-9)[0] * unit
    q = model.dictionary.q
    if q == "scale":
        q = np.mean(np.sum(((points - shift) / unit) ** 2, axis=1)) or 1.0
    return np.asarray(shift + weights * unit**2 * float(q))
