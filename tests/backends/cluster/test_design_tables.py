"""Tables on simulated workers: columns are read, and become inputs, as they do in memory."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fcgboost import FCGBoostClassifier, TreeDictionary
from fcgboost.checks import check_matrix
from fcgboost.tables import inputs
from fcgboost.tables.learning import (
    LevelCounts,
    Wanted,
    choose_column,
    declared,
    learn_column,
    unit_of_dtype,
)
from fcgboost.training import presets
from tests.backends.cluster.test_design import assert_same_choice, assert_same_model
from tests.suites.frames import make_frame
from tests.suites.marks import also
from tests.suites.workers import fit_on, make_workers

pytestmark = pytest.mark.usefixtures("same_splits")

CUTS = {"one": [], "thirds": [80, 160], "empty and unequal": [1, 1, 2, 200]}
FRAME, LABELS = make_frame()


def assert_same_columns(there: Any, here: Any) -> None:
    """Exactly the same columns and inputs."""
    assert there.columns_ == here.columns_
    assert there.members_[0].inputs.names() == here.members_[0].inputs.names()


def fit_both(
    frame: Any, y: Any, cuts: list[int], weights: Any = None, **parameters: Any
) -> tuple[Any, Any, Any]:
    """Fit on workers, which have rows that were read, and in memory; return these rows, too."""
    weights = np.ones(len(y)) if weights is None else weights
    here = FCGBoostClassifier(random_state=1, **parameters).fit(frame, y, weights)
    rows = check_matrix(here, frame, reset=False)
    workers = make_workers(rows, y, weights, cuts, 3)
    there = fit_on(workers, table_columns=here._table_columns_, random_state=1, **parameters)
    for name in ("feature_names_in_", "n_features_in_"):
        vars(there)[name] = getattr(here, name)
    return there, here, workers


TREES = TreeDictionary(6, min_leaf=2, max_leaf_nodes=9, corrects_leaves=True)
SETTINGS: dict[str, dict[str, Any]] = {
    "gauss": {"dictionary": "gauss", "n_candidates": 60},
    "relu": {"dictionary": "relu", "selection": "sampled"},
    "clipped": {"dictionary": "gauss", "n_candidates": 60, "clip": 1.5},
    "balanced": {"dictionary": "gauss", "n_candidates": 60, "class_weight": "balanced"},
    "tree": {"dictionary": "tree", "max_iter": 4},
    "corrected leaves": {"dictionary": TREES, "max_iter": 4, "l2": 1e-3},
    "set aside": {"dictionary": "relu", "selection": "sampled", "validation_fraction": 0.3},
}


@pytest.mark.parametrize(
    "cuts",
    [
        pytest.param(CUTS["one"], id="one", marks=pytest.mark.slow),
        pytest.param(CUTS["thirds"], id="thirds", marks=pytest.mark.slow),
        pytest.param(CUTS["empty and unequal"], id="empty and unequal"),
    ],
)
@pytest.mark.parametrize("name", SETTINGS)
def test_the_model_is_that_of_memory(name: str, cuts: list[int]) -> None:
    weights = np.random.default_rng(3).integers(0, 4, len(LABELS)).astype(np.float64)
    there, here, _ = fit_both(FRAME, LABELS, cuts, weights, **{"max_iter": 8, **SETTINGS[name]})
    assert_same_columns(there, here)
    assert_same_model(there, here, FRAME)


@pytest.mark.parametrize("n_classes", [2, *also(3)])
def test_a_preset_chooses_what_it_does_in_memory(n_classes: int) -> None:
    y = LABELS + (np.nan_to_num(FRAME["size"]) > 1.0) * (n_classes == 3)
    there, here, workers = fit_both(FRAME, y, CUTS["thirds"], max_iter=12)
    assert_same_columns(there, here)
    assert len(there.model_.dictionary.families) == 3
    assert_same_choice(there, here, FRAME)
    assert {place for place, _ in workers.held()} <= {0, 1}


def test_the_default_of_many_rows_is_that_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = (presets.FAMILIES, replace(presets.FOREST, max_steps=8))
    auto = replace(presets.FAST, n_many=0, kinds=kinds)
    monkeypatch.setitem(presets.PRESETS, "auto", auto)
    there, here, _ = fit_both(FRAME, LABELS, CUTS["empty and unequal"])
    assert there.model_.dictionary.corrects_leaves
    assert_same_columns(there, here)
    np.testing.assert_array_equal(there.trace_.atoms, here.trace_.atoms)
    values = [model.predict_proba(FRAME) for model in (there, here)]
    np.testing.assert_allclose(*values, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore:.*rows are loaded again:RuntimeWarning")
def test_a_fit_whose_workers_are_lost_goes_on_to_the_same_model() -> None:
    parameters = {"max_iter": 3, "random_state": 1, "dictionary": "compact"}
    here = FCGBoostClassifier(**parameters).fit(FRAME, LABELS)
    rows, ones = check_matrix(here, FRAME, reset=False), np.ones(len(LABELS))
    undisturbed = make_workers(rows, LABELS, ones, [80, 160])
    first = fit_on(undisturbed, table_columns=here._table_columns_, **parameters)
    losses = tuple(range(1, undisturbed.n_rounds, 9))
    disturbed = make_workers(rows, LABELS, ones, [80, 160], losses=losses)
    there = fit_on(disturbed, table_columns=here._table_columns_, **parameters)
    assert disturbed.questions == undisturbed.questions
    assert there.columns_ == first.columns_ == here.columns_
    for model in (first, there):
        values = model.members_[0].decision(rows)[:, 0]
        np.testing.assert_allclose(values, here.decision_function(FRAME), rtol=0, atol=1e-4)


def test_validation_rows_are_encoded_without_being_looked_at() -> None:
    train, test = slice(0, 160), slice(160, 240)
    parameters = {"dictionary": "gauss", "selection": "all", "random_state": 1}
    here = FCGBoostClassifier(**parameters).fit(
        FRAME[train], LABELS[train], X_val=FRAME[test], y_val=LABELS[test]
    )
    rows = check_matrix(here, FRAME, reset=False)
    held_out = rows[test], LABELS[test], np.ones(80)
    workers = make_workers(rows[train], LABELS[train], np.ones(160), [50], validation=held_out)
    there = fit_on(workers, True, table_columns=here._table_columns_, **parameters)
    there.feature_names_in_ = here.feature_names_in_
    assert_same_columns(there, here)
    assert_same_model(there, here, FRAME)
    scores = [model.trace_.column("validation_score") for model in (there, here)]
    np.testing.assert_allclose(*scores, rtol=1e-12)


@pytest.mark.parametrize("has_gaps", [False, True])
def test_medians_are_those_of_a_draw(has_gaps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_MEDIAN_ROWS", 10)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    if has_gaps:
        X[:, 2] = np.where(np.arange(200) % 80 == 7, 0.1, np.nan)
        X[:, 1] = np.where(rng.random(200) < 0.3, np.nan, X[:, 1])
    y = (X[:, 0] > 0).astype(int)
    parameters = {"dictionary": "relu", "max_iter": 3, "random_state": 0}
    workers = make_workers(X, y, np.ones(200), [70, 150])
    model = fit_on(workers, **parameters)
    fills = [column.outputs[0].fill for column in model.columns_]
    assert not np.array_equal(fills, np.nanmedian(X, axis=0))
    np.testing.assert_allclose(fills, np.nanmedian(X, axis=0), atol=0.5)
    if has_gaps:
        # No number of this column was drawn.
        assert fills[2] == 0.0


def test_columns_that_tell_nothing_are_refused() -> None:
    X = np.full((40, 2), np.nan)
    with pytest.raises(ValueError, match="X has no usable column"):
        fit_on(make_workers(X, np.arange(40) % 2, np.ones(40), [10]), dictionary="gauss")


# How columns are read


ODD: dict[str, Any] = {
    "only gaps": pd.Series([None] * 240, dtype=object),
    "numbers as objects": pd.Series([1, 2, None] * 80, dtype=object),
    "numbers and text": pd.Series([*range(120), *(["x", "y"] * 60)], dtype=object),
    "numbers as text, then numbers": pd.Series([*map(str, range(120)), *range(120)], dtype=object),
    "decimal comma": pd.Series(["1,5", "2", "30,25"] * 80),
    "text dates": pd.Series(["2020-01-02", "", "2021-05-06"] * 80),
    "dates as objects": pd.Series([pd.Timestamp("2020-01-02").date(), None] * 120, dtype=object),
    "truth": pd.Series([True, False, None] * 80, dtype="boolean"),
    "whole numbers with gaps": pd.Series([1, None, 3] * 80, dtype="Int64"),
    "declared numbers": pd.Series(["1", "2", None] * 80, dtype="category"),
    "looks like dates": pd.Series(["03/04/2020", "05/06/2021"] * 120),
}


def chosen(column: pd.Series, cuts: list[int], wanted: Wanted) -> tuple[Any, list[str]]:
    """Decide what a column holds by what its parts say, as a cluster does."""
    wanted = declared(wanted, column.dtype)
    unit = unit_of_dtype(column.dtype)
    if wanted != "category" and unit is not None:
        return learn_column("a", column[:0], wanted)[0], []
    bounds = [0, *cuts, len(column)]
    parts = [column[i:j] for i, j in pairwise(bounds)]
    levels = LevelCounts.united([LevelCounts.of(part) for part in parts])
    return choose_column("a", levels, wanted)


@pytest.mark.parametrize("wanted", ["from_dtype", "category", "number"])
@pytest.mark.parametrize("name", [*ODD, *FRAME.columns])
def test_parts_tell_what_all_rows_tell(name: str, wanted: Wanted) -> None:
    column = ODD[name] if name in ODD else FRAME[name]
    expected = told(lambda: learn_column("a", column, wanted)[::2])
    for cuts in CUTS.values():
        assert told(lambda cuts=cuts: chosen(column, cuts, wanted)) == expected


def told(decide: Callable[[], Any]) -> Any:
    """Return a decision, or what the error says."""
    try:
        return decide()
    except ValueError as error:
        return str(error)


def test_strays_among_numbers_are_told_by_all_parts() -> None:
    column = pd.Series([*map(str, range(100)), "unknown"], dtype=object)
    with pytest.raises(ValueError, match="100 of 101 values are numbers, but not 'unknown'"):
        chosen(column, [60], "from_dtype")
