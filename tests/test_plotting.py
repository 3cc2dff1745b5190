"""Pictures, by the numbers they hold and the Axes they draw."""

import copy
import dataclasses
import sys
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_blobs
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.inspection import PartialDependenceDisplay, permutation_importance
from sklearn.metrics import brier_score_loss
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC

from fcgboost import (
    Dictionary,
    FCGBoostClassifier,
    FCGBoostClassifierCV,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
    theory_steps,
)
from fcgboost.datasets import bayes_boundary, make_simulation
from fcgboost.plotting import (
    CLASS_COLORS,
    DICTIONARY_COLORS,
    AtomDisplay,
    CoefficientPathDisplay,
    DecisionBoundaryDisplay,
    FeatureInfluenceDisplay,
    MarginDisplay,
    PathDisplay,
    ReliabilityDisplay,
    path_error,
)
from fcgboost.plotting.canvas import colors_of, ink
from fcgboost.plotting.coefficients import _spread
from fcgboost.plotting.marks import clipped_line
from fcgboost.tables import TableEncoder

X, y = make_simulation(80, random_state=0)
X_test, y_test = make_simulation(60, random_state=1)
BLOBS, COLORS = make_blobs(90, centers=3, cluster_std=2.0, random_state=0)


@pytest.fixture(scope="module")
def model() -> FCGBoostClassifier:
    return FCGBoostClassifier("gauss", max_iter=6, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def relu() -> FCGBoostClassifier:
    return FCGBoostClassifier("relu", max_iter=6, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def several() -> FCGBoostClassifier:
    return FCGBoostClassifier("gauss", max_iter=5, random_state=0).fit(BLOBS, COLORS)


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


def lines_of(ax: Axes) -> dict[str, Any]:
    return {line.get_label(): line for line in ax.lines}


# Decision boundaries


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
        "centre for label -1",
        "centre for label 1",
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
    value = model.decision_function([[display.xx0[j], display.xx1[i]]])
    assert_allclose(display.response[i, j], value)
    assert_allclose(display.surface_.get_array()[i, j], np.clip(value, -1.0, 1.0)[0])
    assert display.surface_.get_clim() == (-1.0, 1.0)


def test_gauss_atoms_lie_at_their_centres_sized_by_coefficient_and_coloured_by_sign(
    model: FCGBoostClassifier, ax: Axes
) -> None:
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax)
    (coef,) = model.coef_
    for drawn, sign, color in zip(display.atoms_, (-1.0, 1.0), CLASS_COLORS, strict=True):
        mine = np.sign(coef) == sign
        assert_allclose(drawn.get_offsets(), model.atoms_[mine, :2])
        assert to_hex(drawn.get_facecolors()[0]).upper() == color
        # The order of the areas is that of the coefficients.
        assert_array_equal(np.argsort(drawn.get_sizes()), np.argsort(np.abs(coef[mine])))


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("q", ["scale", 2.0])
@pytest.mark.parametrize("max_iter", [1, 5])
def test_polynomial_atoms_lie_at_the_training_points_they_are_centred_at(
    standardize: bool, q: Any, max_iter: int, ax: Axes
) -> None:
    moved = X * [3.0, 0.5] + [4.0, -2.0]
    dictionary = PolynomialDictionary(q=q)
    model = FCGBoostClassifier(
        dictionary, max_iter=max_iter, standardize=standardize, random_state=0
    ).fit(moved, y)
    display = DecisionBoundaryDisplay.from_estimator(model, moved, y, ax=ax)
    assert display.marks is not None
    gaps = np.abs(display.marks.places[:, None] - moved).max(axis=2).min(axis=1)
    assert len(gaps) == max_iter
    assert_allclose(gaps, 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("dictionary", "kind"), [(ReluDictionary(), "hinge"), (SigmoidDictionary(), "half-way line")]
)
def test_neurons_are_the_lines_on_which_they_bend_cut_at_the_edge(
    dictionary: Any, kind: str, ax: Axes
) -> None:
    model = FCGBoostClassifier(dictionary, max_iter=8, random_state=0).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax)
    assert {f"{kind} for label -1", f"{kind} for label 1"} <= set(legend_texts(ax))
    (coef,) = model.coef_
    low = np.array([display.xx0[0], display.xx1[0]])
    high = np.array([display.xx0[-1], display.xx1[-1]])
    n_drawn = 0
    for drawn, sign in zip(display.atoms_, (-1.0, 1.0), strict=True):
        rows = model.atoms_[np.sign(coef) == sign]
        seen = [row for row in rows if clipped_line(row, low, high) is not None]
        for row, ends in zip(seen, drawn.get_segments(), strict=True):
            assert_allclose(ends @ row[:2] + row[2], 0.0, atol=1e-9)
            on_edge = np.isclose(ends, low) | np.isclose(ends, high)
            assert on_edge.any(axis=1).all()
        n_drawn += len(seen)
        widths = np.asarray(drawn.get_linewidths())
        assert widths.min() >= 0.6
        assert widths.max() <= 3.2
    # Hinges go through training points, so every one of them is seen.
    assert n_drawn == model.n_atoms_


