"""What columns do: dependences are those of scikit-learn."""

from typing import Any

import numpy as np
from sklearn.inspection import partial_dependence

from fcgboost.report.effects import find_dependences
from fcgboost.report.models import FittedModel, evaluate_model
from tests.suites.pages import Show, mixed


def test_columns_of_words_are_set_as_a_whole(table_model: Any) -> None:
    fitted_model = FittedModel.of(table_model)
    judged = evaluate_model(fitted_model, *mixed(150, 1))
    one = find_dependences(judged, 4)
    by_name = {fitted_model.columns[d.position].name: d for d in one}
    assert by_name["city"].values == ["Bern", "Oslo", "Rome"]
    X, _ = mixed(150, 1)
    for name in ("city", "age"):
        for value, mean in zip(by_name[name].values, by_name[name].means, strict=True):
            proba = table_model.predict_proba(X.assign(**{name: value}))[:, 1]
            np.testing.assert_allclose(proba.mean(), mean[0], rtol=1e-9)


def test_a_gap_among_words_is_a_level_of_its_own(table_model: Any) -> None:
    fitted_model, (X, y) = FittedModel.of(table_model), mixed(150, 1)
    X.loc[X.index[:9], "city"] = None
    judged = evaluate_model(fitted_model, X, y)
    one = find_dependences(judged, 4)
    (city,) = (d for d in one if fitted_model.columns[d.position].name == "city")
    assert city.values == ["Bern", "Oslo", "Rome", "missing"]
    proba = table_model.predict_proba(X.assign(city=None))[:, 1]
    np.testing.assert_allclose(proba.mean(), city.means[-1, 0], rtol=1e-9)


def test_dependences_are_those_of_scikit_learn(model: Any, judged: tuple[Any, Any]) -> None:
    fitted_model = FittedModel.of(model)
    data = evaluate_model(fitted_model, *judged)
    for one in find_dependences(data, 2):
        expected = partial_dependence(
            model,
            judged[0],
            [one.position],
            method="brute",
            response_method="predict_proba",
            custom_values={one.position: one.values},
        )
        np.testing.assert_allclose(one.means[:, 0], expected["average"][0])


def test_a_model_that_is_too_large_has_influences_only(
    model: Any, judged: tuple[Any, Any], show: Show, monkeypatch: Any
) -> None:
    monkeypatch.setattr("fcgboost.report.effects._MOST_PRODUCTS", 1)
    page = show(model, *judged)
    figures = [a.get("id") for tag, a in page.elements if tag == "figure"]
    assert "dependence-1" not in figures
    assert "influence" in figures
