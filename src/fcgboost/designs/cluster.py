"""A design whose rows lie on other machines, which are a `Crew`.

The m-vectors of this design are names of vectors that every machine has its part of. What is said
to the rows waits until a number is wanted, and then travels at once: a `fetch` is one round.
Columns lie there unscaled, because their sizes are known only when all machines have answered; what
comes back is scaled here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from operator import add, mul
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fcgboost import hashing
from fcgboost.designs.base import (
    Array,
    Best,
    Candidates,
    Columns,
    Design,
    Divisor,
    Small,
    Subsample,
    Sums,
)
from fcgboost.designs.calls import PIECE, Crew, Ref, Remote
from fcgboost.designs.candidates import (
    MANY,
    contenders,
    first_of_best,
    is_there,
    joint,
    lowered,
)
from fcgboost.designs.moments import Frame, Moments
from fcgboost.designs.pieces import Draw, Scores
from fcgboost.designs.places import NumpyPlace
from fcgboost.dictionaries import Dictionary, Sample

# Fingerprints that travel in one answer.
_WORDS_AT_ONCE = 1 << 10


class ClusterDesign(Design):
    """A dictionary laid over rows that a crew holds.

    Parameters
    ----------
    crew : Crew
        Its shards have laid the same dictionary over their rows.
    dictionary : Dictionary
    moments : Moments
    standardize : bool
    n_rows : int
        The number of all rows.
    """

    def __init__(
        self, crew: Crew, dictionary: Dictionary, moments: Moments, standardize: bool, n_rows: int
    ) -> None:
        self.crew = crew
        self.dictionary = dictionary
        self.frame = Frame(moments, standardize)
        self.total_weight = moments.total_weight
        self.scale, self.deviation = self.frame.scale, self.frame.deviation
        self._n_rows = n_rows
        (self.weights,) = crew.tell(Ref(PIECE), "weights", n_results=1)
        #: How many rows may travel at once; what candidates were drawn says it.
        self._rows_at_once: int | None = None
        self._expected: dict[tuple[int, int, int], Any] = {}

    @cached_property
    def least_distinct(self) -> int:
        """The number of distinct rows of the piece that has most."""
        return int(self.crew.ask("n_distinct", join=max))

    @cached_property
    def n_distinct(self) -> int:
        """The number of distinct rows, counted in ranges of their fingerprints."""
        most = int(self.crew.ask("n_distinct", join=add))
        edges = [i * 2**64 // -(-most // _WORDS_AT_ONCE) for i in range(-(-most // _WORDS_AT_ONCE))]
        ends = [*(edge - 1 for edge in edges[1:]), 2**64 - 1]
        counts = [
            len(self.crew.ask("words_between", first, last, join=np.union1d))
            for first, last in zip(edges, ends, strict=True)
        ]
        return sum(counts)

    def target(self, positive: int) -> Any:
        """Return the m-vector of +1 for the rows of a class and -1 for the others."""
        return self.crew.tell(Ref(PIECE), "target", positive, n_results=1)[0]

    def sample(self, n: int, key: int, turn: int = 0) -> Sample:
        """Draw distinct rows: every piece gives its own first ones."""
        at_once = min(n, self._rows_at_once or n)
        draw = self._draw(at_once, key, turn)
        while len(draw.distances) < n and len(draw.distances) % at_once == 0:
            place = (turn + int(draw.distances[-1]) + 1) % 2**64
            more = self._draw(min(at_once, n - len(draw.distances)), key, place)
            # Farther on than once around.
            shifted = more.distances + np.uint64((place - turn) % 2**64)
            more = Draw(shifted, more.rows, more.horizon)
            if len(more.distances) == 0 or shifted[0] <= draw.distances[-1]:
                break
            draw = draw + more
        return self.frame.sample(draw.rows)

    def _draw(self, n: int, key: int, turn: int) -> Draw:
        answer = self._expected.pop((n, key, turn), None)
        self._expected.clear()
        if answer is None:
            answer = self._want_draw(n, key, turn, 1.0 / self._n_rows)
        draw: Draw | None = self.crew.fetch(answer)[0].first(n)
        if draw is None:
            # A piece has more of the rows than its share: now all give as many as there may be.
            draw = self.crew.fetch(self._want_draw(n, key, turn, 1.0))[0].first(n)
        assert draw is not None
        return draw

    def _want_draw(self, n: int, key: int, turn: int, share: float) -> Any:
        return self.crew.want(Ref(PIECE), "draw", n, key, turn, share, join=add)

    def expect(self, n: int, key: int, turn: int = 0) -> None:
        """Ask for rows with the next round, whatever it is for."""
        self._rows_at_once = n
        self._expected[n, key, turn] = self._want_draw(n, key, turn, 1.0 / self._n_rows)

    def subsample(self, n: int, key: int) -> ClusterSubsample:
        """Bring the rows with the smallest hashes here, once."""
        return ClusterSubsample(self.crew, self.sample(n, key).rows)

    def put(self, vector: Any) -> Any:
        """Return an m-vector that is there already."""
        assert isinstance(vector, Remote), "m-vectors of a cluster are made where the rows are"
        return vector

    def stack(self, vectors: Sequence[Any]) -> Any:
        """Put m-vectors side by side."""
        return tuple(vectors)

    def candidates(
        self, atoms: Any, *, reuse: bool, store: bool | Literal["auto"]
    ) -> ClusterCandidates:
        """Send atoms to the rows."""
        self._rows_at_once = self._rows_at_once or atoms.shape[0]
        candidates = ClusterCandidates(self.crew, atoms, reuse, store)
        if store is True:
            # Whoever asks for it should hear now if there is no room.
            self.crew.ask("n_distinct", join=max)
        return candidates

    def columns(self, capacity: int, has_constant: bool) -> ClusterColumns:
        """Return an empty set of columns."""
        return ClusterColumns(self, capacity, has_constant)


class ClusterCandidates(Candidates):
    """Candidates over rows elsewhere: one round for estimates, one for whoever can win."""

    def __init__(self, crew: Crew, atoms: Any, reuse: bool, store: Any) -> None:
        self.atoms = atoms
        self._crew = crew
        (self._there,) = crew.tell(Ref(PIECE), "candidates", atoms, reuse, store, n_results=1)

    def best(self, R: Any, divisor: Divisor, allowed: NDArray[np.bool_]) -> list[Best | None]:
        """Add up estimates, and then exact scores."""
        if len(allowed) == 0:
            return [None] * len(R)
        (scores,) = self._crew.fetch(self._want("scores", R, divisor))
        with np.errstate(all="ignore"):
            low, high, largest = _interval(scores, 0.0)
        outputs = range(len(R))
        doubtful = [contenders(low[:, c], high[:, c], allowed[:, c]) for c in outputs]
        doubtful = self._second_look(doubtful, R, divisor, largest)
        asked = {c: some for c, some in enumerate(doubtful) if len(some)}
        answers = self._crew.fetch(
            *(self._want("exact_scores", some, R[c], divisor) for c, some in asked.items())
        )
        found: list[Best | None] = [None] * len(R)
        for (c, some), exact in zip(asked.items(), answers, strict=True):
            found[c] = first_of_best(some, _exact(exact, largest))
        return found

    def sums(self, R: Any) -> Sums:
        """Add up the machines' sums."""
        sums: Sums = self._crew.fetch(self._want("piece_sums", R))[0]
        return sums

    def best_joint(self, R: Any, divisor: Divisor, allowed: NDArray[np.bool_]) -> Best | None:
        """Add up estimates, and then exact scores."""
        if not allowed.any():
            return None
        (scores,) = self._crew.fetch(self._want("scores", R, divisor))
        with np.errstate(all="ignore"):
            low, high, largest = _interval(scores, 0.0)
            some = contenders(joint(low), joint(high), allowed)
        answers = self._crew.fetch(*(self._want("exact_scores", some, r, divisor) for r in R))
        exact = np.column_stack([_exact(answer, largest) for answer in answers])
        return first_of_best(some, joint(exact))

    def _second_look(
        self, doubtful: list[NDArray[np.intp]], R: Any, divisor: Divisor, largest: float
    ) -> list[NDArray[np.intp]]:
        """Leave fewer in doubt where they are many, by float64 values of them alone."""
        many = [c for c, some in enumerate(doubtful) if len(some) > MANY]
        if not many:
            return doubtful
        answers = self._crew.fetch(
            *(self._want("closer_scores", doubtful[c], R[c], divisor) for c in many)
        )
        left = list(doubtful)
        for c, scores in zip(many, answers, strict=True):
            with np.errstate(all="ignore"):
                low, high, _ = _interval(scores, largest)
            everyone = np.ones(len(low), dtype=bool)
            left[c] = doubtful[c][contenders(low[:, 0], high[:, 0], everyone)]
        return left

    def _want(self, method: str, *args: Any) -> Any:
        return self._crew.want(self._there, method, *args, join=add)


