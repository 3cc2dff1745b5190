"""The influence of features, and atoms, by the numbers they hold and the Axes they draw."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import PartialDependenceDisplay, permutation_importance
from sklearn.pipeline import make_pipeline
from suites.pictures import BLOBS, X, y

from fcgboost import Dictionary, FCGBoostClassifier
from fcgboost.dictionaries import (
    GaussDictionary,
    ReluDictionary,
    StepDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.importances import weights_of
from fcgboost.plotting import AtomDisplay, DecisionBoundaryDisplay, FeatureInfluenceDisplay
from fcgboost.tables import TableEncoder


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


def test_permutations_are_those_of_scikit_learn_with_their_deviation(ax: Axes) -> None:
    table = make_table()
    model = FCGBoostClassifier("relu", max_iter=8, random_state=0).fit(table, y)
    options = {"n_repeats": 4, "random_state": 3, "scoring": "roc_auc"}
    display = FeatureInfluenceDisplay.from_estimator(
        model, table, y, method="permutation", options=options, ax=ax
    )
    found = permutation_importance(model, table, y, **options)
    assert_allclose(display.values, found.importances_mean)
    assert_allclose(display.errors, found.importances_std)
    assert display.names == list(table.columns)
    assert "roc_auc" in ax.get_xlabel()
    (bars,) = display.bars_.errorbar.lines[2]
    order = np.argsort(-display.values)
    spans = [segment[:, 0] for segment in bars.get_segments()]
    expected = display.values[order, None] + np.outer(display.errors[order], [-1.0, 1.0])
    assert_allclose(spans, expected)


def test_a_pipeline_has_slopes_of_encoded_columns_and_permutations_of_its_own(ax: Axes) -> None:
    table = make_table().assign(group=np.where(X[:, 1] > 0.5, "high", "low"))
    pipe = make_pipeline(TableEncoder(), FCGBoostClassifier("relu", max_iter=8, random_state=0))
    pipe.fit(table, y)
    slopes = FeatureInfluenceDisplay.from_estimator(pipe, ax=ax)
    assert slopes.names == ["noise", "first", "second", "group=high", "group=low"]
    shuffled = FeatureInfluenceDisplay.from_estimator(
        pipe, table, y, method="permutation", options={"n_repeats": 2}, ax=Figure().subplots()
    )
    assert shuffled.names == ["noise", "first", "second", "group"]


def test_any_classifier_has_permutations(ax: Axes) -> None:
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    display = FeatureInfluenceDisplay.from_estimator(
        forest, X, y, method="permutation", options={"n_repeats": 2}, ax=ax
    )
    assert display.names == ["feature 1", "feature 2"]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"method": "permutation"}, "pass X and y"), ({"method": "shap"}, "method must be")],
)
def test_impossible_influences_are_errors(
    relu: FCGBoostClassifier, options: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        FeatureInfluenceDisplay.from_estimator(relu, **options)


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
    pipe = make_pipeline(TableEncoder(), FCGBoostClassifier("relu", max_iter=8, random_state=0))
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


def test_directions_of_neurons_are_in_standardised_units_beside_their_coefficients(
    ax: Axes,
) -> None:
    table = make_table()
    model = FCGBoostClassifier("relu", max_iter=5, random_state=0).fit(table, y)
    display = AtomDisplay.from_estimator(model, ax=ax)
    shown = display.image_.get_array()
    assert_allclose(shown, model.atoms_[:, :3] * model.model_.scale)
    # The dictionary draws unit directions.
    assert_allclose(np.linalg.norm(shown, axis=1), 1.0)
    assert_allclose([bar.get_width() for bar in display.bars_], model.atom_coef_[0])
    assert [text.get_text() for text in display.heat_ax_.get_xticklabels()] == list(table.columns)
    assert [text.get_text() for text in display.heat_ax_.get_yticklabels()] == list("12345")
    low, high = display.image_.get_clim()
    assert low == -high == -np.abs(shown).max()


def test_only_the_largest_atoms_and_features_are_shown_in_their_order(ax: Axes) -> None:
    values = np.array([[1.0, 0.0, 5.0], [2.0, 0.1, 5.0], [3.0, 0.2, 5.0]])
    display = AtomDisplay(values, np.array([0.5, 0.1, -0.9]), np.array([2, 4, 7]), list("abc"))
    display.plot(ax, n_atoms=2, n_shown=2)
    assert_allclose(display.image_.get_array(), [[1.0, 5.0], [3.0, 5.0]])
    assert [text.get_text() for text in display.heat_ax_.get_yticklabels()] == ["2", "7"]
    assert [text.get_text() for text in display.heat_ax_.get_xticklabels()] == ["a", "c"]
    assert "smaller ones left out: 1" in display.heat_ax_.get_ylabel()
    assert_allclose([bar.get_width() for bar in display.bars_], [0.5, -0.9])


def test_gauss_atoms_are_shown_by_their_centres(several: FCGBoostClassifier, ax: Axes) -> None:
    display = AtomDisplay.from_estimator(several, BLOBS, class_of_interest=1, ax=ax)
    own = np.flatnonzero(several.atom_coef_[1])
    expected = (several.atoms_[own, :2] - BLOBS.mean(axis=0)) / several.model_.scale
    assert_allclose(display.values, expected)
    assert_array_equal(display.numbers, own + 1)
    alone = AtomDisplay.from_estimator(several, class_of_interest=1, ax=Figure().subplots())
    assert_allclose(np.diff(alone.values, axis=0), np.diff(expected, axis=0))


def test_sparse_data_have_atoms_to_show(ax: Axes) -> None:
    rows = sparse.random_array((60, 6), density=0.4, rng=np.random.default_rng(0), format="csr")
    labels = (rows.toarray()[:, 0] > 0.2).astype(int)
    model = FCGBoostClassifier("gauss", max_iter=3, random_state=0).fit(rows, labels)
    display = AtomDisplay.from_estimator(model, rows, ax=ax)
    centers = model.atoms_.toarray()[:, :6]
    expected = (centers - rows.toarray().mean(axis=0)) / model.model_.scale
    assert_allclose(display.values, expected)


def overlaps(texts: Any) -> bool:
    """Return whether any two texts of an axis cover each other."""
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    return any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


SIZES, LARGEST = [(6.4, 4.8), (6.0, 5.0), (4.6, 4.0), (3.0, 2.0)], [0.7, 0.09, 123.0]


@pytest.mark.parametrize(
    ("size", "largest"),
    [
        pytest.param(size, largest, marks=[] if i % 3 == j else [pytest.mark.slow])
        for i, size in enumerate(SIZES)
        for j, largest in enumerate(LARGEST)
    ],
)
def test_no_text_of_the_atoms_covers_another(size: Any, largest: float) -> None:
    names = ["age", "a\nb " * 8, "chest_pain_type", "resting_blood_pressure", "thal"] * 2
    rng = np.random.default_rng(0)
    display = AtomDisplay(
        rng.standard_normal((33, 10)),
        largest * np.linspace(-1.0, 0.8, 33),
        np.arange(1, 34),
        names,
        class_name="a rather long name",
    )
    figure = Figure(figsize=size, layout="constrained")
    display.plot(figure.subplots())
    figure.draw_without_rendering()
    bars, heat = display.bar_ax_, display.heat_ax_
    assert 1 <= len(bars.get_xticks()) <= 2
    assert not overlaps(bars.get_xticklabels())
    assert not overlaps(heat.get_yticklabels())
    assert not overlaps([*heat.get_xticklabels(), bars.xaxis.label])
    assert all("\n" not in text.get_text() for text in heat.get_xticklabels())


class Corners(Dictionary):
    """1 right of and above a point, else 0: neither a centre nor a direction."""

    def candidates(self, sample: Any, n: int, key: int) -> Any:
        return sample.dense_rows()[:n]

    def evaluate(self, X: Any, atoms: Any, scale: Any) -> Any:
        return (X[:, None] >= atoms).all(axis=2) * 1.0


def test_atoms_without_centre_and_direction_are_left_out_or_an_error(ax: Axes) -> None:
    model = FCGBoostClassifier(Corners(), max_iter=3, random_state=0).fit(X, y)
    assert DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax).atoms is None
    with pytest.raises(ValueError, match="pass atoms='auto'"):
        DecisionBoundaryDisplay.from_estimator(model, X, y, atoms=True, ax=ax)
    with pytest.raises(ValueError, match=r"have a direction, a centre or splits.*not Corners"):
        AtomDisplay.from_estimator(model)
    display = FeatureInfluenceDisplay.from_estimator(model, ax=Figure().subplots())
    assert "changes" in display.ax_.get_xlabel()


FAMILIES = [ReluDictionary(), TreeDictionary(depth=2), GaussDictionary()]


def test_trees_are_shown_by_their_splits(ax: Axes) -> None:
    table = make_table()
    model = FCGBoostClassifier(TreeDictionary(depth=1), max_iter=4).fit(table, y)
    display = AtomDisplay.from_estimator(model, ax=ax)
    features = model.atoms_[:, 0].astype(int)
    assert_array_equal(display.values, np.eye(3)[features])
    assert display.value_name == "share of the splits"


def test_deep_splits_count_less(ax: Axes) -> None:
    row = [1, 0.5, 1, 0, 0, 0.5, 3, 0, 2, 0.5, 5, 0, *[-1, 1, 0, 0] * 4]
    shares = weights_of(TreeDictionary(), np.array([row], dtype=float), np.ones(4))
    assert_allclose(shares, [[0.25, 0.5, 0.25, 0.0]])


def test_atoms_of_several_kinds_are_shown_by_shares(ax: Axes) -> None:
    table = make_table()
    dictionary = UnionDictionary([*FAMILIES, StepDictionary()])
    settings = {"max_iter": 8, "clip": 2.0, "random_state": 0, "fit_intercept": False}
    model = FCGBoostClassifier(dictionary, **settings).fit(table, y)
    display = AtomDisplay.from_estimator(model, table, ax=ax)
    numbers = model.atoms_[display.numbers - 1, 0]
    assert set(numbers) == {0.0, 1.0, 2.0, 3.0}
    assert_allclose(np.abs(display.values).sum(axis=1), 1.0)
    own = model.atoms_[display.numbers - 1][numbers == 0.0, 1:4] * model.model_.scale
    found = display.values[numbers == 0.0]
    assert_allclose(found, own / np.abs(own).sum(axis=1, keepdims=True))


@pytest.mark.parametrize(
    ("dictionary", "kind"),
    [
        ("auto", None),
        ("tree", None),
        ("linear", None),
        ("step", "step"),
        (UnionDictionary([ReluDictionary()]), "hinge"),
        (UnionDictionary(FAMILIES), None),
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


def test_a_model_without_atoms_is_an_error(model: FCGBoostClassifier) -> None:
    with pytest.raises(ValueError, match="no atoms for label 1 to draw"):
        AtomDisplay.from_estimator(model.truncate(0))
