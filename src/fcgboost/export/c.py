"""A model as one C99 text that needs <math.h> and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import indent

from fcgboost import __version__
from fcgboost.calibration import LARGEST, Correction, PowerLink
from fcgboost.export.c_sum import sum_code
from fcgboost.export.c_table import table_code
from fcgboost.export.c_text import PRECISIONS, Program, comment, text_table
from fcgboost.export.formula import Label, formula_of
from fcgboost.files import FilePath, write_whole
from fcgboost.prediction import BaseFCGBoost


def to_c(model: BaseFCGBoost, *, precision: str = "double", name: str = "fcgboost") -> str:
    """Return a model as a C99 header, also valid C++, that allocates no memory.

    Parameters
    ----------
    model : fitted classifier of fcgboost
    precision : {"double", "float"}, default="double"
        The type of all numbers, in tables and in arithmetic.
    name : str, default="fcgboost"
        The prefix of all names, so that several models fit into one program.

    Returns
    -------
    str
        The source, whose opening comment lists the functions.

    Raises
    ------
    ValueError
        For user-defined dictionaries or losses, text that C cannot hold, and numbers or columns
        that a float cannot represent.

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
            "name must be a C identifier (letters, digits and underscores, starting with a "
            f"letter), got {name!r}."
        )
    return _text(Program(formula_of(model, precision), name, PRECISIONS[precision]))


def save_c(
    model: BaseFCGBoost,
    path: FilePath,
    *,
    precision: str = "double",
    name: str = "fcgboost",
) -> int:
    """Save the result of `to_c` to a file, in full or not at all; return its size in bytes."""
    return write_whole(path, to_c(model, precision=precision, name=name))


def _text(program: Program) -> str:
    formula = program.formula
    name = program.name
    real = program.precision.real
    n = formula.n_outputs
    if not formula.record.is_table:
        parts = [sum_code(program, f"{name}_decision")]
    else:
        decision = (
            f"static inline void {name}_decision({program.row}, {program.decision}) {{\n"
            f"    {real} cells[{formula.n_cells}];\n"
            f"    {name}_read(x, cells);\n"
            f"    {name}_sum(cells, out);\n"
            "}\n"
        )
        parts = [table_code(program), sum_code(program, f"{name}_sum"), decision]
    if formula.correction is not None:
        parts.append(_correction(program, formula.correction))
    if isinstance(formula.probability, PowerLink):
        parts.append(_link_probabilities(program, formula.probability))
    elif formula.probability is not None:
        parts.append(_probabilities(program))
    parts += [_prediction(program), _label(program)]
    needs = ["<math.h>"] + ["<string.h>"] * ("strcmp" in parts[0])
    return (
        _introduction(program)
        + f"#ifndef {name}_H\n#define {name}_H\n\n"
        + "".join(f"#include {header}\n" for header in needs)
        + f"\nenum {{ {name}_n_inputs = {formula.n_cells}, "
        + f"{name}_n_outputs = {n}, "
        + f"{name}_n_classes = {len(formula.labels)} }};\n\n"
        + "\n".join(parts)
        + "\n#endif\n"
    )


def _introduction(program: Program) -> str:
    formula = program.formula
    name = program.name
    real = program.precision.real
    meaning = "above 0 for class 1" if formula.n_outputs == 1 else "one per class, the largest wins"
    lines = [
        f"{formula.sizes}; written by fcgboost {__version__}.",
        "",
        f"int {name}_predict({program.row}): the index of the class.",
        f"{_label_type(formula.labels)[0]}{name}_label(int index): the class of that index.",
        f"void {name}_decision({program.row}, {program.decision}): {meaning}.",
    ]
    if formula.probability is not None:
        out = f"{real} out[{len(formula.labels)}]"
        lines.append(f"void {name}_proba({program.row}, {out}): the classes' probabilities.")
    notes = []
    if not formula.record.is_table and formula.takes_missing:
        notes.append("Inputs may be NAN, which is a missing value.")
    if formula.is_clipped:
        notes.append("Inputs are clipped to limits that the training data gave.")
    lines += ["", *notes] if notes else []
    if formula.names is not None:
        lines.append("")
        lines += [f"x[{j}] is {comment(column)}" for j, column in enumerate(formula.names)]
    return "/* " + "\n".join(f" * {line}".rstrip() for line in lines)[3:] + "\n */\n"


def _label_decision(program: Program) -> str:
    """Write the decision value of labels, before a correction moves it."""
    correction = program.formula.correction
    text = f"    {program.name}_decision(x, out);\n"
    if correction is not None and program.formula.n_outputs == 1:
        text += f"    out[0] += {program.precision.number(correction.shift)};\n"
    return text


def _correction(program: Program, correction: Correction) -> str:
    """Write how probabilities of labels become those of true classes."""
    real = program.precision.real
    n = len(correction.matrix)
    number = program.precision.number
    rows = ", ".join(
        "{ " + ", ".join(number(float(entry)) for entry in row) + " }"
        for row in correction.inverse.T
    )
    each = f"for (int k = 0; k < {n}; k++)"
    return (
        f"static inline void {program.name}_true({real} out[{n}]) {{\n"
        f"    static const {real} from[{n}][{n}] = {{ {rows} }};\n"
        f"    {real} p[{n}], total = 0;\n"
        f"    {each} {{\n"
        "        p[k] = 0;\n"
        f"        for (int j = 0; j < {n}; j++) p[k] += from[k][j] * out[j];\n"
        "        if (p[k] < 0) p[k] = 0;\n"
        "        total += p[k];\n"
        "    }\n"
        f"    {each} out[k] = p[k] / total;\n"
        "}\n"
    )