@pytest.mark.parametrize(
    ("row", "ends"),
    [
        ((1.0, 0.0, -0.25), [[0.25, 0.0], [0.25, 2.0]]),
        ((0.0, 1.0, -1.5), [[0.0, 1.5], [1.0, 1.5]]),
        ((1.0, 1.0, -1.0), [[0.0, 1.0], [1.0, 0.0]]),
        ((1.0, 1.0, -4.0), None),
        ((1.0, 0.0, 1.0), None),
        ((0.0, 0.0, 1.0), None),
    ],
)
def test_lines_are_cut_to_the_box(row: Any, ends: Any) -> None:
    found = clipped_line(np.array(row), np.array([0.0, 0.0]), np.array([1.0, 2.0]))
    if ends is None:
        assert found is None
    else:
        assert_allclose(found[np.lexsort(found.T[::-1])], ends)


def test_k_shows_the_model_after_k_steps(model: FCGBoostClassifier, ax: Axes) -> None:
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, k=2, ax=ax)
    short = model.truncate(2)
    assert sum(len(drawn.get_offsets()) for drawn in display.atoms_) == 2
    points = np.stack(np.meshgrid(display.xx0, display.xx1), axis=-1).reshape(-1, 2)
    assert_allclose(display.response.ravel(), short.decision_function(points))
    nothing = DecisionBoundaryDisplay.from_estimator(model, X, y, k=0, ax=Figure().subplots())
    assert nothing.atoms_ == []
    assert nothing.boundary_ == []


def test_several_classes_have_regions_where_they_win_and_lines_where_two_are_equal(
    several: FCGBoostClassifier, ax: Axes
) -> None:
    display = DecisionBoundaryDisplay.from_estimator(several, BLOBS, COLORS, ax=ax)
    points = np.stack(np.meshgrid(display.xx0, display.xx1), axis=-1)
    predicted = several.predict(points.reshape(-1, 2)).reshape(points.shape[:2])
    image = display.surface_.get_array()
    for value, color in enumerate(colors_of(3)):
        region = image[predicted == value]
        assert_allclose(region[:, :3], np.tile(to_rgba(color)[:3], (len(region), 1)), rtol=1e-6)
    assert len(display.boundary_) == 3
    for line in display.boundary_:
        vertices = np.vstack([path.vertices for path in line.get_paths()])
        values = np.sort(several.decision_function(vertices), axis=1)
        assert_allclose(values[:, -1], values[:, -2], atol=0.02)


def test_atoms_of_several_classes_have_the_class_of_their_largest_coefficient(
    several: FCGBoostClassifier, ax: Axes
) -> None:
    display = DecisionBoundaryDisplay.from_estimator(several, BLOBS, COLORS, ax=ax)
    assert legend_texts(ax)[-1] == "centre of an atom (hollow: against the class)"
    largest = np.abs(several.coef_).argmax(axis=0)
    is_for = several.coef_[largest, np.arange(several.n_atoms_)] > 0.0
    groups = [
        (c, f) for c in range(3) for f in (True, False) if ((largest == c) & (is_for == f)).any()
    ]
    for drawn, (value, speaks_for) in zip(display.atoms_, groups, strict=True):
        mine = (largest == value) & (is_for == speaks_for)
        assert_allclose(drawn.get_offsets(), several.atoms_[mine, :2])
        assert (len(drawn.get_facecolors()) > 0) == speaks_for


@pytest.mark.parametrize(
    "classifier", [SVC(), RandomForestClassifier(5, random_state=0), DummyClassifier(), LinearSVC()]
)
def test_any_classifier_can_be_drawn(classifier: Any, ax: Axes) -> None:
    classifier.fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(classifier, X, y, ax=ax)
    assert display.marks is None
    assert display.surface_.get_clim() == (-1.0, 1.0)


