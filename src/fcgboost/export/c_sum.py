"""The sum of atoms in C: its tables, and the loop over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import indent

import numpy as np

from fcgboost.export.c_origin import origin_of, shift_block
from fcgboost.export.c_text import (
    Precision,
    Table,
    index_table,
    matrix_tables,
    real_table,
    set_table,
)
from fcgboost.export.forests import Forest
from fcgboost.export.formula import Block, Formula, merge_linear


@dataclass(frozen=True)
class Code:
    """Some text in C and the tables it reads."""

    text: str
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class _Loop:
    """Tables, and text before and inside the loop over the atoms, where i numbers the atom."""

    tables: list[Table]
    before: str
    inside: str


def sum_code(formula: Formula, name: str, precision: Precision, function: str) -> Code:
    """Write the function of decision values; `name` is the prefix of its tables."""
    real, blocks = precision.real, formula.blocks
    is_clipped = formula.limits is not None and bool(blocks)
    head = (
        f"static inline void {function}(const {real} {'raw' if is_clipped else 'x'}"
        f"[{formula.n_features}], {real} out[{formula.n_outputs}]) {{\n"
    )
    parts = [_start(formula, name, precision)]
    if is_clipped:
        parts.insert(0, _clipping(formula, name, precision))
    if not blocks:
        parts.insert(0, Code("(void)x;\n"))
    origin = origin_of(formula, precision)
    point = "x[j]" if origin is None else f"(x[j] - {name}_origin[j])"
    if origin is not None:
        parts.append(Code("", [real_table(f"{name}_origin", origin, precision)]))
    for block in blocks:
        is_alone, own = len(blocks) == 1, block if origin is None else shift_block(block, origin)
        # Several planes told where the data lie: their sum is one plane, which does not.
        own = merge_linear(own)
        inner = name if is_alone else f"{name}_{block.name}"
        code = _block_code(formula, own, point, inner, precision)
        text = code.text if is_alone else f"{{\n{indent(code.text, '    ')}}}\n"
        parts.append(Code(text, code.tables))
    body = indent("".join(part.text for part in parts), "    ")
    return Code(f"{head}{body}}}\n", [table for part in parts for table in part.tables])


def _clipping(formula: Formula, name: str, precision: Precision) -> Code:
    """Write what makes x of the raw inputs; NaN is neither below nor above anything."""
    assert formula.limits is not None
    tables = [
        real_table(f"{name}_{side}", precision.bounded(getattr(formula.limits, side)), precision)
        for side in ("low", "high")
    ]
    text = (
        f"{precision.real} x[{formula.n_features}];\n"
        f"for (int j = 0; j < {formula.n_features}; j++)\n"
        f"    x[j] = raw[j] < {name}_low[j] ? {name}_low[j] : "
        f"raw[j] > {name}_high[j] ? {name}_high[j] : raw[j];\n"
    )
    return Code(text, tables)


def _block_code(
    formula: Formula, block: Block, point: str, name: str, precision: Precision
) -> Code:
    """Write the loop over the atoms of one kind; `point` is the expression for input j."""
    write = {"gauss": _gauss, "tree": _trees}.get(block.kind, _plane)
    value = write(formula, block, point, name, precision)
    addition = _addition(block, name, precision)
    text = (
        f"{value.before}{addition.before}"
        f"for (int i = 0; i < {block.n_atoms}; i++) {{\n"
        f"{indent(value.inside + addition.inside, '    ')}}}\n"
    )
    return Code(text, [*value.tables, *addition.tables])


def _start(formula: Formula, name: str, precision: Precision) -> Code:
    if formula.n_outputs == 1:
        return Code(f"out[0] = {precision.number(formula.intercept[0])};\n")
    table = real_table(f"{name}_intercept", formula.intercept, precision)
    loop = f"for (int k = 0; k < {formula.n_outputs}; k++) out[k] = {name}_intercept[k];\n"
    return Code(loop, [table])


def _addition(block: Block, name: str, precision: Precision) -> _Loop:
    coef, n_outputs = f"{name}_coef", len(block.coef)
    if np.array_equal(block.coef, np.eye(n_outputs)):
        return _Loop([], "", "out[i] += value;\n")
    if n_outputs == 1:
        table = real_table(coef, block.coef[0], precision)
        return _Loop([table], "", f"out[0] += {coef}[i] * value;\n")
    is_sparse, tables = matrix_tables(coef, np.ascontiguousarray(block.coef.T), precision)
    if is_sparse:
        loop = f"for (; g < {coef}_ends[i]; g++) out[{coef}_places[g]] += {coef}[g] * value;\n"
        return _Loop(tables, "int g = 0;\n", loop)
    loop = f"for (int k = 0; k < {n_outputs}; k++) out[k] += {coef}[i][k] * value;\n"
    return _Loop(tables, "", loop)


def _gauss(formula: Formula, block: Block, point: str, name: str, precision: Precision) -> _Loop:
    """Return exp(-z), z the squared distance in units of sqrt(2) sigma."""
    is_sparse, tables = matrix_tables(f"{name}_centers", block.rows, precision)
    widths, units = np.sqrt(2.0) * block.last, 1.0 / formula.scale
    exponent = "-z"
    if (widths == widths[0]).all():
        units = units / widths[0]
    else:
        exponent = f"-z * {name}_steepness[i]"
        tables.append(real_table(f"{name}_steepness", widths**-2.0, precision))
    unit = precision.number(units[0])
    if (units != units[0]).any():
        unit = f"{name}_units[j]"
        tables.append(real_table(f"{name}_units", units, precision))
    distance = _sparse_distance if is_sparse else _distance
    before, inside = distance(formula.n_features, name, precision.real, point, unit)
    value = f"const {precision.real} value = exp{precision.suffix}({exponent});\n"
    return _Loop(tables, before, inside + value)


def _distance(n_features: int, name: str, real: str, point: str, unit: str) -> tuple[str, str]:
    inside = (
        f"{real} z = 0;\n"
        f"for (int j = 0; j < {n_features}; j++) {{\n"
        f"    const {real} gap = ({point} - {name}_centers[i][j]) * {unit};\n"
        "    z += gap * gap;\n"
        "}\n"
    )
    return "", inside


def _sparse_distance(
    n_features: int, name: str, real: str, point: str, unit: str
) -> tuple[str, str]:
    """Return |x|^2, and what the few coordinates of a centre change: c (c - 2 x) each."""
    before = (
        f"{real} length = 0;\n"
        "int e = 0;\n"
        f"for (int j = 0; j < {n_features}; j++) {{\n"
        f"    const {real} gap = {point} * {unit};\n"
        "    length += gap * gap;\n"
        "}\n"
    )
    inside = (
        f"{real} z = length;\n"
        f"for (; e < {name}_centers_ends[i]; e++) {{\n"
        f"    const int j = {name}_centers_places[e];\n"
        f"    const {real} center = {name}_centers[e] * {unit};\n"
        f"    z += center * (center - 2 * {point} * {unit});\n"
        "}\n"
        "if (z < 0) z = 0;\n"
    )
    return before, inside


def _trees(formula: Formula, block: Block, point: str, name: str, precision: Precision) -> _Loop:
    """Return the value of the leaf that the inputs arrive at."""
    forest = block.forest
    assert forest is not None
    # Below a threshold is at most the largest number of this type that is not above it.
    values = np.where(
        forest.is_leaf,
        precision.round(np.where(forest.is_leaf, forest.value, 0.0)),
        precision.round_down(forest.value),
    )
    tables = [
        real_table(f"{name}_values", values, precision),
        index_table(f"{name}_features", forest.feature.tolist()),
        index_table(f"{name}_left", forest.left.tolist()),
        index_table(f"{name}_roots", forest.roots.tolist()),
    ]
    inside = (
        f"int n = {name}_roots[i];\n"
        f"while ({name}_left[n]) {{\n"
        f"    const {precision.real} v = x[{name}_features[n]];\n"
        f"{indent(_turn(formula, forest, name, precision, tables), '    ')}"
        f"    n += {name}_left[n] + right;\n"
        "}\n"
        f"const {precision.real} value = {name}_values[n];\n"
    )
    return _Loop(tables, "", inside)


def _turn(
    formula: Formula, forest: Forest, name: str, precision: Precision, tables: list[Table]
) -> str:
    """Write whether inputs go right, and add the tables that this needs."""
    is_missing_left = forest.is_missing_left & (formula.takes_missing | forest.is_category)
    if not is_missing_left.any() and not forest.sets:
        return f"const int right = !(v <= {name}_values[n]);\n"
    kinds = np.where(is_missing_left, 0, 1) + 2 * forest.is_category
    tables.append(index_table(f"{name}_kinds", kinds.tolist()))
    if not forest.sets:
        return f"const int right = isnan(v) ? {name}_kinds[n] : v > {name}_values[n];\n"
    tables.append(set_table(f"{name}_sets", forest.sets))
    return (
        f"int right = {name}_kinds[n] & 1;\n"
        f"if ({name}_kinds[n] < 2) {{\n"
        f"    if (!isnan(v)) right = v > {name}_values[n];\n"
        f"}} else if (v >= 0 && v < 52 && v == floor{precision.suffix}(v)) {{\n"
        f"    right = !({name}_sets[(int){name}_values[n]] >> (int)v & 1);\n"
        "}\n"
    )


def _plane(formula: Formula, block: Block, point: str, name: str, precision: Precision) -> _Loop:
    """Return the profile of z = <w, x> + b."""
    real = precision.real
    is_sparse, tables = matrix_tables(f"{name}_weights", block.rows, precision)
    offsets = block.last + (1.0 if block.kind == "polynomial" else 0.0)
    tables.append(real_table(f"{name}_offsets", offsets, precision))
    before, inside = "", f"{real} z = {name}_offsets[i];\n"
    if is_sparse:
        before = "int e = 0;\n"
        inside += (
            f"for (; e < {name}_weights_ends[i]; e++) {{\n"
            f"    const int j = {name}_weights_places[e];\n"
            f"    z += {name}_weights[e] * {point};\n"
            "}\n"
        )
    else:
        loop = f"for (int j = 0; j < {formula.n_features}; j++)"
        inside += f"{loop} z += {name}_weights[i][j] * {point};\n"
    return _Loop(tables, before, inside + _profile(block, precision))


def _profile(block: Block, precision: Precision) -> str:
    real, half = precision.real, precision.number(0.5)
    if block.kind == "polynomial":
        return f"{real} value = z;\nfor (int p = 1; p < {block.degree}; p++) value *= z;\n"
    profiles = {
        "linear": "z",
        "step": "z > 0 ? 1 : 0",
        "relu": "z > 0 ? z : 0",
        "sigmoid": f"{half} * (1 + tanh{precision.suffix}({half} * z))",
    }
    return f"const {real} value = {profiles[block.kind]};\n"
