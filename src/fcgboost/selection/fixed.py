"""Selection of the candidate that correlates best with the residual."""

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

# Samples of at least this size share one order of the rows.
_SAMPLE_OF_MANY = 64
# selection="auto" scores all candidates up to this many values (rows times candidates).
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
    """What step k needs to choose an atom for each output."""

    k: int
    #: Where each output takes its residual.
    points: Sequence[Point]
    #: The ids that each output must not choose.
    excluded: Sequence[Collection[int]]
    #: What scores are divided by if candidates are pooled, and how learned atoms are scored.
    divisor: Divisor
    gains: Sequence[Gain]


#: Chooses an atom for each output; None if there is none to choose.
Chooser = Callable[[Request], list[Choice | None]]


class Selection(Part):
    """Which candidates each step considers."""

    #: Whether all steps use one fixed set of candidates.
    is_fixed = True

    @abstractmethod
    def chooser(self, design: Design, n: int, key: int) -> Chooser:
        """Prepare a fit with n candidates if they are fixed; the key seeds all randomness."""


@dataclass(frozen=True)
class Pool:
    """The candidates of a step, their ids, and which ones each output may choose."""

    candidates: Candidates
    ids: Words
    allowed: NDArray[np.bool_]

    def best(self, request: Request) -> list[Choice | None]:
        """Choose the best candidate for each output."""
        chosen: list[Choice | None] = []
        for best in self.candidates.best(request.points, request.divisor, self.allowed):
            if best is None:
                chosen.append(None)
                continue
            # A copy: a view would keep the whole pool alive with the model.
            atom = self.candidates.atoms[best.index : best.index + 1].copy()
            chosen.append(Choice(atom, int(self.ids[best.index]), best.score))
        return chosen


#: Returns the pool of step k, given the ids that each output must not choose.
PoolSource = Callable[[int, Sequence[Collection[int]]], Pool]


class PooledSelection(Selection):
    """A selection that scores a pool of candidates in every step."""

    @abstractmethod
    def pools(self, design: Design, n: int, key: int) -> PoolSource:
        """Prepare a fit as `chooser` does."""

    def chooser(self, design: Design, n: int, key: int) -> Chooser:
        pools = self.pools(design, n, key)
        return lambda request: pools(request.k, request.excluded).best(request)


class AllCandidates(PooledSelection):
    """Score all candidates in every step, as the paper does.

    Parameters
    ----------
    store : bool or "auto", default="auto"
        Whether to store the matrix of their values at all rows. "auto" stores it if it fits into
        scikit-learn's `working_memory`, and evaluates it in blocks otherwise; True raises an error
        if it does not fit. The model is the same.
    """

    def __init__(self, store: bool | Literal["auto"] = "auto") -> None:
        self.store = store

    def check_parameters(self) -> None:
        if not isinstance(self.store, bool):
            check_choice(self, "store", ("auto",))

    def pools(self, design: Design, n: int, key: int) -> PoolSource:
        atoms = design.dictionary.candidates(design.sample(n, key), n, key)
        candidates = design.candidates(atoms, reuse=True, store=self.store)
        ids = hashing.fingerprint(atoms)
        order = np.argsort(ids, kind="stable")
        return lambda k, excluded: Pool(candidates, ids, _allowed(ids, order, excluded))


class SampledCandidates(PooledSelection):
    """Score a fresh random sample of candidates in every step.

    With about 50 candidates or more this loses nothing measurable compared with scoring all.

    Parameters
    ----------
    size : int, default=128
        The number of candidates per step.
    """

    is_fixed = False

    def __init__(self, size: int = 128) -> None:
        self.size = size

    def check_parameters(self) -> None:
        check_count(self, "size")

    def pools(self, design: Design, n: int, key: int) -> PoolSource:
        def draw(k: int, excluded: Sequence[Collection[int]]) -> Pool:
            turn = hashing.derive(key, k)
            # Rows after wide gaps on the circle of hashes are drawn too often, which matters for
            # small samples: these get a circle of their own in every step.
            place = (key, turn) if self.size >= _SAMPLE_OF_MANY else (turn, 0)
            # If an excluded atom is drawn, draw enough to replace all excluded ones.
            for n_drawn in (self.size, self.size + max(map(len, excluded))):
                sample = design.sample(n_drawn, *place)
                atoms = design.dictionary.candidates(sample, n_drawn, turn)
                ids = hashing.fingerprint(atoms)
                allowed = _allowed(ids, np.argsort(ids, kind="stable"), excluded)
                if allowed.all():
                    break
            # Each output gets the first ones it may choose, as if it were alone.
            allowed &= np.cumsum(allowed, axis=0) <= self.size
            kept = allowed.any(axis=1)
            atoms = atoms if kept.all() else atoms[kept]
            candidates = design.candidates(atoms, reuse=False, store="auto")
            return Pool(candidates, ids[kept], allowed[kept])

        return draw


def _allowed(
    ids: Words, order: NDArray[np.intp], excluded: Sequence[Collection[int]]
) -> NDArray[np.bool_]:
    """Return for each atom and output whether the atom is not excluded."""
    allowed = np.ones((len(ids), len(excluded)), dtype=bool)
    for c, some in enumerate(excluded):
        wanted = np.fromiter(some, dtype=np.uint64, count=len(some))
        first = np.searchsorted(ids, wanted, "left", order)
        last = np.searchsorted(ids, wanted, "right", order)
        for i in np.flatnonzero(first < last):
            allowed[order[first[i] : last[i]], c] = False
    return allowed


def default_selection(n_samples: float, n_candidates: int) -> Selection:
    """Return what selection="auto" means for fixed dictionaries."""
    is_scanned = n_samples * n_candidates <= _SCAN_ENTRIES
    return AllCandidates() if is_scanned else SampledCandidates()
