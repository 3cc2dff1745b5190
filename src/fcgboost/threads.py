"""Threads: how many a fit may use, and what keeps them safe with forks and interrupts."""

from __future__ import annotations

import _thread
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar
from weakref import WeakSet

import joblib
from joblib.parallel import get_active_backend
from threadpoolctl import LibController, ThreadpoolController

from fcgboost import _kernels

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
    """Marks a fit that runs."""


class SharedThreads:
    """The threads of the process while fits run: one in the BLAS, and those of our own library.

    Both belong to the process: the first fit that starts sets them, and the last one that ends
    restores them. An interrupt at any point leaves nothing behind that the next fit would not
    restore.
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
    def ours(self, n_threads: int = 1) -> Iterator[None]:
        """Keep the BLAS to one thread, and let our own library use so many."""
        mark = _Inside()
        try:
            with self._lock:
                self._inside.add(mark)
                if not self._before:
                    # Finding the libraries takes milliseconds: once is enough.
                    self._before = _blas_libraries()
                for library, _ in self._before:
                    library.set_num_threads(1)
                _kernels.library().fcg_open_pool(n_threads)
            yield
        finally:
            with self._lock:
                self._inside.discard(mark)
                if not self._inside:
                    _kernels.library().fcg_close_pool()
                    self._restore()

    def n_threads(self) -> int:
        """Return how many threads the BLAS uses where no fit runs."""
        return max([1, *(n_threads for _, n_threads in self._before or _blas_libraries())])


def _blas_libraries() -> list[tuple[LibController, int]]:
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    return [(library, int(library.get_num_threads() or 1)) for library in libraries]


#: The process has one BLAS and one pool.
shared = SharedThreads()


def allowed(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` stands for; None is all cores that the process may use.

    These are the cores of its affinity and of its container's quota, and at most OMP_NUM_THREADS.
    In a worker of joblib it is the worker's share, of which joblib tells it by the limit of its
    BLAS.
    """
    if n_jobs is None:
        n_threads = joblib.cpu_count()
        first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
        if first.isdecimal() and int(first) > 0:
            n_threads = min(n_threads, int(first))
    else:
        n_threads = joblib.effective_n_jobs(n_jobs)
    if get_active_backend()[0].nesting_level > 0:
        n_threads = min(n_threads, shared.n_threads())
    return int(n_threads)


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
