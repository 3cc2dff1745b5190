"""Trees of which every leaf is corrected: growth, codes, corrections, paths, files, the default."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcgboost import (
    FCGBoostClassifier,
    FullyCorrective,
    TreeDictionary,
    UnionDictionary,
    load_model,
    save_model,
)
from fcgboost.designs.base import Point
from fcgboost.designs.leaves import LeafColumns, LeafTerms
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import Sample
from fcgboost.dictionaries import bins as bins_module
from fcgboost.dictionaries.bins import bin_rows
from fcgboost.dictionaries.nodes import nodes_of
from fcgboost.losses import CubedHinge, SquaredHinge
from fcgboost.solvers import NewtonSolver
from fcgboost.training import presets
from tests.suites.naive_trees import Naive
from tests.suites.places import DEVICES, make_device
from tests.suites.reference import ridge_squared_hinge
from tests.suites.strategies import seeds

TREES = TreeDictionary(6, min_leaf=2, smoothing=1.0, max_leaf_nodes=9, corrects_leaves=True)


def make_rows(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers with gaps and three columns of which one is 1, and a noisy label."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((n, 3)), np.eye(3)[rng.integers(0, 3, n)]])
    X[rng.random(n) < 0.1, 1] = np.nan
    side = np.sin(2.0 * X[:, 0]) + X[:, 2] * X[:, 4] + np.isnan(X[:, 1])
    return X, np.where(side + 0.5 * rng.standard_normal(n) > 0.3, 1, 0)


def exact(**changes: Any) -> FCGBoostClassifier:
    """Return a classifier that corrects all leaves to the last digits."""
    given = {"scheme": FullyCorrective(NewtonSolver(1e-9)), "max_iter": 8, "l2": 1e-3}
    return FCGBoostClassifier(TREES, random_state=0, **{**given, **changes})


def grow(dictionary: TreeDictionary, X: np.ndarray, residual: np.ndarray) -> tuple[Any, Any]:
    zeros, ones = np.zeros(X.shape[1]), np.ones(X.shape[1])
    grower = dictionary.grower(Sample(X, zeros, ones, zeros, ones, 1.0, 1.0))
    return grower.grow(residual, np.ones(len(X)), 0), grower.leaves


def test_features_of_which_one_is_not_zero_share_a_column() -> None:
    X, _ = make_rows(2000)
    X = np.column_stack([X[:, :1], np.eye(8)[np.random.default_rng(0).integers(0, 8, 2000)]])
    bins, codes = bin_rows(X, np.zeros(9, bool))
    assert codes.shape == (2000, 2)
    assert len(set(bins.column[1:])) == 1
    # The usual bin is 0, and every other one has a code of its own.
    np.testing.assert_array_equal(codes[:, bins.column[1]], X[:, 1:] @ bins.first[1:])


def test_columns_are_shared_only_if_no_row_at_all_forbids_it(monkeypatch) -> None:
    monkeypatch.setattr(bins_module, "THRESHOLD_ROWS", 500)
    X = np.zeros((1000, 3))
    X[::7, 0], X[1::7, 1], X[2::7, 2] = 1.0, 1.0, 1.0
    assert bin_rows(X, np.zeros(3, bool))[1].shape[1] == 1
    X[999, :2] = 1.0  # a row that thresholds are not chosen by
    bins, codes = bin_rows(X, np.zeros(3, bool))
    for j in range(3):
        column, default_bin = codes[:, bins.column[j]], int(bins.default_bin[j])
        code = 1 if default_bin < 0 else bins.first[j]
        np.testing.assert_array_equal(column == code, X[:, j] == 1.0)


@given(seeds, st.integers(2, 12))
def test_trees_on_shared_columns_are_those_of_the_naive_grower(seed, depth) -> None:
    X, _ = make_rows(80, seed)
    residual = np.round(np.random.default_rng(seed).standard_normal(80), 1)
    depth = min(depth, 3)
    trees = TreeDictionary(depth, min_leaf=2)
    naive = Naive(X, residual, np.ones(80), trees.get_params(), np.zeros(6, bool))
    np.testing.assert_array_equal(grow(trees, X, residual)[0][0], naive.grow(depth))


def gains_of(tree: np.ndarray, X: np.ndarray, residual: np.ndarray, smoothing: float) -> Any:
    """Return by node how much its split gains, and the rows of leaves."""
    nodes, members = nodes_of(tree)[0], {0: np.ones(len(X), bool)}
    gains, leaves = {}, []

    def square(rows: np.ndarray) -> float:
        return float(residual[rows].sum() ** 2 / (rows.sum() + smoothing))

    for i, (feature, value, left, kind) in enumerate(nodes):
        if feature < 0:
            leaves.append(members[i])
            continue
        x = X[:, int(feature)]
        goes_left = (x <= value) | (np.isnan(x) & (int(kind) & 1 == 1))
        a, b = members[i] & goes_left, members[i] & ~goes_left
        members[int(left)], members[int(left) + 1] = a, b
        gains[i] = square(a) + square(b) - square(members[i])
    return gains, leaves


def test_the_split_that_gains_most_comes_first() -> None:
    X, y = make_rows(500, 1)
    residual = 2.0 * y - 1.0 + 0.01 * np.random.default_rng(0).standard_normal(500)
    small, large = (
        grow(TreeDictionary(30, min_leaf=2, max_leaf_nodes=n), X, residual)[0] for n in (8, 9)
    )
    gains = gains_of(large, X, residual, 10.0)[0]
    assert len(gains) == 8
    # Of all splits that were at hand, each was the best; and a larger tree begins like a smaller.
    order = sorted(gains)
    left_of = {i: int(nodes_of(large)[0][i, 2]) for i in order}
    when = sorted(order, key=lambda i: left_of[i])  # children stand in the order of splits
    at_hand = {0}
    for i in when:
        assert gains[i] >= max(gains.get(j, 0.0) for j in at_hand) - 1e-4 * gains[0]
        at_hand = (at_hand - {i}) | {left_of[i], left_of[i] + 1}
    few, many = nodes_of(small)[0], nodes_of(large)[0]
    assert len(many) == len(few) + 2
    changed = (few[:, 0] != many[: len(few), 0]).sum()
    assert changed == 1


def test_a_grower_says_which_leaves_rows_belong_to() -> None:
    X, y = make_rows(400, 2)
    residual = 2.0 * y - 1.0
    residual[::5] = 0.0  # rows that a tree is not grown on have leaves as well
    atom, leaves = grow(TREES, X, residual)
    np.testing.assert_array_equal(leaves, TREES.leaves(X, atom))
    single = X.astype(np.float32)
    np.testing.assert_array_equal(
        TREES.leaves(single, atom), TREES.leaves(single.astype(np.float64), atom)
    )
    values = TREES.leaf_values(atom)
    np.testing.assert_array_equal(values[leaves], TREES.evaluate(X, atom, np.ones(6))[:, 0])
    assert grow(TreeDictionary(3), X, residual)[1] is None


@pytest.mark.parametrize("scale", [1.0, 0.37, 1e-6])
def test_leaves_of_rows_with_any_weights_are_smoothed_means(scale) -> None:
    X, y = make_rows(500, 12)
    weights = scale * np.random.default_rng(0).choice([0.3, 1.0, 7.7], 500)
    residual = weights * (2.0 * y - 1.0 + 0.1 * X[:, 0])
    trees = TreeDictionary(4, min_leaf=9.0 * scale, smoothing=2.0 * scale, peak=1.0)
    zeros, ones = np.zeros(6), np.ones(6)
    grower = trees.grower(Sample(X, zeros, ones, zeros, ones, 1.0, 1.0))
    atom = grower.grow(residual, weights, 0)
    codes = trees.leaves(X, atom)
    sums, sizes = np.bincount(codes, residual), np.bincount(codes, weights)
    means = sums / (sizes + 2.0 * scale)
    assert sizes.min() > 8.9 * scale  # weights are rounded where splits are chosen
    np.testing.assert_allclose(trees.leaf_values(atom), means / abs(means).max(), rtol=1e-6)


@pytest.mark.extras
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_default_on_torch_is_that_of_the_processor(n_classes, monkeypatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setitem(presets.PRESETS, "fast", replace(presets.FAST, n_many=500))
    X, y = make_rows(1200, 11)
    y = y + (X[:, 0] > 1.0) if n_classes == 3 else y
    here, there, again = (
        FCGBoostClassifier("fast", device=device, random_state=0).fit(X[:700], y[:700])
        for device in ("cpu", "torch", "torch")
    )
    assert here.model_.dictionary.corrects_leaves
    assert (there.l2_, there.n_iter_) == (here.l2_, here.n_iter_)
    np.testing.assert_array_equal(there.trace_.atoms, here.trace_.atoms)
    probabilities = there.predict_proba(X)
    np.testing.assert_allclose(probabilities, here.predict_proba(X), atol=1e-7)
    np.testing.assert_array_equal(again.predict_proba(X), probabilities)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("loss", [SquaredHinge(), CubedHinge()], ids=repr)
@pytest.mark.parametrize("has_constant", [True, False])
def test_leaves_are_columns_like_others(loss, has_constant, device) -> None:
    X, y = make_rows(200, 3)
    weights = np.random.default_rng(0).integers(1, 4, 200).astype(float)
    where = make_device(device)
    design = MemoryDesign(TREES, np.nan_to_num(X), weights, standardize=True, device=where)
    columns = design.columns(2.0 * y - 1.0, loss, 5, has_constant)
    assert isinstance(columns, LeafColumns)
    for seed in range(3):
        residual = np.random.default_rng(seed).standard_normal(200)
        columns.append(grow(TREES, design.X, residual)[0])
    A, labels = map(np.asarray, columns.arrays()[:2])
    assert A.shape[1] == columns.n_columns == has_constant + 27
    rng, shares = np.random.default_rng(1), weights / weights.sum()
    coef, direction = rng.standard_normal((2, columns.n_columns))
    values, slopes, curvatures = loss.terms(labels, A @ coef)
    risk, gradient, diagonal, _ = columns.expand(Point(columns, 0, coef))
    np.testing.assert_allclose(risk, shares @ values)
    np.testing.assert_allclose(gradient, A.T @ (shares * slopes), atol=1e-13)
    np.testing.assert_allclose(diagonal, (A**2).T @ (shares * curvatures), atol=1e-13)
    hessian = A.T @ ((shares * curvatures)[:, None] * A)
    np.testing.assert_allclose(
        columns.product(Point(columns, 0, coef), direction), hessian @ direction, atol=1e-12
    )
    first = A.T @ (shares * loss.terms(labels, 0.0 * labels)[1])
    np.testing.assert_allclose(columns.first_gradient, first, atol=1e-13)
    np.testing.assert_allclose(columns.norms, np.sqrt(shares @ A**2))


@pytest.mark.parametrize("loss", ["squared_hinge", "cubed_hinge"])
@pytest.mark.parametrize("l2", [1e-4, 1e-2, 1.0])
def test_a_step_between_corrections_lowers_the_objective(loss, l2) -> None:
    X, y = make_rows(300, 4)
    scheme = FullyCorrective(NewtonSolver(1e-9), growth=4.0)
    model = exact(scheme=scheme, loss=loss, l2=l2, max_iter=12).fit(X, y)
    objectives = model.trace_.column("objective")
    assert (np.diff(objectives) < 1e-12).all()
    assert [step.k for step in model.trace_ if step.is_corrected] == [1, 4, 12]


def leaf_matrix(model: FCGBoostClassifier, X: np.ndarray) -> np.ndarray:
    atoms = model.trace_.atoms
    codes = [TREES.leaves(X, atoms[j : j + 1]) for j in range(len(atoms))]
    return np.concatenate([np.ones((len(X), 1)), *(np.eye(9)[own] for own in codes)], axis=1)


@pytest.mark.parametrize("l2", [1e-4, 1e-2])
def test_all_leaves_are_where_another_solver_puts_them(l2) -> None:
    X, y = make_rows(400, 5)
    weights = np.random.default_rng(0).integers(1, 3, 400)
    model = exact(l2=l2).fit(X, y, sample_weight=weights)
    A = leaf_matrix(model, X)
    assert A.shape[1] == 1 + 8 * 9
    expected = A @ ridge_squared_hinge(A, 2.0 * y - 1.0, weights, l2)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("growth", [1.0, 1.7])
def test_models_of_all_steps_are_those_of_the_path(n_classes, growth, tmp_path) -> None:
    X, y = make_rows(300, 6)
    y = y + (X[:, 0] > 1.0) if n_classes == 3 else y
    scheme = FullyCorrective(NewtonSolver(1e-6), growth)
    model = exact(scheme=scheme, max_iter=7).fit(X[:200], y[:200])
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    for k, staged in enumerate(model.staged_decision_function(X), 1):
        np.testing.assert_allclose(model.truncate(k).decision_function(X), staged, atol=1e-12)
        other = loaded.truncate(k).decision_function(X)
        np.testing.assert_array_equal(other, model.truncate(k).decision_function(X))
    assert model.atom_coef_.shape == (1 if n_classes == 2 else 3, model.n_atoms_)
    short = exact(scheme=scheme, max_iter=3).fit(X[:200], y[:200])
    np.testing.assert_array_equal(short.trace_[2].chosen, model.trace_[2].chosen)


def test_uncorrected_steps_keep_the_arrays_of_the_last_one() -> None:
    X, y = make_rows(300, 7)
    trace = exact(scheme=FullyCorrective(NewtonSolver(), 3.0), max_iter=7).fit(X, y).trace_
    for last, step in pairwise(trace):
        is_kept = [own is old for own, old in zip(step.leaves, last.leaves, strict=False)]
        assert all(is_kept) is not step.is_corrected
        assert len(step.leaves) == step.k


def test_a_path_goes_on_where_it_ended() -> None:
    X, y = make_rows(300, 8)
    whole = exact(max_iter=9).fit(X, y).decision_function(X)
    model = exact(max_iter=4, warm_start=True).fit(X, y)
    model.set_params(max_iter=9).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-6)
    assert len(model.trace_) == 9


def test_neither_order_nor_repetition_matters() -> None:
    X, y = make_rows(200, 9)
    counts = np.random.default_rng(0).integers(1, 4, 200)
    expected = exact().fit(X, y, sample_weight=counts).decision_function(X)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(200), counts))
    found = exact().fit(X[rows], y[rows]).decision_function(X)
    np.testing.assert_array_equal(found, expected)


def test_validation_chooses_among_corrected_steps() -> None:
    X, y = make_rows(600, 10)
    scheme = FullyCorrective(NewtonSolver(), 1.5)
    model = exact(scheme=scheme, max_iter=15).fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    scores = model.trace_.scores
    for k in np.flatnonzero(~np.isnan(scores)) + 1:
        assert scores[k - 1] == pytest.approx(model.truncate(k).score(X[300:], y[300:]))
    assert scores[model.n_iter_ - 1] == np.nanmax(scores)


def test_classes_that_grow_the_same_tree_have_leaves_of_their_own() -> None:
    X = np.repeat([[0.0], [1.0]], 64, axis=0)
    y = np.concatenate([np.repeat([0, 1], [16, 48]), np.repeat(2, 64)])
    trees = TreeDictionary(1, min_leaf=1, smoothing=1.0, corrects_leaves=True)
    model = FCGBoostClassifier(trees, l2=1e-3, max_iter=3).fit(X, y)
    short = FCGBoostClassifier(trees, l2=1e-3, max_iter=1, warm_start=True).fit(X, y)
    short.set_params(max_iter=3).fit(X, y)
    for one in (model, short):
        for c, objective in enumerate(one.trace_[-1].objectives):
            gaps = np.maximum(1.0 - np.where(y == c, 1.0, -1.0) * one.decision_function(X)[:, c], 0)
            ridge = sum(1e-3 * (own**2).sum() for own in leaves_of(one, c))
            assert objective == pytest.approx((gaps**2).mean() + ridge, rel=1e-9)


def leaves_of(model: FCGBoostClassifier, output: int) -> list[np.ndarray]:
    last = model.trace_[-1]
    return [own for own, coef in zip(last.leaves, last.coef[output], strict=True) if coef]


def test_an_output_may_end_before_its_first_tree() -> None:
    X = np.repeat([[0.0], [1.0]], 60, axis=0)
    y = np.concatenate([np.repeat([0, 2], [40, 20]), np.repeat([1, 2], [40, 20])])
    trees = TreeDictionary(2, min_leaf=1, corrects_leaves=True)
    model = FCGBoostClassifier(trees, l2=1e-3, max_iter=3).fit(X, y)
    assert model.score(X, y) == pytest.approx(2 / 3)


@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_forest_chooses_ridge_and_trees(n_classes) -> None:
    X, y = make_rows(900, 13)
    y = y + (X[:, 0] > 1.0) if n_classes == 3 else y
    train, test = slice(600), slice(600, None)

    def fit(rows, **options):
        parameters = {"selection": "learned", "cv": 3, "ensemble": False, "random_state": 0}
        forest = FCGBoostClassifier(presets.FOREST.dictionary, **{**parameters, **options})
        return forest.fit(X[rows], y[rows])

    ridges = [1.0, 0.1, 0.01]
    model = fit(train, l2=ridges)
    assert model.l2_ in ridges
    assert model.score(X[test], y[test]) > (0.75 if n_classes == 2 else 0.65)
    order = np.random.default_rng(0).permutation(600)
    other = fit(order, l2=ridges)
    np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scheme": "original"}, "Original"),
        ({"scheme": "fully_corrective", "solver": "admm"}, "AdmmSolver"),
        ({"removal": 0.1}, "removal=None"),
    ],
)
def test_what_leaves_cannot_do_is_refused(changes, words) -> None:
    X, y = make_rows(50)
    with pytest.raises(ValueError, match=f"corrects_leaves=True need.*{words}"):
        exact(**changes).fit(X, y)


def test_a_union_has_no_such_family() -> None:
    with pytest.raises(ValueError, match="families must have corrects_leaves=False"):
        UnionDictionary([TREES]).check_parameters()


@pytest.mark.parametrize("value", [1, 2**16, 2.5, "many"])
def test_numbers_of_leaves_are_checked(value) -> None:
    with pytest.raises(ValueError, match="TreeDictionary: max_leaf_nodes must be"):
        TreeDictionary(max_leaf_nodes=value).check_parameters()
    with pytest.raises(ValueError, match="TreeDictionary: corrects_leaves must be True or False"):
        TreeDictionary(corrects_leaves=value).check_parameters()


@pytest.mark.parametrize("device", DEVICES)
def test_a_path_may_have_no_tree(device) -> None:
    make_device(device)
    X, y = np.ones((60, 2)), np.arange(60) % 2
    model = exact(device=device).fit(X, y)
    assert model.n_atoms_ == 0
    np.testing.assert_allclose(model.predict_proba(X), 0.5)


def test_a_leaf_whose_ridge_costs_more_than_it_gains_takes_the_safe_step():
    answers = iter([([1.0], [-2.0], [2.0]), ([0.9], [0.0], [0.0]), ([0.95], [0.0], [0.0])])
    known = SimpleNamespace(
        loss=SquaredHinge(),
        norms=np.array([3.0]),
        terms=lambda *_: LeafTerms(*map(np.array, next(answers))),
    )
    end, risk, _ = LeafColumns.step(known, Point(known, 0, np.zeros(0)), 0, 1.0)
    # Newton's step of 2 / (2 + 2) lowers the loss by less than 1.0 * 0.5**2.
    assert end.tolist() == [2.0 / (2.0 * 3.0**2 + 2.0)]
    assert risk == 0.95


def test_a_leaf_takes_newtons_step_with_its_ridge():
    answers = iter([([1.0], [-2.0], [2.0]), ([0.1], [0.0], [0.0])])
    known = SimpleNamespace(
        loss=SquaredHinge(),
        norms=np.array([3.0]),
        terms=lambda *_: LeafTerms(*map(np.array, next(answers))),
    )
    end, risk, _ = LeafColumns.step(known, Point(known, 0, np.zeros(0)), 0, 1.0)
    assert end.tolist() == [2.0 / (2.0 + 2.0 * 1.0)]
    assert risk == 0.1
