"""Tables become numbers: what each kind of column gives, in whatever form and batches it comes."""

import copy
import datetime
import pickle
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from suites.tables import beside_numbers, encode, learn, levels, numbers

from fcgboost import FCGBoostClassifier
from fcgboost.tables import (
    SkippedColumn,
    TableEncoder,
)
from fcgboost.tables.cells import factorize, is_missing, read_column, text_of

NAN = float("nan")


@parametrize_with_checks([TableEncoder(), TableEncoder(max_levels=2, min_count=1)])
def test_it_is_a_transformer_as_scikit_learn_wants_it(estimator, check) -> None:
    check(estimator)


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
    encoder = TableEncoder().fit(beside_numbers(values))
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
    with pytest.raises(ValueError, match=r"Column 'a', row 0 .*'soon' is not a date"):
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
        (pd.Series([(1, 2), [3], (1, 2), [3]], dtype=object), ("(1, 2)", "[3]")),
    ],
)
def test_all_else_is_a_category(values, texts) -> None:
    assert learn(values) == levels(*texts)


def test_rare_levels_share_a_column() -> None:
    column = learn(*"aaabbbccd", "", None, max_levels=2)
    assert column == levels("a", "b", has_other=True, is_marked=True)
    assert column.output_names() == ("a=a", "a=b", "a=other (rare)", "a is missing")
    values = np.array(["a", "b", "c", "new", "", None, NAN], dtype=object)
    expected = np.eye(4)[[0, 1, 2, 2, 3, 3, 3]]
    assert np.array_equal(encode(column, values), expected)


def test_of_equally_frequent_levels_the_first_in_order_stay() -> None:
    assert learn(*"ccbbaadd", max_levels=2).levels == ("a", "b")


def test_what_was_never_seen_is_zero_everywhere() -> None:
    column = learn(*"aabb")
    assert encode(column, np.array(["new", None, "b"], dtype=object)).tolist() == [
        [0, 0],
        [0, 0],
        [0, 1],
    ]


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ((3, 3, 3), "same"),
        (("x", "x"), "same"),
        ((None, None), "missing"),
        ((NAN, NAN), "missing"),
        (("", "", None), "missing"),
        (("x", "y", "z"), "at least 2 rows"),
    ],
)
def test_a_column_that_tells_nothing_is_skipped(cells, reason) -> None:
    column = learn(*cells)
    assert isinstance(column, SkippedColumn)
    assert reason in column.reason
    assert column.n_outputs == 0
    assert column.encode(column.read(np.array(cells, dtype=object))) == []


def test_whether_a_value_is_there_may_be_all_that_a_column_tells() -> None:
    assert learn("x", "y", None) == levels(is_marked=True)
    assert learn(3, 3, None) == numbers(3.0, True)


def test_the_median_of_numbers_near_the_largest_is_finite() -> None:
    assert learn(1.7e308, 1.6e308, None).outputs[0].fill == pytest.approx(1.65e308)


def test_a_table_with_nothing_to_tell_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"No column of X .* 'a' is left out: every value is the same"
    ):
        TableEncoder().fit(pd.DataFrame({"a": [1, 1], "b": ["x", "x"]}))


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
        (["1", "2", "x"], "Column 'a', row 2 .*'x' is not a number"),
        ([1.0, np.inf, 2.0], "Column 'a', row 1 .*inf is infinite"),
        (["1", "-inf", "2"], "Column 'a', row 1 .*'-inf' is infinite"),
        (pd.Series([1, 10**400, 2], dtype=object), "Column 'a', row 1 .*is infinite"),
        (["1_000", "1", "1"], "Column 'a', row 0 .*'1_000' is not a number"),
        ([1, {"b": 2}, 3], "Column 'a', row 1 .*is not a number"),
        (pd.to_datetime(["2020-01-01"] * 3), "Column 'a', row 0 .*is not a number"),
    ],
)
def test_what_is_no_number_is_named(values, message) -> None:
    encoder = TableEncoder().fit(beside_numbers([1, 2, 3]))
    with pytest.raises(ValueError, match=message):
        encoder.transform(beside_numbers(pd.Series(values)))


