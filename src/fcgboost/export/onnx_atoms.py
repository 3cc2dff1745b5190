"""The values of atoms as nodes of an ONNX graph.

onnxruntime joins a product with a division or multiplication by one number right before or after
it, and then holds that number in single precision. So there are none: numbers are multiplied into
the constants, or something stands between.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fcgboost.arrays import REACH, host
from fcgboost.dictionaries.growth import WORD
from fcgboost.export.formula import Block, Forest, Formula
from fcgboost.export.onnx_graph import Graph


def values_of(graph: Graph, formula: Formula, block: Block, x: str) -> str:
    """Return the values of atoms of one kind, of shape (n, n_atoms); of sigmoids, twice these."""
    seen = block.inputs
    if (seen.start, seen.stop) != (0, formula.n_features):
        ends = [graph.constant([end], np.int64) for end in (seen.start, seen.stop, 1)]
        x = graph.add("Slice", x, *ends)
    write = {"gauss": _gauss, "tree": _trees}.get(block.kind, _planes)
    return write(graph, formula, block, x)


def _used(graph: Graph, x: str, weights: Any) -> tuple[str, Any]:
    """Leave out the columns that no atom has a weight for."""
    is_used = (weights != 0.0).any(axis=0)
    if is_used.all() or not is_used.any():
        return x, weights
    places = graph.constant(np.flatnonzero(is_used), np.int64)
    return graph.add("Gather", x, places, axis=1), weights[:, is_used]


def _gauss(graph: Graph, formula: Formula, block: Block, x: str) -> str:
    """Return exp(t (2 <x, c> - |x|^2 - |c|^2)), t = 1 / (2 sigma^2), in units from an origin."""
    centers, steepness = host(block.rows), 0.5 / block.last**2
    scale = formula.scale[block.inputs]
    # Distances do not change under a shift, and a small one keeps the three from cancelling.
    origin = centers.mean(axis=0)
    centers, x = centers - origin, graph.add("Sub", x, graph.constant(origin[None, :]))
    centers = centers / scale
    x = graph.add("Div", x, graph.constant(scale[None, :]))
    axes = graph.constant([1], np.int64)
    lengths = graph.add("ReduceSum", graph.add("Mul", x, x), axes, keepdims=1)
    x, weights = _used(graph, x, 2.0 * steepness[:, None] * centers)
    # One product gives both terms that depend on x.
    table = graph.constant(np.vstack([weights.T, -steepness]))
    product = graph.add("MatMul", graph.add("Concat", x, lengths, axis=1), table)
    constants = graph.constant((steepness * (centers**2).sum(axis=1))[None, :])
    exponents = graph.add("Sub", product, constants)
    return graph.add("Exp", graph.add("Min", exponents, 0.0))


def _planes(graph: Graph, formula: Formula, block: Block, x: str) -> str:
    """Return the profile of z = <w, x> + b; of a sigmoid, twice its value."""
    weights, offsets = host(block.rows), block.last
    if block.kind == "polynomial":
        offsets = 1.0 + offsets
    elif block.kind == "sigmoid":
        weights, offsets = weights / 2.0, offsets / 2.0
    x, weights = _used(graph, x, weights)
    product = graph.add("MatMul", x, graph.constant(weights.T))
    z = graph.add("Add", product, graph.constant(offsets[None, :]))
    if block.kind == "step":
        return graph.cast(graph.add("Greater", z, 0.0), "DOUBLE")
    if block.kind == "relu":
        return graph.add("Max", z, 0.0)
    if block.kind == "sigmoid":
        return graph.add("Add", graph.add("Tanh", z), 1.0)
    if block.kind == "polynomial":
        most = REACH ** (1.0 / block.degree)
        z = graph.add("Clip", z, -most, most)
    power = z
    for _ in range(block.degree - 1):
        power = graph.add("Mul", power, z)
    return power


def _trees(graph: Graph, formula: Formula, block: Block, x: str) -> str:
    """Return the values of leaves: all trees are walked at once, level by level.

    Common operators do: the trees of ai.onnx.ml 3 give single precision only.
    """
    forest = block.forest
    walk = _Walk(graph, forest, formula.takes_missing)
    n_rows = graph.add("Shape", x, start=0, end=1)
    shape = graph.add("Concat", n_rows, graph.constant([len(forest.roots)], np.int64), axis=0)
    nodes = graph.add("Expand", graph.constant([forest.roots], np.int64), shape)
    for _ in range(forest.depth):
        nodes = walk.step(x, nodes)
    return graph.add("Gather", walk.values, nodes)


class _Walk:
    """The tables of a forest in a graph, and the way down its trees."""

    def __init__(self, graph: Graph, forest: Forest, takes_missing: bool) -> None:
        self._graph, self._forest = graph, forest
        self.values = graph.constant(forest.value)
        self._features, self._left = graph.integers(forest.feature), graph.integers(forest.left)
        # Codes that are none go where missing values go.
        is_asked = takes_missing or bool(forest.sets)
        self._missing = graph.constant(forest.is_missing_left, np.bool_) if is_asked else None
        if forest.sets:
            codes = np.arange(forest.n_codes)
            # Words of codes stand behind each other, each with a number for every node.
            sets = np.zeros((codes[-1] // WORD + 1, len(forest.value)))
            for k, words in enumerate(sets):
                words[forest.is_category] = [own >> WORD * k & 2**WORD - 1 for own in forest.sets]
            self._sets = graph.constant(sets.ravel())
            if len(sets) > 1:
                self._starts = graph.constant(codes // WORD * len(forest.value), np.int64)
            self._is_category = graph.constant(forest.is_category, np.bool_)
            self._powers = graph.constant(2.0 ** (codes % WORD))

    def step(self, x: str, nodes: str) -> str:
        """Go down one level; a leaf stays where it is."""
        graph = self._graph
        value = graph.add("GatherElements", x, graph.add("Gather", self._features, nodes), axis=1)
        is_left = graph.add("LessOrEqual", value, graph.add("Gather", self.values, nodes))
        if self._missing is not None:
            missing = graph.add("Gather", self._missing, nodes)
            is_gap = graph.add("And", graph.add("IsNaN", value), missing)
            is_left = graph.add("Or", is_left, is_gap)
            if self._forest.sets:
                is_category = graph.add("Gather", self._is_category, nodes)
                is_member = self._is_member(value, nodes, missing)
                is_left = self._choose(is_category, is_member, is_left)
        left = graph.add("Gather", self._left, nodes)
        is_right = graph.add("And", graph.cast(left, "BOOL"), graph.add("Not", is_left))
        return graph.add("Add", graph.add("Add", nodes, left), graph.cast(is_right, "INT64"))

    def _is_member(self, value: str, nodes: str, missing: str) -> str:
        """Say whether a code's bit is set; powers of two divide without rounding."""
        graph = self._graph
        is_whole = graph.add("Equal", value, graph.add("Floor", value))
        is_high = graph.add("Less", value, float(self._forest.n_codes))
        is_low = graph.add("GreaterOrEqual", value, 0.0)
        is_code = graph.add("And", graph.add("And", is_low, is_high), is_whole)
        codes = graph.cast(graph.add("Where", is_code, value, 0.0), "INT64")
        if self._forest.n_codes > WORD:
            nodes = graph.add("Add", nodes, graph.add("Gather", self._starts, codes))
        sets = graph.add("Gather", self._sets, nodes)
        shifted = graph.add("Div", sets, graph.add("Gather", self._powers, codes))
        half = graph.add("Div", graph.add("Floor", shifted), 2.0)
        is_set = graph.add("Less", graph.add("Floor", half), half)
        return self._choose(is_code, is_set, missing)

    def _choose(self, condition: str, first: str, second: str) -> str:
        """Return one of two truth values: onnxruntime's Where takes numbers only."""
        graph = self._graph
        otherwise = graph.add("And", graph.add("Not", condition), second)
        return graph.add("Or", graph.add("And", condition, first), otherwise)
