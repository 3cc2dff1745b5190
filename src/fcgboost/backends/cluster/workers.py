"""The workers that hold the rows, some of which may be lost.

A set of rows has a number, its `dataset_id`: 0 and 1 are the training and validation rows as
loaded, others are parts of these. A question about a set goes to each partition separately, and the
answers are added up in an order determined by the partitions' numbers.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, NamedTuple

from fcgboost.backends.cluster.sums import Pieces

# Workers may be lost this many times in a row without an answer in between.
_LOSSES = 6

#: What a remembered call belongs to: a set of rows, or some columns over it.
Owner = tuple[int, ...]
#: A method and its arguments.
Call = tuple[Any, ...]


class _Remembered(NamedTuple):
    """A call that shards must remember, and its answer if that must not change."""

    owner: Owner
    call: Call
    answer: object


class WorkerLostError(RuntimeError):
    """A worker that held rows is lost."""


def gathered(answers: Iterable[Callable[[], Pieces]]) -> Pieces:
    """Collect all answers before raising any error, a lost worker first."""
    pieces = list[Pieces]()
    failures = list[Exception]()
    for answer in answers:
        try:
            pieces.append(answer())
        except Exception as error:
            failures.append(error)
    for failure in sorted(failures, key=lambda f: not isinstance(f, WorkerLostError)):
        raise failure
    return pieces[0].with_others(pieces[1:])


class Workers(ABC):
    """The workers that hold the rows; others replace those that are lost."""

    def __init__(self) -> None:
        self.n_rounds = 0
        #: The numbers of new sets of rows.
        self.dataset_ids = count(2)
        # What shards must remember.
        self._log: list[_Remembered] = []
        self._is_connected = False

    @abstractmethod
    def connect(self) -> None:
        """Load the rows and create a shard on each worker."""

    @abstractmethod
    def close(self) -> None:
        """Free the rows on the workers."""

    @abstractmethod
    def ask_all(self, method: str, *args: object) -> Pieces:
        """Call a method of each shard; return all pieces, or raise a WorkerLostError."""

    def round(self, method: str, *args: object, owner: Owner | None = None) -> Any:
        """Call a method of each shard; return the sum of the partitions' answers.

        If a shard is lost, all are made again and repeat the calls that have an owner.
        """
        self.n_rounds += 1
        for _ in range(_LOSSES):
            try:
                if not self._is_connected:
                    self.connect()
                    self._repeat()
                    self._is_connected = True
                total = self.ask_all(method, *args).total
                break
            except WorkerLostError as error:
                last = error
                self._is_connected = False
                self.close()
                message = f"{error}: rows are loaded again, and the fit continues."
                warnings.warn(message, RuntimeWarning, stacklevel=2)
        else:
            raise RuntimeError(
                f"The Dask cluster lost workers {_LOSSES} times in a row: {last}. Check whether "
                "they run out of memory."
            ) from last
        if owner is not None:
            self.remember(owner, (method, *args), total)
        return total

    def _repeat(self) -> None:
        for record in self._log:
            again = self.ask_all(*record.call).total
            if record.answer is not None and again != record.answer:
                raise RuntimeError(
                    "The partitions had other rows when they were loaded again, but must be the "
                    "same every time: set seeds, do not change files, or persist the collection."
                )

    def remember(self, owner: Owner, call: Call, answer: object = None) -> None:
        """Repeat a call for shards that replace lost ones."""
        self._log.append(_Remembered(owner, call, answer))

    def drop(self, owner: Owner) -> None:
        """Stop repeating the calls of an owner."""
        self._log = [record for record in self._log if record.owner[: len(owner)] != owner]

    def clear_cache(self, dataset_ids: Sequence[int]) -> None:
        """Free sets of rows from which no other one was made."""
        self.round("clear_cache", dataset_ids)
        for dataset_id in dataset_ids:
            self.drop((dataset_id,))


class RemoteRows(NamedTuple):
    """A set of rows, on all workers."""

    workers: Workers
    dataset_id: int
    n_rows: int = 0

    def ask(self, method: str, *args: object, lasts: bool = False) -> Any:
        """Ask all partitions; a call that `lasts` is repeated after a loss."""
        owner = (self.dataset_id,) if lasts else None
        return self.workers.round(
            "ask",
            self.dataset_id,
            method,
            *args,
            owner=owner,
        )
