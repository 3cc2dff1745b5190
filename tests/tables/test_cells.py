"""Texts that are numbers or dates, or nearly so, and what is said about columns."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from fcgboost.tables import CategoryColumn
from fcgboost.tables.cells import CellError, text_of
from tests.suites.tables import learn, notes_on


@pytest.mark.parametrize(
    ("texts", "style", "found"),
    [
        (["1,234.5", "7", "12,345,678"], "", [1234.5, 7, 12345678]),
        (["1 234.5", "7", "12 345 678"], "", [1234.5, 7, 12345678]),
        (["1'234.5", "7", "-12'345"], "", [1234.5, 7, -12345]),
        (["1.234,5", "7", "12.345.678"], "decimal comma", [1234.5, 7, 12345678]),
        (["1,5", "7", "-2,25"], "decimal comma", [1.5, 7, -2.25]),
        (["1 234,5", "7", "0,5"], "decimal comma", [1234.5, 7, 0.5]),
        (["True", "false", "true"], "", [1, 0, 1]),
        (["0", "0.5", "-0.25"], "", [0, 0.5, -0.25]),
        (["1e3", "+2", " 3 "], "", [1000, 2, 3]),
    ],
)
def test_texts_that_are_all_numbers_are_numbers(texts, style, found) -> None:
    column = learn(pd.Series(texts, dtype=object))
    assert (column.unit, column.style) == ("number", style)
    assert column.read(np.array([*texts, ""], dtype=object)).tolist()[:-1] == found
    way = ", with a decimal comma" if style else ""
    assert notes_on(texts) == (f"'a' holds numbers as text: they are read as numbers{way}.",)


def test_texts_that_are_all_dates_are_dates() -> None:
    texts = pd.Series(["1970-01-03", "1970-02-02 12:00", "1970-01-02T00:00:00+00:00"])
    column = learn(texts)
    assert (column.unit, column.style) == ("days", "")
    assert column.read(texts).tolist() == [2.0, 32.5, 1.0]
    assert column.output_names() == ("a", "month of a", "weekday of a", "hour of a")


@pytest.mark.parametrize(
    ("dayfirst", "days", "later"),
    [(True, [2.0, 31.5], "12/31/1970"), (False, [59.0, 1.5], "31/12/1970")],
)
def test_the_order_of_day_and_month_is_asked_for(dayfirst, days, later) -> None:
    texts = pd.Series(["03/01/1970", "1.2.1970 12:00"] * 2)
    assert isinstance(learn(texts), CategoryColumn)
    column = learn(texts, dayfirst=dayfirst)
    assert column.style == ("day first" if dayfirst else "month first")
    assert column.read(texts).tolist() == days * 2
    wrong = texts.replace("03/01/1970", later)
    assert isinstance(learn(wrong, dayfirst=dayfirst), CategoryColumn)
    with pytest.raises(ValueError, match="is not a date"):
        column.read(wrong)


@pytest.mark.parametrize("number", [Decimal("1e999999"), Decimal("-1e999999"), -(10**400)])
def test_numbers_beyond_floats_are_infinite_at_once(number) -> None:
    assert text_of(number) == ("inf" if number > 0 else "-inf")
    with pytest.raises(CellError, match=r"row 2: .* is infinite"):
        learn(pd.Series([1, number], dtype=object))


def test_the_text_of_a_number_has_all_digits() -> None:
    assert text_of(2**60 + 1) == str(2**60 + 1)
    assert text_of(Decimal("1e300")) == "1" + 300 * "0"
    assert text_of(Decimal("1e-999999")) == "0.0"


def test_times_with_a_zone_may_be_before_the_first_year_in_utc() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=6))
    times = [datetime.datetime(1, 1, 1, tzinfo=zone), datetime.datetime(1, 1, 2, tzinfo=zone)]
    days = -719162.25 + np.arange(2)
    column = learn(pd.Series(times, dtype=object))
    assert column.read(pd.Series(times, dtype=object)).tolist() == days.tolist()
    texts = pd.Series([time.isoformat() for time in times])
    assert learn(texts).read(texts).tolist() == days.tolist()
