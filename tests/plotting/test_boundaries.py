"""Decision boundaries and their atoms, by the numbers they hold and the Axes they draw."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from fcgboost import FCGBoostClassifier
from fcgboost.colors import CLASS_COLORS
from fcgboost.datasets import bayes_boundary
from fcgboost.plotting import DecisionBoundaryDisplay
from fcgboost.plotting.base import class_colors
from tests.suites.pictures import (
    BLOBS,
    COLORS,
    X,
    legend_texts,
    lines_of,
    offsets,
    y,
)


def grid_of(display: DecisionBoundaryDisplay) -> np.ndarray:
    """Return the points of the grid, of shape (n, n, 2)."""
    return np.stack([display.surface.xx0, display.surface.xx1], axis=-1)


def test_a_boundary_names_its_axes_points_lines_and_atoms(
    model: FCGBoostClassifier, ax: Axes
) -> None:
    display = DecisionBoundaryDisplay.from_estimator(
        model, X, y, true_boundary=bayes_boundary, ax=ax
    )
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("feature 1", "feature 2")
    assert legend_texts(ax) == [
        "label -1",
        "label 1",
        "decision boundary",
        "true boundary",
        "centre of an atom",
    ]


def test_a_boundary_draws_only_what_is_asked_for(model: FCGBoostClassifier, ax: Axes) -> None:
    display = DecisionBoundaryDisplay.from_estimator(model, X, atoms=False, ax=ax)
    assert legend_texts(ax) == ["decision boundary"]
    assert display.atoms_ == []


def test_a_boundary_shows_every_point_in_the_colour_of_its_label(
    model: FCGBoostClassifier, ax: Axes
) -> None:
    DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax)
    for value, name, color in zip((-1.0, 1.0), ("label -1", "label 1"), CLASS_COLORS, strict=True):
        assert_allclose(offsets(ax, name), X[y == value])
        (points,) = [c for c in ax.collections if c.get_label() == name]
        assert to_hex(points.get_facecolors()[0]).upper() == color


def test_the_boundary_line_is_where_the_decision_value_is_zero(
    model: FCGBoostClassifier, ax: Axes
) -> None:
    display = DecisionBoundaryDisplay.from_estimator(
        model, X, y, true_boundary=bayes_boundary, ax=ax
    )
    (line,) = display.boundary_
    vertices = np.vstack([path.vertices for path in line.get_paths()])
    assert_allclose(model.decision_function(vertices), 0.0, atol=0.01)
    first, second = lines_of(ax)["true boundary"].get_data()
    assert_allclose(second, bayes_boundary(first))


def test_the_plane_is_filled_by_the_decision_values_of_its_grid(
    model: FCGBoostClassifier, ax: Axes
) -> None:
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax)
    i, j = 17, 200
    surface = display.surface
    (value,) = model.decision_function([[surface.xx0[i, j], surface.xx1[i, j]]])
    assert_allclose(surface.response[i, j], value)
    assert_allclose(display.surface_.get_array()[i, j], value)
    assert display.surface_.get_clim() == (-1.0, 1.0)


def test_k_shows_the_model_after_k_steps(model: FCGBoostClassifier, ax: Axes) -> None:
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, k=2, ax=ax)
    short = model.truncate(2)
    (drawn,) = display.atoms_
    assert len(drawn.get_offsets()) == 2
    points = grid_of(display).reshape(-1, 2)
    assert_allclose(display.surface.response.ravel(), short.decision_function(points))
    nothing = DecisionBoundaryDisplay.from_estimator(model, X, y, k=0, ax=Figure().subplots())
    assert nothing.atoms_ == []
    assert nothing.boundary_ == []


def test_several_classes_have_regions_where_they_win_and_lines_where_two_are_equal(
    several: FCGBoostClassifier, ax: Axes
) -> None:
    display = DecisionBoundaryDisplay.from_estimator(several, BLOBS, COLORS, ax=ax)
    points = grid_of(display)
    predicted = several.predict(points.reshape(-1, 2)).reshape(points.shape[:2])
    colors = display.surface_.to_rgba(display.surface_.get_array())
    for value, color in enumerate(class_colors(3)):
        assert {to_hex(one) for one in colors[predicted == value]} == {color.lower()}
    assert len(display.boundary_) == 3
    for line in display.boundary_:
        vertices = np.vstack([path.vertices for path in line.get_paths()])
        values = np.sort(several.decision_function(vertices), axis=1)
        assert_allclose(values[:, -1], values[:, -2], atol=0.02)


@pytest.mark.parametrize(
    "classifier", [SVC(), RandomForestClassifier(5, random_state=0), DummyClassifier(), LinearSVC()]
)
def test_any_classifier_can_be_drawn(classifier: Any, ax: Axes) -> None:
    classifier.fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(classifier, X, y, ax=ax)
    assert display.atoms is None
    has_decision = isinstance(classifier, SVC | LinearSVC)
    assert display.surface_.get_clim() == ((-1.0, 1.0) if has_decision else (0.0, 1.0))


def test_several_classes_of_pairwise_decision_values_are_drawn_by_prediction(ax: Axes) -> None:
    points, labels = make_blobs(60, centers=4, random_state=0)
    classifier = SVC(decision_function_shape="ovo").fit(points, labels)
    display = DecisionBoundaryDisplay.from_estimator(classifier, points, labels, ax=ax)
    predicted = classifier.predict(grid_of(display).reshape(-1, 2))
    assert_array_equal(display.surface.response.ravel(), predicted)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_data_frame_name_the_axes(frame: type, ax: Axes) -> None:
    table = frame({"height": X[:, 0], "weight": X[:, 1]})
    labels = np.where(y > 0, "ill", "well")
    model = FCGBoostClassifier("relu", max_iter=3, random_state=0).fit(table, labels)
    DecisionBoundaryDisplay.from_estimator(model, table, labels, atoms=False, ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("height", "weight")
    assert legend_texts(ax) == ["label ill", "label well", "decision boundary"]


def test_a_pipeline_has_a_boundary_and_neither_atoms_nor_steps(ax: Axes) -> None:
    boost = FCGBoostClassifier("gauss", max_iter=3, random_state=0)
    pipe = make_pipeline(StandardScaler(), boost).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(pipe, X, y, ax=ax)
    assert display.atoms is None
    assert len(display.boundary_) == 1
    with pytest.raises(TypeError, match="got Pipeline: of a Pipeline pass the last step"):
        DecisionBoundaryDisplay.from_estimator(pipe, X, y, k=2, ax=ax)


def test_sparse_points_are_drawn_as_dense_ones(model: FCGBoostClassifier, ax: Axes) -> None:
    DecisionBoundaryDisplay.from_estimator(model, sparse.csr_array(X), y, ax=ax)
    assert_allclose(offsets(ax, "label 1"), X[y == 1.0])


@pytest.mark.parametrize("n_features", [1, 3])
def test_a_boundary_needs_two_features(n_features: int, ax: Axes) -> None:
    points = np.random.default_rng(0).uniform(size=(30, n_features))
    labels = np.arange(30) % 2
    model = FCGBoostClassifier("gauss", max_iter=2, random_state=0).fit(points, labels)
    with pytest.raises(ValueError, match=f"n_features must be equal to 2. Got {n_features}"):
        DecisionBoundaryDisplay.from_estimator(model, points, labels, ax=ax)


def test_a_boundary_needs_a_label_for_every_point(model: FCGBoostClassifier, ax: Axes) -> None:
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[80, 79\]"):
        DecisionBoundaryDisplay.from_estimator(model, X, y[:-1], ax=ax)


def test_a_row_far_from_all_others_does_not_squash_the_plane(ax: Axes) -> None:
    points, labels = X.copy(), y.copy()
    points[0] = [1e6, -1e6]
    clf = FCGBoostClassifier("relu", max_iter=5, random_state=0).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(clf, points, labels, ax=ax)
    for column, (low, high) in zip(X.T, (ax.get_xlim(), ax.get_ylim()), strict=True):
        assert low <= column[1:].min()
        assert high >= column[1:].max()
        assert high - low < 1.1 * np.ptp(column)
    assert display.n_outside == 1
    assert "rows farther out: 1" in legend_texts(ax)
