"""The design whose rows lie on workers, which are simulated: the suite of all designs, and more."""

import importlib
import itertools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fcgboost import FCGBoostClassifier, SampledCandidates
from fcgboost.backends.cluster import layout, sums
from fcgboost.backends.cluster.design import draw
from fcgboost.datasets import make_simulation
from fcgboost.designs.base import Design
from fcgboost.dictionaries import (
    ReluDictionary,
    TreeDictionary,
)
from fcgboost.losses import SquaredHinge
from fcgboost.tables import inputs
from fcgboost.training.dataset import DataSet
from fcgboost.training.tasks import Classification
from tests.suites.designs import (
    CHECKS,
    N_CLASSES,
    Place,
    check_candidates_that_do_not_fit_are_evaluated_in_blocks,
    check_room_grows_with_the_columns,
    make_codes,
)
from tests.suites.marks import also
from tests.suites.places import LEARNED, noisy
from tests.suites.workers import fit_on, lay, make_workers

pytestmark = pytest.mark.usefixtures("same_splits")


def design_on_workers(dictionary: Any, X: Any, weights: Any, standardize: bool) -> Design:
    codes, m = make_codes(len(weights)), len(weights)
    workers = make_workers(X, codes, weights, [5, 20, 20, m - 3], 2)
    return lay(workers, dictionary, standardize, N_CLASSES)


WORKERS = Place(design_on_workers, int)
# Memory is a matter of every worker of its own: see below.
OTHER = (
    check_candidates_that_do_not_fit_are_evaluated_in_blocks,
    check_room_grows_with_the_columns,
)
SHORT = [check for check in CHECKS if check not in OTHER]


@pytest.mark.covering
@pytest.mark.parametrize("check", [*SHORT, *also(OTHER[1])], ids=lambda check: check.__name__)
def test_every_design_passes(check: Callable[[Place], None]) -> None:
    check(WORKERS)


def assert_same_model(there: Any, here: Any, X: Any, atol: float = 1e-6) -> None:
    """The same steps, and decision values that agree to rounding, where the splits are the same."""
    np.testing.assert_array_equal(there.classes_, here.classes_)
    assert there.status_ is here.status_
    assert there.n_iter_ == here.n_iter_
    assert there.l2_ == pytest.approx(here.l2_, rel=1e-12)
    chosen = [model.trace_.column("chosen") for model in (there, here)]
    np.testing.assert_array_equal(*chosen)
    values = [model.decision_function(X) for model in (there, here)]
    np.testing.assert_allclose(*values, rtol=0, atol=atol)


CUTS = {"one": [], "empty and unequal": [1, 1, 2, 250], "many": list(range(25, 300, 25))}
SETTINGS: dict[str, dict[str, Any]] = {
    "gauss, all": {"n_candidates": 60},
    "relu, sampled": {"dictionary": "relu", "selection": "sampled"},
    "relu, few": {"dictionary": "relu", "selection": SampledCandidates(20)},
    "sigmoid, normalised": {"dictionary": "sigmoid", "selection": "sampled", "normalize": True},
    "polynomial": {"dictionary": "polynomial", "n_candidates": 40},
    "linear": {"dictionary": "linear", "selection": "sampled", "max_iter": 6},
    "default number of candidates": {"max_iter": 8},
    "raw inputs, no constant": {"standardize": False, "fit_intercept": False, "n_candidates": 60},
    "no ridge": {"l2": 0.0, "n_candidates": 30},
    "cubed hinge": {"loss": "cubed_hinge", "n_candidates": 30, "max_iter": 5},
    "balanced": {"class_weight": "balanced", "n_candidates": 30},
    "clipped": {"clip": 1.0},
    "atoms leave": {"removal": 0.9, "dictionary": "relu", "selection": "sampled"},
    "set aside": {"validation_fraction": 0.2, "dictionary": "relu", "selection": "sampled"},
    **LEARNED,
    "auto": {"dictionary": "auto", "l2": 0.01, "clip": 1.0},
    "compact, set aside": {"dictionary": "compact", "l2": 0.01, "validation_fraction": 0.3},
}


def tolerance(selection: Any) -> float:
    """What rounding may do to a climb."""
    return 1e-6 if selection in ("all", "sampled") else 1e-4


