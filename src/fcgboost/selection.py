"""Which atom enters: the candidate most correlated with the residual."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing
from fcgboost.backends.base import Array, Candidates, Design, Divisor
from fcgboost.parts import Part, check_choice, check_count

# Scores this close (relative) are ties, which go to the lowest index: float64 sums in another
# order differ by far less, so the choice does not depend on threads or blocks.
_TIE = 1e-10

# Products m x n up to this many entries are scanned in full by selection="auto".
_SCAN_ENTRIES = 10_000_000


@dataclass(frozen=True)
class Pool:
    """The candidates of one step.

    Attributes
    ----------
    candidates : Candidates
    ids : ndarray of uint64, shape (n_candidates,)
        A word per candidate that identifies its atom.
    allowed : ndarray of bool, shape (n_candidates, n_outputs)
        Which candidates each output may choose.
    """

    candidates: Candidates
    ids: NDArray[np.uint64]
    allowed: NDArray[np.bool_]


#: Gives the pool of step k; for every output the ids that it must not choose.
PoolSource = Callable[[int, Sequence[Collection[int]]], Pool]


class Selection(Part):
    """Which candidates are looked at in each step."""

    @abstractmethod
    def pools(self, design: Design, n: int, key: int) -> PoolSource:
        """Prepare a fit.

        Parameters
        ----------
        design : Design
        n : int
            The size of a fixed dictionary.
        key : int
            The only source of randomness.
        """


class AllCandidates(Selection):
    """Score all n candidates of one fixed dictionary in every step, as the paper does.

    Parameters
    ----------
    store : bool or "auto", default="auto"
        Whether to keep the m x n matrix of their values: "auto" keeps it if it fits
        scikit-learn's `working_memory`, and else evaluates it in blocks; the model is the same.
        True is an error if it does not fit.
    """

    def __init__(self, store: bool | Literal["auto"] = "auto") -> None:
        self.store = store

    def check_parameters(self) -> None:
        """Check store."""
        if not isinstance(self.store, bool):
            check_choice(self, "store", ("auto",))

    def pools(self, design: Design, n: int, key: int) -> PoolSource:
        """Draw the dictionary once."""
        atoms = design.dictionary.candidates(design.sample(n, key), n, key)
        candidates = design.candidates(atoms, reuse=True, store=self.store)
        ids = hashing.fingerprint(atoms)
        return lambda k, excluded: Pool(candidates, ids, _allowed(ids, excluded))


class SampledCandidates(Selection):
    """Score a fresh random sample of candidates in every step.

    Costs n / size times less than scoring all, needs no m x n matrix, and loses nothing
    measurable from about 50 candidates on.

    Parameters
    ----------
    size : int, default=128
        Candidates per step.
    """

    def __init__(self, size: int = 128) -> None:
        self.size = size

    def check_parameters(self) -> None:
        """Check size."""
        check_count(self, "size")

    def pools(self, design: Design, n: int, key: int) -> PoolSource:
        """Draw a new sample, with a new key, for every step."""

        def draw(k: int, excluded: Sequence[Collection[int]]) -> Pool:
            step_key = hashing.derive(key, k)
            # So many more that the sample is full even if all excluded atoms are drawn again.
            n_drawn = self.size + max(map(len, excluded))
            sample = design.sample(n_drawn, step_key)
            atoms = design.dictionary.candidates(sample, n_drawn, step_key)
            ids = hashing.fingerprint(atoms)
            # The first ones that an output may choose, as if it were alone.
            allowed = _allowed(ids, excluded)
            allowed &= np.cumsum(allowed, axis=0) <= self.size
            kept = np.flatnonzero(allowed.any(axis=1))
            candidates = design.candidates(atoms[kept], reuse=False, store="auto")
            return Pool(candidates, ids[kept], allowed[kept])

        return draw


def default_selection(n_samples: float, n_candidates: int) -> Selection:
    """Give what selection="auto" means; it depends on m and n alone."""
    if n_samples * n_candidates <= _SCAN_ENTRIES:
        return AllCandidates()
    return SampledCandidates()


@dataclass(frozen=True)
class Choice:
    """The best candidate for one output."""

    atom: Any
    id: int
    score: float


def choose(pool: Pool, R: Array, divisor: Divisor) -> list[Choice | None]:
    """Choose the best candidate for every output.

    Parameters
    ----------
    pool : Pool
    R : m-vectors of shape (n_samples, n_outputs)
        The negative gradients of the weighted mean loss.
    divisor : {"none", "max", "norm"}
        What the atoms are divided by before they are scored.

    Returns
    -------
    list of Choice or None
        None for an output that may choose no candidate.
    """
    if len(pool.ids) == 0:
        return [None] * R.shape[1]
    scores = np.abs(pool.candidates.correlate(R, divisor, pool.allowed))
    return [
        _best(pool, scores[:, c], np.flatnonzero(pool.allowed[:, c])) for c in range(R.shape[1])
    ]


def _best(pool: Pool, scores: Array, allowed: NDArray[np.intp]) -> Choice | None:
    if len(allowed) == 0:
        return None
    best = scores[allowed].max()
    j = int(allowed[np.argmax(scores[allowed] >= best * (1.0 - _TIE))])
    # A copy: a view would keep the whole pool in memory as long as the model lives.
    return Choice(pool.candidates.atoms[j : j + 1].copy(), int(pool.ids[j]), float(scores[j]))


def _allowed(ids: NDArray[np.uint64], excluded: Sequence[Collection[int]]) -> NDArray[np.bool_]:
    words = [np.fromiter(some, dtype=np.uint64, count=len(some)) for some in excluded]
    # The other kind overflows on large words with NumPy 2.0.
    return np.stack([~np.isin(ids, some, kind="sort") for some in words], axis=1)
