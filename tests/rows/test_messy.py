"""Messy files are read as a person would, or what is the matter is said."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fcgboost.rows import read_table
from fcgboost.tables.learning import learn_column
from tests.suites.messy import CASES, Messy

#: What is not yet read.
NOT_YET = {
    "UTF-16 and tabs",
    "semicolons and decimal commas",
    "percent signs",
    "dollars and thousands",
    "euros after the amount",
    "the code of a currency",
    "commas between thousands",
    "points between thousands",
    "spaces between thousands",
    "apostrophes between thousands",
    "1.234 and nothing else to tell",
    "1.234 beside a column that tells",
    "days first",
    "months first",
    "03/04/2020 beside a column that tells",
    "years first, with slashes",
    "names of months",
    "a title above the names",
    "a workbook with a title",
    "a sheet by its name",
    "a sheet that is not there",
    "spellings of labels and levels",
    "spellings that are merged",
    "rows equal but for the label",
    "rows without a label",
    "empty lines and separators at the end",
    "units",
    "stray text among euros",
}


def read(case: Messy, folder: Path) -> tuple[pd.DataFrame, list[Any], str]:
    """Return columns, labels, and all that is said when a file is read and its columns learned."""
    path = folder / f"rows{case.suffix}"
    path.write_bytes(case.bytes())
    told: list[str] = []
    X, y = read_table(path, "y", tell=told.append, **case.options)
    for name in X:
        told += learn_column(name, X[name]).notes
    return X, y.tolist(), "\n".join(told)


def mark(case: Messy) -> Any:
    marks = [pytest.mark.xfail(strict=True)] if case.name in NOT_YET else []
    return pytest.param(case, id=case.name, marks=marks)


@pytest.mark.parametrize("case", list(map(mark, CASES)))
def test_a_messy_file_is_read_or_told(case: Messy, tmp_path: Path) -> None:
    if case.suffix == ".xlsx":
        pytest.importorskip("openpyxl", reason="workbooks are made with openpyxl")
    if case.error is not None:
        with pytest.raises(ValueError, match=re.escape(case.error)):
            read(case, tmp_path)
        return
    X, labels, told = read(case, tmp_path)
    cells = {name: X[name].astype(object).where(X[name].notna(), None).tolist() for name in X}
    assert cells == case.columns
    assert labels == list(case.labels)
    for part in case.told:
        assert re.search(part, told)


def test_there_are_thirty_files() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 30
