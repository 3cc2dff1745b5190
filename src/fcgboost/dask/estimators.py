"""The classifier on a Dask cluster."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Self

import dask
import dask.array as da
import numpy as np
from dask.base import is_dask_collection, tokenize
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names

from fcgboost.dask.collections import Table, make_table
from fcgboost.dask.layout import check_supported, prepare
from fcgboost.dask.workers import DaskWorkers, WorkerLostError, find_client, find_workers
from fcgboost.estimators import FCGBoostClassifier
from fcgboost.greedy import Watcher
from fcgboost.stopping import Status, Step
from fcgboost.trace import Trace
from fcgboost.training.callbacks import with_callbacks
from fcgboost.training.fit import Fit, all_or_nothing
from fcgboost.training.resume import Identity, Start, describe, find_start
from fcgboost.training.scoring import has_probability, winners
from fcgboost.training.settings import Settings, resolve

# So many workers in a row may be lost without a step in between.
_LOSSES = 5


class DaskFCGBoostClassifier(FCGBoostClassifier):
    """`FCGBoostClassifier` for rows on the workers of a Dask cluster.

    Takes Dask arrays (whole rows in every chunk) and data frames, and gives the model that
    `FCGBoostClassifier` gives for the same rows in memory, whatever the number of workers and
    partitions. Rows stay with their workers; what travels in a step are the candidates, their
    scores, and k-vectors and k x k matrices.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        None is the current client.
    **parameters
        All others are those of `FCGBoostClassifier`, with the same defaults. `device` is "cpu" and
        `n_jobs` is not used: every worker takes as many threads as it has. `scoring` is accuracy
        (None). Probabilities are those of the loss. Missing values are refused.

    Notes
    -----
    The dictionaries "auto" and "compact" choose nothing here, as that takes several paths: with
    l2="auto" the ridge is 0.3 / sqrt(m), and without validation data the path has all its steps.
    Give `l2`, such as the `l2_` of a fit to a sample of the rows times sqrt(m of the sample / m),
    and `max_iter`, or validation data that chooses the steps.

    A worker that is lost during a fit costs time: its partitions are loaded again and the path goes
    on after its last step. With `checkpoint` it also goes on in another process, or on another
    cluster.
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
            Chunks of a dask array hold whole rows.
        y : dask array or dask series of shape (n_samples,)
            In the same partitions.
        sample_weight : like y, default=None
            Counts: a weight of 2 is a row given twice, 0 a row left out.
        X_val, y_val, sample_weight_val : like X, y and sample_weight, default=None
            Data that chooses the number of steps.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            settings = resolve(self, has_validation_data=X_val is not None)
            check_supported(settings)
            client = find_client(self.client)
            table = make_table(X, y, sample_weight)
            self._note_features(table)
            held_out = None
            if X_val is not None or y_val is not None or sample_weight_val is not None:
                if X_val is None or y_val is None:
                    raise ValueError("Pass X_val and y_val together.")
                held_out = make_table(X_val, y_val, sample_weight_val, "_val", table)
            data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
            with client.as_current():  # actors ask for the current client
                self._fit_tables(client, settings, table, held_out, data)
        return self

    def _fit_tables(
        self,
        client: Any,
        settings: Settings,
        training: Table,
        validation: Table | None,
        data: dict[str, Any],
    ) -> None:
        """Run the loop; go on after the last step whenever a worker was lost."""
        fit = _LongFit(self, settings, validation is not None, data)
        while True:
            workers: DaskWorkers | None = None
            try:
                workers = DaskWorkers(client, training, validation)
                attributes = fit.attempt(workers)
                break
            except WorkerLostError as error:
                fit.lose(error)
                find_workers(client)
            finally:
                if workers is not None:
                    workers.close()
        self.__dict__.update(attributes)
        fit.close()

    def _note_features(self, table: Table) -> None:
        self.n_features_in_ = table.n_features
        if table.columns is not None:
            import pandas as pd

            _check_feature_names(self, pd.DataFrame(columns=list(table.columns)), reset=True)

    def to_local(self) -> FCGBoostClassifier:
        """Return the fitted classifier as one that needs no cluster."""
        self._fitted()
        parameters = self.get_params(deep=False)
        parameters.pop("client")
        local = FCGBoostClassifier(**parameters)
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        local.__dict__.update(fitted)
        return local

    def decision_function(self, X: Any) -> Any:
        """Return decision values; lazily for a Dask collection."""
        return self._lazily("decision_function", X, np.float64, self._n_values())

    def predict(self, X: Any) -> Any:
        """Return the predicted class of every row; lazily for a Dask collection."""
        self._fitted()
        return self._lazily("predict", X, self.classes_.dtype, 1)

    @available_if(has_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities; lazily for a Dask collection."""
        self._fitted()
        return self._lazily("predict_proba", X, np.float64, len(self.classes_))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of the rows that are classified correctly."""
        if not is_dask_collection(X):
            return self.to_local().score(X, y, sample_weight)
        self._fitted()
        names = getattr(self, "feature_names_in_", None)
        known = Table((), None if names is None else tuple(names), self.n_features_in_)
        table, local = make_table(X, y, sample_weight, "", known), _graphed(self.to_local())
        hits = [_hits(local, part) for part in table.parts]
        sums = find_client(self.client).compute(dask.delayed(sum)(hits), sync=True)
        return float(sums[0] / sums[1])

    def _staged_decision(self, X: Any) -> Iterator[Any]:
        if is_dask_collection(X):
            raise TypeError(
                "Staged predictions are for data in memory: use to_local() on the partitions, for "
                "example X.map_blocks(...), or truncate(k).predict(X) for one k."
            )
        return super()._staged_decision(X)

    def _n_values(self) -> int:
        self._fitted()
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _lazily(self, method: str, X: Any, dtype: Any, n_columns: int) -> Any:
        local = self.to_local()
        if not is_dask_collection(X):
            return getattr(local, method)(X)
        if isinstance(X, da.Array):
            return _of_array(local, method, X, dtype, n_columns)
        return _of_frame(local, method, X, dtype, n_columns)

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


class _LongFit:
    """One fit, and what outlives the workers that are lost during it."""

    def __init__(
        self,
        estimator: DaskFCGBoostClassifier,
        settings: Settings,
        has_validation_data: bool,
        data: dict[str, Any],
    ) -> None:
        self._estimator, self._settings, self._data = estimator, settings, data
        self._has_validation_data = has_validation_data
        self._last: Start | None = vars(estimator).get("_start_") if settings.warm_start else None
        self._start: Start | None = None
        self._fit: Fit
        self._watcher: Watcher | None = None
        self._close: Callable[[Trace], None] | None = None
        #: The path after its last step, and once it has ended, how.
        self._trace: Trace | None = None
        self._ended: tuple[Trace, Status] | None = None
        self._n_losses, self._n_steps = 0, 0

    def attempt(self, workers: DaskWorkers) -> dict[str, Any]:
        """Fit on some workers, or go on there; return what is set on the estimator."""
        fit = prepare(self._settings, workers, self._has_validation_data, self._start_of)
        if self._trace is not None:
            fit = replace(fit, start=replace(fit.start, path=self._trace))
        self._fit = fit
        if self._close is None:
            self._watcher, self._close = self._estimator.watch_fit(
                fit.recipe.max_iter, self._data, lambda path: self._fit.attributes(path)
            )
        # A path that has ended is not to go on if a worker is lost after that.
        self._ended = self._ended or fit.path(self._estimator.stopping_rules(), self._keep)
        trace, status = self._ended
        return {"status_": status, **fit.attributes(trace)}

    def _start_of(self, identity: Identity) -> Start:
        """Find the start once: a generator of random numbers gives another one the next time."""
        settings = self._settings
        if self._start is None:
            self._start = find_start(
                identity, self._last, settings.checkpoint, settings.random_state
            )
        elif self._start.identity.data != identity.data:
            raise RuntimeError(
                "The partitions gave other rows when they were loaded again. They must be the same "
                "every time: set seeds, leave files alone, or persist the collection."
            )
        return self._start

    def _keep(self, step: Step, path: Callable[[], Trace]) -> Status | None:
        self._trace = path()
        return self._watcher(step, path) if self._watcher is not None else None

    def lose(self, error: WorkerLostError) -> None:
        """Count the loss of a worker, and warn; raise an error where it happens all the time."""
        n_steps = 0 if self._trace is None else len(self._trace)
        self._n_losses = 1 if n_steps > self._n_steps else self._n_losses + 1
        self._n_steps = n_steps
        if self._n_losses > _LOSSES:
            raise RuntimeError(
                f"The Dask cluster lost workers {self._n_losses} times in a row, after {n_steps} "
                f"steps of the fit: {error}. Do they run out of memory?"
            ) from error
        warnings.warn(
            f"{error}: rows are loaded again, and the fit goes on after step {n_steps}.",
            RuntimeWarning,
            stacklevel=5,
        )

    def close(self) -> None:
        """Tell callbacks that the fit is done."""
        assert self._ended is not None
        assert self._close is not None
        self._close(self._ended[0])


def _signature() -> inspect.Signature:
    """Return the signature of the constructor: that of the plain one, and a client."""
    plain = inspect.signature(FCGBoostClassifier.__init__)
    client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
    return plain.replace(parameters=[*plain.parameters.values(), client])


DaskFCGBoostClassifier.__init__.__signature__ = _signature()  # type: ignore[attr-defined]


def _values(X: Any, local: FCGBoostClassifier, method: str, n_columns: int) -> Any:
    """Predict one block, which may have no rows."""
    if X.shape[0]:
        return np.asarray(getattr(local, method)(X))
    dtype = local.classes_.dtype if method == "predict" else np.float64
    return np.zeros((0, n_columns) if n_columns > 1 else 0, dtype=dtype)


def _of_array(local: FCGBoostClassifier, method: str, X: Any, dtype: Any, n_columns: int) -> Any:
    if X.numblocks[1] != 1:
        raise ValueError(
            f"X is cut into {X.numblocks[1]} chunks of columns, and rows must be whole: use "
            "X.rechunk({1: -1})."
        )
    is_matrix = n_columns > 1
    return da.map_blocks(
        _values,
        X,
        _graphed(local),
        method,
        n_columns,
        dtype=dtype,
        chunks=(X.chunks[0], (n_columns,)) if is_matrix else (X.chunks[0],),
        drop_axis=None if is_matrix else 1,
        meta=np.empty((0, 0) if is_matrix else 0, dtype=dtype),
        name=f"fcgboost-{method}-{tokenize(X, _token(local))}",
    )


def _token(local: FCGBoostClassifier) -> str:
    """Return a word for all that a prediction depends on but its rows."""
    model = local.model_
    limits = () if model.limits is None else (model.limits.low, model.limits.high)
    numbers = (model.coef, model.intercept, model.scale, *limits, local.classes_)
    parts = (describe(model.dictionary), describe(local._loss_), repr(local.link_))
    return str(
        tokenize(model.atoms, *numbers, str(local.classes_.dtype), *parts, local.n_features_in_)
    )


def _graphed(local: FCGBoostClassifier) -> Any:
    """Return a classifier that is in a graph once, whatever the number of partitions."""
    return dask.delayed(local, name=f"fcgboost-model-{_token(local)}", traverse=False)


def _frame_values(X: Any, local: FCGBoostClassifier, method: str, n_columns: int) -> Any:
    import pandas as pd

    values = _values(X, local, method, n_columns)
    if n_columns > 1:
        return pd.DataFrame(values, index=X.index, columns=list(local.classes_))
    return pd.Series(values, index=X.index, name=method)


def _of_frame(local: FCGBoostClassifier, method: str, X: Any, dtype: Any, n_columns: int) -> Any:
    import pandas as pd

    if n_columns > 1:
        meta: Any = pd.DataFrame({label: np.zeros(0) for label in local.classes_.tolist()})
    else:
        meta = pd.Series(np.zeros(0, dtype=dtype), name=method)
    return X.map_partitions(
        _frame_values,
        _graphed(local),
        method,
        n_columns,
        meta=meta,
        align_dataframes=False,
        token=f"fcgboost-{method}",
    )


@dask.delayed  # type: ignore[untyped-decorator]
def _hits(local: FCGBoostClassifier, part: Any) -> Any:
    """Return the weight of the rows that are classified correctly, and of all."""
    if len(part.y) == 0:
        return np.zeros(2)
    decision = local.model_.decision(part.X)
    values = decision[:, 0] if len(local.classes_) == 2 else decision
    is_hit = winners(values, local.classes_) == part.y
    return np.array([part.weights @ is_hit, part.weights.sum()])
