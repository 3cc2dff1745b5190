"""The classifier on a Dask cluster; needs the extra ``fcgboost[dask]``."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.utils.validation import _check_feature_names

from fcgboost.arrays import Array, ClassLabels, Labels, Rows, Weights
from fcgboost.backends.cluster.layout import check_supported, prepare
from fcgboost.checks import takes_missing
from fcgboost.classifiers import if_probable
from fcgboost.estimators import FCGBoostClassifier
from fcgboost.members import decision_of
from fcgboost.names import advised, with_advice
from fcgboost.prediction import all_or_nothing, fitted_attributes
from fcgboost.training.callbacks import with_callbacks
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

__all__ = ["DaskFCGBoostClassifier"]


@with_advice
@dataclass(eq=False, repr=False)
class DaskFCGBoostClassifier(FCGBoostClassifier):
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
    Rows are not divided into folds: ``dictionary="auto"`` means "fast", which holds one part out,
    and `cv` is "auto" or None. `findings_` are about text, dates and ids only; row numbers stay.

    If a worker is lost, its partitions are loaded again and the fit continues. If the client's
    process is lost, so is the fit.
    """

    client: Client | None = field(default=None, kw_only=True)

    @advised
    @with_callbacks
    def fit(
        self,
        X: Rows,
        y: Labels,
        sample_weight: Weights = None,
        *,
        groups: Labels | None = None,
        trusted: Labels | None = None,
        X_val: Rows = None,
        y_val: Labels | None = None,
        sample_weight_val: Weights = None,
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
        groups, trusted : None
            Not supported: there are no folds.
        X_val, y_val, sample_weight_val : like X, y and sample_weight, default=None
            Validation data, which judge members instead of a held-out part.

        Returns
        -------
        self
        """
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

    def to_local(self) -> FCGBoostClassifier:
        """Return the fitted classifier as an `FCGBoostClassifier`, which needs no cluster."""
        self._fitted()
        parameters = self.get_params(deep=False)
        parameters.pop("client")
        local = FCGBoostClassifier(**parameters)
        local.__dict__.update(fitted_attributes(self))
        return local

    def decision_function(self, X: Rows) -> Array | da.Array:
        """Return decision values; lazily for a Dask collection."""
        return self._lazily("decision_function", X)

    def predict(self, X: Rows) -> ClassLabels | da.Array:
        """Return the predicted class of each row; lazily for a Dask collection."""
        return self._lazily("predict", X)

    @if_probable
    def predict_proba(self, X: Rows) -> Array | da.Array:
        """Return class probabilities; lazily for a Dask collection."""
        return self._lazily("predict_proba", X)

    def _lazily(self, method: str, X: Rows) -> ClassLabels | da.Array:
        local = self.to_local()
        if not is_dask_collection(X):
            return getattr(local, method)(X)
        classes = self.classes_
        n = len(self.classes_)
        is_matrix = method == "predict_proba" or (method == "decision_function" and n > 2)
        dtype = classes.dtype if method == "predict" else np.float64
        nothing = np.zeros((0, n) if is_matrix else 0, dtype=dtype)
        question = (_graphed(local), method, nothing)
        if not isinstance(X, da.Array):
            meta = _framed(nothing, None, method, classes)
            token = f"fcgboost-{method}"
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

    def score(self, X: Rows, y: Labels, sample_weight: Weights = None) -> float:
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
        table = make_table(
            X,
            y,
            sample_weight,
            expected=features,
            table_columns=known_table_columns(self, X, features),
        )
        graphed = _graphed(local)
        hits = [_hits(graphed, part) for part in table.parts]
        sums = find_client(self.client).compute(dask.delayed(sum)(hits), sync=True)
        return float(sums[0] / sums[1])

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
    X: Rows, local: FCGBoostClassifier, method: str, nothing: ClassLabels
) -> ClassLabels | pd.DataFrame | pd.Series:
    """Predict one block, which may have no rows."""
    values = np.asarray(getattr(local, method)(X)) if X.shape[0] else nothing
    is_frame = hasattr(X, "columns")  # of any library
    return (
        _framed(
            values,
            X.index,
            method,
            local.classes_,
        )
        if is_frame
        else values
    )


def _framed(
    values: ClassLabels, index: pd.Index | None, method: str, classes: ClassLabels
) -> pd.DataFrame | pd.Series:
    import pandas as pd

    if values.ndim == 2:
        return pd.DataFrame(values, index=index, columns=list(classes))
    return pd.Series(values, index=index, name=method)


def _token(local: FCGBoostClassifier) -> str:
    """Return a token for all that predictions depend on except the rows."""
    members = [(member.weight, member.model, member.inputs) for member in local.members_]
    facts = (members, local.classes_, local._loss_, local.link_, local._correction_)
    return str(tokenize(cloudpickle.dumps(facts)))


def _graphed(local: FCGBoostClassifier) -> Delayed:
    """Return a delayed classifier that is in the graph once for all partitions."""
    return dask.delayed(local, name=f"fcgboost-model-{_token(local)}", traverse=False)


@dask.delayed  # type: ignore[untyped-decorator]
def _hits(local: FCGBoostClassifier, rows: Labelled) -> Array:
    """Return the weight of the correctly classified rows, and of all rows."""
    if len(rows.codes) == 0:
        return np.zeros(2)
    values = local._flat(decision_of(local.members_, rows.X))
    is_hit = local.labels_of(values) == rows.classes[rows.codes]
    return np.array([rows.weights @ is_hit, rows.weights.sum()])
