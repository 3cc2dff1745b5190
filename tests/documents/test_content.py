"""What is in a file, as others may write it."""

from pathlib import Path

import numpy as np

from fcgboost.io import load_model
from tests.suites.documents import document
from tests.suites.models import MODELS


def test_numbers_may_be_written_as_others_write_them(tmp_path: Path) -> None:
    text = document("relu").replace("{", "{\n\t").replace('"tol": 1e-06', '"tol": 0.000001')
    path = tmp_path / "model.json"
    path.write_text(text.replace("0.0,", "0,"), encoding="utf-8")
    model = load_model(path)
    assert np.array_equal(model.atom_coef_, MODELS["relu, squared_hinge"]().atom_coef_)
    assert model.tol == 1e-6
