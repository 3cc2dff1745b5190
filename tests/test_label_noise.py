"""Rates of wrong labels from probabilities: known noise is found, hard classes are not mistaken."""

import numpy as np
import pytest

from fcgboost.label_noise import LabelNoise, WrongLabels, estimate_noise, true_probabilities


def rows_of_two_classes(n_rows, matrix, overlap, seed):
    """Return probabilities of labels as they are, labels, and true classes.

    A share of the rows lies between the classes, where either is as probable as the distance says.
    """
    rng = np.random.default_rng(seed)
    is_sure = rng.random(n_rows) >= overlap
    true_p = np.where(is_sure, (rng.random(n_rows) < 0.4) * 1.0, rng.random(n_rows))
    true = (rng.random(n_rows) < true_p).astype(int)
    labels = (rng.random(n_rows) < np.asarray(matrix)[true, 1]).astype(int)
    p = np.column_stack([1.0 - true_p, true_p]) @ matrix
    # Probabilities are estimates.
    p[:, 1] = np.clip(p[:, 1] + rng.normal(scale=0.02, size=n_rows), 0.001, 0.999)
    p[:, 0] = 1.0 - p[:, 1]
    return p, labels, true


def noise_of(p, labels, weights=None, trusted=None) -> LabelNoise:
    weights = np.ones(len(p)) if weights is None else weights
    trusted = np.zeros(len(p), dtype=bool) if trusted is None else trusted
    return estimate_noise(p, labels, weights, trusted)


MATRICES = [
    ((1.0, 0.0), (0.0, 1.0)),
    ((0.9, 0.1), (0.1, 0.9)),
    ((0.7, 0.3), (0.3, 0.7)),
    ((1.0, 0.0), (0.3, 0.7)),
    ((0.65, 0.35), (0.02, 0.98)),
]


@pytest.mark.parametrize("matrix", MATRICES)
def test_intervals_hold_known_rates(matrix) -> None:
    rates = 1.0 - np.diag(matrix)
    n_held = 0
    n_told = 0
    for seed in range(20):
        p, labels, true = rows_of_two_classes(2_000, matrix, overlap=0.1, seed=seed)
        noise = noise_of(p, labels)
        wrong = noise.wrong()
        assert noise.is_known.all()
        n_told += wrong.is_known
        np.testing.assert_allclose(1.0 - np.diag(noise.matrix), rates, atol=0.1)
        n_held += wrong.low <= np.mean(labels != true) <= wrong.high
        assert abs(wrong.share - np.mean(labels != true)) < 0.06
    # Nine in ten are meant.
    assert n_held >= 17
    assert n_told >= 17


def test_rates_follow_several_classes() -> None:
    rng = np.random.default_rng(0)
    matrix = np.array([[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.1, 0.1, 0.8]])
    true = rng.integers(0, 3, 6_000)
    labels = np.array([rng.choice(3, p=matrix[code]) for code in true])
    noise = noise_of(np.eye(3)[true] @ matrix, labels)
    np.testing.assert_allclose(noise.matrix, matrix, atol=0.03)
    np.testing.assert_allclose(noise.true, 1 / 3, atol=0.03)
    for code in range(3):
        share = np.mean(true[labels == code] != code)
        wrong = noise.wrong(code)
        assert wrong.low - 0.01 <= share <= wrong.high + 0.01
        assert wrong.share == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("is_even", [True, False])
