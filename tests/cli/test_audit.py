"""`fcgboost audit`: suspicious rows by their places in a file."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import make_friedman1

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import make_simulation
from tests.suites.commands import read_exactly, run, run_json
from tests.suites.rows import write

#: Quick where it does not matter what judges.
QUICK = ("--set", "dictionary=gauss", "--set", "max_iter=8", "--set", "cv=3")


def table(n_rows: int = 150) -> pd.DataFrame:
    """Give rows of which every tenth has the wrong label, one has none, and notes have lines."""
    X, y = make_simulation(n_rows, random_state=0)
    wrong = np.arange(n_rows) % 10 == 0
    labels = np.where((y > 0) ^ wrong, "yes", "no")
    rows = pd.DataFrame(X, columns=["a", "b"])
    rows["id"] = [f"=1+{i:03d}" for i in range(n_rows)]
    rows["note"] = np.where(np.arange(n_rows) % 2, "one", 'first "line"\nsecond')
    rows["checked"] = ""
    rows["y"] = labels
    rows.loc[5, "y"] = None
    return rows


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("audit") / "t.csv", table())


def audit_of(rows: pd.DataFrame, **of_rows: Any) -> Any:
    clf = FCGBoostClassifier("gauss", max_iter=8, cv=3, random_state=0)
    labelled = rows[rows["y"].notna()]
    X, y = labelled[["a", "b"]], labelled["y"].to_numpy()
    return clf.fit(X, y, **of_rows).audit(X, y)


def command(data: Path, *more: Any) -> list[Any]:
    drop = [part for name in ("id", "note", "checked") for part in ("--drop", name)]
    return ["audit", data, "--target", "y", *QUICK, *drop, *more]


def test_the_file_has_what_python_finds(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "suspects.csv"
    assert run(*command(data, "--out", out, "--top", 6, "--keep", "id", "--keep", "note")) == 0
    audit = audit_of(table())
    suspects = audit.suspects[:6]
    found = read_exactly(out)
    assert list(found) == [
        *("row", "line", "id", "note", "given_label", "predicted_label", "label_quality"),
        *("label_probability", "reasons"),
    ]
    expected = audit.to_frame().iloc[suspects]
    positions = expected.index.to_numpy()
    assert found["row"].tolist() == (positions + 1).tolist()
    for name in ("given_label", "predicted_label", "label_quality", "label_probability"):
        assert found[name].tolist() == expected[name].tolist(), name
    assert found["reasons"].tolist() == audit.reasons(suspects)
    kept = table().iloc[positions]
    assert found["id"].tolist() == kept["id"].tolist()
    assert found["note"].tolist() == kept["note"].tolist()


def test_the_line_is_where_the_row_begins(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "suspects.csv"
    assert run(*command(data, "--out", out, "--keep", "id")) == 0
    lines = data.read_text().splitlines()
    for row in read_exactly(out).to_dict("records"):
        assert row["id"] in lines[row["line"] - 1]
        assert row["line"] > row["row"] + 1 or row["row"] == 1


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_files_without_lines_have_no_column_of_them(tmp_path: Path, suffix: str) -> None:
    data = write(tmp_path / f"t.{suffix}", table())
    out = tmp_path / "suspects.parquet"
    assert run(*command(data, "--out", out, "--keep", "id")) == 0
    found = pq.read_table(out).to_pandas()
    assert list(found)[:3] == ["row", "id", "given_label"]
    assert found["id"].tolist() == [f"=1+{row - 1:03d}" for row in found["row"]]


def test_formulas_are_escaped_on_request(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "suspects.csv"
    for options, mark in (((), "="), (("--escape-formulas",), "'=")):
        assert run(*command(data, "--out", out, "--keep", "id", *options)) == 0
        assert read_exactly(out)["id"].str.startswith(mark).all()


def test_the_terminal_counts_rows_from_1_and_shows_progress(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*command(data)) == 0
    told = capsys.readouterr()
    audit = audit_of(table())
    first = audit.to_frame().index[audit.suspects[:10]] + 1
    lines = told.out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("row ")) + 1
    assert [int(line.split()[0]) for line in lines[start : start + len(first)]] == first.tolist()
    assert lines[-1].endswith("add --out suspects.csv or --report audit.html.")
    assert "Fitting: 100 %, " in told.err


def test_json_has_kept_columns_as_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = table()
    rows["day"] = pd.Timestamp("2020-01-01")
    data = write(tmp_path / "t.parquet", rows)
    told = run_json(capsys, *command(data, "--keep", "day", "--drop", "day"))
    assert {one["day"] for one in told["suspects"]} == {"2020-01-01 00:00:00"}


def test_json_has_the_suspects_and_shares(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = run_json(capsys, *command(data, "--top", 3))
    audit = audit_of(table())
    assert told["n_rows"] == 149
    assert told["n_suspicious"] == len(audit.suspects)
    assert told["wrong"]["low"] == audit.wrong.low
    assert list(told["wrong_by_class"]) == ["no", "yes"]
    assert [one["row"] for one in told["suspects"]] == [
        int(row) + 1 for row in audit.to_frame().index[audit.suspects[:3]]
    ]


def test_rows_that_are_checked_are_no_suspects(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "suspects.csv"
    rows = table()
    first = audit_of(rows).to_frame().index[audit_of(rows).suspects[:4]]
    rows.loc[first, "checked"] = ["1", " Yes ", "TRUE", "no"]
    checked = write(tmp_path / "t.csv", rows)
    drop = ["--drop", "id", "--drop", "note"]
    assert (
        run("audit", checked, "--target", "y", *QUICK, *drop, "--trusted", "checked", "--out", out)
        == 0
    )
    found = set(read_exactly(out)["row"])
    assert not found & set((first[:3] + 1).tolist())
    assert first[3] + 1 in found


def test_models_that_are_no_members_give_no_reasons(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "suspects.csv"
    assert run(*command(data, "--set", "ensemble=false", "--out", out)) == 0
    assert list(read_exactly(out))[-1] == "label_probability"


def test_sparse_rows_are_audited(tmp_path: Path) -> None:
    rows = table().dropna()
    lines = [
        f"{int(y == 'yes')} 1:{a!r} 2:{b!r}"
        for a, b, y in rows[["a", "b", "y"]].itertuples(index=False)
    ]
    (tmp_path / "t.svm").write_text("# made by a test\n" + "\n".join(lines) + "\n")
    out = tmp_path / "suspects.csv"
    assert run("audit", tmp_path / "t.svm", *QUICK, "--out", out) == 0
    found = read_exactly(out)
    assert (found["line"] == found["row"] + 1).all()
    assert set(found["given_label"]) <= {0, 1}


def test_the_page_names_rows_as_the_file_does(data: Path, tmp_path: Path) -> None:
    from tests.suites.pages import read

    page = tmp_path / "audit.html"
    assert run(*command(data, "--report", page, "--keep", "id", "--out", tmp_path / "s.csv")) == 0
    heads, rows = read(page).table("more likely")
    assert heads[4:6] == ["line", "id"]
    with (tmp_path / "s.csv").open(newline="") as file:
        expected = [[line["row"], line["id"]] for line in csv.DictReader(file)]
    assert [[row[0], row[5]] for row in rows] == expected
    assert read(page).text.startswith("An audit of y ")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--trusted", "note"], "row 1, column 'note'"),
        (["--keep", "ids"], "did you mean 'id'"),
        (["--set", "cv=null"], "cv=None"),
        (["--out", "{}/s.xlsx"], "must end in .csv"),
        (["--report", "{}/no/audit.html"], "there is no folder"),
        (["--report", "{}/t.csv"], "is an input"),
        (["--out", "{}/s.csv", "--report", "{}/s.csv"], "the same name"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_is_written(
    data: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    before = sorted(data.parent.iterdir())
    found = [option.format(data.parent) for option in options]
    assert run("audit", data, "--target", "y", *QUICK, *found) == 3
    errors = capsys.readouterr().err.splitlines()
    assert words in errors[-1]
    assert errors[-1].startswith("fcgboost: ")
    assert sorted(data.parent.iterdir()) == before


def test_a_kept_column_of_a_name_that_is_taken_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write(tmp_path / "t.csv", table().rename(columns={"id": "row"}))
    out = tmp_path / "s.csv"
    assert run("audit", data, "--target", "y", *QUICK, "--keep", "row", "--out", out) == 3
    assert "--keep row: the result has a column of that name" in capsys.readouterr().err
    assert not out.exists()


def test_numbers_are_audited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = make_friedman1(200, n_features=5, noise=0.5, random_state=0)
    y[11] *= 10.0
    rows = pd.DataFrame(X, columns=list("abcde")).assign(price=y)
    data = write(tmp_path / "t.csv", rows)
    out = tmp_path / "s.csv"
    quick = ("--target", "price", "--set", "dictionary=relu", *QUICK[2:])
    assert run("audit", data, *quick, "--out", out) == 0
    assert "suspicious target" in capsys.readouterr().out
    found = read_exactly(out)
    assert list(found) == ["row", "line", "given", "predicted", "residual", "reasons"]
    assert found["row"][0] == 12
    told = run_json(capsys, "audit", data, *quick)
    assert [one["row"] for one in told["suspects"]] == found["row"].tolist()
    assert "wrong" not in told
    page = tmp_path / "audit.html"
    assert run("audit", data, *quick, "--report", page) == 3
    assert "--report shows labels only" in capsys.readouterr().err
    assert not page.exists()
