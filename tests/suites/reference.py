"""Selection and correction written out: the full matrix, one atom and one row at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from fcgboost.designs.base import Point, Residuals, Winner
from fcgboost.designs.memory import MemoryDesign
from fcgboost.designs.scoring import MemoryCandidates


def full_matrix(design: MemoryDesign, atoms: Any) -> np.ndarray:
    """Return all values in float64, one atom at a time."""
    each = (atoms[j : j + 1] for j in range(atoms.shape[0]))
    values = [design.dictionary.evaluate(design.X, atom, design.scale) for atom in each]
    return np.hstack([np.asarray(column) for column in values])


def reference_scores(
    values: np.ndarray, weights: np.ndarray, R: np.ndarray, normalize: bool
) -> Any:
    """Return the absolute inner products, with atoms of norm one; those that vanish score 0."""
    G = values.astype(np.longdouble)
    sizes = np.ones(G.shape[1], dtype=np.longdouble)
    if normalize:
        sizes = np.sqrt((weights[:, None] * G**2).sum(axis=0) / weights.sum())
    is_there = sizes > 1e-10 * sizes.max(initial=0.0)
    sizes[~is_there] = 1.0
    dots = np.stack([np.abs((G * r[:, None]).sum(axis=0)) for r in R.T], axis=1)
    return np.where(is_there[:, None], dots / sizes[:, None], 0.0)


def reference_best(
    values: np.ndarray,
    weights: np.ndarray,
    R: np.ndarray,
    normalize: bool,
    allowed: np.ndarray,
) -> list[Winner | None]:
    """Return the first of the allowed candidates that score as the best one, up to 1e-10."""
    found: list[Winner | None] = []
    every = reference_scores(values, weights, R, normalize)
    for scores, may in zip(every.T, allowed.T, strict=True):
        places = np.flatnonzero(may)
        ties = [j for j in places if scores[j] >= (1.0 - 1e-10) * scores[places].max()]
        found.append(Winner(int(ties[0]), float(scores[ties[0]])) if ties else None)
    return found


@contextmanager
def reference_selection() -> Iterator[None]:
    """Let every fit choose by the full matrix."""

    def best(self: MemoryCandidates, residuals: Any, normalize: Any, allowed: Any) -> Any:
        kept = vars(self)
        if "reference" not in kept:
            kept["reference"] = full_matrix(self._design, self.atoms)
        return reference_best(
            kept["reference"], self._design.weights, residuals.matrix, normalize, allowed
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryCandidates, "best", best)
        yield


@contextmanager
def given_residuals(design: MemoryDesign, R: np.ndarray) -> Iterator[Residuals]:
    """Let a design have any residuals, which no loss could leave; yield them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(design, "residuals", lambda points: Residuals(points, design.device.put(R)))
        yield Residuals(
            [Point(None, c, np.zeros(0)) for c in range(R.shape[1])], design.device.put(R)
        )


def ridge_squared_hinge(A: np.ndarray, y: np.ndarray, s: np.ndarray, l2: float) -> np.ndarray:
    """Minimise sum s (1 - y A u)_+^2 / sum(s) + l2 |u|^2 (column 0 is free) by Newton's method."""
    penalty = np.full(A.shape[1], l2)
    penalty[0] = 0.0

    def objective(u: np.ndarray) -> float:
        gap = np.maximum(0.0, 1.0 - y * (A @ u))
        return float(s @ gap**2 / s.sum() + penalty @ u**2)

    u = np.zeros(A.shape[1])
    for _ in range(100):
        gap = np.maximum(0.0, 1.0 - y * (A @ u))
        gradient = A.T @ (-2.0 * s * y * gap) / s.sum() + 2.0 * penalty * u
        active = A[gap > 0.0]
        hessian = 2.0 * active.T @ (s[gap > 0.0, None] * active) / s.sum()
        step = np.linalg.lstsq(hessian + 2.0 * np.diag(penalty), -gradient, rcond=None)[0]
        length = 1.0
        while objective(u + length * step) > objective(u) and length > 1e-9:
            length /= 2.0
        u = u + length * step
        if np.abs(step).max() <= 1e-14 * np.abs(u).max():
            break
    return u
