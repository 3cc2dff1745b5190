"""Numbers as people read them."""

import pytest

from fcgboost.report.text import percent, seconds
from fcgboost.wording import count, fixed, number


def test_a_number_that_is_shown_as_zero_has_no_sign() -> None:
    assert [fixed(-0.0004, 3), fixed(-0.0006, 3)] == ["0.000", "−0.001"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (0.123456, "0.1235"),
        (-12.5, "−12.5"),
        (1234567.0, "1,234,567"),
        (1.5e-7, "1.5e−7"),
        (2.5e12, "2.5e12"),
        (float("nan"), ""),
        (float("inf"), "∞"),
        (-0.0, "0"),
    ],
)
def test_numbers_have_four_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_times_counts_and_shares_have_their_units() -> None:
    thin = "\N{NARROW NO-BREAK SPACE}"
    times = [seconds(value).replace(thin, " ") for value in (0.02, 0.25, 40, 200)]
    assert times == ["0.02 s", "0.25 s", "40 s", "3 min 20 s"]
    assert [count(1, "row"), count(1000, "class"), count(2, "query")] == [
        *("1 row", "1,000 classes"),
        "2 queries",
    ]
    assert percent(0.125) == f"12.5{thin}%"
