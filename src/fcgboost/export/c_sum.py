"""The sum of atoms in C: its tables, and the loop over them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from textwrap import indent
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost.dictionaries import Array
from fcgboost.export.c_text import PRECISIONS, Precision, Table, matrix_tables, real_table
from fcgboost.export.formula import Formula

# Inputs this many units from zero lose a digit of single precision; an origin has to gain more.
_FAR = 8.0
_GAIN = 4.0
# Directions that the planes of the atoms hardly see say nothing about where the data lie.
_SEEN = 0.01


@dataclass(frozen=True)
class Code:
    """Some text in C and the tables it reads."""

    tables: list[Table]
    text: str


@dataclass(frozen=True)
class _Step:
    """A step of the loop over the atoms.

    Attributes
    ----------
    tables : list of Table
    before : str
        What stands before the loop.
    inside : str
        What stands in it, where i is the number of the atom.
    """

    tables: list[Table]
    before: str
    inside: str


def sum_code(formula: Formula, name: str, precision: Precision, function: str) -> Code:
    """Write the function that gives decision values.

    Parameters
    ----------
    formula : Formula
    name : str
        What the names of all tables begin with.
    precision : Precision
    function : str
        The name of the function.
    """
    real = precision.real
    head = (
        f"static inline void {function}(const {real} x[{formula.n_features}], "
        f"{real} out[{formula.n_outputs}]) {{\n"
    )
    start = _start(formula, name, precision)
    if formula.n_atoms == 0:
        return Code(start.tables, head + indent(f"(void)x;\n{start.text}", "    ") + "}\n")
    value = (_gauss if formula.kind == "gauss" else _plane)(formula, name, precision)
    addition = _addition(formula, name, precision)
    body = (
        f"{start.text}{value.before}{addition.before}"
        f"for (int i = 0; i < {formula.n_atoms}; i++) {{\n"
        f"{indent(value.inside + addition.inside, '    ')}}}\n"
    )
    tables = [*start.tables, *value.tables, *addition.tables]
    return Code(tables, f"{head}{indent(body, '    ')}}}\n")


def _start(formula: Formula, name: str, precision: Precision) -> Code:
    if formula.n_outputs == 1:
        return Code([], f"out[0] = {precision.number(formula.intercept[0])};\n")
    table = real_table(f"{name}_intercept", formula.intercept, precision)
    loop = f"for (int k = 0; k < {formula.n_outputs}; k++) out[k] = {name}_intercept[k];\n"
    return Code([table], loop)


def _addition(formula: Formula, name: str, precision: Precision) -> _Step:
    coef = f"{name}_coef"
    if formula.n_outputs == 1:
        table = real_table(coef, formula.coef[0], precision)
        return _Step([table], "", f"out[0] += {coef}[i] * value;\n")
    is_listed, tables = matrix_tables(coef, np.ascontiguousarray(formula.coef.T), precision)
    if is_listed:
        loop = f"for (; g < {coef}_ends[i]; g++) out[{coef}_places[g]] += {coef}[g] * value;\n"
        return _Step(tables, "int g = 0;\n", loop)
    loop = f"for (int k = 0; k < {formula.n_outputs}; k++) out[k] += {coef}[i][k] * value;\n"
    return _Step(tables, "", loop)


def _gauss(formula: Formula, name: str, precision: Precision) -> _Step:
    """Give exp(-z), z the squared distance in units of sqrt(2) sigma."""
    formula, origin = _moved(formula, precision)
    is_listed, tables = matrix_tables(f"{name}_centers", formula.rows, precision)
    widths, units = np.sqrt(2.0) * formula.last, 1.0 / formula.scale
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
    point = _point(origin, name, precision, tables)
    distance = _listed_distance if is_listed else _distance
    before, inside = distance(formula.n_features, name, precision.real, point, unit)
    value = f"const {precision.real} value = exp{precision.suffix}({exponent});\n"
    return _Step(tables, before, inside + value)


def _distance(n_features: int, name: str, real: str, point: str, unit: str) -> tuple[str, str]:
    inside = (
        f"{real} z = 0;\n"
        f"for (int j = 0; j < {n_features}; j++) {{\n"
        f"    const {real} gap = ({point} - {name}_centers[i][j]) * {unit};\n"
        "    z += gap * gap;\n"
        "}\n"
    )
    return "", inside


def _listed_distance(
    n_features: int, name: str, real: str, point: str, unit: str
) -> tuple[str, str]:
    """Give |x|^2, and what the few coordinates of a centre change: c (c - 2 x) each."""
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


def _plane(formula: Formula, name: str, precision: Precision) -> _Step:
    """Give the profile of z = <w, x> + b."""
    real = precision.real
    formula, origin = _moved(formula, precision)
    is_listed, tables = matrix_tables(f"{name}_weights", formula.rows, precision)
    offsets = formula.last + (1.0 if formula.kind == "polynomial" else 0.0)
    tables.append(real_table(f"{name}_offsets", offsets, precision))
    point = _point(origin, name, precision, tables)
    before, inside = "", f"{real} z = {name}_offsets[i];\n"
    if is_listed:
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
    return _Step(tables, before, inside + _profile(formula, precision))


def _profile(formula: Formula, precision: Precision) -> str:
    real, half = precision.real, precision.number(0.5)
    if formula.kind == "relu":
        return f"const {real} value = z > 0 ? z : 0;\n"
    if formula.kind == "sigmoid":
        curve = f"tanh{precision.suffix}({half} * z)"
        return f"const {real} value = {half} * (1 + {curve});\n"
    return f"{real} value = z;\nfor (int p = 1; p < {formula.degree}; p++) value *= z;\n"


def _point(origin: Array | None, name: str, precision: Precision, tables: list[Table]) -> str:
    """Give the expression for input j, and add the table of the origin if there is one."""
    if origin is None:
        return "x[j]"
    tables.append(real_table(f"{name}_origin", origin, precision))
    return f"(x[j] - {name}_origin[j])"


def _moved(formula: Formula, precision: Precision) -> tuple[Formula, Array | None]:
    """Give the sum as a function of x - origin, where that keeps digits of single precision.

    The origin is a point that single precision holds, amid the data: differences of inputs from
    it are exact, and what remains of centres and offsets is small. In double precision all is as
    in Python, where inputs are not moved either.
    """
    if precision is PRECISIONS["double"] or sparse.issparse(formula.rows):
        return formula, None
    find = _origin_of_centers if formula.kind == "gauss" else _origin_of_planes
    origin = find(formula).astype(np.float32).astype(np.float64)
    if not np.isfinite(origin).all() or not origin.any():
        return formula, None
    if formula.kind == "gauss":
        return replace(formula, rows=formula.rows - origin), origin
    return replace(formula, last=formula.last + formula.rows @ origin), origin


def _origin_of_centers(formula: Formula) -> Array:
    """Give the mean of the centres in columns that lie far from zero, zero in the others."""
    centers = formula.rows
    mean = centers.mean(axis=0)
    spread = np.abs(centers - mean).max(axis=0)
    reach = np.maximum(spread, formula.scale * formula.last.min())
    return np.where(np.abs(mean) > _GAIN * reach, mean, 0.0)


def _origin_of_planes(formula: Formula) -> Array:
    """Give the point nearest to all planes <w, x> + b = 0, or zero if they are near that.

    The planes of sigmoid and rectified linear atoms go through training inputs, those of a
    polynomial through their mean.
    """
    weights = formula.rows * formula.scale
    lengths: Any = np.linalg.norm(weights, axis=1)
    is_plane = lengths > 0.0
    normals, lengths = weights[is_plane] / lengths[is_plane, None], lengths[is_plane]
    distances = formula.last[is_plane] / lengths
    if np.abs(distances).max(initial=0.0) < _FAR:
        return np.zeros(formula.n_features)
    point, *_ = np.linalg.lstsq(normals, -distances, rcond=_SEEN)
    left = np.abs(distances + normals @ point).max()
    is_better = _GAIN * left < np.abs(distances).max()
    return np.asarray(point * formula.scale if is_better else 0.0 * formula.scale)
