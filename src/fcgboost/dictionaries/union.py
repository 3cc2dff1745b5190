"""Several families in one dictionary: a row says which family it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.arrays import Array, host, is_sparse, is_tensor
from fcgboost.dictionaries.base import Dictionary, Sample
from fcgboost.parts import refuse

Positions = NDArray[np.intp]


class UnionDictionary(Dictionary):
    """Atoms of several families, which take turns; a row is (number of the family, its row, zeros).

    Parameters
    ----------
    families : sequence of Dictionary
        Their columns are taken as they are: each must have scaling="none".
    """

    def __init__(self, families: Sequence[Dictionary]) -> None:
        self.families = families

    def check_parameters(self) -> None:
        if not isinstance(self.families, Sequence) or not self.families:
            refuse(self, "families", "a list of at least one dictionary")
        for family in self.families:
            if not isinstance(family, Dictionary) or isinstance(family, UnionDictionary):
                raise ValueError(
                    "UnionDictionary: every family must be a dictionary such as ReluDictionary(), "
                    f"and none a union, got {family!r}."
                )
            family.check_parameters()
            if family.corrects_leaves:
                raise ValueError(f"UnionDictionary: no family corrects leaves, got {family!r}.")
            if family.scaling != "none":
                raise ValueError(f"UnionDictionary: families have scaling='none', got {family!r}.")

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        """Whether all families take NaN."""
        return all(family.takes_missing for family in self.families)

    def categories(self, n_features: int) -> NDArray[np.bool_]:
        found = [family.categories(n_features) for family in self.families]
        return np.asarray(np.any(found, axis=0))

    def check_rows(self, X: Any) -> None:
        for family in self.families:
            family.check_rows(X)

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        """Propose atoms of the first family; the others propose their own in their turns."""
        return wrapped(0, self.families[0].candidates(sample, n, key))

    def evaluate(self, X: Any, atoms: Any, scale: Array) -> Array:
        numbers = set(atoms[:, 0].tolist())
        if len(numbers) == 1:
            # Mostly there is one atom, and its family the only one that need be asked.
            family = self.families[int(*numbers)]
            return family.evaluate(X, atoms[:, 1 : 1 + family.n_parameters(X.shape[1])], scale)
        members = self.members(atoms, X.shape[1])
        columns = ((at, self.families[i].evaluate(X, rows, scale)) for i, at, rows in members)
        return _arranged(columns, (X.shape[0], atoms.shape[0]))

    def prepared(self, atoms: Any, scale: Array) -> Callable[[Any], Array]:
        """Sort the atoms by family, once."""
        members, n_atoms = self.members(atoms, len(scale)), atoms.shape[0]
        functions = [(at, self.families[i].prepared(rows, scale)) for i, at, rows in members]

        def values(X: Any) -> Array:
            columns = ((at, function(X)) for at, function in functions)
            return _arranged(columns, (X.shape[0], n_atoms))

        return values

    def members(self, atoms: Any, n_features: int) -> Iterator[tuple[int, Positions, Any]]:
        """Yield the number of every family that has atoms, their positions and their own rows."""
        numbers = host(atoms[:, 0])
        for number, family in enumerate(self.families):
            positions = np.flatnonzero(numbers == number)
            if len(positions):
                own = atoms if len(positions) == len(numbers) else atoms[positions]
                width = family.n_parameters(n_features)
                yield number, positions, family.trimmed(own[:, 1 : 1 + width])


def _arranged(columns: Iterable[tuple[Positions, Any]], shape: tuple[int, int]) -> Array:
    """Put the columns of the families where they belong."""
    values: Any = None
    for positions, own in columns:
        if len(positions) == shape[1]:
            return own  # type: ignore[no-any-return]
        if values is None:
            values = own.new_zeros(shape) if is_tensor(own) else np.zeros(shape)
        values[:, positions] = own
    return np.zeros(shape) if values is None else values


def wrapped(number: int, rows: Any) -> Array:
    """Return rows of a union from rows of its family of some number."""
    wrapped = np.empty((rows.shape[0], 1 + rows.shape[1]))
    wrapped[:, 0], wrapped[:, 1:] = number, host(rows)
    return wrapped


def stack_rows(rows: Sequence[Any]) -> Any:
    """Put at least one array of rows above each other, short ones filled up with zeros."""
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
