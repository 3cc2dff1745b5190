"""Rows on a machine that holds a part of all rows: in memory, or loaded when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost import hashing
from fcgboost.backends.base import Array
from fcgboost.backends.pieces import n_bytes_of
from fcgboost.clipping import Limits
from fcgboost.dictionaries import Dictionary
from fcgboost.model import Model
from fcgboost.sums import ExactSum, totals_of


@dataclass(frozen=True)
class Part:
    """Rows with labels and weights, as they come from a source.

    Attributes
    ----------
    X : ndarray or CSR matrix
    y : ndarray of labels, or of codes
    weights : ndarray
    """

    X: Any
    y: NDArray[Any]
    weights: Array

    def take(self, rows: NDArray[Any]) -> Part:
        """Return some of the rows."""
        return Part(self.X[rows], self.y[rows], self.weights[rows])


#: Gives a part, the same one every time.
Source = Callable[[], Part]


@dataclass(frozen=True)
class Survey:
    """What is known of rows at first sight."""

    n_rows: int
    n_features: int
    labels: NDArray[Any]
    is_sparse: bool
    heaviest: float

    def __add__(self, other: Survey) -> Survey:
        are_numbers = [some.labels.dtype.kind in "biuf" for some in (self, other)]
        if are_numbers[0] != are_numbers[1]:
            some = [survey.labels.tolist()[0] for survey in (self, other)]
            raise ValueError(
                f"Labels are numbers in some partitions and not in others ({some[0]!r} and "
                f"{some[1]!r}): make them all of one kind."
            )
        if self.is_sparse != other.is_sparse:
            raise ValueError(
                "Some partitions of X are sparse and some are not: make them all alike, for "
                "example by X.map_blocks(scipy.sparse.csr_array)."
            )
        labels = np.union1d(self.labels, other.labels)
        heaviest = max(self.heaviest, other.heaviest)
        n_rows = self.n_rows + other.n_rows
        return Survey(n_rows, self.n_features, labels, self.is_sparse, heaviest)


class Rows:
    """Rows that are in memory, or can be loaded; their labels and weights stay.

    Parameters
    ----------
    source : callable
    can_load : bool
        Whether the source may be asked again; else the rows stay in memory.
    """

    def __init__(self, source: Source, can_load: bool) -> None:
        self._source: Source | None = source if can_load else None
        part = source()
        #: The places of our rows in the part.
        self._places: NDArray[np.intp] | None = None
        self._limits: Limits | None = None
        self.X: Any = part.X
        self.y, self.weights = part.y, part.weights
        self._n_loaded, self._ends = part.X.shape[0], _ends_of(part.X)
        self._is_sparse, self._n_features = sparse.issparse(part.X), int(part.X.shape[1])
        if not (part.weights > 0.0).all():
            self.keep(part.weights > 0.0)

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Leave all other rows out."""
        places = np.flatnonzero(mask)
        self._places = places if self._places is None else self._places[places]
        self.X = None if self.X is None else self.X[places]
        self.y, self.weights = self.y[places], self.weights[places]

    def copy(self) -> Rows:
        """Return the same rows again, for others to be left out."""
        twin = object.__new__(Rows)
        vars(twin).update(vars(self))
        return twin

    def load(self) -> Any:
        """Return X."""
        if self.X is None:
            assert self._source is not None
            X = self._source().X
            if X.shape[0] != self._n_loaded or self._ends != _ends_of(X):
                raise RuntimeError(
                    "A partition gave other rows when it was loaded again. Partitions must be the "
                    "same every time: set seeds, leave files alone, or persist the collection."
                )
            X = X if self._places is None else X[self._places]
            self.X = X if self._limits is None else self._limits.apply(X)
        return self.X

    def clip(self, limits: Limits) -> bool:
        """Keep the rows within limits from now on; say whether they change."""
        before = self.load()
        self._limits, self.X = limits, limits.apply(before)
        return self.X is not before

    def drop(self) -> bool:
        """Return the memory back, if the rows can be loaded again."""
        if self._source is not None:
            self.X = None
        return self._source is not None

    def survey(self) -> Survey:
        """Look at the labels and weights."""
        heaviest = float(self.weights.max())
        return Survey(self.n_rows, self._n_features, np.unique(self.y), self._is_sparse, heaviest)

    def digest(self, words: hashing.Words) -> hashing.Digest:
        """Return words for all rows from those for each; y holds codes by now."""
        return hashing.Digest.of(words, self.y, self.weights)

    def encode(self, codes: dict[Any, int]) -> None:
        """Replace labels by codes."""
        labels, places = np.unique(self.y, return_inverse=True)
        self.y = np.array([codes[label] for label in labels.tolist()], dtype=np.intp)[places]

    @property
    def can_load(self) -> bool:
        """Whether the rows may be dropped."""
        return self._source is not None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.weights)


def _ends_of(X: Any) -> tuple[int, ...]:
    """Return the fingerprints of the first and the last row: what is random differs there, too."""
    n_rows = X.shape[0]
    return tuple(hashing.fingerprint(X[[0, n_rows - 1]]).tolist()) if n_rows else ()


class HeldOut:
    """Rows that judge a path: how many of them are classified correctly after a step."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._atoms: list[Any] = []
        self._values: Array | None = None

    def lay(self, dictionary: Dictionary, scale: Array) -> None:
        """Take a dictionary, and forget the last one's atoms."""
        self._dictionary, self._scale = dictionary, scale
        self._atoms, self._values = [], None

    def hits(
        self, new_atoms: Sequence[Any], coef: Array, intercept: Array, heaviest: float
    ) -> ExactSum:
        """Return the weights of the rows classified incorrectly and correctly."""
        self._atoms.extend(new_atoms)
        if self._values is None:
            self._values = np.zeros((self.rows.n_rows, 0))
        missing = self._atoms[self._values.shape[1] :]
        self._values = np.hstack([self._values, *(self._column(atom) for atom in missing)])
        decision = self._values @ coef.T + intercept
        codes = (decision[:, 0] > 0.0) * 1 if decision.shape[1] == 1 else decision.argmax(axis=1)
        return totals_of(self.rows.weights, codes == self.rows.y, 2, heaviest)

    def _column(self, atom: Any) -> Array:
        none = np.zeros(1)
        # A model of the one atom takes the rows in blocks.
        places = np.zeros(1, dtype=np.intp)
        model = Model(self._dictionary, atom, none[None, :], none, self._scale, places)
        return np.asarray(model.columns(self.rows.load()))

    @property
    def n_bytes(self) -> int:
        """The memory that can be given back."""
        X = 0 if self.rows.X is None else n_bytes_of(self.rows.X)
        return X + (0 if self._values is None else self._values.nbytes)

    def sleep(self) -> None:
        """Drop rows and values, if the rows can be loaded again."""
        if self.rows.drop():
            self._values = None


def joined(parts: Sequence[Part]) -> Part:
    """Put parts one after the other."""
    if len(parts) == 1:
        return parts[0]
    is_sparse = any(sparse.issparse(part.X) for part in parts)
    inputs = [part.X for part in parts]
    X = sparse.vstack(inputs, "csr") if is_sparse else np.concatenate(inputs)
    y, weights = (np.concatenate([getattr(p, name) for p in parts]) for name in ("y", "weights"))
    return Part(X, y, weights)
