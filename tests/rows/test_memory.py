"""A model remembers how its file was written, and later files are read alike."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcgboost import FCGBoostClassifier, load_model
from fcgboost.rows import model_batches, open_rows, read_table
from tests.suites.commands import GAUSS, run
from tests.suites.rows import put

#: How numbers may be written: the decimal mark, the mark of thousands, and what is around them.
STYLES = [
    (".", "", "{}"),
    (",", "", "{}"),
    (".", ",", "{}"),
    (",", ".", "{}"),
    (".", "'", "{}"),
    (",", " ", "{}"),
    (",", "\u00a0", "{} €"),
    (".", ",", "$ {}"),
    (".", "", "{} %"),
    (",", ".", "EUR {}"),
]


def written(number: float, decimal: str, thousands: str, around: str) -> str:
    marks = str.maketrans({",": thousands, ".": decimal})
    return around.format(f"{number:,.2f}".translate(marks))


def lines(n: int = 120, **style: str) -> list[tuple[str, str, str]]:
    rng = np.random.default_rng(0)
    values = np.round(rng.normal(2000.0, 900.0, n), 2)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D")
    labels = np.where(values > 2000.0, "ja", "nein")
    return [
        (written(value, ",", ".", "{} €"), f"{day:%d.%m.%Y}", label)
        for value, day, label in zip(values, days, labels, strict=True)
    ]


def save(path: Path, rows: list[tuple[str, str, str]], separator: str = ";") -> Path:
    names = ("betrag", "tag", "y")
    quoted = [separator.join(f'"{cell}"' for cell in row) for row in (names, *rows)]
    path.write_text("\n".join(quoted) + "\n", encoding="cp1252")
    return path


@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=30),
    st.sampled_from(STYLES),
    st.sampled_from("\t;|"),
)
def test_numbers_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory,
    cents: list[int],
    style: tuple[str, str, str],
    separator: str,
) -> None:
    numbers = [cent / 100 for cent in cents]
    texts = [f"{written(number, *style)}{separator}{i % 2}\n" for i, number in enumerate(numbers)]
    path = put(tmp_path_factory.mktemp("rows"), "a.csv", f"n{separator}y\n" + "".join(texts))
    X, _ = read_table(path, "y", tell=str)
    assert X["n"].tolist() == numbers


@pytest.mark.parametrize("separator", [";", ","])
def test_commands_read_later_files_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], separator: str
) -> None:
    path = save(tmp_path / "a.csv", lines(), separator)
    model = tmp_path / "m.json"
    fit = ["fit", path, "--target", "y", *GAUSS, "--set", "max_iter=3", "--encoding", "cp1252"]
    assert run(*fit, "--out", model, "--test-out", tmp_path / "test.csv") == 0
    told = capsys.readouterr().err
    assert "Read as numbers with €, with a decimal comma: betrag." in told
    assert "Read as dates, day first: tag." in told
    clf = load_model(model)
    X, _ = read_table(path, "y", encoding="cp1252", tell=str)
    expected = clf.decision_function(X)
    reading = clf.about_["data"]["reading"]
    # Alone, none of these rows says how it is written.
    vague = [("1.234 €", "03.04.2020", "ja"), ("2.345 €", "05.06.2021", "nein")]
    save(tmp_path / "b.csv", vague, separator)
    with open_rows(tmp_path / "b.csv", like=reading) as rows:
        [batch] = model_batches(clf, rows)
    assert batch.X["betrag"].tolist() == [1234.0, 2345.0]
    assert pd.to_datetime(batch.X["tag"]).dt.month.tolist() == [4, 6]
    for n_rows in (1, 7, 120):
        with open_rows(path, like=reading) as rows:
            batches = list(model_batches(clf, rows, n_rows=n_rows))
        amounts = np.concatenate([one.X["betrag"] for one in batches])
        np.testing.assert_array_equal(amounts, X["betrag"])
        decision = np.concatenate([one.decision for one in batches])
        np.testing.assert_allclose(decision, expected, rtol=1e-9)
    # The held-out rows are read as what they are, however they are written.
    held_out, _ = read_table(tmp_path / "test.csv", "y", tell=str)
    with open_rows(tmp_path / "test.csv", like=reading) as rows:
        [batch] = model_batches(clf, rows)
    np.testing.assert_allclose(batch.decision, clf.decision_function(held_out), rtol=1e-9)
    assert set(held_out["betrag"]) <= set(X["betrag"])


@pytest.mark.parametrize(
    "record",
    [
        {"columns": 3},
        {"columns": {"tag": ["days"] * 3}},
        {"columns": {"tag": ["days", "year first"]}},
        {"columns": {"tag": [[], ""]}},
        {"encoding": 5},
        {"colour": "red"},
    ],
)
def test_a_damaged_memory_is_refused(tmp_path: Path, record: dict[str, object]) -> None:
    path = save(tmp_path / "a.csv", lines())
    with (
        pytest.raises(ValueError, match="What the model says about its file cannot be used"),
        open_rows(path, like=record),
    ):
        pass


def test_a_sheet_and_merged_spellings_are_remembered(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    table = pd.DataFrame({"a": ["x", "X", "z", "x"] * 10, "n": range(40), "y": ["J", "j"] * 20})
    table["y"] = ["J", "j", "n", "J"] * 10
    with pd.ExcelWriter(tmp_path / "a.xlsx") as book:
        pd.DataFrame({"a": ["no"]}).to_excel(book, sheet_name="first", index=False)
        table.to_excel(book, sheet_name="rows", index=False)
    options = ["--sheet", "rows", "--merge-spellings", "--out", tmp_path / "m.json"]
    assert run("fit", tmp_path / "a.xlsx", "--target", "y", *GAUSS, *options) == 0
    clf = load_model(tmp_path / "m.json")
    assert clf.classes_.tolist() == ["J", "n"]
    assert clf.columns_[0].levels == ("x", "z")
    with open_rows(tmp_path / "a.xlsx", like=clf.about_["data"]["reading"]) as rows:
        [batch] = model_batches(clf, rows)
    assert batch.X["a"].tolist() == ["x", "x", "z", "x"] * 10
    assert run("evaluate", tmp_path / "m.json", tmp_path / "a.xlsx") == 0


def test_without_a_memory_semicolons_mean_that_commas_are_decimal_marks(tmp_path: Path) -> None:
    clf = FCGBoostClassifier("gauss", max_iter=2).fit(pd.DataFrame({"n": range(20)}), [0, 1] * 10)
    path = put(tmp_path, "a.csv", "n;y\n1,234;0\n1.001;1\n-2,5;1\n")
    for n_rows in (1, 3):
        with open_rows(path) as rows:
            found = [n for batch in model_batches(clf, rows, n_rows=n_rows) for n in batch.X["n"]]
        assert found == [1.234, 1.001, -2.5]
