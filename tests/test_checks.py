"""What users hand in is checked once, and what is wrong is named."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.checks import check_labels, check_weights
from fcgboost.datasets import make_simulation


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
    with pytest.raises(ValueError, match=r"y has no label in row 3: drop such rows"):
        check_labels(y)


def test_an_empty_text_is_a_label():
    assert check_labels(["", "a", ""])[0].tolist() == ["", "a"]


@pytest.mark.parametrize("dictionary", ["fast", "relu", "tree", "gauss"])
def test_arrays_need_not_be_aligned(dictionary: str) -> None:
    """Such as those that come from another process."""
    X, y = make_simulation(60, random_state=0)
    clf = FCGBoostClassifier(dictionary, max_iter=3, random_state=0).fit(X, y)
    shifted = np.zeros(X.nbytes + 1, np.uint8)[1:].view(X.dtype).reshape(X.shape)
    shifted[...] = X
    assert not shifted.flags.aligned
    again = FCGBoostClassifier(dictionary, max_iter=3, random_state=0).fit(shifted, y)
    np.testing.assert_array_equal(again.decision_function(shifted), clf.decision_function(X))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.float64, bool])
def test_classes_are_the_distinct_labels_in_their_order(dtype):
    y = np.random.default_rng(0).choice([-128, -3, 0, 127], 300).astype(dtype)
    for labels in (y, y[:2]):
        classes, codes = check_labels(labels)
        np.testing.assert_array_equal(classes, np.unique(labels))
        assert classes.dtype == dtype
        np.testing.assert_array_equal(classes[codes], labels)
