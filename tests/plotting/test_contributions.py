"""The waterfall of one row: its bars are the row's Shapley values."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose
from scipy import sparse

from fcgboost import FCGBoostClassifier, FCGBoostRegressor
from fcgboost.colors import CLASS_COLORS, GREEN, GREY
from fcgboost.explanation import Explanation
from fcgboost.plotting import ContributionDisplay
from fcgboost.plotting.contributions import signed
from tests.suites.pages import mixed
from tests.suites.pictures import BLOBS, X, legend_texts, lines_of, y


def labels_of(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def explanation(values: Any, base: Any = 0.5) -> Explanation:
    values = np.atleast_2d(values)
    names = [f"c{j}" for j in range(values.shape[1])]
    data = np.arange(values.size, dtype=float).reshape(values.shape) / 8.0
    return Explanation(values, np.full(len(values), base), data, names, np.zeros(len(values)))


def test_contributions_of_a_regressor_lead_to_its_prediction(ax: Axes) -> None:
    model = FCGBoostRegressor("relu", max_iter=5, random_state=0).fit(X, 100.0 + X[:, 0])
    display = ContributionDisplay.from_estimator(model, X, row=3, ax=ax)
    assert display.decision_value == pytest.approx(model.predict(X[3:4])[0])
    assert ax.get_xlabel() == "prediction"
    assert any(text.startswith("prediction: ") for text in legend_texts(ax))


def test_the_bars_lead_from_the_base_value_to_the_decision_value(
    model: FCGBoostClassifier, ax: Axes
) -> None:
    found = model.explain(X[:4])
    display = ContributionDisplay.from_estimator(model, X, row=3, ax=ax)
    assert_allclose(display.values, found.values[3], atol=1e-12)
    assert display.base_value == pytest.approx(found.base_values[3])
    assert display.decision_value == pytest.approx(model.decision_function(X[3:4])[0])
    starts = [bar.get_x() for bar in display.bars_]
    widths = [bar.get_width() for bar in display.bars_]
    assert abs(widths[0]) == pytest.approx(np.abs(display.values).max())
    assert_allclose(starts, display.base_value + np.cumsum([0.0, *widths[:-1]]))
    assert starts[-1] + widths[-1] == pytest.approx(display.decision_value)
    lines = {label.partition(":")[0]: line for label, line in lines_of(ax).items()}
    assert lines["base value"].get_xdata()[0] == display.base_value
    assert lines["decision value"].get_xdata()[0] == display.decision_value


def test_what_is_not_shown_is_one_bar_of_its_sum(ax: Axes) -> None:
    found = explanation([0.25, -1.5, 0.125, 1.0, -0.5])
    display = ContributionDisplay.from_explanation(found, n_shown=2, ax=ax)
    assert labels_of(ax) == ["c1 = 0.125", "c3 = 0.375", "3 other columns"]
    assert [bar.get_width() for bar in display.bars_] == [-1.5, 1.0, -0.125]
    assert [text.get_text() for text in ax.texts] == ["−1.5", "+1", "−0.12"]
    assert legend_texts(ax) == ["base value: 0.5", "decision value: −0.125"]
    colors = [to_hex(bar.get_facecolor()).upper() for bar in display.bars_]
    assert colors == [CLASS_COLORS[0], CLASS_COLORS[1], CLASS_COLORS[0]]
    display.plot(n_shown=4)
    assert labels_of(display.ax_)[-1] == "1 other column"


def test_the_first_of_two_classes_is_seen_from_its_side(ax: Axes) -> None:
    found, names = explanation([[1.0, -0.25], [0.5, 2.0]]), ["no", "yes"]
    display = ContributionDisplay.from_explanation(
        found, row=1, classes=names, class_of_interest="no", ax=ax
    )
    assert display.values.tolist() == [-0.5, -2.0]
    assert display.decision_value == -3.0
    assert ax.get_xlabel() == "decision value for no"
    assert {to_hex(bar.get_facecolor()).upper() for bar in display.bars_} == {CLASS_COLORS[1]}


def test_of_several_classes_the_predicted_one_is_drawn_or_the_one_asked_for(
    several: FCGBoostClassifier, ax: Axes
) -> None:
    i = int(np.flatnonzero(several.predict(BLOBS) == 2)[0])
    display = ContributionDisplay.from_estimator(several, BLOBS, row=i, ax=ax)
    decision = several.decision_function(BLOBS[i : i + 1])[0]
    assert display.decision_value == pytest.approx(decision[2])
    assert ax.get_xlabel() == "decision value for 2"
    colors = {to_hex(bar.get_facecolor()).upper() for bar in display.bars_}
    assert colors <= {GREEN, GREY}
    other = ContributionDisplay.from_estimator(several, BLOBS, row=i, class_of_interest=0)
    assert other.decision_value == pytest.approx(decision[0])


def test_the_predicted_class_is_told_by_base_values_too(ax: Axes) -> None:
    values = np.array([[[1.0, 0.25, -1.0], [0.0, 0.5, 0.0]]])
    bases = np.array([[-0.5, 1.0, 0.0]])
    found = Explanation(values, bases, np.zeros((1, 2)), ["a", "b"], np.zeros(1))
    display = ContributionDisplay.from_explanation(found, ax=ax)
    assert ax.get_xlabel() == "decision value for 1"
    assert display.decision_value == 1.75


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, "+0"), (0.125, "+0.12"), (-0.5, "−0.5"), (-12345.6, "−12,000"), (1e9, "+1e9")],
)
def test_contributions_have_two_digits_and_a_sign(value: float, expected: str) -> None:
    assert signed(value) == expected


def test_cells_are_written_as_people_read_them(ax: Axes) -> None:
    table, labels = mixed(120, 0)
    table.index = np.linspace(5.0, 6.0, 120)  # places count, not labels
    clf = FCGBoostClassifier("relu", max_iter=6, random_state=0).fit(table, labels)
    day = table["since"].iloc[10].date().isoformat()
    display = ContributionDisplay.from_estimator(clf, table, row=10, ax=ax)
    assert display.cells == ["missing", table["city"].iloc[10], day, "1"]
    assert f"since = {day}" in labels_of(ax)
    turned = table[["same", "since", "city", "age"]]
    again = ContributionDisplay.from_explanation(clf.explain(table.iloc[10:11]), ax=ax)
    found = clf.explain(table)
    moved = Explanation(found.values, found.base_values, turned, found.feature_names, found.errors)
    assert ContributionDisplay.from_explanation(moved, row=10).cells == again.cells


def test_sparse_rows_and_lists_are_drawn_like_dense_ones(model: FCGBoostClassifier) -> None:
    dense = ContributionDisplay.from_estimator(model, X, row=2)
    for rows in (sparse.coo_array(X), X.tolist(), pd.DataFrame(X).to_numpy()):
        display = ContributionDisplay.from_estimator(model, rows, row=2)
        assert_allclose(display.values, dense.values, atol=1e-12)
        assert list(display.names) == ["feature 1", "feature 2"]
        assert display.cells == dense.cells


def test_one_column_and_long_names_keep_their_value_in_sight() -> None:
    rows = pd.DataFrame({"a name that is far too long for any label of a picture": X[:, 0]})
    clf = FCGBoostClassifier("gauss", max_iter=2, random_state=0).fit(rows, y)
    (label,) = labels_of(ContributionDisplay.from_estimator(clf, rows).ax_)
    assert label == f"a name that is far too … = {X[0, 0]:.4g}"


def test_a_row_without_contributions_is_drawn(ax: Axes) -> None:
    display = ContributionDisplay.from_explanation(explanation([0.0, 0.0], 0.0), ax=ax)
    assert [text.get_text() for text in ax.texts] == ["+0", "+0"]
    assert display.decision_value == 0.0


@pytest.mark.parametrize("row", [-1, 80])
def test_a_row_that_is_not_there_is_an_error(model: FCGBoostClassifier, row: int) -> None:
    message = rf"row={row}: there are 80 rows, which count from 0\."
    with pytest.raises(ValueError, match=message):
        ContributionDisplay.from_estimator(model, X, row=row)
    with pytest.raises(ValueError, match=message):
        ContributionDisplay.from_explanation(explanation(X), row=row)


def test_a_class_that_is_not_there_is_an_error(model: FCGBoostClassifier) -> None:
    with pytest.raises(ValueError, match="There is no class 'maybe' to draw, only"):
        ContributionDisplay.from_estimator(model, X, class_of_interest="maybe")
