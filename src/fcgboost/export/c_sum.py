"""The sum of atoms in C: its tables, and the loop over them."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import indent

import numpy as np

from fcgboost.arrays import to_numpy
from fcgboost.clipping import within_reach
from fcgboost.export.c_text import (
    Code,
    Precision,
    Program,
    index_table,
    matrix_tables,
    numbers,
    real_table,
    set_table,
)
from fcgboost.export.formula import Block, ForestNodes, Summand, forest_of, merge_linear
from fcgboost.export.sources import Input, Way, numbers_of_levels

# Centres as lists of entries need |x|^2, which cancels where columns are many units from zero.
_NEAR = 4.0


def sum_code(program: Program, function: str) -> str:
    """Write the function of decision values: summand by summand, with one array of inputs."""
    formula = program.formula
    sizes = [summand.n_inputs for summand in formula.summands if not summand.is_raw]
    parts = [] if formula.summands else ["(void)x;\n"]
    if sizes:
        parts.append(f"{program.precision.real} inputs[{max(sizes)}];\n")
    parts.append(_start(program))
    for summand in formula.summands:
        scopes = [] if summand.is_raw else [_preparation(program, summand)]
        scopes += [_block_code(program, summand, block) for block in summand.blocks]
        parts += [f"{{\n{indent(scope, '    ')}}}\n" for scope in scopes]
    body = indent("".join(parts), "    ")
    return f"static inline void {function}({program.cells}, {program.decision}) {{\n{body}}}\n"


def _preparation(program: Program, summand: Summand) -> str:
    """Write what makes inputs of the numbers of a row, within their limits."""
    precision = program.precision
    cells = [entry.cell for entry in summand.inputs]
    ways = _ways(summand.inputs, precision)
    tables = ways.declarations
    number = "x[j]"
    if cells != list(range(len(cells))):
        number = "x[cells[j]]"
        tables += index_table("cells", cells)
    clipped = "v"
    if summand.bounds is not None:
        bounds = within_reach(summand.bounds, summand.scale, precision.reach)
        low = numbers("low", precision.bounded(bounds.low), precision)
        high = numbers("high", precision.bounded(bounds.high), precision)
        tables += low.declarations + high.declarations
        # NaN is neither below nor above anything.
        clipped = f"v < {low.text} ? {low.text} : v > {high.text} ? {high.text} : v"
    return (
        f"{tables}"
        f"for (int j = 0; j < {len(cells)}; j++) {{\n"
        f"    {precision.real} v = {number};\n"
        f"{indent(ways.text, '    ')}"
        f"    inputs[j] = {clipped};\n"
        "}\n"
    )


def _ways(inputs: Sequence[Input], precision: Precision) -> Code:
    """Write what makes input j of its cell v."""
    ways = [entry.way for entry in inputs]
    constants, table = numbers_of_levels(inputs)
    number = numbers("given", constants, precision)
    bits = f"{precision.number(1.0)} : {precision.number(0.0)}"
    values = {
        Way.KEEP: "v",
        Way.FILL: f"isnan(v) ? {number.text} : v",
        Way.IS_GAP: f"isnan(v) ? {bits}",
        Way.IS_LEVEL: f"v == {number.text} ? {bits}",
        Way.LOOK_UP: f"numbers[(int)(v + {number.text})]",
    }
    present = [way for way in values if way in ways and way != Way.KEEP]
    tables = number.declarations if {*present} - {Way.IS_GAP} else ""
    if table:
        tables += real_table("numbers", table, precision)
    if len(set(ways)) == 1:
        return Code(tables, "".join(f"v = {values[way]};\n" for way in present))
    tables += index_table("ways", list(map(int, ways)))
    branches = [f"if (ways[j] == {way:d}) v = {values[way]};\n" for way in present]
    return Code(tables, "else ".join(branches))


def _start(program: Program) -> str:
    intercept = program.formula.intercept
    precision = program.precision
    if len(intercept) == 1:
        return f"out[0] = {precision.number(intercept[0])};\n"
    loop = f"for (int k = 0; k < {len(intercept)}; k++) out[k] = intercept[k];\n"
    return real_table("intercept", intercept, precision) + loop


def _block_code(program: Program, summand: Summand, block: Block) -> str:
    """Write the loop over the atoms of one kind."""
    block = merge_linear(block)
    write = {"gauss": _gauss, "tree": _trees}.get(block.kind, _plane)
    value = write(program, summand, block)
    addition = _addition(block, program.precision)
    return (
        f"{value.declarations}{addition.declarations}"
        f"for (int i = 0; i < {block.n_atoms}; i++) {{\n"
        f"{indent(value.text + addition.text, '    ')}}}\n"
    )


def _addition(block: Block, precision: Precision) -> Code:
    n_outputs = len(block.coef)
    if np.array_equal(block.coef, np.eye(n_outputs)):
        return Code("", "out[i] += value;\n")
    if n_outputs == 1:
        coef = numbers(
            "coef",
            block.coef[0],
            precision,
            index="i",
        )
        return Code(coef.declarations, f"out[0] += {coef.text} * value;\n")
    is_sparse, tables = matrix_tables("coef", np.ascontiguousarray(block.coef.T), precision)
    if is_sparse:
        entry = "out[coef_columns[coef_at]] += coef[coef_at] * value;"
        return Code(tables, f"for (; coef_at < coef_ends[i]; coef_at++) {entry}\n")
    return Code(tables, f"for (int k = 0; k < {n_outputs}; k++) out[k] += coef[i][k] * value;\n")


def _input(summand: Summand, block: Block, number: str = "j") -> str:
    """Return the expression for an input of the block."""
    row = "x" if summand.is_raw else "inputs"
    return f"{row}[{number} + {block.inputs.start}]" if block.inputs.start else f"{row}[{number}]"


def _gauss(program: Program, summand: Summand, block: Block) -> Code:
    """Write exp(-z), z the squared distance in units of sqrt(2) sigma."""
    precision = program.precision
    point = _input(summand, block)
    centers = to_numpy(block.vectors)
    scale = summand.scale[block.inputs]
    if (np.abs(np.median(centers, axis=0)) <= _NEAR * scale).all():
        is_sparse, tables = matrix_tables("centers", block.vectors, precision)
    else:
        is_sparse = False
        tables = real_table("centers", centers, precision)
    widths = np.sqrt(2.0) * block.last
    units = 1.0 / scale
    exponent = "-z"
    if (widths == widths[0]).all():
        units = units / widths[0]
    else:
        exponent = "-z * steepness[i]"
        tables += real_table("steepness", widths**-2.0, precision)
    unit_code = numbers("units", units, precision)
    unit = unit_code.text
    tables += unit_code.declarations
    real = precision.real
    each = f"for (int j = 0; j < {len(units)}; j++)"
    value = f"const {real} value = exp{precision.suffix}({exponent});\n"
    if not is_sparse:
        distance = (
            f"{real} z = 0;\n"
            f"{each} {{\n"
            f"    const {real} gap = ({point} - centers[i][j]) * {unit};\n"
            "    z += gap * gap;\n"
            "}\n"
        )
        return Code(tables, distance + value)
    # |x|^2, and what the few coordinates of a centre change: c (c - 2 x); far from 0 they cancel.
    tables += (
        f"{real} length = 0;\n"
        f"{each} {{\n"
        f"    const {real} gap = {point} * {unit};\n"
        "    length += gap * gap;\n"
        "}\n"
    )
    distance = (
        f"{real} z = length;\n"
        "for (; centers_at < centers_ends[i]; centers_at++) {\n"
        "    const int j = centers_columns[centers_at];\n"
        f"    const {real} center = centers[centers_at] * {unit};\n"
        f"    z += center * (center - 2 * {point} * {unit});\n"
        "}\n"
        "if (z < 0) z = 0;\n"
    )
    return Code(tables, distance + value)


def _trees(program: Program, summand: Summand, block: Block) -> Code:
    """Write the value of the leaf that the inputs arrive at."""
    precision = program.precision
    forest = forest_of(block.atoms)
    is_leaf = forest.left == 0
    # Below a threshold is at most the largest number of this type that is not above it.
    values = precision.round_down(forest.value)
    values[is_leaf] = precision.round(forest.value[is_leaf])
    turn = _turn(precision, summand, forest)
    tables = (
        real_table("values", values, precision)
        + index_table("features", forest.feature.tolist())
        + index_table("left", forest.left.tolist())
        + index_table("roots", forest.roots)
        + turn.declarations
    )
    text = (
        "int n = roots[i];\n"
        "while (left[n]) {\n"
        f"    const {precision.real} v = {_input(summand, block, 'features[n]')};\n"
        f"{indent(turn.text, '    ')}"
        "    n += left[n] + right;\n"
        "}\n"
        f"const {precision.real} value = values[n];\n"
    )
    return Code(tables, text)


def _turn(precision: Precision, summand: Summand, forest: ForestNodes) -> Code:
    """Write whether inputs go right at node n."""
    takes_missing = summand.takes_missing | forest.is_category
    is_missing_left = forest.is_missing_left & takes_missing
    if not is_missing_left.any() and not forest.sets:
        return Code("", "const int right = !(v <= values[n]);\n")
    kinds = np.where(is_missing_left, 0, 1) + 2 * forest.is_category
    tables = index_table("kinds", kinds.tolist())
    if not forest.sets:
        return Code(tables, "const int right = isnan(v) ? kinds[n] : v > values[n];\n")
    tables += set_table("sets", forest.sets, forest.n_codes)
    floor = f"floor{precision.suffix}"
    word = "(int)values[n]"
    bit = "(int)v"
    if forest.n_codes > 64:
        word = f"4 * {word} + (int)v / 64"
        bit = "(int)v % 64"
    text = (
        "int right = kinds[n] & 1;\n"
        "if (kinds[n] < 2) {\n"
        "    if (!isnan(v)) right = v > values[n];\n"
        f"}} else if (v >= 0 && v < {forest.n_codes} && v == {floor}(v)) {{\n"
        f"    right = !(sets[{word}] >> {bit} & 1);\n"
        "}\n"
    )
    return Code(tables, text)


def _plane(program: Program, summand: Summand, block: Block) -> Code:
    """Write the profile of z = <w, x> + b."""
    precision = program.precision
    point = _input(summand, block)
    is_sparse, tables = matrix_tables("weights", block.vectors, precision)
    offsets = block.last + (1.0 if block.kind == "polynomial" else 0.0)
    tables += real_table("offsets", offsets, precision)
    if is_sparse:
        loop = (
            "for (; weights_at < weights_ends[i]; weights_at++) {\n"
            "    const int j = weights_columns[weights_at];\n"
            f"    z += weights[weights_at] * {point};\n"
            "}\n"
        )
    else:
        each = f"for (int j = 0; j < {block.vectors.shape[1]}; j++)"
        loop = f"{each} z += weights[i][j] * {point};\n"
    return Code(tables, f"{precision.real} z = offsets[i];\n{loop}{_profile(block, precision)}")


def _profile(block: Block, precision: Precision) -> str:
    real = precision.real
    half = precision.number(0.5)
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
