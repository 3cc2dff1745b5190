"""Losses of a value f where the target is y.

`Loss` is the contract of every loss, and `MarginLoss` that of those for labels y in {-1, +1}, which
are phi(t), t = y f. The other abstract classes add what only some offer: a curvature (Newton's
method), a proximal map (ADMM), a probability. Solvers state what they need.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from fcgboost.arrays import Array, Flags, namespace, positive_part, sort
from fcgboost.parts import Part, check_positive

__all__ = [
    "CubedHinge",
    "CurvedLoss",
    "Hinge",
    "Loss",
    "MarginLoss",
    "ModifiedHuber",
    "ProbabilityLoss",
    "ProximalLoss",
    "SmoothLoss",
    "Square",
    "SquaredHinge",
]


class Loss(Part):
    """A loss convex in f; its methods work elementwise on arrays of one shape."""

    @abstractmethod
    def value(self, y: Array, f: Array) -> Array:
        """Return the loss."""

    @abstractmethod
    def gradient(self, y: Array, f: Array) -> Array:
        """Return its derivative in f; a subgradient at a kink."""

    @abstractmethod
    def initial(self, y: Array, weights: Array) -> float:
        """Return the constant f that minimises the weighted mean loss."""

    def inverse_link(self, f: Array) -> Array:
        """Return the prediction that a value stands for."""
        return f


class MarginLoss(Loss):
    """A loss phi(y f) of labels y = -1 and +1."""


class CurvedLoss(Loss):
    """A loss with a (generalised) second derivative."""

    @abstractmethod
    def curvature(self, y: Array, f: Array) -> Array:
        """Return the second derivative in f."""

    def terms(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """Return value, gradient and curvature together."""
        return self.value(y, f), self.gradient(y, f), self.curvature(y, f)


class SmoothLoss(CurvedLoss):
    """A loss of bounded curvature, so that its gradient is Lipschitz continuous."""

    curvature_bound: float


class ProximalLoss(Loss):
    """A loss whose proximal map is known in closed form."""

    @abstractmethod
    def prox(self, z: Array, tau: float) -> Array:
        """Return argmin over r of phi(r) + (tau / 2) (r - z)^2, on margins."""


class ProbabilityLoss(Loss):
    """A loss whose population minimiser determines P(y = 1 | x)."""

    @abstractmethod
    def probability(self, f: Array) -> Array:
        """Return P(y = 1) for decision values f; f is clipped to [-1, 1]."""


def _shortfall(y: Array, f: Array) -> Array:
    """Return max(0, 1 - y f), by how much the margin falls short of one."""
    return positive_part(1.0 - y * f)


def _clip(f: Array) -> Array:
    return namespace(f).clip(f, -1.0, 1.0)  # type: ignore[no-any-return]


def _where(condition: Flags, first: Array, second: Array | float) -> Array:
    return namespace(condition).where(condition, first, second)  # type: ignore[no-any-return]


def _mean(y: Array, weights: Array) -> float:
    # From the smallest on, sums are those of the weights to the bit if there are two labels.
    low = float(y.min())
    return low + float((weights * (y - low)).sum() / weights.sum())


def _positive_share(y: Array, weights: Array) -> float:
    return float(weights[y > 0].sum() / weights.sum())


class SquaredHinge(SmoothLoss, MarginLoss, ProximalLoss, ProbabilityLoss):
    """The squared hinge phi(t) = max(0, 1 - t)^2, the paper's loss.

    Its population minimiser is 2 P(y = 1 | x) - 1, so the probability is (1 + f) / 2 without
    calibration. The proximal map is the lemma of the paper's Appendix B.
    """

    curvature_bound = 2.0

    def value(self, y: Array, f: Array) -> Array:
        return _shortfall(y, f) ** 2

    def gradient(self, y: Array, f: Array) -> Array:
        return -2.0 * y * _shortfall(y, f)

    def curvature(self, y: Array, f: Array) -> Array:
        """Return 2 where y f < 1, else 0 (an element of Clarke's second derivative)."""
        return self.terms(y, f)[2]

    def terms(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """Return all three from one shortfall e: e^2, -2 y e, and 2 where e > 0."""
        shortfall = _shortfall(y, f)
        steps = namespace(f).sign(shortfall)
        return shortfall * shortfall, (-2.0 * y) * shortfall, steps + steps

    def prox(self, z: Array, tau: float) -> Array:
        return _where(z >= 1.0, z, (2.0 + tau * z) / (2.0 + tau))

    def probability(self, f: Array) -> Array:
        return (1.0 + _clip(f)) / 2.0

    def initial(self, y: Array, weights: Array) -> float:
        return 2.0 * _positive_share(y, weights) - 1.0


class Square(SmoothLoss, ProximalLoss, ProbabilityLoss):
    """The square loss (y - f)^2, which is (1 - y f)^2 for labels of size one.

    Its population minimiser is the mean of y, for labels 2 P(y = 1 | x) - 1.
    """

    curvature_bound = 2.0

    def value(self, y: Array, f: Array) -> Array:
        return (y - f) ** 2

    def gradient(self, y: Array, f: Array) -> Array:
        return -2.0 * (y - f)

    def curvature(self, y: Array, f: Array) -> Array:
        return 2.0 + 0.0 * f

    def prox(self, z: Array, tau: float) -> Array:
        return (2.0 + tau * z) / (2.0 + tau)

    def probability(self, f: Array) -> Array:
        return (1.0 + _clip(f)) / 2.0

    def initial(self, y: Array, weights: Array) -> float:
        return _mean(y, weights)


@dataclass(eq=False, repr=False)
class ModifiedHuber(SmoothLoss, MarginLoss, ProximalLoss, ProbabilityLoss):
    """The squared hinge with a linear tail (T. Zhang, Ann. Statist. 32, 2004).

    With e = max(0, 1 - t), phi(t) = e^2 where e is at most the threshold M, else 2 M e - M^2. Where
    P(y = 1 | x) = p is at least 1/2, the population minimiser is 2 p - 1 if that is at least 1 - M,
    else 1 - M (1 - p) / p.

    Parameters
    ----------
    threshold : float, default=2.0
        The shortfall M from which on the loss is linear. With 2, as in scikit-learn, the minimiser
        is that of the squared hinge, 2 p - 1. The smaller M is, the less a wrong label far from the
        boundary counts, and the less decision values say about probabilities near 1/2.
    """

    curvature_bound = 2.0

    threshold: float = 2.0

    def check_parameters(self) -> None:
        check_positive(self, "threshold")

    def _bent(self, y: Array, f: Array) -> Array:
        """Return the shortfall up to the threshold."""
        return namespace(f).clip(1.0 - y * f, 0.0, self.threshold)  # type: ignore[no-any-return]

    def value(self, y: Array, f: Array) -> Array:
        bent = self._bent(y, f)
        return bent * (2.0 * _shortfall(y, f) - bent)

    def gradient(self, y: Array, f: Array) -> Array:
        return -2.0 * y * self._bent(y, f)

    def curvature(self, y: Array, f: Array) -> Array:
        shortfall = _shortfall(y, f)
        return _where((shortfall > 0.0) & (shortfall <= self.threshold), 2.0 + 0.0 * f, 0.0)

    def prox(self, z: Array, tau: float) -> Array:
        """Return that of the squared hinge, but z + 2 M / tau where that is farther from 1."""
        straight = z + 2.0 * self.threshold / tau
        bent = namespace(z).clip((2.0 + tau * z) / (2.0 + tau), None, straight)
        return _where(z >= 1.0, z, bent)

    def probability(self, f: Array) -> Array:
        """Return the p at which p min(M, 1 - f) = (1 - p) min(M, 1 + f)."""
        f = _clip(f)
        up: Array = namespace(f).clip(1.0 + f, None, self.threshold)
        down: Array = namespace(f).clip(1.0 - f, None, self.threshold)
        return up / (up + down)

    def initial(self, y: Array, weights: Array) -> float:
        p = _positive_share(y, weights)
        major = max(p, 1.0 - p)
        size = max(2.0 * major - 1.0, 1.0 - self.threshold * (1.0 - major) / major)
        return float(np.copysign(size, p - 0.5))


class CubedHinge(CurvedLoss, MarginLoss, ProximalLoss, ProbabilityLoss):
    """The cubed hinge phi(t) = max(0, 1 - t)^3 (Janocha and Czarnecki).

    Its population minimiser c has P(y = 1 | x) = (1 + c)^2 / ((1 + c)^2 + (1 - c)^2).
    """

    def value(self, y: Array, f: Array) -> Array:
        return _shortfall(y, f) ** 3

    def gradient(self, y: Array, f: Array) -> Array:
        return -3.0 * y * _shortfall(y, f) ** 2

    def curvature(self, y: Array, f: Array) -> Array:
        return 6.0 * _shortfall(y, f)

    def prox(self, z: Array, tau: float) -> Array:
        """Return z where z >= 1, else 1 - e, the root of 3 e^2 + tau e = tau (1 - z)."""
        gap = positive_part(1.0 - z)
        # This form of the quadratic's root does not cancel for a small gap.
        root = namespace(gap).sqrt(1.0 + 12.0 * gap / tau)
        return _where(z >= 1.0, z, 1.0 - 2.0 * gap / (1.0 + root))

    def probability(self, f: Array) -> Array:
        up = (1.0 + _clip(f)) ** 2
        down = (1.0 - _clip(f)) ** 2
        return up / (up + down)

    def initial(self, y: Array, weights: Array) -> float:
        p = _positive_share(y, weights)
        up = np.sqrt(p)
        down = np.sqrt(1.0 - p)
        return float((up - down) / (up + down))


class Hinge(MarginLoss, ProximalLoss):
    """The hinge phi(t) = max(0, 1 - t). It determines the class but no probability."""

    def value(self, y: Array, f: Array) -> Array:
        return _shortfall(y, f)

    def gradient(self, y: Array, f: Array) -> Array:
        return _where(y * f < 1.0, -y, 0.0)

    def prox(self, z: Array, tau: float) -> Array:
        """Return z where z >= 1, z + 1 / tau where z < 1 - 1 / tau, else 1."""
        return _where(z >= 1.0, z, namespace(z).clip(z + 1.0 / tau, None, 1.0))

    def initial(self, y: Array, weights: Array) -> float:
        """Return the majority label, 0 on a tie."""
        return float(np.sign(2.0 * _positive_share(y, weights) - 1.0))


def class_probabilities(loss: ProbabilityLoss, decision: Array) -> Array:
    """Turn decision values into class probabilities that sum to one.

    For two classes (`decision` of shape (n_samples,)) this is the loss's own probability. For more
    (shape (n_samples, n_classes)), it is the Euclidean projection of p(clip f) + (f - clip f) / 2
    onto the simplex, which is never farther from the truth. The linear tails keep the order of the
    classes where f is clipped; with f and -f the result equals the formula for two classes.
    """
    xp = namespace(decision)
    if decision.ndim == 1:
        positive = loss.probability(decision)
        return xp.stack([1.0 - positive, positive], 1)  # type: ignore[no-any-return]
    points = loss.probability(decision) + (decision - _clip(decision)) / 2.0
    # Shifting a row does not change its projection; with the largest entry at 0, the sums below
    # stay exact for huge decision values.
    points = points - xp.amax(points, axis=1)[:, None]
    excess = xp.cumsum(-sort(-points), axis=1) - 1.0
    counts = xp.cumsum(xp.ones_like(points), axis=1)
    # The mean excess of the j largest entries grows while the j-th is above the threshold.
    threshold = xp.amax(excess / counts, axis=1)
    return positive_part(points - threshold[:, None])
