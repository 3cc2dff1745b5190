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
from suites.designs import (
    CHECKS,
    N_CLASSES,
    Place,
    check_room_grows_with_the_columns,
    check_storing_too_much_names_bytes_and_the_option,
    make_codes,
)
from suites.marks import also
from suites.places import LEARNED, noisy
from suites.workers import LocalWorkers, fit_on, lay, make_workers

from fcgboost import AllCandidates, FCGBoostClassifier, SampledCandidates
from fcgboost.cluster import layout, sums
from fcgboost.cluster.shard import LoadedRows
from fcgboost.cluster.sums import Pieces, added, branches, whom_they_ask
from fcgboost.cluster.workers import WorkerLostError, Workers
from fcgboost.datasets import make_simulation
from fcgboost.designs.base import Design
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import (
    ReluDictionary,
    TreeDictionary,
)
from fcgboost.tables import inputs
from fcgboost.training import tuning
from fcgboost.training.dataset import DataSet


def design_on_workers(dictionary: Any, X: Any, weights: Any, standardize: bool) -> Design:
    codes, m = make_codes(len(weights)), len(weights)
    workers = make_workers(X, codes, weights, [5, 20, 20, m - 3], 2)
    return lay(workers, dictionary, standardize, N_CLASSES)


WORKERS = Place(design_on_workers, list)
# Memory is a matter of every worker of its own: see below.
OTHER = (check_storing_too_much_names_bytes_and_the_option, check_room_grows_with_the_columns)
SHORT = [check for check in CHECKS if check not in OTHER]


@pytest.mark.covering
@pytest.mark.parametrize("check", [*SHORT, *also(OTHER[1])], ids=lambda check: check.__name__)
def test_every_design_passes(check: Callable[[Place], None]) -> None:
    check(WORKERS)


def assert_same_model(there: Any, here: Any, X: Any, atol: float = 1e-6) -> None:
    """The same steps, and decision values that agree to rounding."""
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
    "scaled": {"dictionary": ReluDictionary(scaling="max"), "selection": "sampled"},
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
@pytest.mark.parametrize("name", SETTINGS)
def test_the_model_is_that_of_memory(name: str, cuts: list[int], n_classes: int) -> None:
    X, y = noisy(n_classes=n_classes)
    weights = np.random.default_rng(3).integers(0, 4, len(y)).astype(np.float64)
    parameters = {"dictionary": "gauss", "max_iter": 12, "random_state": 1, **SETTINGS[name]}
    here = FCGBoostClassifier(**parameters).fit(X, y, weights)
    there = fit_on(make_workers(X, y, weights, cuts, 3), **parameters)
    assert_same_model(there, here, X, tolerance(parameters.get("selection")))
    assert there._sample_.shape == here._sample_.shape


def assert_same_choice(there: Any, here: Any, X: Any) -> None:
    """The same ridge, steps and probabilities, and as many paths in the average."""
    assert there.l2_ == pytest.approx(here.l2_, rel=1e-12)
    assert there.n_iter_ == here.n_iter_
    assert len(there.trace_) == len(here.trace_)
    assert there.trace_.endings == here.trace_.endings
    np.testing.assert_allclose(there.trace_.scores, here.trace_.scores, rtol=0, atol=1e-3)
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


def test_more_rows_than_enough_are_thinned_as_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "_ENOUGH_ROWS", 150)
    monkeypatch.setattr(tuning, "_SPLITS_OF_FEW", 2)
    X, y = noisy(n_classes=3)
    here = FCGBoostClassifier(random_state=1, max_iter=12).fit(X, y)
    workers = make_workers(X, y, np.ones(300), [100, 200])
    there = fit_on(workers, random_state=1, max_iter=12)
    assert_same_choice(there, here, X)
    assert workers.questions.count("split") == 4
    assert {place for place, _ in workers.held()} <= {0, 1}


def test_nothing_is_chosen_where_rows_are_too_few() -> None:
    X, y = noisy(40)
    y = np.where(np.arange(40) < 3, 1, 0)
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
    scale = FCGBoostClassifier(**parameters).fit(X, y)._deviation_
    monkeypatch.setattr(layout, "_ENOUGH_FOR_MEDIANS", 1000)
    workers = make_workers(X, y, np.ones(4000), [100, 2000])
    found = fit_on(workers, **parameters)._deviation_
    assert not np.array_equal(found, scale)
    np.testing.assert_allclose(found, scale, rtol=0.01)


