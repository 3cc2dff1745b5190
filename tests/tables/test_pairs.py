"""Pairs of columns of categories in models."""

import json
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from fcgboost import FCGBoostClassifier, load_model
from fcgboost.checks import check_rows
from fcgboost.explanation import game_of
from fcgboost.tables import CategoryColumn, NumberColumn, pairs
from fcgboost.tables.inputs import encode
from fcgboost.tables.pairs import Pair, choose_pairs


def make_frame(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Give a table whose label depends on combinations of two levels, with gaps."""
    rng = np.random.default_rng(seed)
    first = rng.integers(6, size=n)
    second = rng.integers(5, size=n)
    frame = pd.DataFrame(
        {
            "job": np.array(list("abcdef"), dtype=object)[first],
            "x": rng.normal(size=n),
            "town": np.array(list("vwxyz"), dtype=object)[second],
        }
    )
    y = ((first * second) % 3 == 1) ^ (rng.random(n) < 0.1)
    frame.loc[rng.random(n) < 0.05, "job"] = None
    return frame, np.where(y, "yes", "no")


X, Y = make_frame(500, 0)
NEW = make_frame(100, 1)[0].assign(town=["v", "never seen", None, "z"] * 25)


@pytest.fixture(scope="module")
def model() -> FCGBoostClassifier:
    return FCGBoostClassifier(cv=3, random_state=0).fit(X, Y)


def test_combinations_are_inputs(model) -> None:
    test, y = make_frame(2000, 2)
    without = FCGBoostClassifier("gauss", cv=3, random_state=0).fit(X[["x"]], Y)
    assert model.score(test, y) > without.score(test[["x"]], y) + 0.1
    (pair,) = model.members_[0].pairs
    assert pair.columns == (0, 2)
    assert pair.output_names() == ("share of yes beyond job and town",)
    assert "share of yes beyond job and town" in model.members_[0].inputs.names()


def test_a_pair_is_explained_by_both_of_its_columns(model) -> None:
    found = model.explain(NEW[:4], background=X[:20])
    assert found.values.shape == (4, 3)
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, model.decision_function(NEW[:4]), atol=1e-12)
    influence = model.feature_importances_
    assert influence.sum() == pytest.approx(1.0)
    assert min(influence[0], influence[2]) > influence[1]


def test_values_are_those_of_a_game_with_a_player_for_the_pair(model) -> None:
    rows = check_rows(model, NEW[:3])
    background = np.asarray(model._sample_)[:5]
    game = game_of(model.members_, background)
    players = range(4)
    # All members have the one pair: their inputs are numbered alike.
    assert {pair.columns for member in model.members_ for pair in member.pairs} == {(0, 2)}
    for row in rows:

        def worth(joined, row=row):
            total = 0.0
            for member in model.members_:
                is_in = np.isin(member.sources(3), joined)
                inputs = [encode(member.inputs, part) for part in (row[None], background)]
                mixed = np.where(is_in, *inputs)
                total += member.weight * member.model.decision(mixed).mean()
            return total

        phi = np.zeros(4)
        for order in permutations(players):
            for k, player in enumerate(order):
                phi[player] += worth(order[: k + 1]) - worth(order[:k])
        phi /= 24.0
        expected = phi[:3] + phi[3] * np.array([0.5, 0.0, 0.5])
        encoded = [encode(member.inputs, row[None]) for member in model.members_]
        values, errors = game.values(encoded)
        np.testing.assert_allclose(values[0, :, 0], expected, atol=1e-12)
        np.testing.assert_array_equal(errors, 0.0)


def test_a_description_names_pairs(model) -> None:
    text = str(model.describe())
    assert "job and town" in text
    assert "share of yes beyond job and town" in text


def test_a_model_file_holds_pairs_to_the_last_bit(model, tmp_path) -> None:
    model.save_model(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.members_[0].pairs == model.members_[0].pairs
    np.testing.assert_array_equal(loaded.decision_function(NEW), model.decision_function(NEW))
    np.testing.assert_array_equal(loaded.explain(NEW[:2]).values, model.explain(NEW[:2]).values)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"columns": [2, 0]}, "columns"),
        ({"columns": [0, 1]}, "columns"),
        ({"columns": [0, 9]}, "columns"),
        ({"outputs": [{"kind": "numbers", "part": "", "numbers": [0], "view": "both"}]}, "numbers"),
    ],
)
def test_a_model_file_with_a_wrong_pair_is_refused(model, tmp_path, changes, place) -> None:
    path = tmp_path / "model.json"
    model.save_model(path)
    document = json.loads(path.read_text())
    document["members"][0]["inputs"]["pairs"][0] |= changes
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=rf"members\[0\].inputs.pairs\[0\].*{place}"):
        load_model(path)


def test_codes_of_combinations_count_gaps_and_unknown_levels_last() -> None:
    columns = [CategoryColumn("a", ("x", "y")), NumberColumn("n"), CategoryColumn("b", ("z",))]
    pair = Pair.of(columns, 0, 2)
    rows = np.array([[0.0, 9.0, 0.0], [1.0, 9.0, 0.0], [np.nan, 9.0, np.nan], [0.0, 9.0, np.nan]])
    assert pair.sizes == (3, 2)
    assert pair.codes(rows).tolist() == [0, 2, 5, 1]


def test_a_column_is_in_one_pair_at_most() -> None:
    frame = X.assign(work=X["job"].str.upper())
    model = FCGBoostClassifier("gauss", cv=3, random_state=0).fit(frame, Y)
    for member in model.members_:
        assert len(member.pairs) == 1


def test_pairs_with_few_combinations_are_tried_first(monkeypatch) -> None:
    monkeypatch.setattr(pairs, "_MOST_TRIED", 3)
    sizes = {"a": 12, "b": 3, "c": 5, "d": 2, "many": 13}
    columns = []
    for name, size in sizes.items():
        levels = tuple(f"{i:03}" for i in range(size))
        columns.append(CategoryColumn(name, levels, (None,)))
    tried = []

    def facts_of(origins):
        tried.extend(origins)
        return [Facts() for _ in origins]

    class Facts:
        def gain(self) -> float:
            return 1.0

    assert choose_pairs(columns, facts_of) == []
    assert [pair.name for pair in tried] == ["b and d", "c and d", "b and c"]
