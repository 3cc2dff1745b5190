"""The classifier on a Dask cluster; needs the extra ``fcgboost[dask]``."""

try:
    from fcgboost.dask.estimators import DaskFCGBoostClassifier
except ImportError as error:
    if (error.name or "").partition(".")[0] not in ("cloudpickle", "dask", "distributed"):
        raise
    raise ImportError(
        f"fcgboost.dask needs {error.name}: pip install 'fcgboost[dask]'.", name=error.name
    ) from error

__all__ = ["DaskFCGBoostClassifier"]
