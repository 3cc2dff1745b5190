"""What threads and forks share: attributes, the BLAS, and pieces of work."""

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
from threadpoolctl import ThreadpoolController

T = TypeVar("T")
# Seconds after which threads are looked at again.
_WAIT = 0.05


class cached(Generic[T]):  # noqa: N801, as functools.cached_property
    """An attribute that is computed when it is first asked for.

    functools.cached_property has a lock in Python 3.11, which a process forked meanwhile would wait
    for in vain, and which keeps the threads of other fits waiting.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        if instance is None:
            return self  # type: ignore[return-value]
        value = vars(instance)[self._name] = self._function(instance)
        return value


class _Inside:
    """One who keeps the BLAS to one thread, as long as it lives."""


class SharedLimit:
    """A limit that the first one in sets and the last one out lifts.

    The number of BLAS threads belongs to the process: fits in several threads that each set and
    restore it would restore each other's limit. Whoever is interrupted, wherever that is, leaves
    nothing behind that the next one would not lift.
    """

    def __init__(self) -> None:
        #: The libraries, and how many threads they had, while they are kept to one.
        self._before: list[tuple[Any, int]] = []
        self._start_anew()
        os.register_at_fork(after_in_child=self._start_anew)

    def _start_anew(self) -> None:
        """Begin with nobody inside, as in a process that was forked while others were."""
        self._lock, self._inside = threading.Lock(), WeakSet[_Inside]()
        self._restore()

    def _restore(self) -> None:
        for library, n_threads in self._before:
            library.set_num_threads(n_threads)
        self._before = []

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        """Keep the BLAS to one thread."""
        own = _Inside()
        try:
            with self._lock:
                self._inside.add(own)
                if not self._before:
                    # Finding the libraries takes milliseconds: once is enough.
                    self._before = _blas_libraries()
                for library, _ in self._before:
                    library.set_num_threads(1)
            yield
        finally:
            with self._lock:
                self._inside.discard(own)
                if not self._inside:
                    self._restore()

    def n_threads(self) -> int:
        """Return how many threads the BLAS has when nobody keeps it to one."""
        return max([1, *(n_threads for _, n_threads in self._before or _blas_libraries())])


def _blas_libraries() -> list[tuple[Any, int]]:
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return [(library, int(library.get_num_threads() or 1)) for library in found]


#: The process has one BLAS, so there is one limit.
blas = SharedLimit()


def allowed(n_threads: int) -> int:
    """Return how many threads a fit may use: inside a pool of processes, its share of the cores.

    joblib tells its workers their share by the limit of their BLAS; a fit on its own is asked by
    its user, who knows.
    """
    is_alone = get_active_backend()[0].nesting_level == 0
    return n_threads if is_alone else min(n_threads, blas.n_threads())


def each(work: Callable[[Any], Any], pieces: Sequence[Any], n_threads: int) -> list[Any]:
    """Do independent pieces of work in threads that end with them; return results in their order.

    Pools keep their threads and locks, which neither forks nor interrupts are safe with.
    """
    results: list[Any] = [None] * len(pieces)
    todo, ended, errors = enumerate(pieces), SimpleQueue[None](), list[BaseException | None]()

    def run() -> None:
        try:
            for place, piece in todo:  # of which every thread takes the next one
                if any(errors):
                    break
                results[place] = work(piece)
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
            except KeyboardInterrupt as error:  # pieces are short, and nothing is left behind
                errors.append(error)
                n_started += 1
    for found in errors:
        if found is not None:
            raise found
    return results


# What a fit sets on an estimator: all of it at once, or nothing. Other threads may predict
# meanwhile: they see the last fit or the new one, never parts of both.


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[Any]:
    """Yield a twin to be fitted; the estimator takes its attributes at the end, unless it fails."""
    twin = twin_of(estimator)
    yield twin
    own = {name: value for name, value in vars(estimator).items() if not name.endswith("_")}
    estimator.__dict__ = own | fitted_attributes(twin)


def twin_of(estimator: Any) -> Any:
    """Return an estimator with the attributes that this one has now."""
    twin = object.__new__(type(estimator))
    twin.__dict__ = vars(estimator).copy()
    return twin


def fitted_attributes(estimator: Any) -> dict[str, Any]:
    """Return what a fit has set."""
    return {name: value for name, value in vars(estimator).items() if name.endswith("_")}
