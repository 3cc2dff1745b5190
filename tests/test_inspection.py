"""The description of a model names its columns, their influence and its atoms."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from fcgboost import FCGBoostClassifier, FCGBoostRegressor, load_model
from fcgboost.datasets import make_customers
from fcgboost.inspection import dictionary_name, encoding_of, kind_of
from fcgboost.tables.inputs import Inputs
from fcgboost.wording import number
from tests.suites.averages import average_of, mixed_average
from tests.suites.pages import mixed


@pytest.fixture(scope="module")
def clf() -> FCGBoostClassifier:
    table = make_customers(300, odd_cells=0.0, random_state=0)
    y = table.pop("churned")
    return FCGBoostClassifier("gauss", max_iter=4, random_state=0).fit(table, y)


def test_every_column_has_a_kind_and_an_encoding(clf: FCGBoostClassifier) -> None:
    facts = clf.describe().to_dict()
    assert [column["name"] for column in facts["columns"]] == list(clf.feature_names_in_)
    for column, record in zip(clf.columns_, facts["columns"], strict=True):
        assert record["treatment"] == encoding_of(column)
        assert (kind_of(column) == "left out") == record["treatment"].startswith("left out: ")


def test_influence_and_atoms_are_those_of_the_model(clf: FCGBoostClassifier) -> None:
    facts = clf.describe().to_dict()
    np.testing.assert_array_equal(list(facts["influence"].values()), clf.feature_importances_)
    [member] = facts["members"]
    assert [atom["coef"] for atom in member["atoms"]] == clf.atom_coef_.T.tolist()
    assert sum(facts["families"].values()) == facts["n_atoms"] == clf.n_atoms_


def test_a_regressor_is_described_by_what_it_predicts() -> None:
    table = make_customers(200, odd_cells=0.0, random_state=0)
    y = table.pop("churned") == "yes"
    description = FCGBoostRegressor("relu", max_iter=3).fit(table, 5.0 * y).describe()
    assert str(description).startswith("A model with 3 ReLU atoms that predicts a number.\nLoss sq")
    assert description.to_dict()["classes"] == []


def test_printing_shows_the_largest_atoms_and_columns(clf: FCGBoostClassifier) -> None:
    text = clf.describe().text(top=2)
    assert text.startswith(f"A model with {clf.n_atoms_} Gauss atoms that")
    assert "distinguishes no and yes." in text
    best = clf.feature_names_in_[np.argmax(clf.feature_importances_)]
    assert "The columns that matter most\n\ncolumn" in text
    assert str(best) in text.split("The columns that matter most")[1]
    assert len(text.split("The 2 largest atoms\n\n")[1].splitlines()) == 3


def test_recorded_scores_are_shown_with_their_baseline(
    clf: FCGBoostClassifier, tmp_path: Path
) -> None:
    score = {"value": 0.75, "low": 0.5, "high": 0.875}
    test = {"n_samples": 40, "scores": {"accuracy": score}}
    about = {"test": {**test, "baseline": {"class": "no", "accuracy": 0.625}}}
    clf.save_model(tmp_path / "m.json", about=about)
    text = str(load_model(tmp_path / "m.json").describe())
    assert "On the 40 held-out rows\nBaseline (always no): accuracy 0.6250" in text
    assert "accuracy  0.7500  0.5000  0.8750" in text


def test_recorded_scores_of_numbers_have_their_own_baseline(tmp_path: Path) -> None:
    X = np.arange(20.0)[:, None]
    model = FCGBoostRegressor("linear", max_iter=1).fit(X, X[:, 0])
    scores = {"rmse": {"value": 12345.6, "low": 0.0, "high": 2e-7}}
    test = {"n_samples": 40, "scores": scores, "baseline": {"mean": 3.5, "rmse": 0.25}}
    model.save_model(tmp_path / "m.json", about={"test": test})
    text = str(load_model(tmp_path / "m.json").describe())
    assert "Baseline (always 3.5, the mean): root mean squared error 0.25\n" in text
    assert "root mean squared error  12,346    0  2e" in text


@pytest.mark.parametrize(
    "about",
    [
        {"test": []},
        {"test": {"scores": 1, "baseline": {"class": 1}}},
        {"test": {"scores": {"odd": {"value": "x"}, "accuracy": 0.9}}, "data": "d", "ended": {}},
        {"ended": {"seconds": "long"}},
    ],
)
def test_what_users_stored_in_place_of_scores_is_shown_as_far_as_it_is_valid(
    clf: FCGBoostClassifier, tmp_path: Path, about: dict[str, object]
) -> None:
    clf.save_model(tmp_path / "m.json", about=about)
    text = str(load_model(tmp_path / "m.json").describe())
    assert text.startswith(f"A model with {clf.n_atoms_} Gauss atoms")


def test_a_constant_model_says_so() -> None:
    X = pd.DataFrame({"a": np.zeros(20)})
    constant = FCGBoostClassifier("linear", max_iter=2).fit(X, [0, 1] * 10)
    assert constant.n_atoms_ == 0
    assert "The model is constant: it has no atoms." in str(constant.describe())
    assert dictionary_name(constant.model_.dictionary) == "linear"


def test_sparse_centres_are_described_by_what_is_not_zero() -> None:
    rows = sparse.random(60, 40, 0.1, "csr", random_state=0)
    y = np.asarray(rows[:, :20].sum(axis=1)).ravel() > 1.0
    clf = FCGBoostClassifier("gauss", max_iter=4, random_state=0).fit(rows, y)
    texts = clf.describe().atom_texts(range(clf.n_atoms_))
    dense = clf.model_.atoms.toarray()[:, :40]
    for text, row in zip(texts, dense, strict=True):
        assert "= 0," not in text
        largest = int(np.argmax(np.abs(row / clf.model_.scale)))
        assert text.startswith(f"near feature {largest + 1} = {number(row[largest])}")


@pytest.fixture(scope="module")
def average() -> FCGBoostClassifier:
    return mixed_average(*mixed(300, 0))


def test_an_average_is_described_by_kinds_of_members(average: FCGBoostClassifier) -> None:
    text = average.describe().text(top=3)
    assert (
        "The model is the average of 4 members: 2 of ReLU, tree and Gauss atoms (weight 0.4) and "
        "2 forests (weight 0.6)." in text
    )
    assert "Every member learns its own encodings" in text
    heads, *kinds = text.split("Members\n\n")[1].split("\n\n")[0].splitlines()
    assert heads.split("  ")[0] == "members"
    assert [" ".join(line.split()) for line in kinds] == [
        "2 of ReLU, tree and Gauss atoms 0.1 to 1.1 9 to 10 9 to 10",
        "2 forests 0.1 to 1.1 4 to 5 4 to 5",
    ]
    rows = text.split("The 3 largest atoms\n\n")[1].splitlines()[1:]
    sizes = np.hstack([member.weight * member.model.coef for member in average.members_])
    largest = -np.sort(-np.abs(sizes[0]))[:3]
    np.testing.assert_allclose([abs(float(row.split()[2])) for row in rows], largest, rtol=1e-3)


def test_atoms_of_members_have_features_of_their_own(
    average: FCGBoostClassifier,
) -> None:
    texts = average.describe().atom_texts(np.arange(average.n_atoms_)[::-1])[::-1]
    first = 0
    for member in average.members_:
        n = member.model.n_atoms
        alone = average_of([average], [1.0])
        alone.members_ = (member,)
        expected = alone.describe().atom_texts(range(n))
        found = [text.removeprefix("tree: ") for text in texts[first : first + n]]
        assert found == [text.removeprefix("tree: ") for text in expected]
        first += n


def test_programs_get_every_member(average: FCGBoostClassifier) -> None:
    facts = average.describe().to_dict()
    assert [member["weight"] for member in facts["members"]] == [0.1, 0.4, 0.3, 0.2]
    for member, record in zip(average.members_, facts["members"], strict=True):
        assert [atom["coef"] for atom in record["atoms"]] == member.model.coef.T.tolist()
        assert record["features"] == member.inputs.names()
        assert (record["l2"], record["n_steps"]) == (member.l2, member.n_iter)
    assert sum(facts["families"].values()) == facts["n_atoms"] == average.n_atoms_


def test_a_column_is_encoded_as_for_the_first_member_that_uses_it(
    average: FCGBoostClassifier,
) -> None:
    first, *others = average.members_
    age, *rest = first.inputs.columns
    bare = Inputs([dataclasses.replace(age, outputs=()), *rest])
    other = average_of([average] * 4, [0.25] * 4)
    other.members_ = (dataclasses.replace(first, inputs=bare), *others)
    columns = other.describe().columns
    assert columns == (others[0].inputs.columns[0], *rest)
