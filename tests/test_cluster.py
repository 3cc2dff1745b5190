"""The design whose rows lie elsewhere: the suite of all designs, and what is its own."""

import importlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from suites.crews import HereCrew, Parts, Rooms, fit_on, make_crew
from suites.designs import (
    CHECKS,
    Backend,
    check_gram_matrices_follow_weights_and_columns,
    check_scores_are_inner_products,
    check_storing_too_much_names_bytes_and_the_option,
)
from suites.marks import also

from fcgboost import AllCandidates, FCGBoostClassifier, SampledCandidates
from fcgboost.backends.rows import Part
from fcgboost.backends.shards import Shard
from fcgboost.datasets import make_simulation


@pytest.fixture(params=["kept", "loaded again"])
def backend(request: pytest.FixtureRequest) -> Backend:
    rooms = Rooms() if request.param == "kept" else Rooms(can_load=True, budget=0)
    return Backend(rooms.design, rooms.vector, rooms.array)


# Thousands of rounds.
LONG = (check_scores_are_inner_products, check_gram_matrices_follow_weights_and_columns)
# Memory is a matter of every machine of its own: see below.
OTHER = (check_storing_too_much_names_bytes_and_the_option, *LONG)
SHORT = [check for check in CHECKS if check not in OTHER]


@pytest.mark.covering
@pytest.mark.parametrize("check", [*SHORT, *also(*LONG)], ids=lambda check: check.__name__)
def test_every_design_passes(
    backend: Backend, check: Callable[[Backend], None], request: pytest.FixtureRequest
) -> None:
    if "loaded again" in request.node.name and check in LONG:
        pytest.skip("thousands of rounds; the kept rows do it")
    check(backend)


