"""The estimators on a Dask cluster; needs the extra ``fcgboost[dask]``."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_feature_names

from fcgboost.arrays import Array, ClassLabels, Labels, Matrix, Rows, Weights
from fcgboost.backends.cluster.layout import check_supported, prepare
from fcgboost.checks import takes_missing
from fcgboost.classifiers import if_probable
from fcgboost.estimators import FCGBoostClassifier, FCGBoostRegressor
from fcgboost.members import decision_of
from fcgboost.names import with_advice
from fcgboost.prediction import BaseFCGBoost, all_or_nothing, fitted_attributes
from fcgboost.training.dataset import Labelled, table_columns_of
from fcgboost.training.settings import resolve

try:
    import cloudpickle
    import dask
    import dask.array as da
    from dask.base import is_dask_collection, tokenize
    from dask.delayed import Delayed
    from distributed import Client
except ImportError as error:
    raise ImportError(
        f"fcgboost.dask needs {error.name}: pip install 'fcgboost[dask]'.", name=error.name
    ) from error

from fcgboost.backends.dask.collections import (
    Features,
    check_whole_rows,
    find_features,
    make_table,
)
from fcgboost.backends.dask.tables import known_table_columns, learn_table_columns
from fcgboost.backends.dask.workers import DaskWorkers, find_client

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

__all__ = ["DaskFCGBoostClassifier", "DaskFCGBoostRegressor"]


@dataclass(eq=False, repr=False)
class _OnCluster(BaseFCGBoost):
    """What the estimators on a cluster share; before the class of their fits in memory."""

    # The same estimator in memory.
    _local: ClassVar[type[Any]]

    client: Client | None = field(default=None, kw_only=True)

    def _fit(
        self,
        X: Rows,
        y: Labels,
        sample_weight: Weights,
        *,
        groups: ArrayLike | None,
        validation: tuple[Rows, Labels | None, Weights],
        trusted: ArrayLike | None = None,
    ) -> Self:
        X_val, y_val, sample_weight_val = validation
        with all_or_nothing(self) as twin:
            settings = resolve(twin, has_validation_data=X_val is not None)
            check_supported(settings, groups, trusted)
            client = find_client(self.client)
            features = find_features(X, "X")
            learn_table_columns(
                twin,
                X,
                features,
                client,
            )
            table = make_table(
                settings.task,
                X,
                y,
                sample_weight,
                table_columns=known_table_columns(twin, X, features),
            )
            twin._note_features(table.features)
            held_out = None
            if X_val is not None or y_val is not None or sample_weight_val is not None:
                if X_val is None or y_val is None:
                    raise ValueError("Pass X_val and y_val together.")
                held_out = make_table(
                    settings.task,
                    X_val,
                    y_val,
                    sample_weight_val,
                    "_val",
                    features,
                    known_table_columns(twin, X_val, features),
                )
            metadata = {"sample_weight": sample_weight}
            arguments = {"estimator": self, "X": X, "y": y, "metadata": metadata}
            last = vars(twin).get("_state_") if self.warm_start else None
            # Actors use the current client.
            with client.as_current(), closing(DaskWorkers(client, table, held_out)) as workers:
                job = prepare(
                    settings.without_folds(),
                    workers,
                    table_columns_of(twin),
                    held_out is not None,
                    last,
                )
                twin._follow(job, arguments)
        return self

    def _note_features(self, features: Features) -> None:
        self.n_features_in_ = features.number
        if features.names is not None:
            import pandas as pd

            _check_feature_names(self, pd.DataFrame(columns=list(features.names)), reset=True)

    def to_local(self) -> BaseFCGBoost:
        """Return the fitted estimator as one that needs no cluster."""
        self._fitted()
        parameters = self.get_params(deep=False)
        parameters.pop("client")
        local: BaseFCGBoost = self._local(**parameters)
        local.__dict__.update(fitted_attributes(self))
        return local

    def _lazily(
        self,
        method: str,
        X: Rows,
        nothing: ClassLabels,
        columns: ArrayLike = (),
    ) -> ClassLabels | da.Array:
        """Ask the local estimator for the values of all rows, of none these are `nothing`."""
        local = self.to_local()
        if not is_dask_collection(X):
            return getattr(local, method)(X)
        is_matrix = nothing.ndim == 2
        question = (_graphed(local), method, nothing, columns)
        if not isinstance(X, da.Array):
            meta = _framed(nothing, None, method, columns)
            token = f"fcgboost-{method}"
            options = {"meta": meta, "align_dataframes": False, "token": token}
            return X.map_partitions(_values, *question, **options)
        check_whole_rows(X, "X")
        return da.map_blocks(
            _values,
            X,
            *question,
            dtype=nothing.dtype,
            chunks=(X.chunks[0], *((n,) for n in nothing.shape[1:])),
            drop_axis=None if is_matrix else 1,
            meta=nothing,
            name=f"fcgboost-{method}-{tokenize(X, _token(local))}",
        )

    def score(self, X: Rows, y: Labels, sample_weight: Weights = None) -> float:
        """Return the accuracy of a classifier, R^2 of a regressor."""
        local = self.to_local()
        if not is_dask_collection(X):
            return float(local.score(X, y, sample_weight))
        features = find_features(X, "X")._replace(
            number=self.n_features_in_, allows_missing=takes_missing(self)
        )
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            features = features._replace(names=tuple(names))
        table = make_table(
            self._make_task(),
            X,
            y,
            sample_weight,
            expected=features,
            table_columns=known_table_columns(self, X, features),
        )
        graphed = _graphed(local)
        sums = dask.delayed(list)([self._sums(graphed, part) for part in table.parts])
        of_parts = find_client(self.client).compute(sums, sync=True)
        return float(self._score_of(np.transpose(of_parts)))

    @abstractmethod
    def _sums(self, local: Delayed, rows: Delayed) -> Delayed:
        """Return the sums of a partition that the score is made of."""

    @abstractmethod
    def _score_of(self, sums: Matrix) -> float:
        """Return the score of partitions whose sums are the columns of a matrix."""

    def _staged_decision(self, X: Rows) -> Iterator[Array]:
        if is_dask_collection(X):
            raise TypeError(
                "Staged predictions need data in memory: use to_local() on each partition, for "
                "example with X.map_blocks(...), or truncate(k).predict(X) for one k."
            )
        return super()._staged_decision(X)

    def __getstate__(self) -> dict[str, object]:
        # A client belongs to its process.
        return {**super().__getstate__(), "client": None}

    def __sklearn_clone__(self) -> Self:
        client = self.client
        self.client = None
        try:
            twin: Self = super().__sklearn_clone__()
        finally:
            self.client = client
        twin.client = client
        return twin


def _values(
    X: Rows,
    local: BaseFCGBoost,
    method: str,
    nothing: ClassLabels,
    columns: ArrayLike,
) -> ClassLabels | pd.DataFrame | pd.Series:
    """Predict one block, which may have no rows."""
    values = np.asarray(getattr(local, method)(X)) if X.shape[0] else nothing
    is_frame = hasattr(X, "columns")  # of any library
    return (
        _framed(
            values,
            X.index,
            method,
            columns,
        )
        if is_frame
        else values
    )


def _framed(
    values: ClassLabels, index: pd.Index | None, method: str, columns: ArrayLike
) -> pd.DataFrame | pd.Series:
    import pandas as pd

    if values.ndim == 2:
        return pd.DataFrame(values, index=index, columns=np.asarray(columns).tolist())
    return pd.Series(values, index=index, name=method)


def _token(local: BaseFCGBoost) -> str:
    """Return a token for all that predictions depend on except the rows."""
    members = [(member.weight, member.model, member.inputs) for member in local.members_]
    of_classes = [vars(local).get(name) for name in ("classes_", "link_", "_correction_")]
    return str(tokenize(cloudpickle.dumps((members, local._loss_, of_classes))))


def _graphed(local: BaseFCGBoost) -> Delayed:
    """Return a delayed estimator that is in the graph once for all partitions."""
    return dask.delayed(local, name=f"fcgboost-model-{_token(local)}", traverse=False)


@dask.delayed  # type: ignore[untyped-decorator]
def _hits(local: FCGBoostClassifier, rows: Labelled) -> Array:
    """Return the weight of the correctly classified rows, and of all rows."""
    if len(rows.target) == 0:
        return np.zeros(2)
    values = local._flat(decision_of(local.members_, rows.X))
    is_hit = local.labels_of(values) == rows.task.labels(rows.target)
    return np.array([rows.weights @ is_hit, rows.weights.sum()])


@dask.delayed  # type: ignore[untyped-decorator]
def _squares(local: FCGBoostRegressor, rows: Labelled) -> Array:
    """Return the weight of rows, their mean, and the squares about it and of errors, summed."""
    weight = rows.weights.sum()
    if weight == 0.0:
        return np.zeros(4)
    decision = decision_of(local.members_, rows.X)[:, 0]
    predicted = local._loss_.inverse_link(decision)
    y = rows.target
    mean = rows.weights @ y / weight
    squares = rows.weights @ (y - mean) ** 2
    errors = rows.weights @ (y - predicted) ** 2
    return np.array([weight, mean, squares, errors])


@with_advice
@dataclass(eq=False, repr=False)
class DaskFCGBoostClassifier(_OnCluster, FCGBoostClassifier):
    """`FCGBoostClassifier` for rows on the workers of a Dask cluster.

    Takes Dask arrays with whole rows in every chunk, and data frames. Rows stay on their workers; a
    step sends candidates, their scores, and sums whose size does not depend on the number of rows.
    The same data, partitions and seed give the same model bit by bit, with any number of workers;
    after the loss of a worker they give the same model up to rounding. Where the same rows are
    drawn and held out, it is that of `FCGBoostClassifier` up to rounding, which the search for
    learned atoms magnifies: their decision values agree to about 1e-4, those of many steps to 1e-3.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The Dask client; None means the current one.
    **parameters
        The parameters of `FCGBoostClassifier`, with the same defaults. Only full correction by
        Newton's method is supported, with `device` "cpu", accuracy as `scoring`, and neither
        `metrics` nor `time_limit`. `n_jobs` is ignored: each worker uses all its threads.

    Notes
    -----
    `fit` takes y, weights and validation data in the partitions of their X, and neither `groups`
    nor `trusted`: rows are not divided into folds. So ``dictionary="auto"`` means "fast", which
    holds one part out, and `cv` is "auto" or None. `findings_` are about text, dates and ids only;
    row numbers stay. Predictions for Dask collections are lazy.

    If a worker is lost, its partitions are loaded again and the fit continues. If the client's
    process is lost, so is the fit.
    """

    _local = FCGBoostClassifier

    def decision_function(self, X: Rows) -> Array | da.Array:
        """Return decision values; lazily for a Dask collection."""
        self._fitted()
        n = len(self.classes_)
        shape = (0, n) if n > 2 else 0
        return self._lazily(
            "decision_function",
            X,
            np.zeros(shape),
            self.classes_,
        )

    def predict(self, X: Rows) -> ClassLabels | da.Array:
        """Return the predicted class of each row; lazily for a Dask collection."""
        self._fitted()
        return self._lazily("predict", X, np.zeros(0, dtype=self.classes_.dtype))

    @if_probable
    def predict_proba(self, X: Rows) -> Array | da.Array:
        """Return class probabilities; lazily for a Dask collection."""
        self._fitted()
        return self._lazily(
            "predict_proba",
            X,
            np.zeros((0, len(self.classes_))),
            self.classes_,
        )

    def _sums(self, local: Delayed, rows: Delayed) -> Delayed:
        return _hits(local, rows)

    def _score_of(self, sums: Matrix) -> float:
        hits, weights = sums
        return float(hits.sum() / weights.sum())


@with_advice
@dataclass(eq=False, repr=False)
class DaskFCGBoostRegressor(_OnCluster, FCGBoostRegressor):
    """`FCGBoostRegressor` for rows on the workers of a Dask cluster.

    All that `DaskFCGBoostClassifier` says of data, bits and settings is true of it. The units of
    losses that outliers change little, and starting points, are those of 4,096 means of neighbours
    in y per partition, where there are more rows.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The Dask client; None means the current one.
    **parameters
        The parameters of `FCGBoostRegressor`, with the same defaults.
    """

    _local = FCGBoostRegressor

    def predict(self, X: Rows) -> Array | da.Array:
        """Return the predicted number for each row; lazily for a Dask collection."""
        return self._lazily("predict", X, np.zeros(0))

    def _sums(self, local: Delayed, rows: Delayed) -> Delayed:
        return _squares(local, rows)

    def _score_of(self, sums: Matrix) -> float:
        weights, means, squares, errors = sums
        about = means - np.average(means, weights=weights)
        total = squares.sum() + weights @ about**2
        return float(1.0 - errors.sum() / (total or 1.0))
