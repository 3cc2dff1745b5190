"""Machines that are none: shards in this process, with everything pickled on its way."""

import itertools
from typing import Any

import cloudpickle
import numpy as np

from fcgboost import FCGBoostClassifier, spread
from fcgboost.backends.calls import Crew, Remote
from fcgboost.backends.cluster import ClusterDesign
from fcgboost.backends.moments import add_up, gather_moments
from fcgboost.backends.rows import Part
from fcgboost.backends.shards import Shard
from fcgboost.training.fit import Fit
from fcgboost.training.resume import Start
from fcgboost.training.settings import resolve


class HereCrew(Crew):
    """Shards in this process; counts the bytes of what would travel."""

    def __init__(self, shards: list[Shard]) -> None:
        super().__init__()
        self.shards = shards
        self.sent: list[int] = []
        self.received: list[int] = []

    def call(self, method: str, *args: Any) -> list[Any]:
        message = cloudpickle.dumps((method, args))
        self.sent.append(len(message))
        replies = []
        for shard in self.shards:
            name, values = cloudpickle.loads(message)
            reply = cloudpickle.dumps(getattr(shard, name)(*values))
            self.received.append(len(reply))
            replies.append(cloudpickle.loads(reply))
        return [reply for reply in replies if reply is not None]


class Parts:
    """A source of one part; says how often it was asked."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.n_loads = 0

    def __call__(self) -> Part:
        self.n_loads += 1
        return self.part


def make_crew(
    X: Any,
    y: Any,
    weights: Any,
    cuts: list[int],
    n_shards: int = 2,
    can_load: bool = False,
    budget: int | None = None,
    held_out: tuple[Any, Any, Any] | None = None,
) -> HereCrew:
    """Cut rows into parts and deal them to shards."""
    sources = cut(X, y, weights, cuts)
    others = [] if held_out is None else cut(*held_out, cuts[:1])
    return HereCrew(
        [
            Shard(sources[i::n_shards], others[i::n_shards], can_load, budget, 1)
            for i in range(n_shards)
        ]
    )


def cut(X: Any, y: Any, weights: Any, cuts: list[int]) -> list[Parts]:
    """Give the sources of parts."""
    places = np.split(np.arange(len(weights)), cuts)
    return [Parts(Part(X[p], y[p], weights[p])) for p in places]


def fit_on(crew: HereCrew, has_validation_data: bool = False, **parameters: Any) -> Any:
    """Fit a classifier to the rows of a crew."""
    model = FCGBoostClassifier(**parameters)
    settings, starts = resolve(model, has_validation_data), list[Start]()
    layout = spread.lay_out(settings, crew, has_validation_data, starts)
    run = Fit.of(settings, layout, starts[-1])
    trace, model.status_ = run.path([], None)
    model.__dict__.update(run.attributes(trace))
    return model


def lay_out(crew: HereCrew, dictionary: Any, standardize: bool) -> ClusterDesign:
    """Lay a dictionary over the rows of a crew whose labels are codes."""
    n_classes = 1 + max(int(p.rows.y.max()) for shard in crew.shards for p in shard._pieces)
    ones = np.ones(n_classes)
    moments = gather_moments(lambda *args: add_up(crew.call("add_up", ones, *args)))
    n_rows = sum(crew.call("lay", dictionary, moments, ones, standardize, 2**20))
    return ClusterDesign(crew, dictionary, moments, standardize, n_rows)


class Rooms:
    """Designs over crews with one layout of the rows, and vectors that all of them know."""

    cuts = (5, 20, 20, 57)
    n_shards = 2

    def __init__(self, can_load: bool = False, budget: int | None = None) -> None:
        self._options = (can_load, budget)
        self._crews: list[HereCrew] = []
        self._vectors: dict[int, np.ndarray] = {}
        self._ids = itertools.count(10**6)

    def design(self, dictionary, X, weights, standardize, **options: Any) -> ClusterDesign:
        y = np.zeros(len(weights), dtype=np.intp)
        crew = make_crew(X, y, weights, list(self.cuts), self.n_shards, *self._options)
        self._crews.append(crew)
        design = lay_out(crew, dictionary, standardize)
        for id_, values in self._vectors.items():
            self._put(crew, id_, values)
        return design

    def vector(self, values: np.ndarray) -> Any:
        if values.ndim == 2:
            return tuple(self.vector(column) for column in values.T)
        id_ = next(self._ids)
        self._vectors[id_] = values
        for crew in self._crews:
            self._put(crew, id_, values)
        return Remote(id_, [])

    def array(self, vector: Remote) -> np.ndarray:
        values = np.empty(sum(len(places) for places, _ in self._pieces(self._crews[-1])))
        self._crews[-1].ask("n_distinct", join=max)
        for places, piece in self._pieces(self._crews[-1]):
            values[places] = piece.objects[vector.id]
        return values

    def _put(self, crew: HereCrew, id_: int, values: np.ndarray) -> None:
        for places, piece in self._pieces(crew):
            if len(values) > places.max():
                piece.objects[id_] = values[places]

    def _pieces(self, crew: HereCrew) -> list[tuple[np.ndarray, Any]]:
        n_rows = sum(p.rows.n_rows for shard in crew.shards for p in shard._pieces)
        parts = np.split(np.arange(n_rows), self.cuts)
        found = []
        for i, shard in enumerate(crew.shards):
            mine = [part for part in parts[i :: self.n_shards] if len(part)]
            mine = mine if self._options[0] else [np.concatenate(mine)]
            found += zip(mine, shard._pieces, strict=True)
        return found
