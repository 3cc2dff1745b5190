"""Which atom enters: the candidate most correlated with the residual."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing
from fcgboost.designs.base import Candidates, Design, Divisor, Point
from fcgboost.parts import Part, check_choice, check_count
from fcgboost.selection.gain import Gain

# Samples from this size on share one order of the rows.
_SAMPLE_OF_MANY = 64
# Products m x n up to this many entries are scanned in full by selection="auto".
_SCAN_ENTRIES = 10_000_000


Words = NDArray[np.uint64]


@dataclass
class Choice:
    """The best candidate for one output."""

    atom: Any
    id: int
    score: float


@dataclass
class Request:
    """What step k wants: an atom for every output."""

    k: int
    #: Where every output's residual is taken.
    points: Sequence[Point]
    #: For every output the ids that it must not choose.
    excluded: Sequence[Collection[int]]
    #: What atoms are divided by before they are scored: where they are drawn, and learned.
    divisor: Divisor
    gains: Sequence[Gain]


#: Chooses an atom for every output; None for one that may choose none.
Chooser = Callable[[Request], list[Choice | None]]


class Selection(Part):
    """Which candidates are looked at in each step."""

    #: Whether there is one dictionary for all steps, whose size the data decides.
    is_fixed = True

    @abstractmethod
    def chooser(self, design: Design, n: int, key: int) -> Chooser:
        """Prepare a fit.

        A fixed dictionary has n candidates. The key is the only source of randomness.
        """


@dataclass(frozen=True)
class Pool:
    """The candidates of a step, the words that identify them, and which an output may choose."""

    candidates: Candidates
    ids: Words
    allowed: NDArray[np.bool_]

    def best(self, request: Request) -> list[Choice | None]:
        """Choose the best candidate for every output."""
        chosen: list[Choice | None] = []
        for best in self.candidates.best(request.points, request.divisor, self.allowed):
            if best is None:
                chosen.append(None)
                continue
            # A copy: a view would keep the whole pool in memory as long as the model lives.
            atom = self.candidates.atoms[best.index : best.index + 1].copy()
            chosen.append(Choice(atom, int(self.ids[best.index]), best.score))
        return chosen


#: Returns the pool of step k; for every output the ids that it must not choose.
PoolSource = Callable[[int, Sequence[Collection[int]]], Pool]


class PooledSelection(Selection):
    """A selection that scores a pool of candidates in every step."""

    @abstractmethod
    def pools(self, design: Design, n: int, key: int) -> PoolSource:
        """Prepare a fit, as `chooser`."""

    def chooser(self, design: Design, n: int, key: int) -> Chooser:
        """Take the best of every pool."""
        pools = self.pools(design, n, key)
        return lambda request: pools(request.k, request.excluded).best(request)


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
        if not isinstance(self.store, bool):
            check_choice(self, "store", ("auto",))

    def pools(self, design: Design, n: int, key: int) -> PoolSource:
        """Draw the dictionary once."""
        atoms = design.dictionary.candidates(design.sample(n, key), n, key)
        candidates = design.candidates(atoms, reuse=True, store=self.store)
        ids = hashing.fingerprint(atoms)
        order = np.argsort(ids, kind="stable")
        return lambda k, excluded: Pool(candidates, ids, _allowed(ids, order, excluded))


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
        check_count(self, "size")

    def pools(self, design: Design, n: int, key: int) -> PoolSource:
        """Draw a new sample, with a new key, for every step."""

        def draw(k: int, excluded: Sequence[Collection[int]]) -> Pool:
            turn = hashing.derive(key, k)
            # The first rows after a place on a circle come too often where gaps are wide, which
            # matters if there are few of them: then the rows stand on a circle of this step's own.
            place = (key, turn) if self.size >= _SAMPLE_OF_MANY else (turn, 0)
            # If none of the atoms is excluded; otherwise so many more that the sample is full even
            # if all that are excluded were drawn again.
            for n_drawn in (self.size, self.size + max(map(len, excluded))):
                sample = design.sample(n_drawn, *place)
                atoms = design.dictionary.candidates(sample, n_drawn, turn)
                ids = hashing.fingerprint(atoms)
                allowed = _allowed(ids, np.argsort(ids, kind="stable"), excluded)
                if allowed.all():
                    break
            # The first ones that an output may choose, as if it were alone.
            allowed &= np.cumsum(allowed, axis=0) <= self.size
            kept = allowed.any(axis=1)
            atoms = atoms if kept.all() else atoms[kept]
            candidates = design.candidates(atoms, reuse=False, store="auto")
            return Pool(candidates, ids[kept], allowed[kept])

        return draw


def _allowed(
    ids: Words, order: NDArray[np.intp], excluded: Sequence[Collection[int]]
) -> NDArray[np.bool_]:
    """Say for every atom and output whether the atom is none of those excluded."""
    allowed = np.ones((len(ids), len(excluded)), dtype=bool)
    for c, some in enumerate(excluded):
        wanted = np.fromiter(some, dtype=np.uint64, count=len(some))
        first = np.searchsorted(ids, wanted, "left", order)
        last = np.searchsorted(ids, wanted, "right", order)
        for i in np.flatnonzero(first < last):
            allowed[order[first[i] : last[i]], c] = False
    return allowed


def default_selection(n_samples: float, n_candidates: int) -> Selection:
    """Return what selection="auto" means; it depends on m and n alone."""
    is_scanned = n_samples * n_candidates <= _SCAN_ENTRIES
    return AllCandidates() if is_scanned else SampledCandidates()
