"""Small messy files, and what a person would read in them, or is told.

The files are written by this script rather than stored, so that their bytes survive any checkout.
"""

import datetime
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Messy:
    """A file, how it is read, and what comes of it: columns and labels, or an error."""

    name: str
    content: bytes | dict[str, list[list[Any]]]
    columns: dict[str, list[Any]] = field(default_factory=dict)
    labels: Sequence[Any] = ("a", "b", "a", "b")
    #: Parts of what is said, in notes on reading or on the columns that stay text.
    told: tuple[str, ...] = ()
    error: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    suffix: str = ".csv"

    def bytes(self) -> bytes:
        """Return the file; a workbook, which is given by the rows of its sheets, needs openpyxl."""
        if not isinstance(self.content, dict):
            return self.content
        import openpyxl

        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in self.content.items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
        file = io.BytesIO()
        book.save(file)
        return file.getvalue()


def text(*lines: str, end: str = "\n", encoding: str = "utf-8") -> bytes:
    return "".join(line + end for line in lines).encode(encoding)


def dates(*texts: str | None) -> list[Any]:
    return [None if one is None else pd.Timestamp(one) for one in texts]


_DAYS = [f"2020-{1 + i % 12:02}-{1 + i:02}" for i in range(24)]

CASES = [
    Messy(
        "a byte order mark and quotes",
        '\ufeff"a","t","y"\n"1","x, y","a"\n2,"""z""",b\n'.encode(),
        {"a": [1, 2], "t": ["x, y", '"z"']},
        ["a", "b"],
    ),
    Messy(
        "UTF-16 and tabs",
        text("größe\ty", "1,5\ta", "2\tb", encoding="utf-16"),
        {"größe": [1.5, 2.0]},
        ["a", "b"],
        ("decimal comma",),
        suffix=".txt",
    ),
    Messy(
        "cp1252, not named",
        text("größe;y", "1;a", "2;b", encoding="cp1252"),
        error="name its encoding, such as --encoding cp1252",
    ),
    Messy(
        "cp1252, named",
        text("größe;t;y", "1;é;a", "2;ü;b", encoding="cp1252"),
        {"größe": [1, 2], "t": ["é", "ü"]},
        ["a", "b"],
        options={"encoding": "cp1252"},
    ),
    Messy(
        "bars between columns",
        text("a|b|y", "1|x, z|a", "2.5|w; v|b"),
        {"a": [1.0, 2.5], "b": ["x, z", "w; v"]},
        ["a", "b"],
    ),
    Messy(
        "semicolons and decimal commas",
        text("a;b;y", "1,5;1,25;a", "-2,25e1;3;b"),
        {"a": [1.5, -22.5], "b": [1.25, 3.0]},
        ["a", "b"],
        ("decimal comma",),
    ),
    Messy(
        "percent signs",
        text("rate;y", "12 %;a", "7%;b", "0,5 %;a", ";b"),
        {"rate": [12.0, 7.0, 0.5, None]},
        told=("rate", "%"),
    ),
    Messy(
        "dollars and thousands",
        text("pay,y", '"$1,234.50",a', "$7,b", "-$0.5,a", "$ 12,b"),
        {"pay": [1234.5, 7.0, -0.5, 12.0]},
        told=("pay", r"\$"),
    ),
    Messy(
        "euros after the amount",
        text("preis;y", "1.234,50 €;a", "7,00 €;b", "0,99€;a", "2.000.000 €;b"),
        {"preis": [1234.5, 7.0, 0.99, 2e6]},
        told=("preis", "€", "decimal comma"),
    ),
    Messy(
        "the code of a currency",
        text("a;y", "EUR 1.200,5;a", "EUR 3;b"),
        {"a": [1200.5, 3.0]},
        ["a", "b"],
        ("EUR",),
    ),
    Messy(
        "two currencies",
        text("pay,y", "$5,a", "€7,b", "$9,a", "€8,b"),
        {"pay": ["$5", "€7", "$9", "€8"]},
        told=("pay", "look like numbers"),
    ),
    Messy(
        "commas between thousands",
        text("n,y", '"1,234",a', "987,b", '"12,345,678",a', "0,b"),
        {"n": [1234.0, 987.0, 12345678.0, 0.0]},
        told=("decimal point",),
    ),
    Messy(
        "points between thousands",
        text("n;y", "1.234.567;a", "12;b", "8.000;a", "0;b"),
        {"n": [1234567.0, 12.0, 8000.0, 0.0]},
        told=("decimal comma",),
    ),
    Messy(
        "spaces between thousands",
        text("n\ty", "1 234,5\ta", "7\tb", "12\u00a0000\ta", "0\tb"),
        {"n": [1234.5, 7.0, 12000.0, 0.0]},
        told=("decimal comma",),
        suffix=".tsv",
    ),
    Messy(
        "apostrophes between thousands",
        text("n;y", "1'234.50;a", "7;b", "12'000'000;a", "0;b"),
        {"n": [1234.5, 7.0, 12e6, 0.0]},
        told=("decimal point",),
    ),
    Messy(
        "1.234 and nothing else to tell",
        text("n;y", "1.234;a", "12.500;b", "7;a", "3.000;b"),
        {"n": ["1.234", "12.500", "7", "3.000"]},
        told=("'n'", "--decimal"),
    ),
    Messy(
        "1.234 and an option",
        text("n;y", "1.234;a", "12.500;b", "7;a", "3.000;b"),
        {"n": [1234.0, 12500.0, 7.0, 3000.0]},
        options={"thousands": "."},
    ),
    Messy(
        "1.234 next to a column that tells",
        text("n;m;y", "1.234;1,5;a", "12.500;2;b", "7;3,25;a", "3.000;4;b"),
        {"n": [1234.0, 12500.0, 7.0, 3000.0], "m": [1.5, 2.0, 3.25, 4.0]},
        told=("decimal comma",),
    ),
    Messy(
        "days first",
        text("d,y", "21.08.2021,a", "1.9.2021,b", "03.10.2020 14:30,a", ",b"),
        {"d": dates("2021-08-21", "2021-09-01", "2020-10-03 14:30", None)},
        told=("day first",),
    ),
    Messy(
        "months first",
        text("d,y", "12/31/2020,a", "1/2/2021,b", "3/4/2020,a", "5/6/2020,b"),
        {"d": dates("2020-12-31", "2021-01-02", "2020-03-04", "2020-05-06")},
        told=("month first",),
    ),
    Messy(
        "03/04/2020 and nothing else to tell",
        text("d,y", "03/04/2020,a", "05/06/2020,b"),
        {"d": ["03/04/2020", "05/06/2020"]},
        ["a", "b"],
        ("'d'", "dayfirst"),
    ),
    Messy(
        "03/04/2020 and an option",
        text("d,y", "03/04/2020,a", "05/06/2020,b"),
        {"d": dates("2020-04-03", "2020-06-05")},
        ["a", "b"],
        options={"dayfirst": True},
    ),
    Messy(
        "03/04/2020 next to a column that tells",
        text("d,e,y", "03/04/2020,31/12/2020,a", "05/06/2020,1/2/2021,b"),
        {"d": dates("2020-04-03", "2020-06-05"), "e": dates("2020-12-31", "2021-02-01")},
        ["a", "b"],
        ("day first",),
    ),
    Messy(
        "years first, with slashes",
        text("d,y", "2020/12/31,a", "2021/1/2,b"),
        {"d": dates("2020-12-31", "2021-01-02")},
        ["a", "b"],
    ),
    Messy(
        "names of months",
        text("d,y", "21-Aug-2021,a", "3 March 2020,b"),
        {"d": dates("2021-08-21", "2020-03-03")},
        ["a", "b"],
    ),
    Messy(
        "a title above the names",
        text("Sales 2021", "", "a;b;y", "1;2,5;a", "3;4,5;b"),
        {"a": [1, 3], "b": [2.5, 4.5]},
        ["a", "b"],
        ("below the title 'Sales 2021'",),
    ),
    Messy(
        "a workbook with a title",
        {
            "Data": [
                ["Sales 2021"],
                [],
                ["a", "d", "y"],
                [1.5, datetime.date(2020, 1, 31), "a"],
                [2, datetime.date(2020, 2, 1), "b"],
            ]
        },
        {"a": [1.5, 2.0], "d": dates("2020-01-31", "2020-02-01")},
        ["a", "b"],
        ("below the title 'Sales 2021'",),
        suffix=".xlsx",
    ),
    Messy(
        "a sheet by its name",
        {"Notes": [["none"]], "Data": [["a", "y"], ["12 %", "a"], ["7 %", "b"]]},
        {"a": [12.0, 7.0]},
        ["a", "b"],
        ("%",),
        options={"sheet": "Data"},
        suffix=".xlsx",
    ),
    Messy(
        "a sheet that is not there",
        {"Notes": [["none"]], "Data": [["a", "y"], [1, "a"]]},
        error="'Notes', 'Data'",
        options={"sheet": "Date"},
        suffix=".xlsx",
    ),
    Messy(
        "spellings of labels and levels",
        text("town,y", "Ulm,yes", "ulm,Yes", "New  York,no", "New York,no"),
        {"town": ["Ulm", "ulm", "New  York", "New York"]},
        ["yes", "Yes", "no", "no"],
        ("'Yes' and 'yes'", "'Ulm' and 'ulm'|'New  York'", "merge_spellings"),
    ),
    Messy(
        "spellings that are merged",
        text("town,y", "Ulm,yes", "ulm,Yes", "New  York,no", "ULM,no", "Ulm,yes"),
        {"town": ["Ulm", "Ulm", "New  York", "Ulm", "Ulm"]},
        ["yes", "yes", "no", "no", "yes"],
        ("'yes' and 'Yes'", "'Ulm', 'ulm' and 'ULM'"),
        options={"merge_spellings": True},
    ),
    Messy(
        "rows equal but for the label",
        text("a,t,y", "1,x,a", "1,x,b", "2,x,a", "2,z,b", "2,x,a"),
        {"a": [1, 1, 2, 2, 2], "t": ["x", "x", "x", "z", "x"]},
        ["a", "b", "a", "b", "a"],
        ("rows equal others but for the label", "rows 1, 2"),
    ),
    Messy(
        "rows without a label",
        text("a,y", "1,a", "2,", "3,b", "4, "),
        {"a": [1, 3]},
        ["a", "b"],
        ("no target: 2", "rows 2 and 4"),
    ),
    Messy(
        "empty lines and separators at the end",
        text("", "a;b;y;", "1;2;a;", "", "3;4;b;", "", end="\r\n"),
        {"a": [1, 3], "b": [2, 4]},
        ["a", "b"],
    ),
    Messy(
        "mixed ends of lines", b"a,b,y\r\n1,2,a\n3,4,b\r\n", {"a": [1, 3], "b": [2, 4]}, ["a", "b"]
    ),
    Messy(
        "marks of missing values",
        text("n,t,y", "1,x,a", "NA,n/a,b", "?,z,a", "2.5,NULL,b"),
        {"n": [1.0, None, None, 2.5], "t": ["x", None, "z", None]},
    ),
    Messy(
        "ja and nein",
        text("neu;y", "ja;a", "nein;b", "ja;a", "nein;b"),
        {"neu": ["ja", "nein", "ja", "nein"]},
    ),
    Messy(
        "true and false",
        text("a,b,y", "TRUE,true,a", "FALSE,,b"),
        {"a": [True, False], "b": [1.0, None]},
        ["a", "b"],
    ),
    Messy(
        "postcodes and ids",
        text("zip,id,y", "01067,A-1,a", "89073,A-2,b", "10115,A-3,a", "04109,A-4,b"),
        {"zip": ["01067", "89073", "10115", "04109"], "id": ["A-1", "A-2", "A-3", "A-4"]},
    ),
    Messy(
        "units",
        text("size,y", "70 kg,a", "81 kg,b", "65.5 kg,a", "90 kg,b"),
        {"size": ["70 kg", "81 kg", "65.5 kg", "90 kg"]},
        told=("'size'", "look like numbers"),
    ),
    Messy(
        "stray text among numbers",
        text(
            "n,d,y",
            *(f"{i}.5,{day},{'ab'[i % 2]}" for i, day in enumerate(_DAYS)),
            "unknown,2021-01-01,a",
        ),
        {"n": [*(i + 0.5 for i in range(24)), None], "d": dates(*_DAYS, "2021-01-01")},
        [*("ab"[i % 2] for i in range(24)), "a"],
        ('row 25: "unknown"',),
    ),
    Messy(
        "stray text among euros",
        text("n;y", *(f"{i},5 €;{'ab'[i % 2]}" for i in range(24)), "frei;a"),
        {"n": [*(i + 0.5 for i in range(24)), None]},
        [*("ab"[i % 2] for i in range(24)), "a"],
        ('row 25: "frei"', "€"),
    ),
    Messy(
        "a row with too many fields",
        text("a,b,y", "1,2,a", "3,4,5,b"),
        error="row 2: expected 3 fields",
    ),
    Messy("a quote that is never closed", text("a,y", '"1,a', "2,b"), error="a quote is opened"),
    Messy("no names", text("1.5,2,0", "3,4,1"), error="the first line holds numbers, not names"),
    Messy("a name twice", text("a,a,y", "1,2,a"), error="two columns are named 'a'"),
]
