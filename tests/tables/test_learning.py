"""What a column is, as its cells tell, and what is said about it."""

import datetime
import re

import numpy as np
import pandas as pd
import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.tables import CategoryColumn
from fcgboost.tables.cells import ColumnError
from tests.suites.tables import encode, learn, notes_on


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([f"{i}.5" for i in range(99)] + ["unknown", ""], "99 of 100 values are numbers"),
        ([*range(40), "none", "?"], "40 of 42 values are numbers, but not 'none', '?'"),
        ([*range(40), datetime.time(3), datetime.time(4)], "40 of 42 values are numbers"),
        ([f"1970-01-{day:02}" for day in range(2, 31)] + ["soon"], "29 of 30 values are dates"),
    ],
    ids=["texts", "mixed", "times", "dates"],
)
def test_a_few_stray_texts_among_numbers_or_dates_are_an_error(cells, told) -> None:
    with pytest.raises(ColumnError, match=f"'a': {told}"):
        learn(pd.Series(cells, dtype=object))


def test_a_column_of_numbers_takes_nothing_else() -> None:
    column = learn(pd.Series(["1.5", "2.5", ""] * 9, dtype=object))
    assert encode(column, np.array(["3", 4.0, None], dtype=object)).tolist() == [
        *([3.0, 0.0], [4.0, 0.0], [2.0, 1.0]),
    ]
    with pytest.raises(ValueError, match="is infinite"):
        column.read(np.array(["inf"], dtype=object))
    for cell in (datetime.date(2020, 1, 1), "n.a."):
        with pytest.raises(ValueError, match="is not a number"):
            column.read(np.array([cell], dtype=object))


@pytest.mark.parametrize(
    "texts",
    [
        ["007", "8", "9"],
        ["1,23", "1,234.5", "7"],  # in one style the first is none, in the other the second
        ["1,2,3", "4", "5"],
        ["0,123", "1,234.5", "7"],  # a thousand does not begin with 0
        ["1_000", "2", "3"],
        ["inf", "2", "3"],
        ["2020-01-01", "7", "8"],
    ],
)
def test_texts_of_no_one_style_are_categories(texts) -> None:
    assert isinstance(learn(pd.Series(texts * 2, dtype=object)), CategoryColumn)


@pytest.mark.parametrize(
    "texts",
    [
        [f"{i % 9:02}" for i in range(100)],
        [str(i % 9) for i in range(94)] + ["x"] * 6,
        [str(i % 9) for i in range(19)] + ["x"],
        [f"{i % 9:03}" for i in range(99)] + ["x"],
    ],
)
def test_codes_stay_texts(texts) -> None:
    assert isinstance(learn(pd.Series(texts, dtype=object)), CategoryColumn)


def test_a_category_stays_one_though_most_of_it_are_numbers() -> None:
    values = pd.Categorical([*(i % 9 for i in range(99)), "x"])
    assert isinstance(learn(values), CategoryColumn)


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (range(30), "'a' looks like a row number: drop it if it is one."),
        (np.random.default_rng(0).permutation(40)[:30], "'a' looks like a row number"),
        ([12345678901234567 + i for i in range(30)], "'a' looks like a row number"),
        ([float(i * i) for i in range(30)], "'a' looks like a row number"),
        (["$1", "€2", "$3"] * 9, "texts such as '$1' look like numbers but are read as categories"),
        (["1 kg", "2kg", "3kg"] * 9, "such as '1 kg' look like numbers"),
        (["1 %", "2%", "3%"] * 9, "'a' holds numbers with % as text: they are read as numbers"),
        (["1.234", "12"] * 9, "'a' stays text, as '1.234' may hold a decimal mark or not: decimal"),
        (["1/2/2020", "3/4/2020"] * 9, "as '1/2/2020' may begin with the day.*dayfirst"),
        (
            ["Ulm", "ulm", "U  lm"] * 9,
            "levels differ only in case or white space: 'Ulm' and 'ulm'",
        ),
        (["12,34", "56", "2,345.5"] * 9, "such as '12,34' look like numbers"),
        (["31.12.2020", "1.1.2021"] * 9, "they are read as dates, day first"),
        (["31.12.20", "1.1.21"] * 9, "such as '31.12.20' look like dates.*as 2020-12-31"),
        (["12/31/2020", "1/1/21 10:00"] * 9, "such as '12/31/2020' look like dates"),
        (["12", "7"] * 9, "'a' holds numbers as text: they are read as numbers."),
        (["2020-01-01", "2020-01-02"] * 9, "'a' holds dates as text: they are read as dates."),
    ],
)
def test_what_the_owner_of_a_table_should_know(values, note) -> None:
    assert any(re.search(note.replace("$", r"\$"), one) for one in notes_on(values))


@pytest.mark.parametrize(
    "values",
    [
        [i % 7 for i in range(30)],
        np.random.default_rng(0).normal(size=30),
        np.random.default_rng(0).choice(10**6, 30, replace=False),
        np.random.default_rng(0).choice(300, 30, replace=False),
        ["x", "y", "z"] * 10,
        ["007", "008"] * 15,
        ["1.2.3", "1.2.4"] * 15,
        pd.Categorical(["1", "2"] * 15),
        [True, False] * 15,
    ],
)
def test_nothing_is_said_about_what_is_as_it_should_be(values) -> None:
    assert notes_on(values) == ()


def test_stray_text_may_count_as_missing_in_frames() -> None:
    texts = [*(f"{i % 9},5" for i in range(40)), "unknown", None]
    X = pd.DataFrame({"n": texts, "m": np.arange(42.0)})
    y = [0, 1] * 21
    with pytest.raises(ColumnError, match="40 of 41 values are numbers, but not 'unknown'"):
        FCGBoostClassifier("gauss", max_iter=2).fit(X, y)
    clf = FCGBoostClassifier("gauss", max_iter=2, stray_text="missing").fit(X, y)
    assert "'n': 'unknown' among numbers count as missing." in clf.notes_
    missing = X.assign(n=X["n"].replace("unknown", None), m=X["m"].astype(object))
    missing.loc[3, "m"] = "odd"
    plain = missing.assign(m=missing["m"].replace("odd", None).astype(float))
    np.testing.assert_array_equal(
        clf.decision_function(X), clf.decision_function(plain.assign(m=X["m"]))
    )
    np.testing.assert_array_equal(clf.decision_function(missing), clf.decision_function(plain))
    with pytest.raises(ValueError, match="stray_text must be one of"):
        FCGBoostClassifier(stray_text="drop").fit(X, y)
