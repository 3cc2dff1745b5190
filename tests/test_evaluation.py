"""Scores against scikit-learn's, and their intervals against what they promise."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    confusion_matrix,
    log_loss,
    precision_score,
    recall_score,
    roc_auc_score,
)
from sklearn.svm import LinearSVC

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import make_simulation
from fcgboost.evaluation import (
    Evaluation,
    evaluate,
    score_predictions,
)
from fcgboost.scores import Score, wilson


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
    assert set(evaluate(LogisticRegression().fit(X, y), X, y).scores) == {
        *("accuracy", "auc", "brier", "log_loss"),
    }
    machine = LinearSVC().fit(X, y)
    scores = evaluate(machine, X, y).scores
    assert set(scores) == {"accuracy", "auc"}
    area = roc_auc_score(y, machine.decision_function(X))
    assert scores["auc"].value == pytest.approx(area, abs=1e-12)


def evaluation(names: list[str], counts: list[list[int]]) -> Evaluation:
    """Give rows with these counts by true class (a label "?" is none) and predicted class."""
    truths, predictions = [], []
    for true, row in zip([*names, "?"], counts, strict=False):
        for predicted, n in zip(names, row, strict=True):
            truths += [true] * n
            predictions += [predicted] * n
    return Evaluation(np.array(names), np.array(truths), np.array(predictions), None, None)


def lines_of(found: Evaluation) -> list[str]:
    return str(found).splitlines()


def test_the_confusion_matrix_is_that_of_scikit_learn() -> None:
    y, proba = draw(300, 3, 4)
    found = Evaluation(np.arange(3), y, proba.argmax(1), None, proba)
    np.testing.assert_array_equal(found.confusion, confusion_matrix(y, proba.argmax(1)))
    precision = precision_score(y, proba.argmax(1), average=None)
    np.testing.assert_allclose(found.precision, precision)
    np.testing.assert_allclose(found.recall, recall_score(y, proba.argmax(1), average=None))
    label, accuracy = found.baseline
    assert (label, accuracy) == (np.bincount(y).argmax(), np.bincount(y).max() / 300)


def test_a_matrix_is_aligned() -> None:
    lines = lines_of(evaluation(["no", "yes"], [[1200, 20], [35, 65]]))
    assert lines[0] == "Baseline (always no): accuracy 0.9242"
    assert lines[-4:] == [
        "              no    yes  recall",
        "no         1,200     20   0.984",
        "yes           35     65   0.650",
        "precision  0.972  0.765",
    ]


def test_long_names_are_cut() -> None:
    names = ["a very long name of a class " * 3, "a very long name of another class", "c"]
    lines = lines_of(evaluation(names, np.diag([3, 4, 5]).tolist()))
    assert lines[-5].split() == ["a", "very", "lo…", "a", "very", "lo…", "c", "recall"]
    assert lines[-4].startswith("a very long name of a class a very long…")
    assert lines[-3].startswith("a very long name of another class ")
    assert max(map(len, lines)) < 80


def test_a_class_that_is_never_predicted_has_no_precision() -> None:
    found = evaluation(["a", "b", "c"], [[2, 0, 0], [1, 0, 0], [0, 0, 0]])
    assert found.to_dict()["precision"] == {"a": 2 / 3, "b": None, "c": None}
    assert found.to_dict()["recall"] == {"a": 1.0, "b": 0.0, "c": None}
    assert lines_of(found)[-1].split() == ["precision", "0.667", "-", "-"]


def test_of_many_classes_the_largest_confusions_are_shown() -> None:
    counts = np.diag(np.full(30, 50))
    counts[3, 7], counts[9, 2] = 12, 25
    lines = lines_of(evaluation([f"class {i}" for i in range(30)], counts.tolist()))
    assert [line.split() for line in lines[-3:]] == [
        ["true", "class", "predicted", "class", "rows", "recall"],
        ["class", "9", "class", "2", "25", "0.667"],
        ["class", "3", "class", "7", "12", "0.806"],
    ]


def test_labels_that_are_no_class_have_the_last_row() -> None:
    found = evaluation(["a", "b"], [[5, 0], [1, 3], [0, 2]])
    assert found.names == ["a", "b", "(other)"]
    assert found.confusion.tolist() == [[5, 0], [1, 3], [0, 2]]
    assert found.codes.tolist() == [0] * 5 + [1] * 4 + [-1] * 2
    assert found.baseline == ("a", 5 / 11)
    assert "\n(other)" in str(found)


def test_mistakes_come_worst_first() -> None:
    decision = np.array([0.5, -2.0, 0.1, -0.3])
    labels = np.where(decision > 0, "b", "a")
    found = Evaluation(np.array(["a", "b"]), np.array(["a", "b", "b", "?"]), labels, decision, None)
    assert found.margins.tolist() == [-0.5, -2.0, 0.1, -0.3]
    assert found.mistakes.tolist() == [1, 0, 3]
    with pytest.raises(ValueError, match="decision values"):
        _ = Evaluation(found.classes, found.y, found.labels, None, None).margins


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_our_classifiers_are_evaluated_in_one_pass(loss: str) -> None:
    X, y = make_simulation(200, random_state=0)
    clf = FCGBoostClassifier("linear", loss=loss, max_iter=3, random_state=0).fit(X, y)
    found = evaluate(clf, X, y)
    np.testing.assert_array_equal(found.labels, clf.predict(X))
    assert (found.proba is None) == (loss == "hinge")
    assert set(found.scores) >= {"accuracy", "auc"}
    assert found.scores["accuracy"].value == clf.score(X, y)
