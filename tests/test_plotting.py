"""Pictures, by what the returned Axes hold."""

import sys
from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import bayes_boundary, make_simulation
from fcgboost.plotting import (
    CLASS_COLORS,
    DICTIONARY_COLORS,
    path_error,
    plot_decision_boundary,
    plot_path,
)

X, y = make_simulation(80, random_state=0)


@pytest.fixture(scope="module")
def model() -> FCGBoostClassifier:
    return FCGBoostClassifier("gauss", max_iter=6, random_state=0).fit(X, y)


@pytest.fixture
def ax() -> Axes:
    return Figure().subplots()


@pytest.fixture(autouse=True)
def no_figure_stays_open() -> Iterator[None]:
    yield
    plt.close("all")


def legend_texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def offsets(ax: Axes, label: str) -> np.ndarray:
    """Give the points of the scatter with a label."""
    (found,) = [collection for collection in ax.collections if collection.get_label() == label]
    return np.asarray(found.get_offsets())


def test_a_boundary_plot_names_its_axes_points_and_lines(
    model: FCGBoostClassifier, ax: Axes
) -> None:
    drawn = plot_decision_boundary(
        model, X, y, true_boundary=bayes_boundary, centers=model.atoms_[:, :2], ax=ax
    )
    assert drawn is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("feature 1", "feature 2")
    assert legend_texts(ax) == [
        "label -1",
        "label 1",
        "decision boundary",
        "true boundary",
        "centre of an atom",
    ]


def test_a_boundary_plot_draws_only_what_is_asked_for(model: FCGBoostClassifier, ax: Axes) -> None:
    plot_decision_boundary(model, X, y, ax=ax)
    assert legend_texts(ax) == ["label -1", "label 1", "decision boundary"]


def test_a_boundary_plot_shows_every_point_in_the_colour_of_its_label(
    model: FCGBoostClassifier, ax: Axes
) -> None:
    plot_decision_boundary(model, X, y, ax=ax)
    for value, name, color in zip((-1.0, 1.0), ("label -1", "label 1"), CLASS_COLORS, strict=True):
        assert_allclose(offsets(ax, name), X[y == value])
        (points,) = [c for c in ax.collections if c.get_label() == name]
        assert to_hex(points.get_facecolors()[0]).upper() == color


def test_the_true_boundary_and_the_centres_are_where_they_were_given(
    model: FCGBoostClassifier, ax: Axes
) -> None:
    centers = model.atoms_[:, :2]
    plot_decision_boundary(model, X, y, true_boundary=bayes_boundary, centers=centers, ax=ax)
    (line,) = [line for line in ax.lines if line.get_label() == "true boundary"]
    first, second = line.get_data()
    assert_allclose(second, bayes_boundary(first))
    assert_allclose(offsets(ax, "centre of an atom"), centers)


def test_the_boundary_line_is_where_the_decision_value_is_zero(
    model: FCGBoostClassifier, ax: Axes
) -> None:
    plot_decision_boundary(model, X, y, ax=ax)
    line = ax.collections[1]
    vertices = np.vstack([path.vertices for path in line.get_paths()])
    assert_allclose(model.decision_function(vertices), 0.0, atol=0.01)


