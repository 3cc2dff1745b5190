"""A row of a table in C: its type, and what makes the inputs of the sum of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fcgboost.export.c_text import Code, Program, Table, comment, fields_of, real_table, text_table
from fcgboost.export.sources import Source
from fcgboost.tables import CategoryColumn, NumberColumn
from fcgboost.tables.dates import PARTS, ROUNDING

# The arithmetic of fcgboost.tables.dates. NAN stays what it is.
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


def table_code(program: Program) -> Code:
    """Write the type NAME_input and the function NAME_encode."""
    name, real, n = program.name, program.precision.real, program.formula.n_features
    sources = program.formula.sources
    fields = fields_of(column.name for column, _ in sources.used)
    tables, lines = [Table(_struct(program, fields), 0)], list[str]()
    for source, field in zip(sources.used, fields, strict=True):
        if isinstance(source.column, CategoryColumn):
            tables += _level_tables(program, source, field)
            lines += _mark_levels(program, source, field)
        else:
            lines += _fill_numbers(program, source, field)
    has_levels = any(isinstance(column, CategoryColumn) for column, _ in sources.used)
    lines = ["int at;"] * has_levels + [f"for (int j = 0; j < {n}; j++) out[j] = 0;", *lines]
    body = "".join(f"    {line}\n" for line in lines)
    text = f"static inline void {name}_encode({program.row}, {real} out[{n}]) {{\n{body}}}\n"
    parts = [
        f"static inline double {name}_{part}(double days) {{\n{_DATES[part]}}}\n\n"
        for part in PARTS
        if f"{name}_{part}(" in body
    ]
    return Code("".join([*parts, _finder(name) if has_levels else "", text]), tables)


def _struct(program: Program, fields: list[str]) -> str:
    sources, lines = program.formula.sources, []
    for (column, _), field in zip(sources.used, fields, strict=True):
        kind, note = "const char *", "text in UTF-8"
        if isinstance(column, NumberColumn):
            is_date = column.unit == "days"
            # A float has no room for the hours of a date.
            kind = "double " if is_date else f"{program.precision.real} "
            note = "days since 1970-01-01" if is_date else "a number"
        lines.append(f"    {kind}{field}; /* {comment(column.name)}: {note} */\n")
    for column, outputs in sources.all:
        if not outputs:
            reason = getattr(column, "reason", "there is nothing to learn from it")
            lines.append(f"    /* {comment(column.name)} is not used: {comment(reason)} */\n")
    return (
        "/* NAN, and NULL or an empty text, stand for what is missing. */\n"
        f"typedef struct {{\n{''.join(lines)}}} {program.name}_input;\n"
    )


def _fill_numbers(program: Program, source: Source, field: str) -> Iterator[str]:
    """Yield the lines that write the outputs of a number, or a date."""
    cell, real = f"x->{field}", program.precision.real
    cast = f"({real})" if source.column.unit == "days" and real != "double" else ""
    for place, (part, fill, _) in source.outputs:
        if part == "missing":
            yield f"if (isnan({cell})) out[{place}] = 1;"
            continue
        value = cast + (cell if part == "value" else f"{program.name}_{part}({cell})")
        if fill is not None:
            value = f"isnan({cell}) ? {program.precision.number(fill)} : {value}"
        yield f"out[{place}] = {value};"


def _level_tables(program: Program, source: Source, field: str) -> Iterator[Table]:
    """Yield the levels of a category, and the numbers that they have."""
    if source.column.levels:
        yield text_table(f"{program.name}_levels_{field}", source.column.levels)
    numbers = [one.numbers for _, one in source.outputs if one.numbers and not _is_gap(one.numbers)]
    if numbers:
        yield real_table(f"{program.name}_numbers_{field}", np.array(numbers), program.precision)


def _mark_levels(program: Program, source: Source, field: str) -> Iterator[str]:
    """Yield the lines that find a level and write the outputs of a category."""
    name, n, row = program.name, len(source.column.levels), 0
    levels = f"{name}_levels_{field}" if n else "NULL"
    other = n + 1 if source.column.is_unknown_missing else n
    yield f"at = {name}_find(x->{field}, {levels}, {n}, {other});"
    for run in source.runs():
        (place, low), (_, last) = run[0], run[-1]
        if low == last:
            yield f"if (at == {low}) out[{place}] = 1;"
        else:
            condition = f"at >= {low} && at < {last + 1}" if low else f"at < {last + 1}"
            shift = f" {'+' if place > low else '-'} {abs(place - low)}" if place != low else ""
            yield f"if ({condition}) out[at{shift}] = 1;"
    for place, one in source.outputs:
        if _is_gap(one.numbers):
            yield f"if (at >= {n}) out[{place}] = 1;"
        elif one.numbers:
            yield f"out[{place}] = {name}_numbers_{field}[{row}][at < {n} ? at : {n}];"
            row += 1


def _is_gap(numbers: tuple[float, ...]) -> bool:
    """Whether numbers of levels are 0, and that of what is missing 1."""
    return len(numbers) > 0 and numbers[-1] == 1.0 and not any(numbers[:-1])


def _finder(name: str) -> str:
    """Write what finds a text among levels that grow; behind these come others, and gaps."""
    return (
        f"static inline int {name}_find(const char *text, const char *const *levels, int n, "
        "int other) {\n"
        "    int low = 0, high = n;\n"
        "    if (!text || !*text) return n + 1;\n"
        "    while (low < high) {\n"
        "        const int middle = (low + high) / 2, order = strcmp(text, levels[middle]);\n"
        "        if (order == 0) return middle;\n"
        "        if (order < 0) high = middle;\n"
        "        else low = middle + 1;\n"
        "    }\n"
        "    return other;\n"
        "}\n\n"
    )
