"""What a fit on a Dask cluster asks its workers, how long they take, and what the network carries.

Nothing here changes what a fit does: its workers and Dask's connections are wrapped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any
from unittest import mock

from distributed import Client
from distributed.comm.tcp import TCP

from fcgboost import Step, dask
from fcgboost.backends.dask.workers import DaskWorkers


@dataclass(frozen=True)
class Round:
    """One question to all workers: during which step, what for, how long it took."""

    step: int
    verb: str
    seconds: float


@dataclass
class Watch:
    """The rounds of a fit; also a callback that counts its steps."""

    rounds: list[Round] = field(default_factory=list)
    n_rows: list[int] = field(default_factory=list)
    n_steps: int = 0

    def __call__(self, step: Step) -> None:
        self.n_steps = step.k

    def seconds(self, verb: str) -> list[float]:
        """Return the time of every round for a verb within the steps."""
        return [r.seconds for r in self.of_steps if r.verb == verb]

    @property
    def of_steps(self) -> list[Round]:
        """The rounds after the first step, which also prepares, up to the last one."""
        return [r for r in self.rounds if 0 < r.step < self.n_steps]

    def per_step(self, verb: str) -> float:
        """Return how often a verb is used in a step, on the average."""
        return len(self.seconds(verb)) / max(1, self.n_steps - 1)


@contextmanager
def watched() -> Iterator[Watch]:
    """Write down the rounds of the fits within the block."""
    watch = Watch()

    class WatchedWorkers(DaskWorkers):
        def connect(self) -> None:
            super().connect()
            watch.n_rows = list(self._client.run(count_rows).values())

        def round(self, method: str, *args: Any, **options: Any) -> Any:
            start = time.perf_counter()
            total = super().round(method, *args, **options)
            seconds = time.perf_counter() - start
            if method == "ask":
                _, verb, *rest = args
                watch.rounds.append(
                    Round(watch.n_steps, rest[3] if verb == "at" else verb, seconds)
                )
            return total

    with mock.patch.object(dask, "DaskWorkers", WatchedWorkers):
        yield watch


def count_rows(dask_worker: Any) -> int:
    """Return the number of rows for training that a worker has."""
    shards = dask_worker.state.actors.values()
    parts = [part for shard in shards for part in shard._datasets[0].parts.values()]
    return sum(part.count() for part in parts if part is not None)


def count_writes() -> None:
    """Count the bytes that this process writes to TCP connections from now on."""
    if hasattr(TCP.write, "n_bytes"):
        return
    plain = TCP.write

    @wraps(plain)
    async def write(self: TCP, *args: Any, **kwargs: Any) -> int:
        n_bytes = await plain(self, *args, **kwargs)
        write.n_bytes += n_bytes  # type: ignore[attr-defined]
        return n_bytes

    write.n_bytes = 0  # type: ignore[attr-defined]
    TCP.write = write  # type: ignore[method-assign]


def written() -> int:
    """Give the bytes that this process has written."""
    return TCP.write.n_bytes  # type: ignore[attr-defined]


class Traffic:
    """The bytes that all processes of a cluster write; a callback that looks after some steps.

    Client and scheduler are one process here. Heartbeats and the like are counted, too.

    Parameters
    ----------
    client : Client
    steps : tuple of int
        The steps after which it looks.
    """

    def __init__(self, client: Client, *steps: int) -> None:
        self._client, self._steps = client, steps
        self.counts: dict[int, int] = {}
        count_writes()
        client.run(count_writes)

    def __call__(self, step: Step) -> None:
        if step.k in self._steps:
            self.counts[step.k] = written() + sum(self._client.run(written).values())

    @property
    def per_step(self) -> float:
        """Bytes per step between the first and the last look."""
        first, last = min(self.counts), max(self.counts)
        return (self.counts[last] - self.counts[first]) / (last - first)


class Echo:
    """An actor that gives as many bytes as it is asked for."""

    def give(self, n_bytes: int) -> bytes:
        return bytes(n_bytes)
