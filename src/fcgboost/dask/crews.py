"""The workers of a Dask cluster as a crew: one actor on each holds its rows."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import cloudpickle
from distributed import Actor, Client, Future, KilledWorker, wait

from fcgboost.dask.actors import DaskShard, LoadedPart
from fcgboost.dask.collections import Table, culled
from fcgboost.designs.calls import Crew
from fcgboost.designs.rows import Part
from fcgboost.designs.shards import BYTES_PER_ROW
from fcgboost.stopping import theory_steps

# Rows stay in memory where they, and the columns made of them, take no more than this share of it
# beside a worker that does nothing.
_SHARE_IN_MEMORY = 0.6
_BARE_WORKER = 300e6
# Seconds after which workers that do not come are not coming.
_PATIENCE = 10.0
_LOOK_EVERY = 0.5


class WorkerLostError(RuntimeError):
    """A worker that held rows is gone, and with it what it knew."""


class DaskCrew(Crew):
    """Actors, one per worker that has rows.

    Parameters
    ----------
    client : Client
    table : Table
        The rows for training.
    held_out : Table or None
        Those for validation.
    n_steps : int or None
        The limit of the number of steps; None is the default one.
    """

    def __init__(
        self, client: Client, table: Table, held_out: Table | None, n_steps: int | None
    ) -> None:
        super().__init__()
        self._client = client
        workers = find_workers(client)
        tables = [table] if held_out is None else [table, held_out]
        if _fit_in_memory(client, tables, workers, n_steps):
            places = [_load(client, t.parts, list(workers)) for t in tables]
        else:
            # Every other one, so that a sorted file does not give a worker one class only.
            places = [_deal(t.parts, list(workers)) for t in tables]
        self._futures = self._make_actors(places, workers)
        self._actors: list[Actor] = [future.result() for future in self._futures]

    def _make_actors(
        self, places: Sequence[dict[str, list[Any]]], workers: dict[str, Any]
    ) -> list[Future]:
        # Never the same: a fit must not meet the actors of another one.
        token = uuid.uuid4().hex
        mine = {name for place in places for name, parts in place.items() if parts}
        futures = []
        for i, name in enumerate(sorted(mine)):
            info = workers.get(name)
            if info is None:
                raise WorkerLostError(f"worker {name} is gone")
            parts = [place.get(name, []) for place in places] + [[]]
            futures.append(
                self._client.submit(
                    DaskShard,
                    parts[0],
                    parts[1],
                    info["memory_limit"],
                    info["nthreads"],
                    key=f"fcgboost-shard-{token}-{i}",
                    workers=[name],
                    allow_other_workers=False,
                    actor=True,
                    pure=False,
                )
            )
        await_all(self._client, futures, sorted(mine))
        return futures

    def call(self, method: str, *args: Any) -> list[Any]:
        """Ask all actors at once."""
        message = bytes(cloudpickle.dumps(args))
        try:
            waiting = [getattr(actor, method)(message) for actor in self._actors]
        except RuntimeError as error:
            raise WorkerLostError(str(error)) from error
        replies: list[Any] = []
        failures: list[Exception] = []
        for actor, future, reply in zip(self._actors, self._futures, waiting, strict=True):
            try:
                is_right, value = cloudpickle.loads(self._wait_for(reply, future))
                (replies if is_right else failures).append(value)
            except Exception as error:  # all are heard before one is told
                failures.append(_translated(error, actor))
        for failure in sorted(failures, key=lambda f: not isinstance(f, WorkerLostError)):
            raise failure
        return [reply for reply in replies if reply is not None]

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
    """Return the workers, after some patience if there are none."""
    deadline = time.monotonic() + _PATIENCE
    while not (workers := _ask(client, lambda: client.scheduler_info(n_workers=-1)["workers"])):
        if time.monotonic() > deadline:
            raise RuntimeError(
                f"The Dask cluster has had no workers for {_PATIENCE:.0f} seconds; start some, for "
                "example with cluster.scale(2), and fit again."
            )
        time.sleep(_LOOK_EVERY)
        _ask(client, client.nthreads)
    present = _ask(client, client.nthreads)
    return {name: info for name, info in workers.items() if name in present}


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
    """Wait for futures; never for workers that are gone or full.

    Parameters
    ----------
    client : Client
    futures : sequence of Future
    workers : sequence of str
        The workers that are needed; none where any worker will do.
    """
    pending, stuck_since = list(futures), None
    while pending:
        try:
            pending = list(wait(pending, timeout=_LOOK_EVERY).not_done)
        except TimeoutError:
            reason = _why_stuck(client, workers)
            if reason is None:
                stuck_since = None
                continue
            stuck_since = stuck_since or time.monotonic()
            if time.monotonic() - stuck_since > _PATIENCE:
                raise RuntimeError(reason) from None
    for future in futures:
        if future.status != "finished":
            error = future.exception() if future.status == "error" else None
            if isinstance(error, KilledWorker):
                raise RuntimeError(
                    f"Loading rows has killed several workers ({error.last_worker} was the last): "
                    "they may have too little memory for a partition. Use smaller partitions."
                ) from error
            if error is None or "Actor was lost" in str(error):
                raise WorkerLostError(f"a worker that loads rows is gone ({future.status})")
            raise error


def _why_stuck(client: Client, workers: Sequence[str]) -> str | None:
    """Say why waiting is in vain, if it is; raise an error where nothing can mend it."""
    present = _ask(client, lambda: client.scheduler_info(n_workers=-1)["workers"])
    present = {name: present[name] for name in _ask(client, client.nthreads) if name in present}
    if not present:
        return "The Dask cluster has lost all its workers, and no new ones came."
    if not set(workers) <= set(present):
        raise WorkerLostError("a worker that loads rows is gone")
    needed = [present[name] for name in workers or present]
    # One that is needed by its name is enough; of the others all.
    is_any_enough = any if workers else all
    if is_any_enough(info.get("status") == "paused" for info in needed):
        return (
            "The Dask workers are paused, because their memory is full: give them more, or free "
            "what other work keeps there."
        )
    return None


def _fit_in_memory(
    client: Client, tables: Sequence[Table], workers: dict[str, Any], n_steps: int | None
) -> bool:
    """Whether all rows, and the columns that will be selected, can stay in the workers' memory."""
    limits = [info["memory_limit"] for info in workers.values()]
    if not all(limits) or not all(table.can_load for table in tables):
        return True
    needed = 0.0
    for table in tables:
        n_rows = table.n_rows if table.n_rows is not None else _probe(client, table)
        columns = n_steps if n_steps is not None else 5 * theory_steps(n_rows)
        # The rows twice for a moment, once more in single precision; columns; vectors.
        needed += n_rows * (20 * table.n_features + 8 * columns + BYTES_PER_ROW)
    return bool(needed <= sum(max(0.0, _SHARE_IN_MEMORY * n - _BARE_WORKER) for n in limits))


