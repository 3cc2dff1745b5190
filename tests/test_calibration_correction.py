"""Corrections: from probabilities of labels, some of which are wrong, to those of true classes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcgboost import FCGBoostClassifier, load_model
from fcgboost.calibration import Correction, PowerLink, check_noise_matrix, probabilities_of
from fcgboost.losses import CubedHinge, ModifiedHuber, SquaredHinge

ONE_SIDED = np.array([[1.0, 0.0], [0.4, 0.6]])
THREE = np.array([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]])
chances = st.floats(0.0, 1.0)


def rows(n: int = 1_500, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Give rows, and the probabilities of the second class."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, 1.0 / (1.0 + np.exp(-4.0 * (X[:, 0] + X[:, 1])))


def noisy(matrix: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Give rows with labels of which some are wrong."""
    X, p = rows(seed=seed)
    rng = np.random.default_rng(seed)
    true = (rng.random(len(X)) < p).astype(int)
    return X, (rng.random(len(X)) < matrix[true, 1]).astype(int)


# The theory


@given(p=chances, kept=st.tuples(st.floats(0.55, 1.0), st.floats(0.55, 1.0)))
def test_a_known_matrix_recovers_the_rule_of_bayes(p: float, kept: tuple[float, float]) -> None:
    """The minimiser of the squared hinge knows the probabilities of labels exactly."""
    matrix = np.array([[kept[0], 1.0 - kept[0]], [1.0 - kept[1], kept[1]]])
    correction = Correction.of(matrix, SquaredHinge(), None)
    given = (1.0 - p) * matrix[0, 1] + p * matrix[1, 1]
    decision = np.array([2.0 * given - 1.0]) - correction.shift
    found = probabilities_of(SquaredHinge(), None, decision, correction)[0]
    np.testing.assert_allclose(found, [1.0 - p, p], atol=1e-12)
    if abs(p - 0.5) > 1e-9:
        assert (decision[0] > 0.0) == (p > 0.5)


@pytest.mark.parametrize("loss", [SquaredHinge(), CubedHinge(), ModifiedHuber()], ids=str)
@pytest.mark.parametrize("link", [None, PowerLink(3.0, 1.0), PowerLink(0.5, 4.0)], ids=str)
def test_the_shift_is_where_both_classes_are_equally_likely(loss: Any, link: Any) -> None:
    correction = Correction.of(ONE_SIDED, loss, link)
    even = probabilities_of(loss, link, np.zeros(1), correction)
    np.testing.assert_allclose(even, [[0.5, 0.5]], atol=1e-9)
    # Labels of the second class are the rarer ones: it wins before it has half of the labels.
    assert correction.shift < 0.0
    assert Correction.of(np.eye(2), loss, link).shift == pytest.approx(0.0, abs=1e-12)


@given(st.lists(chances, min_size=3, max_size=3).filter(lambda p: sum(p) > 0.1))
def test_several_classes_are_those_that_gave_the_labels(p: list[float]) -> None:
    true = np.array([p]) / sum(p)
    found = Correction.of(THREE, SquaredHinge(), None).true(true @ THREE)
    np.testing.assert_allclose(found, true, atol=1e-12)


def test_probabilities_that_no_true_class_gives_are_cut_to_the_simplex() -> None:
    found = Correction.of(THREE, SquaredHinge(), None).true(np.array([[0.0, 0.0, 1.0]]))
    assert (found >= 0.0).all()
    assert found.sum() == pytest.approx(1.0)
    assert found.argmax() == 2


# Matrices


@pytest.mark.parametrize(
    ("matrix", "problem"),
    [
        (ONE_SIDED.T, "transposed"),
        (np.eye(3), r"shape \(2, 2\)"),
        ([[0.9, 0.2], [0.1, 0.9]], "'no' sums|of 'no' to 1.1"),
        ([[1.5, -0.5], [0.0, 1.0]], "negative"),
        ([[np.nan, 1.0], [0.0, 1.0]], "NaN"),
        ([[0.5, 0.5], [0.5, 0.5]], "must say something"),
        ([[0.1, 0.9], [0.9, 0.1]], "'no' is not"),
        ([["a", "b"], [0.0, 1.0]], "rows are the true classes"),
    ],
)
def test_an_invalid_matrix_is_refused(matrix: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        check_noise_matrix(matrix, ["no", "yes"])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"label_noise": "guess"}, "'guess'"),
        ({"label_noise": ONE_SIDED.T}, "transposed"),
        ({"label_noise": ONE_SIDED, "class_weight": "balanced"}, "class_weight"),
        ({"label_noise": ONE_SIDED, "loss": "hinge"}, "link='power'"),
        ({"label_noise": "estimate"}, "held-out rows"),
    ],
    ids=str,
)
def test_a_correction_that_cannot_be_had_is_an_error(options: dict[str, Any], problem: str) -> None:
    X, y = noisy(ONE_SIDED)
    with pytest.raises(ValueError, match=problem):
        FCGBoostClassifier("relu", max_iter=2, **options).fit(X, y)


