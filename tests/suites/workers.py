"""Workers that are none: shards in this process, with everything pickled on its way."""

from typing import Any

import cloudpickle
import numpy as np

from fcgboost.dask.design import DaskDesign, Workers, add_up
from fcgboost.dask.shard import LoadedRows, Shard


class LocalWorkers(Workers):
    """Shards in this process; remembers methods, and the bytes of what would travel."""

    def __init__(self, shards: list[Shard]) -> None:
        super().__init__()
        self.shards = shards
        self.asked: list[str] = []
        self.sizes: list[int] = []

    def call(self, method: str, *args: Any) -> list[dict[int, Any]]:
        message = cloudpickle.dumps((method, args))
        self.asked.append(_name(method, args))
        self.sizes.append(len(message))
        replies = []
        for shard in self.shards:
            name, values = cloudpickle.loads(message)
            reply = cloudpickle.dumps(getattr(shard, name)(*values))
            self.sizes.append(len(reply))
            replies.append(cloudpickle.loads(reply))
        return replies


def _name(method: str, args: tuple[Any, ...]) -> str:
    """Give the name of a question: that of a verb at points, else that of a method."""
    if method not in ("ask", "ask_validation"):
        return method
    return args[3] if args[0] == "at" else args[0]


def cut(X: Any, y: Any, weights: Any, cuts: list[int]) -> dict[int, LoadedRows]:
    """Cut rows into numbered partitions."""
    places = np.split(np.arange(len(weights)), cuts)
    return {i: LoadedRows(X[p], y[p], weights[p]) for i, p in enumerate(places)}


def make_workers(
    X: Any,
    y: Any,
    weights: Any,
    cuts: list[int],
    n_workers: int = 2,
    validation: tuple[Any, Any, Any] | None = None,
    **options: Any,
) -> LocalWorkers:
    """Cut rows into partitions and deal them to workers."""
    tables = cut(X, y, weights, cuts), {} if validation is None else cut(*validation, cuts[:1])
    return LocalWorkers(
        [
            Shard(
                *({i: table[i] for i in table if i % n_workers == w} for table in tables), **options
            )
            for w in range(n_workers)
        ]
    )


def lay(
    workers: LocalWorkers, dictionary: Any, standardize: bool, n_classes: int, budget: int = 2**20
) -> DaskDesign:
    """Lay a dictionary over the rows of workers whose labels are codes."""
    workers.ask("encode", np.arange(n_classes))
    ones = np.ones(n_classes)
    moments = add_up(workers.ask("moments", ones))
    totals = add_up(workers.ask("class_totals", n_classes))
    laid = workers.round("lay", dictionary, moments, ones, standardize, budget)
    return DaskDesign(workers, dictionary, moments, standardize, totals, laid)
