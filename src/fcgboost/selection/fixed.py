"""Which atom enters: the candidate most correlated with the residual."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing
from fcgboost.designs.base import Best, Candidates, Design, Divisor, Point
from fcgboost.parts import Part, check_choice, check_count
from fcgboost.selection.gain import Gain

# Samples from this size on share one order of the rows.
_SAMPLE_OF_MANY = 64
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


@dataclass
class Choice:
    """The best candidate for one output."""

    atom: Any
    id: int
    score: float


@dataclass
class Request:
    """What a step wants: an atom for every output.

    Attributes
    ----------
    k : int
        The number of the step.
    points : sequence of Point
        Where every output's residual is taken.
    excluded : sequence of collections of int
        For every output the ids that it must not choose.
    divisor : {"none", "max", "norm"}
        What atoms are divided by before they are scored, where they are drawn.
    gains : sequence of Gain
        What they are divided by where they are learned, for every output.
    is_joint : bool
        Whether all outputs take one atom, the one with the largest root of the sum of the squared
        scores; they exclude the same ids.
    """

    k: int
    points: Sequence[Point]
    excluded: Sequence[Collection[int]]
    divisor: Divisor
    gains: Sequence[Gain]
    is_joint: bool = False


#: Chooses an atom for every output; None for one that may choose none.
Chooser = Callable[[Request], list[Choice | None]]


class Selection(Part):
    """Which candidates are looked at in each step."""

    #: Whether there is one dictionary for all steps, whose size the data decides.
    is_fixed = True

    @abstractmethod
    def chooser(self, design: Design, n: int, key: int) -> Chooser:
        """Prepare a fit.

        Parameters
        ----------
        design : Design
        n : int
            The size of a fixed dictionary; 0 where there is none.
        key : int
            The only source of randomness.
        """


#: Gives the pool of step k; for every output the ids that it must not choose.
PoolSource = Callable[[int, Sequence[Collection[int]]], Pool]


class PooledSelection(Selection):
    """A selection that scores a pool of candidates in every step."""

    @abstractmethod
    def pools(self, design: Design, n: int, key: int) -> PoolSource:
        """Prepare a fit, as `chooser`."""

    def chooser(self, design: Design, n: int, key: int) -> Chooser:
        """Take the best of every pool."""
        pools = self.pools(design, n, key)
        return lambda request: best_of(pools(request.k, request.excluded), request)


class AllCandidates(PooledSelection):
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
        words = Words(hashing.fingerprint(atoms))
        return lambda k, excluded: Pool(candidates, words.words, words.allowed(excluded))


class SampledCandidates(PooledSelection):
    """Score a fresh random sample of candidates in every step.

    Costs n / size times less than scoring all, needs no m x n matrix, and loses nothing
    measurable from about 50 candidates on.

    Parameters
    ----------
    size : int, default=128
        Candidates per step.
    """

    is_fixed = False

    def __init__(self, size: int = 128) -> None:
        self.size = size

    def check_parameters(self) -> None:
        """Check size."""
        check_count(self, "size")

    def pools(self, design: Design, n: int, key: int) -> PoolSource:
        """Draw a new sample, with a new key, for every step."""

        def place_of(k: int) -> tuple[int, int]:
            # The first rows after a place on a circle come too often where gaps are wide, which
            # matters if there are few of them: then the rows stand on a circle of this step's own.
            turn = hashing.derive(key, k)
            return (key, turn) if self.size >= _SAMPLE_OF_MANY else (turn, 0)

        def draw(k: int, excluded: Sequence[Collection[int]]) -> Pool:
            turn, place = hashing.derive(key, k), place_of(k)
            # If none of the atoms is excluded; otherwise so many more that the sample is full even
            # if all that are excluded were drawn again.
            for n_drawn in (self.size, self.size + max(map(len, excluded))):
                sample = design.sample(n_drawn, *place)
                atoms = design.dictionary.candidates(sample, n_drawn, turn)
                words = hashing.fingerprint(atoms)
                allowed = Words(words).allowed(excluded)
                if allowed.all():
                    break
            # The first ones that an output may choose, as if it were alone.
            allowed &= np.cumsum(allowed, axis=0) <= self.size
            kept = allowed.any(axis=1)
            atoms = atoms if kept.all() else atoms[kept]
            candidates = design.candidates(atoms, reuse=False, store="auto")
            return Pool(candidates, words[kept], allowed[kept])

        return draw


class Words:
    """The words that identify atoms, in an order that is fast to search.

    Parameters
    ----------
    words : ndarray of uint64, shape (n_atoms,)
    """

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self.words = words
        self._order = np.argsort(words, kind="stable")
        self._sorted = words[self._order]

    def allowed(self, excluded: Sequence[Collection[int]]) -> NDArray[np.bool_]:
        """Say for every atom and output whether the atom is none of those excluded."""
        allowed = np.ones((len(self.words), len(excluded)), dtype=bool)
        for c, some in enumerate(excluded):
            wanted = np.fromiter(some, dtype=np.uint64, count=len(some))
            first = np.searchsorted(self._sorted, wanted, side="left")
            last = np.searchsorted(self._sorted, wanted, side="right")
            for i in np.flatnonzero(first < last):
                allowed[self._order[first[i] : last[i]], c] = False
        return allowed


def default_selection(n_samples: float, n_candidates: int) -> Selection:
    """Return what selection="auto" means; it depends on m and n alone."""
    if n_samples * n_candidates <= _SCAN_ENTRIES:
        return AllCandidates()
    return SampledCandidates()


def best_of(pool: Pool, request: Request) -> list[Choice | None]:
    """Choose the best candidate of a pool for every output."""
    found = pool.candidates.best(request.points, request.divisor, pool.allowed, request.is_joint)
    return [_choice(pool, best) for best in found]


def _choice(pool: Pool, best: Best | None) -> Choice | None:
    if best is None:
        return None
    # A copy: a view would keep the whole pool in memory as long as the model lives.
    atom = pool.candidates.atoms[best.index : best.index + 1].copy()
    return Choice(atom, int(pool.ids[best.index]), best.score)