def test_weights_too_small_for_counts_are_told_of() -> None:
    X, y = noisy()
    weights = np.where(np.arange(300) < 100, 0.0, 0.01)
    workers = make_workers(X, y, weights, CUTS["empty and unequal"], 2)
    with pytest.warns(UserWarning, match="200 rows count as 2"):
        fit_on(workers, dictionary="gauss", max_iter=2, n_candidates=20, random_state=0)


@pytest.mark.covering
@pytest.mark.parametrize("n_classes", [2, *also(3)])
@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("name", [name for name in SETTINGS if "few rows" not in name])
def test_the_model_is_that_of_memory(name: str, cuts: list[int], n_classes: int) -> None:
    X, y = noisy(n_classes=n_classes)
    weights = np.random.default_rng(3).integers(0, 4, len(y)).astype(np.float64)
    parameters = {"dictionary": "gauss", "max_iter": 12, "random_state": 1, **SETTINGS[name]}
    here = FCGBoostClassifier(**parameters).fit(X, y, weights)
    there = fit_on(make_workers(X, y, weights, cuts, 3), **parameters)
    assert_same_model(there, here, X, tolerance(parameters.get("selection")))
    assert there._sample_.shape == here._sample_.shape


@pytest.mark.parametrize("name", ["few rows", "tree, few rows"])
def test_atoms_learned_on_a_draw_are_as_good_as_in_memory(name: str) -> None:
    X, y = noisy()
    parameters = {"max_iter": 12, "random_state": 1, **SETTINGS[name]}
    here = FCGBoostClassifier(**parameters).fit(X, y)
    one, other = (
        fit_on(make_workers(X, y, np.ones(300), [40, 200], n), **parameters) for n in (1, 3)
    )
    np.testing.assert_array_equal(one.atom_coef_, other.atom_coef_)
    assert one.score(X, y) == pytest.approx(here.score(X, y), abs=0.04)


def assert_same_choice(there: Any, here: Any, X: Any) -> None:
    """The same ridge, steps and probabilities, and as many paths in the average."""
    assert there.l2_ == pytest.approx(here.l2_, rel=1e-12)
    assert there.n_iter_ == here.n_iter_
    assert len(there.trace_) == len(here.trace_)
    assert there.trace_.endings == here.trace_.endings
    scores = np.array([there.trace_.scores, here.trace_.scores])
    np.testing.assert_allclose(*scores[:, : here.n_iter_], rtol=0, atol=1e-3)
    # Rounding grows from climb to climb, and the steps after the chosen one are not in the model.
    np.testing.assert_allclose(*scores[:, here.n_iter_ :], rtol=0, atol=0.02)
    values = [model.decision_function(X) for model in (there, here)]
    # What rounding may do to climbs of many steps.
    np.testing.assert_allclose(*values, rtol=0, atol=1e-3)
    for name in ("slope", "power"):
        found = [getattr(model.link_, name) for model in (there, here)]
        assert found[0] == pytest.approx(found[1], rel=1e-4)


def with_gaps(X: Any) -> Any:
    """Take some values away."""
    return np.where(np.random.default_rng(5).random(X.shape) < 0.1, np.nan, X)


CHOICES: dict[str, dict[str, Any]] = {
    "auto": {},
    "compact": {"dictionary": "compact"},
    "missing": {},
    "a ridge": {"l2": 0.01},
    "steps": {"max_iter": 5},
    "balanced": {"class_weight": "balanced"},
    "set aside": {"validation_fraction": 0.3},
    "accuracy": {"scoring": "accuracy"},
}
# Where rounding tips a search, and the paths part.
TIPPED = {("balanced", 4, 3)}


@pytest.mark.covering
@pytest.mark.parametrize("n_classes", [2, *also(3)])
@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("name", [*[*CHOICES][:6], *also(*[*CHOICES][6:])])
def test_a_preset_chooses_what_it_does_in_memory(
    name: str, cuts: list[int], n_classes: int
) -> None:
    X, y = noisy(n_classes=n_classes)
    X = with_gaps(X) if name == "missing" else X
    weights = np.random.default_rng(3).integers(0, 4, len(y)).astype(np.float64)
    parameters = {"random_state": 1, **CHOICES[name]}
    here = FCGBoostClassifier(**parameters).fit(X, y, weights)
    workers = make_workers(X, y, weights, cuts, 3)
    there = fit_on(workers, **parameters)
    if (name, len(cuts), n_classes) in TIPPED:
        assert there.score(X, y, weights) == pytest.approx(here.score(X, y, weights), abs=0.02)
    else:
        assert_same_choice(there, here, X)
    # Rows that were set aside for the choice are forgotten, and so are the columns of its paths.
    n_outputs = 1 if n_classes == 2 else n_classes
    for place, n_columns in workers.held():
        assert place < 2 or name == "set aside"
        assert n_columns <= n_outputs


