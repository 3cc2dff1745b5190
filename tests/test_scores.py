"""Scores against scikit-learn's, and their intervals against what they promise."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score
from sklearn.svm import LinearSVC

from fcgboost.scores import Score, evaluate, score_predictions, wilson


def draw(m: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Give labels and calibrated probabilities."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), size=m)
    y = (rng.random(m)[:, None] > np.cumsum(proba, axis=1)).sum(axis=1)
    return np.minimum(y, n_classes - 1), proba


def test_two_classes_agree_with_scikit_learn() -> None:
    y, proba = draw(500, 2, 0)
    names = np.array(["no", "yes"])
    scores = score_predictions(names[y], names[proba.argmax(1)], proba, names)
    assert scores["accuracy"].value == accuracy_score(y, proba.argmax(1))
    assert scores["auc"].value == pytest.approx(roc_auc_score(y, proba[:, 1]), abs=1e-12)
    assert scores["brier"].value == pytest.approx(brier_score_loss(y, proba[:, 1]), abs=1e-12)
    clipped = np.clip(proba, 1 / 1000, 1 - 1 / 1000)
    assert scores["log_loss"].value == pytest.approx(log_loss(y, clipped), abs=1e-12)


def test_several_classes_agree_with_scikit_learn() -> None:
    y, proba = draw(400, 4, 1)
    scores = score_predictions(y, proba.argmax(1), proba, range(4))
    area = roc_auc_score(y, proba, multi_class="ovr")
    assert scores["auc"].value == pytest.approx(area, abs=1e-12)
    brier = ((proba - np.eye(4)[y]) ** 2).sum(1).mean() / 2
    assert scores["brier"].value == pytest.approx(brier, abs=1e-12)


def test_ties_count_a_half() -> None:
    y, p = np.array([0, 1, 0, 1, 1]), np.array([0.5, 0.5, 0.2, 0.9, 0.2])
    scores = score_predictions(y, p > 0.5, np.column_stack([1 - p, p]), [0, 1])
    assert scores["auc"].value == pytest.approx(roc_auc_score(y, p), abs=1e-15)


def test_a_certain_mistake_costs_no_more_than_the_rows_can_tell() -> None:
    y, proba = np.array([1, 0, 0, 0]), np.array([[1.0, 0.0]] * 4)
    scores = score_predictions(y, proba.argmax(1), proba, [0, 1])
    assert scores["log_loss"].value == pytest.approx((np.log(8) - 3 * np.log(7 / 8)) / 4)


def test_a_perfect_score_of_few_rows_is_no_certainty() -> None:
    y, proba = np.array([0, 1, 0, 1]), np.array([[0.9, 0.1], [0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])
    scores = score_predictions(y, proba.argmax(1), proba, [0, 1])
    assert scores["accuracy"].high == 1.0
    assert scores["accuracy"].low == pytest.approx(0.5101, abs=1e-4)  # Wilson, 4 of 4
    assert scores["auc"].low == pytest.approx(wilson(2, 2).low)


def test_one_class_has_no_curve() -> None:
    proba = np.array([[0.9, 0.1], [0.4, 0.6]])
    assert "auc" not in score_predictions([0, 0], proba.argmax(1), proba, [0, 1])


def test_an_unknown_label_counts_as_wrong() -> None:
    proba = np.array([[0.9, 0.1], [0.4, 0.6]])
    scores = score_predictions(["a", "c"], ["a", "b"], proba, ["a", "b"])
    assert scores["accuracy"].value == 0.5
    assert scores["log_loss"].value == pytest.approx((-np.log(0.75) - np.log(0.25)) / 2)


def test_one_row_has_an_interval_without_end() -> None:
    scores = score_predictions([1], [1], [[0.3, 0.7]], [0, 1])
    assert scores["log_loss"].high == np.inf
    assert scores["brier"] == Score(pytest.approx(0.09), 0.0, 1.0)


@pytest.mark.parametrize("shape", [((2,), (3,)), ((0,), (0,)), ((2, 1), (2, 1))])
def test_wrong_shapes_are_refused(shape: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match="vectors of the same length"):
        score_predictions(np.zeros(shape[0]), np.zeros(shape[1]), None, [0, 1])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_intervals_hold_what_they_promise(n_classes: int) -> None:
    y, proba = draw(200_000, n_classes, 2)
    truth = score_predictions(y, proba.argmax(1), proba, range(n_classes))
    held = dict.fromkeys(truth, 0)
    n_draws, size = 400, 250
    for start in range(0, n_draws * size, size):
        rows = slice(start, start + size)
        drawn = score_predictions(y[rows], proba[rows].argmax(1), proba[rows], range(n_classes))
        for name, score in drawn.items():
            held[name] += score.low <= truth[name].value <= score.high
    for name, count in held.items():
        # 95 % of 400, within four standard deviations; log-loss is skewed.
        assert count / n_draws > 0.90, name


def test_classifiers_of_other_libraries_are_scored() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 2))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(200) > 0, "b", "a")
    assert set(evaluate(LogisticRegression().fit(X, y), X, y)) == {
        *("accuracy", "auc", "brier", "log_loss"),
    }
    machine = LinearSVC().fit(X, y)
    scores = evaluate(machine, X, y)
    assert set(scores) == {"accuracy", "auc"}
    area = roc_auc_score(y, machine.decision_function(X))
    assert scores["auc"].value == pytest.approx(area, abs=1e-12)


def test_scores_come_back_from_json() -> None:
    for score in (Score(0.5, 0.25, 0.75), Score(1.0, 0.0, np.inf)):
        assert Score.from_dict(score.to_dict()) == score
