"""A model as one C99 text that needs <math.h> and nothing else."""

from __future__ import annotations

import os
import re
from textwrap import indent
from typing import Any

from fcgboost import __version__
from fcgboost.calibration import LARGEST, PowerLink
from fcgboost.export.c_input import input_code
from fcgboost.export.c_sum import Code, sum_code
from fcgboost.export.c_text import PRECISIONS, Precision, comment, text_table
from fcgboost.export.formula import Formula, formula_of
from fcgboost.files import write_whole

_SHAPES = {
    "gauss": "exp(-|(x - c) / s|^2 / (2 sigma^2))",
    "polynomial": "(1 + <w, x> + b)^{degree}",
    "sigmoid": "1 / (1 + exp(-(<w, x> + b)))",
    "relu": "max(0, <w, x> + b)",
    "linear": "<w, x> + b",
    "step": "1 where <w, x> + b > 0",
    "tree": "decision trees",
}


def to_c(model: Any, *, precision: str = "double", name: str = "fcgboost") -> str:
    """Write a model as one C99 text: a header file that is also C++, without allocation.

    Parameters
    ----------
    model : classifier of the package, or Pipeline of TableEncoder and such a classifier
    precision : {"double", "float"}, default="double"
        The type of all numbers, in tables and in arithmetic.
    name : str, default="fcgboost"
        What all names in the text begin with, so that several models fit in one program.

    Returns
    -------
    str
        Its opening comment says which functions there are, and how large tables and text are.

    Raises
    ------
    ValueError
        For a dictionary or loss of one's own, for text that C cannot hold, and for numbers
        that a float cannot.

    Examples
    --------
    >>> from fcgboost import FCGBoostClassifier
    >>> from fcgboost.export import to_c
    >>> clf = FCGBoostClassifier(max_iter=2).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> "int fcgboost_predict(const float x[1])" in to_c(clf, precision="float")
    True
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {list(PRECISIONS)}, got {precision!r}.")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(
            "name must be a name in C: letters, digits and underscores, a letter first; "
            f"got {name!r}."
        )
    return _text(formula_of(model), PRECISIONS[precision], name)


def save_c(
    model: Any, path: str | os.PathLike[str], *, precision: str = "double", name: str = "fcgboost"
) -> int:
    """Write `to_c` to a file, in full or not at all; return its size in bytes."""
    return write_whole(path, to_c(model, precision=precision, name=name))


def _text(formula: Formula, precision: Precision, name: str) -> str:
    if formula.encoder is None:
        parameter = f"const {precision.real} x[{formula.n_features}]"
        parts = [sum_code(formula, name, precision, f"{name}_decision")]
    else:
        parameter = f"const {name}_input *x"
        parts = [
            input_code(formula, name, precision),
            sum_code(formula, name, precision, f"{name}_sum"),
            _decision_of_input(formula, name, precision),
        ]
    parts.append(_prediction(formula, name, precision, parameter))
    if formula.probability is not None:
        parts.append(_probabilities(formula, name, precision, parameter))
    parts.append(_label(formula, name))
    needs = ["<math.h>"] + ["<string.h>"] * ("strcmp" in parts[0].text)
    body = (
        f"#ifndef {name}_H\n#define {name}_H\n\n"
        + "".join(f"#include {header}\n" for header in needs)
        + f"\nenum {{ {name}_n_inputs = {formula.n_features}, "
        + f"{name}_n_outputs = {formula.n_outputs}, "
        + f"{name}_n_classes = {len(formula.labels)} }};\n\n"
        + "\n".join("".join(table.text for table in part.tables) + part.text for part in parts)
        + "\n#endif\n"
    )
    tables = f"tables {sum(table.n_bytes for part in parts for table in part.tables)} bytes"
    fixed = len(_introduction(formula, name, precision, parameter, f"{tables}, text  bytes") + body)
    # The size of the text counts its own digits.
    size = next(n for n in range(fixed, fixed + 20) if n == fixed + len(str(n)))
    return _introduction(formula, name, precision, parameter, f"{tables}, text {size} bytes") + body


def _introduction(
    formula: Formula, name: str, precision: Precision, parameter: str, sizes: str
) -> str:
    real, n_classes = precision.real, len(formula.labels)
    meaning = "above 0 for class 1" if formula.n_outputs == 1 else "one per class, the largest wins"
    lines = [
        f"{formula.sizes}; written by fcgboost {__version__}.",
        *_shapes(formula),
        f"Size: {sizes}.",
        "",
        f"int {name}_predict({parameter}): the index of the class.",
        f"{_label_type(formula.labels)[0]}{name}_label(int index): the class of that index.",
        f"void {name}_decision({parameter}, {real} out[{formula.n_outputs}]): {meaning}.",
    ]
    if formula.probability is not None:
        lines.append(
            f"void {name}_proba({parameter}, {real} out[{n_classes}]): the classes' probabilities."
        )
    lines += _inputs(formula)
    if formula.names is not None:
        lines.append("")
        lines += [f"x[{j}] is {comment(column)}" for j, column in enumerate(formula.names)]
    return "/* " + "\n".join(f" * {line}".rstrip() for line in lines)[3:] + "\n */\n"


def _inputs(formula: Formula) -> list[str]:
    """Return lines that say what happens to inputs."""
    is_clipped = formula.limits is not None and bool(formula.blocks)
    takes_missing = formula.takes_missing and formula.encoder is None
    lines = ["Inputs may be NAN, which is a missing value."] * takes_missing
    lines += ["Inputs are clipped to limits that the training data gave."] * is_clipped
    return ["", *lines] if lines else []


def _shapes(formula: Formula) -> list[str]:
    """Return lines that say what atoms are."""
    shapes = [_SHAPES[block.kind].format(degree=block.degree) for block in formula.blocks]
    return ["Atoms are " + ",\n * ".join(shapes) + "."] if shapes else []


def _decision_of_input(formula: Formula, name: str, precision: Precision) -> Code:
    real = precision.real
    return Code(
        f"static inline void {name}_decision(const {name}_input *x, "
        f"{real} out[{formula.n_outputs}]) {{\n"
        f"    {real} encoded[{formula.n_features}];\n"
        f"    {name}_encode(x, encoded);\n"
        f"    {name}_sum(encoded, out);\n"
        "}\n",
    )


def _prediction(formula: Formula, name: str, precision: Precision, parameter: str) -> Code:
    head = (
        f"static inline int {name}_predict({parameter}) {{\n"
        f"    {precision.real} out[{formula.n_outputs}];\n"
        f"    {name}_decision(x, out);\n"
    )
    if formula.n_outputs == 1:
        return Code(f"{head}    return out[0] > 0;\n}}\n")
    return Code(
        f"{head}"
        "    int best = 0;\n"
        f"    for (int k = 1; k < {formula.n_outputs}; k++) if (out[k] > out[best]) best = k;\n"
        "    return best;\n"
        "}\n",
    )


def _probabilities(formula: Formula, name: str, precision: Precision, parameter: str) -> Code:
    """Write the probabilities of the link, or `class_probabilities` of the losses."""
    if isinstance(formula.probability, PowerLink):
        return _link_probabilities(formula, name, precision, parameter)
    real = precision.real
    half = precision.number(0.5)
    if formula.probability == "linear":
        result = f"    return {half} * (1 + f);\n"
    else:
        result = (
            f"    const {real} up = (1 + f) * (1 + f), down = (1 - f) * (1 - f);\n"
            "    return up / (up + down);\n"
        )
    one = (
        f"static inline {real} {name}_probability({real} f) {{\n"
        "    if (f > 1) f = 1;\n"
        "    if (f < -1) f = -1;\n"
        f"{result}}}\n\n"
    )
    head = f"static inline void {name}_proba({parameter}, {real} out[{len(formula.labels)}]) {{\n"
    if formula.n_outputs == 1:
        rest = (
            f"    {name}_decision(x, out);\n"
            f"    out[1] = {name}_probability(out[0]);\n"
            "    out[0] = 1 - out[1];\n}\n"
        )
    else:
        rest = _projection(formula, name, precision)
    return Code(one + head + rest)


def _link_probabilities(formula: Formula, name: str, precision: Precision, parameter: str) -> Code:
    """Write the log-odds of a link, and their softmax."""
    real, n, number = precision.real, len(formula.labels), precision.number
    link, most, each = formula.probability, number(LARGEST), f"for (int k = 0; k < {n}; k++)"
    assert isinstance(link, PowerLink)
    if formula.n_outputs == 1:
        odds = f"    out[1] = {number(0.5)} * {name}_log_odds(out[0]);\n    out[0] = -out[1];\n"
    else:
        odds = f"    {each} out[k] = {name}_log_odds(out[k]);\n"
    power = f"pow{precision.suffix}(1 + f * f, {number(0.5 * (link.power - 1.0))})"
    return Code(
        f"static inline {real} {name}_log_odds({real} f) {{\n"
        f"    if (f > {most}) f = {most};\n"
        f"    if (f < -{most}) f = -{most};\n"
        f"    return {number(link.slope)} * f * {power};\n"
        "}\n\n"
        f"static inline void {name}_proba({parameter}, {real} out[{n}]) {{\n"
        f"    {real} top, total = 0;\n"
        f"    {name}_decision(x, out);\n"
        f"{odds}"
        "    top = out[0];\n"
        f"    {each} if (out[k] > top) top = out[k];\n"
        f"    {each} total += out[k] = exp{precision.suffix}(out[k] - top);\n"
        f"    {each} out[k] /= total;\n"
        "}\n",
    )


def _projection(formula: Formula, name: str, precision: Precision) -> str:
    """Write the projection onto the simplex.

    The threshold t with sum_k max(0, p_k - t) = 1 is found from below, without sorting: the mean
    excess of all entries above a t that is too small is again too small, and larger, until the
    entries above it stay the same (Michelot, 1986). With the largest entry at 0, -1 is too small.
    """
    real, half, n = precision.real, precision.number(0.5), formula.n_outputs
    each = f"for (int k = 0; k < {n}; k++)"
    return (
        f"    {real} top, threshold = -1;\n"
        f"    int last, n = {n + 1};\n"
        f"    {name}_decision(x, out);\n"
        f"    {each} {{\n"
        f"        const {real} tail = out[k] > 1 ? out[k] - 1 : out[k] < -1 ? out[k] + 1 : 0;\n"
        f"        out[k] = {name}_probability(out[k]) + {half} * tail;\n"
        "    }\n"
        "    top = out[0];\n"
        f"    {each} if (out[k] > top) top = out[k];\n"
        f"    {each} out[k] -= top;\n"
        "    do {\n"
        f"        {real} total = -1;\n"
        "        last = n;\n"
        "        n = 0;\n"
        f"        {each} if (out[k] > threshold) {{ total += out[k]; n++; }}\n"
        f"        threshold = total / ({real})n;\n"
        "    } while (n < last);\n"
        f"    {each} out[k] = out[k] > threshold ? out[k] - threshold : 0;\n"
        "}\n"
    )


def _label_type(labels: list[Any]) -> tuple[str, list[str]]:
    """Return the C type of labels, with the space or star that follows it, and its literals."""
    if isinstance(labels[0], bool):
        return "int ", [str(int(label)) for label in labels]
    if isinstance(labels[0], int):
        if max(map(abs, labels)) < 2**31:
            return "long ", [f"{label}L" for label in labels]
        if max(labels) >= 2**63:
            return "unsigned long long ", [f"{label}ULL" for label in labels]
        # The smallest number has no literal: its minus is an operator.
        literals = [f"({label + 1}LL - 1)" if label < 0 else f"{label}LL" for label in labels]
        return "long long ", literals
    if isinstance(labels[0], float):
        return "double ", [PRECISIONS["double"].number(label) for label in labels]
    return "const char *", []


def _label(formula: Formula, name: str) -> Code:
    kind, literals = _label_type(formula.labels)
    if literals:
        table = f"static const {kind}labels[] = {{ {', '.join(literals)} }};\n"
    else:
        table = text_table("labels", formula.labels).text
    body = indent(f"{table}return labels[index];\n", "    ")
    return Code(f"static inline {kind}{name}_label(int index) {{\n{body}}}\n")