def test_flips_are_even_unless_they_certainly_are_not(is_even) -> None:
    rng = np.random.default_rng(0)
    true = rng.integers(0, 5, 5_000)
    shift = rng.integers(1, 5, 5_000) if is_even else 1
    labels = np.where(rng.random(5_000) < 0.2, (true + shift) % 5, true)
    p = np.full((5_000, 5), 0.05)
    p[np.arange(5_000), true] = 0.8
    matrix = noise_of(p, labels).matrix
    moves = matrix[0, 1:] / matrix[0, 1:].sum()
    expected = [0.25] * 4 if is_even else [1.0, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(moves, expected, atol=1e-12 if is_even else 0.01)


def test_an_upper_limit_alone_tells_nothing() -> None:
    noise = LabelNoise(
        np.array([[0.9, 0.1], [0.1, 0.9]]),
        low=np.array([0.08, 0.0]),
        high=np.array([0.12, 1.0]),
        likely_low=np.array([0.09, 0.0]),
        is_known=np.array([True, False]),
        given=np.array([0.7, 0.3]),
        true=np.array([0.75, 0.25]),
        most=0.15,
    )
    wrong = noise.wrong()
    assert (wrong.low, wrong.high) == (pytest.approx(0.06), 0.15)
    assert not wrong.is_known


def test_a_class_that_does_not_occur_changes_nothing() -> None:
    p, labels, _ = rows_of_two_classes(2_000, MATRICES[3], overlap=0.1, seed=0)
    two = noise_of(p, labels)
    three = noise_of(np.column_stack([p, np.zeros(2_000)]), labels)
    np.testing.assert_allclose(three.matrix[:2, :2], two.matrix, atol=2e-3)
    np.testing.assert_allclose(three.high[:2], two.high, atol=2e-3)
    assert three.wrong().share == pytest.approx(two.wrong().share, abs=2e-3)
    assert three.wrong().is_known


def test_hard_classes_are_not_mistaken_for_wrong_labels() -> None:
    """All labels are right, but no row is surely of the second class."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        p = np.clip(0.45 * rng.random(3_000) ** 3, 0.001, 0.7)
        labels = (rng.random(3_000) < p).astype(int)
        noise = noise_of(np.column_stack([1.0 - p, p]), labels)
        assert not noise.is_known[1]
        assert noise.low[1] == 0.0
        wrong = noise.wrong()
        assert wrong.low == pytest.approx(0.0, abs=0.02)


def test_coins_tell_nothing() -> None:
    labels = np.random.default_rng(0).integers(0, 2, 1_000)
    noise = noise_of(np.full((1_000, 2), 0.5), labels)
    assert not noise.is_known.any()
    assert not noise.wrong().is_known
    assert str(noise.wrong()).startswith("cannot tell (between 0.0 and")
    # Equal rates leave the order of the plain probabilities.
    assert noise.matrix[0, 1] == pytest.approx(noise.matrix[1, 0])


def test_weights_are_repetitions_and_order_does_not_matter() -> None:
    p, labels, _ = rows_of_two_classes(600, MATRICES[3], overlap=0.2, seed=1)
    counts = np.random.default_rng(1).integers(0, 4, 600)
    counts[:5] = 1
    repeated = np.random.default_rng(2).permutation(np.repeat(np.arange(600), counts))
    kept = counts > 0
    weighted = noise_of(p[kept], labels[kept], weights=counts[kept].astype(float))
    expected = noise_of(p[repeated], labels[repeated])
    for name in ("matrix", "low", "high", "given", "true", "most"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(expected, name), rtol=1e-9)


def test_small_weights_count_their_rows() -> None:
    p, labels, _ = rows_of_two_classes(600, MATRICES[3], overlap=0.2, seed=1)
    shares = noise_of(p, labels, weights=np.full(600, 1 / 600))
    np.testing.assert_allclose(shares.high, noise_of(p, labels).high, rtol=1e-9)


def test_trusted_rows_of_other_classes_are_no_wrong_labels() -> None:
    rng = np.random.default_rng(0)
    # One class looks like the other in a tenth of its rows, and all labels are right.
    true = rng.integers(0, 2, 2_000)
    looks = np.where((true == 1) & (rng.random(2_000) < 0.1), 0, true)
    p = np.eye(2)[looks] * 0.9 + 0.05
    unsure = noise_of(p, true)
    trusted = noise_of(p, true, trusted=np.ones(2_000, dtype=bool))
    assert unsure.wrong().share > 0.02
    assert trusted.wrong().share == pytest.approx(0.0, abs=1e-3)
    assert trusted.most == 0.0


def test_bayes_by_hand() -> None:
    matrix = np.array([[0.9, 0.1], [0.4, 0.6]])
    true = np.array([[0.2, 0.8], [0.7, 0.3], [0.0, 1.0]])
    labels = np.array([0, 1, 1])
    found = true_probabilities(true @ matrix, labels, matrix)
    expected = np.array(
        [
            [0.2 * 0.9, 0.8 * 0.4],
            [0.7 * 0.1, 0.3 * 0.6],
            [0.0, 0.6],
        ]
    )
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_equal_rates_keep_the_order_of_probabilities() -> None:
    p = np.random.default_rng(0).random(200)
    p = np.column_stack([1.0 - p, p])
    labels = np.random.default_rng(1).integers(0, 2, 200)
    plain = p[np.arange(200), labels]
    matrix = np.array([[0.8, 0.2], [0.2, 0.8]])
    quality = true_probabilities(p, labels, matrix)[np.arange(200), labels]
    inside = (plain > 0.2) & (plain < 0.8)
    assert (np.diff(quality[inside][np.argsort(plain[inside])]) >= -1e-12).all()


def test_text_of_shares() -> None:
    assert str(WrongLabels(0.123, 0.1, 0.15, True)) == "12.3 % (between 10.0 and 15.0 %)"
    assert str(WrongLabels(0.123, 0.0, 0.2, False)) == "cannot tell (between 0.0 and 20.0 %)"