def test_a_path_that_was_chosen_goes_on() -> None:
    X, y = noisy()
    here = FCGBoostClassifier("compact", random_state=1, max_iter=4, warm_start=True).fit(X, y)
    first = fit_on(make_workers(X, y, np.ones(300), [80]), **here.get_params())
    here.set_params(max_iter=9).fit(X, y)
    workers = make_workers(X, y, np.ones(300), [200, 250])
    again = fit_on(workers, last=first._state_, **here.get_params())
    assert_same_choice(again, here, X)


def sums_in_order(answers: list[Any]) -> Any:
    """Halve partitions down to single ones, and add up on the way back."""
    if len(answers) == 1:
        return answers[0]
    middle = len(answers) // 2
    return added(sums_in_order(answers[:middle]), sums_in_order(answers[middle:]))


@given(st.integers(1, 40), st.integers(1, 40), st.integers(2, 5), st.randoms())
def test_the_order_of_sums_does_not_depend_on_who_has_which_partition(
    n_parts: int, n_workers: int, fan_out: int, chance: Any
) -> None:
    answers = [
        None if chance.random() < 0.2 else (chance.uniform(-1, 1), [i]) for i in range(n_parts)
    ]
    owners = [chance.randrange(n_workers) for _ in answers]
    members = sorted(set(owners))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "FAN_OUT", fan_out)
        asks = whom_they_ask(members)

        def answer(member: int) -> Pieces:
            own = {i: answers[i] for i in range(n_parts) if owners[i] == member}
            return Pieces.of(n_parts, own).with_others(map(answer, asks[member]))

        heads = [branch[0] for branch in branches(members)]
        first, *others = map(answer, heads)
    found = first.with_others(others).total
    assert found == sums_in_order(answers)
    if found is not None:
        assert found[1] == [i for i, one in enumerate(answers) if one is not None]
    # Nobody waits for one that comes before it, and everybody is asked once.
    assert all(below > member for member, some in asks.items() for below in some)
    assert sorted([*heads, *(below for some in asks.values() for below in some)]) == members
    assert max(map(len, [heads, *asks.values()])) <= fan_out


def test_neighbours_travel_as_one_sum() -> None:
    whole = Pieces.of(64, dict.fromkeys(range(16, 32), 1))
    assert whole.runs == {(16, 32): 16}
    assert len(Pieces.of(64, dict.fromkeys(range(1, 63), 1)).runs) == 10


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


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("cuts", [[], [5, 20, 20, 44], list(range(1, 50))], ids=len)
def test_drawn_rows_are_those_of_memory_in_their_order(make: Any, cuts: list[int]) -> None:
    rng = np.random.default_rng(0)
    X, codes = rng.integers(-2, 3, (50, 2)) * [1.0, 30.0], np.arange(50) % 2
    there = lay(make_workers(make(X), codes, np.ones(50), cuts, 3), ReluDictionary(), True, 2)
    data = DataSet.of(make(X), codes, np.ones(50)).canonical()
    assert len(data.weights) < 50
    here = MemoryDesign(ReluDictionary(), data.X, data.weights, True, words=data.words)
    for n, key in itertools.product((1, 7, 20, 1000), (5, 2**62)):
        pairs = [
            (design.sample(n, key, 9 * key % 2**64), design.subsample(n, key))
            for design in (there, here)
        ]
        for one, other in zip(*pairs, strict=True):
            rows = [
                part.toarray() if sparse.issparse(part) else part for part in (one.rows, other.rows)
            ]
            # Of rows that differ in their class alone the last one may be missing.
            assert n > 20 or len(rows[0]) in (n, n - 1)
            np.testing.assert_array_equal(rows[0], rows[1][: len(rows[0])])


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
    # A file of one may be gone on from by the other.
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
def test_rows_are_set_aside_as_in_memory(fraction: float) -> None:
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
        ("relu, sampled", ["draw", "estimates", "exact"]),
        ("gauss, all", ["estimates", "exact"]),
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
    # The last one is for the rows of the importances.
    questions = workers.questions[workers.questions.index(verbs[-1]) - len(verbs) + 1 : -1]
    for step in model.trace_:
        assert questions[: len(verbs)] == verbs
        looks = [*itertools.takewhile(lambda q: q == "look", questions[len(verbs) :])]
        # One where the new column has no coefficient yet, and one or more for every iteration.
        assert 1 + step.solver_iterations <= len(looks) <= 1 + 2 * step.solver_iterations
        questions = questions[len(verbs) + len(looks) :]
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
        counted = 8 * min(m, 2**14) if selection == "auto" else 0
        allowed = 8 * n * (d + 5) + 80 * (n + (k + 1) ** 2) + counted + 8000
        assert max(workers.sizes) <= allowed


