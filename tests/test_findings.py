"""What users are told about their rows and labels, from plain arrays."""

import numpy as np
import pandas as pd
import pytest

from fcgboost import FCGBoostClassifier, load_model
from fcgboost.findings import (
    Finding,
    alike,
    contradicting,
    find_alike,
    find_duplicates,
    find_quantity,
)

RNG = np.random.default_rng(0)
N = 200
Y = RNG.integers(0, 2, N)
PLAIN = pd.DataFrame({"x": RNG.normal(size=N), "z": RNG.normal(size=N)})


def fitted(X=PLAIN, y=Y, **parameters) -> FCGBoostClassifier:
    parameters = {"dictionary": "tree", "max_iter": 2, "cv": None, **parameters}
    return FCGBoostClassifier(random_state=0, **parameters).fit(X, y)


def kinds(model) -> dict[str, tuple[str, ...]]:
    return {finding.kind: finding.columns for finding in model.findings_}


def test_sentences_count_rows_from_one() -> None:
    assert str(Finding("duplicates", "Odd.", rows=(0, 4))) == "Odd. They are rows 1 and 5."
    many = Finding("duplicates", "Odd.", rows=(1, 2, 3, 999))
    assert str(many) == "Odd. Among them are rows 2, 3 and 4."
    assert str(Finding("leak", "Odd.", ("a",))) == "Odd."


def test_texts_are_alike_but_for_case_and_white_space() -> None:
    assert alike(["yes", "no", " Yes", "YES", 1, "n o"]) == [["yes", " Yes", "YES"]]
    [finding] = find_alike(["a", "A", "b", "b "], "town")
    assert finding.columns == ("town",)
    assert str(finding).startswith("'town': levels differ only in case or white space: 'a' and 'A'")
    assert find_alike(["a", "b", 1]) == []


@pytest.mark.parametrize(
    ("labels", "n_rows", "is_quantity"),
    [
        (np.arange(101), 10_000, True),
        (np.arange(100), 10_000, False),
        (np.arange(25.0), 100, True),
        (np.arange(26), 1000, False),
        (np.arange(3), 3, False),
        (np.arange(200).astype(str), 1000, False),
    ],
)
def test_many_different_numbers_are_a_quantity(labels, n_rows, is_quantity) -> None:
    assert [finding.kind for finding in find_quantity(labels, n_rows)] == ["quantity"] * is_quantity


def test_rows_that_differ_in_the_label_alone_are_counted_and_named() -> None:
    assert contradicting(np.array([1, 2, 2, 3, 4, 4], dtype=np.uint64)).tolist() == [
        False, True, True, False, True, True,
    ]  # fmt: skip
    assert find_duplicates(np.array([], dtype=np.intp), 9) == []
    X = PLAIN.copy()
    X.iloc[7] = X.iloc[3]
    X.iloc[9] = X.iloc[5]
    y = Y.copy()
    y[[3, 7, 5, 9]] = [0, 1, 1, 1]
    [finding] = fitted(X, y).findings_
    assert finding.rows == (3, 7)
    assert str(finding).startswith("2 of 200 rows equal others but for the label")
    assert str(finding).endswith("They are rows 4 and 8.")
    # Of rows with weights, too, positions are those in X.
    weights = np.ones(N)
    weights[:3] = 0.0
    weighted = FCGBoostClassifier("tree", max_iter=2).fit(X, y, weights)
    assert weighted.findings_[0].rows == (3, 7)


def test_nothing_is_said_about_rows_that_differ_in_text() -> None:
    texts = [f"the {i}th of many sentences" for i in range(N)]
    X = pd.DataFrame({"x": np.arange(N) // 2, "review": texts})
    assert kinds(fitted(X)) == {"text": ("review",)}


def test_row_numbers_and_ids_are_left_out_of_frames_unless_kept() -> None:
    X = PLAIN.assign(n=RNG.permutation(N) + 1, id=[f"p{i}" for i in range(N)])
    model = fitted(X)
    assert kinds(model) == {"row number": ("n",), "id": ("id",)}
    np.testing.assert_allclose(
        model.decision_function(X),
        fitted(PLAIN).decision_function(PLAIN),
        atol=1e-12,
    )
    # In the rows to predict they may be anything.
    np.testing.assert_array_equal(
        model.decision_function(X.assign(n=0.5, id=None)), model.decision_function(X)
    )
    kept = fitted(X, keep_columns=np.array(["n"]))
    assert kept.columns_[2].n_outputs == 1
    assert "id" in kinds(kept)


def test_columns_to_keep_must_be_there() -> None:
    for X in (PLAIN, PLAIN.assign(t=["a", "b"] * (N // 2))):
        with pytest.raises(ValueError, match="X has no column 'X'; did you mean 'x'"):
            fitted(X, keep_columns=["X"])
    with pytest.raises(ValueError, match="keep_columns must be None or a list of names, got 'x'"):
        fitted(keep_columns="x")
    with pytest.raises(ValueError, match="X has no column 'x'"):
        fitted(PLAIN.to_numpy(), keep_columns=["x"])


def test_a_frame_of_numbers_alone_is_looked_at_too() -> None:
    model = fitted(PLAIN.assign(n=np.arange(N)))
    assert kinds(model) == {"row number": ("n",)}
    assert "it counts the rows" in model.notes_[0]


@pytest.mark.parametrize("dtype", [float, object])
def test_arrays_keep_all_columns(dtype) -> None:
    X = PLAIN.assign(n=np.arange(N)).to_numpy(dtype=dtype)
    assert all(column.n_outputs for column in fitted(X).columns_)


def test_the_only_column_stays() -> None:
    model = fitted(pd.DataFrame({"n": np.arange(N)}))
    assert model.columns_[0].n_outputs == 1


def test_a_column_that_may_order_the_users_folds_stays() -> None:
    X = PLAIN.assign(day=np.arange(N))
    splits = [(np.arange(100), np.arange(100, 150)), (np.arange(150), np.arange(150, 200))]
    model = fitted(X, cv=splits)
    assert model.columns_[2].n_outputs == 1
    assert "'day' looks like a row number" in model.notes_[0]


def test_labels_and_levels_that_look_alike_are_named() -> None:
    labels = np.where(Y == 1, "yes", "no").astype(object)
    labels[:9] = "Yes"
    X = PLAIN.assign(town=["Ulm", "ulm", "Bonn", "Bonn"] * (N // 4))
    assert kinds(fitted(X, labels)) == {"levels": ("town",), "labels": ()}


def test_constants_are_named_together() -> None:
    model = fitted(PLAIN.assign(one=1.0, two=2))
    assert model.notes_ == ("'one' and 'two' hold one value each: nothing depends on it.",)


def test_a_quantity_as_target_is_named() -> None:
    model = fitted(y=np.arange(N) % 50, dictionary="linear")
    assert "quantity" in kinds(model)


def test_a_model_file_keeps_what_was_found(tmp_path) -> None:
    model = fitted(PLAIN.assign(n=np.arange(N)), np.where(Y == 1, "a", "A"), keep_columns=["x"])
    model.save_model(tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert loaded.findings_ == model.findings_
    assert loaded.notes_ == model.notes_
    assert list(loaded.keep_columns) == ["x"]
