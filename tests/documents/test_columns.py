"""Columns in files: read in one way, and encoded by each member in its own."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fcgboost.documents import Document, encode
from fcgboost.documents.checking import convert
from fcgboost.documents.columns import read_columns
from fcgboost.io import load_model, save_model
from tests.suites.models import MODELS, assert_identical, rows_of, table

TABLES = ["table", "table of trees", "folds of a table"]


def loaded(model: Any, path: Path) -> Any:
    save_model(model, path)
    return load_model(path)


def test_members_share_how_columns_are_read() -> None:
    """Levels and names of columns are in a file once."""
    text = encode(MODELS["folds of a table"]()).decode()
    for once in ("rare", 'a \\"quote\\"', "größe \\u0001"):
        # Names of columns are names of features, too.
        assert text.count(f'"{once}"') == 1 + once.startswith("größe")
    document = json.loads(text)
    assert not any("outputs" in column for column in document["columns"])


def test_members_encode_columns_differently(tmp_path: Path) -> None:
    model = MODELS["folds of a table"]()
    first, second, forest = model.members_
    assert first.inputs.columns != second.inputs.columns
    assert len(forest.model.scale) < len(second.model.scale)
    back = loaded(model, tmp_path / "model.json")
    X = model._background()
    for one, other in zip(model.members_, back.members_, strict=True):
        assert_identical(one.inputs.encode(X), other.inputs.encode(X))
        assert one.inputs.names() == other.inputs.names()


@pytest.mark.parametrize("name", [*TABLES, "gaps", "ensemble", "trees", "names"])
def test_background_rows_come_back_as_columns_read_them(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    back = loaded(model, tmp_path / "model.json")
    assert model._background().shape[1] == model.n_features_in_
    assert_identical(back._background(), np.asarray(model._background()))


def test_background_rows_of_a_table_hold_levels_and_missing_values(tmp_path: Path) -> None:
    back = loaded(MODELS["table"](), tmp_path / "model.json")
    rows = back._background()
    assert np.isnan(rows[:, [0, 3]]).any(axis=0).all()
    assert set(rows[~np.isnan(rows[:, 3]), 3]) == {0.0, 1.0, 2.0, 3.0}


def test_plain_numbers_with_gaps_are_no_table(tmp_path: Path) -> None:
    model = MODELS["gaps"]()
    back = loaded(model, tmp_path / "model.json")
    assert model._table_columns_ is None
    assert back._table_columns_ is None
    assert back.columns_ == model.columns_
    X = rows_of(model)
    X[::2] = np.nan
    assert_identical(back.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("name", TABLES)
def test_new_levels_and_missing_values_are_read_the_same(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    back = loaded(model, tmp_path / "model.json")
    frame, _ = table()
    frame.loc[::3, "colour"] = "never seen"
    frame.loc[1::3, ["size", "day"]] = None
    assert_identical(back.decision_function(frame), model.decision_function(frame))


def test_columns_of_sparse_rows_are_not_made() -> None:
    """There may be millions of them."""
    for name, n_columns in [("sparse matrix", 0), ("gauss, squared_hinge", 3)]:
        value = json.loads(encode(MODELS[name]()))
        assert len(read_columns(convert(value, Document))) == n_columns
