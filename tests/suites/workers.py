"""Workers that are none: shards in this process, with everything pickled on its way."""

from typing import Any

import cloudpickle
import numpy as np

from fcgboost import FCGBoostClassifier
from fcgboost.cluster.design import ClusterDesign, WorkerLostError, Workers, add_up
from fcgboost.cluster.layout import prepare
from fcgboost.cluster.shard import LoadedRows, Shard
from fcgboost.training.settings import resolve


class LocalWorkers(Workers):
    """Shards in this process.

    Remembers the questions and the bytes of what would travel. All shards are lost at the
    questions whose numbers are in `losses`.
    """

    def __init__(self, shards: list[tuple[Any, ...]], losses: tuple[int, ...] = ()) -> None:
        super().__init__()
        self._made_of, self._losses = shards, list(losses)
        self._shards: list[Shard] = []
        self.questions: list[str] = []
        self.sizes: list[int] = []

    def connect(self) -> None:
        self._shards = [Shard(*some) for some in self._made_of]

    def close(self) -> None:
        self._shards = []

    def call(self, method: str, *args: Any) -> list[dict[int, Any]]:
        named = args[3] if args[:1] == ("at",) else args[0]
        self.questions.append(named if method.startswith("ask") else method)
        return super().call(method, *args)

    def ask_all(self, method: str, *args: Any) -> list[dict[int, Any]]:
        message = cloudpickle.dumps((method, args))
        replies = []
        for shard in self._shards:
            method, args = cloudpickle.loads(message)
            replies.append(cloudpickle.dumps(getattr(shard, method)(*args)))
        if self._losses and len(self.questions) > self._losses[0]:
            del self._losses[0]
            raise WorkerLostError("the shards were lost after they had answered")
        self.sizes += [len(message), *map(len, replies)]
        return [cloudpickle.loads(reply) for reply in replies]


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
    losses: tuple[int, ...] = (),
    options: tuple[int, ...] = (),
) -> LocalWorkers:
    """Cut rows into partitions and deal them to workers."""
    tables = cut(X, y, weights, cuts), {} if validation is None else cut(*validation, cuts[:1])
    dealt = [
        [{i: table[i] for i in table if i % n_workers == w} for table in tables]
        for w in range(n_workers)
    ]
    return LocalWorkers([(*some, *options) for some in dealt], losses)


def fit_on(workers: Workers, has_validation_data: bool = False, **parameters: Any) -> Any:
    """Fit a classifier to the rows of workers."""
    model = FCGBoostClassifier(**parameters)
    fit = prepare(resolve(model, has_validation_data), workers, has_validation_data, None)
    trace, model.status_ = fit.path([], None)
    model.__dict__.update(fit.attributes(trace))
    model.n_features_in_ = len(model.model_.scale)
    return model


def lay(workers: Workers, dictionary: Any, standardize: bool, n_classes: int) -> ClusterDesign:
    """Lay a dictionary over the rows of workers whose labels are codes."""
    workers.ask("encode", np.arange(n_classes))
    ones = np.ones(n_classes)
    moments = add_up(workers.ask("moments", ones))
    totals = add_up(workers.ask("class_totals", n_classes))
    laid = workers.round("lay", 2**20, standardize, None, dictionary, moments, ones)
    return ClusterDesign(workers, dictionary, moments, standardize, totals, laid)