# Fits


def fitted(label_noise: Any, dictionary: str = "relu", **options: Any) -> FCGBoostClassifier:
    model = FCGBoostClassifier(dictionary, random_state=0, label_noise=label_noise, **options)
    return model.fit(*noisy(ONE_SIDED))


def test_a_matrix_moves_predictions_to_the_true_classes() -> None:
    plain = fitted(None, cv=3)
    model = fitted(ONE_SIDED, cv=3)
    X, p = rows(seed=1)
    decision = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), decision > 0.0)
    shifts = plain.decision_function(X) - decision
    np.testing.assert_allclose(shifts, shifts[0], atol=1e-12)
    found = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(found > 0.5, decision > 0.0)
    is_clear = abs(p - 0.5) > 0.2
    assert np.mean((decision > 0.0) == (p > 0.5), where=is_clear) > 0.98
    assert np.mean(plain.predict(X) == (p > 0.5), where=is_clear) < 0.9
    np.testing.assert_array_equal(model.label_noise_, ONE_SIDED)
    assert plain.label_noise_ is None
    # The fit itself is the same, and so is what the folds say of the labels.
    assert model.oof_score_ == plain.oof_score_
    np.testing.assert_array_equal(model.label_quality_, plain.label_quality_)
    moved = plain.oof_decision_function_ - model.oof_decision_function_
    np.testing.assert_allclose(moved, shifts[0], atol=1e-12)
    explanation = model.explain(X[:3])
    sums = explanation.values.sum(axis=1) + explanation.base_values
    np.testing.assert_allclose(sums, decision[:3], atol=1e-9)


def test_an_estimated_matrix_is_near_the_true_one() -> None:
    model = fitted("estimate", cv=5)
    assert model.label_noise_ == pytest.approx(ONE_SIDED, abs=0.12)
    np.testing.assert_allclose(model.label_noise_.sum(axis=1), 1.0, atol=1e-12)
    validated = FCGBoostClassifier("fast", random_state=0, label_noise="estimate")
    validated.fit(*noisy(ONE_SIDED))
    assert validated.label_noise_ == pytest.approx(ONE_SIDED, abs=0.15)


def test_where_rates_cannot_be_told_nothing_is_corrected() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (0.5 * X[:, 0] + rng.normal(size=400) > 0.0).astype(int)
    model = FCGBoostClassifier("relu", cv=3, random_state=0, label_noise="estimate").fit(X, y)
    plain = FCGBoostClassifier("relu", cv=3, random_state=0).fit(X, y)
    assert model.label_noise_ is None
    assert any("cannot be told" in note for note in model.notes_)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_with_several_classes_the_most_probable_one_is_predicted(tmp_path: Any) -> None:
    X, _ = rows()
    rng = np.random.default_rng(3)
    true = np.digitize(X[:, 0], [-0.5, 0.5])
    strong = np.array([[1.0, 0.0, 0.0], [0.45, 0.55, 0.0], [0.0, 0.45, 0.55]])
    y = np.array([rng.choice(3, p=strong[code]) for code in true])
    model = FCGBoostClassifier("relu", cv=3, random_state=0, label_noise=strong).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), p.argmax(axis=1))
    by_decision = model.decision_function(X).argmax(axis=1)
    assert np.mean(model.predict(X) == true) > np.mean(by_decision == true) + 0.02
    (*_, last) = model.staged_predict(X)
    np.testing.assert_array_equal(last, model.predict(X))
    model.save_model(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_proba(X), p)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.label_noise_, strong)


def test_a_file_keeps_the_correction_and_refuses_a_damaged_one(tmp_path: Any) -> None:
    model = fitted([[1.0, 0.0], [0.4, 0.6]])
    path = tmp_path / "model.json"
    model.save_model(path)
    X, _ = rows(50, seed=4)
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.get_params()["label_noise"] == ((1.0, 0.0), (0.4, 0.6))
    text = path.read_text("utf-8")
    damaged = text.replace('"matrix": [[1.0, 0.0]', '"matrix": [[0.5, 0.0]')
    damaged = damaged.replace('"matrix":[[1.0,0.0]', '"matrix":[[0.5,0.0]')
    assert damaged != text
    path.write_text(damaged, "utf-8")
    with pytest.raises(ValueError, match=r"correction\.matrix"):
        load_model(path)
