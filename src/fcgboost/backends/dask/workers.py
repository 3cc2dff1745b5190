"""The workers of a Dask cluster: an actor on each holds its rows and may be lost."""

from __future__ import annotations

import asyncio
import ctypes
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import cloudpickle
import numpy as np
from dask.delayed import Delayed
from distributed import Actor, ActorFuture, Client, Future, KilledWorker, get_worker, wait
from distributed.protocol import to_serialize

from fcgboost.arrays import Array
from fcgboost.backends.cluster.shard import Shard
from fcgboost.backends.cluster.sums import Pieces, aggregation_tree, branches
from fcgboost.backends.cluster.workers import WorkerLostError, Workers, gathered
from fcgboost.backends.dask.collections import DelayedRows

_Answer = TypeVar("_Answer")
#: What the scheduler tells about a worker.
WorkerInfo = Mapping[str, Any]

# The states of tasks of a worker that has nothing to do.
_AT_REST = {"memory", "released", "cancelled", "error"}
# Seconds to wait for workers.
_PATIENCE = 10.0
_LOOK_EVERY = 0.5
# The share of a worker's memory that stored values of candidates may take.
_SHARE_STORED = 0.15
# glibc's M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, in bytes, and M_ARENA_MAX: only the first arena
# respects the thresholds.
_MALLOPT = ((-1, 2**29), (-3, 2**25), (-8, 1))


