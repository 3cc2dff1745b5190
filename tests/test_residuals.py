"""Scores of predicted numbers against scikit-learn's, and their intervals against a bootstrap."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from fcgboost import FCGBoostRegressor
from fcgboost.evaluation import evaluate
from fcgboost.residuals import RegressionEvaluation, score_numbers


def draw(m: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers, and predictions of unequal precision."""
    rng = np.random.default_rng(seed)
    predicted = rng.normal(size=m)
    return predicted + rng.normal(size=m) * (0.5 + (predicted > 0.0)), predicted


def test_scores_agree_with_scikit_learn() -> None:
    y, predicted = draw(300)
    scores = score_numbers(y, predicted)
    assert scores["r2"].value == pytest.approx(r2_score(y, predicted))
    assert scores["rmse"].value == pytest.approx(root_mean_squared_error(y, predicted))
    assert scores["mae"].value == pytest.approx(mean_absolute_error(y, predicted))


def test_intervals_agree_with_a_bootstrap() -> None:
    y, predicted = draw(2000)
    rng = np.random.default_rng(1)
    samples = rng.integers(len(y), size=(1000, len(y)))
    for name, score in score_numbers(y, predicted).items():
        drawn = [score_numbers(y[rows], predicted[rows])[name].value for rows in samples]
        low, high = np.quantile(drawn, [0.025, 0.975])
        assert score.high - score.low == pytest.approx(high - low, rel=0.15)
        assert score.low == pytest.approx(low, abs=0.1 * (high - low))


def test_a_constant_target_has_no_share_of_its_variance() -> None:
    assert list(score_numbers(np.ones(3), np.array([1.0, 2.0, 3.0]))) == ["rmse", "mae"]


def test_predictions_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match=r"same length, got shapes \(3,\) and \(2,\)"):
        score_numbers(np.ones(3), np.ones(2))


def test_coverage_counts_both_ends() -> None:
    y = np.array([0.0, 1.0, 2.0, 3.0])
    intervals = np.array([[0.0, 1.0], [0.0, 1.0], [2.5, 3.0], [3.5, 4.0]])
    evaluation = RegressionEvaluation(y, y, intervals)
    assert evaluation.coverage == 0.5
    assert "hold 50.0 % of the true numbers; their median width is 0.75" in str(evaluation)


def test_the_rows_with_the_largest_residuals_come_first() -> None:
    evaluation = RegressionEvaluation(np.array([0.0, 0.0, 0.0]), np.array([1.0, -3.0, 2.0]), None)
    assert evaluation.worst.tolist() == [1, 2, 0]


def test_ours_is_evaluated_with_intervals_and_others_without() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=120)
    clf = FCGBoostRegressor("linear", max_iter=2, cv=3, random_state=0, n_jobs=1).fit(X, y)
    ours = evaluate(clf, X, y)
    assert isinstance(ours, RegressionEvaluation)
    assert ours.coverage is not None
    assert ours.coverage > 0.85
    assert ours.scores["r2"].value == pytest.approx(clf.score(X, y))
    others = evaluate(LinearRegression().fit(X, y), X, y)
    assert isinstance(others, RegressionEvaluation)
    assert others.coverage is None
    assert set(others.to_dict()) == {"scores", "baseline", "coverage"}


def test_what_is_no_number_is_not_evaluated() -> None:
    X = np.arange(5.0)[:, None]
    model = LinearRegression().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="y contains NaN"):
        evaluate(model, X, [1.0, 2.0, np.nan, 4.0, 5.0])
    with pytest.raises(ValueError, match="y holds texts"):
        evaluate(model, X, list("abcde"))
