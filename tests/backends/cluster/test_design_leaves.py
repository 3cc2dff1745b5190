"""Trees with corrected leaves on simulated workers: the default of many rows, and what it asks."""

from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fcgboost import FCGBoostClassifier, TreeDictionary
from fcgboost._kernels import WeightUnit
from fcgboost.backends.cluster import design as cluster_design
from fcgboost.backends.growth import WeightSummary
from fcgboost.designs.base import Point
from fcgboost.dictionaries import bins
from fcgboost.dictionaries.bins import bin_rows
from fcgboost.losses import SquaredHinge
from fcgboost.training import presets
from fcgboost.training.dataset import DataSet
from tests.suites.marks import also
from tests.suites.workers import fit_on, lay, make_workers

pytestmark = pytest.mark.usefixtures("same_splits")

TREES = TreeDictionary(6, min_leaf=2, max_leaf_nodes=9, corrects_leaves=True)
CUTS = {"one": [], "empty and unequal": [1, 1, 2, 450], "many": list(range(40, 600, 40))}


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the default make deep trees of any number of rows, and fewer of them."""
    forest = replace(presets.FOREST, max_steps=8)
    auto = replace(presets.FAST, n_many=0, kinds=(presets.FAMILIES, forest))
    monkeypatch.setitem(presets.PRESETS, "auto", auto)


def make_rows(n: int = 600, n_classes: int = 2, has_gaps: bool = True) -> tuple[Any, Any]:
    """Return numbers, maybe with gaps, codes of categories, and columns of which one is 1."""
    rng = np.random.default_rng(n_classes)
    levels, one_of = rng.integers(0, 5, n), np.eye(4)[rng.integers(0, 4, n)]
    X = np.column_stack([rng.standard_normal((n, 2)), levels, one_of])
    side = np.sin(2.0 * X[:, 0]) + X[:, 1] * (levels % 2) + X[:, 4]
    y = (side + 0.5 * rng.standard_normal(n) > 0.3).astype(int)
    if has_gaps:
        X[rng.random(n) < 0.1, 1] = np.nan
    return X, y + (X[:, 0] > 1.0) if n_classes == 3 else y


def assert_same(there: Any, here: Any, X: Any, atol: float = 1e-9) -> None:
    """The same trees and choice, and values that agree to rounding."""
    assert there.model_.dictionary.corrects_leaves
    assert (there.l2_, there.n_iter_) == (pytest.approx(here.l2_, rel=1e-12), here.n_iter_)
    rtol = 0.0 if there.model_.limits is None else 1e-13
    np.testing.assert_allclose(there.trace_.atoms, here.trace_.atoms, rtol=rtol, atol=0)
    np.testing.assert_allclose(there.trace_.scores, here.trace_.scores, rtol=0, atol=1e-9)
    for method in ("decision_function", "predict_proba"):
        values = [getattr(model, method)(X) for model in (there, here)]
        np.testing.assert_allclose(*values, rtol=0, atol=atol)


CHOICES: dict[str, dict[str, Any]] = {
    "auto": {},
    "no gaps": {},
    "weights": {},
    "a ridge": {"l2": 0.01},
    "steps": {"max_iter": 3},
    "balanced": {"class_weight": "balanced"},
    "set aside": {"validation_fraction": 0.3},
    "categories": {
        "dictionary": TreeDictionary(
            8, max_leaf_nodes=12, categorical_features=[2], corrects_leaves=True
        ),
        "max_iter": 5,
        "l2": 1e-3,
    },
    "many categories": {
        "dictionary": TreeDictionary(
            8, max_leaf_nodes=12, categorical_features=[2], corrects_leaves=True
        ),
        "max_iter": 5,
        "l2": 1e-3,
    },
    "clipped": {"dictionary": TREES, "clip": 1.5, "max_iter": 5, "l2": 1e-3},
    "cubed hinge": {"dictionary": TREES, "loss": "cubed_hinge", "max_iter": 5, "l2": 1e-3},
    "no constant": {"dictionary": TREES, "fit_intercept": False, "max_iter": 5, "l2": 1e-3},
}


@pytest.mark.covering
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("name", [*[*CHOICES][:6], *also(*[*CHOICES][6:])])
def test_the_model_is_that_of_memory(name: str, cuts: list[int], n_classes: int) -> None:
    X, y = make_rows(n_classes=n_classes, has_gaps=name != "no gaps")
    weights = np.random.default_rng(3).integers(0, 4, len(y)).astype(np.float64)
    if name == "weights":
        weights *= 0.37
    if name == "many categories":
        X[:, 2] *= 60.0
    parameters = {"random_state": 1, **CHOICES[name]}
    here = FCGBoostClassifier(**parameters).fit(X, y, weights)
    workers = make_workers(X, y, weights, cuts, 3)
    there = fit_on(workers, **parameters)
    # The default's corrections end early; rounding shows where many products follow each other.
    assert_same(there, here, X, 1e-7 if "dictionary" in parameters else 1e-9)
    # Rows that were set aside for the choice are forgotten, and so are the leaves of its paths.
    for place, n_columns in workers.held():
        assert place < 2 or name == "set aside"
        assert n_columns <= (1 if n_classes == 2 else n_classes)


@pytest.mark.parametrize("n_classes", [2, *also(3)])
def test_a_partition_may_have_one_class(n_classes: int) -> None:
    X, y = make_rows(n_classes=n_classes)
    order = np.argsort(y, kind="stable")
    workers = make_workers(X[order], y[order], np.ones(600), list(range(50, 600, 50)), 4)
    here = FCGBoostClassifier(random_state=1).fit(X, y)
    assert_same(fit_on(workers, random_state=1), here, X)


def test_validation_data_chooses() -> None:
    X, y = make_rows(900)
    here = FCGBoostClassifier(random_state=1).fit(X[:600], y[:600], X_val=X[600:], y_val=y[600:])
    validation = (X[600:], y[600:], np.ones(300))
    workers = make_workers(X[:600], y[:600], np.ones(600), [50, 90], validation=validation)
    assert_same(fit_on(workers, True, random_state=1), here, X)


def test_equal_rows_of_several_partitions_are_one_row() -> None:
    X, y = make_rows(has_gaps=False)
    X = np.round(X)
    assert len(np.unique(X, axis=0)) in range(41, 400)
    here = FCGBoostClassifier(random_state=1).fit(X, y)
    there = fit_on(make_workers(X, y, np.ones(600), CUTS["many"]), random_state=1)
    assert_same(there, here, X)


@pytest.mark.parametrize("n_many", [800, 801])
def test_distinct_rows_of_the_partitions_add_up(n_many: int, monkeypatch: Any) -> None:
    monkeypatch.setitem(presets.PRESETS, "auto", replace(presets.FAST, n_many=n_many))
    X, y = make_rows(300, has_gaps=False)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    parameters = {"random_state": 0, "max_iter": 2, "l2": 0.01}
    # The last partition has 300 of 400 rows once.
    model = fit_on(make_workers(X, y, np.ones(900), [300, 500]), **parameters)
    assert model.model_.dictionary.corrects_leaves is (n_many == 800)


def test_sparse_rows_have_families_as_in_memory() -> None:
    X, y = make_rows(200, has_gaps=False)
    X = sparse.csr_array(X)
    there = fit_on(make_workers(X, y, np.ones(200), [60]), random_state=0, max_iter=3)
    here = FCGBoostClassifier(random_state=0, max_iter=3).fit(X, y)
    assert not there.model_.dictionary.corrects_leaves
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-6)
    with pytest.raises(ValueError, match="corrects_leaves=True needs dense rows"):
        FCGBoostClassifier(TREES).fit(X, y)
    with pytest.raises(ValueError, match="corrects_leaves=True needs dense rows"):
        fit_on(make_workers(X, y, np.ones(200), [60]), dictionary=TREES)


def thresholds_of(X: Any, cuts: list[int], trees: TreeDictionary = TREES) -> tuple[Any, Any]:
    """Return the bins of rows on workers, and those of memory."""
    codes = np.arange(len(X)) % 2
    there = lay(make_workers(X, codes, np.ones(len(X)), cuts, 3), trees, True, 2)
    data = DataSet.of(X, codes, np.ones(len(X))).canonical()
    is_category = trees.categories(X.shape[1])
    return there._growing.bins, bin_rows(data.X, is_category)[0]


def assert_same_bins(there: Any, here: Any) -> None:
    for name, value in vars(here).items():
        np.testing.assert_array_equal(getattr(there, name), value)


@pytest.mark.parametrize("n_drawn", [600, 601])
def test_thresholds_are_those_of_memory(n_drawn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bins, "THRESHOLD_ROWS", n_drawn)
    monkeypatch.setattr(cluster_design, "THRESHOLD_ROWS", n_drawn)
    X, _ = make_rows()
    for cuts in CUTS.values():
        assert_same_bins(*thresholds_of(X, cuts))


def test_thresholds_of_many_rows_are_those_of_a_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_design, "THRESHOLD_ROWS", 50)
    X, _ = make_rows()
    first, *others = (thresholds_of(X, cuts)[0] for cuts in CUTS.values())
    assert 50 <= first.n_distinct < 120
    for other in others:
        assert_same_bins(other, first)


def test_columns_that_clash_in_one_partition_alone_share_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bins, "THRESHOLD_ROWS", 100)
    monkeypatch.setattr(cluster_design, "THRESHOLD_ROWS", 100)
    X = np.column_stack([np.arange(1000.0), np.zeros((1000, 3))])
    X[::15, 1], X[1::15, 2], X[2::15, 3] = 1.0, 1.0, 1.0
    assert thresholds_of(X, [300, 600])[0].n_columns == 2
    clashing = 0
    for row in (5, 320, 999):
        Z = X.copy()
        Z[row, 1:3] = 1.0
        there, _ = thresholds_of(Z, [300, 600])
        clashing += there.n_columns > 2
    assert clashing == 3


@pytest.mark.slow
@settings(max_examples=4)
@given(st.integers(1, 5), st.booleans(), st.integers(0, 2**31))
def test_neither_workers_nor_the_order_within_partitions_change_a_bit(
    n_workers: int, is_mixed: bool, seed: int
) -> None:
    X, y = make_rows(300)
    weights, cuts = np.random.default_rng(2).uniform(0.0, 3.0, 300), [3, 40, 41, 41, 200]
    order = np.arange(300)
    for part in np.split(order, cuts):
        np.random.default_rng(seed).shuffle(part)
    one = fit_on(make_workers(X, y, weights, cuts, 1), random_state=0, max_iter=4)
    rows = (X[order], y[order], weights[order])
    workers = make_workers(*rows, cuts, n_workers, is_mixed=is_mixed)
    other = fit_on(workers, random_state=0, max_iter=4)
    for name in ("atoms_", "atom_coef_", "intercept_"):
        np.testing.assert_array_equal(getattr(other, name), getattr(one, name))
    assert (other.l2_, other.link_) == (one.l2_, one.link_)


@pytest.mark.filterwarnings("ignore:.*rows are loaded again:RuntimeWarning")
@pytest.mark.parametrize("n_classes", [2, *also(3)])
@pytest.mark.parametrize("has_validation", [False, *also(True)])
def test_losses_in_the_middle_of_anything(n_classes: int, has_validation: bool) -> None:
    X, y = make_rows(400, n_classes=n_classes)
    validation = (X[300:], y[300:], np.ones(100)) if has_validation else None
    given = (X[:300], y[:300], np.ones(300), [1, 1, 2, 250])
    parameters = {"random_state": 1, "max_iter": 4}
    undisturbed = make_workers(*given, validation=validation)
    here = fit_on(undisturbed, has_validation, **parameters)
    asked = undisturbed.questions
    # The first and a later moment of every kind of question, and some others.
    draw = np.random.default_rng(0)
    moments = {i for q in set(asked) for i in draw.permutation(_places(asked, q))[:2].tolist()}
    moments |= {_places(asked, question)[0] for question in set(asked)}
    for losses in np.array_split(draw.permutation(sorted(moments)), 4):
        losses = tuple(sorted(losses.tolist()))
        disturbed = make_workers(*given, 4, validation=validation, losses=losses)
        there = fit_on(disturbed, has_validation, **parameters)
        assert disturbed.questions == asked
        assert_same(there, here, X)


def _places(asked: list[str], question: str) -> np.ndarray:
    return np.flatnonzero(np.array(asked) == question)


def test_rounds_of_a_step() -> None:
    X, y = make_rows(3000)
    trees = TreeDictionary(30, max_leaf_nodes=60, corrects_leaves=True)
    workers = make_workers(X, y, np.ones(3000), [300, 1500])
    parameters = {"dictionary": trees, "l2": 1e-3, "max_iter": 5, "random_state": 0}
    model = fit_on(workers, **parameters)
    assert workers.n_rounds == len(workers.questions)
    asked = workers.questions
    start = asked.index("levels") - 1
    assert asked[start : start + 3] == ["draw", "levels", "bin"]
    rounds = [(name, len(list(some))) for name, some in groupby(asked[start + 3 : -1])]
    for step in model.trace_:
        assert rounds[:2] == [("size", 1), ("start_tree", 1)]
        # A round for about every level, and one for the root.
        name, n = rounds[2]
        assert (name, n <= 20) == ("split_tree", True)
        assert rounds[3] == ("tree_sums", 1)
        own = [*_until(rounds[4:], "size")]
        assert {name for name, _ in own} <= {"terms", "expand", "product"}
        assert sum(n for name, n in own if name != "product") <= 4 + 2 * step.solver_iterations
        rounds = rounds[4 + len(own) :]
    assert rounds == []


def _until(rounds: list[tuple[str, int]], name: str) -> Any:
    for one in rounds:
        if one[0] == name:
            return
        yield one


def test_messages_do_not_grow_with_the_rows() -> None:
    trees = TreeDictionary(30, max_leaf_nodes=16, corrects_leaves=True)
    largest = []
    for n in (1500, 6000):
        X, y = make_rows(n)
        # Rows for thresholds come once.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cluster_design, "THRESHOLD_ROWS", 500)
            workers = make_workers(X, y, np.ones(n), [n // 3])
            fit_on(workers, dictionary=trees, l2=1e-3, max_iter=3, random_state=0)
        largest.append(max(workers.sizes))
    # At most 30 splits of a round, and seven columns of 256 bins.
    assert max(largest) < 30 * 7 * 256 * 8 + 10_000


@pytest.mark.slow
@pytest.mark.parametrize("n_steps", [100, 1000])
def test_rows_of_less_than_a_step_are_thinned(n_steps: int, monkeypatch: Any) -> None:
    X, y = make_rows(3000, has_gaps=False)
    given = {"dictionary": TREES, "l2": 1e-3, "max_iter": 8, "random_state": 0}
    whole = fit_on(make_workers(X, y, np.ones(3000), [700]), **given)
    assert len(np.unique(whole.trace_.atoms[0])) > 10
    unit = property(lambda summary: WeightUnit(summary.total / n_steps))
    monkeypatch.setattr(WeightSummary, "unit", unit)
    thinned = [
        fit_on(make_workers(X, y, np.ones(3000), cuts), **given) for cuts in ([700], [100, 2000])
    ]
    np.testing.assert_array_equal(thinned[0].trace_.atoms, thinned[1].trace_.atoms)
    assert not np.array_equal(thinned[0].trace_.atoms[0], whole.trace_.atoms[0])
    assert thinned[0].score(X, y) > whole.score(X, y) - (0.03 if n_steps == 100 else 0.02)


def test_leaves_are_columns_like_others() -> None:
    X, y = make_rows(200, has_gaps=False)
    there = lay(make_workers(X, y, np.ones(200), [5, 5, 120], 3), TREES, True, 2)
    columns = there.columns(0, SquaredHinge(), 9, True)
    for _ in range(3):
        points = [Point(columns, 0, np.zeros(columns.n_columns))]
        trees, _ = there.grow(there.residuals(points))
        columns.append(trees)
    A = np.column_stack([np.ones(200), *(np.eye(9)[TREES.leaves(X, trees)] for _ in range(3))])[
        :, : columns.n_columns
    ]
    rng, labels = np.random.default_rng(1), 2.0 * y - 1.0
    coef, direction = rng.standard_normal((2, columns.n_columns))
    values, slopes, curvatures = SquaredHinge().terms(labels, A @ coef)
    risk, gradient, diagonal, _ = columns.expand(Point(columns, 0, coef))
    assert risk == pytest.approx(values.mean())
    np.testing.assert_allclose(gradient, A.T @ slopes / 200, atol=1e-13)
    np.testing.assert_allclose(diagonal, (A**2).T @ curvatures / 200, atol=1e-13)
    product = A.T @ (curvatures * (A @ direction)) / 200
    np.testing.assert_allclose(
        columns.product(Point(columns, 0, coef), direction), product, atol=1e-12
    )
    first = A.T @ SquaredHinge().terms(labels, 0.0 * labels)[1] / 200
    np.testing.assert_allclose(columns.first_gradient, first, atol=1e-13)
    np.testing.assert_allclose(columns.norms, np.sqrt((A**2).mean(axis=0)))