@pytest.mark.parametrize(
    "classifier", [SVC(), RandomForestClassifier(5, random_state=0), DummyClassifier()]
)
def test_any_classifier_can_be_drawn(classifier: object, ax: Axes) -> None:
    classifier.fit(X, y)
    plot_decision_boundary(classifier, X, y, ax=ax)
    # Filled contours span the sure values of both classes.
    assert ax.collections[0].get_clim() == (-1.0, 1.0)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_data_frame_name_the_axes(frame: type, ax: Axes) -> None:
    table = frame({"height": X[:, 0], "weight": X[:, 1]})
    labels = np.where(y > 0, "ill", "well")
    model = FCGBoostClassifier("relu", max_iter=3, random_state=0).fit(table, labels)
    plot_decision_boundary(model, table, labels, ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("height", "weight")
    assert legend_texts(ax) == ["label ill", "label well", "decision boundary"]


def test_the_legend_lies_outside_the_axes(model: FCGBoostClassifier) -> None:
    ax = plot_decision_boundary(model, X, y)
    ax.figure.canvas.draw()
    legend, label = ax.get_legend().get_window_extent(), ax.xaxis.label.get_window_extent()
    assert legend.y1 < label.y0
    assert legend.y0 >= 0.0


@pytest.mark.parametrize("n_features", [1, 3])
def test_a_boundary_needs_two_features(n_features: int, ax: Axes) -> None:
    points = np.random.default_rng(0).uniform(size=(30, n_features))
    labels = np.arange(30) % 2
    model = FCGBoostClassifier(max_iter=2, random_state=0).fit(points, labels)
    with pytest.raises(
        ValueError, match=rf"exactly 2 features, but X has shape \(30, {n_features}"
    ):
        plot_decision_boundary(model, points, labels, ax=ax)


def test_a_boundary_needs_two_classes(ax: Axes) -> None:
    labels = np.arange(len(X)) % 3
    model = FCGBoostClassifier(max_iter=2, random_state=0).fit(X, labels)
    with pytest.raises(ValueError, match="2 classes, got 3"):
        plot_decision_boundary(model, X, labels, ax=ax)


def test_a_boundary_needs_a_label_for_every_point(model: FCGBoostClassifier, ax: Axes) -> None:
    with pytest.raises(ValueError, match=r"X has 80 rows, but y has shape \(79,\)"):
        plot_decision_boundary(model, X, y[:-1], ax=ax)


def test_centres_with_more_than_their_coordinates_are_an_error(
    model: FCGBoostClassifier, ax: Axes
) -> None:
    with pytest.raises(ValueError, match=r"but centers has shape \(6, 3\)"):
        plot_decision_boundary(model, X, y, centers=model.atoms_, ax=ax)
    assert not ax.collections


def test_an_unfitted_classifier_is_an_error(ax: Axes) -> None:
    with pytest.raises(NotFittedError):
        plot_decision_boundary(FCGBoostClassifier(), X, y, ax=ax)
    with pytest.raises(NotFittedError):
        path_error(FCGBoostClassifier(), X, y)


def test_a_path_plot_names_curves_and_marks_k0_and_chosen_steps(ax: Axes) -> None:
    curves = {"gauss": [0.3, 0.2, 0.1], "relu": [0.3, 0.1, 0.2], "mine": [0.4, 0.3]}
    drawn = plot_path(curves, k0=2, chosen={"relu": 3}, ax=ax)
    assert drawn is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("steps $k$", "test error")
    assert legend_texts(ax) == ["gauss", "relu", "mine", "chosen number of steps", "$k_0$ = 2"]
    by_label = {line.get_label(): line for line in ax.lines}
    for name, values in curves.items():
        assert_allclose(by_label[name].get_data(), [np.arange(1, len(values) + 1), values])
    assert_allclose(by_label["$k_0$ = 2"].get_xdata(), 2)
    marks = [line.get_data() for line in ax.lines if line.get_marker() == "o"]
    assert [tuple(map(float, mark)) for mark in map(np.ravel, marks) if mark.size] == [(3.0, 0.2)]


def test_dictionaries_have_their_colours_and_other_curves_have_others(ax: Axes) -> None:
    names = [*reversed(DICTIONARY_COLORS), "one", "two"]
    plot_path({name: [0.2, 0.1] for name in names}, ax=ax)
    colors = {line.get_label(): line.get_color() for line in ax.lines}
    assert {name: colors[name] for name in DICTIONARY_COLORS} == dict(DICTIONARY_COLORS)
    assert len(set(colors.values())) == len(names)


def test_one_curve_needs_no_name_and_no_legend(ax: Axes) -> None:
    plot_path([0.3, 0.2], ylabel="validation error", ax=ax)
    assert ax.get_legend() is None
    assert ax.get_ylabel() == "validation error"
    assert len(ax.lines) == 1


@pytest.mark.parametrize("values", [[], [[0.1, 0.2]], 0.1])
def test_a_curve_is_one_number_per_step(values: object, ax: Axes) -> None:
    with pytest.raises(ValueError, match="one number per step"):
        plot_path({"gauss": values}, ax=ax)


def test_a_path_plot_needs_a_curve(ax: Axes) -> None:
    with pytest.raises(ValueError, match="at least one curve"):
        plot_path({}, ax=ax)


@pytest.mark.parametrize("chosen", [{"relu": 1}, {"gauss": 0}, {"gauss": 3}])
def test_a_chosen_step_must_lie_on_its_curve(chosen: dict[str, int], ax: Axes) -> None:
    with pytest.raises(ValueError, match="where there is no curve"):
        plot_path({"gauss": [0.2, 0.1]}, chosen=chosen, ax=ax)


def test_path_error_covers_the_whole_path_of_a_truncated_model(model: FCGBoostClassifier) -> None:
    errors = path_error(model.truncate(2), X, y)
    expected = [1.0 - model.truncate(k).score(X, y) for k in range(1, 7)]
    assert_allclose(errors, expected)


def test_plots_change_no_global_setting(model: FCGBoostClassifier) -> None:
    before = dict(mpl.rcParams)
    plot_decision_boundary(model, X, y)
    plot_path([0.3, 0.2])
    assert dict(mpl.rcParams) == before


def test_without_matplotlib_the_error_names_the_extra(
    model: FCGBoostClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"fcgboost\[plot\]"):
        plot_path([0.3, 0.2])
    with pytest.raises(ImportError, match=r"fcgboost\[plot\]"):
        plot_decision_boundary(model, X, y)
