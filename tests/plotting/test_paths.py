"""Errors and coefficients along a path, by the numbers they hold and the Axes they draw."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import get_scorer

from fcgboost import FCGBoostClassifier, FCGBoostRegressor, load_model, theory_steps
from fcgboost.colors import DICTIONARY_COLORS
from fcgboost.datasets import make_simulation
from fcgboost.plotting import PathDisplay, path_error
from tests.suites.averages import average_of
from tests.suites.pictures import BLOBS, COLORS, X, legend_texts, lines_of, y

X_test, y_test = make_simulation(60, random_state=1)


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
    marked = {name: np.ravel(mark.get_data()).tolist() for name, mark in display.chosen_.items()}
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


def test_the_path_of_a_regressor_has_its_loss_or_other_errors(ax: Axes) -> None:
    model = FCGBoostRegressor("relu", max_iter=4, validation_fraction=0.3, metrics="r2")
    model.fit(X, X[:, 0])
    curve = PathDisplay.from_estimator(model, X, X[:, 0], metric="r2", ax=ax).curves["test"]
    assert curve[-1] == pytest.approx(model.truncate(4).score(X, X[:, 0]))
    model.set_params(metrics=None).fit(X, X[:, 0])
    display = PathDisplay.from_estimator(model, ax=ax)
    assert_array_equal(display.curves["validation"], -model.trace_.scores)
    display = PathDisplay.from_estimator(model, X, X[:, 0], ax=ax)
    errors = [np.mean((f - X[:, 0]) ** 2) ** 0.5 for f in model.truncate(4).staged_predict(X)]
    assert_allclose(display.curves["test"], errors)
    assert display.ylabel == "root mean squared error"


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


def test_a_classifiers_path_shows_the_error_of_rows_by_their_name_and_the_chosen_step(
    model: FCGBoostClassifier, ax: Axes
) -> None:
    short, k0 = model.truncate(3), theory_steps(80)
    for options, name in (({}, "test"), ({"name": "train"}, "train")):
        display = PathDisplay.from_estimator(short, X_test, y_test, **options, ax=ax)
        assert list(display.curves) == [name]
        steps, values = display.lines_[name].get_data()
        assert_array_equal(steps, np.arange(1, 7))
        assert_allclose(values, path_error(model, X_test, y_test))
        assert_allclose(np.ravel(display.chosen_[name].get_data()), [3.0, values[2]])
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("atoms", "error")
        assert legend_texts(ax) == [name, "chosen $k$ = 3", f"$k_0$ = {k0}"]
        assert_allclose(lines_of(ax)[f"$k_0$ = {k0}"].get_xdata(), k0)
        ax.clear()


def test_k0_has_no_line_where_the_path_is_shorter(ax: Axes) -> None:
    model = FCGBoostClassifier("gauss", max_iter=theory_steps(80) - 1, random_state=0).fit(X, y)
    for x in ("atoms", "steps"):
        PathDisplay.from_estimator(model, X, y, x=x, ax=ax)
        assert not any("k_0" in text for text in legend_texts(ax))


def signed_mean(estimator: Any, rows: Any, labels: Any) -> float:
    return float(np.mean(estimator.decision_function(rows) * labels))


def test_the_metrics_of_a_fit_are_drawn_with_the_rows_they_are_of(ax: Axes, tmp_path: Path) -> None:
    metrics = {"auc": "roc_auc", "mean": signed_mean}
    options: dict[str, Any] = {"max_iter": 5, "validation_fraction": 0.3, "random_state": 0}
    model = FCGBoostClassifier("gauss", metrics=metrics, **options).fit(X, y)
    first = PathDisplay.from_estimator(model, X_test, y_test, ax=ax)
    assert ax.get_ylabel() == "auc"
    assert legend_texts(ax)[:3] == ["train", "validation", "test"]
    assert_array_equal(first.curves["train"], model.trace_.metrics["train"]["auc"])
    assert_array_equal(first.curves["validation"], model.trace_.metrics["validation"]["auc"])
    steps = [model.truncate(k) for k in range(1, 6)]
    auc, accuracy = get_scorer("roc_auc"), get_scorer("accuracy")
    assert_allclose(first.curves["test"], [auc(step, X_test, y_test) for step in steps])
    own = PathDisplay.from_estimator(model, X_test, y_test, metric="mean", ax=Figure().subplots())
    assert_allclose(own.curves["test"], [signed_mean(step, X_test, y_test) for step in steps])
    assert list(PathDisplay.from_estimator(model, metric="mean", ax=ax).curves) == [
        *("train", "validation")
    ]
    other = PathDisplay.from_estimator(model, X, y, name="all", metric="accuracy", ax=ax)
    assert list(other.curves) == ["all"]
    assert_allclose(other.curves["all"], [accuracy(step, X, y) for step in steps])
    with pytest.raises(ValueError, match=r"no nonsense to draw: .* are \['auc', 'mean'\]"):
        PathDisplay.from_estimator(model, metric="nonsense", ax=ax)
    with pytest.raises(ValueError, match="'nonsense' is not a valid scoring value"):
        PathDisplay.from_estimator(model, X, y, metric="nonsense", ax=ax)
    with pytest.raises(ValueError, match="no f1 to draw"):
        PathDisplay.from_estimator(model, metric="f1", ax=ax)
    # A file keeps the numbers, not the functions.
    model.save_model(tmp_path / "model.json")
    back = load_model(tmp_path / "model.json")
    again = PathDisplay.from_estimator(back, metric="mean", ax=Figure().subplots())
    assert_array_equal(again.curves["train"], own.curves["train"])
    with pytest.raises(ValueError, match="'mean' is not a valid scoring value"):
        PathDisplay.from_estimator(back, X, y, metric="mean", ax=ax)


def test_the_fits_own_validation_scores_are_drawn_without_data(ax: Axes) -> None:
    model = FCGBoostClassifier("gauss", validation_fraction=0.3, max_iter=7, random_state=0).fit(
        X, y
    )
    display = PathDisplay.from_estimator(model, x="steps", ax=ax)
    assert list(display.curves) == ["validation"]
    assert_allclose(display.curves["validation"], 1.0 - model.trace_.column("validation_score"))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("steps $k$", "error")


def test_scores_that_are_no_accuracy_are_not_called_errors(ax: Axes) -> None:
    model = FCGBoostClassifier(
        "gauss", validation_fraction=0.3, scoring="roc_auc", max_iter=4, random_state=0
    ).fit(X, y)
    alone = PathDisplay.from_estimator(model, ax=ax)
    assert ax.get_ylabel() == "score (roc_auc)"
    assert_allclose(alone.curves["validation"], model.trace_.column("validation_score"))
    with_test_rows = PathDisplay.from_estimator(model, X, y, ax=Figure().subplots())
    assert list(with_test_rows.curves) == ["test"]
    assert with_test_rows.ax_.get_ylabel() == "error"


def test_an_average_shows_its_errors_and_the_mean_scores_of_its_members(ax: Axes) -> None:
    options: dict[str, Any] = {"validation_fraction": 0.3, "metrics": {"auc": "roc_auc"}}
    fits = [
        FCGBoostClassifier("gauss", max_iter=n, random_state=n, **options).fit(X, y) for n in (4, 7)
    ]
    model = average_of(fits, [0.25, 0.75])
    lengths = [member.n_iter for member in model.members_]
    display = PathDisplay.from_estimator(model, X_test, y_test, metric="auc", ax=ax)
    n_steps = max(lengths)
    assert [len(curve) for curve in display.curves.values()] == [n_steps] * 3
    auc = get_scorer("roc_auc")
    assert display.curves["test"][-1] == pytest.approx(auc(model, X_test, y_test))
    assert display.atoms is not None
    for k in range(1, n_steps + 1):
        pairs = [(fit.trace_, min(k, n) - 1) for fit, n in zip(fits, lengths, strict=True)]
        known = [trace.metrics["validation"]["auc"][place] for trace, place in pairs]
        mean = np.average(known, weights=[0.25, 0.75])
        assert display.curves["validation (mean of members)"][k - 1] == pytest.approx(mean)
        assert display.atoms[k - 1] == sum(trace[place].n_atoms for trace, place in pairs)
    assert_allclose(path_error(model, X_test, y_test)[-1], 1.0 - model.score(X_test, y_test))
    alone = PathDisplay.from_predictions({"validation": [0.1]}, ax=Figure().subplots())
    line = display.lines_["validation (mean of members)"]
    assert line.get_color() == alone.lines_["validation"].get_color()


def test_steps_of_several_classes_bring_several_atoms(
    several: FCGBoostClassifier, ax: Axes
) -> None:
    counts = several.trace_.column("n_atoms")
    assert counts[-1] > len(counts)
    by_atoms = PathDisplay.from_estimator(several, BLOBS, COLORS, ax=ax)
    assert_array_equal(by_atoms.lines_["test"].get_xdata(), counts)
    # k0 is among the steps made, and its line stands at the atoms of that step.
    k0 = theory_steps(90)
    assert k0 <= len(counts)
    assert_allclose(
        lines_of(ax)[f"$k_0$ = {k0} ({counts[k0 - 1]} atoms)"].get_xdata(), counts[k0 - 1]
    )
    by_steps = PathDisplay.from_estimator(several, BLOBS, COLORS, x="steps", ax=Figure().subplots())
    assert_array_equal(by_steps.lines_["test"].get_xdata(), np.arange(1, len(counts) + 1))


def test_a_path_can_be_drawn_by_any_score_of_tables(ax: Axes) -> None:
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 0] > 0.5, "p", "q")})
    clf = FCGBoostClassifier("relu", max_iter=4, random_state=0).fit(table, y)
    display = PathDisplay.from_estimator(clf, table, y, ax=ax)
    assert_allclose(display.curves["test"], path_error(clf, table, y))
    display = PathDisplay.from_estimator(clf, table, y, metric="roc_auc", ax=Figure().subplots())
    assert display.curves["test"][-1] == pytest.approx(get_scorer("roc_auc")(clf, table, y))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {}, "no error to draw"),
        ((X,), {}, "needs rows and labels"),
        ((None, y), {"name": "all"}, "'all' needs rows"),
        ((X, y), {"x": "seconds"}, "x must be 'atoms' or 'steps', got 'seconds'"),
    ],
)
def test_what_a_path_cannot_draw_is_said(
    model: FCGBoostClassifier, arguments: Any, options: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        PathDisplay.from_estimator(model, *arguments, **options)


def test_a_path_of_one_step_has_a_marker() -> None:
    path = PathDisplay.from_predictions([0.2], ax=Figure().subplots())
    assert path.lines_[""].get_marker() == "o"