@pytest.mark.parametrize("n_classes", [2, *also(3)])
def test_a_partition_may_have_one_class(n_classes: int) -> None:
    X, y = noisy(n_classes=n_classes)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    here = FCGBoostClassifier(random_state=1).fit(X, y)
    workers = make_workers(X, y, np.ones(300), list(range(30, 300, 30)), 4)
    assert_same_choice(fit_on(workers, random_state=1), here, X)


@pytest.mark.parametrize("has_gaps", [False, True])
def test_validation_data_chooses_the_ridge_the_steps_and_the_link(has_gaps: bool) -> None:
    X, y = noisy(400)
    X[300:] = with_gaps(X[300:]) if has_gaps else X[300:]
    here = FCGBoostClassifier(random_state=1).fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    validation = (X[300:], y[300:], np.ones(100))
    workers = make_workers(X[:300], y[:300], np.ones(300), [50, 90], validation=validation)
    assert_same_choice(fit_on(workers, True, random_state=1), here, X)


def test_of_more_rows_than_enough_a_share_is_used_to_choose() -> None:
    X, y = noisy(2000, n_classes=3)
    y[:2] = 3
    workers = make_workers(X, y, np.ones(2000), [100, 1200])
    design = lay(workers, ReluDictionary(), True, 4)
    task = Classification(SquaredHinge(), None, np.arange(4))
    for kept in (1.0, 0.5, 0.001):
        train, held_out = layout._split(design.rows, task, 0.25, 7, kept)
        counts = [
            np.bincount(*map(np.concatenate, rows.ask("target_totals")), 4)
            for rows in (train, held_out)
        ]
        assert [rows.n_rows for rows in (train, held_out)] == [sum(some) for some in counts]
        # Also the rare class, and all classes where few rows are left.
        assert min(map(min, counts)) >= 1.0
        if kept > 0.1:
            assert train.n_rows == pytest.approx(1500 * kept, rel=0.1)
            assert held_out.n_rows == pytest.approx(500 * kept, rel=0.2)


def test_nothing_is_chosen_where_rows_are_too_few() -> None:
    X, y = noisy(40)
    X, y = np.repeat(X[:2], 20, axis=0), np.repeat([0, 1], 20)
    here = FCGBoostClassifier(random_state=1).fit(X, y)
    there = fit_on(make_workers(X, y, np.ones(40), [1, 10]), random_state=1)
    assert there.link_ is here.link_ is None
    assert_same_model(there, here, X)
    with pytest.raises(ValueError, match="link='power' needs held-out rows"):
        fit_on(make_workers(X, y, np.ones(40), [1, 10]), random_state=1, link="power")


def test_a_link_is_fitted_to_any_model_with_rows_to_choose_by() -> None:
    X, y = noisy()
    parameters = {"dictionary": "relu", "link": "power", "validation_fraction": 0.3}
    parameters |= {"random_state": 0, "max_iter": 8, "class_weight": "balanced"}
    here = FCGBoostClassifier(**parameters).fit(X, y)
    assert_same_choice(fit_on(make_workers(X, y, np.ones(300), [80]), **parameters), here, X)


def test_medians_of_many_rows_are_those_of_a_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy(4000)
    X = with_gaps(X)
    parameters = {"dictionary": "tree", "max_iter": 3, "random_state": 0}
    scale = FCGBoostClassifier(**parameters).fit(X, y).members_[0].deviation
    monkeypatch.setattr(layout, "_MEDIAN_ROWS", 1000)
    workers = make_workers(X, y, np.ones(4000), [100, 2000])
    found = fit_on(workers, **parameters).members_[0].deviation
    assert not np.array_equal(found, scale)
    np.testing.assert_allclose(found, scale, rtol=0.01)


