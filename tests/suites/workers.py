"""Workers that are none: shards in this process, with everything pickled on its way."""

from collections.abc import Sequence
from typing import Any

import cloudpickle
import numpy as np

from fcgboost import FCGBoostClassifier, SquaredHinge, hashing
from fcgboost.backends.cluster.design import ClusterDesign
from fcgboost.backends.cluster.layout import prepare
from fcgboost.backends.cluster.shard import Shard
from fcgboost.backends.cluster.sums import Pieces, branches
from fcgboost.backends.cluster.workers import RemoteRows, WorkerLostError, Workers
from fcgboost.training.dataset import DataSet, Labelled, table_columns_of
from fcgboost.training.folds import Split
from fcgboost.training.settings import Settings, resolve
from fcgboost.training.tasks import Classification


def held_out_by_limits(data: DataSet, fraction: float, key: int) -> np.ndarray:
    """Hold out rows in memory as workers do: hashes up to a limit, but not all of a class."""
    hashes = hashing.keyed(data.row_hashes, hashing.derive(key, 1))
    is_held_out = np.zeros(len(hashes), dtype=bool)
    for stratum in np.unique(data.strata):
        rows = np.flatnonzero(data.strata == stratum)
        largest = int(hashes[rows].max())
        limit = max(fraction * 2.0**64, int(hashes[rows].min()))
        is_held_out[rows] = [h <= limit and h < largest for h in hashes[rows].tolist()]
    return is_held_out


def one_split_by_limits(data: DataSet, key: int, share: float) -> list[Split]:
    """Hold out a share in memory as workers do."""
    is_held_out = held_out_by_limits(data, share, key)
    if not is_held_out.any():
        return []
    return [Split(np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out))]


def resolve_without_folds(estimator: Any, has_validation_data: bool) -> Settings:
    """Return the settings that workers have."""
    return resolve(estimator, has_validation_data).without_folds()


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

    def round(self, method: str, *args: Any, owner: Any = None) -> Any:
        asked = [method] if method != "ask" else args[5:] if args[1] == "at" else args[1:]
        self.questions.append(asked[0])
        return super().round(method, *args, owner=owner)

    def ask_all(self, method: str, *args: Any) -> Pieces:
        message = cloudpickle.dumps((method, args))
        replies = [self._answer(branch, message) for branch in branches(self._shards)]
        if self._losses and len(self.questions) > self._losses[0]:
            del self._losses[0]
            raise WorkerLostError("the shards were lost after they had answered")
        first, *others = map(cloudpickle.loads, replies)
        return first.with_others(others)

    def held(self) -> list[tuple[int, int]]:
        """Return the dataset of each partition with rows, and its number of sets of columns."""
        datasets = [dataset for shard in self._shards for dataset in shard._datasets.items()]
        return [
            (i, len(part._columns))
            for i, dataset in datasets
            for part in dataset.parts.values()
            if part
        ]

    def _answer(self, branch: Sequence[Shard], message: bytes) -> bytes:
        """Let the first shard of a branch ask the others, and answer for all."""
        head, below = branch[0], branches(branch[1:])
        replies = [self._answer(other, message) for other in below]
        method, args = cloudpickle.loads(message)
        own = getattr(head, method)(*args)
        reply = cloudpickle.dumps(own.with_others(map(cloudpickle.loads, replies)))
        self.sizes += [len(message), len(reply)]
        return reply


def label(X: Any, y: Any, weights: Any) -> Labelled:
    """Return a partition as it is loaded."""
    classes, codes = np.unique(y, return_inverse=True)
    return Labelled(Classification(SquaredHinge(), None, classes), X, codes, weights)


def cut(X: Any, y: Any, weights: Any, cuts: list[int]) -> dict[int, Labelled]:
    """Cut rows into numbered partitions."""
    positions = np.split(np.arange(len(weights)), cuts)
    return {i: label(X[p], y[p], weights[p]) for i, p in enumerate(positions)}


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
    table_columns: Any = None,
    **parameters: Any,
) -> Any:
    """Fit a classifier to the rows of workers; it may go on from the last one."""
    model = FCGBoostClassifier(**parameters)
    model.n_features_in_, model._table_columns_ = workers.n_columns, table_columns
    settings = resolve_without_folds(model, has_validation_data)
    fit = prepare(settings, workers, table_columns_of(model), has_validation_data, last)
    model._follow(fit, {"estimator": model})
    return model


def lay(workers: Workers, dictionary: Any, standardize: bool, n_classes: int) -> ClusterDesign:
    """Lay a dictionary over the rows of workers whose labels are codes."""
    rows = RemoteRows(workers, 0)
    task = Classification(SquaredHinge(), None, np.arange(n_classes), np.ones(n_classes))
    rows = rows._replace(n_rows=rows.ask("set_task", task).n_rows)
    moments = rows.ask("moments", task, None, None)
    question = (2**20, standardize, None, dictionary, moments, task)
    workers.round("attach", 0, *question)
    is_sparse = rows.ask("survey")[1][0]
    return ClusterDesign(rows, dictionary, moments, standardize, is_sparse)