def test_infinity_is_refused_when_fitting() -> None:
    with pytest.raises(ValueError, match=r"Column 'x1', row 2 .*-inf is infinite"):
        TableEncoder().fit(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, -np.inf]]))


@given(st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "1"]), st.text())))
def test_texts_are_told_apart_alike_in_all_libraries(values) -> None:
    array = np.array([*values, "a"], dtype=object)
    expected = [value or None for value in array]
    dtypes = (object, "str", "string[pyarrow]", "category")
    for column in (*(pd.Series(array, dtype=dtype) for dtype in dtypes), pl.Series(array.tolist())):
        codes, distinct = factorize(read_column(column))
        texts = [None if is_missing(cell) else text_of(cell) for cell in distinct]
        assert [texts[code] for code in codes] == expected


def test_what_the_training_rows_did_not_know_is_measured() -> None:
    table = pd.DataFrame(
        {
            "town": ["Ulm", "Bonn", "Ulm", "Bonn"],
            "n": ["p1", "p2", "", "p4"],
            "gap": [1.0, NAN, 2.0, 3.0],
            "same": [1, 1, 1, 1],
            "id": ["a", "b", "c", "d"],
        }
    ).astype({"n": object})
    encoder = TableEncoder().fit(table)
    assert encoder.columns_[-1].n_outputs == 0  # so that it is not measured
    assert encoder.unknown_share(table) == {"n": 1.0}  # no text of it occurs twice
    later = pd.DataFrame(
        {"town": ["ULM", None, "BONN"], "n": ["", None, ""], "gap": ["1", "two", "three"]}
    )
    assert encoder.unknown_share(later) == {"town": 1.0, "gap": pytest.approx(2 / 3)}
    assert encoder.unknown_share(later[:0]) == {}
    assert TableEncoder().fit(sparse.eye_array(3)).unknown_share(sparse.eye_array(3)) == {}


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


def test_columns_are_found_by_name() -> None:
    frame = mixed_frame()
    encoder = TableEncoder().fit(frame)
    numbers = encoder.transform(frame)
    assert encoder.feature_names_in_.tolist() == list(frame)
    assert encoder.n_features_in_ == 5
    assert numbers.dtype == np.float64
    assert numbers.flags.c_contiguous
    shuffled = frame[["id", "since", "town", "age", "is_new"]].assign(more=1)
    assert np.array_equal(encoder.transform(shuffled), numbers)
    assert np.array_equal(encoder.transform(frame.drop(columns="id")), numbers)  # it is skipped
    assert np.array_equal(encoder.transform(frame.to_numpy(dtype=object)), numbers)


def test_a_column_that_is_not_there_is_named() -> None:
    encoder = TableEncoder().fit(mixed_frame())
    with pytest.raises(ValueError, match=r"lacks 1 of .*: 'town'\. Is 'Town' the column 'town'\?"):
        encoder.transform(mixed_frame().rename(columns={"town": "Town"}))
    with pytest.raises(ValueError, match=r"lacks 4 of .*: 'age', 'town', 'is_new', 'since'\."):
        encoder.transform(pd.DataFrame({"other": [1]}))
    with pytest.raises(ValueError, match="X has 3 features, but TableEncoder is expecting 5"):
        encoder.transform(np.zeros((2, 3)))


def test_names_that_are_no_text_or_not_distinct() -> None:
    encoder = TableEncoder().fit(pd.DataFrame([[1, 2], [3, 4]]))
    assert not hasattr(encoder, "feature_names_in_")
    assert [column.name for column in encoder.columns_] == ["0", "1"]
    assert encoder.transform([[5, 6]]).tolist() == [[5, 6]]
    with pytest.raises(ValueError, match="Two columns of X are named 'a'"):
        TableEncoder().fit(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]))
    encoder = TableEncoder().fit(mixed_frame()).fit(np.eye(2))
    assert not hasattr(encoder, "feature_names_in_")