def test_a_path_that_was_chosen_goes_on() -> None:
    X, y = noisy()
    here = FCGBoostClassifier("compact", cv=None, random_state=1, max_iter=4, warm_start=True).fit(
        X, y
    )
    first = fit_on(make_workers(X, y, np.ones(300), [80]), **here.get_params())
    here.set_params(max_iter=9).fit(X, y)
    workers = make_workers(X, y, np.ones(300), [200, 250])
    again = fit_on(workers, last=first._state_, **here.get_params())
    assert_same_model(again, here, X)


@pytest.mark.slow
@pytest.mark.parametrize("fan_out", [1, 2, 16])
def test_neither_the_tree_nor_the_workers_change_a_bit_of_the_default(
    fan_out: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = noisy(n_classes=3)
    cuts = [3, 40, 41, 41, 200, 220, 260]
    parameters = {"random_state": 0, "max_iter": 6}
    one = fit_on(make_workers(X, y, np.ones(300), cuts, 1), **parameters)
    monkeypatch.setattr(sums, "FAN_OUT", fan_out)
    for n_workers, is_mixed in ((3, True), (8, False)):
        workers = make_workers(X, y, np.ones(300), cuts, n_workers, is_mixed=is_mixed)
        other = fit_on(workers, **parameters)
        for name in ("atoms_", "atom_coef_", "intercept_"):
            np.testing.assert_array_equal(getattr(other, name), getattr(one, name))
        assert (other.l2_, other.link_) == (one.l2_, one.link_)


@pytest.mark.filterwarnings("ignore:.*rows are loaded again:RuntimeWarning")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["auto", "compact", "missing", "set aside"])
def test_a_choice_survives_losses(name: str) -> None:
    X, y = noisy(n_classes=3)
    X = with_gaps(X) if name == "missing" else X
    cuts, parameters = CUTS["empty and unequal"], {"random_state": 1, **CHOICES[name]}
    if name == "missing":
        parameters["max_iter"] = 20  # rounding tips a search of a longer path
    undisturbed = make_workers(X, y, np.ones(300), cuts)
    here = fit_on(undisturbed, **parameters)
    draw = np.random.default_rng(0)
    losses = np.sort(draw.choice(undisturbed.n_rounds, 5, replace=False))
    disturbed = make_workers(X, y, np.ones(300), cuts, 4, losses=tuple(losses.tolist()))
    there = fit_on(disturbed, **parameters)
    assert disturbed.questions == undisturbed.questions
    # What a shard keeps from one question to the next it has again up to rounding.
    assert_same_choice(there, here, X)


@pytest.mark.parametrize("kind", ["sparse", "float32", "strings", "fractions"])
@pytest.mark.parametrize("selection", ["all", "learned"])
def test_all_kinds_of_rows_labels_and_weights(kind: str, selection: str) -> None:
    X, y = noisy(n_classes=3)
    weights, rows = np.ones(len(y)), X
    if kind == "sparse":
        X[np.median(X) > X] = 0.0
        X = sparse.csr_array(X)
    elif kind == "float32":
        X = X.astype(np.float32)
    elif kind == "strings":
        y = np.array(["a", "long label", "c"])[y]
    else:
        weights = np.random.default_rng(0).uniform(0.0, 3.0, len(y))
    parameters = {"dictionary": "gauss", "max_iter": 8, "random_state": 1, "n_candidates": 50}
    parameters["selection"] = selection
    here = FCGBoostClassifier(**parameters).fit(X, y, weights)
    there = fit_on(make_workers(X, y, weights, [10, 200]), **parameters)
    assert_same_model(there, here, X if kind == "sparse" else rows, tolerance(selection))
    assert sparse.issparse(there.atoms_) == sparse.issparse(here.atoms_)


@pytest.mark.parametrize("name", ["relu, sampled", "learned", "tree, few rows"])
def test_equal_rows_of_several_partitions_are_one_row(name: str) -> None:
    X, y = noisy(n_classes=3)
    X = np.round(X / [0.5, 15.0]) * [0.5, 15.0]
    assert len(np.unique(X, axis=0)) < 100
    parameters = {"max_iter": 9, "random_state": 1, **SETTINGS[name]}
    here = FCGBoostClassifier(**parameters).fit(X, y)
    for cuts in CUTS.values():
        assert_same_model(fit_on(make_workers(X, y, np.ones(300), cuts), **parameters), here, X)


