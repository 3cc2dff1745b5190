"""Labels and probabilities from decision values; a link is fitted to held-out rows.

The formula of the loss, (1 + f) / 2 for the squared hinge, needs no fit but is certain at -1 and 1,
and sometimes wrong. A link has two parameters and keeps the predicted class. Both are about labels
as they are given; a correction turns their probabilities into those of the true classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from fcgboost import threads
from fcgboost.arrays import (
    Array,
    ClassLabels,
    Matrix,
    Rows,
    Target,
    Tensor,
    is_tensor,
    namespace,
    positive_part,
    to_device_of,
    to_numpy,
)
from fcgboost.losses import Loss, ProbabilityLoss, class_probabilities
from fcgboost.names import make_part

__all__ = ["PowerLink"]

#: Decision values are clipped to it, so that their powers stay finite in single precision.
LARGEST = 1e8
_LARGEST_SLOPE = 1e3
_LARGEST_POWER = 4.0
# Probabilities lose as many digits as this has.
_LARGEST_CONDITION = 1e4
# For the log slope and the power.
_START = (np.log(3.0), 1.0)
_BOUNDS = ((-5.0, 5.0), (0.25, _LARGEST_POWER))
_EXACT = {"ftol": 1e-14, "gtol": 1e-9}
# Sums in another order differ in the last digits; links must not.
_DIGITS = 6
# Rows whose likelihoods are added up at once.
_ROWS_AT_ONCE = 1 << 15


class HeldOut(NamedTuple):
    """Decision values for held-out rows, with their targets and weights."""

    decision: Array
    target: Target
    weights: Array


@dataclass(frozen=True)
class PowerLink:
    """Log-odds o(f) = a f (1 + f^2)^((b - 1) / 2) of a decision value f, increasing in f.

    Near 0 they are a f, far from it of the size of the power f^b. Two classes have probabilities
    1 / (1 + exp(o)) and 1 / (1 + exp(-o)); more classes have the softmax of their log-odds.

    Attributes
    ----------
    slope : float
        a, greater than 0 and at most 1000.
    power : float
        b, greater than 0 and at most 4.
    """

    slope: float
    power: float

    def __post_init__(self) -> None:
        if not (0.0 < self.slope <= _LARGEST_SLOPE and 0.0 < self.power <= _LARGEST_POWER):
            raise ValueError(
                f"The slope of a link must be in (0, {_LARGEST_SLOPE:g}] and its power in "
                f"(0, {_LARGEST_POWER:g}], got {self.slope!r} and {self.power!r}."
            )

    def log_odds(self, decision: Matrix) -> Matrix:
        """Return o(f)."""
        f = namespace(decision).clip(decision, -LARGEST, LARGEST)
        return self.slope * f * (1.0 + f * f) ** (0.5 * (self.power - 1.0))

    def probabilities(self, decision: Matrix) -> Matrix:
        """Return the probabilities of all classes, one row per row of decision values."""
        xp = namespace(decision)
        odds = self.log_odds(decision)
        if odds.ndim == 1:
            odds = xp.stack([-0.5 * odds, 0.5 * odds], 1)
        shares = xp.exp(odds - xp.amax(odds, axis=1)[:, None])
        return shares / shares.sum(1)[:, None]


@dataclass(frozen=True, eq=False)
class Correction:
    """From labels to true classes: p = T' P(true | x) are the probabilities of labels.

    Attributes
    ----------
    matrix : ndarray of shape (n_classes, n_classes)
        T: the share of the rows of each true class (rows) that have each label (columns).
    shift : float
        Of two classes, the decision value at which both are equally likely to be true. It is
        subtracted from all. 0 with several classes.
    """

    matrix: Array
    shift: float

    @classmethod
    def of(cls, matrix: Array, loss: Loss, link: PowerLink | None) -> Correction:
        """Find the shift by bisection, down to neighbouring numbers."""
        if len(matrix) > 2:
            return cls(matrix, 0.0)
        even = matrix[:, 1].mean()
        low = -LARGEST
        high = LARGEST
        while low < (middle := low + (high - low) / 2.0) < high:
            if probabilities_of(loss, link, np.array([middle]))[0, 1] < even:
                low = middle
            else:
                high = middle
        return cls(matrix, float(high))

    @property
    def inverse(self) -> Array:
        """What turns probabilities of labels into those of true classes, from the right."""
        return np.asarray(np.linalg.inv(self.matrix))

    def true(self, p: Matrix) -> Matrix:
        """Return the probabilities of true classes; those below 0 by error count as 0."""
        shares = positive_part(p @ to_device_of(self.inverse, p))
        return shares / shares.sum(1)[:, None]


def check_noise_matrix(value: ArrayLike, classes: Sequence[object]) -> Array:
    """Return a noise matrix for some classes; raise a ValueError for an invalid one."""
    wanted = (
        "label_noise must be None, 'estimate', or a matrix whose rows are the true classes and "
        "whose columns are the labels, in the order of classes_"
    )
    try:
        matrix = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{wanted}, got {value!r}.") from None
    n = len(classes)
    if matrix.shape != (n, n):
        raise ValueError(
            f"{wanted}. There are {n} classes, so it has the shape ({n}, {n}), not {matrix.shape}."
        )
    if not (np.isfinite(matrix) & (matrix >= 0.0)).all():
        raise ValueError(f"{wanted}: label_noise has an entry that is negative, NaN or infinite.")
    sums = matrix.sum(axis=1)
    if not np.allclose(sums, 1.0, atol=1e-6):
        if np.allclose(matrix.sum(axis=0), 1.0, atol=1e-6):
            raise ValueError(
                f"{wanted}. This one looks transposed, since its columns sum to 1 and its rows do "
                "not: pass label_noise.T."
            )
        worst = int(abs(sums - 1.0).argmax())
        raise ValueError(
            f"{wanted}: each row sums to 1, but that of {classes[worst]!r} to {sums[worst]:.6g}."
        )
    is_lost = matrix.argmax(axis=0) != np.arange(n)
    if is_lost.any() or np.linalg.cond(matrix) > _LARGEST_CONDITION:
        label = classes[int(is_lost.argmax())]
        raise ValueError(
            f"{wanted}. Labels must say something: a label is most frequent among the rows of its "
            f"own class, but {label!r} is not, or rows of the matrix are nearly equal."
        )
    return matrix


def labels_of(
    decision: Matrix,
    classes: ClassLabels,
    X: Rows = None,
) -> ClassLabels | Tensor:
    """Return the predicted classes; for a tensor X and numeric classes, a tensor on its device.

    Of several classes the one with the largest value wins, so these may be probabilities.
    """
    codes = (decision > 0.0) * 1 if decision.ndim == 1 else decision.argmax(1)
    if is_tensor(X) and classes.dtype.kind in "biuf":
        return to_device_of(classes, X)[to_device_of(codes, X)]
    return classes[to_numpy(codes)]


def probabilities_of(
    loss: Loss,
    link: PowerLink | None,
    decision: Matrix,
    correction: Correction | None = None,
) -> Matrix:
    """Return class probabilities by the link if there is one, else by the formula of the loss."""
    if correction is not None:
        return correction.true(probabilities_of(loss, link, decision + correction.shift))
    if link is not None:
        return link.probabilities(decision)
    assert isinstance(loss, ProbabilityLoss)
    return class_probabilities(loss, decision)


def has_probability(estimator: Any) -> bool:
    """Return True if the loss or the link has probabilities; else raise an AttributeError."""
    loss = vars(estimator).get("_loss_", estimator.loss)
    link = vars(estimator).get("link_", vars(estimator).get("link") == "power")
    if link or isinstance(make_part("loss", loss), ProbabilityLoss):
        return True
    raise AttributeError(
        f"loss={loss!r} has no probabilities, so there is no predict_proba. Use "
        "loss='squared_hinge', or link='power', which fits them to held-out rows."
    )


def fit_link(parts: Sequence[HeldOut]) -> PowerLink:
    """Return the link that maximises the likelihood of held-out labels.

    Labels count as right with probability (n + 1) / (n + 2) for n rows: classes that n rows
    separate without a mistake are not certain elsewhere.
    """
    decision, codes, weights = (np.concatenate(values) for values in zip(*parts, strict=True))
    # Two classes have half the log-odds each, with opposite signs.
    factor = 0.5 if decision.shape[1] == 1 else 1.0
    if decision.shape[1] == 1:
        decision = np.hstack([-decision, decision])
    # Weights are counts; normalised ones count their rows.
    n_rows = max(float(weights.sum()), float(np.count_nonzero(weights)))
    # One row per class: NumPy adds up long rows several times faster than short ones.
    f = np.clip(np.ascontiguousarray(decision.T), -LARGEST, LARGEST)
    targets = np.full(f.shape, 1.0 / (n_rows + 2.0) / (len(f) - 1))
    targets[codes, np.arange(len(codes))] = (n_rows + 1.0) / (n_rows + 2.0)
    logarithms = np.log1p(f * f)
    shares = weights / weights.sum()

    starts = range(0, len(codes), _ROWS_AT_ONCE)
    blocks = [np.s_[..., start : start + _ROWS_AT_ONCE] for start in starts]

    def loss(point: Array) -> tuple[float, Array]:
        def sums(rows: Any) -> Array:
            """Return the loss of some rows, and its gradient."""
            powers = logarithms[rows]
            odds = factor * np.exp(point[0] + 0.5 * (point[1] - 1.0) * powers) * f[rows]
            above = odds - odds.max(axis=0)
            ratios = np.exp(above)
            total = ratios.sum(axis=0)
            slopes = shares[rows] * (ratios / total - targets[rows]) * odds
            value = -(shares[rows] * targets[rows] * (above - np.log(total))).sum()
            return np.array([value, slopes.sum(), 0.5 * (slopes * powers).sum()])

        value, *gradient = np.sum(threads.each(sums, blocks), axis=0)
        return float(value), np.array(gradient)

    best = minimize(
        loss,
        _START,
        jac=True,
        bounds=_BOUNDS,
        method="L-BFGS-B",
        options=_EXACT,
    )
    slope = np.exp(best.x[0])
    power = best.x[1]
    return PowerLink(float(f"{slope:.{_DIGITS}g}"), float(f"{power:.{_DIGITS}g}"))
