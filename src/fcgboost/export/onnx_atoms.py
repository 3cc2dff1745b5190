"""The values of atoms as nodes of an ONNX graph.

onnxruntime joins a product with a division or multiplication by one number right before or after
it, and then holds that number in single precision. So there are none: numbers are multiplied into
the constants, or something stands between.
"""

from __future__ import annotations

import numpy as np

from fcgboost.arrays import REACH, Array, to_numpy
from fcgboost.export.formula import Block, ForestNodes, Summand, forest_of
from fcgboost.export.onnx_graph import Graph


def values_of(graph: Graph, summand: Summand, block: Block, x: str) -> str:
    """Return the values of the atoms of one family, of shape (n, n_atoms)."""
    seen = block.inputs
    if (seen.start, seen.stop) != (0, summand.n_inputs):
        ends = [graph.constant([end], np.int64) for end in (seen.start, seen.stop, 1)]
        x = graph.add("Slice", x, *ends)
    write = {"gauss": _gauss, "tree": _trees}.get(block.kind, _planes)
    return write(
        graph,
        summand,
        block,
        x,
    )


def _used(graph: Graph, x: str, weights: Array) -> tuple[str, Array]:
    """Leave out the columns that no atom has a weight for."""
    is_used = (weights != 0.0).any(axis=0)
    if is_used.all() or not is_used.any():
        return x, weights
    columns = graph.constant(np.flatnonzero(is_used), np.int64)
    return graph.add(
        "Gather",
        x,
        columns,
        axis=1,
    ), weights[:, is_used]


def _gauss(graph: Graph, summand: Summand, block: Block, x: str) -> str:
    """Return exp(t (2 <x, c> - |x|^2 - |c|^2)), t = 1 / (2 sigma^2), in units from an origin."""
    centers = to_numpy(block.vectors)
    steepness = 0.5 / block.last**2
    scale = summand.scale[block.inputs]
    # Distances do not change under a shift, and a small one keeps the three from cancelling.
    origin = centers.mean(axis=0)
    centers = centers - origin
    x = graph.add("Sub", x, graph.constant(origin[None, :]))
    centers = centers / scale
    x = graph.add("Div", x, graph.constant(scale[None, :]))
    axes = graph.constant([1], np.int64)
    lengths = graph.add(
        "ReduceSum",
        graph.add("Mul", x, x),
        axes,
        keepdims=1,
    )
    x, weights = _used(graph, x, 2.0 * steepness[:, None] * centers)
    # One product gives both terms that depend on x.
    table = graph.constant(np.vstack([weights.T, -steepness]))
    product = graph.add(
        "MatMul",
        graph.add(
            "Concat",
            x,
            lengths,
            axis=1,
        ),
        table,
    )
    constants = graph.constant((steepness * (centers**2).sum(axis=1))[None, :])
    exponents = graph.add("Sub", product, constants)
    return graph.add("Exp", graph.add("Min", exponents, 0.0))


def _planes(graph: Graph, summand: Summand, block: Block, x: str) -> str:
    """Return the profile of z = <w, x> + b."""
    weights = to_numpy(block.vectors)
    offsets = block.last
    if block.kind == "polynomial":
        offsets = 1.0 + offsets
    x, weights = _used(graph, x, weights)
    product = graph.add("MatMul", x, graph.constant(weights.T))
    z = graph.add("Add", product, graph.constant(offsets[None, :]))
    if block.kind == "step":
        return graph.cast(graph.add("Greater", z, 0.0), "DOUBLE")
    if block.kind == "relu":
        return graph.add("Max", z, 0.0)
    if block.kind == "sigmoid":
        return graph.add("Sigmoid", z)
    if block.kind == "polynomial":
        most = REACH ** (1.0 / block.degree)
        z = graph.add(
            "Clip",
            z,
            -most,
            most,
        )
    power = z
    for _ in range(block.degree - 1):
        power = graph.add("Mul", power, z)
    return power


