"""Numbers, names and small tables as text."""

from fcgboost.wording import count, listed, shortened, text_table


def test_a_table_is_aligned_and_a_row_is_one_line() -> None:
    rows = [("a", "1.5"), ("long\nname", "10")]
    expected = "name       value\na            1.5\nlong name     10"
    assert text_table(("name", "value"), rows) == expected


def test_words_come_first_and_numbers_are_right_aligned() -> None:
    rows = [("a", "b", "1"), ("aa", "bb", "10")]
    assert text_table(("x", "y", "n"), rows, n_labels=2).splitlines()[1] == "a   b    1"


def test_nouns_follow_their_numbers() -> None:
    assert [count(n, "row") for n in (0, 1, 1000)] == ["0 rows", "1 row", "1,000 rows"]
    assert [count(2, noun) for noun in ("class", "box", "entry")] == [
        "2 classes",
        "2 boxes",
        "2 entries",
    ]


def test_long_lists_and_names_are_shortened() -> None:
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcd"), most=3) == "a, b and 2 more"
    assert shortened("a  b\tc") == "a b c"
    assert shortened("abcdef", 4) == "abc\N{HORIZONTAL ELLIPSIS}"
