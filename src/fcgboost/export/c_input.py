"""A row of a table in C: a struct of raw columns, and the function that makes numbers of it."""

from __future__ import annotations

from collections.abc import Iterator

from fcgboost.export.c_text import Code, Program, Table, comment, field_names, text_table
from fcgboost.tables import CategoryColumn, Column, NumberColumn, SkippedColumn


def input_code(program: Program) -> Code:
    """Write the type NAME_input and the function NAME_encode."""
    name, real, formula = program.name, program.precision.real, program.formula
    fields = field_names(column.name for column in formula.columns)
    tables, lines, place = [Table(_struct(program, fields), 0)], "", 0
    for column, field in zip(formula.columns, fields, strict=True):
        lines += "".join(f"    {line}\n" for line in _encoding(program, column, field, place))
        if isinstance(column, CategoryColumn) and column.levels:
            tables.append(text_table(f"{name}_levels_{field}", column.levels))
        place += column.n_outputs
    text = (
        f"static inline void {name}_encode(const {name}_input *x, "
        f"{real} out[{formula.n_features}]) {{\n"
        f"    for (int j = 0; j < {formula.n_features}; j++) out[j] = 0;\n"
        f"{lines}}}\n"
    )
    return Code((_marker(name, real) if "_mark(" in lines else "") + text, tables)


def _struct(program: Program, fields: list[str]) -> str:
    lines = []
    for column, field in zip(program.formula.columns, fields, strict=True):
        kind, note = "const char *", "text in UTF-8"
        if isinstance(column, NumberColumn):
            kind = f"{program.precision.real} "
            note = "days since 1970-01-01" if column.unit == "days" else "a number"
        lines.append(f"    {kind}{field}; /* {comment(column.name)}: {note} */\n")
    lines += [
        f"    /* {comment(column.name)} is not used: {comment(column.reason)} */\n"
        for column in program.formula.encoder.columns_
        if isinstance(column, SkippedColumn)
    ]
    return (
        "/* NAN, and NULL or an empty text, stand for what is missing. */\n"
        f"typedef struct {{\n{''.join(lines)}}} {program.name}_input;\n"
    )


def _encoding(program: Program, column: Column, field: str, place: int) -> Iterator[str]:
    """Yield the lines that encode one column, whose first number is at a place."""
    if isinstance(column, NumberColumn):
        fill = program.precision.number(column.fill)
        yield f"out[{place}] = isnan(x->{field}) ? {fill} : x->{field};"
        if column.is_marked:
            yield f"if (isnan(x->{field})) out[{place + 1}] = 1;"
    elif isinstance(column, CategoryColumn):
        n = len(column.levels)
        levels = f"{program.name}_levels_{field}" if n else "NULL"
        other = n if column.has_other else -1
        gap = column.n_outputs - 1 if column.is_marked else -1
        yield f"{program.name}_mark(out + {place}, x->{field}, {levels}, {n}, {other}, {gap});"


def _marker(name: str, real: str) -> str:
    return (
        f"static inline void {name}_mark({real} *out, const char *text, "
        "const char *const *levels, int n, int other, int missing) {\n"
        "    int place = other;\n"
        "    if (!text || !*text) place = missing;\n"
        "    else for (int i = 0; i < n; i++) if (strcmp(text, levels[i]) == 0) place = i;\n"
        "    if (place >= 0) out[place] = 1;\n"
        "}\n\n"
    )
