"""A row of a table in C: its type, and how it is read as numbers."""

from __future__ import annotations

from textwrap import indent

from fcgboost.export.c_text import Program, comment, fields_of, text_table
from fcgboost.export.sources import Cell
from fcgboost.tables import CategoryColumn, NumberColumn
from fcgboost.tables.dates import PARTS, ROUNDING

# The arithmetic of fcgboost.tables.dates; NAN propagates.
_DATES = {
    "month": (
        "    double day = fmod(floor(days) + 719468.0, 146097.0), leap_days, year, month;\n"
        "    if (day < 0) day += 146097.0;\n"
        "    leap_days = floor(day / 1460.0) - floor(day / 36524.0) + floor(day / 146096.0);\n"
        "    year = floor((day - leap_days) / 365.0);\n"
        "    day -= 365.0 * year + floor(year / 4.0) - floor(year / 100.0);\n"
        "    month = floor((5.0 * day + 2.0) / 153.0);\n"
        "    return month < 10.0 ? month + 3.0 : month - 9.0;\n"
    ),
    "weekday": (
        "    const double day = fmod(floor(days) + 3.0, 7.0);\n"
        "    return day < 0 ? day + 7.0 : day;\n"
    ),
    "hour": (
        f"    const double hour = floor((days - floor(days)) * 24.0 + {ROUNDING!r});\n"
        "    return hour > 23.0 ? 23.0 : hour;\n"
    ),
}


def table_code(program: Program) -> str:
    """Write the type NAME_input and the function NAME_read."""
    name = program.name
    record = program.formula.record
    used = [record.columns[j] for j in record.used]
    names = fields_of(column.name for column in used)
    fields = dict(zip(record.used, names, strict=True))
    tables = ""
    for j, field in fields.items():
        column = record.columns[j]
        if isinstance(column, CategoryColumn) and column.levels:
            tables += text_table(f"levels_{field}", column.levels)
    lines = [
        f"out[{position}] = {_cell(program, cell, fields)};\n"
        for position, cell in enumerate(record.cells)
    ]
    body = indent("".join([tables, *lines]), "    ")
    out = f"{program.precision.real} out[{len(record.cells)}]"
    text = f"static inline void {name}_read({program.row}, {out}) {{\n{body}}}\n"
    parts = [
        f"static inline double {name}_{part}(double days) {{\n{_DATES[part]}}}\n\n"
        for part in PARTS
        if f"{name}_{part}(" in body
    ]
    finder = _finder(name) if f"{name}_find(" in body else ""
    return "".join([_struct(program, fields), *parts, finder, text])


def _struct(program: Program, fields: dict[int, str]) -> str:
    """Write the type of a row, from the fields of columns by their numbers."""
    columns = program.formula.record.columns
    lines = []
    for j, field in fields.items():
        column = columns[j]
        kind = "const char *"
        note = "text in UTF-8"
        if isinstance(column, NumberColumn):
            is_date = column.unit == "days"
            # A float has no room for the hours of a date.
            kind = "double " if is_date else f"{program.precision.real} "
            note = "days since 1970-01-01" if is_date else "a number"
        lines.append(f"    {kind}{field}; /* {comment(column.name)}: {note} */\n")
    for j, column in enumerate(columns):
        if j not in fields:
            reason = getattr(column, "reason", "there is nothing to learn from it")
            lines.append(f"    /* {comment(column.name)} is not used: {comment(reason)} */\n")
    return (
        "/* NAN, and NULL or an empty text, stand for what is missing. */\n"
        f"typedef struct {{\n{''.join(lines)}}} {program.name}_input;\n\n"
    )


def _cell(program: Program, cell: Cell, fields: dict[int, str]) -> str:
    """Return the expression for a number that a row is read as."""
    record = program.formula.record
    column = record.columns[cell.column]
    real = program.precision.real
    value = f"x->{fields[cell.column]}"
    if isinstance(column, CategoryColumn):
        code = _code(program, cell.column, fields)
        if cell.part == "pair":
            other = _code(program, cell.second, fields)
            code = f"({code} * {record.n_codes(cell.second)} + {other})"
        return f"({real}){code}"
    if cell.part != "value":
        value = f"{program.name}_{cell.part}({value})"
    is_date = isinstance(column, NumberColumn) and column.unit == "days"
    return f"({real}){value}" if is_date and real != "double" else value


def _code(program: Program, j: int, fields: dict[int, str]) -> str:
    """Return the expression for the code of a column's text."""
    n_levels = program.formula.record.n_codes(j) - 1
    levels = f"levels_{fields[j]}" if n_levels else "NULL"
    return f"{program.name}_find(x->{fields[j]}, {levels}, {n_levels})"


def _finder(name: str) -> str:
    """Write a binary search among sorted levels; any other text counts as missing."""
    return (
        f"static inline int {name}_find(const char *text, const char *const *levels, int n) {{\n"
        "    int low = 0, high = n;\n"
        "    if (!text || !*text) return n;\n"
        "    while (low < high) {\n"
        "        const int middle = (low + high) / 2, order = strcmp(text, levels[middle]);\n"
        "        if (order == 0) return middle;\n"
        "        if (order < 0) high = middle;\n"
        "        else low = middle + 1;\n"
        "    }\n"
        "    return n;\n"
        "}\n\n"
    )
