"""The presets "auto", "fast" and "compact": what they are made of, and what becomes of odd data."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from fcgboost import FCGBoostClassifier, Status
from fcgboost.dictionaries import TreeDictionary, UnionDictionary
from fcgboost.greedy.schemes import FullyCorrective
from fcgboost.training.presets import PRESETS, preset_of
from tests.suites.marks import also
from tests.suites.members import noisy as plain_rows
from tests.suites.reference import ridge_squared_hinge

each_preset = pytest.mark.parametrize("name", sorted(PRESETS))


def noisy(n: int = 120, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Give rows whose columns differ in size and place."""
    X, y = plain_rows(n, n_classes, seed)
    return X * [1.0, 40.0] + [0.0, 7.0], y


def with_holes(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X


def make(name: str = "auto", **changes: Any) -> FCGBoostClassifier:
    cv = "auto" if name == "fast" else 2
    return FCGBoostClassifier(name, **{"cv": cv, "random_state": 0, **changes})


@cache
def fitted(name: str = "auto") -> FCGBoostClassifier:
    """Give a model of the noisy data, which the tests share: read it, do not fit it again."""
    return make(name).fit(*noisy())


def test_auto_is_the_default() -> None:
    assert FCGBoostClassifier().dictionary == "auto"
    assert preset_of(FCGBoostClassifier().dictionary) is PRESETS["auto"]
    assert preset_of("gauss") is None
    assert preset_of(UnionDictionary([TreeDictionary()])) is None


@pytest.mark.parametrize(
    ("n_rows", "n_leaves"),
    [(10, 255), (16_384, 256), (40_000, 625), (65_472, 1_023), (10**7, 1_023)],
)
def test_averaged_forests_have_more_leaves_for_more_rows(n_rows: int, n_leaves: int) -> None:
    families, forest = PRESETS["auto"].kinds_for(n_rows, 0)
    assert families is PRESETS["auto"].kinds[0]
    usual = PRESETS["auto"].kinds[1].dictionary
    assert isinstance(usual, TreeDictionary)
    assert forest.dictionary is not None
    assert forest.dictionary.get_params() == {**usual.get_params(), "max_leaf_nodes": n_leaves}
    assert PRESETS["fast"].kinds_for(10**7, 0)[0].dictionary is usual


def test_the_kinds_of_a_preset() -> None:
    for preset in PRESETS.values():
        dense = preset.kinds_for(1_000, 0)
        assert dense[0].dictionary is preset.dictionary()
        assert preset.kinds_for(1_000, 10) == dense[:1]
    auto, fast = PRESETS["auto"], PRESETS["fast"]
    assert auto.kinds_for(10, 0) == auto.kinds_for(16_383, 0) == auto.kinds == fast.kinds
    assert fast.kinds_for(9_999, 0) == fast.kinds[:1]
    assert fast.kinds_for(10_000, 0) == fast.kinds[1:]
    for preset in (auto, fast):
        assert preset.kinds_for(10**6, 257) == preset.for_wide != preset.kinds[:1]


@each_preset
def test_a_preset_is_nothing_but_its_parts(name: str) -> None:
    X, y = noisy()
    kind = PRESETS[name].kinds[0]
    found = FCGBoostClassifier(name, cv=None, l2=0.02, max_iter=8, random_state=0).fit(X, y)
    parts = FCGBoostClassifier(
        kind.dictionary,
        selection=kind.selection,
        l2=0.02,
        clip=kind.clip,
        scheme=FullyCorrective(growth=kind.growth),
        removal=kind.removal,
        max_iter=8,
        random_state=0,
    ).fit(X, y)
    np.testing.assert_array_equal(found.atoms_, parts.atoms_)
    np.testing.assert_array_equal(found.atom_coef_, parts.atom_coef_)
    np.testing.assert_array_equal(found.intercept_, parts.intercept_)
    assert found.model_.limits is not None
    np.testing.assert_array_equal(found.model_.limits.low, parts.model_.limits.low)


@each_preset
def test_ridges_are_shares_of_the_root_of_the_rows(name: str) -> None:
    kinds = {type(kind.dictionary): kind for kind in PRESETS[name].kinds}
    model = fitted(name)
    for member in model.members_:
        kind = kinds[type(member.model.dictionary)]
        n_rows = 120 if len(model.members_) == 1 else 60
        assert any(
            member.l2 == pytest.approx(strength / np.sqrt(n_rows)) for strength in kind.strengths
        )


def test_members_of_one_path_have_all_coefficients_corrected() -> None:
    (X, y), (X_val, y_val) = noisy(), noisy(100, seed=1)
    model = make(cv="auto").fit(X, y, X_val=X_val, y_val=y_val)
    families = [m for m in model.members_ if isinstance(m.model.dictionary, UnionDictionary)]
    for member in families:
        # At the minimum for its own ridge, whichever of them chose the atoms.
        n = member.model.n_atoms
        A = member.model.columns(X) if n else np.zeros((len(y), 0))
        columns = np.column_stack([np.ones(len(y)), A])
        coef = ridge_squared_hinge(columns, np.sign(y), np.ones(len(y)), member.l2)
        np.testing.assert_allclose(member.decision(X)[:, 0], columns @ coef, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_score_is_the_accuracy_less_half_the_squared_hinge(n_classes: int) -> None:
    (X, y), (X_val, y_val) = noisy(n_classes=n_classes), noisy(100, n_classes, seed=1)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 100)
    # With a formula there are no tails, which are chosen later.
    model = make(cv="auto", max_iter=6, link="theory").fit(
        X, y, X_val=X_val, y_val=y_val, sample_weight_val=weights
    )
    for member in model.members_:
        f = member.decision(X_val)
        targets = np.where(y_val[:, None] == model.classes_[-f.shape[1] :], 1.0, -1.0)
        losses = (np.maximum(0.0, 1.0 - targets * f) ** 2).mean(axis=1)
        codes = f.argmax(axis=1) if n_classes > 2 else (f[:, 0] > 0.0) * 1
        hits = model.classes_[codes] == y_val
        expected = weights @ (hits - 0.5 * losses) / weights.sum()
        scores = [model.cv_results_[f"split{i}_test_score"] for i in range(3)]
        assert np.isclose(scores, expected, rtol=1e-9).any()


def test_of_small_models_nearly_as_good_the_smallest_is_kept() -> None:
    (X, y), (X_val, y_val) = noisy(300), noisy(50, seed=1)
    model = make("compact", cv="auto").fit(X, y, X_val=X_val, y_val=y_val)
    scores = model.cv_results_["mean_test_score"]
    slack = 0.5 * np.sqrt(scores.max() * (1.0 - scores.max()) / 50)
    assert model.trace_.scores[model.trace_.column("k") == model.n_iter_] >= scores.max() - slack
    near = model.trace_.scores >= scores.max() - slack
    assert model.n_atoms_ == model.trace_.column("n_atoms")[near].min()


@pytest.mark.parametrize("scheme", ["original", "shrinkage"])
def test_schemes_without_a_ridge_have_one_path(scheme: str) -> None:
    X, y = noisy()
    model = make(cv="auto", scheme=scheme, max_iter=6).fit(X, y)
    assert model.l2_ == 0.0
    assert len(model.trace_) == 6


def test_paths_end_where_no_ridge_improves() -> None:
    model = make("fast").fit(*noisy(200))
    assert model.status_ is Status.STEP_LIMIT
    table = model.cv_results_
    best = table["param_max_iter"][np.argmax(table["mean_test_score"])]
    # Patience is twenty steps, three of them judged.
    assert table["param_max_iter"].max() <= 1.5 * (best + 20)


def test_stages_are_shortened_paths_between_corrections_too() -> None:
    X, _ = noisy()
    model = make(cv="auto", ensemble=False).fit(*noisy(), X_val=X[:40], y_val=noisy()[1][:40])
    assert len(model.trace_) < model.trace_.n_steps
    for k in range(model.trace_.n_steps + 1):
        short = model.truncate(k)
        step = model.trace_.after(k)
        assert short.n_atoms_ == (0 if step is None else step.n_atoms)


# Odd data


@each_preset
def test_data_with_holes_is_fitted_by_all_families(name: str) -> None:
    X, y = noisy(150)
    holed = with_holes(X)
    model = make(name).fit(holed, y)
    expected = [type(family) for family in PRESETS[name].dictionary().families]
    for member in model.members_:
        dictionary = member.model.dictionary
        if not dictionary.corrects_leaves:
            assert [type(family) for family in dictionary.families] == expected
    assert model.score(holed, y) > 0.6
    assert model.score(X, y) > 0.6
    assert model.__sklearn_tags__().input_tags.allow_nan
    judged = make(name, cv="auto").fit(holed, y, X_val=X, y_val=y)
    assert judged.predict(holed).shape == y.shape


@pytest.mark.parametrize("name", ["fast", "compact"])
def test_holes_that_training_did_not_have_are_medians(name: str) -> None:
    X, _ = noisy()
    model, holed = fitted(name), with_holes(X)
    filled = np.where(np.isnan(holed), np.median(X, axis=0), holed)
    np.testing.assert_array_equal(model.decision_function(holed), model.decision_function(filled))
    with pytest.raises(ValueError, match="infinity in column 0"):
        model.predict([[np.inf, 1.0]])


def test_infinite_values_are_refused() -> None:
    X, y = noisy()
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity in column 1"):
        make().fit(X, y)


def test_sparse_rows_choose_as_dense_ones_do() -> None:
    X, y = noisy()
    X[X[:, 0] < 0.3, 0] = 0.0
    settings = {"standardize": False, "clip": 4.0}
    thin = make(**settings).fit(sparse.csr_array(X), y)
    dense = make(**settings).fit(X, y)
    assert [m.l2 for m in thin.members_] == [m.l2 for m in dense.members_]
    np.testing.assert_allclose(
        thin.decision_function(X), dense.decision_function(X), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("name", ["compact", *also("auto", "fast")])
def test_the_model_does_not_depend_on_threads(name: str) -> None:
    X, y = noisy()
    other = make(name, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(fitted(name).decision_function(X), other.decision_function(X))


def test_a_path_goes_on_with_the_ridge_it_has() -> None:
    X, y = noisy()
    model = make(cv=None, warm_start=True, max_iter=5).fit(X, y)
    l2 = model.l2_
    model.set_params(max_iter=11).fit(X, y)
    assert (model.l2_, len(model.trace_)) == (l2, 11)
    straight = make(cv=None, l2=l2, max_iter=11).fit(X, y)
    np.testing.assert_allclose(model.atom_coef_, straight.atom_coef_, rtol=1e-7, atol=1e-9)
    # A fit that has nothing left to do does nothing.
    before = model.atom_coef_
    np.testing.assert_array_equal(model.fit(X, y).atom_coef_, before)
