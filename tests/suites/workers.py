"""Workers that are none: shards in this process, with everything pickled on its way."""

from collections.abc import Sequence
from typing import Any

import cloudpickle
import numpy as np

from fcgboost import FCGBoostClassifier
from fcgboost.cluster.design import ClusterDesign
from fcgboost.cluster.layout import prepare
from fcgboost.cluster.shard import LoadedRows, Shard
from fcgboost.cluster.sums import Pieces, branches
from fcgboost.cluster.workers import Rows, WorkerLostError, Workers
from fcgboost.training.dataset import readers_of
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

    @property
    def n_columns(self) -> int:
        """The number of columns of the rows."""
        return next(rows.X.shape[1] for some in self._made_of for rows in some[0].values())

    def connect(self) -> None:
        tables = [[one for some in self._made_of for one in some[i]] for i in range(2)]
        n_parts = [max(numbers, default=-1) + 1 for numbers in tables]
        self._shards = [Shard(*some[:2], n_parts, *some[2:]) for some in self._made_of]

    def close(self) -> None:
        self._shards = []

    def call(self, method: str, *args: Any) -> Any:
        asked = [method] if method != "ask" else args[5:] if args[1] == "at" else args[1:]
        self.questions.append(asked[0])
        return super().call(method, *args)

    def ask_all(self, method: str, *args: Any) -> Pieces:
        message = cloudpickle.dumps((method, args))
        replies = [self._answer(branch, message) for branch in branches(self._shards)]
        if self._losses and len(self.questions) > self._losses[0]:
            del self._losses[0]
            raise WorkerLostError("the shards were lost after they had answered")
        first, *others = map(cloudpickle.loads, replies)
        return first.with_others(others)

    def held(self) -> list[tuple[int, int]]:
        """Return the places of all partitions with rows, and how many sets of columns they have."""
        places = [place for shard in self._shards for place in shard._places.items()]
        return [(i, len(part._columns)) for i, some in places for part in some.values() if part]

    def _answer(self, branch: Sequence[Shard], message: bytes) -> bytes:
        """Let the first shard of a branch ask the others, and answer for all."""
        head, below = branch[0], branches(branch[1:])
        replies = [self._answer(other, message) for other in below]
        method, args = cloudpickle.loads(message)
        own = getattr(head, method)(*args)
        reply = cloudpickle.dumps(own.with_others(map(cloudpickle.loads, replies)))
        self.sizes += [len(message), len(reply)]
        return reply


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
    is_mixed: bool = False,
) -> LocalWorkers:
    """Cut rows into partitions and deal them to workers, in runs or mixed."""

    def deal(i: int, n: int) -> int:
        return i % n_workers if is_mixed else i * n_workers // n

    tables = cut(X, y, weights, cuts), {} if validation is None else cut(*validation, cuts[:1])
    dealt = [
        [{i: table[i] for i in table if deal(i, len(table)) == w} for table in tables]
        for w in range(n_workers)
    ]
    return LocalWorkers([(*some, *options) for some in dealt], losses)


def fit_on(
    workers: LocalWorkers,
    has_validation_data: bool = False,
    last: Any = None,
    readers: Any = None,
    **parameters: Any,
) -> Any:
    """Fit a classifier to the rows of workers; it may go on from the last one."""
    model = FCGBoostClassifier(**parameters)
    model.n_features_in_, model._readers_ = workers.n_columns, readers
    settings = resolve(model, has_validation_data)
    fit = prepare(settings, workers, readers_of(model), has_validation_data, last)
    model._follow(fit, {"estimator": model})
    return model


def lay(workers: Workers, dictionary: Any, standardize: bool, n_classes: int) -> ClusterDesign:
    """Lay a dictionary over the rows of workers whose labels are codes."""
    rows, ones = Rows(workers, 0), np.ones(n_classes)
    rows = rows._replace(n_rows=rows.ask("encode", np.arange(n_classes)).n_rows)
    moments, totals = rows.ask("moments", ones, None, None), rows.ask("class_totals", n_classes)
    question = (2**20, standardize, None, dictionary, moments, ones, False)
    n_unscreened = workers.round("lay", 0, *question)
    return ClusterDesign(rows, dictionary, moments, standardize, totals, n_unscreened == 0)