def test_several_classes_of_pairwise_decision_values_are_drawn_by_prediction(ax: Axes) -> None:
    points, labels = make_blobs(60, centers=4, random_state=0)
    classifier = SVC(decision_function_shape="ovo").fit(points, labels)
    display = DecisionBoundaryDisplay.from_estimator(classifier, points, labels, ax=ax)
    grid = np.stack(np.meshgrid(display.xx0, display.xx1), axis=-1).reshape(-1, 2)
    assert_array_equal(display.response.argmax(axis=2).ravel(), classifier.predict(grid))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_data_frame_name_the_axes(frame: type, ax: Axes) -> None:
    table = frame({"height": X[:, 0], "weight": X[:, 1]})
    labels = np.where(y > 0, "ill", "well")
    model = FCGBoostClassifier("relu", max_iter=3, random_state=0).fit(table, labels)
    DecisionBoundaryDisplay.from_estimator(model, table, labels, atoms=False, ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("height", "weight")
    assert legend_texts(ax) == ["label ill", "label well", "decision boundary"]


def test_a_pipeline_shows_its_atoms_only_in_the_units_they_are_in(ax: Axes) -> None:
    table = pd.DataFrame(X, columns=["a", "b"])
    same = make_pipeline(TableEncoder(), FCGBoostClassifier(max_iter=3, random_state=0))
    moved = make_pipeline(StandardScaler(), FCGBoostClassifier(max_iter=3, random_state=0))
    shown = DecisionBoundaryDisplay.from_estimator(same.fit(table, y), table, y, k=2, ax=ax)
    assert_allclose(shown.marks.places, same[-1].atoms_[:2, :2])
    hidden = DecisionBoundaryDisplay.from_estimator(moved.fit(X, y), X, y, ax=Figure().subplots())
    assert hidden.marks is None
    with pytest.raises(ValueError, match="no atoms that can be shown"):
        DecisionBoundaryDisplay.from_estimator(moved, X, y, atoms=True)


def test_sparse_points_are_drawn_as_dense_ones(model: FCGBoostClassifier, ax: Axes) -> None:
    DecisionBoundaryDisplay.from_estimator(model, sparse.csr_array(X), y, ax=ax)
    assert_allclose(offsets(ax, "label 1"), X[y == 1.0])


@pytest.mark.parametrize("n_features", [1, 3])
def test_a_boundary_needs_two_features(n_features: int, ax: Axes) -> None:
    points = np.random.default_rng(0).uniform(size=(30, n_features))
    labels = np.arange(30) % 2
    model = FCGBoostClassifier(max_iter=2, random_state=0).fit(points, labels)
    with pytest.raises(ValueError, match=rf"2 features, but X has shape \(30, {n_features}"):
        DecisionBoundaryDisplay.from_estimator(model, points, labels, ax=ax)


def test_a_boundary_needs_a_label_for_every_point(model: FCGBoostClassifier, ax: Axes) -> None:
    with pytest.raises(ValueError, match=r"X has 80 rows, but y has shape \(79,\)"):
        DecisionBoundaryDisplay.from_estimator(model, X, y[:-1], ax=ax)


# Paths


def test_known_curves_are_drawn_over_steps_with_k0_and_chosen_steps(ax: Axes) -> None:
    curves = {"gauss": [0.3, 0.2, 0.1], "relu": [0.3, 0.1, 0.2], "mine": [0.4, 0.3]}
    display = PathDisplay.from_predictions(
        curves, k0=2, chosen={"relu": 3, "mine": 1}, ylabel="test error", ax=ax
    )
    assert display.ax_ is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("steps $k$", "test error")
    assert legend_texts(ax) == ["gauss", "relu", "mine", "chosen number of steps", "$k_0$ = 2"]
    for name, values in curves.items():
        assert_allclose(display.lines_[name].get_data(), [np.arange(1, len(values) + 1), values])
    assert_allclose(lines_of(ax)["$k_0$ = 2"].get_xdata(), 2)
    marked = {name: np.ravel(mark.get_data()).tolist() for name, mark in display.marks_.items()}
    assert marked == {"relu": [3.0, 0.2], "mine": [1.0, 0.4]}


def test_dictionaries_have_their_colours_and_other_curves_have_others(ax: Axes) -> None:
    names = [*reversed(DICTIONARY_COLORS), "one", "two"]
    display = PathDisplay.from_predictions({name: [0.2, 0.1] for name in names}, ax=ax)
    colors = {name: line.get_color() for name, line in display.lines_.items()}
    assert {name: colors[name] for name in DICTIONARY_COLORS} == dict(DICTIONARY_COLORS)
    assert len(set(colors.values())) == len(names)


def test_one_curve_needs_no_name_and_no_legend(ax: Axes) -> None:
    PathDisplay.from_predictions([0.3, 0.2], ylabel="validation error", ax=ax, linewidth=3.0)
    assert ax.get_legend() is None
    assert ax.get_ylabel() == "validation error"
    assert [line.get_linewidth() for line in ax.lines] == [3.0]


@pytest.mark.parametrize("values", [[], [[0.1, 0.2]], 0.1])
def test_a_curve_is_one_number_per_step(values: Any, ax: Axes) -> None:
    with pytest.raises(ValueError, match="one number per step"):
        PathDisplay.from_predictions({"gauss": values}, ax=ax)


def test_a_path_needs_a_curve(ax: Axes) -> None:
    with pytest.raises(ValueError, match="at least one curve"):
        PathDisplay.from_predictions({}, ax=ax)


@pytest.mark.parametrize("chosen", [{"relu": 1}, {"gauss": 0}, {"gauss": 3}])
def test_a_chosen_step_must_lie_on_its_curve(chosen: dict[str, int], ax: Axes) -> None:
    with pytest.raises(ValueError, match="where there is no curve"):
        PathDisplay.from_predictions({"gauss": [0.2, 0.1]}, chosen=chosen, ax=ax)


def test_path_error_covers_the_whole_path_of_a_truncated_model(model: FCGBoostClassifier) -> None:
    errors = path_error(model.truncate(2), X, y)
    expected = [1.0 - model.truncate(k).score(X, y) for k in range(1, 7)]
    assert_allclose(errors, expected)


def test_a_classifiers_path_shows_train_and_validation_errors_and_marks_its_steps(
    model: FCGBoostClassifier, ax: Axes
) -> None:
    short = model.truncate(3)
    display = PathDisplay.from_estimator(short, X, y, X_test, y_test, ax=ax)
    assert list(display.curves) == ["train", "validation"]
    for name, data in (("train", (X, y)), ("validation", (X_test, y_test))):
        steps, values = display.lines_[name].get_data()
        assert_array_equal(steps, np.arange(1, 7))
        assert_allclose(values, path_error(model, *data))
        assert_allclose(np.ravel(display.marks_[name].get_data()), [3.0, values[2]])
    assert ax.get_xlabel() == "atoms"
    k0 = theory_steps(80)
    assert legend_texts(ax)[2:] == ["chosen $k$ = 3", f"$k_0$ = {k0}"]
    assert_allclose(lines_of(ax)[f"$k_0$ = {k0}"].get_xdata(), k0)


def test_the_fits_own_validation_scores_are_drawn_without_data(ax: Axes) -> None:
    model = FCGBoostClassifier(validation_fraction=0.3, max_iter=7, random_state=0).fit(X, y)
    display = PathDisplay.from_estimator(model, x="steps", ax=ax)
    assert list(display.curves) == ["validation"]
    assert_allclose(display.curves["validation"], 1.0 - model.trace_.column("validation_score"))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("steps $k$", "error")


def test_scores_that_are_no_accuracy_are_not_called_errors(ax: Axes) -> None:
    model = FCGBoostClassifier(
        validation_fraction=0.3, scoring="roc_auc", max_iter=4, random_state=0
    ).fit(X, y)
    alone = PathDisplay.from_estimator(model, ax=ax)
    assert ax.get_ylabel() == "score (roc_auc)"
    assert_allclose(alone.curves["validation"], model.trace_.column("validation_score"))
    beside = PathDisplay.from_estimator(model, X, y, ax=Figure().subplots())
    assert list(beside.curves) == ["train"]
    assert beside.ax_.get_ylabel() == "error"


def test_a_search_shows_the_mean_over_its_folds_for_the_best_setting(ax: Axes) -> None:
    search = FCGBoostClassifierCV(
        {"gauss": {"width": [0.3, 1.0]}}, l2s=[0.1, 0.001], cv=3, max_iter=6, random_state=0
    ).fit(X, y)
    display = PathDisplay.from_estimator(search, X, y, ax=ax)
    rows = [
        (setting["max_iter"], 1.0 - mean)
        for setting, mean in zip(
            search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
        )
        if str(setting["dictionary"]) == str(search.best_params_["dictionary"])
        and setting["l2"] == search.best_params_["l2"]
    ]
    assert len(rows) == 6
    assert_allclose(np.transpose(display.lines_["cross-validation"].get_data()), rows)
    assert_allclose(
        np.ravel(display.marks_["cross-validation"].get_data()),
        [search.n_iter_, 1.0 - search.best_score_],
    )


def test_steps_of_several_classes_bring_several_atoms(
    several: FCGBoostClassifier, ax: Axes
) -> None:
    counts = several.trace_.column("n_atoms")
    assert counts[-1] > len(counts)
    by_atoms = PathDisplay.from_estimator(several, BLOBS, COLORS, ax=ax)
    assert_array_equal(by_atoms.lines_["train"].get_xdata(), counts)
    # k0 is among the steps made, and its line stands at the atoms of that step.
    k0 = theory_steps(90)
    assert k0 <= len(counts)
    assert_allclose(lines_of(ax)[f"$k_0$ = {k0}"].get_xdata(), counts[k0 - 1])
    by_steps = PathDisplay.from_estimator(several, BLOBS, COLORS, x="steps", ax=Figure().subplots())
    assert_array_equal(by_steps.lines_["train"].get_xdata(), np.arange(1, len(counts) + 1))


def test_a_pipelines_path_is_that_of_its_classifier_on_encoded_rows(ax: Axes) -> None:
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 0] > 0.5, "p", "q")})
    pipe = make_pipeline(TableEncoder(), FCGBoostClassifier("relu", max_iter=4, random_state=0))
    pipe.fit(table, y)
    display = PathDisplay.from_estimator(pipe, table, y, ax=ax)
    assert_allclose(display.curves["train"], path_error(pipe[-1], pipe[:-1].transform(table), y))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {}, "no error to draw"),
        ((X,), {}, "needs rows and their labels"),
        ((X, y, X_test), {}, "'validation' needs rows"),
        ((X, y), {"x": "seconds"}, "x must be 'atoms' or 'steps', got 'seconds'"),
    ],
)
def test_what_a_path_can_not_draw_is_said(
    model: FCGBoostClassifier, arguments: Any, options: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        PathDisplay.from_estimator(model, *arguments, **options)


# Margins


def test_margins_are_labels_times_decision_values(model: FCGBoostClassifier, ax: Axes) -> None:
    display = MarginDisplay.from_estimator(model, X, y, ax=ax)
    margins = y * model.decision_function(X)
    assert_allclose(display.margins, margins)
    assert display.error_share == pytest.approx(1.0 - model.score(X, y))
    assert display.active_share == np.mean(margins < 1.0)
    assert legend_texts(ax) == [
        f"right (margin ≥ 0): {np.mean(margins >= 0.0):.1%}",
        f"error (margin < 0): {np.mean(margins < 0.0):.1%}",
        f"active set (margin < 1): {np.mean(margins < 1.0):.1%}",
    ]


def test_the_histogram_of_margins_counts_every_row_and_has_edges_at_0_and_1(ax: Axes) -> None:
    margins = np.array([-0.5, -0.1, 0.0, 0.3, 1.0, 1.0, 2.2])
    MarginDisplay(margins).plot(ax)
    right, wrong = ax.containers
    assert sum(bar.get_height() for bar in wrong) == 2
    assert sum(bar.get_height() for bar in right) == 5
    assert sum(bar.get_height() for bar in wrong if bar.get_x() > -1e-9) == 0
    # The two rows at just 1 are no part of the active set.
    assert sum(bar.get_height() for bar in right if bar.get_x() > 1.0 - 1e-9) == 3
    (shade,) = [patch for patch in ax.patches if "active set" in str(patch.get_label())]
    assert shade.get_x() + shade.get_width() == pytest.approx(1.0)
    assert shade.get_x() <= -0.5


def test_margins_can_be_drawn_as_shares(model: FCGBoostClassifier, ax: Axes) -> None:
    display = MarginDisplay.from_estimator(model, X, y, kind="ecdf", ax=ax)
    curve = lines_of(ax)["share of rows"]
    places, shares = curve.get_data()
    assert_allclose(places[1:], np.sort(display.margins))
    assert_allclose(shares[[0, -1]], [0.0, 1.0])
    marks = [np.ravel(line.get_data()).tolist() for line in ax.lines if line.get_marker() == "o"]
    assert marks == [[0.0, display.error_share], [1.0, display.active_share]]


def test_margins_of_several_classes_are_leads_over_the_best_other_class(ax: Axes) -> None:
    decision = [[0.9, -0.2, 0.1], [0.3, 0.5, -1.0], [-0.7, -0.9, -0.8]]
    display = MarginDisplay.from_predictions(
        ["a", "a", "c"], decision, classes=["a", "b", "c"], ax=ax
    )
    assert_allclose(display.margins, [0.8, -0.2, -0.1])
    assert "true class" in ax.get_xlabel()
    assert not any("active set" in text for text in legend_texts(ax))


def test_only_losses_that_end_have_an_active_set(ax: Axes) -> None:
    model = FCGBoostClassifier(loss="square", max_iter=3, random_state=0).fit(X, y)
    MarginDisplay.from_estimator(model, X, y, ax=ax)
    assert not any("active set" in text for text in legend_texts(ax))


@pytest.mark.parametrize(
    ("labels", "decision", "options", "message"),
    [
        ([0, 1], [0.1], {}, "y has 2 rows, but the decision has shape"),
        ([0, 1, 2], [0.1, 0.2, 0.3], {}, "is for 2 classes, but they are"),
        ([0, 3], [0.1, 0.2], {"classes": [0, 1]}, r"y holds \[3\]"),
        ([0, 1], [0.1, 0.2], {"kind": "pie"}, "kind must be"),
    ],
)
def test_impossible_margins_are_errors(
    labels: Any, decision: Any, options: Any, message: str, ax: Axes
) -> None:
    with pytest.raises(ValueError, match=message):
        MarginDisplay.from_predictions(labels, decision, ax=ax, **options)


# Coefficients


def test_every_atoms_coefficient_is_drawn_from_its_entry_on(
    relu: FCGBoostClassifier, ax: Axes
) -> None:
    display = CoefficientPathDisplay.from_estimator(relu.truncate(4), n_named=2, ax=ax)
    assert sorted(display.lines_) == [1, 2, 3, 4, 5, 6]
    for atom, line in display.lines_.items():
        steps, values = line.get_data()
        assert_array_equal(steps, np.arange(1, 7))
        assert np.isnan(values[: atom - 1]).all()
        expected = [step.coef[0, atom - 1] for step in relu.trace_[atom - 1 :]]
        assert_allclose(values[atom - 1 :], expected)
    assert legend_texts(ax) == [f"$k_0$ = {theory_steps(80)}", "chosen $k$ = 4"]
    largest = np.argsort(-np.abs(relu.coef_[0]))[:2] + 1
    assert [text.get_text() for text in display.texts_] == [f"atom {j}" for j in largest]
    for text, atom in zip(display.texts_, largest, strict=True):
        assert text.get_color() == display.lines_[atom].get_color()


def test_one_class_of_several_shows_its_own_atoms(several: FCGBoostClassifier, ax: Axes) -> None:
    display = CoefficientPathDisplay.from_estimator(several, class_of_interest=2, ax=ax)
    own = sorted({int(step.chosen[2]) for step in several.trace_} - {-1})
    assert_array_equal(display.atoms, np.array(own) + 1)
    assert_allclose(display.coefs[-1], several.coef_[2, own])
    assert ax.get_ylabel() == "coefficient for label 2"
    with pytest.raises(ValueError, match=r"7 is no class: they are \[0, 1, 2\]"):
        CoefficientPathDisplay.from_estimator(several, class_of_interest=7)


def test_two_classes_have_one_set_of_coefficients(relu: FCGBoostClassifier) -> None:
    with pytest.raises(ValueError, match="coefficients speak for"):
        CoefficientPathDisplay.from_estimator(relu, class_of_interest=-1.0)


def test_names_are_moved_apart_and_no_further_than_needed() -> None:
    heights = np.array([0.5, 0.51, 0.9, 0.0, 1.0, 0.99])
    spread = _spread(heights, 0.05)
    assert np.diff(np.sort(spread)).min() >= 0.05 - 1e-12
    assert spread.min() >= 0.0
    assert spread.max() <= 1.0
    assert_array_equal(np.argsort(spread), np.argsort(heights))
    assert_allclose(spread[[2, 3]], heights[[2, 3]])
    assert_allclose(spread[:2], [0.48, 0.53])


# Reliability


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_bins_agree_with_those_of_scikit_learn(strategy: Any, ax: Axes) -> None:
    rng = np.random.default_rng(0)
    prob = rng.uniform(size=500)
    happened = rng.uniform(size=500) < prob
    display = ReliabilityDisplay.from_predictions(happened, prob, strategy=strategy, ax=ax)
    shares, means = calibration_curve(happened, prob, n_bins=10, strategy=strategy)
    assert_allclose(display.prob_true, shares)
    assert_allclose(display.prob_pred, means)
    assert display.counts.sum() == 500
    assert display.brier == pytest.approx(brier_score_loss(happened, prob))
    assert f"Brier score {display.brier:.3f}" in legend_texts(ax)[1]
    line, caps, _ = display.line_
    assert_allclose(line.get_data(), [means, shares])
    assert_allclose([cap.get_ydata() for cap in caps], [display.low, display.high])
    heights = np.array([bar.get_height() for bar in display.bars_])
    assert_allclose(heights / heights.max(), display.counts / display.counts.max())


def test_intervals_are_wilsons() -> None:
    # Newcombe, Statist. Med. 17 (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    hits, n = np.array([81, 15, 0, 1]), np.array([263, 148, 20, 29])
    display = ReliabilityDisplay(hits / n, hits / n, n, np.zeros((4, 2)), 0.0)
    assert_allclose(display.low, [0.2553, 0.0624, 0.0, 0.0061], atol=5e-5)
    assert_allclose(display.high, [0.3662, 0.1605, 0.1611, 0.1718], atol=5e-5)


def test_a_classifiers_probabilities_are_those_of_the_second_class(
    relu: FCGBoostClassifier, ax: Axes
) -> None:
    display = ReliabilityDisplay.from_estimator(relu, X, y, n_bins=4, ax=ax)
    prob = relu.predict_proba(X)[:, 1]
    assert display.brier == pytest.approx(np.mean((prob - (y > 0)) ** 2))
    assert ax.get_xlabel() == "predicted probability of label 1"
    other = ReliabilityDisplay.from_estimator(
        relu, X, y, pos_label=-1.0, n_bins=4, ax=Figure().subplots()
    )
    assert other.brier == pytest.approx(display.brier)
    assert other.ax_.get_xlabel() == "predicted probability of label -1"
    assert_allclose(np.average(other.prob_true, weights=other.counts), np.mean(y < 0))


def test_of_several_classes_the_predicted_or_a_chosen_one_is_judged(
    several: FCGBoostClassifier, ax: Axes
) -> None:
    proba = several.predict_proba(BLOBS)
    top = ReliabilityDisplay.from_estimator(several, BLOBS, COLORS, ax=ax)
    hits = proba.argmax(axis=1) == COLORS
    assert top.brier == pytest.approx(np.mean((proba.max(axis=1) - hits) ** 2))
    assert ax.get_xlabel() == "predicted probability of the predicted class"
    one = ReliabilityDisplay.from_estimator(
        several, BLOBS, COLORS, pos_label=2, ax=Figure().subplots()
    )
    assert one.brier == pytest.approx(np.mean((proba[:, 2] - (COLORS == 2)) ** 2))


def test_many_equal_probabilities_make_fewer_bins(ax: Axes) -> None:
    prob = np.r_[np.zeros(50), np.ones(50), 0.4, 0.6]
    display = ReliabilityDisplay.from_predictions(prob > 0.5, prob, ax=ax)
    assert display.counts.sum() == 102
    assert len(display.counts) < 10
    single = ReliabilityDisplay.from_predictions([0, 1], [0.5, 0.5], ax=Figure().subplots())
    assert_array_equal(single.counts, [2])


@pytest.mark.parametrize(
    ("labels", "prob", "options", "message"),
    [
        ([0, 1], [0.1, 1.2], {}, "between 0 and 1"),
        ([0, 1], [0.1, np.nan], {}, "between 0 and 1"),
        ([0, 1], [0.1], {}, "y has 2 rows, but the probabilities have shape"),
        ([0, 1, 2], [0.1, 0.2, 0.3], {}, "Pass pos_label"),
        ([0, 1], [[0.1, 0.2, 0.7]] * 2, {}, "3 columns of probabilities for 2 classes"),
        ([0, 1], [0.1, 0.2], {"strategy": "equal"}, "strategy must be"),
        ([0, 1], [0.1, 0.2], {"n_bins": 0}, "n_bins must be at least 1"),
        ([0, 1], [0.1, 0.2], {"pos_label": 5}, r"5 is no class: they are \[0, 1\]"),
    ],
)
def test_impossible_probabilities_are_errors(
    labels: Any, prob: Any, options: Any, message: str, ax: Axes
) -> None:
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_predictions(labels, prob, ax=ax, **options)


def test_a_loss_without_probabilities_says_so() -> None:
    model = FCGBoostClassifier(loss="hinge", max_iter=2, random_state=0).fit(X, y)
    with pytest.raises(AttributeError, match="FCGBoostClassifier has no predict_proba here"):
        ReliabilityDisplay.from_estimator(model, X, y)


# Influence


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
    assert ax.get_xlabel().endswith("1 more features are smaller")
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


# Atoms


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
    assert_allclose([bar.get_width() for bar in display.bars_], model.coef_[0])
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
    assert "1 smaller ones left out" in display.heat_ax_.get_ylabel()
    assert_allclose([bar.get_width() for bar in display.bars_], [0.5, -0.9])


def test_gauss_atoms_are_shown_by_their_centres(several: FCGBoostClassifier, ax: Axes) -> None:
    display = AtomDisplay.from_estimator(several, BLOBS, class_of_interest=1, ax=ax)
    own = np.flatnonzero(several.coef_[1])
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


class Corners(Dictionary):
    """1 right of and above a point, else 0: neither a centre nor a direction."""

    def candidates(self, sample: Any, n: int, key: int) -> Any:
        return sample.dense_rows()[:n]

    def evaluate(self, X: Any, atoms: Any, scale: Any) -> Any:
        return (X[:, None] >= atoms).all(axis=2) * 1.0


def test_atoms_without_centre_and_direction_are_left_out_or_an_error(ax: Axes) -> None:
    model = FCGBoostClassifier(Corners(), max_iter=3, random_state=0).fit(X, y)
    assert DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax).marks is None
    with pytest.raises(ValueError, match="pass atoms='auto'"):
        DecisionBoundaryDisplay.from_estimator(model, X, y, atoms=True, ax=ax)
    with pytest.raises(ValueError, match=r"have a direction or a centre.*not Corners"):
        AtomDisplay.from_estimator(model)
    with pytest.raises(AttributeError, match="permutation_importance"):
        FeatureInfluenceDisplay.from_estimator(model)


