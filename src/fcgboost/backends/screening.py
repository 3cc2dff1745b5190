"""A cheap look at stored candidates that tells which of them can be the best.

Scores G^T r are sums over m rows; a pass over all m x n values waits for the memory. The screen
keeps a smaller stand-in Q L of G, L in float32: Q an orthonormal basis of what the columns span
up to a small error, where that is far less than m dimensions (smooth atoms), or the identity. From
the last exact pass, over residuals r_0, it gives

    g_j^T r = g_j^T r_0 + (Q l_j)^T (r - r_0) + (g_j - Q l_j)^T (r - r_0),

the last term unknown but at most |g_j - Q l_j| |r - r_0|. From step to step residuals move little,
so a coarse stand-in leaves few candidates in doubt, and the caller scores these exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fcgboost.backends.base import NEARLY_BEST, Array

# Candidates whose errors are measured at once.
_AT_ONCE = 512
# Directions this much weaker than the strongest are left out of the basis: their share of a
# score is then about what rounding to float32 is.
_WEAK = 1e-6
# The basis pays up to this share of m dimensions, and the search for it (products and singular
# values of so many columns) takes as long as some fifty passes up to this many.
_LARGEST_SHARE = 1 / 3
_LARGEST_RANK = 384
# A screened pass scores at most this share of the blocks exactly; where more are in doubt, a full
# pass makes the next ones cheaper.
_DOUBTFUL_SHARE = 1 / 8
# So many passes in doubt, more than the others in between, and the screen is not worth its time.
_PATIENCE = 32
# A candidate this much smaller than the largest one is rounding.
_VANISHING = 1e-10
# Unit roundoffs. The float64 one is doubled, which makes room for all products of small terms.
_U32 = 2.0**-24
_U64 = 2.0**-52
# Residuals below this are left to full passes, and float32 products below it may underflow.
_TINY = 1e-30
_SMALLEST = np.finfo(np.float32).tiny


class Screen:
    """Scores of stored candidates that are exact only where it matters.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_candidates)
        G.
    """

    def __init__(self, values: Array) -> None:
        # Values beyond float32 end in bounds that are not finite, and the screen is dropped.
        with np.errstate(over="ignore", invalid="ignore"):
            self._norms = _column_norms(values)
            self._basis = _find_basis(values, self._norms)
            loadings = values if self._basis is None else self._basis.T @ values
            # A product with a C-ordered matrix is the fastest of the four.
            self._loadings = np.ascontiguousarray(loadings, dtype=np.float32)
            # Processors are slow with numbers that have lost digits to underflow.
            self._loadings[np.abs(self._loadings) < _SMALLEST] = 0.0
            errors = self._measure_errors(values)
        # k products added up in any order lose at most k u / (1 - k u), u the roundoff; eight more
        # cover the rounding of the vector, and everything in float64.
        lost = (len(self._loadings) + 8) * _U32
        roundoff = lost / (1.0 - lost) if lost < 1.0 else np.inf
        self._slack = errors + roundoff * (errors + self._norms) + _TINY
        self._roundoff = (len(values) + 8) * _U64
        self._anchor: tuple[Array, Array] | None = None
        self._patience = _PATIENCE if np.isfinite(self._slack).all() else 0

    @property
    def is_worth_it(self) -> bool:
        """Whether the screen decides enough passes to pay."""
        return self._patience > 0

    @property
    def rank(self) -> int | None:
        """The dimension of the basis; None without one."""
        return None if self._basis is None else self._basis.shape[1]

    def anchor(self, R: Array, dots: Array) -> None:
        """Take exact G^T R to start from."""
        self._anchor = (R.copy(), dots)

    def score(
        self,
        R: Array,
        divisors: Array,
        allowed: NDArray[np.bool_],
        blocks: Sequence[slice],
        exact: Callable[[slice, Array], Array],
    ) -> Array | None:
        """Give scores as `Candidates.correlate` promises them; None if too many are in doubt.

        Parameters
        ----------
        R : ndarray of shape (n_samples, n_outputs)
        divisors : ndarray of shape (n_candidates,)
        allowed : ndarray of bool, shape (n_candidates, n_outputs)
        blocks : sequence of slices
            Consecutive candidates, as a full pass takes them: a product with fewer columns
            might add up in another order.
        exact : callable
            Gives G^T R of one block as a full pass does.
        """
        estimate = self.estimate(R)
        if estimate is None:
            return None
        dots, bounds = estimate
        found = contenders(divide(dots, divisors), divide(bounds, divisors), allowed)
        starts = [block.start for block in blocks]
        doubtful = np.unique(np.searchsorted(starts, found, side="right") - 1)
        is_decided = len(doubtful) <= max(1.0, _DOUBTFUL_SHARE * len(blocks))
        self._patience = min(self._patience + (1 if is_decided else -1), _PATIENCE)
        if not is_decided:
            return None
        for block in (blocks[i] for i in doubtful):
            dots[block] = exact(block, R)
        return divide(dots, divisors)

    def estimate(self, R: Array) -> tuple[Array, Array] | None:
        """Give approximate G^T R, and bounds on how far from them a full pass ends; or None."""
        if self._anchor is None or self._anchor[0].shape != R.shape:
            return None
        R0, dots0 = self._anchor
        step = R - R0
        sizes = [np.linalg.norm(V, axis=0) for V in (R0, R, step)]
        if not (sizes[1] > _TINY).all() or not np.isfinite(sizes).all():
            return None
        changes = [self._project(step[:, c], sizes[2][c]) for c in range(R.shape[1])]
        bounds = self._slack[:, None] * sizes[2]
        bounds += self._norms[:, None] * (self._roundoff * (sizes[0] + sizes[1]))
        return dots0 + np.stack(changes, axis=1), bounds

    def _project(self, step: Array, size: float) -> Array:
        """Give (Q L)^T step, one vector at a time: several at once take longer than that."""
        unit = step / (size or 1.0)
        inner = unit if self._basis is None else self._basis.T @ unit
        return size * (inner.astype(np.float32) @ self._loadings).astype(np.float64)

    def _measure_errors(self, values: Array) -> Array:
        """Give the norms of G - Q L, of what is stored, so that all earlier rounding counts."""
        errors = np.empty(values.shape[1])
        for start in range(0, len(errors), _AT_ONCE):
            block = slice(start, start + _AT_ONCE)
            loadings = self._loadings[:, block].astype(np.float64)
            kept = loadings if self._basis is None else self._basis @ loadings
            errors[block] = _column_norms(values[:, block] - kept)
        return errors


def contenders(scores: Array, bounds: Array, allowed: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Find the candidates that can be the best allowed one of an output, or close to it.

    Parameters
    ----------
    scores, bounds : ndarray of shape (n_candidates, n_outputs)
        Approximate scores, and how far the exact ones are at most.
    allowed : ndarray of bool, of the same shape
    """
    sizes = np.abs(scores)
    surely = np.where(allowed, sizes - bounds, 0.0).max(axis=0, initial=0.0)
    # Twice as near: the sums here and the exact divisions round.
    can_win = allowed & (sizes + bounds >= (1.0 - 2.0 * NEARLY_BEST) * surely)
    return np.flatnonzero(can_win.any(axis=1))


