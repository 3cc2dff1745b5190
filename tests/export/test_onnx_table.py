"""Columns of a table in a graph."""

import json

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.export import to_onnx
from fcgboost.tables import CategoryColumn
from tests.suites.export_cases import (
    case,
)
from tests.suites.export_tables import TABLES, table_of
from tests.suites.onnx_runs import onnx, run, runtime

pytestmark = pytest.mark.extras


def test_a_row_in_which_all_is_missing_is_encoded_as_in_python() -> None:
    pd = pytest.importorskip("pandas")
    for name in TABLES:
        model, X = case(name)
        rows = np.full((2, 3), np.nan)
        if hasattr(X, "columns"):
            rows = pd.DataFrame({column: [None, None] for column in X.columns}, dtype=object)
        found = run(name, rows, "double")
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), atol=1e-12)


def test_names_that_a_graph_cannot_have_are_changed() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    names = ["", "label", "label_", "decision", "X", "Cast_7", "constant_5", "gr\u00f6\u00dfe"]
    X = pd.DataFrame({name: rng.normal(size=60) for name in names})
    y = (X["label"] + X["X"] > 0).astype(int)
    X["label_"] = np.where(rng.random(60) < 0.5, "a", "b")  # only tables have an input per column
    model = FCGBoostClassifier("gauss", max_iter=5).fit(X, y)
    made = to_onnx(model, input_type="double")
    onnx.checker.check_model(made, full_check=True)
    columns = json.loads({e.key: e.value for e in made.metadata_props}["columns"])
    assert sorted(columns.values()) == sorted(names)
    ready = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    given = {name: X[column].to_numpy()[:, None] for name, column in columns.items()}
    (decision,) = ready.run(["decision"], given)
    np.testing.assert_allclose(decision, model.decision_function(X), atol=1e-12)


def test_a_table_is_read_once_for_all_members() -> None:
    model = case("members_table").model
    nodes = [node.op_type for node in to_onnx(model).graph.node]
    categories = [column for column in table_of(model) if isinstance(column, CategoryColumn)]
    assert nodes.count("LabelEncoder") == len(categories)
    assert len(model.members_) > 3
