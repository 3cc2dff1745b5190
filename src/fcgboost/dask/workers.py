"""The workers of a Dask cluster: an actor on each has its rows, and may be lost."""

from __future__ import annotations

import ctypes
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import cloudpickle
from distributed import Actor, Client, Future, KilledWorker, wait

from fcgboost.cluster.design import WorkerLostError, Workers
from fcgboost.cluster.shard import Shard
from fcgboost.dask.collections import Table

# Seconds after which workers that do not come are not coming.
_PATIENCE = 10.0
_LOOK_EVERY = 0.5
# Stored values of candidates take no more than this share of a worker's memory.
_SHARE_STORED = 0.15
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
    """A shard that is asked by pickled messages."""

    def answer(self, message: bytes) -> bytes:
        """Call a method that a pickled message names; return whether it went well, and the result.

        What cannot be unpickled, here or there, must end in an answer, too: a message that Dask
        itself cannot read is waited for without end.
        """
        try:
            method, args = cloudpickle.loads(message)
            return bytes(cloudpickle.dumps((True, getattr(self, method)(*args))))
        except Exception as error:  # whatever it is, the client should hear of it
            try:
                told = cloudpickle.dumps((False, error))
                cloudpickle.loads(told)
            except Exception:
                told = cloudpickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
            return bytes(told)


class DaskWorkers(Workers):
    """Actors, one per worker that has rows."""

    def __init__(self, client: Client, training: Table, validation: Table | None) -> None:
        super().__init__()
        self._client, self._tables = client, (training, validation)
        self._futures: list[Future] = []
        self._actors: list[Actor] = []

    def connect(self) -> None:
        """Make an actor on every worker that has rows."""
        workers, token = find_workers(self._client), uuid.uuid4().hex
        _ask(self._client, lambda: self._client.run(_keep_freed_memory, on_error="ignore"))
        shares = [
            {} if table is None else share_out(self._client, table.parts, list(workers))
            for table in self._tables
        ]
        names = sorted({name for share in shares for name in share})
        for i, name in enumerate(names):
            memory, n_threads = workers[name]["memory_limit"] or 0, workers[name]["nthreads"]
            future = self._client.submit(
                _Actor,
                *(share.get(name, {}) for share in shares),
                n_threads,
                int(_SHARE_STORED * memory) or 2**62,
                # Never the same: a fit must not meet the actors of another one.
                key=f"fcgboost-shard-{token}-{i}",
                workers=[name],
                actor=True,
            )
            self._futures.append(future)
        await_all(self._client, self._futures, names)
        self._actors = [future.result() for future in self._futures]

    def ask_all(self, method: str, *args: Any) -> list[dict[int, Any]]:
        """Ask all actors at once."""
        message = bytes(cloudpickle.dumps((method, args)))
        try:
            waiting = [actor.answer(message) for actor in self._actors]
        except RuntimeError as error:
            raise WorkerLostError(str(error)) from error
        answers: list[dict[int, Any]] = []
        failures: list[Exception] = []
        for actor, future, reply in zip(self._actors, self._futures, waiting, strict=True):
            try:
                is_right, value = cloudpickle.loads(self._wait_for(reply, future))
                (answers if is_right else failures).append(value)
            except Exception as error:  # all are heard before one is told
                failures.append(_translated(error, actor))
        for failure in sorted(failures, key=lambda f: not isinstance(f, WorkerLostError)):
            raise failure
        return answers

    def _wait_for(self, reply: Any, future: Future) -> bytes:
        """Wait for an answer as long as there is somebody to give it."""
        while True:
            try:
                return bytes(reply.result(timeout=_LOOK_EVERY * 10))
            except TimeoutError:
                if future.status != "finished" or self._client.status != "running":
                    raise WorkerLostError(
                        f"a worker that held rows is gone ({future.status})"
                    ) from None

    def close(self) -> None:
        """Let the workers forget the rows, whoever still holds a reference to them."""
        futures, self._futures, self._actors = self._futures, [], []
        if futures and self._client.status == "running":
            with suppress(OSError):  # a scheduler that is gone remembers nothing
                self._client.cancel(futures, force=True)


def _translated(error: Exception, actor: Actor) -> Exception:
    """Recognise the ways in which a worker that is gone shows."""
    is_unknown = isinstance(error, KeyError) and error.args == (actor.key,)
    is_lost = isinstance(error, RuntimeError) and "Actor was lost" in str(error)
    if isinstance(error, OSError) or is_unknown or is_lost:
        lost = WorkerLostError(f"a worker that held rows is gone ({error})")
        lost.__cause__ = error
        return lost
    return error


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

    Partitions stay where they are, but for those that would make a worker's share too large: the
    others would wait for it in every round.
    """
    futures = client.compute(list(parts))
    await_all(client, futures)
    keys = [future.key for future in futures]
    who_has = _ask(client, lambda: client.who_has(futures))
    sizes = _ask(client, lambda: client.nbytes(keys, summary=False))
    if not all(who_has.get(key) and key in sizes for key in keys):
        raise WorkerLostError("a partition was lost after it was loaded")
    shares: dict[str, dict[int, Future]] = {}
    taken, most = dict.fromkeys(names, 0), sum(sizes[key] for key in keys) / len(names)
    # The largest first: what is left to be moved is small.
    for i, key in sorted(enumerate(keys), key=lambda pair: -sizes[pair[1]]):
        # A worker that came later has no share in this fit.
        freest = min(names, key=taken.__getitem__)
        holders = [name for name in who_has[key] if name in taken]
        name = min(holders, key=taken.__getitem__, default=freest)
        if taken[name] + sizes[key] > most and taken[freest] < taken[name]:
            name = freest
        shares.setdefault(name, {})[i] = futures[i]
        taken[name] += sizes[key]
    return shares
