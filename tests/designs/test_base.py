"""What a contest says of candidates: ties, nobody, and scores of parts."""

from typing import Any

import numpy as np
import pytest

from fcgboost.designs.base import Winner
from fcgboost.designs.scoring import Scores


@pytest.mark.parametrize(("precision", "gap"), [("float64", 1e-10), ("float32", 1e-6)])
def test_ties_go_to_the_lowest_index(precision: Any, gap: float) -> None:
    everyone = np.ones((3, 1), dtype=bool)
    for share, winner in ((0.5, 0), (2.0, 1)):
        scores = Scores(np.array([[1.0 - share * gap], [1.0], [-1.0]]), None, precision)
        assert scores.best(everyone)[0].index == winner


def test_nobody_allowed_is_nobody_chosen() -> None:
    scores = Scores(np.ones((2, 2)), None, "float64")
    assert scores.best(np.array([[True, False], [True, False]])) == [Winner(0, 1.0), None]
