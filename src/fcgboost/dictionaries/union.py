"""Several families in one dictionary: a row says which family it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost import hashing
from fcgboost.arrays import is_tensor
from fcgboost.dictionaries.base import Array, Dictionary, GrownDictionary, Sample
from fcgboost.parts import check_choice

Places = NDArray[np.intp]


class UnionDictionary(Dictionary):
    """Atoms of several families; a row is (number of the family, its row, zeros).

    Parameters
    ----------
    families : sequence of Dictionary
        Their columns are taken as they are: each must have scaling="none".
    mode : {"turns", "compete"}, default="turns"
        "turns": step k looks at family k modulo their number, as long as a step. "compete": all
        families propose in every step, and the largest gain wins, measured for columns of their
        own size, ridge included. Atoms that were searched for on the residual gain more there
        than they are worth on new data, so families that search win too often: turns are fairer.
    """

    def __init__(
        self, families: Sequence[Dictionary], mode: Literal["turns", "compete"] = "turns"
    ) -> None:
        self.families = families
        self.mode = mode

    def check_parameters(self) -> None:
        """Check the families, and the mode."""
        check_choice(self, "mode", ("turns", "compete"))
        if not isinstance(self.families, Sequence) or not self.families:
            raise ValueError(
                "UnionDictionary: families must be a list of at least one dictionary, got "
                f"{self.families!r}."
            )
        for family in self.families:
            if not isinstance(family, Dictionary) or isinstance(family, UnionDictionary):
                raise ValueError(
                    "UnionDictionary: every family must be a dictionary such as ReluDictionary(), "
                    f"and none a union, got {family!r}."
                )
            family.check_parameters()
            if family.scaling != "none":
                raise ValueError(f"UnionDictionary: families have scaling='none', got {family!r}.")

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        """Whether all families take NaN."""
        return all(family.takes_missing for family in self.families)

    def categories(self, n_features: int) -> NDArray[np.bool_]:
        """Tell which features are codes of categories to some family."""
        found = [family.categories(n_features) for family in self.families]
        return np.asarray(np.any(found, axis=0))

    def check_rows(self, X: Any) -> None:
        """Let every family look."""
        for family in self.families:
            family.check_rows(X)

    def at_step(self, k: int) -> list[int]:
        """Return the numbers of the families that propose in step k = 1, 2, ..."""
        n = len(self.families)
        return [(k - 1) % n] if self.mode == "turns" else list(range(n))

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        """Let the families propose about as many atoms each; those that grow have none."""
        drawn = [
            (number, family)
            for number, family in enumerate(self.families)
            if not isinstance(family, GrownDictionary)
        ]
        shares = np.diff(np.linspace(0, n, len(drawn) + 1).round().astype(int))
        # A family whose atoms are rows would take all that it sees.
        parts = [
            wrapped(
                number,
                family.candidates(
                    replace(sample, rows=sample.rows[:share]), share, hashing.derive(key, number)
                ),
            )
            for (number, family), share in zip(drawn, shares.tolist(), strict=True)
            if share
        ]
        return stack_rows(parts) if parts else np.zeros((1, 1))

    def evaluate(self, X: Any, atoms: Any, scale: Array) -> Array:
        """Let every family evaluate its own."""
        parts = self._parts(atoms, X.shape[1], scale, False)
        values: Array = self._filled(X, atoms.shape[0], parts)
        return values

    def prepared(self, atoms: Any, scale: Array) -> Callable[[Any], Array]:
        """Sort the atoms by family, once."""
        parts = list(self._parts(atoms, len(scale), scale, True))
        return lambda X: self._filled(X, atoms.shape[0], parts)

    def members(self, atoms: Any, n_features: int) -> Iterator[tuple[int, Places, Any]]:
        """Yield the number of every family that has atoms, their places and their own rows."""
        numbers = atoms[:, 0]
        numbers = numbers.cpu().numpy() if is_tensor(numbers) else numbers
        # Mostly there is one atom, and its family the only one that need be asked.
        present = set(numbers.tolist())
        for number, family in enumerate(self.families):
            if number not in present:
                continue
            places = np.flatnonzero(numbers == number)
            own = atoms if len(places) == len(numbers) else atoms[places]
            width = family.n_parameters(n_features)
            yield number, places, family.trimmed(own[:, 1 : 1 + width])

    def _parts(
        self, atoms: Any, n_features: int, scale: Array, is_prepared: bool
    ) -> Iterator[tuple[Places, Callable[[Any], Any]]]:
        for number, places, rows in self.members(atoms, n_features):
            family = self.families[number]
            if is_prepared:
                yield places, family.prepared(rows, scale)
            else:
                yield places, _Evaluated(family, rows, scale)

    def _filled(self, X: Any, n_atoms: int, parts: Any) -> Any:
        """Put the families' columns where they belong."""
        values = None
        for places, function in parts:
            columns = function(X)
            if len(places) == n_atoms:
                return columns
            if values is None:
                shape = (X.shape[0], n_atoms)
                values = columns.new_zeros(shape) if is_tensor(columns) else np.zeros(shape)
            values[:, places] = columns
        return np.zeros((X.shape[0], n_atoms)) if values is None else values


class _Evaluated:
    """A family's rows as a function of X."""

    def __init__(self, family: Dictionary, rows: Any, scale: Array) -> None:
        self._family, self._rows, self._scale = family, rows, scale

    def __call__(self, X: Any) -> Array:
        return self._family.evaluate(X, self._rows, self._scale)


def wrapped(number: int, rows: Any) -> Array:
    """Return rows of a union from rows of its family of some number."""
    union = np.empty((rows.shape[0], 1 + rows.shape[1]))
    union[:, 0], union[:, 1:] = number, rows if isinstance(rows, np.ndarray) else rows.toarray()
    return union


def stack_rows(rows: Sequence[Any]) -> Any:
    """Put at least one array of rows above each other, short ones filled up with zeros."""
    if len(rows) == 1:
        return rows[0]
    if any(map(sparse.issparse, rows)):
        return sparse.vstack(rows, "csr")
    width = max(part.shape[1] for part in rows)
    stacked = np.zeros((sum(part.shape[0] for part in rows), width))
    first = 0
    for part in rows:
        stacked[first : first + part.shape[0], : part.shape[1]] = part
        first += part.shape[0]
    return stacked
