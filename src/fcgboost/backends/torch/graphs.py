"""Launches that a GPU repeats by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def recorded(work: Callable[[], None]) -> Any:
    """Return launches on a GPU as a graph; memory that they use must stay where it is."""
    from torch import cuda

    graph = cuda.CUDAGraph()
    here = cuda.current_stream()
    stream = cuda.Stream()
    stream.wait_stream(here)
    with cuda.stream(stream):
        # Other threads may fit meanwhile.
        graph.capture_begin(capture_error_mode="thread_local")
        work()
        graph.capture_end()
    here.wait_stream(stream)
    return graph
