"""Messy files are read as a person would, or what is the matter is said."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.rows import read_table
from tests.suites.messy import CASES, Messy


def read(case: Messy, folder: Path) -> tuple[pd.DataFrame, list[Any], str]:
    """Return columns, labels, and all that is said when a file is read and fitted to."""
    path = folder / f"rows{case.suffix}"
    path.write_bytes(case.bytes())
    told: list[str] = []
    X, y = read_table(path, "y", tell=told.append, **case.options)
    assert y is not None
    # Three times, as a level of one row is no input.
    thrice = pd.concat([X] * 3, ignore_index=True)
    told += FCGBoostClassifier("gauss", max_iter=1).fit(thrice, np.tile(y, 3)).notes_
    assert len(set(told)) == len(told)
    return X, y.tolist(), "\n".join(told)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
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


def test_the_files_are_listed_in_the_docs() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 30
    page = (Path(__file__).parents[2] / "docs" / "results" / "STUDIES.md").read_text(
        encoding="utf-8"
    )
    for case in CASES:
        assert f"| {case.name} |" in page
