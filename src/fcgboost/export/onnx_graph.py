"""A graph in ONNX under construction: nodes, constants, and names that nothing else has."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto

# Supported by the runtimes of recent years; Shape with a range needs 15, nothing here needs more.
OPSET = 17
ML_OPSET = 3
IR_VERSION = 8
ML = "ai.onnx.ml"


def import_onnx() -> ModuleType:
    """Return the package onnx."""
    try:
        return import_module("onnx")
    except ImportError as error:
        raise ImportError(
            "ONNX export needs the package onnx: pip install 'fcgboost[onnx]'."
        ) from error


class Graph:
    """Nodes and constants; tensors are known by their names, of which some are taken."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._onnx = import_onnx()
        self._taken = set(taken)
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def add(
        self,
        operator: str,
        *inputs: str | float,
        domain: str = "",
        output: str = "",
        **attributes: object,
    ) -> str:
        """Add a node of tensors and numbers; return the name of its output, a new one if not given.

        Other outputs, if any, are not used.
        """
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        output = output or self.name(operator)
        # TopK has a second output, the positions, which the checker wants to see.
        outputs = [output, self.name("positions")] if operator == "TopK" else [output]
        self.nodes.append(
            self._onnx.helper.make_node(
                operator,
                names,
                outputs,
                domain=domain,
                **attributes,
            )
        )
        return output

    def cast(self, tensor: str, kind: str) -> str:
        """Return a tensor in another type, named as in ONNX."""
        return self.add("Cast", tensor, to=getattr(self._onnx.TensorProto, kind))

    def per_row(self, x: str, row: str) -> str:
        """Return a row as often as x has rows."""
        n_rows = self.add(
            "Shape",
            x,
            start=0,
            end=1,
        )
        shape = self.add("Concat", n_rows, self.constant([1], np.int64), axis=0)
        return self.add("Expand", row, shape)

    def constant(self, values: ArrayLike, dtype: DTypeLike = np.float64) -> str:
        """Add an array; return its name."""
        name = self.name("constant")
        array = np.ascontiguousarray(np.asarray(values, dtype=dtype))
        self.constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def integers(self, values: ArrayLike) -> str:
        """Add whole numbers from 0 on, which take few bytes each; return them as int64."""
        types = (np.uint8, np.int16, np.int32, np.int64)
        largest = int(np.max(values, initial=0))
        small = next(dtype for dtype in types if largest <= np.iinfo(dtype).max)
        return self.cast(self.constant(values, small), "INT64")

    def name(self, word: str) -> str:
        """Return a name that is not taken, and take it."""
        count = len(self._taken)
        while f"{word}_{count}" in self._taken:
            count += 1
        self._taken.add(f"{word}_{count}")
        return f"{word}_{count}"
