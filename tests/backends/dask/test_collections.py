"""Collections of Dask become partitions of labelled rows, or what is wrong is named; no cluster."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("dask")
pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.dataframe as dd

from fcgboost.backends.dask.collections import Features, find_features, make_table
from tests.suites.clusters import TASK

pytestmark = pytest.mark.extras

X = np.random.default_rng(0).normal(size=(10, 3))
Y = np.arange(10) % 2


def array(values: Any, rows: tuple[int, ...] = (4, 6)) -> Any:
    return da.from_array(values, chunks=(rows, -1) if values.ndim == 2 else (rows,))


def loaded(*collections: Any) -> list[Any]:
    table = make_table(TASK, *collections)
    return list(dask.compute(*table.parts, scheduler="synchronous"))


def test_partitions_hold_the_rows_with_labels_and_weights() -> None:
    weights = np.arange(1.0, 11.0)
    parts = loaded(array(X), array(Y), array(weights))
    assert [len(part.X) for part in parts] == [4, 6]
    np.testing.assert_array_equal(np.vstack([part.X for part in parts]), X)
    np.testing.assert_array_equal(
        np.concatenate([part.task.labels(part.target) for part in parts]), Y
    )
    np.testing.assert_array_equal(np.concatenate([part.weights for part in parts]), weights)


def test_labels_come_in_the_partitions_of_the_rows() -> None:
    labels = array(Y[:, None], rows=(5, 5))
    assert [len(part.target) for part in loaded(array(X), labels, None)] == [4, 6]


def test_frames_name_their_columns_and_arrays_number_them() -> None:
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=2)
    assert find_features(frame, "X") == Features(("a", "b", "c"), 3)
    assert find_features(frame, "X").columns() == (["a", "b", "c"], True)
    assert find_features(array(X), "X") == Features(None, 3)
    assert find_features(array(X), "X").columns() == (["x0", "x1", "x2"], False)


@pytest.mark.parametrize(
    ("collections", "error", "named"),
    [
        ((X, array(Y), None), TypeError, "^X is a ndarray"),
        ((array(X), Y, None), TypeError, "^y is a ndarray"),
        ((array(Y), array(Y), None), ValueError, "^X must be"),
        ((da.from_array(X, chunks=(5, 2)), array(Y), None), ValueError, "^X has 2 chunks"),
        ((array(X), array(Y[:9], (4, 5)), None), ValueError, "^X and y have 10 and 9 rows"),
        ((array(X), array(X), None), ValueError, "^y must have one dimension"),
        ((array(X), array(Y), array(X)), ValueError, "^sample_weight must have one"),
    ],
)
def test_what_makes_no_table_is_named(collections: Any, error: type, named: str) -> None:
    with pytest.raises(error, match=named):
        make_table(TASK, *collections)


def test_validation_data_must_have_the_columns_of_the_fit() -> None:
    with pytest.raises(ValueError, match=r"^X_val has the columns"):
        make_table(TASK, array(X[:, :2]), array(Y), None, "_val", find_features(array(X), "X"))


def test_a_fault_in_a_partition_is_named_with_its_number() -> None:
    wild = X.copy()
    wild[7] = np.inf
    with pytest.raises(ValueError, match=r"^partition 1 of the data"):
        loaded(array(wild), array(Y), None)
