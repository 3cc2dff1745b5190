"""What a design on other machines says to its rows, and how their answers are put together.

The rows lie in *pieces*, some on every machine. What happens to them is written down as calls of
methods of objects that every piece has: its own columns, its own part of an m-vector. Calls wait
until an answer is wanted; then all of them travel as one program. Answers of pieces and machines
are joined two by two.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

#: Puts the answers of two pieces together; a function that can be pickled by its name.
Join = Callable[[Any, Any], Any]
#: The number of the piece itself among its objects.
PIECE = 0


@dataclass(frozen=True)
class Ref:
    """The number of an object that every piece has."""

    id: int


class Remote:
    """An object that every piece has, such as its part of an m-vector; forgotten when unused."""

    def __init__(self, id_: int, forgotten: list[int]) -> None:
        self.id = id_
        self._forgotten = forgotten

    def __del__(self) -> None:
        self._forgotten.append(self.id)

    def __reduce__(self) -> tuple[Any, ...]:
        return Ref, (self.id,)


@dataclass(frozen=True)
class Call:
    """A method of an object of every piece.

    Attributes
    ----------
    target : Remote or Ref
    method : str
    args : tuple
        May hold remote objects.
    outs : tuple of int
        The numbers that the results get.
    join : callable or None
        How answers are put together; None if nobody wants one.
    """

    target: Any
    method: str
    args: tuple[Any, ...]
    outs: tuple[int, ...] = ()
    join: Join | None = None


@dataclass(frozen=True)
class Program:
    """Calls in order, and the objects that are not needed after them."""

    calls: tuple[Call, ...]
    forgotten: tuple[int, ...] = ()


class Answer:
    """An answer that may not be there yet."""

    def __init__(self, finish: Callable[[Any], Any] | None = None) -> None:
        self._finish = finish
        self.is_here = False
        self._value: Any = None

    def take(self, value: Any) -> None:
        """Receive the joined answers."""
        self._value, self.is_here = value, True

    @property
    def value(self) -> Any:
        """What was asked for."""
        assert self.is_here, "an answer is read before it came"
        if self._finish is not None:
            self._value, self._finish = self._finish(self._value), None
        return self._value


class Crew(ABC):
    """The machines that hold the rows, and what they will be told next."""

    def __init__(self) -> None:
        #: How often all machines were asked.
        self.n_rounds = 0
        self._ids = itertools.count(PIECE + 1)
        self._queue: list[tuple[Call, Answer | None]] = []
        self._forgotten: list[int] = []

    @abstractmethod
    def call(self, method: str, *args: Any) -> list[Any]:
        """Call a method of the `Shard` of every machine; give what they answer but None."""

    def tell(self, target: Any, method: str, *args: Any, n_results: int = 0) -> tuple[Remote, ...]:
        """Say what is to be done with the next program; give what comes of it."""
        results = tuple(Remote(next(self._ids), self._forgotten) for _ in range(n_results))
        outs = tuple(result.id for result in results)
        self._queue.append((Call(target, method, args, outs), None))
        return results

    def want(
        self,
        target: Any,
        method: str,
        *args: Any,
        join: Join,
        finish: Callable[[Any], Any] | None = None,
    ) -> Answer:
        """Ask for something with the next program."""
        answer = Answer(finish)
        self._queue.append((Call(target, method, args, (), join), answer))
        return answer

    def ask(self, method: str, *args: Any, join: Join) -> Any:
        """Ask the pieces for something now."""
        return self.fetch(self.want(Ref(PIECE), method, *args, join=join))[0]

    def fetch(self, *answers: Answer) -> list[Any]:
        """Return answers, after a round if one of them is not there yet."""
        if not all(answer.is_here for answer in answers):
            self._flush()
        return [answer.value for answer in answers]

    def _flush(self) -> None:
        queue, self._queue = self._queue, []
        # Others may be forgotten meanwhile: those wait for the next program.
        forgotten = tuple(self._forgotten)
        del self._forgotten[: len(forgotten)]
        program = Program(tuple(call for call, _ in queue), forgotten)
        self.n_rounds += 1
        replies = self.call("run", program)
        wanted = [(call, answer) for call, answer in queue if answer is not None]
        for place, (call, answer) in enumerate(wanted):
            assert call.join is not None
            answer.take(join_all(call.join, (reply[place] for reply in replies)))
        for _, answer in wanted:
            answer.value  # noqa: B018 - in their order: later ones build on earlier ones


def join_all(join: Join, answers: Iterable[Any]) -> Any:
    """Put at least one answer together."""
    return reduce(join, answers)


def resolve(value: Any, objects: dict[int, Any]) -> Any:
    """Replace references, also those within tuples, by the objects of a piece."""
    if isinstance(value, Ref | Remote):
        return objects[value.id]
    if isinstance(value, tuple):
        return tuple(resolve(item, objects) for item in value)
    return value


def run_calls(program: Program, objects: dict[int, Any]) -> list[Any]:
    """Run a program on the objects of one piece; give its answers."""
    answers = []
    for call in program.calls:
        method = getattr(resolve(call.target, objects), call.method)
        result = method(*resolve(call.args, objects))
        if call.join is not None:
            answers.append(result)
        results: Sequence[Any] = result if len(call.outs) > 1 else (result,)
        objects.update(zip(call.outs, results, strict=False))
    for id_ in program.forgotten:
        objects.pop(id_, None)
    return answers