def _interval(scores: Scores, largest: float) -> tuple[Array, Array, float]:
    """Return what scores are at least and at most, and the largest size."""
    estimate = scores.estimate()
    low, high = lowered(estimate, NumpyPlace(), largest)
    size = 0.0 if estimate.sizes is None else float(estimate.sizes[0].max(initial=0.0))
    return low, high, max(size, largest)


def _exact(scores: Scores, largest: float) -> Array:
    """Divide exact sums by exact sizes."""
    estimate = scores.estimate()
    dots = np.abs(scores.dots[:, 0])
    if estimate.sizes is None:
        return dots
    sizes = estimate.sizes[0]
    scaled: Array = np.divide(dots, sizes, out=np.zeros_like(dots), where=is_there(sizes, largest))
    return scaled


class ClusterSubsample(Subsample):
    """Rows of all machines: they came here once, and only residuals come again."""

    def __init__(self, crew: Crew, rows: Any) -> None:
        self.rows = rows
        self._crew = crew
        words = hashing.fingerprint(rows)
        (self._there,) = crew.tell(Ref(PIECE), "subsample", words, n_results=1)

    def residuals(self, R: Any) -> tuple[Array, Array]:
        """Add up what the machines have of the rows."""
        (both,) = self._crew.fetch(self._crew.want(self._there, "residuals", R, join=add))
        return both[0], both[1]


