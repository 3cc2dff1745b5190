"""Graphs of ONNX, made once and run."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from fcgboost.export import to_onnx
from tests.suites.export_cases import (
    case,
)
from tests.suites.export_tables import cells_of, table_of

onnx = pytest.importorskip("onnx", reason="onnx is not installed")


runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


DTYPES = {"double": np.float64, "float": np.float32}


@cache
def graph(name: str, input_type: str) -> Any:
    return to_onnx(case(name).model, input_type=input_type)


@cache
def session(name: str, input_type: str) -> Any:
    """Give a running model."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    text = graph(name, input_type).SerializeToString()
    return runtime.InferenceSession(text, options, providers=["CPUExecutionProvider"])


def feeds(model: Any, X: Any, dtype: Any) -> dict[str, np.ndarray]:
    """Give rows as the inputs of a graph."""
    columns = table_of(model)
    if columns is None:
        return {"X": np.asarray(X, dtype=dtype)}
    given = {one.name: cells_of(one, X, dtype)[:, None] for one in columns}
    return {"label_" if name == "label" else name: cells for name, cells in given.items()}


def run(name: str, X: Any, input_type: str) -> dict[str, np.ndarray]:
    """Give the outputs of a graph by name."""
    ready = session(name, input_type)
    outputs = [output.name for output in ready.get_outputs()]
    values = ready.run(outputs, feeds(case(name).model, X, DTYPES[input_type]))
    return dict(zip(outputs, values, strict=True))
