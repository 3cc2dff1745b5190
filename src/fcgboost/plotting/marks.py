"""Where the atoms of a plane lie: centres of kernels, hinges of neurons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.dictionaries import (
    EllipticDictionary,
    GaussDictionary,
    InnerProductDictionary,
    LinearDictionary,
    PolynomialDictionary,
    SigmoidDictionary,
    StepDictionary,
)
from fcgboost.model import by_family
from fcgboost.plotting.canvas import Array


@dataclass(frozen=True)
class AtomMarks:
    """The atoms of a model over two features.

    Attributes
    ----------
    kind : {"centre", "hinge", "half-way line", "step"}
    places : ndarray of shape (n_atoms, 2) or (n_atoms, 3)
        Centres, or rows (w, b) of the lines <w, x> + b = 0.
    coef : ndarray of shape (1 or n_classes, n_atoms)
    """

    kind: Literal["centre", "hinge", "half-way line", "step"]
    places: Array
    coef: Array

    @property
    def sizes(self) -> Array:
        """The share of each atom's largest coefficient in that of all atoms."""
        sizes = np.abs(self.coef).max(axis=0, initial=0.0)
        return np.asarray(sizes / (sizes.max(initial=0.0) or 1.0))

    @property
    def class_codes(self) -> NDArray[np.intp]:
        """The class each atom says most about."""
        if len(self.coef) == 1:
            return np.asarray(self.coef[0] > 0.0, dtype=np.intp)
        return np.asarray(np.abs(self.coef).argmax(axis=0))

    @property
    def is_for(self) -> NDArray[np.bool_]:
        """Whether it speaks for that class, not against it; with two classes it always does."""
        if len(self.coef) == 1:
            return np.ones(self.coef.shape[1], dtype=bool)
        return np.asarray(self.coef[self.class_codes, np.arange(self.coef.shape[1])] > 0.0)


def find_marks(model: Any, points: Array) -> AtomMarks | None:
    """Give the marks of a model's atoms; None for atoms without a picture, or of several kinds.

    Parameters
    ----------
    model : Model
    points : ndarray of shape (n_samples, 2)
        The training data.
    """
    found = by_family(model.dictionary, model.atoms, len(model.scale))
    if len(found) > 1:
        # Centres and lines in one picture would be taken for the same thing.
        return None
    dictionary, _, rows = found[0] if found else (model.dictionary, None, model.atoms)
    atoms = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    if isinstance(dictionary, GaussDictionary | EllipticDictionary):
        return AtomMarks("centre", atoms[:, :2], model.coef)
    if isinstance(dictionary, PolynomialDictionary):
        return AtomMarks("centre", _polynomial_centers(model, atoms, points), model.coef)
    if isinstance(dictionary, SigmoidDictionary):
        return AtomMarks("half-way line", atoms, model.coef)
    if isinstance(dictionary, StepDictionary):
        return AtomMarks("step", atoms, model.coef)
    return AtomMarks("hinge", atoms, model.coef) if _has_hinges(dictionary) else None


def _has_hinges(dictionary: Any) -> bool:
    is_linear = isinstance(dictionary, LinearDictionary)
    return isinstance(dictionary, InnerProductDictionary) and not is_linear


def _polynomial_centers(model: Any, atoms: Array, points: Array) -> Array:
    """Solve w = (c - shift) / (q scale^2) and b = -<w, shift> for c.

    Two atoms that are not parallel determine the shift; what fewer leave open is the points' mean.
    """
    weights, offsets, unit = atoms[:, :2], atoms[:, 2], model.scale
    mean = points.mean(axis=0) if (unit != 1.0).any() else np.zeros(2)
    missing = -offsets - weights @ mean
    shift = mean + np.linalg.lstsq(weights / unit, missing, rcond=1e-9)[0] / unit * unit**2
    q = model.dictionary.q
    if q == "scale":
        q = np.mean(np.sum(((points - shift) / unit) ** 2, axis=1)) or 1.0
    return np.asarray(shift + weights * unit**2 * float(q))


def clipped_line(row: Array, low: Array, high: Array) -> Array | None:
    """Give the two ends of the line <w, x> + b = 0 in a box; None where it misses the box."""
    size = high - low
    normal, offset = row[:2] * size, row[2] + row[:2] @ low
    square = normal @ normal
    if square == 0.0:
        return None
    foot, direction = -offset * normal / square, np.array([-normal[1], normal[0]])
    moving = direction != 0.0
    if ((foot < 0.0) | (foot > 1.0))[~moving].any():
        return None
    ends = np.stack([-foot[moving], 1.0 - foot[moving]]) / direction[moving]
    first, last = ends.min(axis=0).max(), ends.max(axis=0).min()
    if first >= last:
        return None
    return np.asarray(low + size * (foot + np.outer([first, last], direction)))
