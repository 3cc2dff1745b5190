"""The rows that one machine holds, in pieces, and what it does with them when asked.

Rows are loaded from *sources*. Where they do not fit the machine's memory, some pieces are dropped
after every program and loaded again for the next one; their columns are then made again, too.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing
from fcgboost.backends.base import Array
from fcgboost.backends.calls import PIECE, Program, join_all, run_calls
from fcgboost.backends.moments import Frame, Moments, add_up
from fcgboost.backends.pieces import (
    Draw,
    PieceCandidates,
    PieceColumns,
    PieceDesign,
    PieceGlimpse,
    n_bytes_of,
)
from fcgboost.backends.rows import HeldOut, Rows, Source, Survey, joined
from fcgboost.clipping import Limits
from fcgboost.dictionaries import Dictionary
from fcgboost.sums import ExactSum, totals_of
from fcgboost.threads import blas

_LAST_WORD = 2**64 - 1
_BYTE = 8
# The methods that look at rows, and those that look at columns.
_ROWS = {"append", "candidates", "closer_scores", "draw", "exact_scores", "piece_sums", "scores"}
_COLUMNS = {"column", "gram", "matvec", "rmatvec", "triangle"}
#: What always stays of a row: labels, weights, hashes, residuals and the like.
BYTES_PER_ROW = 130
# More rows of a piece than it will have to give, with hardly an exception.
_SPARE_DEVIATIONS, _SPARE_ROWS = 4.0, 8


class Piece:
    """Rows of one source, and the objects that programs work with."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.words = hashing.fingerprint(rows.load())
        self._design: PieceDesign | None = None
        self.objects: dict[int, Any] = {PIECE: self}

    @property
    def design(self) -> PieceDesign:
        """The dictionary over the rows."""
        assert self._design is not None, "no dictionary was laid over the rows yet"
        return self._design

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Leave all other rows out."""
        self.rows.keep(mask)
        self.words = self.words[mask]

    def clip(self, limits: Limits) -> None:
        """Keep the rows within limits: from now on they are other rows, with other words."""
        if self.rows.clip(limits):
            self.words = hashing.fingerprint(self.rows.load())

    def lay(self, dictionary: Dictionary, per_class: Array, options: dict[str, Any]) -> None:
        """Lay a dictionary over the rows; y holds codes by now."""
        rows = self.rows
        weights = rows.weights * per_class[rows.y]
        self._design = PieceDesign(dictionary, rows.load(), weights, words=self.words, **options)
        self.objects = {PIECE: self}

    def target(self, positive: int) -> Array:
        """Return +1 for the rows of a class and -1 for the others."""
        return np.where(self.rows.y == positive, 1.0, -1.0)

    def weights(self) -> Array:
        """Return the weights."""
        return np.asarray(self.design.weights)

    def columns(self, capacity: int, has_constant: bool) -> PieceColumns:
        """Return an empty set of columns."""
        return self.design.columns(capacity, has_constant)

    def candidates(self, atoms: Any, reuse: bool, store: Any) -> PieceCandidates:
        """Lay atoms over the rows; values that could be dropped are not stored."""
        store = store if store is True or not self.rows.can_load else False
        return self.design.candidates(atoms, reuse=reuse, store=store)

    def draw(self, n: int, key: int, turn: int, share: float) -> Draw:
        """Return rows after a place of the circle.

        `share` is 1 over the number of all rows: of n rows, hardly more than our share of them
        will be wanted. What is beyond it is not sent.
        """
        design = self.design
        expected = n * min(1.0, share * design.n_distinct)
        limit = int(expected + _SPARE_DEVIATIONS * np.sqrt(expected) + _SPARE_ROWS)
        distances, rows = design.draw(min(n, limit), key, turn)
        is_all = limit >= n or len(distances) == design.n_distinct
        return Draw(distances, rows, _LAST_WORD if is_all else int(distances[-1]))

    def glimpse(self, wanted: hashing.Words) -> PieceGlimpse:
        """Find the rows that have some fingerprints."""
        return PieceGlimpse(self.design.members(wanted), self.weights())

    def n_distinct(self) -> int:
        """Return the number of distinct rows of the piece."""
        return self.design.n_distinct

    def words_between(self, first: int, last: int) -> hashing.Words:
        """Return the distinct fingerprints within limits, ascending."""
        words = self.design.fingerprints
        start = np.searchsorted(words, np.uint64(first), side="left")
        stop = np.searchsorted(words, np.uint64(last), side="right")
        return words[start:stop]

    @property
    def n_bytes(self) -> int:
        """The memory that can be given back."""
        columns = [c.n_bytes for c in self.objects.values() if isinstance(c, PieceColumns)]
        return (0 if self._design is None else self._design.n_bytes) + sum(columns)

    def needs_rows(self, program: Program) -> bool:
        """Whether a program looks at the rows, or at columns that are made of them."""
        columns = [c for c in self.objects.values() if isinstance(c, PieceColumns)]
        looks_at = _ROWS if not any(c.is_dropped for c in columns) else _ROWS | _COLUMNS
        return any(call.method in looks_at for call in program.calls)

    def wake(self) -> None:
        """Load the rows if they were dropped."""
        if self.design.X is None:
            self.design.put_back(self.rows.load())

    def sleep(self) -> None:
        """Drop the rows and the columns, if the rows can be loaded again."""
        if self.rows.drop():
            self.design.drop()
            for thing in self.objects.values():
                if isinstance(thing, PieceColumns | PieceCandidates):
                    thing.forget_values()


class Shard:
    """All rows of one machine.

    Every method gives None if no rows of the machine have to do with it.

    Parameters
    ----------
    sources, held_out : sequence of callables
        Where the rows for training and for validation come from.
    can_load : bool
        Whether sources may be asked again and again; else all rows stay in memory, in one piece.
    budget : int or None, default=None
        Bytes that may be kept between programs, where rows can be loaded again.
    n_threads : int, default=1
    """

    def __init__(
        self,
        sources: Sequence[Source],
        held_out: Sequence[Source],
        can_load: bool,
        budget: int | None = None,
        n_threads: int = 1,
    ) -> None:
        # As long as the shard lives: setting a limit takes longer than a small program.
        limit = ExitStack()
        limit.enter_context(blas.one_thread())
        weakref.finalize(self, limit.close)
        #: Bytes that stored candidates may take.
        self.store_limit = sys.maxsize
        self._budget = budget
        self._n_threads = n_threads
        self._can_load = can_load
        self._n_rows = 0
        self._pieces = [Piece(rows) for rows in self._load(sources)]
        self._held_out = [HeldOut(rows) for rows in self._load(held_out)]

    def _load(self, sources: Sequence[Source]) -> Iterator[Rows]:
        """Look at all rows once; parts without rows are left out."""
        if not self._can_load and len(sources) > 1:
            parts = [part for part in (source() for source in sources) if len(part.y)]
            sources = [lambda: joined(parts)] if parts else []
        kept = 0
        for source in sources:
            rows = Rows(source, self._can_load)
            if rows.n_rows:
                self._n_rows += rows.n_rows
                yield rows
                # Whoever asked for them has looked at them by now.
                kept += n_bytes_of(rows.load())
                if self._is_too_much(kept) and rows.X is not None:
                    kept -= n_bytes_of(rows.X)
                    rows.drop()

    def _is_too_much(self, n_bytes: int) -> bool:
        """Whether so much is more than can be kept beside the vectors."""
        if self._budget is None:
            return False
        return n_bytes > max(0, self._budget - BYTES_PER_ROW * self._n_rows)

    def _rows(self) -> tuple[list[Rows], list[Rows]]:
        return [piece.rows for piece in self._pieces], [held.rows for held in self._held_out]

    def survey(self) -> tuple[Survey | None, Survey | None]:
        """Look at the rows for training, and at those for validation."""
        return tuple(  # type: ignore[return-value]
            add_up([rows.survey() for rows in some]) if some else None for some in self._rows()
        )

    def encode(self, classes: NDArray[Any]) -> None:
        """Replace labels by their places among the classes."""
        codes = {label: code for code, label in enumerate(classes.tolist())}
        training, held_out = self._rows()
        for rows in (*training, *held_out):
            rows.encode(codes)

    def digest(self) -> tuple[hashing.Digest | None, hashing.Digest | None]:
        """Return words for the rows for training, and for those for validation."""
        training = [p.rows.digest(p.words) for p in self._pieces]
        held_out = [h.rows.digest(hashing.fingerprint(h.rows.load())) for h in self._held_out]
        return add_up(training) if training else None, add_up(held_out) if held_out else None

    def class_totals(self, n_classes: int, heaviest: float) -> ExactSum | None:
        """Return the weight of every class."""
        rows = [piece.rows for piece in self._pieces]
        totals = [totals_of(r.weights, r.y, n_classes, heaviest) for r in rows]
        return add_up(totals) if totals else None

    def histogram(
        self, key: int, prefixes: hashing.Words, n_bytes: int, heaviest: float
    ) -> tuple[ExactSum, hashing.Words] | None:
        """Count weights by the next byte of the rows' hashes, class by class.

        Parameters
        ----------
        key : int
        prefixes : ndarray of uint64, shape (n_classes,)
            Only rows whose hashes begin so are counted.
        n_bytes : int
            How many bytes of the prefixes count.
        heaviest : float
            The largest weight of all rows.

        Returns
        -------
        Sums for n_classes x 256 places, and the largest hash of every class
        """
        if not self._pieces:
            return None
        counts = ExactSum.nothing(256 * len(prefixes))
        largest = np.zeros(len(prefixes), dtype=np.uint64)
        for piece in self._pieces:
            hashes, codes = hashing.keyed(piece.words, key), piece.rows.y
            shift = np.uint64(64 - _BYTE * n_bytes)
            is_counted = np.ones(len(codes), dtype=bool)
            if n_bytes:
                is_counted = hashes >> shift == prefixes[codes] >> shift
            byte = (hashes >> np.uint64(56 - _BYTE * n_bytes)).astype(np.intp) & 255
            places = (codes * 256 + byte)[is_counted]
            weights = piece.rows.weights[is_counted]
            counts = counts + totals_of(weights, places, 256 * len(prefixes), heaviest)
            np.maximum.at(largest, codes, hashes)
        return counts, largest

    def set_aside(self, key: int, last: hashing.Words) -> Survey | None:
        """Move the rows whose hashes are at most those of their class to validation."""
        for piece in self._pieces:
            is_held_out = hashing.keyed(piece.words, key) <= last[piece.rows.y]
            is_held_out &= last[piece.rows.y] > 0
            if is_held_out.any():
                rows = piece.rows.copy()
                rows.keep(is_held_out)
                self._held_out.append(HeldOut(rows))
                piece.keep(~is_held_out)
        self._pieces = [piece for piece in self._pieces if piece.rows.n_rows]
        return self.survey()[1]

    def clip(self, limits: Limits) -> None:
        """Keep all rows within limits, those of validation as well."""
        for piece in self._pieces:
            piece.clip(limits)
            self._rest(piece.rows)
        for held_out in self._held_out:
            held_out.rows.clip(limits)
            self._rest(held_out.rows)

    def add_up(self, per_class: Array, function: Callable[..., Any], *args: Any) -> Any:
        """Add up a function of the rows and their weights."""
        totals = []
        for piece in self._pieces:
            rows = piece.rows
            totals.append(function(rows.load(), rows.weights * per_class[rows.y], *args))
            self._rest(rows)
        return add_up(totals) if totals else None

    def _rest(self, rows: Rows) -> None:
        """Drop rows again that do not fit the memory beside those before them."""
        here = [n_bytes_of(p.rows.X) for p in self._pieces if p.rows.X is not None]
        if self._is_too_much(sum(here)):
            rows.drop()

    def lay(
        self,
        dictionary: Dictionary,
        moments: Moments,
        per_class: Array,
        standardize: bool,
        memory_budget: int,
    ) -> int | None:
        """Lay a dictionary over the rows; give the number of rows."""
        options = {
            "standardize": standardize,
            "memory_budget": min(memory_budget, self.store_limit) // max(1, len(self._pieces)),
            "n_threads": self._n_threads,
            "moments": moments,
        }
        for piece in self._pieces:
            piece.lay(dictionary, per_class, options)
            self._settle(piece)
        for held_out in self._held_out:
            held_out.lay(dictionary, Frame(moments, standardize).scale)
        return sum(piece.rows.n_rows for piece in self._pieces) or None

    def run(self, program: Program) -> list[Any] | None:
        """Run a program on every piece, and join the answers."""
        answers: list[list[Any]] = []
        for piece in self._pieces:
            if piece.needs_rows(program):
                piece.wake()
            answers.append(run_calls(program, piece.objects))
            self._settle(piece)
        joins = [call.join for call in program.calls if call.join is not None]
        if not answers:
            return None
        return [join_all(join, (a[place] for a in answers)) for place, join in enumerate(joins)]

    def hits(
        self, new_atoms: Sequence[Any], coef: Array, intercept: Array, heaviest: float
    ) -> ExactSum | None:
        """Return the weight of held-out rows that are classified wrongly, and correctly."""
        totals = []
        for held_out in self._held_out:
            totals.append(held_out.hits(new_atoms, coef, intercept, heaviest))
            self._settle(held_out)
        return add_up(totals) if totals else None

    def _settle(self, last: Piece | HeldOut) -> None:
        """Let the piece that was worked on sleep, if all that is awake is too much.

        Pieces are worked on in turns: those that sleep should always be the same ones.
        """
        things: list[Piece | HeldOut] = [*self._pieces, *self._held_out]
        if self._budget is not None and self._is_too_much(sum(t.n_bytes for t in things)):
            last.sleep()
