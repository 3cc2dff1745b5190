"""The influence of features, and atoms, by the numbers they hold and the Axes they draw."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.inspection import PartialDependenceDisplay, permutation_importance

from fcgboost import FCGBoostClassifier
from fcgboost.dictionaries import GaussDictionary, ReluDictionary, UnionDictionary
from fcgboost.explanation import Explanation
from fcgboost.plotting import DecisionBoundaryDisplay, FeatureInfluenceDisplay, SummaryDisplay
from fcgboost.plotting.influence import levels_of
from tests.suites.pages import mixed
from tests.suites.pictures import BLOBS, X, y


def make_table() -> pd.DataFrame:
    noise = np.random.default_rng(0).normal(size=len(X))
    return pd.DataFrame({"noise": noise, "first": X[:, 0], "second": X[:, 1]})


def test_slopes_are_the_feature_importances_in_order(ax: Axes) -> None:
    table = make_table()
    model = FCGBoostClassifier("relu", max_iter=8, random_state=0).fit(table, y)
    display = FeatureInfluenceDisplay.from_estimator(model, n_shown=2, ax=ax)
    order = np.argsort(-model.feature_importances_)[:2]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(table.columns[order])
    assert_allclose([bar.get_width() for bar in display.bars_], model.feature_importances_[order])
    assert ax.get_xlabel().endswith("smaller features left out: 1")
    # The first bar is on top.
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_error_bars_have_the_lengths_given(ax: Axes) -> None:
    table = make_table()
    model = FCGBoostClassifier("relu", max_iter=8, random_state=0).fit(table, y)
    found = permutation_importance(model, table, y, n_repeats=4, random_state=3)
    means, deviations = found.importances_mean, found.importances_std
    display = FeatureInfluenceDisplay(means, list(table.columns), errors=deviations).plot(ax)
    (bars,) = display.bars_.errorbar.lines[2]
    order = np.argsort(-means, kind="stable")
    spans = [segment[:, 0] for segment in bars.get_segments()]
    assert_allclose(spans, means[order, None] + np.outer(deviations[order], [-1.0, 1.0]))


def test_partial_dependence_of_scikit_learn_takes_our_classifiers(ax: Axes) -> None:
    model = FCGBoostClassifier("relu", max_iter=8, random_state=0).fit(X, y)
    (first, both) = PartialDependenceDisplay.from_estimator(
        model, X, [1, (0, 1)], grid_resolution=5, ax=ax
    ).pd_results
    value = first["grid_values"][0][2]
    moved = np.column_stack([X[:, 0], np.full(len(X), value)])
    assert_allclose(first["average"][0, 2], model.predict_proba(moved)[:, 1].mean())
    assert both["average"].shape == (1, 5, 5)


def test_partial_dependence_of_scikit_learn_takes_tables_with_text(ax: Axes) -> None:
    table = make_table().assign(group=np.where(X[:, 1] > 0.5, "high", "low"))
    pipe = FCGBoostClassifier("relu", max_iter=8, random_state=0)
    pipe.fit(table, y)
    number, text = PartialDependenceDisplay.from_estimator(
        pipe, table, ["second", "group"], categorical_features=["group"], grid_resolution=5, ax=ax
    ).pd_results
    assert number["average"].shape == (1, 5)
    assert_array_equal(text["grid_values"][0], ["high", "low"])
    expected = [
        pipe.predict_proba(table.assign(group=value))[:, 1].mean() for value in ("high", "low")
    ]
    assert_allclose(text["average"][0], expected)


@pytest.mark.parametrize(
    ("dictionary", "kind"),
    [
        ("auto", None),
        ("tree", None),
        ("linear", None),
        ("step", "step"),
        (UnionDictionary([ReluDictionary()]), "hinge"),
        (UnionDictionary([ReluDictionary(), GaussDictionary()]), None),
    ],
)
def test_boundaries_show_atoms_of_one_kind_only(dictionary: Any, kind: str | None) -> None:
    model = FCGBoostClassifier(dictionary, max_iter=6, random_state=0).fit(X, y)
    for k in (None, 1):
        display = DecisionBoundaryDisplay.from_estimator(model, X, y, k=k, ax=Figure().subplots())
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, ax=Figure().subplots())
    assert (display.atoms and display.atoms.kind) == kind
    if kind is not None:
        assert display.atoms.places.shape[0] == model.n_atoms_
    FeatureInfluenceDisplay.from_estimator(model, ax=Figure().subplots())


def names_of(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def test_shapley_values_are_points_by_the_mean_size_of_their_columns(ax: Axes) -> None:
    values = np.array([[0.5, -2.0, 0.0], [-0.5, 1.0, 0.25]])
    data = np.array([[3.0, 1.0, 0.0], [2.0, 5.0, 0.0]])
    found = Explanation(values, np.zeros(2), data, ["a", "b", "c"], np.zeros(2))
    display = SummaryDisplay.from_explanation(found, ax=ax)
    assert names_of(ax) == ["b", "a", "c"]
    assert_array_equal(display.levels, [[1.0, 0.5, 0.75], [0.5, 1.0, 0.75]])
    x, line = display.points_.get_offsets().T
    assert_allclose(x, values[:, [1, 0, 2]].ravel())
    assert_array_equal(line.round(), [0, 1, 2, 0, 1, 2])
    assert_array_equal(display.points_.get_array().ravel(), display.levels[:, [1, 0, 2]].ravel())
    assert names_of(display.plot(n_shown=1).ax_) == ["b"]


def test_shapley_values_speak_for_the_class_asked_for(several: FCGBoostClassifier) -> None:
    found = several.explain(BLOBS[:6])
    display = SummaryDisplay.from_explanation(found, code=2)
    assert_allclose(display.values, found.values[:, :, 2])


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([10.0, 0.0, 0.5, 0.5], [1.0, 0.25, 0.625, 0.625]),
        ([2.0, np.nan, 1.0, 3.0], [0.5, 0.5, 0.25, 0.75]),
        ([True, False], [1.0, 0.5]),
        ([np.nan, np.nan], [0.5, 0.5]),
        (["b", "a"], [0.5, 0.5]),
        (np.array(["2020-01-02", "2020-01-01"], dtype="datetime64[D]"), [0.5, 0.5]),
    ],
)
def test_levels_rank_numbers(column: Any, expected: list[float]) -> None:
    assert_array_equal(levels_of(np.array(column)), expected)


def test_shapley_values_of_tables_and_sparse_rows_are_drawn(model: FCGBoostClassifier) -> None:
    table, labels = mixed(60, 0)
    clf = FCGBoostClassifier("relu", max_iter=4, random_state=0).fit(table, labels)
    display = SummaryDisplay.from_explanation(clf.explain(table))
    is_text = np.array(display.names) == "city"
    assert (display.levels[:, is_text] == 0.5).all()
    assert len(np.unique(display.levels[:, ~is_text])) > 10
    dense = SummaryDisplay.from_explanation(model.explain(X[:9])).levels
    rows = sparse.csr_array(X[:9])
    assert_allclose(SummaryDisplay.from_explanation(model.explain(rows)).levels, dense)
