"""A row of a table in C: a struct of raw columns, and the function that makes numbers of it."""

from __future__ import annotations

from collections.abc import Iterator

from fcgboost.export.c_sum import Code
from fcgboost.export.c_text import Precision, Table, comment, field_names, text_table
from fcgboost.export.formula import Formula
from fcgboost.tables import CategoryColumn, Column, NumberColumn, SkippedColumn


def input_code(formula: Formula, name: str, precision: Precision) -> Code:
    """Write the type NAME_input and the function NAME_encode."""
    columns = [
        column for column in formula.encoder.columns_ if not isinstance(column, SkippedColumn)
    ]
    fields = field_names(column.name for column in columns)
    tables, lines, place = [], [], 0
    for column, field in zip(columns, fields, strict=True):
        lines += list(_encoding(column, field, name, place, precision))
        if isinstance(column, CategoryColumn) and column.levels:
            tables.append(text_table(f"{name}_levels_{field}", column.levels))
        place += column.n_outputs
    body = (
        f"    for (int j = 0; j < {formula.n_features}; j++) out[j] = 0;\n"
        + "".join(f"    {line}\n" for line in lines)
        + "}\n"
    )
    marker = _marker(name, precision) if any("_mark(" in line for line in lines) else ""
    head = (
        f"static inline void {name}_encode(const {name}_input *x, "
        f"{precision.real} out[{formula.n_features}]) {{\n"
    )
    struct = Table(_struct(formula, columns, fields, name, precision), 0)
    return Code(f"{marker}{head}{body}", [struct, *tables])


def _struct(
    formula: Formula, columns: list[Column], fields: list[str], name: str, precision: Precision
) -> str:
    lines = []
    for column, field in zip(columns, fields, strict=True):
        kind, note = "const char *", "text in UTF-8"
        if isinstance(column, NumberColumn):
            kind = f"{precision.real} "
            note = "days since 1970-01-01" if column.unit == "days" else "a number"
        lines.append(f"    {kind}{field}; /* {comment(column.name)}: {note} */\n")
    lines += [
        f"    /* {comment(column.name)} is not used: {comment(column.reason)} */\n"
        for column in formula.encoder.columns_
        if isinstance(column, SkippedColumn)
    ]
    return (
        "/* NAN, and NULL or an empty text, stand for what is missing. */\n"
        f"typedef struct {{\n{''.join(lines)}}} {name}_input;\n"
    )


def _encoding(
    column: Column, field: str, name: str, place: int, precision: Precision
) -> Iterator[str]:
    """Return the lines that encode one column, whose first number is at a place."""
    if isinstance(column, NumberColumn):
        fill = precision.number(column.fill)
        yield f"out[{place}] = isnan(x->{field}) ? {fill} : x->{field};"
        if column.is_marked:
            yield f"if (isnan(x->{field})) out[{place + 1}] = 1;"
    elif isinstance(column, CategoryColumn):
        n = len(column.levels)
        levels = f"{name}_levels_{field}" if n else "NULL"
        other = n if column.has_other else -1
        gap = column.n_outputs - 1 if column.is_marked else -1
        yield f"{name}_mark(out + {place}, x->{field}, {levels}, {n}, {other}, {gap});"


def _marker(name: str, precision: Precision) -> str:
    return (
        f"static inline void {name}_mark({precision.real} *out, const char *text, "
        "const char *const *levels, int n, int other, int missing) {\n"
        "    int place = other;\n"
        "    if (!text || !*text) place = missing;\n"
        "    else for (int i = 0; i < n; i++) if (strcmp(text, levels[i]) == 0) place = i;\n"
        "    if (place >= 0) out[place] = 1;\n"
        "}\n\n"
    )
