"""Selection of the candidate that correlates best with the residual."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from fcgboost import hashing
from fcgboost.arrays import Flags
from fcgboost.designs.base import Candidates, Design
from fcgboost.parts import check_count
from fcgboost.selection.base import Choice, Chooser, Request, Selection

__all__ = [
    "AllCandidates",
    "Pool",
    "PoolSource",
    "PooledSelection",
    "SampledCandidates",
    "default_selection",
]

# Samples of at least this size share one order of the rows.
_SAMPLE_OF_MANY = 64
# selection="auto" scores all candidates up to this many values (rows times candidates).
_SCAN_ENTRIES = 10_000_000


@dataclass(frozen=True)
class Pool:
    """The candidates of a step, their ids, and which ones each output may choose."""

    candidates: Candidates
    ids: hashing.Hashes
    allowed: Flags

    def best(self, request: Request) -> list[Choice | None]:
        """Choose the best candidate for each output."""
        chosen: list[Choice | None] = []
        winners = self.candidates.best(request.residuals, request.normalize, self.allowed)
        for best in winners:
            if best is None:
                chosen.append(None)
                continue
            # A copy: a view would keep the whole pool alive with the model.
            atom = self.candidates.atoms[best.index : best.index + 1].copy()
            chosen.append(
                Choice(
                    atom,
                    int(self.ids[best.index]),
                    best.score,
                    best.entry,
                )
            )
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

    The matrix of their values at all rows is stored if it fits into scikit-learn's
    `working_memory`, and evaluated in blocks otherwise.
    """

    def pools(self, design: Design, n: int, key: int) -> PoolSource:
        atoms = design.dictionary.candidates(design.sample(n, key), n, key)
        candidates = design.candidates(atoms, reuse=True)
        ids = hashing.fingerprint(atoms)
        return lambda k, excluded: Pool(candidates, ids, _allowed(ids, excluded))


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
            circle = (key, turn) if self.size >= _SAMPLE_OF_MANY else (turn, 0)
            # If an excluded atom is drawn, draw enough to replace all excluded ones.
            for n_drawn in (self.size, self.size + max(map(len, excluded))):
                sample = design.sample(n_drawn, *circle)
                atoms = design.dictionary.candidates(sample, n_drawn, turn)
                ids = hashing.fingerprint(atoms)
                allowed = _allowed(ids, excluded)
                if allowed.all():
                    break
            # Each output gets the first ones it may choose, as if it were alone.
            allowed &= np.cumsum(allowed, axis=0) <= self.size
            kept = allowed.any(axis=1)
            atoms = atoms if kept.all() else atoms[kept]
            candidates = design.candidates(atoms, reuse=False)
            return Pool(candidates, ids[kept], allowed[kept])

        return draw


def _allowed(ids: hashing.Hashes, excluded: Sequence[Collection[int]]) -> Flags:
    """Return for each atom and output whether the atom is not excluded."""
    allowed = np.ones((len(ids), len(excluded)), dtype=bool)
    for c, excluded_ids in enumerate(excluded):
        unwanted = np.fromiter(excluded_ids, dtype=np.uint64, count=len(excluded_ids))
        # By sorting: NumPy 2.0 looks for a range first, which overflows.
        allowed[:, c] = np.isin(
            ids,
            unwanted,
            invert=True,
            kind="sort",
        )
    return allowed


def default_selection(n_samples: float, n_candidates: int) -> Selection:
    """Return what selection="auto" means for fixed dictionaries."""
    is_scanned = n_samples * n_candidates <= _SCAN_ENTRIES
    return AllCandidates() if is_scanned else SampledCandidates()