class ClusterColumns(Columns):
    """Columns of all machines."""

    def __init__(self, design: ClusterDesign, capacity: int, has_constant: bool) -> None:
        self.has_constant = has_constant
        self.n_columns = int(has_constant)
        self._crew = design.crew
        self._scaling = design.dictionary.scaling
        self._total_weight = design.total_weight
        (self._there,) = self._crew.tell(Ref(PIECE), "columns", capacity, has_constant, n_results=1)
        self._factors, self._norms = np.ones(self.n_columns), np.ones(self.n_columns)
        self._unread: list[Any] = []

    @property
    def factors(self) -> Array:
        """Coefficient of the atom = factor x coefficient of its column."""
        self._read()
        return self._factors

    @property
    def norms(self) -> Array:
        """The empirical norm of every column."""
        self._read()
        return self._norms

    def _read(self) -> None:
        unread, self._unread = self._unread, []
        self._crew.fetch(*unread)

    def append(self, atoms: Any) -> None:
        """Add columns; their sizes come with the next answer."""
        self.n_columns += atoms.shape[0]
        self._unread.append(
            self._crew.want(self._there, "append", atoms, join=_join_sizes, finish=self._note_sizes)
        )

    def _note_sizes(self, sizes: Array) -> None:
        norms = np.sqrt(sizes[0] / self._total_weight)
        kinds = {"max": sizes[1], "norm": norms, "none": np.ones_like(norms)}
        size = kinds[self._scaling]
        factors = 1.0 / np.where(size > 0.0, size, 1.0)
        self._factors = np.concatenate([self._factors, factors])
        self._norms = np.concatenate([self._norms, norms * factors])

    def drop(self, position: int) -> None:
        """Take a column out where the rows are."""
        self._read()
        self._crew.tell(self._there, "drop", position)
        self.n_columns -= 1
        self._factors = np.delete(self._factors, position)
        self._norms = np.delete(self._norms, position)

    def column(self, position: int) -> Any:
        """Return one column."""
        (column,) = self._crew.tell(self._there, "column", position, n_results=1)
        factor = float(self.factors[position])
        return column if factor == 1.0 else self.rows(partial(mul, factor), column)

    def matvec(self, coef: Array) -> Any:
        """Return A coef."""
        return self._crew.tell(self._there, "matvec", coef * self.factors, n_results=1)[0]

    def rmatvec(self, vector: Any, first: int = 0) -> Small:
        """Return A^T vector."""
        n = self.n_columns

        def scaled(sums: Array) -> Array:
            return sums * self._factors[first:n]

        return self._crew.want(self._there, "rmatvec", vector, first, join=add, finish=scaled)

    def gram(self, weights: Any) -> Small:
        """Return A^T diag(weights) A."""
        n = self.n_columns

        def scaled(sums: Array) -> Array:
            factors = self._factors[:n]
            return sums * (factors[:, None] * factors)

        return self._crew.want(self._there, "gram", weights, join=add, finish=scaled)

    def fetch(self, *values: Small) -> list[Any]:
        """Bring everything that waits in one round."""
        return self._crew.fetch(*values)

    def triangle(self, weights: Any, target: Any) -> Array:
        """Return the triangle of the machines' triangles."""
        answer = self._crew.want(self._there, "triangle", weights, target, join=_join_triangles)
        (R,) = self._crew.fetch(answer)
        return np.asarray(R * np.append(self.factors, 1.0))

    def rows(self, function: Callable[..., Any], *vectors: Any, n_results: int = 1) -> Any:
        """Map an elementwise function over m-vectors."""
        results = self._crew.tell(self._there, "rows", function, *vectors, n_results=n_results)
        return results if n_results > 1 else results[0]

    def total(self, function: Callable[..., Any], *vectors: Any) -> Small:
        """Sum an elementwise function of m-vectors."""
        return self._crew.want(self._there, "total", function, *vectors, join=add, finish=float)

    def least(self, vector: Any) -> Small:
        """Return the smallest entry."""
        return self._crew.want(self._there, "least", vector, join=min, finish=float)


def _join_sizes(first: Array, second: Array) -> Array:
    return np.stack([first[0] + second[0], np.maximum(first[1], second[1])])


def _join_triangles(first: Array, second: Array) -> Array:
    return np.asarray(np.linalg.qr(np.vstack([first, second]), mode="r"))
