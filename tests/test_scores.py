"""Scores and their intervals."""

import numpy as np
import pytest

from fcgboost.scores import Score, mean_score, score_within, wilson


def test_infinite_ends_are_none_in_json() -> None:
    assert Score(0.5, 0.0, np.inf).to_dict() == {"value": 0.5, "low": 0.0, "high": None}


def test_the_interval_of_a_mean_holds_it_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    draws = rng.exponential(size=(1000, 200))
    scores = [mean_score(draw) for draw in draws]
    share = np.mean([score.low <= 1.0 <= score.high for score in scores])
    assert 0.92 < share < 0.97


def test_one_value_has_no_bound_but_zero() -> None:
    score = mean_score(np.array([3.0]))
    assert (score.value, score.low, score.high) == (3.0, 0.0, np.inf)


def test_intervals_end_where_scores_do() -> None:
    assert score_within(0.95, 0.1) == Score(0.95, pytest.approx(0.85), 1.0)


def test_shares_of_all_or_nothing_have_one_exact_end() -> None:
    assert wilson(10, 10).high == 1.0
    assert wilson(0, 10).low == 0.0
    assert 0.6 < wilson(10, 10).low < 0.8
