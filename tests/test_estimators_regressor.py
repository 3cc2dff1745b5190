"""The regressor: what y may be, what its fits promise, and scikit-learn's checks."""

import pickle
import re
import warnings
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fcgboost import FCGBoostClassifier, FCGBoostRegressor, Hinge, Huber, Status

FEW = {"max_iter": 6, "random_state": 0}
LOSSES = ["squared_error", "huber", "absolute_error", "quantile", "poisson"]


def friedman(n: int = 200, seed: int = 0, noise: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    return make_friedman1(n, n_features=6, random_state=seed, noise=noise)


X, Y = friedman()
X_TEST, Y_TEST = friedman(300, seed=1)


def make(dictionary="relu", **changes) -> FCGBoostRegressor:
    return FCGBoostRegressor(dictionary, **{**FEW, **changes})


@lru_cache
def fitted(dictionary: str = "auto", **changes) -> FCGBoostRegressor:
    """Give a model that tests share: read it, do not fit it again."""
    return FCGBoostRegressor(dictionary, random_state=0, **changes).fit(X, Y)


@parametrize_with_checks(
    [
        make(),
        make("auto", cv=2),
        *(make(loss=loss, max_iter=4) for loss in LOSSES[1:]),
    ]
)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("dictionary", "least"), [("auto", 0.92), ("fast", 0.94), ("compact", 0.94), ("tree", 0.6)]
)
def test_it_predicts(dictionary: str, least: float) -> None:
    model = fitted(dictionary)
    assert model.score(X_TEST, Y_TEST) > least
    assert model.score(X_TEST, Y_TEST) == r2_score(Y_TEST, model.predict(X_TEST))


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_minimise_what_they_say(loss: str) -> None:
    """Near the best constant, and better than it."""
    y = np.round(np.exp(Y / 8.0))
    model = make("auto", loss=loss, quantile=0.8, cv=3).fit(X, y)
    y_test = np.round(np.exp(Y_TEST / 8.0))
    losses = {
        "squared_error": lambda f: np.mean((y_test - f) ** 2),
        "huber": lambda f: np.mean(np.abs(y_test - f)),
        "absolute_error": lambda f: np.mean(np.abs(y_test - f)),
        "quantile": lambda f: np.mean(np.maximum(0.8 * (y_test - f), -0.2 * (y_test - f))),
        "poisson": lambda f: np.mean(f - y_test * np.log(f)),
    }
    best = min(losses[loss](np.full(300, c)) for c in np.quantile(y_test, np.linspace(0, 1, 101)))
    found = losses[loss](model.predict(X_TEST))
    assert found < best - 0.3 * abs(best) * (loss != "poisson")


def test_the_quantile_of_absolute_errors_is_the_median() -> None:
    first = make(loss="absolute_error").fit(X, Y)
    second = make(loss="quantile", quantile=0.5).fit(X, Y)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))


def test_the_share_below_a_quantile_is_about_that() -> None:
    model = fitted("auto", loss="quantile", quantile=0.8)
    assert 0.7 < np.mean(model.predict(X_TEST) >= Y_TEST) < 0.9


# What y may be


@pytest.mark.parametrize(
    "y",
    [
        pytest.param(Y.tolist(), id="list"),
        pytest.param(pd.Series(Y), id="series"),
        pytest.param(Y.astype(object), id="object"),
        pytest.param(Y.astype(np.float32), id="float32"),
    ],
)
def test_numbers_may_come_in_any_form(y) -> None:
    np.testing.assert_allclose(make().fit(X, y).predict(X), make().fit(X, Y).predict(X), rtol=1e-4)


def test_a_column_is_taken_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="column-vector y"):
        model = make().fit(X, Y[:, None])
    np.testing.assert_array_equal(model.predict(X), make().fit(X, Y).predict(X))


