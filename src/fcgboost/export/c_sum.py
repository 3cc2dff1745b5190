"""The sum of atoms in C: its tables, and the loop over them."""

from __future__ import annotations

from dataclasses import replace
from textwrap import indent
from typing import Any

import numpy as np

from fcgboost.arrays import host
from fcgboost.clipping import within_reach
from fcgboost.export.c_origin import origin_of, shift_block, usual_of
from fcgboost.export.c_text import (
    Code,
    Precision,
    Program,
    Table,
    fields_of,
    index_table,
    matrix_tables,
    numbers,
    real_table,
    set_table,
)
from fcgboost.export.formula import Block, merge_linear


def sum_code(program: Program, function: str) -> Code:
    """Write the function of decision values."""
    formula, name, precision = program.formula, program.name, program.precision
    real, blocks = precision.real, formula.blocks
    is_made = not (formula.sources.is_table or formula.sources.is_raw)
    is_changed = bool(blocks) and (is_made or formula.bounds is not None)
    n = formula.n_features if formula.sources.is_table else len(formula.sources.all)
    row, out = f"{'raw' if is_changed else 'x'}[{n}]", f"{real} out[{formula.n_outputs}]"
    parts = [] if blocks else [Code("(void)x;\n")]
    if is_changed:
        parts.append(_preparation(program))
    parts.append(_start(program))
    origin = origin_of(formula, precision)
    if origin is not None:
        parts.append(Code("", [real_table(f"{name}_origin", origin, precision)]))
    names = fields_of(block.name for block in blocks)
    for block, own_name in zip(blocks, names, strict=True):
        j = f"j + {block.inputs.start}" if block.inputs.start else "j"
        point = f"x[{j}]" if origin is None else f"(x[{j}] - {name}_origin[{j}])"
        # Several planes told where the data lie: their sum is one plane, which does not.
        own = merge_linear(shift_block(block, origin))
        if len(blocks) == 1:
            parts.append(_block_code(program, own, point))
        else:
            code = _block_code(replace(program, name=f"{name}_{own_name}"), own, point)
            parts.append(Code(f"{{\n{indent(code.text, '    ')}}}\n", code.tables))
    body = indent("".join(part.text for part in parts), "    ")
    text = f"static inline void {function}(const {real} {row}, {out}) {{\n{body}}}\n"
    return Code(text, [table for part in parts for table in part.tables])


def _preparation(program: Program) -> Code:
    """Write what makes x of the raw inputs: values for missing ones, marks, and limits."""
    name, precision, n = program.name, program.precision, program.formula.n_features
    given, bounds, clipped = _filling(program), program.formula.bounds, "v"
    tables = list(given.tables)
    if bounds is not None:
        bounds = within_reach(bounds, program.formula.scale, precision.reach)
        low = numbers(f"{name}_low", precision.bounded(bounds.low), precision)
        high = numbers(f"{name}_high", precision.bounded(bounds.high), precision)
        tables += [*low.tables, *high.tables]
        # NaN is neither below nor above anything.
        clipped = f"v < {low.text} ? {low.text} : v > {high.text} ? {high.text} : v"
    text = (
        f"{precision.real} x[{n}];\n"
        f"for (int j = 0; j < {n}; j++) {{\n"
        f"    const {precision.real} v = {given.text};\n"
        f"    x[j] = {clipped};\n"
        "}\n"
    )
    return Code(text, tables)


def _filling(program: Program) -> Code:
    """Write the expression for input j of a row of numbers."""
    name, sources = program.name, program.formula.sources
    if sources.is_table or sources.is_raw:
        return Code("raw[j]")
    columns, outputs = zip(*sources.in_order, strict=True)
    raw, tables = "raw[j]", []
    if columns != tuple(range(len(sources.all))):
        raw = f"raw[{name}_sources[j]]"
        tables.append(index_table(f"{name}_sources", list(columns)))
    # Missing values stay, or have a number that stands for them; marks are 1 there, else 0.
    kinds = [2 if one.part == "missing" else int(one.fill is not None) for one in outputs]
    fills = [1.0 if one.part == "missing" else one.fill or 0.0 for one in outputs]
    tables.append(real_table(f"{name}_fills", fills, program.precision))
    if set(kinds) == {1}:
        return Code(f"isnan({raw}) ? {name}_fills[j] : {raw}", tables)
    tables.append(index_table(f"{name}_gaps", kinds))
    gap, present = f"{name}_gaps[j] ? {name}_fills[j] : {raw}", f"{name}_gaps[j] < 2 ? {raw} : 0"
    return Code(f"isnan({raw}) ? ({gap}) : ({present})", tables)


