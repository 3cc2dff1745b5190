"""Which inputs an export reads."""

from pathlib import Path

import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.export import to_c
from tests.suites.compilers import compile_c, needs_compiler
from tests.suites.export_cases import (
    blobs,
)


@needs_compiler
def test_names_of_plain_inputs_are_told(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    X, y = blobs(2, 3)
    model = FCGBoostClassifier("gauss", max_iter=2).fit(
        pd.DataFrame(X, columns=["a", "*/", "SIZES"]), y
    )
    text = to_c(model)
    assert ' * x[1] is "*\\/"\n * x[2] is "SIZES"\n' in text
    compile_c(tmp_path, f"{text}int main(void) {{ return 0; }}\n")