@pytest.mark.parametrize("y", [Y.astype(int), Y > 14.0, pd.Series(Y.round(), dtype="Int64")])
def test_whole_numbers_and_truth_values_are_numbers(y) -> None:
    as_float = make().fit(X, np.asarray(y, dtype=float))
    np.testing.assert_array_equal(make().fit(X, y).predict(X), as_float.predict(X))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.where(np.arange(200) == 3, np.nan, Y), "y contains NaN"),
        (np.where(np.arange(200) == 3, np.inf, Y), "y contains infinity"),
        (np.array(["a", "b"] * 100), "y holds texts or other values that are not numbers"),
        (pd.Series(pd.period_range("2020", periods=200)), "y holds texts or other values that are"),
        (np.column_stack([Y, Y]), "y should be a 1d array"),
        (pd.Series(pd.date_range("2020", periods=200)), "y holds dates or durations"),
        (1e308 * (Y / Y.max()), "y has numbers beyond 1e+305: rescale it"),
        (Y[:50], "X and y have 200 and 50 rows"),
        (None, "requires y to be passed"),
    ],
)
def test_what_is_no_number_is_refused(y, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make().fit(X, y)


def test_counts_are_not_negative() -> None:
    with pytest.raises(ValueError, match=r"y has numbers below 0, the least that Poisson\(\)"):
        make(loss="poisson").fit(X, Y - 20.0)
    with pytest.raises(ValueError, match="y_val has numbers below 0"):
        make(loss="poisson").fit(X, Y, X_val=X, y_val=-np.abs(Y))


@pytest.mark.parametrize(
    ("loss", "message"),
    [("squared_hinge", "loss must be one of"), ("logistic", "'absolute_error', 'huber'")],
)
def test_losses_of_classes_have_no_name_here(loss: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(loss=loss).fit(X, Y)
    with pytest.raises(ValueError, match=r"loss must be one of \['cubed_hinge'"):
        FCGBoostClassifier("relu", loss="huber").fit(X, Y > 14.0)


def test_a_loss_for_labels_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Hinge\(\) is a loss of labels"):
        make(loss=Hinge()).fit(X, Y)


def test_parameters_of_a_named_loss_can_be_set() -> None:
    model = make(loss="huber").set_params(loss__threshold=0.25)
    assert isinstance(model.loss, Huber)
    assert model.loss.threshold == 0.25


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dictionary", ["relu", "fast"])
def test_equal_numbers_are_predicted(dictionary: str, loss: str) -> None:
    for value in (0.0, 3.5):
        found = make(dictionary, loss=loss, quantile=0.9).fit(X, np.full(200, value)).predict(X)
        np.testing.assert_allclose(found, value, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES[:4])
@pytest.mark.parametrize("size", [1e-300, 1e-9, 1e9, 1e300])
def test_the_unit_of_y_does_not_matter(loss: str, size: float) -> None:
    model = make("auto", cv=2, loss=loss).fit(X, size * (Y + 5.0))
    expected = make("auto", cv=2, loss=loss).fit(X, Y)
    np.testing.assert_allclose(model.predict(X) / size - 5.0, expected.predict(X), rtol=1e-3)
    np.testing.assert_allclose(
        model.predict_interval(X[:9]) / size - 5.0, expected.predict_interval(X[:9]), rtol=1e-3
    )
    assert model.oof_score_ == pytest.approx(expected.oof_score_, rel=1e-3)


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("dictionary", ["relu", "auto", "fast", "compact"])
def test_a_few_rows_are_enough(dictionary: str, n: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = make(dictionary).fit(X[:n], Y[:n]).predict(X_TEST)
    assert np.isfinite(found).all()


def test_robust_losses_stand_outliers() -> None:
    wild = Y.copy()
    wild[::20] = 1e9
    scores = {
        loss: make("auto", max_iter=40, loss=loss, cv=3).fit(X, wild).score(X_TEST, Y_TEST)
        for loss in ("huber", "absolute_error", "squared_error")
    }
    assert scores["huber"] > 0.8
    assert scores["absolute_error"] > 0.8
    assert scores["squared_error"] < 0.0


# What fits promise


@given(st.integers(0, 10**6), st.sampled_from(LOSSES), st.sampled_from(["relu", "auto", "fast"]))
def test_weights_are_repetitions_and_order_does_not_matter(
    seed: int, loss: str, dictionary: str
) -> None:
    rng = np.random.default_rng(seed)
    A, y = friedman(40, seed % 7)
    counts = rng.integers(0, 3, 40)
    rows = rng.permutation(np.repeat(np.arange(40), counts))
    options = {"loss": loss, "max_iter": 2, "random_state": 0}
    if dictionary == "auto":
        options["cv"] = 2
    first = FCGBoostRegressor(dictionary, **options).fit(A, y, counts)
    second = FCGBoostRegressor(dictionary, **options).fit(A[rows], y[rows])
    np.testing.assert_array_equal(first.predict(A), second.predict(A))


@pytest.mark.parametrize("loss", LOSSES)
def test_threads_change_no_bit(loss: str) -> None:
    found = [
        FCGBoostRegressor(loss=loss, n_jobs=n_jobs, cv=2, **FEW).fit(X, Y).predict(X_TEST)
        for n_jobs in (1, 2, 3)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("loss", LOSSES)
def test_a_path_goes_on_where_it_was(loss: str) -> None:
    model = make(max_iter=3, warm_start=True, loss=loss).fit(X, Y)
    model.set_params(max_iter=6).fit(X, Y)
    expected = make(max_iter=6, loss=loss).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=1e-9)
    with pytest.raises(ValueError, match="warm_start=True needs the data of the last fit"):
        model.fit(X, Y + 1.0)


def test_out_of_fold_predictions_are_by_members_that_have_not_seen_the_row() -> None:
    splits = list(GroupKFold(3).split(X, Y, np.arange(200) % 7))
    model = make("auto", cv=splits).fit(X, Y)
    assert len(model.oof_prediction_) == 200
    for fold, (_, test) in enumerate(splits):
        members = model.members_[fold::3]
        total = sum(member.weight for member in members)
        found = sum(member.weight * member.decision(X[test])[:, 0] for member in members) / total
        np.testing.assert_allclose(model.oof_prediction_[test], found)
    assert model.oof_score_ == pytest.approx(r2_score(Y, model.oof_prediction_))


def test_the_blend_of_kinds_has_the_least_loss_out_of_fold() -> None:
    model = fitted()
    shares: dict[type, float] = {}
    for member in model.members_:
        kind = type(member.model.dictionary)
        shares[kind] = shares.get(kind, 0.0) + member.weight
    assert sum(shares.values()) == pytest.approx(1.0)


def test_groups_stay_together() -> None:
    groups = np.arange(200) // 20
    model = make("fast").fit(X, Y, groups=groups)
    is_judged = ~np.isnan(model.oof_prediction_)
    assert 0 < is_judged.sum() < 200
    assert all(len(set(is_judged[groups == group])) == 1 for group in range(10))


def test_validation_data_judge() -> None:
    model = make(max_iter=40, n_iter_no_change=3).fit(X, Y, X_val=X_TEST, y_val=Y_TEST)
    scores = model.trace_.scores
    assert model.n_iter_ == 1 + int(np.nanargmax(scores))
    predicted = list(model.staged_predict(X_TEST))[-1]
    assert scores.max() == pytest.approx(-np.mean((Y_TEST - predicted) ** 2) / Y.var())


def test_any_score_may_choose() -> None:
    model = make("auto", cv=2, scoring="neg_mean_absolute_error").fit(X, Y)
    expected = -np.mean(np.abs(Y - model.oof_prediction_))
    assert model.oof_score_ == pytest.approx(expected)
    with pytest.raises(AttributeError, match="predict_proba"):
        make(scoring="roc_auc").fit(X, Y)


def test_metrics_are_those_of_y() -> None:
    model = make(metrics=["r2", "neg_mean_absolute_error"], validation_fraction=0.3).fit(X, Y)
    recorded = model.trace_.metrics["train"]["neg_mean_absolute_error"]
    assert len(recorded) == 6
    assert -5.0 < recorded[-1] < -0.5
    assert set(model.trace_.metrics) == {"train", "validation"}


def test_stages_and_truncated_models_agree() -> None:
    model = make("fast", max_iter=8).fit(X, Y)
    stages = list(model.staged_predict(X_TEST))
    np.testing.assert_allclose(stages[-1], model.predict(X_TEST))
    np.testing.assert_allclose(stages[2], model.truncate(3).predict(X_TEST))
    assert not hasattr(model.truncate(3), "oof_prediction_")


def test_callbacks_and_time_limits_end_fits() -> None:
    model = make().set_callbacks(lambda step: step.k == 2).fit(X, Y)
    assert (model.n_iter_, model.status_) == (2, Status.CALLBACK)
    assert np.isfinite(make("auto", time_limit=60).fit(X, Y).predict(X)).all()


def test_tables_are_read_and_levels_tell_means() -> None:
    rng = np.random.default_rng(0)
    effects = rng.normal(0.0, 10.0, 40)
    levels = rng.integers(40, size=200)
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(level=[f"l{i:02}" for i in levels])
    y = Y + effects[levels]
    model = FCGBoostRegressor(random_state=0, cv=3).fit(frame, y)
    names = model.columns_[-1].output_names()
    assert names[0] == "mean target of level"
    numbers = model.columns_[-1].outputs[0].numbers[:40]
    assert np.corrcoef(numbers, effects)[0, 1] > 0.7
    without = FCGBoostRegressor(random_state=0, cv=3).fit(frame.drop(columns="level"), y)
    assert model.oof_score_ > without.oof_score_ + 0.1


def test_explanations_add_up() -> None:
    explanation = fitted("fast").explain(X_TEST[:4])
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, fitted("fast").predict(X_TEST[:4]))


def test_it_works_in_cross_validation() -> None:
    found = cross_validate(make(max_iter=20), X, Y, cv=3)
    assert found["test_score"].min() > 0.6


def test_it_survives_pickling_and_cloning() -> None:
    model = make("auto", cv=2).fit(X, Y)
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    np.testing.assert_array_equal(back.oof_prediction_, model.oof_prediction_)
    np.testing.assert_array_equal(back.predict_interval(X, 0.2), model.predict_interval(X, 0.2))
    twin = clone(back)
    assert not hasattr(twin, "members_")
    np.testing.assert_array_equal(twin.fit(X, Y).predict(X), model.predict(X))


def test_weights_and_groups_are_routed() -> None:
    weights = np.arange(len(Y)) % 3 + 1.0
    groups = np.arange(len(Y)) % 6
    seen = []

    class Spy(FCGBoostRegressor):
        def fit(self, X, y, sample_weight=None, *, groups=None):
            seen.append((len(X), sample_weight, groups))
            return super().fit(X, y, sample_weight, groups=groups)

    with config_context(enable_metadata_routing=True):
        spy = Spy("relu", cv=GroupKFold(2), max_iter=2)
        spy.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), spy)
        search = GridSearchCV(pipeline, {"spy__l2": [0.1, 0.2]}, cv=GroupKFold(3))
        search.fit(X, Y, sample_weight=weights, groups=groups)
    assert len(seen) == 7
    assert all(n == len(given) for n, *both in seen for given in both)
    np.testing.assert_array_equal(seen[-1][1:], [weights, groups])


def test_docstrings_are_complete() -> None:
    for cls in (FCGBoostRegressor, FCGBoostClassifier):
        head = cls.__doc__.split("Attributes\n")[0]
        for name in cls().get_params(deep=False):
            assert len(re.findall(rf"^{name} : ", head, re.MULTILINE)) == 1, name
    assert "oof_prediction_ :" in FCGBoostRegressor.__doc__
    assert "classes_" not in FCGBoostRegressor.__doc__


def test_quantiles_of_a_few_and_of_equal_numbers_need_no_curvature() -> None:
    model = FCGBoostRegressor(loss="quantile", quantile=0.9, random_state=0)
    found = model.fit(X[:120], np.full(120, 7.0)).predict(X)
    np.testing.assert_allclose(found, 7.0, rtol=1e-7)
