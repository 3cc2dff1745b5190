"""Wide sparse rows: what the default makes of words, marks and one-hot levels."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from fcgboost import (
    DirectionDictionary,
    FCGBoostClassifier,
    ReluDictionary,
    TreeDictionary,
    UnionDictionary,
    load_model,
    save_model,
)
from fcgboost.dictionaries import directions

N_WORDS, N_INFORMATIVE = 400, 12


def documents(seed: int = 0, n: int = 500, n_classes: int = 2):
    """Give counts of words, the first of which are more frequent in one class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    rates = np.full((n, N_WORDS), 0.08)
    owners = np.arange(N_INFORMATIVE) % n_classes
    rates[:, :N_INFORMATIVE] = np.where(owners == y[:, None], 0.9, 0.3)
    return sparse.csr_array(rng.poisson(rates).astype(float)), y


def make(**changes):
    return FCGBoostClassifier(**{"random_state": 0, **changes})


@pytest.fixture(scope="module")
def fitted():
    return make().fit(*documents())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_words_are_held_out_as_well_as_by_a_linear_model(n_classes):
    X, y = documents(n_classes=n_classes)
    X_test, y_test = documents(1, 2_000, n_classes)
    linear = LogisticRegression(C=0.1, max_iter=1_000).fit(X, y)
    assert make().fit(X, y).score(X_test, y_test) > linear.score(X_test, y_test) - 0.01


def test_the_default_depends_on_the_columns_of_sparse_rows():
    X, y = documents(n=60)
    model = make(max_iter=2, cv=2).fit(X, y)
    families = {type(f) for m in model.members_ for f in m.model.dictionary.families}
    assert families == {DirectionDictionary, TreeDictionary}
    narrow = make(max_iter=2, cv=2).fit(X[:, :256], y)
    assert ReluDictionary in {type(f) for f in narrow.members_[0].model.dictionary.families}


def test_the_informative_words_are_the_important_ones(fitted):
    order = np.argsort(-fitted.feature_importances_)
    assert set(order[:8]) <= set(range(N_INFORMATIVE))


def test_one_or_the_other_of_two_columns_is_learned():
    rng = np.random.default_rng(0)
    X = rng.random((2_000, 300)) < 0.04
    X[:, :2] = rng.random((2_000, 2)) < 0.3
    y = X[:, 0] ^ X[:, 1]
    X = sparse.csr_array(X, dtype=float)
    train, test = (X[:1_000], y[:1_000]), (X[1_000:], y[1_000:])
    linear = LogisticRegression().fit(*train)
    assert make().fit(*train).score(*test) > 0.98 > 0.85 > linear.score(*test)


def test_rows_are_never_made_dense_as_a_whole(monkeypatch):
    X, y = documents(n=200)
    largest = []
    toarray = sparse.csr_array.toarray

    def counted(self, *given, **named):
        largest.append(self.shape[1] if self.shape[0] > 1 else 0)
        return toarray(self, *given, **named)

    monkeypatch.setattr(sparse.csr_array, "toarray", counted)
    make().fit(X, y).predict(X)
    assert 0 < max(largest) <= 256


def test_neither_the_order_of_rows_nor_repetitions_matter(fitted):
    X, y = documents()
    order = np.random.default_rng(0).permutation(len(y))
    other = make().fit(X[order], y[order])
    np.testing.assert_array_equal(other.decision_function(X), fitted.decision_function(X))
    weights = np.random.default_rng(1).integers(1, 3, len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    a, b = make().fit(X, y, sample_weight=weights), make().fit(X[repeated], y[repeated])
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


def test_a_file_and_a_shorter_path_agree(fitted, tmp_path):
    X, _ = documents(2)
    save_model(fitted, tmp_path / "words.json")
    loaded = load_model(tmp_path / "words.json")
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    staged = list(fitted.staged_decision_function(X))
    assert len(staged) == fitted.n_iter_
    np.testing.assert_allclose(staged[0], fitted.truncate(1).decision_function(X), rtol=1e-12)


def test_a_path_goes_on():
    X, y = documents()
    whole = make(cv=None, l2=0.01, max_iter=5).fit(X, y)
    part = make(cv=None, l2=0.01, max_iter=2, warm_start=True).fit(X, y)
    part.set_params(max_iter=5).fit(X, y)
    np.testing.assert_allclose(part.decision_function(X), whole.decision_function(X), rtol=1e-10)


def grown(X, residual, weights=None):
    weights = np.ones(len(residual)) if weights is None else weights
    return DirectionDictionary().grower(make_sample(X)).grow(residual, weights, 0)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_direction_holds_what_tells_something(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 30)) + 2.0
    X[:, 7] = 0.0
    (atom,) = grown(kind(X), X[:, 3] - X[:, 5] - (X[:, 3] - X[:, 5]).mean())
    assert atom[3] > 0.0 > atom[5]
    assert abs(np.delete(atom[:-1], [3, 5])).max() < 0.1 * min(atom[3], -atom[5])
    assert atom[7] == 0.0
    values = X @ atom[:-1] + atom[-1]
    assert values.mean() == pytest.approx(0.0, abs=1e-12)
    assert values.std() == pytest.approx(1.0)


def test_sparse_and_dense_rows_have_the_same_direction():
    X, y = documents()
    residual = 2.0 * y - 1.0 - (2.0 * y - 1.0).mean()
    np.testing.assert_allclose(grown(X, residual), grown(X.toarray(), residual), atol=1e-9)


