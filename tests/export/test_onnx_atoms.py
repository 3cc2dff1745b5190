"""Atoms in a graph."""

import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.export import to_onnx
from tests.suites.export_cases import (
    blobs,
    case,
)

pytestmark = pytest.mark.extras


def test_a_plain_graph_needs_common_operators_only() -> None:
    made = to_onnx(case("gauss_4_square").model)
    assert [entry.domain for entry in made.opset_import] == [""]


def test_columns_that_no_atom_uses_take_no_room() -> None:
    X, y = blobs(2, 200)
    model = FCGBoostClassifier(dictionary="relu", max_iter=1).fit(X, y)
    n_used = int((model.atoms_[0, :-1] != 0.0).sum())
    assert n_used < 200
    assert [n_used, 1] in [list(tensor.dims) for tensor in to_onnx(model).graph.initializer]
