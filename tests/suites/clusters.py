"""Real Dask clusters with worker processes, data in partitions, and what they should give."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from fcgboost.datasets import make_simulation
from fcgboost.losses import SquaredHinge
from fcgboost.training.tasks import Classification

# Quiet and deterministic: no dashboard, no port that may be taken, no thread beside the worker's.
dask.config.set({"distributed.admin.log-format": "%(message)s", "logging.distributed": "critical"})

TASK = Classification(SquaredHinge())


@contextmanager
def cluster_of(n_workers: int, **options: Any) -> Iterator[Client]:
    """Start workers, each a process with one thread, and connect to them."""
    usual = {"threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=n_workers, **{**usual, "memory_limit": 0, **options}) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def noisy(n: int = 600, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Give rows with units of their own, and noisy labels."""
    X, y = make_simulation(n, noise="uniform", level=0.2, random_state=seed)
    if n_classes > 2:
        y = np.where(X[:, 0] > 0.7, 2, (y > 0) * 1)
    return X * [3.0, 100.0] - [7.0, 0.0], y


def in_chunks(X: np.ndarray, y: np.ndarray, sizes: tuple[int, ...], *more: np.ndarray) -> list[Any]:
    """Give arrays in partitions of these numbers of rows."""
    arrays = [da.from_array(X, chunks=(sizes, X.shape[1]))]
    return [*arrays, *(da.from_array(values, chunks=(sizes,)) for values in (y, *more))]
