"""The workers that hold the rows, some of which may be lost.

Sets of rows have a number, their *place*: 0 and 1 are the training and validation rows as loaded,
others are parts of these. A question to a place goes to each partition separately, and the answers
are added up in an order determined by the partitions' numbers.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, NamedTuple

from fcgboost.cluster.sums import Pieces

# Workers may be lost this many times in a row without an answer in between.
_LOSSES = 6

#: What remembered state belongs to: a place, or some columns there.
Owner = tuple[int, ...]


class WorkerLostError(RuntimeError):
    """A worker that held rows is lost."""


def gathered(answers: Iterable[Callable[[], Pieces]]) -> Pieces:
    """Collect all answers before raising any error, a lost worker first."""
    found, failures = list[Pieces](), list[Exception]()
    for answer in answers:
        try:
            found.append(answer())
        except Exception as error:
            failures.append(error)
    for failure in sorted(failures, key=lambda f: not isinstance(f, WorkerLostError)):
        raise failure
    return found[0].with_others(found[1:])


class Workers(ABC):
    """The workers that hold the rows; others replace those that are lost."""

    def __init__(self) -> None:
        self.n_rounds = 0
        #: Numbers for new places.
        self.places = count(2)
        # What shards must remember: the owner, the call, and the answer if it must not change.
        self._log: list[tuple[Owner, tuple[Any, ...], Any]] = []
        self._is_connected = False

    @abstractmethod
    def connect(self) -> None:
        """Load the rows and create a shard on each worker."""

    @abstractmethod
    def close(self) -> None:
        """Free the rows on the workers."""

    @abstractmethod
    def ask_all(self, method: str, *args: Any) -> Pieces:
        """Call a method of each shard; return all pieces, or raise a WorkerLostError."""

    def call(self, method: str, *args: Any) -> Any:
        """Ask all shards; if one is lost, recreate all and repeat what they must remember."""
        for _ in range(_LOSSES):
            try:
                if not self._is_connected:
                    self.connect()
                    self._repeat()
                    self._is_connected = True
                return self.ask_all(method, *args).total
            except WorkerLostError as error:
                last, self._is_connected = error, False
                self.close()
                message = f"{error}: rows are loaded again, and the fit continues."
                warnings.warn(message, RuntimeWarning, stacklevel=2)
        raise RuntimeError(
            f"The Dask cluster lost workers {_LOSSES} times in a row: {last}. Check whether they "
            "run out of memory."
        ) from last

    def _repeat(self) -> None:
        for _, call, answer in self._log:
            again = self.ask_all(*call).total
            if answer is not None and again != answer:
                raise RuntimeError(
                    "The partitions had other rows when they were loaded again, but must be the "
                    "same every time: set seeds, do not change files, or persist the collection."
                )

    def round(self, method: str, *args: Any, owner: Owner | None = None) -> Any:
        """Call a method of each shard; return the sum of the partitions' answers.

        Calls with an owner are repeated for shards that replace lost ones.
        """
        self.n_rounds += 1
        total = self.call(method, *args)
        if owner is not None:
            self.remember(owner, (method, *args), total)
        return total

    def remember(self, owner: Owner, call: tuple[Any, ...], answer: Any = None) -> None:
        """Repeat a call for shards that replace lost ones."""
        self._log.append((owner, call, answer))

    def drop(self, owner: Owner) -> None:
        """Stop repeating the calls of an owner."""
        self._log = [told for told in self._log if told[0][: len(owner)] != owner]

    def forget(self, places: Sequence[int]) -> None:
        """Free places from which no other one was made."""
        self.round("forget", places)
        for place in places:
            self.drop((place,))


class Rows(NamedTuple):
    """The rows of one place, on all workers."""

    workers: Workers
    place: int
    n_rows: int = 0

    def ask(self, method: str, *args: Any, lasts: bool = False) -> Any:
        """Ask all partitions; the place owns a call that `lasts`."""
        owner = (self.place,) if lasts else None
        return self.workers.round("ask", self.place, method, *args, owner=owner)
