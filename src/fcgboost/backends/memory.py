"""A design in one memory: this process's (NumPy, SciPy sparse matrices) or a device's (torch)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy import sparse

from fcgboost import hashing
from fcgboost.arrays import is_tensor, squared_norms
from fcgboost.backends.base import Array, Design
from fcgboost.backends.blocks import row_blocks
from fcgboost.backends.candidates import MemoryCandidates
from fcgboost.backends.columns import MemoryColumns
from fcgboost.backends.fused import gauss_sums
from fcgboost.backends.moments import Frame, Moments, moments_of
from fcgboost.backends.places import NumpyPlace, Place, TorchPlace
from fcgboost.backends.subsamples import Members, MemorySubsample
from fcgboost.dictionaries import FARTHEST, Dictionary, Sample, ScreenedDictionary

_SPARE_ROWS = 1024
# Columns that are kept between an atom's exact score and its entry.
_KEPT_COLUMNS = 8
# Standardised inputs beyond these have squares, and squares of atoms, that float32 does not hold.
_LEAST_REACH, _LARGEST_REACH = 2.0**-20, 2.0**30


class MemoryDesign(Design):
    """A dictionary over a NumPy array or CSR matrix, or over a copy of it on a device.

    Parameters
    ----------
    dictionary : Dictionary
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        On a device: an ndarray, or the tensor there.
    weights : ndarray of shape (n_samples,)
        Positive.
    standardize : bool
        Whether atoms see columns of mean 0 and variance 1.
    memory_budget : int, default=2**30
        Bytes that stored candidates may take.
    n_threads : int, default=1
        Threads over blocks of candidates. The result does not depend on it.
    place : Place or None, default=None
        Where the columns live; None is NumPy.
    words : ndarray of uint64, shape (n_samples,), or None, default=None
        The fingerprints of the rows, if they are known.
    moments : Moments or None, default=None
        Those of all rows, where X is only a part of them.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        X: Any,
        weights: Array,
        standardize: bool,
        memory_budget: int = 2**30,
        n_threads: int = 1,
        place: Place | None = None,
        words: hashing.Words | None = None,
        moments: Moments | None = None,
    ) -> None:
        self.dictionary = dictionary
        self.memory_budget = memory_budget
        self.n_threads = n_threads
        self._pool: ThreadPoolExecutor | None = None
        place = NumpyPlace() if place is None else place
        #: Where single precision screens; a device without float64 does no more than that.
        self.screen_place = place
        if isinstance(place, TorchPlace) and not place.has_float64:
            place = TorchPlace("cpu")
        self.place = place
        self.X = X.cpu().numpy() if is_tensor(X) else X
        self.n_rows = int(X.shape[0])
        # Where evaluation looks; rows are drawn from the copy on the host.
        self.inputs = X if isinstance(place, NumpyPlace) else place.put(X)
        self.weights = place.put(weights)
        moments = moments_of(self.X, weights) if moments is None else moments
        self.total_weight = moments.total_weight
        self.shares = place.put(weights / self.total_weight)
        self.frame = frame = Frame(moments, standardize)
        self.low, self.high, self.center = frame.low, frame.high, frame.center
        self.shift, self.scale, self.deviation = frame.shift, frame.scale, frame.deviation
        words = hashing.fingerprint(self.X) if words is None else words
        self._words = words
        self.fingerprints, self._distinct = np.unique(words, return_index=True)
        self._circles: dict[int, hashing.Circle] = {}
        self._n_active = self.n_rows
        #: Exact columns of atoms that were looked at in this step, and may enter.
        self._columns: dict[bytes, Any] = {}
        #: The draw that comes next, where it is made while Python waits; None until it is made.
        self._expected: dict[tuple[int, int, int], Sample | None] = {}

    @property
    def n_distinct(self) -> int:
        """The number of distinct rows."""
        return len(self.fingerprints)

    least_distinct = n_distinct

    def with_dictionary(self, dictionary: Dictionary) -> MemoryDesign:
        """Lay another dictionary over the same data; what the data alone decides is shared."""
        other = copy.copy(self)
        other.dictionary, other._columns, other._expected = dictionary, {}, {}
        # The radii are asked for only by dictionaries that are screened.
        vars(other).pop("radii", None)
        vars(other).pop("_made", None)
        return other

    def sample(self, n: int, key: int, turn: int = 0) -> Sample:
        """Draw distinct rows in hash order."""
        made = self._expected.pop((n, key, turn), None)
        return self.frame.sample(self.draw(n, key, turn)[1]) if made is None else made

    def expect(self, n: int, key: int, turn: int = 0) -> None:
        """Keep a draw for the wait of the next choice, where there is one."""
        self._expected = {(n, key, turn): None} if self.place.is_ahead else {}

    def use_the_wait(self) -> None:
        """Draw what is expected, while the device does what it was asked to do."""
        self._expected = {draw: self.sample(*draw) for draw in [*self._expected]}

    def draw(self, n: int, key: int, turn: int) -> tuple[hashing.Words, Any]:
        """Return the first rows from a place of the circle on, and how far from it they are."""
        circle = self._circle(key)
        places = circle.after(turn, n)
        return circle.distances(places, turn), self.X[self._distinct[places]]

    def _circle(self, key: int) -> hashing.Circle:
        """Return the rows on a circle."""
        circle = self._circles.get(key)
        if circle is None:
            circle = hashing.Circle(self.fingerprints, key)
            # The last two: that of the fit, and that of a step with a key of its own.
            self._circles = {**dict([*self._circles.items()][-1:]), key: circle}
        return circle

    def subsample(self, n: int, key: int) -> MemorySubsample:
        """Return the rows with the smallest hashes."""
        places = self._circle(key).after(0, n)
        members = self.members(self.fingerprints[places])
        rows = self.inputs[self._distinct[places]]
        return MemorySubsample(rows, members, self.weights, self.place.put)

    def members(self, wanted: hashing.Words) -> Members:
        """Find the rows that have some fingerprints."""
        return Members.of(wanted, self._words)

    def put(self, vector: Array) -> Any:
        """Return an m-vector in this place."""
        return self.place.put(vector)

    def stack(self, vectors: Sequence[Any]) -> Any:
        """Put m-vectors side by side."""
        if self.place.is_ahead:
            return self.place.xp.stack(list(vectors), 1)
        # Each of them contiguous: sums over the rows are several times faster so.
        return np.stack(vectors).T

    def candidates(
        self, atoms: Any, *, reuse: bool, store: bool | Literal["auto"]
    ) -> MemoryCandidates:
        """Lay atoms over the rows; keep their values where this pays and fits."""
        return MemoryCandidates(self, atoms, self.is_worth_storing(atoms.shape[0], reuse, store))

    def is_worth_storing(self, n_atoms: int, reuse: bool, store: bool | Literal["auto"]) -> bool:
        """Whether the values of candidates are to be kept."""
        if store is False:
            return False
        n_bytes = (4 if self.is_screened else 8) * self.n_rows * n_atoms
        budget = self.memory_budget
        if store is True and n_bytes > budget:
            raise MemoryError(
                f"The dictionary of {self.n_rows} rows x {n_atoms} candidates takes "
                f"{n_bytes} bytes, and store=True asks to keep it in a budget of {budget} bytes. "
                "Use store='auto' or False (evaluated in blocks), selection='sampled', fewer "
                "n_candidates, or raise sklearn.set_config(working_memory=...) (MiB)."
            )
        # A GPU evaluates Gauss atoms faster than its memory gives stored ones.
        n_values, n_features = self.n_rows * n_atoms, self.X.shape[1]
        is_fused = gauss_sums(self.dictionary, self.screen_place, n_values, n_features) is not None
        is_better = reuse and not (is_fused and self.screen_place.is_ahead)
        return n_bytes <= budget and is_better if store == "auto" else store

    def columns(self, capacity: int, has_constant: bool) -> MemoryColumns:
        """Return an empty set of columns."""
        return MemoryColumns(self, capacity, has_constant)

    @property
    def is_screened(self) -> bool:
        """Whether candidates can be screened in float32."""
        is_able = isinstance(self.dictionary, ScreenedDictionary) and self._is_plain
        return is_able and self.screen_place.is_float32_exact

    @cached_property
    def _is_plain(self) -> bool:
        """Whether the rows are dense, and float32 is good for numbers of their size."""
        if sparse.issparse(self.X):
            return False
        reach = np.maximum(np.abs(self.low - self.center), np.abs(self.high - self.center))
        largest = float((reach / self.scale).max(initial=0.0))
        return self.farness <= 1.0 and _LEAST_REACH <= largest <= _LARGEST_REACH

    @cached_property
    def farness(self) -> float:
        """How much farther from zero the inputs are than what is screened, at least 1."""
        return max(1.0, float((np.abs(self.center) / self.scale).max()) / FARTHEST)

    @property
    def room(self) -> int | None:
        """For how many rows with a residual there is to be room; None where they can be counted."""
        return self._n_active + self._n_active // 8 + _SPARE_ROWS if self.place.is_ahead else None

    def note_active(self, n_rows: int) -> None:
        """Take the number of rows with a residual: the next one will not be much larger."""
        self._n_active = n_rows

    @cached_property
    def units(self) -> Any:
        """The scale, where evaluation looks."""
        return self.place.put(self.scale)

    @cached_property
    def screen_inputs(self) -> tuple[Any, Any]:
        """The standardised rows as float32, and their norms, where screening happens."""
        # Where there is double precision, they are made of the rows that are there.
        place = self.place if self.screen_place is self.place else NumpyPlace()
        X = self.inputs if place is self.place else self.X
        origin, unit, n_features = place.put(self.center), place.put(self.scale), X.shape[1]
        Z = place.empty(n_features, self.n_rows, "float32").T
        radii = place.empty(self.n_rows, 1)[:, 0]

        def fill(rows: slice) -> None:
            block = (X[rows] - origin) / unit
            Z[rows], radii[rows] = block, place.xp.sqrt(squared_norms(block))

        self.each(fill, row_blocks(self.n_rows, place.block_entries // n_features))
        return self.screen_place.put(Z, "float32"), self.place.put(radii)

    @cached_property
    def screen_units(self) -> Any:
        """The scale of standardised rows, where screening happens."""
        return self.screen_place.put(np.ones(len(self.scale)), "float32")

    @cached_property
    def radii(self) -> tuple[float, float]:
        """The mean (over weights, of squares) and the largest norm of the standardised rows."""
        has_radii = isinstance(self.dictionary, ScreenedDictionary) and not sparse.issparse(self.X)
        radii = self.screen_inputs[1] if has_radii else self.place.put(np.zeros(1))
        weights = self.weights if has_radii else self.place.put(np.ones(1))
        mean, largest = self.place.fetch(weights @ radii**2 / weights.sum(), radii.max())
        return float(np.sqrt(mean)), float(largest)

    def evaluate(self, atoms: Any, rows: Any = None) -> Any:
        """Return the exact values of atoms at all rows, or some, of shape (n_rows, n_atoms)."""
        X = self.inputs if rows is None else self.inputs[rows]
        here = atoms if self.place.xp is np else self.place.put(atoms)
        # Dense inputs are copied on the way to the values, sparse ones are not.
        width = atoms.shape[0] if sparse.issparse(X) else max(X.shape[1], atoms.shape[0])
        size = max(1, self.place.block_entries // width)
        if len(range(0, X.shape[0], size)) <= 1:
            return self.dictionary.evaluate(X, here, self.units)
        values = self.place.empty(X.shape[0], atoms.shape[0])

        def fill(block: slice) -> None:
            values[block] = self.dictionary.evaluate(X[block], here, self.units)

        self.each(fill, row_blocks(X.shape[0], size))
        return values

    def column(self, atom: Any) -> Any:
        """Return the exact values of one atom at all rows; the last ones are kept."""
        if sparse.issparse(atom):
            return self.evaluate(atom)[:, 0]
        word = atom.tobytes()
        if word not in self._columns:
            if len(self._columns) >= _KEPT_COLUMNS:
                del self._columns[next(iter(self._columns))]
            self._columns[word] = self.evaluate(atom)[:, 0]
        return self._columns[word]

    def forget_columns(self) -> None:
        """Drop the kept columns: those that were chosen have entered."""
        self._columns.clear()

    def each(self, work: Callable[[Any], Any], pieces: Sequence[Any]) -> list[Any]:
        """Do independent pieces of work, in threads where allowed; results in their order."""
        if self.n_threads == 1 or len(pieces) == 1 or self.place.is_ahead:
            return [work(piece) for piece in pieces]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n_threads)
        return list(self._pool.map(work, pieces))
