"""The workers that have the rows: what they are asked, what they are told, and that some are lost.

Rows are known by the number of their *place*: 0 and 1 are those that were loaded, for training and
for validation, and others are parts of these. A question to a place is put to each partition on its
own, and the answers are added up on their way, in an order that the partitions' numbers decide.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, NamedTuple

from fcgboost.cluster.sums import Pieces

# So many times in a row workers may be lost without an answer in between.
_LOSSES = 6

#: Whose memory something is: that of a place, or of some columns there.
Owner = tuple[int, ...]


class WorkerLostError(RuntimeError):
    """A worker that held rows is gone, and with it what it knew."""


def gathered(answers: Iterable[Callable[[], Pieces]]) -> Pieces:
    """Return the pieces of all; all are heard before an error is told, and first of the lost."""
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
    """The workers that have the rows; where some are lost, others take their places."""

    def __init__(self) -> None:
        #: How often they were asked.
        self.n_rounds = 0
        #: The numbers of places that are not there yet.
        self.places = count(2)
        # What shards remember, for whom, and their answer where it must be the same again.
        self._log: list[tuple[Owner, tuple[Any, ...], Any]] = []
        self._is_connected = False

    @abstractmethod
    def connect(self) -> None:
        """Load the rows, and make a shard on every worker."""

    @abstractmethod
    def close(self) -> None:
        """Let the workers forget the rows."""

    @abstractmethod
    def ask_all(self, method: str, *args: Any) -> Pieces:
        """Call a method of every shard; return the pieces of all, or raise a WorkerLostError."""

    def call(self, method: str, *args: Any) -> Any:
        """Ask all shards; if one is lost, make all of them again and repeat what they were told."""
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
                message = f"{error}: rows are loaded again, and the fit goes on."
                warnings.warn(message, RuntimeWarning, stacklevel=2)
        raise RuntimeError(
            f"The Dask cluster lost workers {_LOSSES} times in a row: {last}. Do they run out of "
            "memory?"
        ) from last

    def _repeat(self) -> None:
        for _, call, answer in self._log:
            again = self.ask_all(*call).total
            if answer is not None and again != answer:
                raise RuntimeError(
                    "The partitions gave other rows when they were loaded again. They must be the "
                    "same every time: set seeds, leave files alone, or persist the collection."
                )

    def round(self, method: str, *args: Any, owner: Owner | None = None) -> Any:
        """Call a method of every worker's shard; return the sum of the partitions' answers.

        What has an owner is said again to shards that take the place of others.
        """
        self.n_rounds += 1
        total = self.call(method, *args)
        if owner is not None:
            self.remember(owner, (method, *args), total)
        return total

    def remember(self, owner: Owner, call: tuple[Any, ...], answer: Any = None) -> None:
        """Keep in mind what to say again."""
        self._log.append((owner, call, answer))

    def drop(self, owner: Owner) -> None:
        """Say again nothing of what belongs to an owner."""
        self._log = [told for told in self._log if told[0][: len(owner)] != owner]

    def forget(self, places: Sequence[int]) -> None:
        """Let the workers forget places from which no other one was made."""
        self.round("forget", places)
        for place in places:
            self.drop((place,))


class Rows(NamedTuple):
    """The rows of one place, on all workers."""

    workers: Workers
    place: int
    n_rows: int = 0

    def ask(self, method: str, *args: Any, lasts: bool = False) -> Any:
        """Ask all partitions; what lasts belongs to the place."""
        owner = (self.place,) if lasts else None
        return self.workers.round("ask", self.place, method, *args, owner=owner)
