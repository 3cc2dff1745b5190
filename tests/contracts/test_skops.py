"""Fitted models in files of skops, which rebuilds only what its reader trusts."""

import numpy as np
import pandas as pd
import pytest

from fcgboost import FCGBoostClassifier, FCGBoostRegressor
from fcgboost.datasets import make_simulation

pytestmark = pytest.mark.extras

X, Y = make_simulation(80, random_state=0)
THREE = np.digitize(X[:, 0], [0.3, 0.6])
TABLE = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0.5, "u", "v")})

CASES = {
    "the default": lambda: (FCGBoostClassifier(max_iter=5, random_state=0).fit(X, Y), X),
    "a family of the paper": lambda: (FCGBoostClassifier("gauss", random_state=0).fit(X, Y), X),
    "three classes": lambda: (FCGBoostClassifier("relu", random_state=0).fit(X, THREE), X),
    "a table": lambda: (
        FCGBoostClassifier("gauss").fit(TABLE, Y),
        TABLE,
    ),
    "numbers": lambda: (
        FCGBoostRegressor(cv=2, max_iter=3, random_state=0).fit(TABLE, 9 * X[:, 0]),
        TABLE,
    ),
    "counts": lambda: (FCGBoostRegressor("relu", loss="poisson", max_iter=3).fit(X, THREE), X),
}


@pytest.mark.parametrize("case", CASES)
def test_what_skops_stored_is_the_same_model(tmp_path, case) -> None:
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    model, rows = CASES[case]()
    io.dump(model, tmp_path / "m.skops")
    untrusted = io.get_untrusted_types(file=tmp_path / "m.skops")
    back = io.load(tmp_path / "m.skops", trusted=untrusted)
    np.testing.assert_array_equal(back.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(back._decision(rows), model._decision(rows))
    if model._errors_ is not None:
        np.testing.assert_array_equal(*(one._by_fold(rows, 0.2)[1] for one in (back, model)))
    for one, other in zip(back.members_, model.members_, strict=True):
        assert one.status is other.status
        assert one.trace.endings == other.trace.endings
