"""Generated data: the simulation of the paper by its formulas, and the messy table."""

import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import make_customers
from fcgboost.tables.learning import LevelCounts


def unit_of(levels: LevelCounts) -> str | None:
    """Give the unit of nearly all texts of a column."""
    ways = levels.readings() if "text" in levels.units else []
    return ways[0][0].unit if ways else None


def test_customers_are_messy_and_the_same_at_every_call():
    customers = make_customers(500, random_state=7)
    assert customers.equals(make_customers(500, random_state=7))
    assert not customers.equals(make_customers(500, random_state=8))
    assert customers["customer_id"].is_unique
    assert customers["churned"].isin(["yes", "no"]).all()
    units = {name: unit_of(LevelCounts.of(customers[name])) for name in customers}
    numbers = ("age", "income", "monthly_fee", "calls")
    assert {name for name, unit in units.items() if unit == "number"} == set(numbers)
    assert {name for name, unit in units.items() if unit == "days"} == {
        "last_contact",
        "signup_date",
    }
    assert {"age", "income", "town", "complaint"} <= set(customers.columns[customers.isna().any()])


def test_without_odd_cells_numbers_of_customers_are_numbers():
    customers = make_customers(odd_cells=0.0)
    assert len(customers) == 2000
    assert all(customers[name].dtype.kind in "if" for name in ("age", "income", "calls"))
    assert (customers["signup_date"] <= customers["last_contact"].fillna("9999")).all()
    assert 0.70 < (customers["churned"] == "no").mean() < 0.76


def test_customers_have_something_to_learn_and_their_ids_tell_nothing():
    customers = make_customers(odd_cells=0.0)
    y = customers.pop("churned")
    clf = FCGBoostClassifier(random_state=0).fit(customers[:1500], y[:1500])
    assert clf.score(customers[1500:], y[1500:]) > (y[1500:] == "no").mean() + 0.08
    assert clf.feature_importances_[0] == 0.0
    assert any("'customer_id' is left out" in note for note in clf.notes_)


@pytest.mark.parametrize("given", [{"n_samples": 0}, {"n_samples": 1.5}, {"odd_cells": 1.1}])
def test_customers_need_sensible_parameters(given):
    with pytest.raises(ValueError, match=next(iter(given))):
        make_customers(**given)
