"""Threads: how many a fit may use, and what keeps them safe with forks and interrupts."""

from __future__ import annotations

import _thread
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from copy import copy
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar
from weakref import WeakSet

import joblib
from joblib.externals.loky.backend.process import LokyProcess
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


#: How many threads may share the work that runs here.
_n_threads: ContextVar[int] = ContextVar("_n_threads", default=1)


class Copies(Generic[T]):
    """An object with work space, and copies of it for threads that find it in use."""

    def __init__(self, first: T) -> None:
        self._first = first
        self._free = deque([first])

    @contextmanager
    def lent(self) -> Iterator[T]:
        """Lend one that nobody else uses meanwhile."""
        try:
            one = self._free.pop()
        except IndexError:
            one = copy(self._first)
        try:
            yield one
        finally:
            self._free.append(one)


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
        if hasattr(os, "register_at_fork"):  # not on Windows
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
        before = _n_threads.get()
        try:
            with self._lock:
                self._inside.add(mark)
                if not self._before:
                    # Finding the libraries takes milliseconds: once is enough.
                    self._before = _blas_libraries()
                for library, _ in self._before:
                    library.set_num_threads(1)
                _kernels.library().fcg_open_pool(n_threads)
            _n_threads.set(n_threads)
            yield
        finally:
            _n_threads.set(before)
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
    In a worker of joblib they are at most the worker's share.
    """
    if n_jobs is None:
        n_threads = joblib.cpu_count()
        first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
        if first.isdecimal() and int(first) > 0:
            n_threads = min(n_threads, int(first))
    else:
        n_threads = joblib.effective_n_jobs(n_jobs)
    level = get_active_backend()[0].nesting_level
    if level > 0:
        n_threads = min(n_threads, _share_of_worker(level))
    return int(n_threads)


def _share_of_worker(level: int) -> int:
    """Return how many threads a worker of joblib may use.

    loky tells its processes by the limit of their BLAS. Other workers, threads among them, do not
    know how many they are.
    """
    is_told = level == 1 and isinstance(multiprocessing.current_process(), LokyProcess)
    return shared.n_threads() if is_told else 1


class _Stopped(BaseException):
    """A piece of work ended early because another one has failed."""


@dataclass(eq=False)
class _Crew(Generic[Piece, T]):
    """Threads that share pieces of work: the one that has them to do, and its helpers.

    Only operations that are atomic without a lock: a lock would not survive forks and interrupts.
    """

    work: Callable[[Piece], T]
    #: The pieces that nobody has begun, by number.
    todo: deque[tuple[int, Piece]]
    #: One item for each helper that may still be called, here or by a crew within a piece.
    free: deque[None]
    #: The crew whose piece this work belongs to.
    parent: _Crew[Any, Any] | None
    results: dict[int, T] = field(default_factory=dict)
    errors: deque[BaseException] = field(default_factory=deque)
    #: Whether no further piece is begun.
    is_over: bool = False
    #: One item for each helper that has begun, and for each that has ended.
    begun: deque[None] = field(default_factory=deque)
    ended: deque[None] = field(default_factory=deque)
    news: SimpleQueue[None] = field(default_factory=SimpleQueue)

    def call_helpers(self, most: int) -> None:
        """Start this many helpers, or as many as there may be."""
        for _ in range(most):
            try:
                self.free.pop()
            except IndexError:
                return
            try:
                _thread.start_new_thread(copy_context().run, (self._help,))
            except RuntimeError:  # the system has no more threads
                self.free.append(None)
                return

    def _help(self) -> None:
        # One that begins when all is over finds nothing to do.
        self.begun.append(None)
        self.share()
        self.free.append(None)
        self.ended.append(None)
        self.news.put(None)

    def share(self) -> None:
        """Do pieces until none is left or one has failed."""
        _crew.set(self)
        try:
            while self.todo:
                check()
                try:
                    i, piece = self.todo.popleft()
                except IndexError:  # another thread was quicker
                    break
                self.results[i] = self.work(piece)
        except BaseException as error:
            self.errors.append(error)
            self.is_over = True

    def wait(self) -> None:
        """Wait until all helpers have ended; an interrupt ends them soon, and is raised then."""
        try:
            while len(self.ended) < len(self.begun):
                with suppress(Empty):  # an interrupt may have taken what was put
                    self.news.get(timeout=_WAIT)
        except BaseException:
            self.is_over = True
            self.wait()
            raise

    def outcome(self) -> list[T]:
        """Return the results in the order of the pieces, or raise the first error."""
        if self.errors:
            raise min(self.errors, key=lambda error: isinstance(error, _Stopped))
        return [self.results[i] for i in range(len(self.results))]


#: The crew whose piece of work runs here.
_crew: ContextVar[_Crew[Any, Any] | None] = ContextVar("_crew", default=None)


def check() -> None:
    """End the piece of work that runs here if another one has failed."""
    crew = _crew.get()
    while crew is not None:
        if crew.is_over:
            raise _Stopped
        crew = crew.parent


def each(
    work: Callable[[Piece], T],
    pieces: Sequence[Piece],
    n_threads: int | None = None,
    n_at_once: int | None = None,
) -> list[T]:
    """Work on independent pieces in threads; return the results in the order of the pieces.

    Without a number of threads these are those of the fit that runs.
    A piece may have its own pieces: all together use at most as many threads as the outermost work,
    also where fewer of its own pieces may run at once.
    After an error or an interrupt the other pieces end where they `check`. The threads end with the
    work: those of a pool, and its locks, survive neither forks nor interrupts.
    """
    n_threads = n_threads or _n_threads.get()
    n_workers = min(n_threads, len(pieces), n_at_once or n_threads)
    if n_workers <= 1:
        return [work(piece) for piece in pieces]
    parent = _crew.get()
    crew = _Crew(
        work,
        deque(enumerate(pieces)),
        deque([None] * (n_threads - 1)) if parent is None else parent.free,
        parent,
    )
    try:
        crew.call_helpers(n_workers - 1)
        copy_context().run(crew.share)
        crew.wait()
    finally:
        crew.is_over = True
        crew.wait()
    return crew.outcome()
