"""What runs on a worker of a Dask cluster: an actor that holds rows."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle
import psutil

from fcgboost.designs.rows import Part, Source
from fcgboost.designs.shards import Shard

# Where not all rows fit, rows and columns stay until this share of the memory limit is in use: the
# rest is for the partition that is worked on, and Dask stops full workers.
_SHARE_KEPT = 0.5
# Stored values of candidates take no more than this.
_SHARE_STORED = 0.15
# glibc's M_TRIM_THRESHOLD and M_MMAP_THRESHOLD, in bytes, and M_ARENA_MAX: other arenas than the
# first one give memory back whatever the thresholds say.
_MALLOPT = ((-1, 2**29), (-3, 2**25), (-8, 1))


class KeptPart:
    """A source that has its part."""

    def __init__(self, part: Part) -> None:
        self._part = part

    def __call__(self) -> Part:
        return self._part


class LoadedPart:
    """A source that makes its part anew every time, here and now."""

    def __init__(self, part: Any) -> None:
        self._part = part

    def __call__(self) -> Part:
        part = self._part.compute(scheduler="synchronous")
        assert isinstance(part, Part)
        if "pyarrow" in sys.modules:
            # Its allocator keeps what it does not need, several times the size of a partition.
            sys.modules["pyarrow"].default_memory_pool().release_unused()
        return part


class DaskShard:
    """The actor on a worker: a `Shard` that is spoken to in bytes.

    What cannot be unpickled, here or there, must end in an answer: a message that Dask itself can
    not read is waited for without end.
    """

    def __init__(
        self,
        parts: Sequence[Part | LoadedPart],
        held_out: Sequence[Part | LoadedPart],
        memory_limit: int,
        n_threads: int,
    ) -> None:
        can_load = any(isinstance(part, LoadedPart) for part in (*parts, *held_out))
        budget = None
        if not can_load:
            keep_freed_memory()
        elif memory_limit:
            in_use = psutil.Process().memory_info().rss
            budget = max(0, int(_SHARE_KEPT * memory_limit) - in_use)
        self._shard = Shard(_sources(parts), _sources(held_out), can_load, budget, n_threads)
        if memory_limit:
            self._shard.store_limit = int(_SHARE_STORED * memory_limit)

    def answer(self, method: str, message: bytes) -> bytes:
        """Call a method of the shard."""
        try:
            reply = (True, getattr(self._shard, method)(*cloudpickle.loads(message)))
            return bytes(cloudpickle.dumps(reply))
        except Exception as error:  # whatever it is, the client should hear of it
            try:
                told = cloudpickle.dumps((False, error))
                cloudpickle.loads(told)
            except Exception:
                told = cloudpickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
            return bytes(told)


def _named(method: str) -> Callable[[DaskShard, bytes], bytes]:
    """Return a method that shows by its name on the profile page of the dashboard."""

    def call(self: DaskShard, message: bytes) -> bytes:
        return self.answer(method, message)

    call.__name__ = method
    return call


#: What a shard can be asked.
_METHODS = (
    *("survey", "encode", "digest", "class_totals", "histogram", "set_aside", "add_up", "lay"),
    *("clip", "run", "hits"),
)
for _method in _METHODS:
    setattr(DaskShard, _method, _named(_method))


def keep_freed_memory() -> None:
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


def _sources(parts: Sequence[Part | LoadedPart]) -> list[Source]:
    return [part if isinstance(part, LoadedPart) else KeptPart(part) for part in parts]
