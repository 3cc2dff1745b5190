"""Sums over partitions in a fixed order: a binary tree over their numbers.

A run of partitions is added up as soon as both halves are known, so that a worker with neighbouring
partitions sends few pieces, and no sum depends on which worker has which partition. Workers form a
tree too: each asks those below it and combines their pieces with its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

#: Workers asked by one. A hop takes as long as about ten messages, so 256 workers in two hops are
#: close to optimal.
FAN_OUT = 16

_Some = TypeVar("_Some")
_Runs = Mapping[tuple[int, int], Any]


def added(left: Any, right: Any) -> Any:
    """Add two answers: tuples item by item, lists by concatenation; None is neutral."""
    if left is None or right is None:
        return right if left is None else left
    if isinstance(left, tuple):
        return tuple(map(added, left, right))
    return left + right


@dataclass(frozen=True)
class Pieces:
    """Sums over runs [first, last) of n_parts partitions."""

    n_parts: int
    runs: _Runs

    @classmethod
    def of(cls, n_parts: int, answers: Mapping[int, object]) -> Pieces:
        """Add up the answers of neighbouring partitions."""
        runs = {(i, i + 1): answer for i, answer in answers.items()}
        return cls(n_parts, runs).with_others(())

    def with_others(self, others: Iterable[Pieces]) -> Pieces:
        """Return all pieces, adding up neighbours."""
        runs = {run: piece for pieces in (self, *others) for run, piece in pieces.runs.items()}
        return Pieces(self.n_parts, _joined(runs, 0, self.n_parts))

    @property
    def total(self) -> Any:
        """The sum over all partitions."""
        (total,) = self.runs.values()
        return total


def _joined(runs: _Runs, first: int, last: int) -> _Runs:
    """Add up the halves of a run, recursively."""
    if len(runs) < 2:
        return runs
    middle = (first + last) // 2
    left = _joined({run: runs[run] for run in runs if run[1] <= middle}, first, middle)
    right = _joined({run: runs[run] for run in runs if run[0] >= middle}, middle, last)
    if left.keys() == {(first, middle)} and right.keys() == {(middle, last)}:
        return {(first, last): added(left[first, middle], right[middle, last])}
    return {**left, **right}


def branches(below: Sequence[_Some]) -> list[Sequence[_Some]]:
    """Cut members into branches; the first of each is asked, and asks the others."""
    n = min(FAN_OUT, len(below))
    return [below[len(below) * i // n : len(below) * (i + 1) // n] for i in range(n)]


def aggregation_tree(members: Sequence[_Some]) -> dict[_Some, list[_Some]]:
    """Return the members that each one asks: only later ones, so that there is no deadlock."""
    asked: dict[_Some, list[_Some]] = {}
    for head, *others in branches(members):
        asked |= {head: [branch[0] for branch in branches(others)], **aggregation_tree(others)}
    return asked
