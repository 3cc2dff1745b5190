"""Pictures are images in the page, whatever names they show."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.report import write_model_report


@pytest.mark.parametrize(
    "odd",
    [
        *("\x1b[31m", "\ud800"),
        *(pytest.param(odd, marks=pytest.mark.slow) for odd in ("\0", "\x9b", "\ufffe", "\uffff")),
    ],
)
def test_names_that_no_drawing_can_hold_are_shown_with_a_sign(tmp_path: Path, odd: str) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=80).astype(object), rng.choice([f"u{odd}", "v"], 80)])
    y = np.array([f"no{odd}", "yes"], dtype=object)[(X[:, 0] > 0.0).astype(int)]
    if odd != "\ud800":  # which pandas refuses
        X = pd.DataFrame(X, columns=[f"a{odd}", "b"])
    model = FCGBoostClassifier("gauss", max_iter=3, random_state=0).fit(X, y)
    for row in (int(np.argmax(y == "yes")), int(np.argmax(y != "yes"))):
        path = write_model_report(tmp_path / "page.html", model, X, y, title=f"A {odd}", row=row)
    text = path.read_text(encoding="utf-8")
    assert odd not in text
    assert odd[0] not in text
    assert "no\N{REPLACEMENT CHARACTER}" in text
    assert "data:image/svg+xml" in text
