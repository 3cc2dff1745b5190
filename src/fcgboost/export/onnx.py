"""A model as an ONNX graph: raw inputs in, label, probabilities and decision values out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from fcgboost import __version__
from fcgboost.calibration import LARGEST, PowerLink
from fcgboost.export.formula import Formula, formula_of, merge_linear, utf8
from fcgboost.export.onnx_atoms import values_of
from fcgboost.export.onnx_graph import IR_VERSION, ML, ML_OPSET, OPSET, Graph, import_onnx
from fcgboost.export.onnx_table import cells_of, declare_inputs, inputs_of
from fcgboost.files import FilePath, write_whole
from fcgboost.prediction import BaseFCGBoost

if TYPE_CHECKING:
    from onnx import ModelProto, ValueInfoProto

_TYPES = ("float", "double")
_OUTPUTS = ("label", "probabilities", "decision")


def to_onnx(model: BaseFCGBoost, *, input_type: str = "float") -> ModelProto:
    """Return a model as an ONNX graph of common operators.

    Arithmetic is in double precision, as in Python, whatever the types of inputs and outputs.

    Parameters
    ----------
    model : fitted classifier of fcgboost
    input_type : {"float", "double"}, default="float"
        The type of numeric inputs, probabilities and decision values; dates are double.

    Returns
    -------
    onnx.ModelProto
        The input is `X` of shape (n, n_features), or for a table with text or dates one
        input of shape (n, 1) per column; NaN and empty strings are missing. The
        outputs are `label` of shape (n,), `probabilities` of shape (n, n_classes) if the model has
        them, and `decision` in the shape of `decision_function`.

    Raises
    ------
    ImportError
        If onnx is not installed.
    ValueError
        For user-defined dictionaries or losses, unsupported label types, and columns that floats
        cannot represent.
    """
    onnx = import_onnx()
    if input_type not in _TYPES:
        raise ValueError(f"input_type must be one of {list(_TYPES)}, got {input_type!r}.")
    formula = formula_of(model, input_type)
    helper = onnx.helper
    real = getattr(onnx.TensorProto, input_type.upper())
    inputs = declare_inputs(formula, real, _OUTPUTS)
    names = [info.name for info in inputs]
    graph = Graph([*_OUTPUTS, *names])
    decision = _decision(graph, formula, cells_of(graph, formula, names))
    outputs = _outputs(
        graph,
        formula,
        decision,
        real,
    )
    note = f"A sum of atoms: {formula.sizes}."
    made = helper.make_graph(
        graph.nodes,
        name="fcgboost",
        inputs=inputs,
        outputs=outputs,
        initializer=graph.constants,
        doc_string=note,
    )
    opsets = [helper.make_opsetid("", OPSET)]
    if any(node.domain == ML for node in graph.nodes):
        opsets.append(helper.make_opsetid(ML, ML_OPSET))
    program = helper.make_model(
        made,
        opset_imports=opsets,
        doc_string=note,
        ir_version=IR_VERSION,
    )
    program.producer_name = "fcgboost"
    program.producer_version = __version__
    facts = {
        "dictionary": formula.kind,
        "n_atoms": str(formula.n_atoms),
        "classes": json.dumps(formula.labels),
    }
    if formula.record.is_table:
        columns = [formula.record.columns[j].name for j in formula.record.used]
        facts["columns"] = json.dumps(dict(zip(names, columns, strict=True)))
    elif formula.names is not None:
        facts["columns"] = json.dumps(formula.names)
    helper.set_model_props(program, facts)
    return program


def save_onnx(model: BaseFCGBoost, path: FilePath, *, input_type: str = "float") -> int:
    """Save the result of `to_onnx` to a file, in full or not at all; return its size in bytes."""
    return write_whole(path, to_onnx(model, input_type=input_type).SerializeToString())


def _decision(graph: Graph, formula: Formula, cells: str) -> str:
    """Return decision values, of shape (n, n_outputs)."""
    total = graph.constant(formula.intercept[None, :])
    for summand in formula.summands:
        x = inputs_of(
            graph,
            summand,
            cells,
            formula.n_cells,
        )
        for block in map(merge_linear, summand.blocks):
            values = values_of(
                graph,
                summand,
                block,
                x,
            )
            product = graph.add("MatMul", values, graph.constant(block.coef.T))
            total = graph.add("Add", product, total)
    return total if formula.summands else graph.per_row(cells, total)


def _outputs(graph: Graph, formula: Formula, decision: str, real: int) -> list[ValueInfoProto]:
    """Name the outputs; declare them."""
    helper = import_onnx().helper
    labels = formula.labels
    is_pair = formula.n_outputs == 1
    probabilities = None
    if formula.probability is not None:
        probabilities = _probabilities(graph, formula, decision)
    declare = helper.make_tensor_value_info
    if is_pair:
        squeezed = graph.add("Squeeze", decision, graph.constant([1], np.int64))
        positions = graph.cast(graph.add("Greater", squeezed, 0.0), "INT64")
    else:
        positions = graph.add(
            "ArgMax",
            probabilities if probabilities and formula.correction else decision,
            axis=1,
            keepdims=0,
        )
    texts = [utf8(label, "ONNX") for label in labels if isinstance(label, str)]
    dtype = np.dtype(object) if texts else np.array(labels).dtype
    # NumPy makes floats of small integers next to some from 2**63 on.
    if isinstance(labels[0], int) and dtype.kind == "f":
        dtype = np.dtype(np.uint64)
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    table = graph.constant(texts or labels, dtype)
    graph.add(
        "Gather",
        table,
        positions,
        output="label",
    )
    infos = [declare("label", kind, ["n"])]
    if probabilities is not None:
        graph.add(
            "Cast",
            probabilities,
            output="probabilities",
            to=real,
        )
        infos.append(declare("probabilities", real, ["n", len(labels)]))
    graph.add(
        "Cast",
        squeezed if is_pair else decision,
        output="decision",
        to=real,
    )
    return [*infos, declare("decision", real, ["n"] if is_pair else ["n", len(labels)])]


def _probabilities(graph: Graph, formula: Formula, decision: str) -> str:
    """Return the probabilities of labels or, with a correction, of true classes."""
    correction = formula.correction
    if correction is None:
        return _label_probabilities(graph, formula, decision)
    if formula.n_outputs == 1:
        decision = graph.add("Add", decision, correction.shift)
    p = _label_probabilities(graph, formula, decision)
    shares = graph.add("Relu", graph.add("MatMul", p, graph.constant(correction.inverse)))
    total = graph.add("MatMul", shares, graph.constant(np.ones((len(correction.matrix), 1))))
    return graph.add("Div", shares, total)


def _label_probabilities(graph: Graph, formula: Formula, decision: str) -> str:
    """Return the probabilities of the link, or `class_probabilities` of the losses."""
    if isinstance(formula.probability, PowerLink):
        return _apply_link(
            graph,
            formula.probability,
            decision,
            formula.n_outputs,
        )
    clipped = graph.add(
        "Clip",
        decision,
        -1.0,
        1.0,
    )
    up = graph.add("Add", 1.0, clipped)
    if formula.probability == "linear":
        chance = graph.add("Mul", up, 0.5)
    else:
        down = graph.add("Sub", 1.0, clipped)
        up = graph.add("Mul", up, up)
        down = graph.add("Mul", down, down)
        chance = graph.add("Div", up, graph.add("Add", up, down))
    if formula.n_outputs == 1:
        return graph.add(
            "Concat",
            graph.add("Sub", 1.0, chance),
            chance,
            axis=1,
        )
    tails = graph.add("Mul", graph.add("Sub", decision, clipped), 0.5)
    return _project(graph, graph.add("Add", chance, tails), formula.n_outputs)


def _apply_link(graph: Graph, link: PowerLink, decision: str, n_outputs: int) -> str:
    """Return the softmax of the log-odds; of two classes, half of them each with opposite signs."""
    f = graph.add(
        "Clip",
        decision,
        -LARGEST,
        LARGEST,
    )
    squares = graph.add("Add", graph.add("Mul", f, f), 1.0)
    powers = graph.add("Pow", squares, 0.5 * (link.power - 1.0))
    slope = link.slope if n_outputs > 1 else 0.5 * link.slope
    odds = graph.add("Mul", graph.add("Mul", f, slope), powers)
    if n_outputs == 1:
        odds = graph.add(
            "Concat",
            graph.add("Neg", odds),
            odds,
            axis=1,
        )
    return graph.add("Softmax", odds, axis=1)


def _project(graph: Graph, points: str, n: int) -> str:
    """Return the projection onto the simplex."""
    points = graph.add(
        "Sub",
        points,
        graph.add(
            "ReduceMax",
            points,
            axes=[1],
            keepdims=1,
        ),
    )
    largest = graph.add(
        "TopK",
        points,
        graph.constant([n], np.int64),
        axis=1,
    )
    # Row j of the triangle sums the first j + 1 entries: not every runtime has CumSum.
    totals = graph.add("MatMul", largest, graph.constant(np.triu(np.ones((n, n)))))
    excess = graph.add("Sub", totals, 1.0)
    means = graph.add("Div", excess, graph.constant(np.arange(1.0, n + 1.0)[None, :]))
    threshold = graph.add(
        "ReduceMax",
        means,
        axes=[1],
        keepdims=1,
    )
    return graph.add("Max", graph.add("Sub", points, threshold), 0.0)
