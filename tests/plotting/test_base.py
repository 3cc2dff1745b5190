"""Every picture, whatever it shows."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from fcgboost import FCGBoostClassifier, FCGBoostRegressor
from fcgboost.io import load_model
from fcgboost.plotting import (
    ContributionDisplay,
    DecisionBoundaryDisplay,
    FeatureInfluenceDisplay,
    MarginDisplay,
    PathDisplay,
    ReliabilityDisplay,
    path_error,
)
from fcgboost.plotting.base import text_color
from tests.suites.pictures import (
    X,
    y,
)


def draw_boundary(model: Any, ax: Any = None, y: Any = y) -> Any:
    return DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax)


def draw_path(model: Any, ax: Any = None, y: Any = y) -> Any:
    return PathDisplay.from_estimator(model, X, y, ax=ax)


def draw_margins(model: Any, ax: Any = None, y: Any = y) -> Any:
    return MarginDisplay.from_estimator(model, X, y, ax=ax)


def draw_reliability(model: Any, ax: Any = None, y: Any = y) -> Any:
    return ReliabilityDisplay.from_estimator(model, X, y, ax=ax)


def draw_influence(model: Any, ax: Any = None, y: Any = y) -> Any:
    return FeatureInfluenceDisplay.from_estimator(model, ax=ax)


def draw_contributions(model: Any, ax: Any = None, y: Any = y) -> Any:
    return ContributionDisplay.from_estimator(model, X, ax=ax)


Draw = Callable[..., Any]
OURS = [draw_path, draw_influence, draw_contributions]
ALL = [draw_boundary, draw_margins, draw_reliability, *OURS]
each_display = pytest.mark.parametrize("draw", ALL)


@each_display
def test_an_unfitted_classifier_is_an_error(draw: Draw, ax: Axes) -> None:
    with pytest.raises(NotFittedError):
        draw(FCGBoostClassifier("gauss"), ax)
    with pytest.raises(NotFittedError):
        draw(FCGBoostClassifier("gauss"), ax)


def test_the_errors_of_an_unfitted_path_are_an_error() -> None:
    with pytest.raises(NotFittedError):
        path_error(FCGBoostClassifier("gauss"), X, y)


@pytest.mark.parametrize("draw", OURS)
def test_what_only_our_classifiers_have_is_not_drawn_of_others(draw: Draw, ax: Axes) -> None:
    relu = FCGBoostClassifier("relu", max_iter=2, random_state=0)
    for other in (SVC().fit(X, y), make_pipeline(StandardScaler(), relu).fit(X, y)):
        kind = type(other).__name__
        with pytest.raises(TypeError, match=rf"draws fitted models of fcgboost, got {kind}"):
            draw(other, ax)


@pytest.mark.parametrize("draw", [draw_margins, draw_reliability, draw_boundary])
def test_what_is_about_classes_is_not_drawn_of_numbers(draw: Draw, ax: Axes) -> None:
    model = FCGBoostRegressor("linear", max_iter=1).fit(X, y)
    with pytest.raises(TypeError, match="Display draws classifiers, got FCGBoostRegressor"):
        draw(model, ax)


@pytest.mark.parametrize("draw", [draw_path, draw_margins, draw_reliability, draw_contributions])
def test_rows_of_another_width_are_an_error(draw: Draw, ax: Axes) -> None:
    points = np.random.default_rng(0).uniform(size=(40, 3))
    model = FCGBoostClassifier("gauss", max_iter=2, random_state=0).fit(points, np.arange(40) % 2)
    with pytest.raises(ValueError, match="2 features, but FCGBoostClassifier is expecting 3"):
        draw(model, ax)


def test_a_model_saved_without_its_path_says_so(
    relu: FCGBoostClassifier, tmp_path: Path, ax: Axes
) -> None:
    relu.save_model(tmp_path / "model.json", trace=False)
    with pytest.raises(ValueError, match="no path to draw: it was saved with trace=False"):
        draw_path(load_model(tmp_path / "model.json"), ax)


@each_display
def test_a_loaded_model_is_drawn_as_it_was(
    draw: Draw, relu: FCGBoostClassifier, tmp_path: Path, ax: Axes
) -> None:
    relu.save_model(tmp_path / "model.json")
    again = draw(load_model(tmp_path / "model.json"), Figure().subplots())
    assert drawn_numbers(again.ax_) == drawn_numbers(draw(relu, ax).ax_)


def drawn_numbers(ax: Axes) -> list[Any]:
    """Return all texts, and the extents of all that is drawn, of Axes and those inside."""
    ax.figure.draw_without_rendering()
    texts = [text.get_text() for text in ax.figure.findobj(Text)]
    return [texts, [str(artist.get_window_extent()) for artist in ax.findobj(Artist)]]


@pytest.mark.parametrize(
    "draw",
    [d if d in OURS else pytest.param(d, marks=pytest.mark.slow) for d in ALL],
)
def test_a_narrow_picture_with_long_names_keeps_its_width(draw: Draw) -> None:
    labels = np.where(y > 0.0, "surely a benign tumour", "perhaps a malignant tumour")
    model = FCGBoostClassifier("relu", max_iter=3, random_state=0).fit(X, labels)
    figure = Figure(figsize=(14.0, 4.0), layout="constrained")
    axes = figure.subplots(1, 4)
    for ax in axes:
        draw(model, ax, labels)
    figure.draw_without_rendering()
    # An equal share would be a quarter; labels and ticks take some of it.
    assert min(ax.get_position().width for ax in axes) > 0.12


@each_display
def test_without_matplotlib_the_error_names_the_extra(
    draw: Draw, relu: FCGBoostClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"Display needs matplotlib.*fcgboost\[plot\]"):
        draw(relu)


@each_display
def test_pictures_change_no_global_setting_and_leave_pyplot_alone(
    draw: Draw, relu: FCGBoostClassifier, ax: Axes
) -> None:
    before = dict(mpl.rcParams)
    display = draw(relu, ax)
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == []
    assert display.ax_ is ax


@each_display
def test_plot_draws_the_same_again(draw: Draw, relu: FCGBoostClassifier, ax: Axes) -> None:
    display = draw(relu, ax)
    again = Figure().subplots()
    assert display.plot(again) is display
    assert display.ax_ is again
    assert len(again.get_children()) == len(ax.get_children())


@each_display
def test_nothing_is_cut_off_and_legends_lie_below_the_axes(
    draw: Draw, relu: FCGBoostClassifier
) -> None:
    display = draw(relu)
    figure, ax = display.figure_, display.ax_
    figure.draw_without_rendering()
    inside = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert inside.x0 >= -0.01
    assert inside.y0 >= -0.01
    assert inside.x1 <= width + 0.01
    assert inside.y1 <= height + 0.01
    if ax.get_legend() is not None:
        legend, label = ax.get_legend().get_window_extent(), ax.xaxis.label.get_window_extent()
        assert legend.y1 < label.y0


@each_display
def test_small_axes_keep_most_of_their_room(draw: Draw, relu: FCGBoostClassifier) -> None:
    figure = Figure(figsize=(3.0, 2.0), layout="constrained")
    ax = draw(relu, figure.subplots()).ax_
    figure.draw_without_rendering()
    assert ax.get_window_extent().height > 0.3 * figure.bbox.height
    if ax.get_legend() is not None:
        legend = ax.get_legend().get_window_extent()
        assert legend.x0 >= 0.0
        assert legend.x1 <= figure.bbox.width
        assert legend.y0 >= -1.0


@each_display
def test_on_a_dark_background_nothing_is_black_and_no_background_is_drawn(
    draw: Draw, relu: FCGBoostClassifier
) -> None:
    with plt.style.context("dark_background"):
        figure = Figure(layout="constrained")
        axes = figure.subplots()
        faces = figure.get_facecolor(), axes.get_facecolor()
        draw(relu, axes)
        assert (figure.get_facecolor(), axes.get_facecolor()) == faces
        assert text_color(axes) == "white"
        drawn = [*axes.lines, *axes.texts]
        drawn += axes.get_legend().get_texts() if axes.get_legend() is not None else []
        assert all(to_hex(artist.get_color()) != "#000000" for artist in drawn)


def test_a_pipeline_is_drawn_like_a_classifier() -> None:
    relu = FCGBoostClassifier("relu", max_iter=4, random_state=0)
    pipe = Pipeline([("same", FunctionTransformer()), ("classifier", relu)]).fit(X, y)
    margins = MarginDisplay.from_estimator(pipe, X, y).margins
    assert_allclose(margins, y * pipe.decision_function(X))