def _keep_freed_memory() -> None:
    """Let the C library reuse freed memory.

    Dask makes it return freed memory to the system at once, which slows a fit, with its many large
    arrays, by up to a factor of three. Without glibc this does nothing.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for parameter, value in _MALLOPT:
        mallopt(parameter, value)


class _Actor(Shard):
    """A shard that answers pickled messages and forwards them to the actors below it.

    A worker has one thread for all actors, including those of other fits. No actor waits for one on
    a worker with a lower name, so there is no deadlock.
    """

    def __init__(self, below: Sequence[tuple[str, str]], *args: Any) -> None:
        super().__init__(*args)
        self._below = below

    def answer(self, message: bytes) -> bytes:
        """Call the method that a pickled message names, here and below; return pieces or an error.

        Unpickling errors must be answered too: Dask would wait forever for a message it cannot
        read.
        """
        try:
            waiting = [_begin(address, key, message) for address, key in self._below]
            method, args = cloudpickle.loads(message)
            answer = partial(getattr(self, method), *args)
            return bytes(cloudpickle.dumps(gathered([answer, *waiting])))
        except Exception as error:  # the client should see any error
            try:
                reply = cloudpickle.dumps(error)
                cloudpickle.loads(reply)
            except Exception:
                reply = cloudpickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
            return bytes(reply)


def _begin(address: str, key: str, message: bytes) -> Callable[[], Pieces]:
    """Ask the actor of another worker; return a function that waits for the answer.

    Dask's own actor handle would start a client on the worker, and may wait for a lost actor.
    """
    worker = get_worker()

    async def ask() -> bytes:
        request = {"actor": key, "function": "answer", "args": [to_serialize(message)]}
        reply = await worker.rpc(address).actor_execute(**request)
        if reply["status"] != "OK":
            raise reply["exception"]
        result: bytes = reply["result"]
        return result

    asked = asyncio.run_coroutine_threadsafe(ask(), worker.loop.asyncio_loop)
    return lambda: _answer(asked.result, key)


def _answer(wait_for: Callable[[], bytes], key: str) -> Pieces:
    """Wait for an answer; raise the error it holds, or a WorkerLostError."""
    try:
        answer = cloudpickle.loads(wait_for())
    except Exception as error:
        # How a lost worker shows.
        is_unknown = isinstance(error, KeyError) and error.args == (key,)
        is_lost = isinstance(error, RuntimeError) and "Actor was lost" in str(error)
        if isinstance(error, OSError) or is_unknown or is_lost:
            raise WorkerLostError(f"a worker that held rows is gone ({error})") from None
        raise
    if isinstance(answer, Exception):
        raise answer
    pieces: Pieces = answer
    return pieces


class DaskWorkers(Workers):
    """One actor per worker that has rows."""

    def __init__(
        self, client: Client, training: DelayedRows, validation: DelayedRows | None
    ) -> None:
        super().__init__()
        self._client = client
        self._tables = (training, validation)
        self._futures: dict[str, Future] = {}
        #: The actors asked from here.
        self._heads: list[Actor] = []

    def connect(self) -> None:
        workers = find_workers(self._client)
        token = uuid.uuid4().hex
        _ask(self._client, lambda: self._client.run(_keep_freed_memory, on_error="ignore"))
        shares = [
            {} if table is None else share_out(self._client, table.parts, sorted(workers))
            for table in self._tables
        ]
        n_parts = [0 if table is None else len(table.parts) for table in self._tables]
        names = sorted({name for share in shares for name in share})
        # Unique, so that a fit never meets the actors of another one.
        keys = {name: f"fcgboost-shard-{token}-{i}" for i, name in enumerate(names)}
        for name, below in aggregation_tree(names).items():
            memory = workers[name]["memory_limit"] or 0
            n_threads = workers[name]["nthreads"]
            self._futures[name] = self._client.submit(
                _Actor,
                [(other, keys[other]) for other in below],
                *(share.get(name, {}) for share in shares),
                n_parts,
                n_threads,
                int(_SHARE_STORED * memory) or 2**62,
                key=keys[name],
                workers=[name],
                actor=True,
            )
        await_all(self._client, list(self._futures.values()), names)
        self._heads = [self._futures[branch[0]].result() for branch in branches(names)]

    def ask_all(self, method: str, *args: object) -> Pieces:
        message = bytes(cloudpickle.dumps((method, args)))
        try:
            waiting = [(actor.key, actor.answer(message)) for actor in self._heads]
        except RuntimeError as error:
            raise WorkerLostError(str(error)) from error
        asked = [partial(_answer, partial(self._wait_for, reply), key) for key, reply in waiting]
        return gathered(asked)

    def _wait_for(self, reply: ActorFuture) -> bytes:
        """Wait for an answer while all actors are alive."""
        while True:
            try:
                return bytes(reply.result(timeout=_LOOK_EVERY * 10))
            except TimeoutError:
                states = {future.status for future in self._futures.values()}
                if states != {"finished"} or self._client.status != "running":
                    raise WorkerLostError(f"a worker that held rows is gone ({states})") from None

    def close(self) -> None:
        futures = list(self._futures.values())
        self._futures = {}
        self._heads = []
        if futures and self._client.status == "running":
            with suppress(OSError):  # the scheduler may be gone
                self._client.cancel(futures, force=True)


def find_client(client: Client | None) -> Client:
    """Return the client to use; raise an error if there is none that works."""
    if client is None:
        try:
            client = Client.current()
        except ValueError as error:
            raise ValueError(
                "There is no Dask client: create one with dask.distributed.Client(...), or pass "
                "client=..."
            ) from error
    if client.status != "running":
        raise RuntimeError(
            f"The Dask client is {client.status}: create a new one and pass it as client=..."
        )
    if client.asynchronous:
        raise ValueError("The Dask client is asynchronous: pass a synchronous one.")
    return client


def find_workers(client: Client) -> dict[str, WorkerInfo]:
    """Return the workers by name, waiting a while if there are none."""
    deadline = time.monotonic() + _PATIENCE
    while not (present := _present(client)):
        if time.monotonic() > deadline:
            raise RuntimeError(
                f"The Dask cluster has had no workers for {_PATIENCE:.0f} seconds: start some, for "
                "example with cluster.scale(2), and fit again."
            )
        time.sleep(_LOOK_EVERY)
    return present


def _present(client: Client) -> dict[str, WorkerInfo]:
    workers = _ask(client, lambda: client.scheduler_info(n_workers=-1)["workers"])
    return {name: workers[name] for name in _ask(client, client.nthreads) if name in workers}


def _ask(client: Client, question: Callable[[], _Answer]) -> _Answer:
    """Ask the scheduler; raise a RuntimeError if it is gone."""
    reason: Exception | None = None
    try:
        if client.status == "running":
            return question()
    except (OSError, ValueError, TimeoutError) as error:
        reason = error
    raise RuntimeError(
        f"The Dask scheduler does not answer (client: {client.status}). Connect a new client and "
        "fit again."
    ) from reason


def await_all(client: Client, futures: Sequence[Future], workers: Sequence[str] = ()) -> None:
    """Wait for futures on some workers, or any; raise an error if these are lost or full."""
    moved = time.monotonic()
    while True:
        try:
            wait(futures, timeout=_LOOK_EVERY)
            break
        except TimeoutError:
            reason = _why_stuck(client, workers)
        except CancelledError as cancelled:
            if "lost dependencies" not in str(cancelled):
                raise
            raise RuntimeError(
                "Rows were lost with their Dask worker, and Dask cannot recompute them because "
                "they were scattered. Scatter or persist them again and call fit again."
            ) from cancelled
        is_idle = reason is None and _are_idle(client)
        if reason is None and not is_idle:
            moved = time.monotonic()
        elif time.monotonic() - moved > _PATIENCE:
            if reason is not None:
                raise RuntimeError(reason)
            # The scheduler may wait for ever for a task that was lost with a worker.
            client.cancel(futures, force=True)
            raise WorkerLostError("the workers are idle, but rows are not loaded")
    for future in futures:
        if future.status == "finished":
            continue
        error = future.exception() if future.status == "error" else None
        if isinstance(error, KilledWorker):
            raise RuntimeError(
                f"Loading rows killed several workers, the last one {error.last_worker}: they may "
                "have too little memory. Use more workers, or smaller partitions."
            ) from error
        if error is None or "Actor was lost" in str(error):
            raise WorkerLostError(f"a worker that loads rows is gone ({future.status})")
        raise error


def _are_idle(client: Client) -> bool:
    """Return whether no worker has anything to do."""
    states = [worker["metrics"]["task_counts"].keys() for worker in _present(client).values()]
    return all(tasks <= _AT_REST for tasks in states)


def _why_stuck(client: Client, workers: Sequence[str]) -> str | None:
    """Return why waiting is futile, if so; raise a WorkerLostError if a worker is gone."""
    present = _present(client)
    if not present:
        return "The Dask cluster has lost all its workers: start new ones and fit again."
    if not set(workers) <= set(present):
        raise WorkerLostError("a worker that loads rows is gone")
    are_paused = [present[name].get("status") == "paused" for name in workers or present]
    # One paused worker blocks if it is needed by name; otherwise all must be paused.
    if any(are_paused) if workers else all(are_paused):
        return (
            "The Dask workers are paused because their memory is full: free some, or use workers "
            "with more memory."
        )
    return None


def share_out(
    client: Client, parts: Sequence[Delayed], names: Sequence[str]
) -> dict[str, dict[int, Future]]:
    """Compute all partitions; return which worker gets which, by their numbers.

    Neighbours stay together, so that their sums are added up on the worker, and shares are equal,
    because every round waits for the largest.
    """
    # By number first, because sizes are not known before partitions are loaded.
    planned = _shares(np.ones(len(parts)), names)
    futures = [
        future
        for name, numbers in planned.items()
        for future in client.compute(
            [parts[i] for i in numbers], workers=[name], allow_other_workers=True
        )
    ]
    await_all(client, futures)
    keys = [future.key for future in futures]
    # A partition that was lost since has no size, and is loaded again.
    sizes = _ask(client, lambda: client.nbytes(keys, summary=False))
    shares = _shares(np.array([sizes.get(key, 1) for key in keys]), names)
    tables = {}
    for name, numbers in shares.items():
        if numbers:
            tables[name] = {i: futures[i] for i in numbers}
    return tables


def _shares(sizes: Array, names: Sequence[str]) -> dict[str, list[int]]:
    """Assign runs of partitions to workers: each to that in whose share its middle lies."""
    middles = np.cumsum(sizes) - sizes / 2.0
    owners = (middles / sizes.sum() * len(names)).astype(np.intp)
    return {name: np.flatnonzero(owners == i).tolist() for i, name in enumerate(names)}
