"""The classifier on a Dask cluster."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Self

import cloudpickle
import dask
import dask.array as da
import numpy as np
from dask.base import is_dask_collection, tokenize
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names

from fcgboost.cluster.layout import check_supported, prepare
from fcgboost.cluster.shard import LoadedRows
from fcgboost.dask.collections import Features, check_whole_rows, find_features, make_table
from fcgboost.dask.tables import known_readers, learn_readers
from fcgboost.dask.workers import DaskWorkers, find_client
from fcgboost.estimators import FCGBoostClassifier
from fcgboost.tables.inputs import encode
from fcgboost.threads import all_or_nothing, fitted_attributes
from fcgboost.training.callbacks import with_callbacks
from fcgboost.training.checks import takes_missing
from fcgboost.training.dataset import readers_of
from fcgboost.training.scoring import has_probability, winners
from fcgboost.training.settings import resolve


class DaskFCGBoostClassifier(FCGBoostClassifier):
    """`FCGBoostClassifier` for rows on the workers of a Dask cluster.

    Takes Dask arrays with whole rows in every chunk, and data frames. Rows stay on their workers; a
    step sends candidates, their scores, and sums whose size does not depend on the number of rows.
    The model does not depend on the number of workers and is that of `FCGBoostClassifier` up to
    rounding.

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
    The presets "auto" and "compact" choose the same as in memory. Only the note that a column looks
    like a row number is missing.

    If a worker is lost, its partitions are loaded again and the fit continues. With `checkpoint` a
    fit can also continue in another process or on another cluster.
    """

    client: Any

    def __init__(self, *args: Any, client: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.client = client

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : dask array or dask data frame of shape (n_samples, n_features)
            Chunks must hold whole rows. Text, categories, dates and missing values are read as in
            memory.
        y : dask array or dask series of shape (n_samples,)
            The labels, in the partitions of X.
        sample_weight : like y, default=None
            Counts: a row of weight 2 is like two equal rows, one of weight 0 is left out.
        X_val, y_val, sample_weight_val : like X, y and sample_weight, default=None
            Validation data to choose the number of steps and, in a preset, the ridge penalty.

        Returns
        -------
        self
        """
        with all_or_nothing(self) as twin:
            settings = resolve(twin, has_validation_data=X_val is not None)
            check_supported(settings)
            client = find_client(self.client)
            features = find_features(X, "X")
            readers = learn_readers(twin, X, features, client)
            table = make_table(X, y, sample_weight, readers=readers)
            twin._note_features(table.features)
            held_out = None
            if X_val is not None or y_val is not None or sample_weight_val is not None:
                if X_val is None or y_val is None:
                    raise ValueError("Pass X_val and y_val together.")
                readers = known_readers(twin, X_val, features)
                rows = (X_val, y_val, sample_weight_val)
                held_out = make_table(*rows, "_val", features, readers)
            given = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
            last = vars(twin).get("_state_") if settings.warm_start else None
            # Actors use the current client.
            with client.as_current(), closing(DaskWorkers(client, table, held_out)) as workers:
                known = readers_of(twin), held_out is not None, last
                twin._follow(prepare(settings, workers, *known), {"estimator": self, **given})
        return self

    def _note_features(self, features: Features) -> None:
        self.n_features_in_ = features.number
        if features.names is not None:
            import pandas as pd

            _check_feature_names(self, pd.DataFrame(columns=list(features.names)), reset=True)

    def to_local(self) -> FCGBoostClassifier:
        """Return the fitted classifier as an `FCGBoostClassifier`, which needs no cluster."""
        self._fitted()
        parameters = self.get_params(deep=False)
        parameters.pop("client")
        local = FCGBoostClassifier(**parameters)
        local.__dict__.update(fitted_attributes(self))
        return local

    def decision_function(self, X: Any) -> Any:
        """Return decision values; lazily for a Dask collection."""
        return self._lazily("decision_function", X)

    def predict(self, X: Any) -> Any:
        """Return the predicted class of each row; lazily for a Dask collection."""
        return self._lazily("predict", X)

    @available_if(has_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities; lazily for a Dask collection."""
        return self._lazily("predict_proba", X)

    def _lazily(self, method: str, X: Any) -> Any:
        local = self.to_local()
        if not is_dask_collection(X):
            return getattr(local, method)(X)
        classes, n = self.classes_, len(self.classes_)
        is_matrix = method == "predict_proba" or (method == "decision_function" and n > 2)
        dtype = classes.dtype if method == "predict" else np.float64
        nothing = np.zeros((0, n) if is_matrix else 0, dtype=dtype)
        question = (_graphed(local), method, nothing)
        if not isinstance(X, da.Array):
            meta, token = _framed(nothing, None, method, classes), f"fcgboost-{method}"
            options = {"meta": meta, "align_dataframes": False, "token": token}
            return X.map_partitions(_values, *question, **options)
        check_whole_rows(X, "X")
        return da.map_blocks(
            _values,
            X,
            *question,
            dtype=dtype,
            chunks=(X.chunks[0], (n,)) if is_matrix else (X.chunks[0],),
            drop_axis=None if is_matrix else 1,
            meta=nothing,
            name=f"fcgboost-{method}-{tokenize(X, _token(local))}",
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy."""
        local = self.to_local()
        if not is_dask_collection(X):
            return local.score(X, y, sample_weight)
        features = find_features(X, "X")._replace(
            number=self.n_features_in_, allows_missing=takes_missing(self)
        )
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            features = features._replace(names=tuple(names))
        readers = known_readers(self, X, features)
        table = make_table(X, y, sample_weight, "", features, readers)
        graphed = _graphed(local)
        hits = [_hits(graphed, part) for part in table.parts]
        sums = find_client(self.client).compute(dask.delayed(sum)(hits), sync=True)
        return float(sums[0] / sums[1])

    def _staged_decision(self, X: Any) -> Iterator[Any]:
        if is_dask_collection(X):
            raise TypeError(
                "Staged predictions need data in memory: use to_local() on each partition, for "
                "example with X.map_blocks(...), or truncate(k).predict(X) for one k."
            )
        return super()._staged_decision(X)

    def __getstate__(self) -> dict[str, Any]:
        # A client belongs to its process.
        return {**super().__getstate__(), "client": None}

    def __sklearn_clone__(self) -> Self:
        client, self.client = self.client, None
        try:
            twin: Self = super().__sklearn_clone__()
        finally:
            self.client = client
        twin.client = client
        return twin


# The signature of the plain constructor, with a client.
_plain = inspect.signature(FCGBoostClassifier.__init__)
_client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
DaskFCGBoostClassifier.__init__.__signature__ = _plain.replace(  # type: ignore[attr-defined]
    parameters=[*_plain.parameters.values(), _client]
)


def _values(X: Any, local: FCGBoostClassifier, method: str, nothing: Any) -> Any:
    """Predict one block, which may have no rows."""
    values = np.asarray(getattr(local, method)(X)) if X.shape[0] else nothing
    is_frame = hasattr(X, "columns")  # of any library
    return _framed(values, X.index, method, local.classes_) if is_frame else values


def _framed(values: Any, index: Any, method: str, classes: Any) -> Any:
    import pandas as pd

    if values.ndim == 2:
        return pd.DataFrame(values, index=index, columns=list(classes))
    return pd.Series(values, index=index, name=method)


def _token(local: FCGBoostClassifier) -> str:
    """Return a token for all that predictions depend on except the rows."""
    known = (local.model_, local.classes_, local._loss_, local.link_, local._inputs_)
    return str(tokenize(cloudpickle.dumps(known)))


def _graphed(local: FCGBoostClassifier) -> Any:
    """Return a delayed classifier that is in the graph once for all partitions."""
    return dask.delayed(local, name=f"fcgboost-model-{_token(local)}", traverse=False)


@dask.delayed  # type: ignore[untyped-decorator]
def _hits(local: FCGBoostClassifier, rows: LoadedRows) -> Any:
    """Return the weight of the correctly classified rows, and of all rows."""
    if len(rows.y) == 0:
        return np.zeros(2)
    decision = local.model_.decision(encode(local._inputs_, rows.X))
    values = decision[:, 0] if len(local.classes_) == 2 else decision
    is_hit = winners(values, local.classes_) == rows.y
    return np.array([rows.weights @ is_hit, rows.weights.sum()])