def test_frames_of_both_libraries_and_arrays_are_one() -> None:
    frame = mixed_frame()
    encoder = TableEncoder().fit(frame)
    other = pl.from_pandas(frame)
    assert TableEncoder().fit(other).columns_ == encoder.columns_
    assert np.array_equal(encoder.transform(other), encoder.transform(frame))
    categorical = other.with_columns(pl.col("town").cast(pl.Categorical))
    assert TableEncoder().fit(categorical).columns_ == encoder.columns_
    assert TableEncoder().fit(frame.convert_dtypes()).columns_ == encoder.columns_
    arrow = pa.Table.from_pandas(frame)
    for table in (arrow, arrow.set_column(1, "town", arrow["town"].dictionary_encode())):
        assert TableEncoder().fit(table).columns_ == encoder.columns_
        assert np.array_equal(encoder.transform(table), encoder.transform(frame))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_texts_are_parsed_alike_in_all_libraries(library) -> None:
    table = library({"n": ["1,234.5", "7", None, "2,000"], "code": ["01", "02", "01", "02"]})
    encoder = TableEncoder().fit(table)
    assert [column.kind for column in encoder.columns_] == ["number", "category"]
    assert encoder.transform(table)[:, 0].tolist() == [1234.5, 7.0, 1234.5, 2000.0]


def test_lists_with_texts_keep_their_numbers() -> None:
    encoder = TableEncoder().fit([[1, "x"], [2, "y"], [3, "x"], [4, "y"]])
    assert encoder.columns_ == (
        replace(numbers(2.5), name="x0"),
        replace(levels("x", "y"), name="x1"),
    )


def test_an_empty_batch_gives_no_rows() -> None:
    encoder = TableEncoder().fit(mixed_frame())
    assert encoder.transform(mixed_frame()[:0]).shape == (0, len(encoder.get_feature_names_out()))


def test_one_row_is_too_few_to_learn_from() -> None:
    with pytest.raises(ValueError, match=r"1 sample\(s\)"):
        TableEncoder().fit(mixed_frame()[:1])
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        TableEncoder().fit(pd.DataFrame(index=[1, 2, 3]))


def test_sparse_rows_stay_as_they_are() -> None:
    X = sparse.random_array((20, 7), density=0.3, random_state=0, dtype=np.float32).tocsc()
    encoder = TableEncoder().fit(X)
    numbers = encoder.transform(X)
    assert numbers.format == "csr"
    assert numbers.dtype == np.float64
    assert np.array_equal(numbers.toarray(), X.toarray())
    assert np.array_equal(encoder.transform(X.toarray()), X.toarray())
    with pytest.raises(ValueError, match="NaN"):
        TableEncoder().fit(sparse.csr_array([[NAN, 1.0], [0.0, 1.0]]))


def test_sparse_rows_are_refused_where_columns_change() -> None:
    encoder = TableEncoder().fit(np.array([[1.0, NAN], [2.0, 3.0]]))
    with pytest.raises(ValueError, match="sparse, but column 'x1' does not stay as it is"):
        encoder.transform(sparse.eye_array(2).tocsr())


def test_what_was_learned_makes_an_encoder() -> None:
    frame = mixed_frame()
    encoder = TableEncoder().fit(frame)
    again = TableEncoder.from_columns(encoder.columns_, list(encoder.feature_names_in_))
    assert np.array_equal(again.transform(frame[list(frame)[::-1]]), encoder.transform(frame))
    nameless = TableEncoder.from_columns(encoder.columns_)
    assert not hasattr(nameless, "feature_names_in_")
    assert nameless.n_features_in_ == 5
    with pytest.raises(ValueError, match="1 names for 5 columns"):
        TableEncoder.from_columns(encoder.columns_, ["a"])


