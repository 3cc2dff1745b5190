"""Neurons with random weights: sigmoid and rectified linear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

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
from fcgboost.dictionaries.planes import InnerProductDictionary, affine_rounding, moved_planes
from fcgboost.parts import check_choice, is_positive

_LONG = 64


class SigmoidDictionary(InnerProductDictionary, ScreenedDictionary):
    """Sigmoid atoms 1 / (1 + exp(-(<w, x> + b))); a row is (w, b).

    Parameters
    ----------
    slope_range : float or pair of floats, default=(1.0, 10.0)
        The length of w in standardised units: log-uniform in a range, or fixed.
    weights : {"sparse", "box"}, default="sparse"
        "sparse": a direction with 1..d non-zero coordinates, its half-way plane through a
        training input. "box": w and b uniform in [-1, 1], the classical choice.
    scaling : {"none", "max", "norm"}, default="none"
    """

    def __init__(
        self,
        slope_range: float | tuple[float, float] = (1.0, 10.0),
        weights: Literal["sparse", "box"] = "sparse",
        scaling: Scaling = "none",
    ) -> None:
        self.slope_range = slope_range
        self.weights = weights
        self.scaling = scaling

    def check_parameters(self) -> None:
        """Check slope_range, weights and scaling."""
        super().check_parameters()
        check_choice(self, "weights", ("sparse", "box"))
        ends = self._ends()
        if len(ends) != 2 or not all(map(is_positive, ends)) or ends[0] > ends[1]:
            raise ValueError(
                "SigmoidDictionary: slope_range must be a positive number or a pair "
                f"low <= high of positive numbers, got {self.slope_range!r}."
            )

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        """Propose random neurons."""
        low, high = np.log(self._ends())
        slopes = np.exp(np.random.default_rng([key, 1]).uniform(low, high, size=(n, 1)))
        return slopes * _neurons(sample, self.weights, n, key)

    def _ends(self) -> tuple[Any, ...]:
        """Give the range as a tuple, of one number twice where it is a number."""
        if isinstance(self.slope_range, Sequence | np.ndarray):
            return tuple(self.slope_range)
        return self.slope_range, self.slope_range

    def profile(self, z: Array) -> Array:
        """Give 1 / (1 + exp(-z)), written so that no exponential overflows."""
        z *= 0.5
        namespace(z).tanh(z, out=z)
        z += 1.0
        z *= 0.5
        return z

    def slope(self, z: Array) -> Array:
        """Give g (1 - g)."""
        g = self.profile(z)
        return g * (1.0 - g)

    is_nonnegative = True

    def moved(self, atoms: Array, origin: Array, unit: Array) -> Array:
        """Give (w unit, b + <w, origin>)."""
        return moved_planes(atoms, origin, unit)

    def rounding(self, atoms: Array, unit: float = UNIT32) -> Rounding:
        """Bound: the profile's slope is at most 1/4, and tanh is good to a few units."""
        constant, slope = affine_rounding(atoms, unit)
        return Rounding(np.zeros(len(atoms)), constant / 4.0 + 16.0 * unit, slope / 4.0)


class ReluDictionary(InnerProductDictionary, ScreenedDictionary):
    """Rectified linear atoms max(0, <w, x> + b); a row is (w, b).

    Parameters
    ----------
    weights : {"sparse", "box"}, default="sparse"
        "sparse": a unit direction with 1..d non-zero coordinates, its hinge through a training
        input. "box": w and b uniform in [-1, 1], the classical choice.
    scaling : {"none", "max", "norm"}, default="none"
    """

    def __init__(
        self, weights: Literal["sparse", "box"] = "sparse", scaling: Scaling = "none"
    ) -> None:
        self.weights = weights
        self.scaling = scaling

    def check_parameters(self) -> None:
        """Check weights and scaling."""
        super().check_parameters()
        check_choice(self, "weights", ("sparse", "box"))

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        """Propose random neurons."""
        return _neurons(sample, self.weights, n, key)

    def profile(self, z: Array) -> Array:
        """Give max(0, z)."""
        if is_tensor(z):
            return z.clamp_(min=0.0)  # type: ignore[attr-defined, no-any-return]
        # Twice as fast with a row of zeros as with one zero, once the row is long.
        zero = np.zeros(z.shape[-1], z.dtype) if z.shape[-1] >= _LONG else 0.0
        positive: Array = np.maximum(z, zero, out=z)
        return positive

    def slope(self, z: Array) -> Array:
        """Give 1 where z > 0, else 0."""
        return np.where(z > 0.0, 1.0, 0.0)

    is_nonnegative = True

    def moved(self, atoms: Array, origin: Array, unit: Array) -> Array:
        """Give (w unit, b + <w, origin>)."""
        return moved_planes(atoms, origin, unit)

    def rounding(self, atoms: Array, unit: float = UNIT32) -> Rounding:
        """Bound: the profile moves no more than its argument."""
        return Rounding(np.zeros(len(atoms)), *affine_rounding(atoms, unit))


def _neurons(sample: Sample, weights: str, n: int, key: int) -> Array:
    """Draw (w, b) in standardised units and fold the standardisation in.

    Every kind of number has its own stream, filled atom by atom: fewer atoms of the same key
    are the first ones of more.
    """
    d = sample.n_features
    seeds = np.random.SeedSequence(key).spawn(3)
    first, second, third = map(np.random.default_rng, seeds)
    if weights == "box":
        w = first.uniform(-1.0, 1.0, size=(n, d)) / sample.scale
        b = second.uniform(-1.0, 1.0, size=n) - w @ sample.shift
        return np.hstack([w, b[:, None]])
    w = first.standard_normal((n, d))
    n_nonzero = second.integers(1, d + 1, size=n)
    lots = third.random((n, d))
    last = np.sort(lots, axis=1)[np.arange(n), n_nonzero - 1]
    w[lots > last[:, None]] = 0.0
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    w /= sample.scale
    # The shift cancels: <w, (x - mu) / s> - <w, (p - mu) / s> = <w / s, x - p>.
    through = sample.dense_rows()[np.arange(n) % sample.rows.shape[0]]
    return np.hstack([w, -np.einsum("ij,ij->i", w, through)[:, None]])