def _start(program: Program) -> Code:
    intercept, precision = program.formula.intercept, program.precision
    if len(intercept) == 1:
        return Code(f"out[0] = {precision.number(intercept[0])};\n")
    table = f"{program.name}_intercept"
    loop = f"for (int k = 0; k < {len(intercept)}; k++) out[k] = {table}[k];\n"
    return Code(loop, [real_table(table, intercept, precision)])


def _block_code(program: Program, block: Block, point: str) -> Code:
    """Write the loop over the atoms of one kind; `point` is the expression for input j."""
    write: Any = {"gauss": _gauss, "tree": _trees}.get(block.kind, _plane)
    value, addition = write(program, block, point), _addition(program, block)
    text = (
        f"{value.before}{addition.before}"
        f"for (int i = 0; i < {block.n_atoms}; i++) {{\n"
        f"{indent(value.text + addition.text, '    ')}}}\n"
    )
    return Code(text, [*value.tables, *addition.tables])


def _addition(program: Program, block: Block) -> Code:
    coef, n_outputs = f"{program.name}_coef", len(block.coef)
    if np.array_equal(block.coef, np.eye(n_outputs)):
        return Code("out[i] += value;\n")
    if n_outputs == 1:
        table = real_table(coef, block.coef[0], program.precision)
        return Code(f"out[0] += {coef}[i] * value;\n", [table])
    is_sparse, tables = matrix_tables(coef, np.ascontiguousarray(block.coef.T), program.precision)
    if is_sparse:
        loop = f"for (; g < {coef}_ends[i]; g++) out[{coef}_places[g]] += {coef}[g] * value;\n"
        return Code(loop, tables, "int g = 0;\n")
    return Code(f"for (int k = 0; k < {n_outputs}; k++) out[k] += {coef}[i][k] * value;\n", tables)


def _gauss(program: Program, block: Block, point: str) -> Code:
    """Write exp(-z), z the squared distance in units of sqrt(2) sigma."""
    name, precision = program.name, program.precision
    is_sparse, tables = matrix_tables(f"{name}_centers", block.rows, precision)
    if is_sparse:
        block = replace(block, rows=host(block.rows))
        usual = precision.round(usual_of(program.formula, block))
        if usual.any():
            rows = block.rows - usual
            is_sparse, tables = matrix_tables(f"{name}_centers", rows, precision)
            tables.append(real_table(f"{name}_usual", usual, precision))
            point = f"({point} - {name}_usual[j])"
    widths, units = np.sqrt(2.0) * block.last, 1.0 / program.formula.scale[block.inputs]
    exponent = "-z"
    if (widths == widths[0]).all():
        units = units / widths[0]
    else:
        exponent = f"-z * {name}_steepness[i]"
        tables.append(real_table(f"{name}_steepness", widths**-2.0, precision))
    own = numbers(f"{name}_units", units, precision)
    unit, tables = own.text, [*tables, *own.tables]
    real, each = precision.real, f"for (int j = 0; j < {len(units)}; j++)"
    value = f"const {real} value = exp{precision.suffix}({exponent});\n"
    if not is_sparse:
        distance = (
            f"{real} z = 0;\n"
            f"{each} {{\n"
            f"    const {real} gap = ({point} - {name}_centers[i][j]) * {unit};\n"
            "    z += gap * gap;\n"
            "}\n"
        )
        return Code(distance + value, tables)
    # |x|^2, and what the few coordinates of a centre change: c (c - 2 x); far from 0 they cancel.
    before = (
        f"{real} length = 0;\n"
        "int e = 0;\n"
        f"{each} {{\n"
        f"    const {real} gap = {point} * {unit};\n"
        "    length += gap * gap;\n"
        "}\n"
    )
    distance = (
        f"{real} z = length;\n"
        f"for (; e < {name}_centers_ends[i]; e++) {{\n"
        f"    const int j = {name}_centers_places[e];\n"
        f"    const {real} center = {name}_centers[e] * {unit};\n"
        f"    z += center * (center - 2 * {point} * {unit});\n"
        "}\n"
        "if (z < 0) z = 0;\n"
    )
    return Code(distance + value, tables, before)


