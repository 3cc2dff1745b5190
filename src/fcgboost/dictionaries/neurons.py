"""Neurons with random weights: sigmoid and rectified linear."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from fcgboost.arrays import is_tensor, namespace
from fcgboost.dictionaries.base import (
    Array,
    Sample,
    Scaling,
    ScreenedDictionary,
    check_range,
    log_uniform,
)
from fcgboost.dictionaries.planes import (
    InnerProductDictionary,
    affine_rounding,
    check_max_features,
    draw_planes,
)
from fcgboost.parts import check_choice

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
    max_features : int or None, default=None
        The most non-zero coordinates of w; None is no limit.
    """

    def __init__(
        self,
        slope_range: float | tuple[float, float] = (1.0, 10.0),
        weights: Literal["sparse", "box"] = "sparse",
        scaling: Scaling = "none",
        max_features: int | None = None,
    ) -> None:
        self.slope_range = slope_range
        self.weights = weights
        self.scaling = scaling
        self.max_features = max_features

    def check_parameters(self) -> None:
        """Check all parameters."""
        super().check_parameters()
        check_choice(self, "weights", ("sparse", "box"))
        check_range(self, "slope_range")
        check_max_features(self)

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        """Propose random neurons."""
        slopes = log_uniform(self.slope_range, np.random.default_rng([key, 1]), (n, 1))
        return slopes * draw_planes(sample, n, key, self.max_features, self.weights)

    def profile(self, z: Array) -> Array:
        """Return 1 / (1 + exp(-z)), written so that no exponential overflows."""
        z *= 0.5
        namespace(z).tanh(z, out=z)
        z += 1.0
        z *= 0.5
        return z

    def slope(self, z: Array) -> Array:
        """Return g (1 - g)."""
        g = self.profile(z)
        return g * (1.0 - g)

    def rounding(self, atoms: Array, radius: float) -> tuple[Array, Array]:
        """Bound: the profile's slope is at most 1/4, and tanh is good to a few units."""
        _, errors = affine_rounding(atoms, radius)
        return np.ones(len(atoms)), errors / 4.0 + 16.0


class ReluDictionary(InnerProductDictionary, ScreenedDictionary):
    """Rectified linear atoms max(0, <w, x> + b); a row is (w, b).

    Parameters
    ----------
    weights : {"sparse", "box"}, default="sparse"
        "sparse": a unit direction with 1..d non-zero coordinates, its hinge through a training
        input. "box": w and b uniform in [-1, 1], the classical choice.
    scaling : {"none", "max", "norm"}, default="none"
    max_features : int or None, default=None
        The most non-zero coordinates of w; None is no limit.
    """

    def __init__(
        self,
        weights: Literal["sparse", "box"] = "sparse",
        scaling: Scaling = "none",
        max_features: int | None = None,
    ) -> None:
        self.weights = weights
        self.scaling = scaling
        self.max_features = max_features

    def check_parameters(self) -> None:
        """Check all parameters."""
        super().check_parameters()
        check_choice(self, "weights", ("sparse", "box"))
        check_max_features(self)

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        """Propose random neurons."""
        return draw_planes(sample, n, key, self.max_features, self.weights)

    def scaled(self, atoms: Any, factors: Array) -> Any:
        """Return (w, b) times the factor, which is positive."""
        return atoms * factors[:, None]

    def profile(self, z: Array) -> Array:
        """Return max(0, z)."""
        if is_tensor(z):
            return z.clamp_(min=0.0)  # type: ignore[attr-defined, no-any-return]
        # Twice as fast with a row of zeros as with one zero, once the row is long.
        zero = np.zeros(z.shape[-1], z.dtype) if z.shape[-1] >= _LONG else 0.0
        positive: Array = np.maximum(z, zero, out=z)
        return positive

    def slope(self, z: Array) -> Array:
        """Return 1 where z > 0, else 0."""
        slopes: Array = namespace(z).asarray(z > 0.0, dtype=z.dtype)
        return slopes

    def rounding(self, atoms: Array, radius: float) -> tuple[Array, Array]:
        """Bound: the profile moves no more than its argument."""
        return affine_rounding(atoms, radius)
