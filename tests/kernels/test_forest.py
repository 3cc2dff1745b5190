"""Codes of leaves take as few bytes as they need."""

import numpy as np
import pytest

from fcgboost._kernels.forest import Forest


@pytest.mark.parametrize("sizes", [(3,), (256, 1), (5, 300, 2)], ids=str)
def test_a_leaf_is_one_byte_as_long_as_that_is_enough(sizes) -> None:
    forest = Forest(9)
    for size in sizes:
        forest.append(np.zeros(9), size)
    assert [codes.itemsize for codes in forest.codes] == [1 + (size > 256) for size in sizes]
