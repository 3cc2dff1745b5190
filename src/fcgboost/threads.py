"""One BLAS thread while the loop runs, whoever else is fitting."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController


class SharedLimit:
    """A limit that the first one in sets and the last one out lifts.

    The number of BLAS threads belongs to the process: fits in several threads that each set and
    restore it would restore each other's limit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside, self._before = 0, 1
        self._limit: Any = None

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        """Keep the BLAS to one thread."""
        with self._lock:
            if self._n_inside == 0:
                # Finding the libraries takes milliseconds: once is enough.
                controller = ThreadpoolController()
                self._before = _most_threads(controller)
                self._limit = controller.limit(limits=1, user_api="blas")
            self._n_inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_inside -= 1
                if self._n_inside == 0:
                    self._limit.restore_original_limits()

    def n_threads(self) -> int:
        """Return how many threads the BLAS has when nobody keeps it to one."""
        return self._before if self._n_inside else _most_threads(ThreadpoolController())


def _most_threads(controller: ThreadpoolController) -> int:
    pools = controller.select(user_api="blas").info()
    return max([1, *(int(pool["num_threads"]) for pool in pools)])


#: The process has one BLAS, so there is one limit.
blas = SharedLimit()


def allowed(n_threads: int) -> int:
    """Return how many threads a fit may use: inside a pool of processes, its share of the cores.

    joblib tells its workers their share by the limit of their BLAS; a fit on its own is asked by
    its user, who knows.
    """
    is_alone = get_active_backend()[0].nesting_level == 0
    return n_threads if is_alone else min(n_threads, blas.n_threads())
