"""Thread- and fork-safe helpers: cached attributes, a BLAS limit, a thread pool."""

from __future__ import annotations

import _thread
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from joblib.parallel import get_active_backend
from threadpoolctl import LibController, ThreadpoolController

T = TypeVar("T")
Piece = TypeVar("Piece")
# Seconds between two looks at whether all threads have ended.
_WAIT = 0.05


class cached(Generic[T]):  # noqa: N801, as functools.cached_property
    """An attribute that is computed when it is first asked for.

    functools.cached_property has a lock in Python 3.11, which would deadlock in a child forked
    while it is held, and which keeps the threads of other fits waiting.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        if instance is None:
            return self  # type: ignore[return-value]
        value = vars(instance)[self._name] = self._function(instance)
        return value


class _Inside:
    """Marks a fit during which BLAS is limited to one thread."""


class SharedLimit:
    """A limit that is set when the first fit starts and lifted when the last one ends.

    The number of BLAS threads belongs to the process: fits in several threads that each set and
    restore it would restore each other's limit. An interrupt at any point leaves no limit behind
    that the next fit would not lift.
    """

    def __init__(self) -> None:
        #: The libraries and their usual numbers of threads, while the limit is set.
        self._before: list[tuple[LibController, int]] = []
        self._start_anew()
        # OpenBLAS sets the number under a lock of its own. A child forked meanwhile would inherit
        # that lock held, and wait for ever: a fork waits until no thread sets the number.
        os.register_at_fork(
            before=lambda: self._lock.acquire(),
            after_in_parent=lambda: self._lock.release(),
            after_in_child=self._start_anew,
        )

    def _start_anew(self) -> None:
        """Begin without fits; a forked child has none, whatever its parent was doing."""
        # Reentrant: a signal handler may fork while its own thread holds it.
        self._lock = threading.RLock()
        self._inside = WeakSet[_Inside]()
        self._restore()

    def _restore(self) -> None:
        for library, n_threads in self._before:
            library.set_num_threads(n_threads)
        self._before = []

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        """Keep the BLAS to one thread."""
        mark = _Inside()
        try:
            with self._lock:
                self._inside.add(mark)
                if not self._before:
                    # Finding the libraries takes milliseconds: once is enough.
                    self._before = _blas_libraries()
                for library, _ in self._before:
                    library.set_num_threads(1)
            yield
        finally:
            with self._lock:
                self._inside.discard(mark)
                if not self._inside:
                    self._restore()

    def n_threads(self) -> int:
        """Return how many threads the BLAS uses without the limit."""
        return max([1, *(n_threads for _, n_threads in self._before or _blas_libraries())])


def _blas_libraries() -> list[tuple[LibController, int]]:
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    return [(library, int(library.get_num_threads() or 1)) for library in libraries]


#: The process has one BLAS, so there is one limit.
blas = SharedLimit()


def allowed(n_threads: int) -> int:
    """Return how many threads a fit may use: inside a pool of processes, its share of the cores.

    joblib tells its workers their share by the limit of their BLAS; outside of a pool the number
    that the user asked for counts.
    """
    is_alone = get_active_backend()[0].nesting_level == 0
    return n_threads if is_alone else min(n_threads, blas.n_threads())


def each(work: Callable[[Piece], T], pieces: Sequence[Piece], n_threads: int) -> list[T]:
    """Work on independent pieces in threads; return the results in the order of the pieces.

    The threads end with the work: the threads and locks of a pool survive neither forks nor
    interrupts.
    """
    results: dict[int, T] = {}
    todo = enumerate(pieces)
    ended = SimpleQueue[None]()
    errors = list[BaseException | None]()

    def run() -> None:
        try:
            for i, piece in todo:  # each thread takes the next item
                if any(errors):
                    break
                results[i] = work(piece)
            errors.append(None)
        except BaseException as error:
            errors.append(error)
        ended.put(None)

    n_started = 1
    try:
        for _ in range(min(n_threads, len(pieces)) - 1):
            _thread.start_new_thread(run, ())
            n_started += 1
    finally:
        run()
        while len(errors) < n_started:
            try:
                ended.get(timeout=_WAIT)
            except Empty:  # an interrupt may have taken what was put
                continue
            except KeyboardInterrupt as error:  # raised once all threads have ended
                errors.append(error)
                n_started += 1
    for failure in errors:
        if failure is not None:
            raise failure
    return [results[i] for i in range(len(pieces))]
