"""Tables on a real cluster: texts, categories, gaps and dates as in memory."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed")

import dask.array as da
import dask.dataframe as dd

from fcgboost import FCGBoostClassifier
from fcgboost.backends.dask import tables
from fcgboost.backends.dask.collections import find_features, make_table
from fcgboost.backends.dask.tables import learn_table_columns
from fcgboost.dask import DaskFCGBoostClassifier
from tests.suites.clusters import TASK, cluster_of, in_chunks, noisy
from tests.suites.frames import make_frame

pytestmark = [
    pytest.mark.extras,
    pytest.mark.usefixtures("same_splits"),
    pytest.mark.xdist_group("dask"),
]

FRAME, LABELS = make_frame()
GAUSS: dict[str, Any] = {"dictionary": "gauss", "n_candidates": 60, "max_iter": 6}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with cluster_of(2) as client:
        yield client


def in_parts(values: Any, cuts: tuple[int, ...] = (80, 160, 160)) -> Any:
    """Give a frame or a series in partitions, one of which is empty."""
    bounds = [0, *cuts, len(values)]
    parts = [values.iloc[i:j] for i, j in pairwise(bounds)]
    return dd.from_map(lambda part: part, parts, meta=values.iloc[:0])


def fit_both(client: Any, frame: Any, y: Any, **parameters: Any) -> tuple[Any, Any]:
    """Fit on a cluster and in memory."""
    parameters = {**GAUSS, "random_state": 0, **parameters}
    there = DaskFCGBoostClassifier(client=client, **parameters)
    there.fit(in_parts(frame), in_parts(pd.Series(y, index=frame.index)))
    return there, FCGBoostClassifier(**parameters).fit(frame, y)


def assert_same(there: Any, here: Any, frame: Any, atol: float = 1e-6) -> None:
    """Exactly the same columns, and decision values up to rounding."""
    assert there.columns_ == here.columns_
    assert there._table_columns_ == here._table_columns_
    values = [model.decision_function(frame) for model in (there, here)]
    np.testing.assert_allclose(*values, rtol=0, atol=atol)


def test_a_table_is_read_and_fitted_as_in_memory(client):
    there, here = fit_both(client, FRAME, LABELS)
    assert_same(there, here, FRAME)
    # On a cluster a note says that there are no folds.
    assert [note for note in there.notes_ if "on a cluster" not in note] == list(here.notes_)
    assert [column.kind for column in there.columns_] == [
        *("number", "category", "category", "category", "category", "number", "number")
    ]
    assert "violet" in there.columns_[1].levels
    X, y = in_parts(FRAME), in_parts(pd.Series(LABELS))
    lazy = there.decision_function(X).compute(scheduler=client)
    np.testing.assert_allclose(lazy, here.decision_function(FRAME), rtol=0, atol=1e-9)
    assert there.score(X, y) == here.score(FRAME, LABELS)
    np.testing.assert_array_equal(there.to_local().predict(FRAME), here.predict(FRAME))


def test_pairs_are_those_of_memory(client):
    rng = np.random.default_rng(0)
    first, second = rng.integers(4, size=240), rng.integers(3, size=240)
    frame = pd.DataFrame(
        {
            "job": np.array(list("abcd"), dtype=object)[first],
            "town": np.array(list("xyz"), dtype=object)[second],
            "size": rng.normal(size=240),
        }
    )
    there, here = fit_both(client, frame, (first + second) % 2)
    assert [pair.name for pair in here.members_[0].pairs] == ["job and town"]
    np.testing.assert_allclose(
        there.members_[0].pairs[0].outputs[0].numbers,
        here.members_[0].pairs[0].outputs[0].numbers,
        atol=1e-12,
    )
    assert_same(there, here, frame)


def test_the_default_is_that_of_memory(client):
    there, here = fit_both(client, FRAME, LABELS, dictionary="auto", n_candidates=None)
    assert len(there.model_.dictionary.families) == 3
    assert there.l2_ == pytest.approx(here.l2_)
    assert_same(there, here, FRAME, 1e-3)


def test_gaps_in_plain_numbers_are_for_all_families(client):
    X, y = noisy(300)
    X[::7, 1] = np.nan
    there = DaskFCGBoostClassifier(client=client, max_iter=6, random_state=0)
    there.fit(*in_chunks(X, y, (100, 200)))
    here = FCGBoostClassifier(max_iter=6, random_state=0).fit(X, y)
    assert len(there.model_.dictionary.families) == 3
    assert there._table_columns_ is None
    assert_same(there, here, X, 1e-4)


def test_validation_data_is_read_as_training_data(client):
    frame, y = FRAME[:160], LABELS[:160]
    later, labels = FRAME[160:].reset_index(drop=True), LABELS[160:]
    parameters = {**GAUSS, "random_state": 0}
    here = FCGBoostClassifier(**parameters).fit(frame, y, X_val=later, y_val=labels)
    there = DaskFCGBoostClassifier(client=client, **parameters)
    train = in_parts(frame, (80,)), in_parts(pd.Series(y), (80,))
    held_out = in_parts(later, (30,)), in_parts(pd.Series(labels), (30,))
    there.fit(*train, X_val=held_out[0], y_val=held_out[1])
    assert_same(there, here, FRAME)
    scores = [model.trace_.column("validation_score") for model in (there, here)]
    np.testing.assert_allclose(*scores, rtol=1e-12)
    turned = held_out[0][FRAME.columns[::-1].tolist()]
    with pytest.raises(ValueError, match="X_val has the columns"):
        there.fit(*train, X_val=turned, y_val=held_out[1])
    with pytest.raises(ValueError, match="X has the columns"):
        there.score(turned, held_out[1])
    with pytest.raises(ValueError, match="feature names"):
        there.predict(turned).compute(scheduler=client)


def test_categories_may_be_unknown_and_listed(client):
    frame = FRAME[["size", "grade"]].assign(rank=np.arange(240) % 5)
    X, y = in_parts(frame), in_parts(pd.Series(LABELS))
    X["grade"] = X["grade"].cat.as_unknown()
    parameters = {**GAUSS, "random_state": 0, "categorical_features": ["rank", "grade"]}
    there = DaskFCGBoostClassifier(client=client, **parameters).fit(X, y)
    here = FCGBoostClassifier(**parameters).fit(frame, LABELS)
    assert_same(there, here, frame)
    assert there.columns_[2].levels == ("0", "1", "2", "3", "4")
    plain = DaskFCGBoostClassifier(client=client, **GAUSS).fit(X, y)
    assert plain.columns_[2].kind == "number"


def test_arrays_of_objects_are_tables(client):
    values = FRAME[["size", "color"]].to_numpy(dtype=object)
    there = DaskFCGBoostClassifier(client=client, random_state=0, **GAUSS)
    there.fit(*in_chunks(values, LABELS, (100, 140)))
    here = FCGBoostClassifier(random_state=0, **GAUSS).fit(values, LABELS)
    assert_same(there, here, values)


def test_what_does_not_fit_is_named_with_its_partition(client):
    there, _ = fit_both(client, FRAME, LABELS)
    broken = in_parts(FRAME.assign(price=np.where(np.arange(240) == 100, "cheap", FRAME["price"])))
    y = in_parts(pd.Series(LABELS))
    with pytest.raises(ValueError, match=r"partition 1 .*'price', row 21: 'cheap' is not a num"):
        there.score(broken, y)
    with pytest.raises(ValueError, match="239 of 240 values are numbers, but not 'cheap'"):
        there.fit(broken, y)
    assert there.score(in_parts(FRAME), y) > 0.5
    dX, dy = in_chunks(*noisy(), (600,))
    with pytest.raises(ValueError, match="X is sparse"):
        DaskFCGBoostClassifier(client=client, categorical_features=[0]).fit(
            dX.map_blocks(_sparse, dtype=float), dy
        )


def _sparse(block: Any) -> Any:
    from scipy import sparse

    return sparse.csr_array(block)


def test_only_columns_whose_type_does_not_say_it_are_looked_at(client, monkeypatch):
    asked = []
    original = tables._levels

    def spy(X: Any, places: Any, client: Any) -> Any:
        asked.append(places)
        return original(X, places, client)

    monkeypatch.setattr(tables, "_levels", spy)
    model = DaskFCGBoostClassifier()
    for frame in (in_parts(FRAME), in_parts(FRAME[["size"]]), in_parts(FRAME[["size", "day"]])):
        learn_table_columns(model, frame, find_features(frame, "X"), client)
    array = da.zeros((4, 2))
    assert learn_table_columns(model, array, find_features(array, "X"), client) is None
    assert model._table_columns_ is None
    # Of plain numbers not even the types are.
    assert asked == [[1, 2, 3, 4, 5], []]


def test_loaded_rows_of_other_table_columns_keep_apart():
    X, y = in_parts(FRAME[["grade"]]), in_parts(pd.Series(LABELS))
    here = FCGBoostClassifier(**GAUSS).fit(FRAME[["grade"]], LABELS)
    keys = [
        make_table(TASK, X, y, None, table_columns=own).parts[0].key
        for own in (None, here._table_columns_)
    ]
    assert keys[0] != keys[1]
    again = make_table(TASK, X, y, None, table_columns=tuple(here._table_columns_))
    assert again.parts[0].key == keys[1]


def test_columns_may_be_numbered(client):
    frame = FRAME[["size", "color"]].set_axis([0, 1], axis=1)
    there, here = fit_both(client, frame, LABELS)
    assert_same(there, here, frame)
    assert there.score(in_parts(frame), in_parts(pd.Series(LABELS))) == here.score(frame, LABELS)


def test_a_partition_that_lacks_a_column_is_told_of(client: Any) -> None:
    parts = [FRAME.iloc[:80], FRAME.iloc[80:].drop(columns="color")]
    frame = dd.from_map(lambda part: part, parts, meta=FRAME.iloc[:0])
    labels = in_parts(pd.Series(LABELS, index=FRAME.index), cuts=(80,))
    model = DaskFCGBoostClassifier(client=client, random_state=0, **GAUSS)
    with pytest.raises(ValueError, match=r"^A partition of X lacks a column .*'color'"):
        model.fit(frame, labels)
