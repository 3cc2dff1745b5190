"""A cheap look at stored candidates that tells which of them can be the best.

Scores G^T r are sums over m rows; a pass over all m x n values waits for the memory. The stand-in
Q L of G is smaller, L in float32: Q an orthonormal basis of what the columns span up to a small
error, where that is far less than m dimensions (smooth atoms), or the identity. From the last full
pass, over residuals r_0, it gives

    g_j^T r = g_j^T r_0 + (Q l_j)^T (r - r_0) + (g_j - Q l_j)^T (r - r_0),

the last term unknown but at most |g_j - Q l_j| |r - r_0|. From step to step residuals move little,
so a coarse stand-in leaves few candidates in doubt.
"""

from __future__ import annotations

import numpy as np

from fcgboost.backends.base import Array, Divisor
from fcgboost.backends.values import Estimate, StoredValues

# Candidates whose errors are measured at once.
_AT_ONCE = 512
# Directions this much weaker than the strongest are left out of the basis: their share of a
# score is then about what rounding to float32 is.
_WEAK = 1e-6
# The basis pays up to this share of m dimensions, and the search for it (products and singular
# values of so many columns) takes as long as some fifty passes up to this many.
_LARGEST_SHARE = 1 / 3
_LARGEST_RANK = 384
# So many passes in doubt, more than the others in between, and the stand-in is not worth its time.
_PATIENCE = 32
# Unit roundoffs. The float64 one is doubled, which makes room for all products of small terms.
_U32 = 2.0**-24
_U64 = 2.0**-52
# Residuals below this are left to full passes, and float32 products below it may underflow.
_TINY = 1e-30
_SMALLEST = np.finfo(np.float32).tiny


class StandIn:
    """Estimates of scores from the last full pass and the change of the residuals.

    Parameters
    ----------
    values : StoredValues
        G, in NumPy's memory.
    """

    def __init__(self, values: StoredValues) -> None:
        self._values = values
        G = values.G
        # Values beyond float32 end in bounds that are not finite, and the stand-in is dropped.
        with np.errstate(over="ignore", invalid="ignore"):
            self._norms = _column_norms(G)
            self._basis = _find_basis(G, self._norms)
            loadings = G if self._basis is None else self._basis.T @ G
            # A product with a C-ordered matrix is the fastest of the four.
            self._loadings = np.ascontiguousarray(loadings, dtype=np.float32)
            # Processors are slow with numbers that have lost digits to underflow.
            self._loadings[np.abs(self._loadings) < _SMALLEST] = 0.0
            errors = self._measure_errors(G)
        # k products added up in any order lose at most k u / (1 - k u), u the roundoff; eight more
        # cover the rounding of the vector, and everything in float64.
        lost = (len(self._loadings) + 8) * _U32
        roundoff = lost / (1.0 - lost) if lost < 1.0 else np.inf
        self._slack = errors + roundoff * (errors + self._norms) + _TINY
        self._roundoff = (len(G) + 8) * _U64
        self._anchor: tuple[Array, Estimate] | None = None
        self._patience = _PATIENCE if np.isfinite(self._slack).all() else 0

    @property
    def is_worth_it(self) -> bool:
        """Whether the stand-in decides enough passes to pay."""
        return self._patience > 0

    @property
    def rank(self) -> int | None:
        """The dimension of the basis; None without one."""
        return None if self._basis is None else self._basis.shape[1]

    def note(self, is_decided: bool) -> None:
        """Take whether an estimate was good enough."""
        self._patience = min(self._patience + (1 if is_decided else -1), _PATIENCE)

    def anchor(self, R: Array, estimate: Estimate) -> None:
        """Take what a full pass gave for residuals R."""
        self._anchor = (R.copy(), estimate)

    def estimate(self, R: Array, divisor: Divisor) -> Estimate | None:
        """Estimate all scores; None before a full pass, or where they are too small for it.

        What the values' own rounding does to a change of the residuals is at most what it does to
        the old and the new ones, which the anchor's bound and one more of its kind cover.
        """
        if self._anchor is None or self._anchor[0].shape != R.shape:
            return None
        R0, last = self._anchor
        step = R - R0
        sizes = [np.linalg.norm(V, axis=0) for V in (R0, R, step)]
        if not (sizes[1] > _TINY).all() or not np.isfinite(sizes).all():
            return None
        changes = [self._project(step[:, c], sizes[2][c]) for c in range(R.shape[1])]
        bounds = self._slack[:, None] * sizes[2]
        bounds += self._norms[:, None] * (self._roundoff * (sizes[0] + sizes[1]))
        dots = last.dots + np.stack(changes, axis=1)
        masses = self._norms[:, None] * sizes[2]
        return self._values.changed(last, dots, bounds, step, masses, divisor)

    def _project(self, step: Array, size: float) -> Array:
        """Return (Q L)^T step, one vector at a time: several at once take longer than that."""
        unit = step / (size or 1.0)
        inner = unit if self._basis is None else self._basis.T @ unit
        return size * (inner.astype(np.float32) @ self._loadings).astype(np.float64)

    def _measure_errors(self, values: Array) -> Array:
        """Return the norms of G - Q L, of what is stored, so that all earlier rounding counts."""
        errors = np.empty(values.shape[1])
        for start in range(0, len(errors), _AT_ONCE):
            block = slice(start, start + _AT_ONCE)
            loadings = self._loadings[:, block].astype(np.float64)
            kept = loadings if self._basis is None else self._basis @ loadings
            errors[block] = _column_norms(values[:, block] - kept)
        return errors


def _column_norms(values: Array) -> Array:
    """Return the norm of every column."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", values, values, dtype=np.float64)))


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
        sample = np.hstack([sample, values @ draws.astype(values.dtype)])
        if not np.isfinite(sample).all():
            return None
        directions, strengths, _ = np.linalg.svd(sample, full_matrices=False)
        rank = int(np.count_nonzero(strengths > _WEAK * strengths[0]))
        if rank < sample.shape[1]:
            return np.asfortranarray(directions[:, :rank])
    return None
