"""Errors along the path are those of truncated models."""

from typing import Any

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier
from tests.suites.pages import (
    Reader,
)


def test_the_errors_along_the_path_are_those_of_truncated_models(
    page: Reader, model: FCGBoostClassifier, judged: tuple[Any, Any]
) -> None:
    path = page.data["path"]
    assert path["nAtoms"] == [step.n_atoms for step in model.trace_]
    curves = {curve["name"]: curve["values"] for curve in path["panels"][0]["curves"]}
    for k in (1, 5, path["chosen"]):
        expected = 1.0 - model.truncate(k).score(*judged)
        assert curves["test"][k - 1] == pytest.approx(expected, abs=1e-6)
        known = model.trace_[k - 1].validation_score
        assert curves["validation"][k - 1] == pytest.approx(1.0 - known, abs=1e-6)
    assert (path["chosen"], path["k0"]) == (model.n_iter_, model._k0_)
    assert path["best"] == 1 + int(np.argmin(curves["test"]))
