"""Several families in one dictionary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.arrays import Array, host, is_sparse, is_tensor
from fcgboost.dictionaries.base import Dictionary, Sample
from fcgboost.parts import refuse

Positions = NDArray[np.intp]


class UnionDictionary(Dictionary):
    """Several families that take turns; a row is (number of the family, its row, zeros).

    If all families grow their atoms, each proposes one in every step and the best enters.

    Parameters
    ----------
    families : sequence of Dictionary
        The families, each with scaling="none".
    ranges : sequence of pairs of int, or None, default=None
        The range of inputs [first, stop) that each family sees; None means all inputs.
    """

    def __init__(
        self, families: Sequence[Dictionary], ranges: Sequence[Sequence[int]] | None = None
    ) -> None:
        self.families = families
        self.ranges = ranges

    def seen(self, number: int, n_features: int) -> slice:
        """Return the inputs that a family sees."""
        return slice(0, n_features) if self.ranges is None else slice(*self.ranges[number])

    def check_parameters(self) -> None:
        if not isinstance(self.families, Sequence) or not self.families:
            refuse(self, "families", "a list of at least one dictionary")
        for family in self.families:
            if not isinstance(family, Dictionary) or isinstance(family, UnionDictionary):
                raise ValueError(
                    "UnionDictionary: every family must be a dictionary such as ReluDictionary() "
                    f"and not a union, got {family!r}."
                )
            family.check_parameters()
            if family.corrects_leaves:
                raise ValueError(
                    f"UnionDictionary: families must have corrects_leaves=False, got {family!r}."
                )
            if family.scaling != "none":
                raise ValueError(
                    f"UnionDictionary: families must have scaling='none', got {family!r}."
                )
        if self.ranges is not None and not (
            isinstance(self.ranges, Sequence)
            and len(self.ranges) == len(self.families)
            and all(map(_is_range, self.ranges))
        ):
            refuse(self, "ranges", "None or one pair of whole numbers 0 <= a < b per family")

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        return all(family.takes_missing for family in self.families)

    def categories(self, n_features: int) -> NDArray[np.bool_]:
        found = np.zeros(n_features, dtype=bool)
        for number, family in enumerate(self.families):
            own = self.seen(number, n_features)
            found[own] |= family.categories(own.stop - own.start)
        return found

    def check_rows(self, X: Any) -> None:
        for number, family in enumerate(self.families):
            family.check_rows(X[:, self.seen(number, X.shape[1])])

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        """Propose atoms of the first family; the others propose in their turns."""
        own = sample.of_columns(self.seen(0, sample.n_features))
        return wrapped(0, self.families[0].candidates(own, n, key))

    def evaluate(self, X: Any, atoms: Any, scale: Array) -> Array:
        numbers = set(atoms[:, 0].tolist())
        if len(numbers) == 1:
            # The usual case: one atom.
            (number,) = map(int, numbers)
            family, own = self.families[number], self.seen(number, X.shape[1])
            rows = atoms[:, 1 : 1 + family.n_parameters(own.stop - own.start)]
            return family.evaluate(_columns(X, own), rows, scale[own])
        columns = (
            (at, self.families[i].evaluate(_columns(X, own), rows, scale[own]))
            for i, at, rows, own in self.members(atoms, X.shape[1])
        )
        return _arranged(columns, (X.shape[0], atoms.shape[0]))

    def prepared(self, atoms: Any, scale: Array) -> Callable[[Any], Array]:
        members, n_atoms = self.members(atoms, len(scale)), atoms.shape[0]
        functions = [
            (at, own, self.families[i].prepared(rows, scale[own])) for i, at, rows, own in members
        ]

        def values(X: Any) -> Array:
            columns = ((at, function(_columns(X, own))) for at, own, function in functions)
            return _arranged(columns, (X.shape[0], n_atoms))

        return values

    def members(self, atoms: Any, n_features: int) -> Iterator[tuple[int, Positions, Any, slice]]:
        """Yield the number, positions, rows and inputs of each family that has atoms."""
        numbers = host(atoms[:, 0])
        for number, family in enumerate(self.families):
            positions = np.flatnonzero(numbers == number)
            if len(positions):
                own = atoms if len(positions) == len(numbers) else atoms[positions]
                seen = self.seen(number, n_features)
                width = family.n_parameters(seen.stop - seen.start)
                yield number, positions, family.trimmed(own[:, 1 : 1 + width]), seen


def _is_range(pair: Any) -> bool:
    is_pair = isinstance(pair, Sequence) and len(pair) == 2
    return is_pair and all(isinstance(end, Integral) for end in pair) and 0 <= pair[0] < pair[1]


def _columns(X: Any, own: slice) -> Any:
    return X if own.stop - own.start == X.shape[1] else X[:, own]


def _arranged(columns: Iterable[tuple[Positions, Any]], shape: tuple[int, int]) -> Array:
    """Arrange the columns of the families by their positions."""
    values: Any = None
    for positions, own in columns:
        if len(positions) == shape[1]:
            return own  # type: ignore[no-any-return]
        if values is None:
            values = own.new_zeros(shape) if is_tensor(own) else np.zeros(shape)
        values[:, positions] = own
    return np.zeros(shape) if values is None else values


def wrapped(number: int, rows: Any) -> Array:
    """Return rows of a union, given rows of one of its families."""
    wrapped = np.empty((rows.shape[0], 1 + rows.shape[1]))
    wrapped[:, 0], wrapped[:, 1:] = number, host(rows)
    return wrapped


def stack_rows(rows: Sequence[Any]) -> Any:
    """Stack at least one array of rows, padding short ones with zeros."""
    if len(rows) == 1:
        return rows[0]
    if any(map(is_sparse, rows)):
        return sparse.vstack(rows, "csr")
    width = max(part.shape[1] for part in rows)
    stacked, first = np.zeros((sum(part.shape[0] for part in rows), width)), 0
    for part in rows:
        stacked[first : first + part.shape[0], : part.shape[1]] = part
        first += part.shape[0]
    return stacked