def test_families_that_grow_their_atoms_compete():
    """Whichever gains more enters, in any order of the families."""
    X, y = documents()
    families = [DirectionDictionary(), TreeDictionary(2)]
    chosen = []
    for order in (families, families[::-1]):
        model = make(dictionary=UnionDictionary(order), max_iter=4).fit(X, y)
        chosen.append([type(order[int(row[0])]) for row in model.trace_.atoms])
    assert chosen[0] == chosen[1]
    assert chosen[0][0] is DirectionDictionary


def test_there_is_no_direction_in_noise():
    rng = np.random.default_rng(0)
    X, residual = rng.standard_normal((400, 30)), rng.standard_normal(400)
    assert grown(X, residual).shape == (0, 31)
    assert grown(X, np.zeros(400), np.zeros(400)).shape == (0, 31)
    assert grown(np.ones((400, 3)), residual).shape == (0, 4)
    assert make(dictionary="direction", max_iter=3).fit(X, residual > 0.0).n_atoms_ == 0


def test_trees_split_the_columns_that_are_most_often_not_zero():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 20)) < np.linspace(0.1, 0.9, 20)).astype(float)
    X[:, 0] = rng.standard_normal(300)
    residual = X[:, 1] + X[:, 18] - X[:, 18].mean() - X[:, 1].mean()
    few = TreeDictionary(2, max_features=5)
    for rows in (X, sparse.csr_array(X)):
        tree = few.grower(make_sample(rows)).grow(residual, np.ones(300), 0)
        features = tree.reshape(-1, 4)[:, 0]
        assert set(features[features >= 0.0]) <= {0.0, 16.0, 17.0, 18.0, 19.0}
        assert 18.0 in features
    with pytest.raises(ValueError, match="max_features"):
        TreeDictionary(max_features=5, corrects_leaves=True).check_parameters()
    with pytest.raises(ValueError, match="max_features"):
        TreeDictionary(max_features=0).check_parameters()


def make_sample(X):
    from fcgboost.dictionaries import Sample

    d = X.shape[1]
    return Sample(X, np.zeros(d), np.ones(d), np.zeros(d), np.ones(d), 1.0, float(d))


def test_a_shift_of_the_columns_does_not_turn_a_direction():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 30)) * np.linspace(0.2, 5.0, 30)
    residual = X[:, 3] - X[:, 5] + rng.standard_normal(400)
    residual -= residual.mean()
    (atom,), (moved,) = grown(X, residual), grown(X + np.linspace(-9.0, 9.0, 30), residual)
    np.testing.assert_allclose(moved[:-1], atom[:-1], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("shift", [1e5, -1e7, 1e10])
def test_columns_far_from_zero_have_the_same_direction(kind, shift):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((400, 30)), 3)
    residual = X[:, 3] - X[:, 5] + rng.standard_normal(400)
    residual -= residual.mean()
    far = X.copy()
    far[:, :20] += shift
    (atom,), (moved,) = grown(kind(X), residual), grown(kind(far), residual)
    np.testing.assert_allclose(moved[:-1], atom[:-1], atol=1e-5)
    values = far @ moved[:-1] + moved[-1]
    np.testing.assert_allclose(values, X @ atom[:-1] + atom[-1], atol=1e-4)


def test_a_constant_column_has_no_weight(monkeypatch):
    told, inner = [], directions._directions
    monkeypatch.setattr(directions, "_directions", lambda z, u: told.append(u) or inner(z, u))
    rng = np.random.default_rng(0)
    X = np.hstack([rng.standard_normal((400, 5)), np.tile(1e3 + rng.random(40), (400, 1))])
    (atom,) = grown(X, X[:, 0] - X[:, 0].mean(), rng.uniform(0.5, 2.0, 400))
    assert atom[0] > 0.0
    assert not atom[5:-1].any()
    # However it is rounded, the variance of a constant is none.
    assert all(np.isfinite(u[:5]).all() and np.isinf(u[5:]).all() for u in told)


def test_correlations_of_noise_are_in_standard_errors(monkeypatch):
    told, inner = [], directions._directions
    monkeypatch.setattr(directions, "_directions", lambda z, u: told.append(z) or inner(z, u))
    rng = np.random.default_rng(0)
    grown(rng.standard_normal((600, 500)), rng.standard_normal(600))
    assert len(told) == 3  # two halves, and all rows
    for z in told:
        assert np.std(z) == pytest.approx(1.0, abs=0.1)


def test_what_noise_tells_of_directions_is_in_standard_errors():
    rng = np.random.default_rng(0)
    X, residual = rng.standard_normal((400, 200)), rng.standard_normal(400)
    grower = DirectionDictionary().grower(make_sample(X))
    W = rng.standard_normal((200, 500))
    halves = residual[:, None] * grower._is_in
    told = grower._held_out([W, W], X.mean(axis=0), halves, residual**2)
    assert np.std(told) == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_as_many_conjugate_steps_as_inputs_fit_the_residual(kind):
    rng = np.random.default_rng(0)
    X = 1.0 + rng.standard_normal((300, 3)) @ rng.standard_normal((3, 3))
    residual = rng.standard_normal(300)
    mean = X.mean(axis=0)
    g = (X - mean).T @ residual
    grower = DirectionDictionary().grower(make_sample(kind(X)))
    path = grower._path(g * [1.0, 2.0, 5.0], g, mean, np.ones(300), 3)
    expected = np.linalg.lstsq(X - mean, residual, rcond=None)[0]
    np.testing.assert_allclose(path[:, 2], expected, rtol=1e-8)
    errors = [np.sum((residual - (X - mean) @ w) ** 2) for w in path.T]
    assert errors == sorted(errors, reverse=True)
