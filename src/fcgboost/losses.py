"""Losses of a value f where the target is y.

`Loss` is the contract of every loss, and `MarginLoss` that of those for labels y in {-1, +1}, which
are phi(t), t = y f. The other abstract classes add what only some offer: a curvature (Newton's
method), a proximal map (ADMM), a probability. Solvers state what they need.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from fcgboost.arrays import Array, Flags, namespace, positive_part, sort
from fcgboost.parts import Part, check_positive, refuse

__all__ = [
    "CubedHinge",
    "CurvedLoss",
    "Hinge",
    "Huber",
    "Loss",
    "MarginLoss",
    "ModifiedHuber",
    "Poisson",
    "ProbabilityLoss",
    "ProximalLoss",
    "Quantile",
    "SmoothLoss",
    "Square",
    "SquaredHinge",
]

# The bandwidth of a quantile follows the objective once that is smaller by this factor, and not
# below this size, where only rounding is left.
_NARROWER = 0.7
_LEAST = 1e-12
#: The largest logarithm of a mean.
FARTHEST = 300.0


class Loss(Part):
    """A loss convex in f; its methods work elementwise on arrays of one shape."""

    #: The least target.
    least = -np.inf
    #: Whether trees grow with the weights of the rows alone, not times `stiffness`.
    is_even: bool = True

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

    def units(self, y: Array, weights: Array, is_centred: bool) -> tuple[float, float]:
        """Return what is subtracted from numbers, and what they are then divided by, for a fit.

        By default that is their mean, unless there is no intercept, and the root mean square.
        """
        # Of huge numbers the squares overflow, those of tiny ones vanish.
        size = float(abs(y).max()) or 1.0
        ratios = y / size
        centre = float(np.average(ratios, weights=weights)) if is_centred else 0.0
        squares = (ratios - centre) ** 2
        variance = float(np.average(squares, weights=weights))
        return size * centre, size * variance**0.5

    def narrowed(self, objective: float) -> Loss:
        """Return the loss with which a path goes on from an objective."""
        return self

    def stiffness(self, y: Array, f: Array, gradient: Array) -> Array:
        """Return what stands for half the curvature where atoms are scored and trees grow.

        If that has a bound, in its units. By default 1 for rows with a gradient.
        """
        return _where(gradient != 0.0, 1.0, 0.0)


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

    def stiffness(self, y: Array, f: Array, gradient: Array) -> Array:
        return self.curvature(y, f) / 2.0


class Bend(NamedTuple):
    """The numbers M, t, c and u of a `BentLoss`."""

    bend: float
    tilt: float
    offset: float
    unit: float


class SmoothLoss(CurvedLoss):
    """A loss of bounded curvature, so that its gradient is Lipschitz continuous."""

    curvature_bound: float
    # Where a loss is linear, atoms would seem to gain without end by the curvature itself.
    stiffness = Loss.stiffness


class ProximalLoss(Loss):
    """A loss whose proximal map is known in closed form."""

    @abstractmethod
    def prox(self, y: Array, z: Array, tau: float) -> Array:
        """Return argmin over f of the loss plus (tau / 2) (f - z)^2."""


class ProbabilityLoss(Loss):
    """A loss whose population minimiser determines P(y = 1 | x)."""

    @abstractmethod
    def probability(self, f: Array) -> Array:
        """Return P(y = 1) for decision values f; f is clipped to [-1, 1]."""


def _shortfall(y: Array, f: Array) -> Array:
    """Return max(0, 1 - y f), by how much the margin falls short of one."""
    return positive_part(1.0 - y * f)


def _clip(values: Array, low: float | None = -1.0, high: Array | float | None = 1.0) -> Array:
    return namespace(values).clip(values, low, high)  # type: ignore[no-any-return]


def _where(condition: Flags, first: Array | float, second: Array | float) -> Array:
    return namespace(condition).where(condition, first, second)  # type: ignore[no-any-return]


def _mean(y: Array, weights: Array) -> float:
    # From the smallest on, sums are those of the weights to the bit if there are two labels.
    low = float(y.min())
    return low + float((weights * (y - low)).sum() / weights.sum())


def _median(y: Array, weights: Array) -> float:
    order = np.argsort(y)
    totals = np.cumsum(weights[order])
    middle = order[np.searchsorted(totals, totals[-1] / 2.0)]
    return float(y[middle])


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

    def prox(self, y: Array, z: Array, tau: float) -> Array:
        return _where(y * z >= 1.0, z, (2.0 * y + tau * z) / (2.0 + tau))

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

    def stiffness(self, y: Array, f: Array, gradient: Array) -> Array:
        return 1.0 + 0.0 * f

    def prox(self, y: Array, z: Array, tau: float) -> Array:
        return (2.0 * y + tau * z) / (2.0 + tau)

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
        return _clip(1.0 - y * f, 0.0, self.threshold)

    def value(self, y: Array, f: Array) -> Array:
        bent = self._bent(y, f)
        return bent * (2.0 * _shortfall(y, f) - bent)

    def gradient(self, y: Array, f: Array) -> Array:
        return -2.0 * y * self._bent(y, f)

    def curvature(self, y: Array, f: Array) -> Array:
        shortfall = _shortfall(y, f)
        return _where((shortfall > 0.0) & (shortfall <= self.threshold), 2.0 + 0.0 * f, 0.0)

    def prox(self, y: Array, z: Array, tau: float) -> Array:
        """Return that of the squared hinge, but z + 2 M y / tau where that is farther from y."""
        t = y * z
        straight = t + 2.0 * self.threshold / tau
        bent = _clip((2.0 + tau * t) / (2.0 + tau), None, straight)
        return _where(t >= 1.0, z, y * bent)

    def probability(self, f: Array) -> Array:
        """Return the p at which p min(M, 1 - f) = (1 - p) min(M, 1 + f)."""
        f = _clip(f)
        up = _clip(1.0 + f, None, self.threshold)
        down = _clip(1.0 - f, None, self.threshold)
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

    def prox(self, y: Array, z: Array, tau: float) -> Array:
        """Return z where y z >= 1, else y (1 - e), the root of 3 e^2 + tau e = tau (1 - y z)."""
        gap = _shortfall(y, z)
        # This form of the quadratic's root does not cancel for a small gap.
        root = namespace(gap).sqrt(1.0 + 12.0 * gap / tau)
        return _where(gap > 0.0, y * (1.0 - 2.0 * gap / (1.0 + root)), z)

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

    def prox(self, y: Array, z: Array, tau: float) -> Array:
        """Return z where y z >= 1, z + y / tau where y z < 1 - 1 / tau, else y."""
        t = y * z
        return _where(t >= 1.0, z, y * _clip(t + 1.0 / tau, None))

    def initial(self, y: Array, weights: Array) -> float:
        """Return the majority label, 0 on a tie."""
        return float(np.sign(2.0 * _positive_share(y, weights) - 1.0))


class BentLoss(SmoothLoss):
    """A loss that is quadratic for residuals r = y - f up to a bend M, and linear beyond.

    With s = r, clipped to [-M, M], it is (s (2 r - s) + 2 t r + c) / u.
    """

    @property
    @abstractmethod
    def shape(self) -> Bend:
        """The numbers in the formula."""

    @property
    def curvature_bound(self) -> float:  # type: ignore[override]
        return 2.0 / self.shape.unit

    def value(self, y: Array, f: Array) -> Array:
        bend, tilt, offset, unit = self.shape
        r = y - f
        s = _clip(r, -bend, bend)
        return (s * (2.0 * r - s) + 2.0 * tilt * r + offset) / unit

    def gradient(self, y: Array, f: Array) -> Array:
        bend, tilt, _, unit = self.shape
        s = _clip(y - f, -bend, bend)
        return (s + tilt) * (-2.0 / unit)

    def curvature(self, y: Array, f: Array) -> Array:
        return _where(abs(y - f) <= self.shape.bend, self.curvature_bound + 0.0 * f, 0.0)

    def stiffness(self, y: Array, f: Array, gradient: Array) -> Array:
        """Return that of the parabola that touches the loss from above (Huber's weights)."""
        bend = self.shape.bend
        return bend / _clip(abs(y - f), bend, None)

    def units(self, y: Array, weights: Array, is_centred: bool) -> tuple[float, float]:
        """Return the median and the median deviation, or where that is 0 the mean deviation."""
        centre = _median(y, weights) if is_centred else 0.0
        gaps = abs(y - centre)
        median = _median(gaps, weights)
        if median > 0.0:
            return centre, median
        size = float(gaps.max()) or 1.0
        mean = float(np.average(gaps / size, weights=weights))
        return centre, size * mean

    def initial(self, y: Array, weights: Array) -> float:
        bend = self.shape.bend
        low = float(y.min()) - bend
        high = float(y.max()) + bend

        def slope(f: float) -> float:
            return float((weights * self.gradient(y, np.full(len(y), f))).sum())

        return float(brentq(slope, low, high, xtol=1e-15 * (high - low), maxiter=1000))


@dataclass(eq=False, repr=False)
class Huber(BentLoss):
    """The Huber loss: r^2 for residuals r = y - f up to the threshold M, 2 M |r| - M^2 beyond.

    Huber, "Robust estimation of a location parameter", Ann. Math. Statist. 35 (1964).

    Parameters
    ----------
    threshold : float, default=1.0
        The residual M from which on the loss is linear, in units of the target.
    """

    threshold: float = 1.0

    def check_parameters(self) -> None:
        check_positive(self, "threshold")

    @property
    def shape(self) -> Bend:
        return Bend(self.threshold, tilt=0.0, offset=0.0, unit=1.0)


@dataclass(eq=False, repr=False)
class Quantile(BentLoss):
    """The pinball loss max(q r, (q - 1) r) of residuals r = y - f, smoothed over a bandwidth h.

    It is the mean over [r - h, r + h]: (r^2 + h^2) / (4 h) + (q - 1/2) r where |r| <= h, and the
    pinball loss beyond. (Fernandes, Guerre and Horta, "Smoothing quantile regressions", J. Bus.
    Econ. Statist. 39, 2021, with a uniform kernel.) Its minimiser is the quantile of y plus noise
    that is uniform on [-h, h]. Along a path the bandwidth follows the objective, which is about the
    mean loss: 0.4 standard deviations of normal noise for the median, 0.18 for the quantile 0.9.
    As the mean over less is smaller, this never raises the objective.

    Parameters
    ----------
    quantile : float, default=0.5
        The quantile q; 0.5 stands for half the absolute error.
    bandwidth : float, default=1.0
        The bandwidth h at first, in units of the target.
    """

    quantile: float = 0.5
    bandwidth: float = 1.0

    def check_parameters(self) -> None:
        check_positive(self, "quantile", "bandwidth")
        if self.quantile >= 1.0:
            refuse(self, "quantile", "below 1")

    @property
    def shape(self) -> Bend:
        h = self.bandwidth
        return Bend(h, tilt=(2.0 * self.quantile - 1.0) * h, offset=h * h, unit=4.0 * h)

    def narrowed(self, objective: float) -> Loss:
        if not _LEAST < objective < _NARROWER * self.bandwidth:
            return self
        return Quantile(self.quantile, objective)


class Poisson(CurvedLoss):
    """Half the deviance of a Poisson distribution of mean e^f, for y >= 0.

    e^f - y - y (f - log y); the best constant is the logarithm of the mean. From f = 300 on it is
    a straight line, so nothing overflows.
    """

    least = 0.0
    is_even = False

    def units(self, y: Array, weights: Array, is_centred: bool) -> tuple[float, float]:
        """Return those of the numbers themselves: f is a logarithm."""
        return 0.0, 1.0

    def _mean(self, f: Array) -> Array:
        return namespace(f).exp(_clip(f, None, FARTHEST))  # type: ignore[no-any-return]

    def value(self, y: Array, f: Array) -> Array:
        saturated = y * (namespace(y).log(_where(y > 0.0, y, 1.0)) - 1.0)
        means = self._mean(f) * (1.0 + positive_part(f - FARTHEST))
        return means - y * f + saturated  # type: ignore[no-any-return]

    def gradient(self, y: Array, f: Array) -> Array:
        return self._mean(f) - y

    def curvature(self, y: Array, f: Array) -> Array:
        return self._mean(f)

    def initial(self, y: Array, weights: Array) -> float:
        mean = _mean(y, weights)
        return float(np.log(mean)) if mean > 0.0 else -FARTHEST

    def inverse_link(self, f: Array) -> Array:
        return self._mean(f)


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