def _trees(program: Program, block: Block, point: str) -> Code:
    """Write the value of the leaf that the inputs arrive at."""
    name, precision, forest = program.name, program.precision, block.forest
    is_leaf = forest.left == 0
    # Below a threshold is at most the largest number of this type that is not above it.
    values = precision.round_down(forest.value)
    values[is_leaf] = precision.round(forest.value[is_leaf])
    tables = [
        real_table(f"{name}_values", values, precision),
        index_table(f"{name}_features", forest.feature.tolist()),
        index_table(f"{name}_left", forest.left.tolist()),
        index_table(f"{name}_roots", forest.roots),
    ]
    turn = _turn(program, block, tables)
    text = (
        f"int n = {name}_roots[i];\n"
        f"while ({name}_left[n]) {{\n"
        f"    const {precision.real} v = x[{name}_features[n]];\n"
        f"{indent(turn, '    ')}"
        f"    n += {name}_left[n] + right;\n"
        "}\n"
        f"const {precision.real} value = {name}_values[n];\n"
    )
    return Code(text, tables)


def _turn(program: Program, block: Block, tables: list[Table]) -> str:
    """Write whether inputs go right, and add the tables that this needs."""
    name, forest = program.name, block.forest
    takes_missing = program.formula.takes_missing | forest.is_category
    is_missing_left = forest.is_missing_left & takes_missing
    if not is_missing_left.any() and not forest.sets:
        return f"const int right = !(v <= {name}_values[n]);\n"
    kinds = np.where(is_missing_left, 0, 1) + 2 * forest.is_category
    tables.append(index_table(f"{name}_kinds", kinds.tolist()))
    if not forest.sets:
        return f"const int right = isnan(v) ? {name}_kinds[n] : v > {name}_values[n];\n"
    tables.append(set_table(f"{name}_sets", forest.sets, forest.n_codes))
    floor, place, bit = f"floor{program.precision.suffix}", f"(int){name}_values[n]", "(int)v"
    if forest.n_codes > 64:
        place, bit = f"4 * {place} + (int)v / 64", "(int)v % 64"
    return (
        f"int right = {name}_kinds[n] & 1;\n"
        f"if ({name}_kinds[n] < 2) {{\n"
        f"    if (!isnan(v)) right = v > {name}_values[n];\n"
        f"}} else if (v >= 0 && v < {forest.n_codes} && v == {floor}(v)) {{\n"
        f"    right = !({name}_sets[{place}] >> {bit} & 1);\n"
        "}\n"
    )


def _plane(program: Program, block: Block, point: str) -> Code:
    """Write the profile of z = <w, x> + b."""
    name, precision = program.name, program.precision
    is_sparse, tables = matrix_tables(f"{name}_weights", block.rows, precision)
    offsets = block.last + (1.0 if block.kind == "polynomial" else 0.0)
    tables.append(real_table(f"{name}_offsets", offsets, precision))
    if is_sparse:
        loop = (
            f"for (; e < {name}_weights_ends[i]; e++) {{\n"
            f"    const int j = {name}_weights_places[e];\n"
            f"    z += {name}_weights[e] * {point};\n"
            "}\n"
        )
    else:
        each = f"for (int j = 0; j < {block.rows.shape[1]}; j++)"
        loop = f"{each} z += {name}_weights[i][j] * {point};\n"
    text = f"{precision.real} z = {name}_offsets[i];\n{loop}{_profile(block, precision)}"
    return Code(text, tables, "int e = 0;\n" if is_sparse else "")


def _profile(block: Block, precision: Precision) -> str:
    real, half = precision.real, precision.number(0.5)
    if block.kind == "polynomial":
        most = precision.number(precision.most ** (1.0 / block.degree))
        ends = f"if (z > {most}) z = {most};\nif (z < -{most}) z = -{most};\n"
        power = f"{real} value = z;\nfor (int p = 1; p < {block.degree}; p++) value *= z;\n"
        return ends + power
    profiles = {
        "linear": "z",
        "step": "z > 0 ? 1 : 0",
        "relu": "z > 0 ? z : 0",
        "sigmoid": f"{half} * (1 + tanh{precision.suffix}({half} * z))",
    }
    return f"const {real} value = {profiles[block.kind]};\n"
