"""Stray texts among numbers, and how files of text and workbooks write numbers and dates."""

import datetime
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from fcgboost import FCGBoostClassifier
from fcgboost.rows import read_table
from fcgboost.rows.batches import model_batches
from tests.suites.commands import GAUSS, run
from tests.suites.rows import open_rows, put, write

openpyxl = pytest.importorskip("openpyxl")


def read(path: Path, *, categories: Any = "from_dtype", **options: Any) -> pd.DataFrame:
    with open_rows(path, **options) as rows:
        return rows.read("y", (), categories)[0]


def numbers(n: int = 100, **strays: str) -> pd.DataFrame:
    """Give texts of numbers and of dates, but for some rows that are named as "r7"."""
    texts = [str(i / 4) for i in range(n)]
    days = [str(np.datetime64("2020-01-01") + i) for i in range(n)]
    for row, text in strays.items():
        texts[int(row[1:]) - 1] = days[int(row[1:]) - 1] = text
    return pd.DataFrame({"n": texts, "d": days, "y": ["a", "b"] * (n // 2)})


def save(path: Path, table: pd.DataFrame) -> Path:
    if path.suffix == ".xlsx":
        table.to_excel(path, index=False)
        return path
    return write(path, table)


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow", "xlsx"])
def test_stray_texts_among_numbers_and_dates_are_missing(tmp_path, capsys, format) -> None:
    table = numbers(r7="unknown", r50="12 approx")
    X = read(save(tmp_path / f"a.{format}", table))
    assert X["n"].dtype == np.float64
    assert X["d"].dtype.kind == "M"
    expected = pd.to_numeric(table["n"], errors="coerce")
    np.testing.assert_array_equal(X["n"], expected)
    assert X["d"].isna().tolist() == expected.isna().tolist()
    assert capsys.readouterr().err.splitlines() == [
        f"Column {name}: stray text in 2 cells counts as missing "
        '(row 7: "unknown"; row 50: "12 approx").'
        for name in "nd"
    ]


def test_only_the_first_strays_are_shown(tmp_path, capsys) -> None:
    table = numbers(200, **{f"r{row}": f"t{row}" for row in range(11, 20)}).drop(columns="d")
    read(save(tmp_path / "a.csv", table))
    assert capsys.readouterr().err == (
        "Column n: stray text in 9 cells counts as missing "
        '(row 11: "t11"; row 12: "t12"; row 13: "t13"; ...).\n'
    )


def test_fewer_than_95_per_cent_of_numbers_are_categories(tmp_path) -> None:
    for n_strays, is_number in ((5, True), (6, False)):
        table = numbers(**{f"r{row}": "x" for row in range(1, n_strays + 1)})
        X = read(save(tmp_path / "a.csv", table))
        assert (X["n"].dtype == np.float64) == is_number
    few = numbers(20, r3="x")  # 19 numbers are too few to tell
    assert read(save(tmp_path / "a.csv", few))["n"].iloc[2] == "x"


def test_a_few_codes_with_leading_zeros_are_no_strays(tmp_path) -> None:
    table = numbers(r7="01067").assign(n=lambda table: table["n"].replace("0.0", "0"))
    assert read(save(tmp_path / "a.csv", table))["n"].iloc[6] == "01067"
    day = [f"{1 + i % 28:02}.{1 + i % 12:02}.2020" for i in range(99)] + ["soon"]
    path = save(tmp_path / "a.csv", numbers().assign(d=day))
    X = read(path, dayfirst=True)
    assert X["d"].dtype.kind == "M"
    assert X["d"].isna().sum() == 1


def test_a_listed_category_keeps_its_texts(tmp_path, capsys) -> None:
    path = save(tmp_path / "a.csv", numbers(r7="unknown"))
    assert read(path, categories=["n"])["n"].iloc[6] == "unknown"
    assert "Column n" not in capsys.readouterr().err


@pytest.mark.parametrize("format", ["csv", "parquet", "xlsx"])
def test_strict_reading_refuses_strays(tmp_path, format) -> None:
    path = save(tmp_path / f"a.{format}", numbers(r7="unknown"))
    message = rf"a\.{format}, column 'n', row 7: \"unknown\" does not belong among numbers"
    with pytest.raises(ValueError, match=message):
        read(path, strict=True)
    assert len(read(save(path, numbers()), strict=True)) == 100


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_later_strays_are_missing_in_all_batches(tmp_path, capsys, format) -> None:
    X = numbers().assign(n=lambda table: table["n"].astype(float)).drop(columns="d")
    clf = FCGBoostClassifier("gauss", max_iter=2).fit(X[["n"]], X["y"])
    path = save(tmp_path / f"a.{format}", numbers(r7="unknown", r50="n/a?"))
    with open_rows(path) as rows:
        found = np.concatenate([one.decision for one in model_batches(clf, rows, n_rows=30)])
    X.loc[[6, 49], "n"] = np.nan
    np.testing.assert_array_equal(found, clf.decision_function(X[["n"]]))
    assert capsys.readouterr().err == (
        'Column n: stray text in 2 cells counts as missing (row 7: "unknown"; row 50: "n/a?").\n'
    )
    path = save(path, numbers(r50="n/a?"))
    with (
        pytest.raises(ValueError, match='row 50: "n/a\\?"'),
        open_rows(path, strict=True) as rows,
    ):
        list(model_batches(clf, rows, n_rows=30))


def test_a_column_that_is_mostly_text_is_refused_later(tmp_path) -> None:
    X = numbers().assign(n=lambda table: table["n"].astype(float))
    clf = FCGBoostClassifier("gauss", max_iter=2).fit(X[["n"]], X["y"])
    path = put(tmp_path, "a.csv", "n\n" + "x\n" * 60 + "1\n" * 40)
    message = r"column 'n': 60 of 100 cells are not numbers \(row 1: \"x\"\)\. The options decimal"
    with pytest.raises(ValueError, match=message), open_rows(path) as rows:
        list(model_batches(clf, rows))


def test_commands_take_messy_files(tmp_path, capsys) -> None:
    table = numbers(200, r7="unknown").assign(z=np.arange(200) % 7)
    path, model = save(tmp_path / "a.csv", table), tmp_path / "m.json"
    command = ["fit", path, "--target", "y", *GAUSS, "--set", "max_iter=3", "--out", model]
    assert run(*command, "--strict") == 3
    assert "row 7" in capsys.readouterr().err
    assert run(*command) == 0
    for rest in (["evaluate", model, path], ["predict", model, path, "--out", tmp_path / "p.csv"]):
        capsys.readouterr()
        assert run(*rest) == 0
        assert 'Column n: stray text in 1 cell counts as missing (row 7: "unknown").' in (
            capsys.readouterr().err
        )
        assert run(*rest, "--strict") == 3


# How text is written


@pytest.mark.parametrize("encoding", ["latin1", "utf-16", "utf-16-be", "cp1252", "utf-8-sig"])
def test_an_encoding_may_be_named(tmp_path, encoding) -> None:
    text = "Größe,y\n" + "é,a\nü,b\n" * 300_000
    path = put(tmp_path, "a.csv", text.encode(encoding))
    X = read(path, encoding=encoding)
    assert X["Größe"].tolist() == ["é", "ü"] * 300_000


def test_utf_16_is_known_by_its_mark(tmp_path) -> None:
    path = put(tmp_path, "a.csv", "a\ty\né\t1\nü\t2\n".encode("utf-16"))
    assert read(path)["a"].tolist() == ["é", "ü"]


@pytest.mark.parametrize("text", ["é,y\n1,2\n", "a,y\n1,2\n" + "1,é\n" * 400_000], ids=len)
def test_a_wrong_encoding_is_an_error(tmp_path, text) -> None:
    path = put(tmp_path, "a.csv", text.encode("latin1"))
    with pytest.raises(ValueError, match=r"a\.csv: the text is not ascii; name its encoding"):
        read(path, encoding="ascii")


@pytest.mark.parametrize(
    ("options", "fields", "expected"),
    [
        ({"thousands": "."}, ["1.234,5", "7", "2.000.000", "0,25"], [1234.5, 7.0, 2e6, 0.25]),
        ({"thousands": ","}, ["1,234.5", "7", "-2,000", "+.5"], [1234.5, 7.0, -2000.0, 0.5]),
        ({"thousands": "'"}, ["1'234.5", "7e2", "2'000", ""], [1234.5, 700.0, 2000.0, np.nan]),
        ({"decimal": ","}, ["1234,5", "7", "-,5", "3,e2"], [1234.5, 7.0, -0.5, 300.0]),
    ],
)
def test_numbers_are_read_as_they_are_written(tmp_path, options, fields, expected) -> None:
    lines = "".join(f'"{field}",1\n' for field in fields)
    path = put(tmp_path, "a.csv", "n,y\n" + lines)
    np.testing.assert_array_equal(read(path, **options)["n"], expected)
    table = pd.DataFrame({"n": np.arange(20.0), "y": [0, 1] * 10})
    clf = FCGBoostClassifier("gauss", max_iter=2).fit(table[["n"]], table["y"])
    with open_rows(path, **options) as rows:
        [batch] = model_batches(clf, rows)
    np.testing.assert_array_equal(batch.X["n"], expected)


def test_strays_do_not_hide_how_numbers_are_written(tmp_path, capsys) -> None:
    lines = [f"{i}.000,5;1\n" for i in range(1, 60)]
    path = put(tmp_path, "a.csv", "n;y\n" + "".join(lines) + "rund 7;1\n")
    X = read(path, thousands=".")
    assert X["n"].tolist()[:2] == [1000.5, 2000.5]
    assert 'row 60: "rund 7"' in capsys.readouterr().err


def test_between_semicolons_the_decimal_mark_may_be_a_point(tmp_path) -> None:
    path = put(tmp_path, "a.csv", "n;y\n1,234.5;1\n1,000;2\n")
    X = read(path, thousands=",")
    assert X["n"].tolist() == [1234.5, 1000.0]
    with pytest.raises(ValueError, match="decimal and thousands must differ"):
        read(path, thousands=",", decimal=",")


@pytest.mark.parametrize(
    ("dayfirst", "fields"),
    [(True, ["31/12/2020", "1.2.2021"]), (False, ["12/31/2020", "2-1-2021"])],
)
def test_dates_are_read_as_they_are_written(tmp_path, dayfirst, fields) -> None:
    path = put(tmp_path, "a.csv", "d,y\n" + "".join(f"{field},1\n" for field in fields))
    X = read(path, dayfirst=dayfirst)
    assert X["d"].tolist() == [pd.Timestamp("2020-12-31"), pd.Timestamp("2021-02-01")]
    assert read(path)["d"].tolist() == X["d"].tolist()  # 31 is no month
    path = put(tmp_path, "a.csv", f"d,y\n{fields[0]} 10:30,1\n{fields[1]} 09:00:30,1\n")
    X = read(path, dayfirst=dayfirst)
    assert X["d"].iloc[1] == pd.Timestamp("2021-02-01 09:00:30")


def test_a_day_that_no_month_has_is_shown_as_it_is_written(tmp_path, capsys) -> None:
    days = [f"{1 + i % 28}/{1 + i % 12}/2020" for i in range(60)]
    path = put(tmp_path, "a.csv", "d,y\n" + "".join(f"{day},1\n" for day in days) + "31/2/2020,1\n")
    assert read(path, dayfirst=True)["d"].isna().sum() == 1
    assert 'Column d: stray text in 1 cell counts as missing (row 61: "31/2/2020").' in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("format", "options"),
    [
        *(("parquet", {"encoding": "latin1"}), ("parquet", {"dayfirst": True})),
        *(("xlsx", {"encoding": "latin1"}), ("xlsx", {"thousands": "."})),
    ],
)
def test_options_that_a_file_has_no_use_for_are_refused(tmp_path, format, options) -> None:
    path = save(tmp_path / f"a.{format}", numbers())
    with pytest.raises(ValueError, match=f"{next(iter(options))} does not apply to .*{format}:"):
        read(path, **options)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [("--encoding", "klingon", "name of an encoding"), ("--thousands", "12", "one sign")],
)
def test_unknown_encodings_and_marks_are_refused(capsys, option, value, message) -> None:
    with pytest.raises(SystemExit):
        run("fit", "a.csv", "--target", "y", option, value)
    assert message in capsys.readouterr().err


# Workbooks


def test_a_workbook_is_read_as_a_table(tmp_path, capsys) -> None:
    table = pd.DataFrame(
        {
            "n": [1.5, None, 0.1 + 0.2],
            "i": [1, 2, 3],
            "t": ["x", "é, ü", None],
            "b": [True, False, True],
            "d": pd.to_datetime(["2020-01-31", "2020-02-01", None]),
            "h": [datetime.datetime(2020, 1, 1, 10, 30)] * 3,
            "code": ["007", "010", "7"],
            "y": ["a", "b", "a"],
        }
    )
    table.to_excel(tmp_path / "a.xlsx", index=False)
    X = read(tmp_path / "a.xlsx")
    table.to_csv(tmp_path / "a.csv", index=False)
    assert_frame_equal(X, read(tmp_path / "a.csv"))
    assert (tmp_path / "a.xlsx").rename(tmp_path / "rows").exists()
    assert_frame_equal(read(tmp_path / "rows"), X)
    large = save(tmp_path / "b.xlsx", numbers(3000)).rename(tmp_path / "large")
    assert len(read(large)) == 3000
    assert capsys.readouterr().err == ""


def test_the_first_sheet_is_read_and_empty_rows_do_not_count(tmp_path, capsys) -> None:
    book = openpyxl.Workbook()
    for row in ([], ["a", "y", None], [1, "p"], [None, None], [2, "q", None]):
        book.active.append(row)
    book.create_sheet("notes").append(["none"])
    book.save(tmp_path / "a.xlsx")
    assert read(tmp_path / "a.xlsx")["a"].tolist() == [1, 2]
    assert "a.xlsx has 2 sheets; 'Sheet' is read." in capsys.readouterr().err
    book.active.append([3, "p", "more"])
    book.save(tmp_path / "a.xlsx")
    assert read(tmp_path / "a.xlsx").columns.tolist() == ["a", "Unnamed: 2"]


def test_what_a_workbook_unpacks_to_is_limited(tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", bytes(2**22))
    with pytest.raises(ValueError, match="asks for more than"):
        read(tmp_path / "a.xlsx", max_bytes=2**21)
    with pytest.raises(ValueError, match=r"a\.xlsx is damaged, or not of its format"):
        read(tmp_path / "a.xlsx")
    openpyxl.Workbook().save(tmp_path / "a.xlsx")
    with pytest.raises(ValueError, match="sheet 'Sheet' is empty"):
        read(tmp_path / "a.xlsx")


def test_without_its_reader_the_extra_is_named(tmp_path, capsys, monkeypatch) -> None:
    path = save(tmp_path / "a.xlsx", numbers())
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert run("fit", path, "--target", "y", "--out", tmp_path / "m.json") == 5
    assert "Excel files need openpyxl: python -m pip install 'fcgboost[excel]'" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("n", [25, 60])
def test_a_quantity_is_a_target_however_it_is_written(n: int, tmp_path: Path) -> None:
    path = tmp_path / "ages.csv"
    path.write_text("x,age\n" + "".join(f"{i},{i % n} kg\n" for i in range(99)), "utf-8")
    assert read_table(path, "age")[1].dtype.kind == "U"
    path.write_text("x,age\n" + "".join(f"{i},${i % n}\n" for i in range(99)), "utf-8")
    _, y = read_table(path, "age", tell=lambda _: None)
    assert y.tolist() == [i % n for i in range(99)]


def test_dates_do_not_keep_separators_from_deciding_on_numbers(tmp_path) -> None:
    path = put(tmp_path, "a.csv", 'd,n,y\n31/12/2020,"1,234",a\n1/2/2021,"9,000",b\n')
    assert read(path)["n"].tolist() == [1234.0, 9000.0]
    path = put(tmp_path, "b.csv", "d;n;y\n31/12/2020;1,234;a\n1/2/2021;9,000;b\n")
    assert read(path)["n"].tolist() == [1.234, 9.0]