def divide(dots: Array, divisors: Array) -> Array:
    """Divide every row; where the divisor is mere rounding, the atom vanishes and has 0."""
    # A hinge through the extreme row of the data is such an atom.
    is_nonzero = divisors[:, None] > _VANISHING * divisors.max(initial=0.0)
    return np.divide(dots, divisors[:, None], out=np.zeros_like(dots), where=is_nonzero)


def _column_norms(values: Array) -> Array:
    """Give the norm of every column."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", values, values)))


def _find_basis(values: Array, norms: Array) -> Array | None:
    """Find an orthonormal basis of what unit multiples of the columns span, up to a small error.

    A randomised range finder (Halko, Martinsson and Tropp 2011, algorithm 4.1) whose sample
    doubles until the weakest direction is negligible; None if that takes too many.
    """
    m, n = values.shape
    limit = min(int(_LARGEST_SHARE * m), _LARGEST_RANK)
    rng = np.random.default_rng(0)
    weights = np.divide(1.0, norms, out=np.zeros(n), where=norms > 0.0)
    sample = np.empty((m, 0))
    while sample.shape[1] < limit:
        n_more = min(max(32, sample.shape[1]), limit - sample.shape[1])
        draws = rng.standard_normal((n, n_more)) * weights[:, None]
        sample = np.hstack([sample, values @ draws])
        if not np.isfinite(sample).all():
            return None
        directions, strengths, _ = np.linalg.svd(sample, full_matrices=False)
        rank = int(np.count_nonzero(strengths > _WEAK * strengths[0]))
        if rank < sample.shape[1]:
            return np.asfortranarray(directions[:, :rank])
    return None
