"""What users hand in is checked once, and what is wrong is named."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fcgboost.checks import check_labels, check_weights


@pytest.mark.parametrize("weight", [-1e-300, -1e-9, -0.0005, -1.0])
def test_no_weight_is_negative_however_little(weight):
    weights = np.array([1.0, weight, 1.0])
    with pytest.raises(ValueError, match="sample_weight_val has negative values"):
        check_weights(weights, 3, "sample_weight_val")
    assert check_weights(np.array([1.0, -0.0, 1.0]), 3)[1] == 0.0


@pytest.mark.parametrize(
    "y",
    [
        [1, 0, None],
        np.array(["a", "b", None], dtype=object),
        pd.Series(["a", "b", pd.NA], dtype="string"),
        pd.Series([0, 1, pd.NA], dtype=object),
        pd.Categorical(["a", "b", None]),
        pd.Series(["2020-01-01", "2021-01-01", pd.NaT], dtype="datetime64[s]"),
        pl.Series(["a", "b", None]),
    ],
    ids=["list", "array", "string", "object", "categorical", "dates", "polars"],
)
def test_the_first_row_without_a_label_is_named(y):
    with pytest.raises(ValueError, match=r"y has no label in row 2 .*: drop such rows"):
        check_labels(y)


def test_an_empty_text_is_a_label():
    assert check_labels(["", "a", ""])[0].tolist() == ["", "a"]
