"""Inputs beyond the training data: limits, what is clipped to them, and what is not."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from fcgboost import FCGBoostClassifier
from fcgboost.clipping import Limits, clip, limits_of, zeros_in
from fcgboost.dictionaries import ReluDictionary, TreeDictionary, UnionDictionary
from fcgboost.model import Model
from fcgboost.tables.learning import LevelCounts

DICTIONARIES = ("gauss", "polynomial", "sigmoid", "relu")


def make_rows(n_samples: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Give rows with heavy tails, a column without zeros, one with few, one mostly zero."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(2, (n_samples, 5))
    X[:, 1] = np.where(rng.random(n_samples) < 0.1, 0.0, 3.0 + X[:, 1])
    X[:, 2] = np.where(rng.random(n_samples) < 0.8, 0.0, X[:, 2])
    X[:, 3] = 7.3
    X[:, 4] = 30.0 + X[:, 4]
    y = (X[:, 0] + X[:, 2] + rng.normal(size=n_samples) > 0.0).astype(int)
    return X, y


def limits_by_hand(X: np.ndarray, c: float, weights: Any = None) -> Limits:
    mean = np.average(X, axis=0, weights=weights)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    low, high = mean - c * deviation, mean + c * deviation
    for j in range(X.shape[1]):
        if (X[:, j] == X[0, j]).all():
            low[j] = high[j] = X[0, j]
        if (X[:, j] == 0.0).any():
            low[j], high[j] = min(low[j], 0.0), max(high[j], 0.0)
    return Limits(low, high)


def assert_same_limits(one: Limits, other: Limits) -> None:
    np.testing.assert_allclose(one.low, other.low, rtol=1e-12)
    np.testing.assert_allclose(one.high, other.high, rtol=1e-12)


def fit(X: Any, y: Any, *args: Any, **changes: Any) -> FCGBoostClassifier:
    settings = {"dictionary": "relu", "max_iter": 12, "random_state": 0, "clip": 1.5}
    data = {name: changes.pop(name) for name in ("X_val", "y_val") if name in changes}
    return FCGBoostClassifier(**{**settings, **changes}).fit(X, y, *args, **data)


def assert_same_model(one: Model, other: Model) -> None:
    for name in ("atoms", "coef", "intercept", "scale"):
        pair = [getattr(model, name) for model in (one, other)]
        pair = [side.toarray() if sparse.issparse(side) else side for side in pair]
        np.testing.assert_allclose(*pair, rtol=1e-9, atol=1e-12, err_msg=name)


# Limits by themselves


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_beyond_the_limits_count_as_at_the_limit(dtype: Any) -> None:
    limits = Limits(np.array([-1.0, 0.1]), np.array([1.0, 0.3]))
    X = np.array([[-5.0, 0.2], [0.5, 0.5], [np.nan, -np.inf], [np.inf, np.nan]], dtype=dtype)
    clipped = limits.apply(X)
    inside = float(dtype(0.2))
    expected = [[-1.0, inside], [0.5, 0.3], [np.nan, 0.1], [1.0, np.nan]]
    np.testing.assert_array_equal(clipped, expected)
    assert clipped.dtype == np.float64
    assert X[0, 0] == -5.0


def test_nothing_is_copied_where_nothing_is_clipped() -> None:
    limits = Limits(np.array([0.0, -1.0]), np.array([1.0, 2.0]))
    X = np.array([[0.0, 2.0], [np.nan, -1.0]], dtype=np.float32)
    assert limits.apply(X) is X
    rows = sparse.csr_array(X)
    assert limits.apply(rows) is rows


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_rows_are_clipped_like_dense_ones(kind: Any) -> None:
    X, _ = make_rows()
    limits = limits_by_hand(X, 0.7)
    rows = kind(X)
    clipped = limits.apply(rows)
    assert type(clipped) is kind
    assert clipped.nnz <= rows.nnz
    assert np.shares_memory(clipped.indices, rows.indices)
    np.testing.assert_array_equal(clipped.toarray(), limits.apply(X))


def test_zeros_that_are_not_stored_are_clipped_where_no_training_row_was_zero() -> None:
    limits = Limits(np.array([2.0, -1.0, -9.0]), np.array([3.0, 1.0, -8.0]))
    X = np.array([[0.0, 0.0, 0.0], [2.5, 7.0, 0.0], [0.0, 0.5, -8.5], [np.nan, 0.0, 1.0]])
    clipped = limits.apply(sparse.csr_array(X))
    assert clipped.has_canonical_format
    np.testing.assert_array_equal(clipped.toarray(), clip(X, limits.low, limits.high))


def test_a_column_has_a_zero_if_a_row_is_zero_there() -> None:
    X = np.array([[-1.0, 0.0, np.nan, 1.0], [1.0, 3.0, 2.0, -0.0]])
    expected = [False, True, False, True]
    np.testing.assert_array_equal(zeros_in(X), expected)
    np.testing.assert_array_equal(zeros_in(sparse.csr_array(X)), expected)
    stored = sparse.csr_array(X)
    stored.data[:] = np.where(stored.data == 3.0, 0.0, stored.data)
    np.testing.assert_array_equal(zeros_in(stored), expected)
    np.testing.assert_array_equal(zeros_in(X[:1]) + zeros_in(X[1:]), expected)


def test_limits_contain_zero_only_where_there_is_one() -> None:
    ones, flags = np.ones(3), np.array([True, False, True])
    limits = limits_of(2.0, 10.0 * ones, np.array([1.0, 1.0, 0.0]), 0.5 * ones, 11.0 * ones, flags)
    np.testing.assert_array_equal(limits.low, [0.0, 8.0, 0.0])
    np.testing.assert_array_equal(limits.high, [12.0, 12.0, 11.0])


def test_limits_are_finite() -> None:
    wide = np.array([1e308])
    limits = limits_of(1e10, wide, wide, -wide, wide, np.array([False]))
    assert np.isfinite([limits.low, limits.high]).all()


# Limits in a fit


# Families whose candidates are the rows themselves: other draws go by the rows as they were.
@pytest.mark.parametrize("dictionary", ["gauss", "polynomial"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("standardize", [True, False])
def test_a_clipped_fit_is_a_fit_to_clipped_rows(dictionary, make, standardize) -> None:
    (X, y), (X_val, y_val) = make_rows(), make_rows(80, 1)
    options = {"dictionary": dictionary, "standardize": standardize}
    if make is sparse.csr_array and dictionary == "gauss":
        options["standardize"] = True
    clf = fit(make(X), y, X_val=make(X_val), y_val=y_val, **options)
    limits = clf.model_.limits
    assert_same_limits(limits, limits_by_hand(X, 1.5))
    assert (clip(X, limits.low, limits.high) != X).any(axis=0).tolist() == [True] * 3 + [
        False,
        True,
    ]
    by_hand = [make(limits.apply(rows)) for rows in (X, X_val)]
    other = fit(by_hand[0], y, X_val=by_hand[1], y_val=y_val, **options, clip=None)
    assert other.model_.limits is None
    assert_same_model(clf.model_, other.model_)
    np.testing.assert_array_equal(
        clf.trace_.column("validation_score"), other.trace_.column("validation_score")
    )
    np.testing.assert_allclose(clf.feature_importances_, other.feature_importances_)
    far = 3.0 * X_val
    np.testing.assert_allclose(
        clf.decision_function(make(far)),
        other.decision_function(make(limits.apply(far))),
        atol=1e-9,
    )
    for k, values in enumerate(clf.staged_decision_function(make(far)), 1):
        np.testing.assert_allclose(values, clf.truncate(k).decision_function(make(far)), atol=1e-9)


def test_sparse_and_dense_rows_have_the_same_limits() -> None:
    X, y = make_rows()
    dense, thin = (fit(make(X), y).model_.limits for make in (np.asarray, sparse.csr_matrix))
    np.testing.assert_array_equal(dense.low, thin.low)
    np.testing.assert_array_equal(dense.high, thin.high)


def test_single_precision_is_clipped_like_double_precision() -> None:
    X, y = make_rows()
    X = X.astype(np.float32)
    single, double = fit(X, y), fit(X.astype(np.float64), y)
    assert_same_model(single.model_, double.model_)
    np.testing.assert_array_equal(single.model_.limits.low, double.model_.limits.low)
    far = 5.0 * X
    np.testing.assert_array_equal(
        single.decision_function(far), double.decision_function(far.astype(np.float64))
    )


def test_a_weight_is_a_repetition_and_weight_zero_is_no_row() -> None:
    X, y = make_rows()
    weights = np.random.default_rng(3).integers(0, 4, len(y)).astype(float)
    X[np.argmax(weights == 0.0), 1] = 1e6
    by_weight = fit(X, y, weights)
    by_copies = fit(np.repeat(X, weights.astype(int), axis=0), np.repeat(y, weights.astype(int)))
    assert_same_limits(by_weight.model_.limits, limits_by_hand(X, 1.5, weights))
    assert_same_limits(by_weight.model_.limits, by_copies.model_.limits)
    np.testing.assert_allclose(by_weight.atoms_, by_copies.atoms_, rtol=1e-12)
    np.testing.assert_allclose(by_weight.atom_coef_, by_copies.atom_coef_, atol=1e-9)


def test_class_weights_count_as_weights() -> None:
    X, y = make_rows()
    balanced = fit(X, y, class_weight={0: 1.0, 1: 3.0})
    assert_same_limits(balanced.model_.limits, limits_by_hand(X, 1.5, np.where(y == 1, 3.0, 1.0)))


def test_a_far_row_is_at_the_limit() -> None:
    X, y = make_rows()
    clf = fit(X, y, clip=4)
    limits = clf.model_.limits
    far = np.array([[1e9, -1e9, 1e300, 0.0, 1e12]])
    at_limit = np.array([[limits.high[0], limits.low[1], limits.high[2], 7.3, limits.high[4]]])
    np.testing.assert_array_equal(clf.decision_function(far), clf.decision_function(at_limit))
    plain = fit(X, y, clip=None)
    assert abs(plain.decision_function(far)[0]) > 1e3 * abs(clf.decision_function(far)[0])


def test_validation_rows_are_set_aside_before_anything_is_clipped() -> None:
    X, y = make_rows()
    clf = fit(X, y, validation_fraction=0.3)
    plain = fit(X, y, validation_fraction=0.3, clip=None)
    assert clf._state_.data == plain._state_.data
    # The limits are those of the rows that are left.
    assert (clf.model_.limits.low != fit(X, y).model_.limits.low).any()


def test_a_fit_goes_on_with_the_raw_data() -> None:
    X, y = make_rows()
    clf = fit(X, y, max_iter=5)
    whole = fit(X, y)
    clf.set_params(max_iter=12, warm_start=True).fit(X, y)
    np.testing.assert_array_equal(clf.atoms_, whole.atoms_)
    np.testing.assert_allclose(clf.atom_coef_, whole.atom_coef_, atol=1e-9)
    assert_same_limits(clf.model_.limits, whole.model_.limits)
    with pytest.raises(ValueError, match=r"\['clip'\] changed"):
        clf.set_params(clip=2.0).fit(X, y)


@pytest.mark.parametrize("clip", [0, -1.0, np.inf, np.nan, True, "yes"])
def test_other_values_are_refused(clip: Any) -> None:
    with pytest.raises(ValueError, match=r"clip \(None, 'auto' or a number\) must be a number"):
        fit(*make_rows(), clip=clip)


def test_dictionaries_by_their_own_names_are_not_clipped() -> None:
    assert fit(*make_rows(), clip="auto").model_.limits is None
    assert fit(*make_rows(), clip="auto", dictionary=ReluDictionary()).model_.limits is None


def test_codes_of_categories_are_not_clipped() -> None:
    X, y = make_rows()
    X[:, 3] = np.where(np.arange(len(y)) < 3, 40.0, np.arange(len(y)) % 3)
    trees = TreeDictionary(categorical_features=[3])
    dictionary = UnionDictionary([ReluDictionary(), trees])
    for part in (trees, dictionary):
        clf = fit(X, y, dictionary=part, max_iter=4)
        limits, kept = clf.model_.limits, np.arange(5) != 3
        plain = limits_by_hand(X, 1.5)
        assert_same_limits(
            Limits(limits.low[kept], limits.high[kept]), Limits(plain.low[kept], plain.high[kept])
        )
        np.testing.assert_array_equal(limits.apply(3.0 * X)[:, 3], 3.0 * X[:, 3])


def test_every_member_is_clipped_by_its_own_training_part() -> None:
    X, y = make_rows(90)
    halves = [np.arange(45), np.arange(45, 90)]
    folds = [(halves[0], halves[1]), (halves[1], halves[0])]
    options = {"l2": 0.01, "max_iter": 6, "clip": 1.0, "random_state": 0}
    ensemble = FCGBoostClassifier("gauss", cv=folds, **options).fit(X, y)
    for member, train in zip(ensemble.members_, halves, strict=True):
        alone = FCGBoostClassifier("gauss", **options).fit(X[train], y[train])
        assert_same_limits(member.model.limits, alone.model_.limits)


# Limits on a device


@pytest.mark.extras
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_tensors_are_clipped_like_arrays(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    X, y = make_rows()
    X = X.astype(dtype)
    clf = fit(X, y)
    far = 3.0 * X
    tensor = torch.tensor(far)
    clipped = clf.model_.limits.apply(tensor)
    np.testing.assert_array_equal(clipped.numpy(), clf.model_.limits.apply(far))
    far[0, 0] = np.nan
    clipped = clf.model_.limits.apply(torch.tensor(far))
    np.testing.assert_array_equal(clipped.numpy(), clf.model_.limits.apply(far))
    inside = torch.tensor(clf.model_.limits.low)[None, :]
    assert clf.model_.limits.apply(inside) is inside
    np.testing.assert_allclose(
        clf.model_.decision(tensor).numpy(), clf.model_.decision(tensor.numpy()), atol=1e-12
    )
    there = fit(X, y, device="torch")
    np.testing.assert_array_equal(there.atoms_, clf.atoms_)
    np.testing.assert_allclose(there.atom_coef_, clf.atom_coef_, atol=1e-6)


def test_levels_are_counted_row_by_row():
    levels = LevelCounts.of(np.array(["a", "b", "a", "3"], dtype=object))
    assert levels.counts == {"a": 2, "b": 1, "3": 1}
    assert levels.by_unit() == {"number": 1}