@given(st.integers(1, 4), st.integers(0, 2**31))
def test_neither_workers_nor_the_order_within_partitions_change_a_bit(
    n_workers: int, seed: int
) -> None:
    X, y = noisy()
    weights, cuts = np.random.default_rng(2).uniform(0.0, 3.0, 300), [3, 40, 41, 200]
    order = np.arange(300)
    for part in np.split(order, cuts):
        np.random.default_rng(seed).shuffle(part)
    parameters = {"max_iter": 6, "random_state": 0, "dictionary": "relu", "selection": "sampled"}
    parameters |= {"validation_fraction": 0.2}
    one = fit_on(make_workers(X, y, weights, cuts, 1), **parameters)
    workers = make_workers(X[order], y[order], weights[order], cuts, n_workers)
    other = fit_on(workers, **parameters)
    for name in ("atoms_", "atom_coef_", "intercept_"):
        np.testing.assert_array_equal(getattr(other, name), getattr(one, name))
    assert other._state_.data == one._state_.data
    assert other._state_.parameters == one._state_.parameters


@given(st.lists(st.integers(0, 300), max_size=6), st.integers(0, 2**31))
def test_any_partition_gives_the_model_of_memory(cuts: list[int], seed: int) -> None:
    X, y = noisy()
    order = np.random.default_rng(seed).permutation(len(y))
    parameters = {"max_iter": 6, "random_state": seed, "dictionary": "relu", "selection": "sampled"}
    here = FCGBoostClassifier(**parameters).fit(X, y)
    workers = make_workers(X[order], y[order], np.ones(len(y)), sorted(cuts))
    there = fit_on(workers, **parameters)
    assert_same_model(there, here, X)
    # Either may go on from where the other ended.
    assert there._state_.data == here._state_.data
    assert there._state_.parameters == here._state_.parameters


@pytest.mark.filterwarnings("ignore:.*rows are loaded again:RuntimeWarning")
@pytest.mark.parametrize("name", ["gauss, all", "relu, sampled", "turns", "atoms leave"])
def test_a_fit_whose_workers_are_lost_goes_on_to_the_same_model(name: str) -> None:
    X, y = noisy(n_classes=3)
    weights, cuts = np.ones(len(y)), CUTS["empty and unequal"]
    parameters = {"dictionary": "gauss", "max_iter": 6, "random_state": 1, **SETTINGS[name]}
    parameters |= {"validation_fraction": 0.2}
    undisturbed = make_workers(X, y, weights, cuts)
    here = fit_on(undisturbed, **parameters)
    losses = tuple(range(1, undisturbed.n_rounds, 7))
    disturbed = make_workers(X, y, weights, cuts, losses=losses)
    there = fit_on(disturbed, **parameters)
    assert disturbed.questions == undisturbed.questions
    assert_same_model(there, here, X)
    scores = [model.trace_.column("validation_score") for model in (there, here)]
    np.testing.assert_allclose(*scores, rtol=1e-12)


@pytest.mark.parametrize("clip", [None, 1.0])
def test_validation_rows_may_lie_anywhere(clip: float | None) -> None:
    X, y = noisy(400, n_classes=3)
    X[300:] *= 2.0
    # All rows are candidates: hashes of rows that are clipped follow the last digits of limits.
    parameters = {"random_state": 1, "dictionary": "gauss", "selection": "all", "clip": clip}
    here = FCGBoostClassifier(**parameters).fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    validation = (X[300:], y[300:], np.ones(100))
    workers = make_workers(X[:300], y[:300], np.ones(300), [50], validation=validation)
    there = fit_on(workers, True, **parameters)
    assert_same_model(there, here, X)
    scores = [model.trace_.column("validation_score") for model in (there, here)]
    np.testing.assert_allclose(*scores, rtol=1e-12)


def test_codes_of_categories_are_not_clipped() -> None:
    X, y = noisy()
    X = np.column_stack([X, np.where(np.arange(300) < 3, 40.0, np.arange(300) % 3)])
    parameters = {"dictionary": TreeDictionary(categorical_features=[2]), "clip": 1.5}
    parameters |= {"max_iter": 4, "random_state": 0}
    here = FCGBoostClassifier(**parameters).fit(X, y)
    there = fit_on(make_workers(X, y, np.ones(300), [30, 31, 70]), **parameters)
    np.testing.assert_allclose(there.model_.limits.low, here.model_.limits.low, rtol=1e-12)
    assert_same_model(there, here, X)