def assert_same_model(there: Any, here: FCGBoostClassifier) -> None:
    """The atoms in order, all numbers to rounding: sums over weights have other orders."""
    np.testing.assert_array_equal(there.classes_, here.classes_)
    np.testing.assert_allclose(there.model_.scale, here.model_.scale, rtol=1e-14)
    atoms = [m.atoms_.toarray() if sparse.issparse(m.atoms_) else m.atoms_ for m in (there, here)]
    np.testing.assert_allclose(*atoms, rtol=1e-12, atol=1e-14)
    size = np.abs(here.atom_coef_).max(initial=1.0)
    np.testing.assert_allclose(there.atom_coef_, here.atom_coef_, rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(there.intercept_, here.intercept_, rtol=0, atol=1e-9 * size)
    assert there.status_ is here.status_
    assert there.n_iter_ == here.n_iter_
    np.testing.assert_array_equal(there._sample_.shape, here._sample_.shape)
    np.testing.assert_allclose(there.feature_importances_, here.feature_importances_, rtol=1e-6)


def noisy(n: int = 300, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_simulation(n, noise="uniform", level=0.2, random_state=0)
    if n_classes > 2:
        y = np.where(X[:, 0] > 0.7, 2, (y > 0) * 1)
    return X * [3.0, 100.0] - [7.0, 0.0], y


CUTS = {"one": [], "empty and unequal": [1, 1, 2, 250], "many": list(range(25, 300, 25))}
SETTINGS: dict[str, dict[str, Any]] = {
    "gauss, all": {"n_candidates": 60},
    "relu, sampled": {"dictionary": "relu", "selection": "sampled"},
    "relu, few": {"dictionary": "relu", "selection": SampledCandidates(20)},
    "sigmoid, normalised": {"dictionary": "sigmoid", "selection": "sampled", "normalize": True},
    "polynomial": {"dictionary": "polynomial", "n_candidates": 40},
    "elliptic": {"dictionary": "elliptic", "selection": "sampled"},
    "linear": {"dictionary": "linear", "selection": "sampled", "max_iter": 6},
    "default number of candidates": {"max_iter": 8},
    "raw inputs, no constant": {"standardize": False, "fit_intercept": False, "n_candidates": 60},
    "admm": {"solver": "admm", "l2": 0.0, "n_candidates": 30, "max_iter": 5},
    "gradient descent": {"solver": "gradient_descent", "n_candidates": 30, "max_iter": 4},
    "hinge": {"loss": "hinge", "n_candidates": 30, "max_iter": 5},
    "cubed hinge": {"loss": "cubed_hinge", "n_candidates": 30, "max_iter": 5},
    "truncation": {"scheme": "truncation", "n_candidates": 30, "max_iter": 5},
    "rescaled": {"scheme": "rescaled", "n_candidates": 30, "max_iter": 5},
    "balanced": {"class_weight": "balanced", "n_candidates": 30},
    "set aside": {"validation_fraction": 0.2, "dictionary": "relu", "selection": "sampled"},
    "patience": {"n_iter_no_change": 3, "dictionary": "relu", "selection": "sampled"},
}


@pytest.mark.covering
@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_the_model_is_that_of_memory(setting: dict[str, Any], cuts: list[int]) -> None:
    X, y = noisy()
    weights = np.random.default_rng(3).integers(0, 4, len(y)).astype(np.float64)
    parameters = {"dictionary": "gauss", "max_iter": 12, "random_state": 1, **setting}
    here = FCGBoostClassifier(**parameters).fit(X, y, weights)
    assert_same_model(fit_on(make_crew(X, y, weights, cuts, 3), **parameters), here)


@pytest.mark.parametrize("setting", ["gauss, all", "relu, sampled", "set aside"])
def test_rows_that_are_loaded_again_give_the_same_model(setting: str) -> None:
    X, y = noisy(n_classes=3)
    parameters = {"dictionary": "gauss", "max_iter": 8, "random_state": 1, **SETTINGS[setting]}
    here = FCGBoostClassifier(**parameters).fit(X, y)
    cuts, row = CUTS["empty and unequal"], X[0].nbytes
    for budget in (0, 100 * row):
        crew = make_crew(X, y, np.ones(len(y)), cuts, 2, True, budget)
        assert_same_model(fit_on(crew, **parameters), here)
        assert max(source.n_loads for source in _sources(crew)) > 8


def _sources(crew: HereCrew) -> list[Any]:
    return [p.rows._source for shard in crew.shards for p in shard._pieces]


@pytest.mark.parametrize("kind", ["sparse", "float32", "strings", "fractions"])
def test_all_kinds_of_rows_labels_and_weights(kind: str) -> None:
    X, y = noisy(n_classes=3)
    weights = np.ones(len(y))
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
    here = FCGBoostClassifier(**parameters).fit(X, y, weights)
    assert_same_model(fit_on(make_crew(X, y, weights, [10, 200], 2), **parameters), here)


@given(st.lists(st.integers(0, 300), max_size=6), st.integers(1, 4), st.integers(0, 2**31))
def test_any_partition_gives_the_same_model(cuts: list[int], n_shards: int, seed: int) -> None:
    X, y = noisy()
    order = np.random.default_rng(seed).permutation(len(y))
    parameters = {"max_iter": 6, "random_state": seed, "dictionary": "relu", "selection": "sampled"}
    here = FCGBoostClassifier(**parameters).fit(X, y)
    crew = make_crew(X[order], y[order], np.ones(len(y)), sorted(cuts), n_shards)
    assert_same_model(fit_on(crew, **parameters), here)


def test_validation_rows_may_lie_anywhere() -> None:
    X, y = noisy(400, n_classes=3)
    held_out = (X[300:], y[300:], np.ones(100))
    parameters = {"random_state": 1, "dictionary": "relu", "selection": "sampled"}
    here = FCGBoostClassifier(**parameters).fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    crew = make_crew(X[:300], y[:300], np.ones(300), [50], 2, held_out=held_out)
    there = fit_on(crew, True, **parameters)
    assert_same_model(there, here)
    scores = [model.trace_.column("validation_score") for model in (there, here)]
    np.testing.assert_allclose(*scores, rtol=1e-12)


@pytest.mark.covering
@pytest.mark.parametrize("weight", [0.1, 0.3, 1 / 3, 0.7])
@pytest.mark.parametrize("fraction", [0.01, 0.25, 0.5, 0.9])
def test_equal_fractional_weights_are_split_alike_in_any_partition(
    weight: float, fraction: float
) -> None:
    for n in (33, 132):
        X, y = noisy(n)
        weights = np.full(n, weight)
        parameters = {
            "dictionary": "gauss",
            "max_iter": 3,
            "random_state": 1,
            "validation_fraction": fraction,
        }
        one, other = (
            fit_on(make_crew(X, y, weights, cuts, 2), **parameters) for cuts in ([7, 20], [25])
        )
        assert_same_model(one, other)


def test_balanced_classes_of_fractional_weights_do_not_change_a_bit() -> None:
    X, y = noisy(n_classes=3)
    weights = np.random.default_rng(1).choice([0.1, 0.2, 0.7], len(y))
    parameters = {"dictionary": "relu", "selection": "sampled", "class_weight": "balanced"}
    here = FCGBoostClassifier(max_iter=6, random_state=0, **parameters).fit(X, y, weights)
    for cuts in CUTS.values():
        crew = make_crew(X, y, weights, cuts, 3)
        assert_same_model(fit_on(crew, max_iter=6, random_state=0, **parameters), here)


class Fickle:
    """A source that gives other rows every time."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def __call__(self) -> Part:
        y = np.arange(40) % 2
        return Part(self.rng.standard_normal((40, 2)), y, np.ones(40))


def test_a_source_that_changes_is_noticed() -> None:
    crew = HereCrew([Shard([Fickle()], [], True, 0, 1)])
    with pytest.raises(RuntimeError, match="other rows when it was loaded again"):
        fit_on(crew, max_iter=3, random_state=0)


def test_kinds_of_partitions_must_agree() -> None:
    X, y = noisy(40)
    dense = Parts(Part(X[:20], y[:20], np.ones(20)))
    thin = Parts(Part(sparse.csr_array(X[20:]), y[20:], np.ones(20)))
    words = Parts(Part(X[20:], np.array(["a", "b"] * 10), np.ones(20)))
    for other, message in ((thin, "are sparse and some are not"), (words, "Labels are numbers")):
        crew = HereCrew([Shard([source], [], False, None, 1) for source in (dense, other)])
        with pytest.raises(ValueError, match=message):
            fit_on(crew, max_iter=2)


def test_validation_rows_must_weigh_something() -> None:
    X, y = noisy(60)
    crew = make_crew(X, y, np.ones(60), [30], 2, held_out=(X, y, np.zeros(60)))
    with pytest.raises(ValueError, match="sample_weight_val: all weights are zero"):
        fit_on(crew, True, max_iter=2)


def test_storing_too_much_is_said_before_the_first_step() -> None:
    X, y = noisy()
    crew = make_crew(X, y, np.ones(len(y)), [100], 2)
    for shard in crew.shards:
        shard.store_limit = 1000
    with pytest.raises(MemoryError, match="store=True asks to keep it in a budget of 1000 bytes"):
        fit_on(
            crew,
            dictionary="gauss",
            selection=AllCandidates(store=True),
            n_candidates=50,
            max_iter=2,
        )


@pytest.mark.parametrize("selection", ["auto", "sampled"])
def test_messages_do_not_grow_with_the_rows(selection: str) -> None:
    d, k, q = 2, 5, 128
    for m in (1000, 3000, 12_000):
        X, y = make_simulation(m, noise="uniform", level=0.2, random_state=0)
        crew = make_crew(X, y, np.ones(m), [m // 3], 2)
        model = fit_on(crew, dictionary="gauss", selection=selection, max_iter=k, random_state=0)
        n = m if selection == "auto" and m <= 3162 else q
        assert model.n_iter_ == k
        allowed = 8 * n * (d + 2) + 80 * (n + (k + 1) ** 2) + 4000
        assert max(crew.sent + crew.received) <= allowed


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
