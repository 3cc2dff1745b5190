"""Links: from decision values to probabilities by a curve fitted to rows held out."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.metrics import log_loss

from fcgboost import FCGBoostClassifier, load_model
from fcgboost.calibration import HeldOut, PowerLink, fit_link
from fcgboost.datasets import make_simulation
from fcgboost.losses import SquaredHinge, class_probabilities
from fcgboost.threads import shared

LINKS = (PowerLink(3.0, 1.0), PowerLink(0.5, 0.25), PowerLink(148.0, 4.0))
slopes = st.floats(0.01, 1000.0)
powers = st.floats(0.25, 4.0)
values = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=6)


def held_out(decision, codes, weights=None) -> HeldOut:
    decision = np.asarray(decision, dtype=float)
    if decision.ndim == 1:
        decision = decision[:, None]
    return HeldOut(
        decision,
        np.asarray(codes, dtype=np.intp),
        np.ones(len(codes)) if weights is None else weights,
    )


def naive(link: PowerLink, f: float) -> float:
    """Give the probability of the second of two classes."""
    odds = link.slope * f * (1.0 + f * f) ** ((link.power - 1.0) / 2.0)
    return 1.0 / (1.0 + math.exp(-odds))


def simulated(n: int, n_classes: int, slope: float, power: float):
    """Give decision values, and labels that a link with these parameters makes likely."""
    rng = np.random.default_rng([n, n_classes])
    decision = rng.normal(size=(n, 1 if n_classes == 2 else n_classes))
    shares = PowerLink(slope, power).probabilities(decision[:, 0] if n_classes == 2 else decision)
    codes = (rng.random((n, 1)) > np.cumsum(shares, axis=1)).sum(axis=1)
    return decision, np.minimum(codes, n_classes - 1)


class TestProbabilities:
    @pytest.mark.parametrize("link", LINKS)
    def test_two_classes_have_the_formula(self, link) -> None:
        f = np.linspace(-1.2, 1.2, 25)
        p = link.probabilities(f)
        np.testing.assert_allclose(p[:, 1], [naive(link, one) for one in f], rtol=1e-12)
        np.testing.assert_allclose(p[:, 0], [naive(link, -one) for one in f], rtol=1e-12)

    @pytest.mark.parametrize("link", LINKS)
    def test_several_classes_have_the_softmax(self, link) -> None:
        decision = np.random.default_rng(0).normal(size=(20, 4))
        odds = link.log_odds(decision)
        expected = [
            [1.0 / sum(math.exp(min(b - a, 700.0)) for b in row) for a in row] for row in odds
        ]
        np.testing.assert_allclose(link.probabilities(decision), expected, rtol=1e-10, atol=1e-300)

    @given(slopes, powers, values)
    def test_any_values_give_a_distribution_with_the_same_winner(self, a, b, row) -> None:
        decision = np.array([row, row[::-1]])
        p = PowerLink(a, b).probabilities(decision)
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        assert (p[[0, 1], decision.argmax(axis=1)] == p.max(axis=1)).all()

    @given(slopes, powers, values)
    def test_log_odds_grow_and_are_odd(self, a, b, row) -> None:
        odds = PowerLink(a, b).log_odds(np.sort(row))
        assert all(first <= second for first, second in pairwise(odds))
        np.testing.assert_array_equal(PowerLink(a, b).log_odds(-np.sort(row)), -odds)

    @pytest.mark.parametrize(("slope", "power"), [(0, 1), (-1, 1), (2000, 1), (1, 0), (1, 5)])
    def test_what_is_no_link_is_refused(self, slope, power) -> None:
        with pytest.raises(ValueError, match=r"in \(0, 1000\] and its power in \(0, 4\]"):
            PowerLink(slope, power)


class TestFit:
    @pytest.mark.parametrize("n_classes", [2, 3, 5])
    @pytest.mark.parametrize(("slope", "power"), [(3.0, 1.0), (2.0, 2.5), (4.0, 0.4)])
    def test_the_parameters_behind_labels_are_found(self, n_classes, slope, power) -> None:
        decision, codes = simulated(40_000, n_classes, slope, power)
        link = fit_link([held_out(decision, codes)])
        assert link.slope == pytest.approx(slope, rel=0.06)
        assert link.power == pytest.approx(power, abs=0.2)
        # More rows than a thread takes at once.
        with shared.ours(3):
            assert fit_link([held_out(decision, codes)]) == link

    @pytest.mark.parametrize("n_classes", [2, 4])
    def test_no_other_parameters_make_the_labels_more_likely(self, n_classes) -> None:
        decision, codes = simulated(300, n_classes, 2.0, 1.3)
        f = decision[:, 0] if n_classes == 2 else decision
        right, wrong = 301.0 / 302.0, 1.0 / 302.0 / (n_classes - 1)
        targets = np.where(np.arange(n_classes) == codes[:, None], right, wrong)

        def loss(point) -> float:
            p = PowerLink(math.exp(point[0]), point[1]).probabilities(f)
            return -float(np.mean(np.sum(targets * np.log(p), axis=1)))

        oracle = minimize(loss, (0.0, 1.0), bounds=((-5, 5), (0.25, 4)), method="Nelder-Mead")
        link = fit_link([held_out(decision, codes)])
        assert loss((math.log(link.slope), link.power)) <= oracle.fun + 1e-9

    def test_weights_are_counts_parts_are_joined_and_order_is_nothing(self) -> None:
        decision, codes = simulated(200, 3, 2.0, 1.0)
        counts = np.random.default_rng(0).integers(0, 4, 200)
        weighted = fit_link([held_out(decision, codes, counts.astype(float))])
        rows = np.random.default_rng(1).permutation(np.repeat(np.arange(200), counts))
        repeated = held_out(decision[rows], codes[rows])
        halves = [HeldOut(*(part[i::2] for part in repeated)) for i in range(2)]
        assert fit_link([repeated]) == fit_link(halves) == weighted

    def test_weights_that_sum_to_one_stand_for_their_rows(self) -> None:
        decision, codes = simulated(200, 2, 2.0, 1.0)
        shares = np.full(200, 1.0 / 200.0)
        assert fit_link([held_out(decision, codes, shares)]) == fit_link(
            [held_out(decision, codes)]
        )

    @pytest.mark.parametrize("n", [2, 10, 1000])
    def test_classes_that_separate_give_no_certainty(self, n) -> None:
        f = np.repeat([-1.0, 1.0], n)
        p = fit_link([held_out(f, f > 0)]).probabilities(np.array([-1.0, 1.0]))
        # What 2 n rows without a mistake can tell.
        np.testing.assert_allclose(p[:, 1], [1 / (2 * n + 2), (2 * n + 1) / (2 * n + 2)], rtol=1e-3)

    def test_a_constant_and_a_single_class_have_a_link_too(self) -> None:
        assert fit_link([held_out(np.zeros(5), [0, 1, 0, 1, 0])]).slope > 0.0
        p = fit_link([held_out(np.full(50, 0.3), np.ones(50, int))]).probabilities(np.array([0.3]))
        assert 0.9 < p[0, 1] < 1.0


@pytest.fixture(scope="module")
def data():
    X, y = make_simulation(600, noise="uniform", level=0.2, random_state=0)
    return X[:300], y[:300], X[300:], y[300:]


@pytest.fixture(scope="module")
def compact(data):
    """Give a model that the tests share: read it, do not fit it again."""
    return FCGBoostClassifier("compact", random_state=0).fit(*data[:2])


class TestClassifiers:
    def test_the_default_fits_a_link_to_validation_data(self, data) -> None:
        X, y, X_val, y_val = data
        model = FCGBoostClassifier(random_state=0).fit(X, y, X_val=X_val, y_val=y_val)
        f = model.decision_function(X_val)
        assert model.link_ == fit_link([held_out(f, y_val > 0)])
        np.testing.assert_array_equal(model.predict_proba(X_val), model.link_.probabilities(f))
        staged = list(model.staged_predict_proba(X_val))
        np.testing.assert_allclose(staged[-1], model.predict_proba(X_val), rtol=1e-9)

    def test_it_fits_one_to_the_folds_as_well(self, data, compact) -> None:
        X, y, X_test, _ = data
        model = compact
        assert model.link_ == fit_link([held_out(model.oof_decision_function_, y > 0)])
        theory = FCGBoostClassifier("compact", random_state=0, link="theory").fit(X, y)
        assert model.link_ is not None
        assert theory.link_ is None
        np.testing.assert_array_equal(*(m.decision_function(X_test) for m in (model, theory)))
        f = theory.decision_function(X_test)
        np.testing.assert_array_equal(
            theory.predict_proba(X_test), class_probabilities(SquaredHinge(), f)
        )

    def test_its_probabilities_are_better_than_those_of_the_theory_on_average(self) -> None:
        gains = []
        for seed in range(6):
            X, y = make_simulation(600, noise="uniform", level=0.2, random_state=seed)
            model = FCGBoostClassifier("compact", random_state=0).fit(X[:300], y[:300])
            by_theory = class_probabilities(SquaredHinge(), model.decision_function(X[300:]))
            losses = [log_loss(y[300:], p) for p in (model.predict_proba(X[300:]), by_theory)]
            gains.append(losses[1] - losses[0])
        assert np.mean(gains) > 0.0

    def test_other_dictionaries_have_the_theory_unless_asked(self, data) -> None:
        X, y, X_val, y_val = data
        options = {"max_iter": 8, "random_state": 0}
        plain = FCGBoostClassifier("gauss", **options).fit(X, y, X_val=X_val, y_val=y_val)
        asked = FCGBoostClassifier("gauss", link="power", **options)
        asked.fit(X, y, X_val=X_val, y_val=y_val)
        assert plain.link_ is None
        assert asked.link_ == fit_link([held_out(plain.decision_function(X_val), y_val > 0)])
        aside = FCGBoostClassifier("gauss", link="power", validation_fraction=0.2, **options)
        assert aside.fit(X, y).link_ is not None

    @pytest.mark.parametrize("dictionary", ["gauss", "compact"])
    def test_a_hinge_has_probabilities_with_a_link_only(self, data, dictionary) -> None:
        X, y, X_val, y_val = data
        options = {"loss": "hinge", "max_iter": 6, "random_state": 0}
        bare = FCGBoostClassifier(dictionary, **options).fit(X, y, X_val=X_val, y_val=y_val)
        assert not hasattr(bare, "predict_proba")
        linked = FCGBoostClassifier(dictionary, link="power", **options)
        assert hasattr(linked, "predict_proba")
        p = linked.fit(X, y, X_val=X_val, y_val=y_val).predict_proba(X_val)
        np.testing.assert_array_equal(linked.classes_[p.argmax(axis=1)], bare.predict(X_val))

    def test_several_classes_share_one_link(self) -> None:
        rng = np.random.default_rng(0)
        y = rng.integers(0, 3, 150)
        X = rng.normal(size=(150, 4)) + y[:, None]
        model = FCGBoostClassifier("compact", random_state=0).fit(X, y)
        p = model.predict_proba(X)
        np.testing.assert_array_equal(p, model.link_.probabilities(model.decision_function(X)))
        np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))

    @pytest.mark.parametrize(
        "options",
        [
            {"dictionary": "gauss"},
            {"dictionary": "auto", "cv": None, "max_iter": 3},
        ],
    )
    def test_a_link_without_rows_held_out_is_refused(self, data, options) -> None:
        X, y, *_ = data
        with pytest.raises(ValueError, match="link='power' needs held-out rows"):
            FCGBoostClassifier(link="power", **options).fit(X, y)

    def test_a_link_for_too_few_rows_to_split_is_refused(self) -> None:
        with pytest.raises(ValueError, match="link='power' needs held-out rows"):
            FCGBoostClassifier(link="power").fit([[0.0], [1.0]], [0, 1])
        assert FCGBoostClassifier().fit([[0.0], [1.0]], [0, 1]).link_ is None

    def test_a_word_that_is_no_link_is_refused(self, data) -> None:
        with pytest.raises(ValueError, match="link must be one of"):
            FCGBoostClassifier(link="platt").fit(*data[:2])

    def test_a_model_file_keeps_it(self, data, compact, tmp_path) -> None:
        model, X_test = compact, data[2]
        model.save_model(tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json")
        assert (loaded.link, loaded.link_) == ("auto", model.link_)
        assert loaded.l2_ == model.l2_
        np.testing.assert_array_equal(loaded.predict_proba(X_test), model.predict_proba(X_test))

    def test_the_link_may_change_in_a_continuation(self, data) -> None:
        X, y, X_val, y_val = data
        model = FCGBoostClassifier("relu", max_iter=4, warm_start=True, random_state=0)
        assert model.fit(X, y, X_val=X_val, y_val=y_val).link_ is None
        model.set_params(link="power", max_iter=6).fit(X, y, X_val=X_val, y_val=y_val)
        assert model.link_ is not None

    def test_classes_weigh_in_the_link_as_in_the_fit(self, data) -> None:
        X, y, X_val, y_val = data
        options = {"max_iter": 8, "random_state": 0, "link": "power", "class_weight": {1: 3.0}}
        model = FCGBoostClassifier("relu", **options).fit(X, y, X_val=X_val, y_val=y_val)
        f, weights = model.decision_function(X_val), np.where(y_val > 0, 3.0, 1.0)
        assert model.link_ == fit_link([held_out(f, y_val > 0, weights)])
        p, share = model.predict_proba(X_val)[:, 1], np.average(y_val > 0, weights=weights)
        assert np.average(p, weights=weights) == pytest.approx(share, abs=0.05)

    def test_the_link_of_an_ensemble_is_fitted_to_all_rows(self, data) -> None:
        X, y, *_ = data
        options = {"max_iter": 3, "cv": 3, "random_state": 0}
        ensemble = FCGBoostClassifier("gauss", link="power", **options).fit(X, y)
        assert ensemble.link_ == fit_link([held_out(ensemble.oof_decision_function_, y > 0)])
        assert FCGBoostClassifier("gauss", **options).fit(X, y).link_ is None


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("link", ["theory", "power"])
def test_decision_values_have_the_labels_and_probabilities_of_their_rows(
    n_classes: int, link: str
) -> None:
    X = np.random.default_rng(0).random((120, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [0.3, 0.7][: n_classes - 1])]
    options = {"max_iter": 4, "link": link, "validation_fraction": 0.3, "random_state": 0}
    model = FCGBoostClassifier("gauss", **options).fit(X, y)
    decision = model.decision_function(X)
    np.testing.assert_array_equal(model.labels_of(decision), model.predict(X))
    np.testing.assert_array_equal(model.probabilities_of(decision), model.predict_proba(X))


def test_without_a_probability_decision_values_have_labels_only() -> None:
    model = FCGBoostClassifier("gauss", loss="hinge", max_iter=2).fit([[0.0], [1.0]], [0, 1])
    assert model.labels_of(np.array([-1.0, 2.0])).tolist() == [0, 1]
    assert not hasattr(model, "probabilities_of")
