"""What a graph says of itself."""

import json
import sys

import pytest

from fcgboost.export import to_onnx
from tests.suites.export_cases import (
    case,
)
from tests.suites.onnx_runs import onnx

pytestmark = pytest.mark.extras


def test_a_graph_tells_what_it_is() -> None:
    made = to_onnx(case("table_relu_3").model)
    facts = {entry.key: entry.value for entry in made.metadata_props}
    assert made.producer_name == "fcgboost"
    assert made.producer_version
    assert "relu atoms" in made.doc_string
    assert facts["dictionary"] == "relu"
    assert json.loads(facts["classes"]) == ["no", "perhaps", "yes"]
    assert json.loads(facts["columns"])["label_"] == "label"
    assert {entry.domain: entry.version for entry in made.opset_import} == {"": 17, "ai.onnx.ml": 3}
    notes = {given.name: given.doc_string for given in made.graph.input}
    assert "constant" not in notes
    assert notes["since"].startswith("Days since 1970-01-01")
    kinds = {given.name: given.type.tensor_type.elem_type for given in made.graph.input}
    assert kinds["since"] == onnx.TensorProto.DOUBLE
    assert kinds["age"] == onnx.TensorProto.FLOAT


def test_without_onnx_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'fcgboost\[onnx\]'"):
        to_onnx(case("label_text").model)
