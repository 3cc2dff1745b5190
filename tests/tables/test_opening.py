"""Tables of every library, and lists, are opened as the same columns."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcgboost.tables.cells import factorize, is_missing, read_column, text_of
from tests.suites.tables import NAN, Encoder, levels, numbers


@given(st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "1"]), st.text())))
def test_texts_are_told_apart_alike_in_all_libraries(values) -> None:
    array = np.array([*values, "a"], dtype=object)
    expected = [value or None for value in array]
    dtypes = (object, "str", "string[pyarrow]", "category")
    for column in (*(pd.Series(array, dtype=dtype) for dtype in dtypes), pl.Series(array.tolist())):
        codes, distinct = factorize(read_column(column))
        texts = [None if is_missing(cell) else text_of(cell) for cell in distinct]
        assert [texts[code] for code in codes] == expected


def mixed_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [30.0, NAN, 50.0, 40.0],
            "town": ["Ulm", "Bonn", None, "Ulm"],
            "is_new": [True, False, True, True],
            "since": pd.to_datetime(["2020-01-01", "2020-01-02", None, "2020-01-04"]),
            "id": ["p1", "p2", "p3", "p4"],
        }
    )


def test_frames_of_both_libraries_and_arrays_are_one() -> None:
    frame = mixed_frame()
    encoder = Encoder().fit(frame)
    other = pl.from_pandas(frame)
    assert Encoder().fit(other).columns_ == encoder.columns_
    assert np.array_equal(encoder.transform(other), encoder.transform(frame))
    categorical = other.with_columns(pl.col("town").cast(pl.Categorical))
    assert Encoder().fit(categorical).columns_ == encoder.columns_
    assert Encoder().fit(frame.convert_dtypes()).columns_ == encoder.columns_
    arrow = pa.Table.from_pandas(frame)
    for table in (arrow, arrow.set_column(1, "town", arrow["town"].dictionary_encode())):
        assert Encoder().fit(table).columns_ == encoder.columns_
        assert np.array_equal(encoder.transform(table), encoder.transform(frame))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_texts_are_parsed_alike_in_all_libraries(library) -> None:
    table = library({"n": ["1,234.5", "7", None, "2,000"], "code": ["01", "02", "01", "02"]})
    encoder = Encoder().fit(table)
    assert [column.kind for column in encoder.columns_] == ["number", "category"]
    assert encoder.transform(table)[:, 0].tolist() == [1234.5, 7.0, 1234.5, 2000.0]


def test_lists_with_texts_keep_their_numbers() -> None:
    encoder = Encoder().fit([[1, "x"], [2, "y"], [3, "x"], [4, "y"]])
    assert encoder.columns_ == (
        replace(numbers(2.5), name="x0"),
        replace(levels("x", "y"), name="x1"),
    )