def test_a_model_without_atoms_is_an_error(model: FCGBoostClassifier) -> None:
    with pytest.raises(ValueError, match="no atoms for label 1 to draw"):
        AtomDisplay.from_estimator(model.truncate(0))


# All of them


FROM_ESTIMATOR: dict[str, Callable[..., Any]] = {
    "boundary": lambda model, ax=None: DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax),
    "path": lambda model, ax=None: PathDisplay.from_estimator(model, X, y, ax=ax),
    "margin": lambda model, ax=None: MarginDisplay.from_estimator(model, X, y, ax=ax),
    "coefficients": lambda model, ax=None: CoefficientPathDisplay.from_estimator(model, ax=ax),
    "reliability": lambda model, ax=None: ReliabilityDisplay.from_estimator(model, X, y, ax=ax),
    "influence": lambda model, ax=None: FeatureInfluenceDisplay.from_estimator(model, ax=ax),
    "atoms": lambda model, ax=None: AtomDisplay.from_estimator(model, ax=ax),
}
each_display = pytest.mark.parametrize("draw", FROM_ESTIMATOR.values(), ids=FROM_ESTIMATOR)


@each_display
def test_an_unfitted_classifier_is_an_error(draw: Callable[..., Any], ax: Axes) -> None:
    with pytest.raises(NotFittedError):
        draw(FCGBoostClassifier(), ax)
    with pytest.raises(NotFittedError):
        draw(make_pipeline(TableEncoder(), FCGBoostClassifier()), ax)