def _probe(client: Client, table: Table) -> int:
    """Guess the number of rows of a table from its first, middle and last partition."""
    n = len(table.parts)
    some = [table.parts[i] for i in sorted({0, n // 2, n - 1})]
    return int(max(_count_rows(client, client.compute(some))) * n)


def _count_rows(client: Client, futures: Sequence[Future]) -> list[int]:
    keys = [f"fcgboost-count-{uuid.uuid4().hex}" for _ in futures]
    counts = [client.submit(_n_rows, f, key=k) for f, k in zip(futures, keys, strict=True)]
    await_all(client, counts)
    return [int(count) for count in client.gather(counts)]


def _n_rows(part: Part) -> int:
    return len(part.y)


def _deal(parts: Sequence[Any], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return every worker partitions that it loads when it needs them."""
    return {
        name: [LoadedPart(culled(part)) for part in parts[i :: len(names)]]
        for i, name in enumerate(names)
    }


def _load(client: Client, parts: Sequence[Any], names: Sequence[str]) -> dict[str, list[Any]]:
    """Let Dask make all partitions; say which worker gets which.

    Partitions stay where they are, but for those that would make a worker's share too large: the
    others would wait for it in every round.
    """
    futures = client.compute(list(parts))
    await_all(client, futures)
    who_has = _ask(client, lambda: client.who_has(futures))
    sizes = _count_rows(client, futures)
    most = sum(sizes) / len(names)
    places: dict[str, list[Any]] = {name: [] for name in names}
    taken = dict.fromkeys(names, 0)
    # The largest first: what is left to be moved is small.
    for i in sorted(range(len(futures)), key=lambda i: -sizes[i]):
        holders = who_has.get(futures[i].key) or ()
        if not holders:
            raise WorkerLostError("a partition was lost after it was loaded")
        # A worker that came later has no share in this fit.
        freest = min(names, key=taken.__getitem__)
        name = min((h for h in holders if h in taken), key=taken.__getitem__, default=freest)
        if taken[name] + sizes[i] > most and taken[freest] < taken[name]:
            name = freest
        places[name].append(futures[i])
        taken[name] += sizes[i]
    return {name: found for name, found in places.items() if found}