def test_copies_are_equal() -> None:
    frame = mixed_frame()
    encoder = TableEncoder(max_levels=3).fit(frame)
    for other in (pickle.loads(pickle.dumps(encoder)), copy.deepcopy(encoder)):
        assert other.columns_ == encoder.columns_
        assert np.array_equal(other.transform(frame), encoder.transform(frame))
    with pytest.raises(NotFittedError):
        clone(encoder).transform(frame)


def test_output_can_be_a_data_frame() -> None:
    found = TableEncoder().set_output(transform="pandas").fit_transform(mixed_frame())
    assert list(found) == [
        *("age", "age is missing", "town=Ulm", "town=other (rare)", "town is missing"),
        *("is_new", "since", "since is missing", "weekday of since"),
    ]
    assert found["since"].tolist() == [18262.0, 18263.0, 18263.0, 18265.0]
    assert found["weekday of since"].tolist() == [2.0, 3.0, 3.0, 5.0]


def test_output_names_may_be_given_for_nameless_columns() -> None:
    encoder = TableEncoder().fit(np.array([[1.0, NAN], [2.0, 3.0]]))
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1", "x1 is missing"]
    assert encoder.get_feature_names_out(["p", "q"]).tolist() == ["p", "q", "q is missing"]
    with pytest.raises(ValueError, match="length"):
        encoder.get_feature_names_out(["p"])
    with pytest.raises(ValueError, match="feature_names_in_"):
        TableEncoder().fit(mixed_frame()).get_feature_names_out(list("abcde"))


@pytest.mark.parametrize("options", [{"max_levels": 0}, {"min_count": 1.5}, {"max_levels": True}])
def test_impossible_parameters_are_named(options) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be a whole number"):
        TableEncoder(**options).fit(np.eye(3))


def test_a_pipeline_predicts_from_a_table() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"n": rng.normal(size=200), "c": rng.choice(["u", "v", "w"], size=200)})
    y = np.where((frame["c"] == "u") ^ (frame["n"] > 0), "yes", "no")
    frame.loc[::7, "n"] = NAN
    frame.loc[::11, "c"] = None
    model = make_pipeline(TableEncoder(), FCGBoostClassifier("gauss", max_iter=30, random_state=0))
    assert model.fit(frame, y).score(frame, y) > 0.85


cells = st.one_of(
    st.none(),
    st.sampled_from(["", "a", "b", "1", "1.0", "True", "c"]),
    st.integers(-2, 2),
    st.booleans(),
    st.sampled_from([0.5, 1.0, NAN, Decimal("1.50"), 1.5, -0.0]),
)


@given(rows=st.lists(st.tuples(cells, cells), min_size=4, max_size=25), cut=st.integers(1, 24))
def test_encoding_in_batches_is_encoding_at_once(rows, cut) -> None:
    table = np.empty((len(rows) + 1, 3), dtype=object)
    table[:-1, :2] = rows
    table[-1, :2] = "a"  # both are categories
    table[:, 2] = np.arange(len(table))
    encoder = TableEncoder().fit(table)
    whole = encoder.transform(table)
    assert np.array_equal(
        whole, np.vstack([encoder.transform(table[:cut]), encoder.transform(table[cut:])])
    )
    # A data frame finds types of its own for each batch.
    parts = [pd.DataFrame(table[i : i + 1].tolist()) for i in range(len(table))]
    assert np.array_equal(whole, np.vstack([encoder.transform(part) for part in parts]))


@given(rows=st.lists(st.tuples(cells, cells), min_size=4, max_size=25), seed=st.integers(0, 99))
def test_what_is_learned_does_not_depend_on_the_order_of_rows(rows, seed) -> None:
    table = np.empty((len(rows) + 1, 3), dtype=object)
    table[:-1, :2] = rows
    table[-1, :2] = "a"
    table[:, 2] = np.arange(len(table))
    order = np.random.default_rng(seed).permutation(len(table))
    assert TableEncoder().fit(table[order]).columns_ == TableEncoder().fit(table).columns_