@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.25, 0.5, 0.9])
def test_rows_are_held_out_by_limits_of_their_hashes(fraction: float) -> None:
    parameters = {"dictionary": "gauss", "max_iter": 3, "random_state": 1}
    parameters |= {"validation_fraction": fraction}
    for n in (33, 132):
        X, y = noisy(n, n_classes=3)
        weights = np.random.default_rng(n).integers(0, 4, n).astype(float)
        here = FCGBoostClassifier(**parameters).fit(X, y, weights)
        assert_same_model(fit_on(make_workers(X, y, weights, [7, 20]), **parameters), here, X)


@pytest.mark.parametrize(
    ("setting", "verbs"),
    [
        ("relu, sampled", ["draw", "candidate_scores"]),
        ("gauss, all", ["candidate_scores"]),
        ("learned", ["residuals", "sums"]),
        ("turns", ["residuals", "sums"]),
    ],
)
def test_rounds_of_a_step(setting: str, verbs: list[str]) -> None:
    X, y = noisy(5000)
    workers = make_workers(X, y, np.ones(5000), [300])
    parameters = {"dictionary": "gauss", "max_iter": 10, "random_state": 0, **SETTINGS[setting]}
    model = fit_on(workers, **parameters)
    assert workers.n_rounds == len(workers.questions)
    questions = workers.questions[workers.questions.index(verbs[-1]) - len(verbs) + 1 :]
    for step in model.trace_:
        assert questions[: len(verbs)] == verbs
        expansions = [*itertools.takewhile(lambda q: q == "expand", questions[len(verbs) :])]
        # One where the new column has no coefficient yet, and one or more for every iteration.
        assert 1 + step.solver_iterations <= len(expansions) <= 1 + 2 * step.solver_iterations
        questions = questions[len(verbs) + len(expansions) :]
    assert questions == []


@pytest.mark.parametrize("selection", ["auto", "sampled"])
def test_messages_do_not_grow_with_the_rows(
    selection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Rows that medians are taken of come once.
    monkeypatch.setattr(inputs, "_MEDIAN_ROWS", 64)
    d, k, q = 2, 5, 128
    for m in (1000, 3000, 12_000, 40_000):
        X, y = make_simulation(m, noise="uniform", level=0.2, random_state=0)
        workers = make_workers(X, y, np.ones(m), [m // 3])
        fit_on(workers, dictionary="gauss", selection=selection, max_iter=k, random_state=0)
        n = m if selection == "auto" and m <= 3162 else q
        allowed = 8 * n * (d + 5) + 80 * (n + (k + 1) ** 2) + 8000
        assert max(workers.sizes) <= allowed


_WITHOUT_DASK = """
import sys
import fcgboost
assert not {"dask", "distributed"} & set(sys.modules)
sys.modules["dask"] = None
try:
    import fcgboost.dask
except ImportError as error:
    print(error)
"""


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("fcgboost.dask")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"fcgboost.dask needs dask: pip install 'fcgboost\[dask"):
        importlib.import_module("fcgboost.dask")


@pytest.mark.slow
def test_the_core_does_without_dask_and_the_extra_is_named() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _WITHOUT_DASK], capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == "fcgboost.dask needs dask: pip install 'fcgboost[dask]'."


@pytest.mark.parametrize(("n", "n_asked"), [(4, 1), (5, 1), (6, None)])
def test_a_draw_is_widened_until_it_has_enough_rows(n: int, n_asked: int | None) -> None:
    few = DataSet.of(np.arange(5.0)[:, None], np.arange(5) % 2, np.ones(5))
    widths = []

    class Rows:
        n_rows = 10**12

        def ask(self, verb: str, key: int, turn: int, width: int) -> list[DataSet]:
            widths.append(width)
            return [few]

    found = draw(Rows(), n)  # type: ignore[arg-type]
    assert (len(found.data.weights), found.width) == (5, widths[-1])
    assert widths == sorted(set(widths))
    if n_asked is None:
        assert widths[-1] == 2**64
        assert widths[1] == 4 * widths[0]
    else:
        assert len(widths) == n_asked
