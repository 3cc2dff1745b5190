"""The workers of a Dask cluster: an actor on each has its rows, and may be lost."""

from __future__ import annotations

import asyncio
import ctypes
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from typing import Any

import cloudpickle
import numpy as np
from distributed import Actor, Client, Future, KilledWorker, get_worker, wait
from distributed.protocol import to_serialize

from fcgboost.cluster.shard import Shard
from fcgboost.cluster.sums import Pieces, branches, whom_they_ask
from fcgboost.cluster.workers import WorkerLostError, Workers, gathered
from fcgboost.dask.collections import Table

# Seconds after which workers that do not come are not coming.
_PATIENCE = 10.0
_LOOK_EVERY = 0.5
# Stored values of candidates take no more than this share of a worker's memory.
_SHARE_STORED = 0.15
# So much of a share may go to a neighbour.
_UNEVEN = 0.1
# glibc's M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, in bytes, and M_ARENA_MAX: other arenas than the
# first one give memory back whatever the thresholds say.
_MALLOPT = ((-1, 2**29), (-3, 2**25), (-8, 1))


def _keep_freed_memory() -> None:
    """Let the C library keep memory that arrays gave back, for the next ones.

    Dask tells it to give all of it back to the system at once; a fit makes large arrays all the
    time, and then takes up to three times as long. Where there is no such library, nothing happens.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for parameter, value in _MALLOPT:
        mallopt(parameter, value)


class _Actor(Shard):
    """A shard that is asked by pickled messages, and asks actors below it, by worker and key.

    A worker has one thread for all its actors, also those of other fits. None waits for one on a
    worker of a lower name, so they never wait in a circle.
    """

    def __init__(self, below: Sequence[tuple[str, str]], *args: Any) -> None:
        super().__init__(*args)
        self._below = below

    def answer(self, message: bytes) -> bytes:
        """Call a method that a pickled message names, here and below; return pieces or an error.

        What cannot be unpickled, here or there, must end in an answer, too: a message that Dask
        itself cannot read is waited for without end.
        """
        try:
            waiting = [_begin(address, key, message) for address, key in self._below]
            method, args = cloudpickle.loads(message)
            own = partial(getattr(self, method), *args)
            return bytes(cloudpickle.dumps(gathered([own, *waiting])))
        except Exception as error:  # whatever it is, the client should hear of it
            try:
                told = cloudpickle.dumps(error)
                cloudpickle.loads(told)
            except Exception:
                told = cloudpickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
            return bytes(told)


def _begin(address: str, key: str, message: bytes) -> Callable[[], Pieces]:
    """Ask the actor of another worker; return what waits for the answer.

    As Dask's own handle of an actor does, which on a worker would start a client and may wait for
    an actor that is gone.
    """
    worker = get_worker()

    async def ask() -> Any:
        words = {"actor": key, "function": "answer", "args": [to_serialize(message)]}
        reply = await worker.rpc(address).actor_execute(**words)
        if reply["status"] != "OK":
            raise reply["exception"]
        return reply["result"]

    asked = asyncio.run_coroutine_threadsafe(ask(), worker.loop.asyncio_loop)
    return lambda: _heard(asked.result, key)


def _heard(wait_for: Callable[[], bytes], key: str) -> Pieces:
    """Wait for an answer; raise the error that it is, or that shows that nobody is there."""
    try:
        told = cloudpickle.loads(wait_for())
    except Exception as error:
        # The ways in which a worker that is gone shows.
        is_unknown = isinstance(error, KeyError) and error.args == (key,)
        is_lost = isinstance(error, RuntimeError) and "Actor was lost" in str(error)
        if isinstance(error, OSError) or is_unknown or is_lost:
            raise WorkerLostError(f"a worker that held rows is gone ({error})") from None
        raise
    if isinstance(told, Exception):
        raise told
    pieces: Pieces = told
    return pieces


class DaskWorkers(Workers):
    """Actors, one per worker that has rows."""

    def __init__(self, client: Client, training: Table, validation: Table | None) -> None:
        super().__init__()
        self._client, self._tables = client, (training, validation)
        self._futures: dict[str, Future] = {}
        #: Those that are asked from here.
        self._heads: list[Actor] = []

    def connect(self) -> None:
        """Make an actor on every worker that has rows."""
        workers, token = find_workers(self._client), uuid.uuid4().hex
        _ask(self._client, lambda: self._client.run(_keep_freed_memory, on_error="ignore"))
        shares = [
            {} if table is None else share_out(self._client, table.parts, sorted(workers))
            for table in self._tables
        ]
        n_parts = [0 if table is None else len(table.parts) for table in self._tables]
        names = sorted({name for share in shares for name in share})
        # Never the same: a fit must not meet the actors of another one.
        keys = {name: f"fcgboost-shard-{token}-{i}" for i, name in enumerate(names)}
        for name, below in whom_they_ask(names).items():
            memory, n_threads = workers[name]["memory_limit"] or 0, workers[name]["nthreads"]
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

    def ask_all(self, method: str, *args: Any) -> Pieces:
        """Ask the first actors, which ask the others."""
        message = bytes(cloudpickle.dumps((method, args)))
        try:
            waiting = [(actor.key, actor.answer(message)) for actor in self._heads]
        except RuntimeError as error:
            raise WorkerLostError(str(error)) from error
        asked = [partial(_heard, partial(self._wait_for, reply), key) for key, reply in waiting]
        return gathered(asked)

    def _wait_for(self, reply: Any) -> bytes:
        """Wait for an answer as long as all are there who have a part in it."""
        while True:
            try:
                return bytes(reply.result(timeout=_LOOK_EVERY * 10))
            except TimeoutError:
                states = {future.status for future in self._futures.values()}
                if states != {"finished"} or self._client.status != "running":
                    raise WorkerLostError(f"a worker that held rows is gone ({states})") from None

    def close(self) -> None:
        """Let the workers forget the rows, whoever still holds a reference to them."""
        futures, self._futures, self._heads = list(self._futures.values()), {}, []
        if futures and self._client.status == "running":
            with suppress(OSError):  # a scheduler that is gone remembers nothing
                self._client.cancel(futures, force=True)


def find_client(client: Client | None) -> Client:
    """Return the client to use."""
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
            f"The Dask client is {client.status}: create another one and pass it as client=..."
        )
    if client.asynchronous:
        raise ValueError("The Dask client is asynchronous; fit needs one that is not.")
    return client


def find_workers(client: Client) -> dict[str, Any]:
    """Return what is known of the workers, after some patience if there are none."""
    deadline = time.monotonic() + _PATIENCE
    while not (present := _present(client)):
        if time.monotonic() > deadline:
            raise RuntimeError(
                f"The Dask cluster has had no workers for {_PATIENCE:.0f} seconds; start some, for "
                "example with cluster.scale(2), and fit again."
            )
        time.sleep(_LOOK_EVERY)
    return present


def _present(client: Client) -> dict[str, Any]:
    known = _ask(client, lambda: client.scheduler_info(n_workers=-1)["workers"])
    return {name: known[name] for name in _ask(client, client.nthreads) if name in known}


def _ask(client: Client, question: Callable[[], Any]) -> Any:
    """Ask the scheduler something; say so if it is gone."""
    reason: Any = None
    try:
        if client.status == "running":
            return question()
    except (OSError, ValueError, TimeoutError) as error:
        reason = error
    raise RuntimeError(
        f"The Dask scheduler does not answer (client: {client.status}). Connect a new client and "
        "fit again; with checkpoint=... a fit goes on from where it was."
    ) from reason


def await_all(client: Client, futures: Sequence[Future], workers: Sequence[str] = ()) -> None:
    """Wait for futures, which need some workers or any; never for those gone or full."""
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
                "Rows are gone with the Dask worker that held them, and Dask does not know how to "
                "make them again: they were scattered, or lay only there. Scatter, or persist, "
                "them again and call fit again."
            ) from cancelled
        if reason is None:
            moved = time.monotonic()
        elif time.monotonic() - moved > _PATIENCE:
            raise RuntimeError(reason)
    for future in futures:
        if future.status == "finished":
            continue
        error = future.exception() if future.status == "error" else None
        if isinstance(error, KilledWorker):
            raise RuntimeError(
                f"Loading rows has killed several workers ({error.last_worker} was the last): they "
                "may have too little memory. Use more workers, or smaller partitions."
            ) from error
        if error is None or "Actor was lost" in str(error):
            raise WorkerLostError(f"a worker that loads rows is gone ({future.status})")
        raise error


def _why_stuck(client: Client, workers: Sequence[str]) -> str | None:
    """Say why waiting is in vain, if it is; raise an error where nothing can mend it."""
    present = _present(client)
    if not present:
        return "The Dask cluster has lost all its workers, and no new ones came."
    if not set(workers) <= set(present):
        raise WorkerLostError("a worker that loads rows is gone")
    are_paused = [present[name].get("status") == "paused" for name in workers or present]
    # One that is needed by its name is enough; of the others all.
    if any(are_paused) if workers else all(are_paused):
        return (
            "The Dask workers are paused, because their memory is full: give them more, or free "
            "what other work keeps there."
        )
    return None


def share_out(
    client: Client, parts: Sequence[Any], names: Sequence[str]
) -> dict[str, dict[int, Future]]:
    """Let Dask make all partitions; say which worker gets which, by their numbers.

    Neighbours go together, in the order of the names, as their sums are added up where they are;
    and shares are of a size, because in every round all wait for the largest.
    """
    # Where they will be used, as far as that can be said before their sizes are known.
    planned = _runs(np.arange(len(parts) + 1), 0, len(parts), names)
    futures = [
        future
        for name, run in planned.items()
        for future in client.compute(
            [parts[i] for i in run], workers=[name], allow_other_workers=True
        )
    ]
    await_all(client, futures)
    keys = [future.key for future in futures]
    who_has = _ask(client, lambda: client.who_has(futures))
    sizes = _ask(client, lambda: client.nbytes(keys, summary=False))
    if not all(who_has.get(key) and key in sizes for key in keys):
        raise WorkerLostError("a partition was lost after it was loaded")
    ends = np.cumsum([0] + [sizes[key] for key in keys])
    runs = _runs(ends, 0, len(keys), names)
    return {name: {i: futures[i] for i in run} for name, run in runs.items() if run}


def _runs(ends: Any, first: int, last: int, names: Sequence[str]) -> dict[str, range]:
    """Deal half of the partitions to half of the workers, and so on, in shares of about a size.

    Halves of the same number have fewer sums to send than those of exactly the same size.
    """
    if len(names) == 1:
        return {names[0]: range(first, last)}
    half, middle, size = len(names) // 2, (first + last) // 2, ends[last] - ends[first]
    wanted = ends[first] + size * half / len(names)
    if abs(ends[middle] - wanted) > _UNEVEN * size / len(names):
        middle = first + int(np.argmin(np.abs(ends[first : last + 1] - wanted)))
    others = _runs(ends, middle, last, names[half:])
    return _runs(ends, first, middle, names[:half]) | others
