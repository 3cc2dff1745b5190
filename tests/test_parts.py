"""What parts share: parameters that can be read and set, and the errors that name them."""

import numpy as np
import pytest
from sklearn.base import clone

from fcgboost.parts import (
    Part,
    check_choice,
    check_count,
    check_not_negative,
    check_positive,
    is_positive,
)


class Bell(Part):
    def __init__(self, width=1.0, kind="round"):
        self.width = width
        self.kind = kind


def test_a_part_is_its_parameters():
    part = Bell(width=2.0)
    assert part.get_params() == {"width": 2.0, "kind": "round"}
    assert clone(part).get_params() == part.get_params()
    assert repr(part) == "Bell(width=2.0)"
    part.check_parameters()


@pytest.mark.parametrize("value", [1, 0.5, np.float32(2.0), np.int64(3)])
def test_positive_numbers_of_any_type_are_positive(value):
    assert is_positive(value)


@pytest.mark.parametrize("value", [0, -1.0, np.inf, np.nan, True, "1", None])
def test_what_is_no_positive_finite_number_is_not_positive(value):
    assert not is_positive(value)
    with pytest.raises(ValueError, match="Bell: width must be"):
        check_positive(Bell(width=value), "width")


@pytest.mark.parametrize("value", [0, 0.0, 1.5, np.float64(0.0)])
def test_zero_is_not_negative(value):
    check_not_negative(Bell(width=value), "width")


@pytest.mark.parametrize("value", [-1e-300, np.nan, np.inf, False, "", None])
def test_what_may_be_zero_is_a_number_all_the_same(value):
    with pytest.raises(ValueError, match="Bell: width must be"):
        check_not_negative(Bell(width=value), "width")


@pytest.mark.parametrize("value", [1, 7, np.int32(2)])
def test_whole_numbers_of_any_type_are_counts(value):
    check_count(Bell(width=value), "width")


@pytest.mark.parametrize("value", [0, 1.0, 2.5, True, "1"])
def test_counts_are_whole_numbers_from_one_on(value):
    with pytest.raises(ValueError, match="Bell: width must be"):
        check_count(Bell(width=value), "width")


def test_a_choice_is_one_of_the_names():
    check_choice(Bell(), "kind", ("round", "square"))
    for value in ("oval", None, ["round"]):
        with pytest.raises(ValueError, match=r"Bell: kind must be .*'round', 'square'"):
            check_choice(Bell(kind=value), "kind", ("round", "square"))