def test_the_errors_of_an_unfitted_path_are_an_error() -> None:
    with pytest.raises(NotFittedError):
        path_error(FCGBoostClassifier(), X, y)


@pytest.mark.parametrize("name", ["path", "coefficients", "influence", "atoms"])
def test_what_only_our_classifiers_have_is_not_drawn_of_others(name: str, ax: Axes) -> None:
    for other in (SVC().fit(X, y), make_pipeline(StandardScaler(), SVC()).fit(X, y)):
        with pytest.raises(TypeError, match=r"draws fitted classifiers of fcgboost.*got SVC"):
            FROM_ESTIMATOR[name](other, ax)


@pytest.mark.parametrize("name", ["path", "margin", "reliability"])
def test_rows_of_another_width_are_an_error(name: str, ax: Axes) -> None:
    points = np.random.default_rng(0).uniform(size=(40, 3))
    model = FCGBoostClassifier(max_iter=2, random_state=0).fit(points, np.arange(40) % 2)
    with pytest.raises(ValueError, match="2 features, but FCGBoostClassifier is expecting 3"):
        FROM_ESTIMATOR[name](model, ax)


@pytest.mark.parametrize("name", ["path", "coefficients"])
def test_a_model_without_its_path_says_so(name: str, relu: FCGBoostClassifier, ax: Axes) -> None:
    bare = copy.copy(relu)
    bare.trace_ = dataclasses.replace(relu.trace_, steps=())
    with pytest.raises(ValueError, match="trace=False"):
        FROM_ESTIMATOR[name](bare, ax)


