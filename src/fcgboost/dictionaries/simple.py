"""The plainest atoms: linear functions, and steps across planes."""

from __future__ import annotations

from typing import Any

import numpy as np

from fcgboost.arrays import is_tensor, namespace
from fcgboost.dictionaries.base import (
    UNIT32,
    Array,
    Rounding,
    Sample,
    Scaling,
    ScreenedDictionary,
)
from fcgboost.dictionaries.planes import (
    InnerProductDictionary,
    PlaneDictionary,
    affine_rounding,
    check_max_features,
    draw_planes,
    split_last,
)


class LinearDictionary(InnerProductDictionary, ScreenedDictionary):
    """Linear atoms <w, x> + b; a row is (w, b).

    The direction w has length 1 in standardised units and 1..d non-zero coordinates; the atom is
    zero at a training input.

    Parameters
    ----------
    max_features : int or None, default=None
        The most non-zero coordinates of w; None is no limit. With 1 every atom is one input.
    scaling : {"none", "max", "norm"}, default="none"
    """

    def __init__(self, max_features: int | None = None, scaling: Scaling = "none") -> None:
        self.max_features = max_features
        self.scaling = scaling

    def check_parameters(self) -> None:
        """Check max_features and scaling."""
        super().check_parameters()
        check_max_features(self)

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        """Propose random directions."""
        return draw_planes(sample, n, key, self.max_features)

    def scaled(self, atoms: Any, factors: Array) -> Any:
        """Return (w, b) times the factor."""
        return atoms * factors[:, None]

    def profile(self, z: Array) -> Array:
        """Return z."""
        return z

    def slope(self, z: Array) -> Array:
        """Return 1."""
        slopes: Array = namespace(z).ones_like(z)
        return slopes

    def rounding(self, atoms: Array, unit: float = UNIT32) -> Rounding:
        """Bound: an atom is its argument."""
        return Rounding(np.zeros(len(atoms)), *affine_rounding(atoms, unit))


class StepDictionary(PlaneDictionary):
    """Step atoms: 1 where <w, x> + b > 0, else 0; a row is (w, b).

    The direction w has 1..d non-zero coordinates, and the step is at a training input, which is
    itself on the side of the ones.

    Parameters
    ----------
    max_features : int or None, default=None
        The most non-zero coordinates of w; None is no limit. 1 gives decision stumps.
    scaling : {"none", "max", "norm"}, default="none"
    """

    def __init__(self, max_features: int | None = None, scaling: Scaling = "none") -> None:
        self.max_features = max_features
        self.scaling = scaling

    def check_parameters(self) -> None:
        """Check max_features and scaling."""
        super().check_parameters()
        check_max_features(self)

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        """Propose random directions with the step at training inputs.

        A step that went exactly through a row would be decided there by rounding, which differs
        from one library to the next. So it is moved by a little more than k products and sums can
        lose, k the number of non-zero weights: by (k + 4) 2^-50 of the largest size they can have.
        """
        atoms = draw_planes(sample, n, key, self.max_features)
        weights, offsets = split_last(atoms)
        largest = np.maximum(np.abs(sample.low), np.abs(sample.high))
        sizes = np.abs(weights) @ (largest + np.abs(sample.shift) + sample.scale)
        offsets += (np.count_nonzero(weights, axis=1) + 4) * 2.0**-50 * sizes
        return atoms

    def profile(self, z: Array) -> Array:
        """Return 1 where z > 0, else 0."""
        if is_tensor(z):
            return z.gt_(0.0)  # type: ignore[attr-defined, no-any-return]
        steps: Array = np.greater(z, 0.0, out=z)
        return steps
