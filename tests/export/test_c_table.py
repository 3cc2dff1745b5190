"""Cells of a table in C: fields, gaps and levels."""

import re
from pathlib import Path

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.export import to_c
from fcgboost.tables import CategoryColumn
from tests.suites.compilers import compile_c, needs_compiler
from tests.suites.export_cases import (
    ODD_NAMES,
    case,
    is_encodable,
)
from tests.suites.export_tables import table_of


@needs_compiler
def test_columns_with_odd_names_become_fields(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    names = [name for name in ODD_NAMES if is_encodable(name)]
    X = pd.DataFrame({name: rng.normal(size=40) for name in names[::2]})
    for name in names[1::2]:
        X[name] = rng.choice(["a", "b", "c"], 40)
    X["*/ constant"] = 1.0
    model = FCGBoostClassifier("gauss", max_iter=3)
    model.fit(X, rng.integers(0, 2, 40))
    text = to_c(model, name="m")
    user = (
        "int classify(const m_input *x);\nint classify(const m_input *x) { return m_predict(x); }"
    )
    fields = re.search(r"typedef struct \{\n(.*?)\} m_input;", text, re.DOTALL).group(1)
    assert len(set(re.findall(r"(\w+); /\*", fields))) == len(names) + 1
    for standard in ("-std=c99", "-std=gnu11"):
        assert compile_c(tmp_path, f"{text}{user}\n", standard, "-c").exists()


def test_a_table_is_read_once_for_all_members() -> None:
    model = case("members_table").model
    text = to_c(model, name="m")
    categories = [column for column in table_of(model) if isinstance(column, CategoryColumn)]
    assert text.count("= (double)m_find(x->") == len(categories)
    assert text.count("] = m_hour(") == 1
    assert len(model.members_) > 3
    assert text.count("double inputs[") == text.count("double cells[") == 1
