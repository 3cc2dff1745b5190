"""What a contest says of candidates (ties, nobody, scores of parts), and steps written out."""

from typing import Any

import numpy as np
import pytest

from fcgboost.designs.base import Point, Winner
from fcgboost.designs.scoring import Scores
from tests.suites.designs import OwnSquaredHinge
from tests.suites.solvers import make_problem


@pytest.mark.parametrize(("precision", "gap"), [("float64", 1e-10), ("float32", 1e-6)])
def test_ties_go_to_the_lowest_index(precision: Any, gap: float) -> None:
    everyone = np.ones((3, 1), dtype=bool)
    for share, winner in ((0.5, 0), (2.0, 1)):
        scores = Scores(np.array([[1.0 - share * gap], [1.0], [-1.0]]), None, precision)
        assert scores.best(everyone)[0].index == winner


def test_nobody_allowed_is_nobody_chosen() -> None:
    scores = Scores(np.ones((2, 2)), None, "float64")
    assert scores.best(np.array([[True, False], [True, False]])) == [Winner(0, 1.0), None]


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_step_pays_the_square_of_its_coefficient(size: float) -> None:
    y = np.array([-1.0, 1.0, 1.0])
    l2 = 0.01 * size**2
    columns = make_problem(OwnSquaredHinge(), size * y[:, None], y, l2).columns
    found = columns.step(Point(columns, 0, np.zeros(1)), 0, l2)
    assert found is not None
    # The least of (1 - size b)^2 + l2 b^2.
    np.testing.assert_allclose(found.coef, 1.0 / (1.01 * size))