@each_display
def test_without_matplotlib_the_error_names_the_extra(
    draw: Callable[..., Any], relu: FCGBoostClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"Display needs matplotlib.*fcgboost\[plot\]"):
        draw(relu)


@each_display
def test_pictures_change_no_global_setting_and_leave_pyplot_alone(
    draw: Callable[..., Any], relu: FCGBoostClassifier, ax: Axes
) -> None:
    before = dict(mpl.rcParams)
    display = draw(relu, ax)
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == []
    assert display.ax_ is ax


@each_display
def test_plot_draws_the_same_again(
    draw: Callable[..., Any], relu: FCGBoostClassifier, ax: Axes
) -> None:
    display = draw(relu, ax)
    again = Figure().subplots()
    assert display.plot(again) is display
    assert display.ax_ is again
    assert len(again.get_children()) == len(ax.get_children())


@each_display
def test_nothing_is_cut_off_and_legends_lie_below_the_axes(
    draw: Callable[..., Any], relu: FCGBoostClassifier
) -> None:
    display = draw(relu)
    figure, ax = display.figure_, display.ax_
    figure.canvas.draw()
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
def test_on_a_dark_background_nothing_is_black_and_no_background_is_drawn(
    draw: Callable[..., Any], relu: FCGBoostClassifier
) -> None:
    with plt.style.context("dark_background"):
        figure = Figure(layout="constrained")
        axes = figure.subplots()
        faces = figure.get_facecolor(), axes.get_facecolor()
        draw(relu, axes)
        assert (figure.get_facecolor(), axes.get_facecolor()) == faces
        assert ink(axes) == "white"
        drawn = [*axes.lines, *axes.texts]
        drawn += axes.get_legend().get_texts() if axes.get_legend() is not None else []
        assert all(to_hex(artist.get_color()) != "#000000" for artist in drawn)


def test_a_search_and_a_pipeline_are_drawn_like_a_classifier() -> None:
    search = FCGBoostClassifierCV(["relu"], cv=2, max_iter=4, random_state=0)
    pipe = Pipeline([("same", FunctionTransformer()), ("classifier", search)]).fit(X, y)
    assert CoefficientPathDisplay.from_estimator(pipe).coefs.shape[1] == pipe[-1].n_atoms_
    margins = MarginDisplay.from_estimator(pipe, X, y).margins
    assert_allclose(margins, y * pipe.decision_function(X))