def test_distinct_rows_are_counted_or_estimated() -> None:
    rng = np.random.default_rng(0)
    for m, tolerance in ((500, 0.0), (60_000, 0.05)):
        X = np.vstack([rows := rng.standard_normal((m // 2, 1)), rows])
        workers = make_workers(X, np.arange(m) % 2, np.ones(m), [m // 4, m // 2])
        design = lay(workers, ReluDictionary(), True, 2)
        assert design.n_distinct == pytest.approx(m // 2, rel=tolerance)


def test_kinds_of_partitions_must_agree() -> None:
    X, y = noisy(40)
    dense = LoadedRows(X[:20], y[:20], np.ones(20))
    thin = LoadedRows(sparse.csr_array(X[20:]), y[20:], np.ones(20))
    words = LoadedRows(X[20:], np.array(["a", "b"] * 10), np.ones(20))
    for other, message in ((thin, "are sparse and some are not"), (words, "Labels are numbers")):
        workers = LocalWorkers([({0: dense}, {}), ({1: other}, {})])
        with pytest.raises(ValueError, match=message):
            fit_on(workers, max_iter=2)


def test_rows_must_weigh_something_and_be_enough() -> None:
    X, y = noisy(60)
    ones, nothing = np.ones(60), np.zeros(60)
    with pytest.raises(ValueError, match="sample_weight is zero for all rows"):
        fit_on(make_workers(X, y, nothing, [30]), max_iter=2)
    with pytest.raises(ValueError, match="sample_weight_val is zero for all rows"):
        fit_on(make_workers(X, y, ones, [30], validation=(X, y, nothing)), True, max_iter=2)
    workers = make_workers(np.repeat(X[:2], 30, 0), np.repeat([0, 1], 30), ones, [10])
    with pytest.raises(ValueError, match="leaves no row for validation"):
        fit_on(workers, max_iter=2, validation_fraction=0.1)


def test_storing_too_much_is_said_before_the_first_step() -> None:
    X, y = noisy()
    workers = make_workers(X, y, np.ones(300), [100], options=(1, 1000))
    settings = {"dictionary": "gauss", "n_candidates": 50, "max_iter": 2}
    with pytest.raises(MemoryError, match="but the budget is 1000 bytes"):
        fit_on(workers, selection=AllCandidates(store=True), **settings)


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


def test_what_belongs_to_rows_that_are_gone_is_not_said_again() -> None:
    asked: list[tuple[object, ...]] = []

    class Silent(Workers):
        def connect(self) -> None:
            pass

        close = connect

        def ask_all(self, *call: object) -> Pieces:
            asked.append(call)
            return Pieces.of(1, {0: 0})

    workers = Silent()
    for owner in ((2,), (2, -1), (3,), (3, -1)):
        workers.remember(owner, ("tell", owner))
    workers.drop((2,))
    workers.drop((3, -1))
    workers.call("ask")
    assert asked == [("tell", (3,)), ("ask",)]


def test_rows_that_are_others_when_they_are_loaded_again_are_refused() -> None:
    class Counting(Workers):
        n_asked = 0

        def connect(self) -> None:
            pass

        close = connect

        def ask_all(self, *call: object) -> Pieces:
            self.n_asked += 1
            if self.n_asked == 2:
                raise WorkerLostError("A worker is lost")
            return Pieces.of(1, {0: self.n_asked})

    workers = Counting()
    assert workers.round("count", owner=(2,)) == 1
    with (
        pytest.warns(RuntimeWarning, match="A worker is lost"),
        pytest.raises(RuntimeError, match="had other rows when they were loaded again"),
    ):
        workers.round("ask")