def _trees(graph: Graph, summand: Summand, block: Block, x: str) -> str:
    """Return the values of leaves: all trees are walked at once, level by level.

    Common operators do: the trees of ai.onnx.ml 3 give single precision only.
    """
    forest = forest_of(block.atoms)
    walk = _Walk(
        graph,
        forest,
        summand.takes_missing,
        x,
    )
    nodes = graph.per_row(x, graph.constant([forest.roots], np.int64))
    for _ in range(forest.depth):
        nodes = walk.step(nodes)
    return graph.add("Gather", walk.values, nodes)


class _Walk:
    """The tables of a forest in a graph, its inputs, and the way down its trees."""

    def __init__(self, graph: Graph, forest: ForestNodes, takes_missing: bool, x: str) -> None:
        self._graph = graph
        self._x = x
        self._forest = forest
        self.values = graph.constant(forest.value)
        self._features = graph.integers(forest.feature)
        self._left = graph.integers(forest.left)
        self._missing = graph.constant(forest.is_missing_left, np.bool_) if takes_missing else None
        if forest.sets:
            self._is_category = graph.constant(forest.is_category, np.bool_)
            members = [
                [codes >> code & 1 for code in range(forest.n_codes)] for codes in forest.sets
            ]
            # After the codes of each set stands an entry for all else: it goes where gaps go.
            others = forest.is_missing_left[forest.is_category]
            self._members = graph.constant(np.column_stack([members, others]).ravel(), np.bool_)
            starts = np.zeros(len(forest.value), dtype=np.int64)
            starts[forest.is_category] = np.arange(len(members)) * (forest.n_codes + 1)
            self._starts = graph.integers(starts)
            self._codes = self._codes_in(x)

    def step(self, nodes: str) -> str:
        """Go down one level; a leaf stays where it is."""
        graph = self._graph
        features = graph.add("Gather", self._features, nodes)
        value = graph.add(
            "GatherElements",
            self._x,
            features,
            axis=1,
        )
        is_left = graph.add("LessOrEqual", value, graph.add("Gather", self.values, nodes))
        if self._missing is not None:
            missing = graph.add("Gather", self._missing, nodes)
            is_gap = graph.add("And", graph.add("IsNaN", value), missing)
            is_left = graph.add("Or", is_left, is_gap)
        if self._forest.sets:
            # onnxruntime's Where takes numbers only.
            is_category = graph.add("Gather", self._is_category, nodes)
            is_number_left = graph.add("And", graph.add("Not", is_category), is_left)
            is_member = graph.add("And", is_category, self._is_member(features, nodes))
            is_left = graph.add("Or", is_number_left, is_member)
        left = graph.add("Gather", self._left, nodes)
        is_right = graph.add("And", graph.cast(left, "BOOL"), graph.add("Not", is_left))
        return graph.add("Add", graph.add("Add", nodes, left), graph.cast(is_right, "INT64"))

    def _codes_in(self, x: str) -> str:
        """Return inputs as codes; anything that is no code gets the first one beyond them."""
        graph = self._graph
        n_codes = float(self._forest.n_codes)
        is_whole = graph.add("Equal", x, graph.add("Floor", x))
        is_high = graph.add("Less", x, n_codes)
        is_low = graph.add("GreaterOrEqual", x, 0.0)
        is_code = graph.add("And", graph.add("And", is_low, is_high), is_whole)
        codes = graph.add(
            "Where",
            is_code,
            x,
            n_codes,
        )
        return graph.cast(codes, "INT64")

    def _is_member(self, features: str, nodes: str) -> str:
        """Return whether a node's set has the code of its input."""
        graph = self._graph
        codes = graph.add(
            "GatherElements",
            self._codes,
            features,
            axis=1,
        )
        starts = graph.add("Gather", self._starts, nodes)
        return graph.add("Gather", self._members, graph.add("Add", starts, codes))
