"""A graph in ONNX under construction: nodes, constants, and names that nothing else has."""

from __future__ import annotations

from typing import Any

import numpy as np

from fcgboost.export.formula import utf8

# Known to all runtimes of the last years; Shape with a range needs 15, what follows nothing newer.
OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
ML = "ai.onnx.ml"


def import_onnx() -> Any:
    """Return the package onnx."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "ONNX export needs the package onnx: pip install 'fcgboost[onnx]'."
        ) from error
    return onnx


class Graph:
    """Nodes and constants; tensors are known by their names, of which some are taken."""

    def __init__(self, taken: Any) -> None:
        self._onnx = import_onnx()
        self._taken = set(taken)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: str | float, domain: str = "", **attributes: Any) -> str:
        """Add a node of tensors and numbers with one output that is used; return its name."""
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        output = self.name(operator)
        # TopK has a second output, the places, which the checker wants to see.
        outputs = [output, self.name("places")] if operator == "TopK" else [output]
        self.nodes.append(
            self._onnx.helper.make_node(operator, names, outputs, domain=domain, **attributes)
        )
        return output

    def cast(self, tensor: str, kind: str) -> str:
        """Return a tensor in another type, named as in ONNX."""
        return self.add("Cast", tensor, to=getattr(self._onnx.TensorProto, kind))

    def output(self, tensor: str, name: str, cast: int | None = None) -> None:
        """Name a tensor as an output, and cast it where a type is given."""
        operator, attributes = ("Identity", {}) if cast is None else ("Cast", {"to": cast})
        node = self._onnx.helper.make_node(operator, [tensor], [name], **attributes)
        self.nodes.append(node)

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        """Add an array, or a list of texts (dtype=object); return its name."""
        name = self.name("constant")
        if dtype is object:
            kind, texts = self._onnx.TensorProto.STRING, [utf8(text, "ONNX") for text in values]
            tensor = self._onnx.helper.make_tensor(name, kind, [len(texts)], texts)
        else:
            array = np.ascontiguousarray(np.asarray(values, dtype=dtype))
            tensor = self._onnx.numpy_helper.from_array(array, name)
        self.constants.append(tensor)
        return name

    def integers(self, values: Any) -> str:
        """Add whole numbers from 0 on, which take few bytes each; return them as int64."""
        types: list[Any] = [np.uint8, np.int16, np.int32, np.int64]
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