def _corrected(program: Program) -> str:
    """Write the end of a function of probabilities."""
    return "}\n" if program.formula.correction is None else f"    {program.name}_true(out);\n}}\n"


def _prediction(program: Program) -> str:
    n = program.formula.n_outputs
    values = "decision"
    rest = "    return out[0] > 0;\n"
    if n > 1:
        values = "decision" if program.formula.correction is None else "proba"
        rest = (
            "    int best = 0;\n"
            f"    for (int k = 1; k < {n}; k++) if (out[k] > out[best]) best = k;\n"
            "    return best;\n"
        )
    return (
        f"static inline int {program.name}_predict({program.row}) {{\n"
        f"    {program.precision.real} out[{n}];\n"
        f"    {program.name}_{values}(x, out);\n"
        f"{rest}}}\n"
    )


def _probabilities(program: Program) -> str:
    """Write `class_probabilities` of the losses."""
    formula = program.formula
    name = program.name
    real = program.precision.real
    result = f"    return {program.precision.number(0.5)} * (1 + f);\n"
    if formula.probability == "squares":
        result = (
            f"    const {real} up = (1 + f) * (1 + f), down = (1 - f) * (1 - f);\n"
            "    return up / (up + down);\n"
        )
    rest = (
        f"{_label_decision(program)}"
        f"    out[1] = {name}_probability(out[0]);\n"
        f"    out[0] = 1 - out[1];\n{_corrected(program)}"
    )
    return (
        f"static inline {real} {name}_probability({real} f) {{\n"
        "    if (f > 1) f = 1;\n"
        "    if (f < -1) f = -1;\n"
        f"{result}}}\n\n"
        f"static inline void {name}_proba({program.row}, {real} out[{len(formula.labels)}]) {{\n"
        f"{rest if formula.n_outputs == 1 else _projection(program)}"
    )


def _link_probabilities(program: Program, link: PowerLink) -> str:
    """Write the log-odds of a link, and their softmax."""
    name = program.name
    number = program.precision.number
    suffix = program.precision.suffix
    real = program.precision.real
    n = len(program.formula.labels)
    most = number(LARGEST)
    each = f"for (int k = 0; k < {n}; k++)"
    if program.formula.n_outputs == 1:
        odds = f"    out[1] = {number(0.5)} * {name}_log_odds(out[0]);\n    out[0] = -out[1];\n"
    else:
        odds = f"    {each} out[k] = {name}_log_odds(out[k]);\n"
    power = f"pow{suffix}(1 + f * f, {number(0.5 * (link.power - 1.0))})"
    return (
        f"static inline {real} {name}_log_odds({real} f) {{\n"
        f"    if (f > {most}) f = {most};\n"
        f"    if (f < -{most}) f = -{most};\n"
        f"    return {number(link.slope)} * f * {power};\n"
        "}\n\n"
        f"static inline void {name}_proba({program.row}, {real} out[{n}]) {{\n"
        f"    {real} top, total = 0;\n"
        f"{_label_decision(program)}"
        f"{odds}"
        "    top = out[0];\n"
        f"    {each} if (out[k] > top) top = out[k];\n"
        f"    {each} total += out[k] = exp{suffix}(out[k] - top);\n"
        f"    {each} out[k] /= total;\n"
        f"{_corrected(program)}"
    )


def _projection(program: Program) -> str:
    """Write the projection onto the simplex.

    The threshold t with sum_k max(0, p_k - t) = 1 is found from below, without sorting: the mean
    excess of all entries above a t that is too small is again too small, and larger, until the
    entries above it stay the same (Michelot, 1986). With the largest entry at 0, -1 is too small.
    """
    name = program.name
    real = program.precision.real
    n = program.formula.n_outputs
    half = program.precision.number(0.5)
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
        f"{_corrected(program)}"
    )


def _label_type(labels: Sequence[Label]) -> tuple[str, list[str]]:
    """Return the C type of labels, with the space or star that follows it, and its literals."""
    integers = [label for label in labels if isinstance(label, int)]
    if isinstance(labels[0], bool):
        return "int ", [str(int(label)) for label in integers]
    if integers:
        if max(map(abs, integers)) < 2**31:
            return "long ", [f"{label}L" for label in integers]
        if max(integers) >= 2**63:
            return "unsigned long long ", [f"{label}ULL" for label in integers]
        # The smallest number has no literal: its minus is an operator.
        literals = [f"({label + 1}LL - 1)" if label < 0 else f"{label}LL" for label in integers]
        return "long long ", literals
    floats = [label for label in labels if isinstance(label, float)]
    return "double " if floats else "const char *", list(map(PRECISIONS["double"].number, floats))


def _label(program: Program) -> str:
    labels = program.formula.labels
    kind, literals = _label_type(labels)
    if literals:
        table = f"static const {kind}labels[] = {{ {', '.join(literals)} }};\n"
    else:
        table = text_table("labels", list(map(str, labels)))
    body = indent(f"{table}return labels[index];\n", "    ")
    return f"static inline {kind}{program.name}_label(int index) {{\n{body}}}\n"
