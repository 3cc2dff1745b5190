"""Several families in one dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral
from typing import NamedTuple

import numpy as np

from fcgboost.arrays import Array, Codes, Flags, Matrix, is_tensor, to_numpy
from fcgboost.dictionaries.base import Dictionary, Sample, ValuesOf
from fcgboost.parts import refuse


class FamilyAtoms(NamedTuple):
    """The atoms of one family: their positions, their rows, and the inputs they see."""

    family: Dictionary
    places: Codes
    rows: Matrix
    inputs: slice

    def columns_of(self, X: Matrix) -> Matrix:
        """Return the inputs that the family sees."""
        n_seen = self.inputs.stop - self.inputs.start
        return X if n_seen == X.shape[1] else X[:, self.inputs]


class UnionDictionary(Dictionary):
    """Several families that take turns; a row is (number of the family, its row, zeros).

    If all families grow their atoms, each proposes one in every step and the best enters.

    Parameters
    ----------
    families : sequence of Dictionary
        The families; none is itself a union.
    """

    #: A parameter, in place of the property of other dictionaries.
    families: Sequence[Dictionary] = ()

    def __init__(self, families: Sequence[Dictionary]) -> None:
        self.families = families

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

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        return all(family.takes_missing for family in self.families)

    def categories(self, n_features: int) -> Flags:
        is_category = np.zeros(n_features, dtype=bool)
        for number, family in enumerate(self.families):
            seen = self.seen(number, n_features)
            is_category[seen] |= family.categories(seen.stop - seen.start)
        return is_category

    def check_rows(self, X: Matrix) -> None:
        for number, family in enumerate(self.families):
            family.check_rows(X[:, self.seen(number, X.shape[1])])

    def candidates(self, sample: Sample, n: int, key: int) -> Matrix:
        """Propose atoms of the first family; the others propose in their turns."""
        seen = sample.of_columns(self.seen(0, sample.n_features))
        return wrapped(0, self.families[0].candidates(seen, n, key))

    def evaluate(self, X: Matrix, atoms: Matrix, scale: Array) -> Array:
        columns = []
        for part in self.members(atoms, X.shape[1]):
            units = scale[part.inputs]
            values = part.family.evaluate(part.columns_of(X), part.rows, units)
            columns.append((part.places, values))
        return _arranged(columns, (X.shape[0], atoms.shape[0]))

    def prepared(self, atoms: Matrix, scale: Array) -> ValuesOf:
        parts = []
        for part in self.members(atoms, len(scale)):
            function = part.family.prepared(part.rows, scale[part.inputs])
            parts.append((part, function))
        n_atoms = atoms.shape[0]

        def values(X: Matrix) -> Array:
            columns = ((part.places, function(part.columns_of(X))) for part, function in parts)
            return _arranged(columns, (X.shape[0], n_atoms))

        return values

    def members(self, atoms: Matrix, n_features: int) -> Iterator[FamilyAtoms]:
        """Yield the atoms of each family that has some."""
        numbers = to_numpy(atoms[:, 0])
        if len(numbers) and (numbers == numbers[0]).all():
            # What one family proposes in its turn: all are its, and nothing is copied.
            yield self._member(int(numbers[0]), np.arange(len(numbers)), atoms, n_features)
            return
        for number in range(len(self.families)):
            positions = np.flatnonzero(numbers == number)
            if len(positions):
                yield self._member(number, positions, atoms[positions], n_features)

    def _member(self, number: int, positions: Codes, atoms: Matrix, n_features: int) -> FamilyAtoms:
        """Return the atoms of one family, given their rows in the union."""
        family = self.families[number]
        seen = self.seen(number, n_features)
        width = family.n_parameters(seen.stop - seen.start)
        return FamilyAtoms(
            family,
            positions,
            family.trimmed(atoms[:, 1 : 1 + width]),
            seen,
        )


class TableUnion(UnionDictionary):
    """A union over the inputs of a table, of which each family sees some.

    Fits make it from a `UnionDictionary` once they know how the columns of a table are encoded.

    Parameters
    ----------
    families : sequence of Dictionary
    ranges : sequence of pairs of int
        The range of inputs [first, stop) that each family sees.
    """

    def __init__(self, families: Sequence[Dictionary], ranges: Sequence[Sequence[int]]) -> None:
        self.families = families
        self.ranges = ranges

    def seen(self, number: int, n_features: int) -> slice:
        return slice(*self.ranges[number])

    def check_parameters(self) -> None:
        super().check_parameters()
        if not (
            isinstance(self.ranges, Sequence)
            and len(self.ranges) == len(self.families)
            and all(map(_is_range, self.ranges))
        ):
            refuse(self, "ranges", "one pair of whole numbers 0 <= a < b per family")


def _is_range(pair: Sequence[int]) -> bool:
    if not isinstance(pair, Sequence) or len(pair) != 2:
        return False
    if not all(isinstance(end, Integral) for end in pair):
        return False
    return 0 <= pair[0] < pair[1]


def _arranged(columns: Iterable[tuple[Codes, Matrix]], shape: tuple[int, int]) -> Array:
    """Arrange the columns of the families by their positions."""
    values: Matrix | None = None
    for positions, part in columns:
        if len(positions) == shape[1]:
            return part
        if values is None:
            values = part.new_zeros(shape) if is_tensor(part) else np.zeros(shape)
        values[:, positions] = part
    return np.zeros(shape) if values is None else values


def wrapped(number: int, rows: Matrix) -> Array:
    """Return rows of a union, given rows of one of its families."""
    wrapped = np.empty((rows.shape[0], 1 + rows.shape[1]))
    wrapped[:, 1:] = to_numpy(rows)
    wrapped[:, 0] = number
    return wrapped
