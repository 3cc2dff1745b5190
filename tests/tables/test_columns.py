"""Tables become numbers: what each kind of column gives, in whatever form and batches it comes."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcgboost.tables import SkippedColumn
from fcgboost.tables.cells import ColumnError
from tests.suites.tables import NAN, Encoder, beside_numbers, encode, learn, levels, numbers


@pytest.mark.parametrize(
    ("values", "column"),
    [
        ([1, 2, 3], numbers(2.0, False)),
        ([1.5, NAN, 2.5], numbers(2.0, True)),
        ([True, False, True], numbers(1.0, False)),
        (pd.Series([1, None, 4], dtype="Int64"), numbers(2.5, True)),
        (pd.Series([True, None, False], dtype="boolean"), numbers(0.5, True)),
        (pd.Series([1, None, 4], dtype=object), numbers(2.5, True)),
        (pd.Series([True, 3, None], dtype=object), numbers(2.0, True)),
        (pd.Series([Decimal("1.5"), 2, ""], dtype=object), numbers(1.75, True)),
        (pd.Series([1, pd.NA, 2], dtype=object), numbers(1.5, True)),
        (pd.to_timedelta([1, 3, 2], unit="D"), numbers(2.0, False)),
    ],
)
def test_numbers_are_numbers_in_any_dress(values, column) -> None:
    assert learn(values) == column


MOMENTS = pd.to_datetime(["1970-01-02 00:00", "1970-01-03 12:00", None])


@pytest.mark.parametrize(
    "values",
    [
        MOMENTS,
        MOMENTS.astype("datetime64[s]"),
        MOMENTS.tz_localize("UTC"),
        (MOMENTS + pd.Timedelta("1h")).tz_localize("Etc/GMT-1"),
        pd.Series(
            [datetime.datetime(1970, 1, 2), datetime.datetime(1970, 1, 3, 12), None], dtype=object
        ),
        pd.Series(
            [pd.Timestamp("1970-01-02"), pd.Timestamp("1970-01-03 12:00"), pd.NaT], dtype=object
        ),
        pd.Series(MOMENTS).astype("timestamp[us][pyarrow]"),
    ],
)
def test_dates_are_days(values) -> None:
    encoder = Encoder().fit(beside_numbers(values))
    parts = [("weekday", 4.5), ("hour", 6.0)]
    assert encoder.columns_[0] == numbers(1.75, True, "days", parts)
    assert encoder.transform(beside_numbers(values))[:, :4].tolist() == [
        [1, 0, 4, 0],
        [2.5, 0, 5, 12],
        [1.75, 1, 4.5, 6],
    ]


@pytest.mark.parametrize("gap", [NAN, np.datetime64("NaT"), pd.NaT, pd.NA, "", None], ids=repr)
def test_every_mark_of_a_missing_value_stands_beside_dates_and_numbers(gap) -> None:
    assert learn(datetime.date(1970, 1, 2), gap) == numbers(1.0, True, "days")
    assert learn(3, gap) == numbers(3.0, True)
    assert learn(np.timedelta64(36, "h"), gap) == numbers(1.5, True)


def test_days_without_times_are_days_too() -> None:
    days = pd.Series([datetime.date(1970, 1, 2), None, datetime.date(1970, 1, 5)], dtype=object)
    column = numbers(2.5, True, "days", [("weekday", 2.0)])
    assert learn(days) == column
    assert learn(days.astype("date32[pyarrow]")) == column


def test_a_column_of_days_reads_texts_and_numbers() -> None:
    column = numbers(0.0, False, "days")
    texts = np.array(["1970-01-02", "1970-01-01T12:00:00+00:00", "2.25", ""], dtype=object)
    assert encode(column, texts)[:, 0].tolist() == [1.0, 0.5, 2.25, 0.0]
    assert encode(column, np.array([3.0, NAN]))[:, 0].tolist() == [3.0, 0.0]
    with pytest.raises(ValueError, match=r"Column 'a', row 1: .*'soon' is not a date"):
        column.read(np.array(["soon"], dtype=object))


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (["x", "y", "x", "y"], ("x", "y")),
        (pd.Series(["x", "y", "x", "y"], dtype="string"), ("x", "y")),
        (pd.Categorical([2, 1, 2, 1]), ("1", "2")),
        (pd.Categorical([2.0, 1.5, 2.0, 1.5]), ("1.5", "2")),
        (pd.Categorical([True, False, True, False]), ("False", "True")),
        (pd.cut([0.5, 1.5, 0.7, 1.2], [0, 1, 2]), ("(0, 1]", "(1, 2]")),
        (pd.Series(["1", 1.0, "two", "two"], dtype=object), ("1", "two")),
        (pd.Series([True, "x", True, "x"], dtype=object), ("True", "x")),
        (["012", "7", "012", "7"], ("012", "7")),
        (pd.Series([b"x", b"y", b"x", b"y"], dtype=object), ("x", "y")),
        (pd.Series([datetime.time(2), datetime.time(1)] * 2), ("01:00:00", "02:00:00")),
    ],
)
def test_all_else_is_a_category(values, texts) -> None:
    assert learn(values) == levels(*texts)


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ((None, None), "missing"),
        ((NAN, NAN), "missing"),
        (("", "", None), "missing"),
    ],
)
def test_a_column_that_tells_nothing_is_skipped(cells, reason) -> None:
    column = learn(*cells)
    assert isinstance(column, SkippedColumn)
    assert reason in column.reason
    assert column.n_outputs == 0
    assert column.encode(column.read(np.array(cells, dtype=object))) == []


def test_the_median_of_numbers_near_the_largest_is_finite() -> None:
    assert learn(1.7e308, 1.6e308, None).outputs[0].fill == pytest.approx(1.65e308)


@pytest.mark.parametrize(
    "later",
    [
        np.array([1, 2, 1]),
        np.array([1.0, 2.0, 1.0], dtype=np.float32),
        np.array(["1", "2", "1"]),
        pd.Series([1, 2, 1], dtype="Int64"),
        pd.Series([1, 2.0, "1"], dtype=object),
        pd.Series(pd.Categorical([1, 2, 1])),
    ],
)
def test_a_level_has_one_text_in_all_types(later) -> None:
    column = learn(pd.Categorical([1, 2, None, 1, 2]))
    assert column == levels("1", "2", is_marked=True)
    assert encode(column, later)[:, :2].tolist() == [[1, 0], [0, 1], [1, 0]]


def test_a_number_that_is_not_whole_has_one_text_in_both_precisions() -> None:
    column = learn(pd.Categorical([0.1, 0.2, 0.1, 0.2]))
    assert column.levels == ("0.1", "0.2")
    assert encode(column, np.array([0.1, 0.2], dtype=np.float32)).tolist() == [[1, 0], [0, 1]]


def test_true_is_not_one_among_texts() -> None:
    column = learn(1, True, "x", 1, True, "x")
    assert column.levels == ("1", "True", "x")
    values = np.array([True, 1, "x", 1.0], dtype=object)
    assert np.array_equal(encode(column, values), np.eye(3)[[1, 0, 2, 0]])


def test_a_number_column_reads_texts_that_are_numbers() -> None:
    column = numbers(9.0, True)
    texts = np.array(["1.5", " 2 ", "-3e2", "", "nan", "true", b"4"], dtype=object)
    assert encode(column, texts).tolist() == [
        *([1.5, 0], [2, 0], [-300, 0], [9, 1], [9, 1], [1, 0], [4, 0]),
    ]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1", "2", "x"], "Column 'a', row 3: .*'x' is not a number"),
        ([1.0, np.inf, 2.0], "Column 'a', row 2: .*inf is infinite"),
        (["1", "-inf", "2"], "Column 'a', row 2: .*'-inf' is infinite"),
        (pd.Series([1, 10**400, 2], dtype=object), "Column 'a', row 2: .*is infinite"),
        (["1_000", "1", "1"], "Column 'a', row 1: .*'1_000' is not a number"),
        ([1, datetime.time(2), 3], "Column 'a', row 2: .*is not a number"),
        ([1, {"b": 2}, 3], "Column 'a' cannot be read .row 2 holds several values, .'b': 2"),
        (pd.to_datetime(["2020-01-01"] * 3), "Column 'a', row 1: .*is not a number"),
    ],
)
def test_what_is_no_number_is_named(values, message) -> None:
    encoder = Encoder().fit(beside_numbers([1, 2, 3]))
    with pytest.raises(ValueError, match=message):
        encoder.transform(beside_numbers(pd.Series(values)))


def test_infinity_is_refused_when_fitting() -> None:
    with pytest.raises(ValueError, match=r"Column 'x1', row 3: .*-inf is infinite"):
        Encoder().fit(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, -np.inf]]))


cells = st.one_of(
    st.none(),
    st.sampled_from(["", "a", "b", "1", "1.0", "True", "c"]),
    st.integers(-2, 2),
    st.booleans(),
    st.sampled_from([0.5, 1.0, NAN, Decimal("1.50"), 1.5, -0.0]),
)


# Of fewer than twenty rows none is a stray text among numbers.
@given(rows=st.lists(st.tuples(cells, cells), min_size=4, max_size=18), cut=st.integers(1, 17))
def test_encoding_in_batches_is_encoding_at_once(rows, cut) -> None:
    table = np.empty((len(rows) + 1, 3), dtype=object)
    table[:-1, :2] = rows
    table[-1, :2] = "a"  # both are categories
    table[:, 2] = np.arange(len(table))
    encoder = Encoder().fit(table)
    whole = encoder.transform(table)
    assert np.array_equal(
        whole, np.vstack([encoder.transform(table[:cut]), encoder.transform(table[cut:])])
    )
    # A data frame finds types of its own for each batch.
    parts = [pd.DataFrame(table[i : i + 1].tolist()) for i in range(len(table))]
    assert np.array_equal(whole, np.vstack([encoder.transform(part) for part in parts]))


def columns_or_error(table: np.ndarray) -> object:
    """Return what is learned, or why not: a few stray texts among numbers are an error."""
    try:
        return Encoder().fit(table).columns_
    except ColumnError as error:
        return str(error)


@given(rows=st.lists(st.tuples(cells, cells), min_size=4, max_size=25), seed=st.integers(0, 99))
def test_what_is_learned_does_not_depend_on_the_order_of_rows(rows, seed) -> None:
    table = np.empty((len(rows) + 1, 3), dtype=object)
    table[:-1, :2] = rows
    table[-1, :2] = "a"
    table[:, 2] = np.arange(len(table))
    order = np.random.default_rng(seed).permutation(len(table))
    assert columns_or_error(table[order]) == columns_or_error(table)
