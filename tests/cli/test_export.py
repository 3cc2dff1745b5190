"""`fcgboost export`: which file is written, and in which format."""

from pathlib import Path

import pytest

from fcgboost import load_model
from fcgboost.export import to_c
from tests.suites.commands import run, run_json

# One fixture fits for all of them: they belong on one worker.
pytestmark = pytest.mark.xdist_group("cli")


@pytest.fixture
def model(folder: Path, tmp_path: Path) -> Path:
    """Give a copy of a model, alone in a folder."""
    copy = tmp_path / "m.json"
    copy.write_bytes((folder / "m.json").read_bytes())
    return copy


def test_a_header_is_written(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = model.with_name("other.h")
    told = run_json(capsys, "export", model, "--to", "c", "--out", header)
    assert told == {"out": str(header), "bytes": header.stat().st_size}
    assert header.read_text() == to_c(load_model(model))
    assert "churn_predict" not in header.read_text()
    # What was there is replaced.
    assert run("export", model, "--to", "c", "--out", header, "--name", "churn") == 0
    assert "churn_predict" in header.read_text()


def test_the_file_is_named_after_the_model_and_names_are_taken_in_any_case(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("export", model, "--to", "C", "--precision", "Float") == 0
    header = model.with_suffix(".h")
    assert header.read_text() == to_c(load_model(model), precision="float")
    assert capsys.readouterr().out == f"{header}: {header.stat().st_size:,} bytes\n"


@pytest.mark.parametrize("precision", [None, "double", "float"])
def test_a_graph_takes_numbers_of_the_precision_asked_for(
    model: Path, precision: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    onnx = pytest.importorskip("onnx", reason="needs the package onnx")
    chosen = [] if precision is None else ["--precision", precision]
    told = run_json(capsys, "export", model, "--to", "onnx", *chosen)
    path = model.with_suffix(".onnx")
    assert told == {"out": str(path), "bytes": path.stat().st_size}
    inputs = {value.name: value.type.tensor_type.elem_type for value in onnx.load(path).graph.input}
    number = onnx.TensorProto.DOUBLE if precision == "double" else onnx.TensorProto.FLOAT
    assert inputs["age"] == inputs["income"] == number
    assert inputs["town"] == onnx.TensorProto.STRING
