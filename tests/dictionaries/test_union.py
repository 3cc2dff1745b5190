"""Several families in one dictionary: whose turn it is, whose row it is, and how wide rows are."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from fcgboost import FCGBoostClassifier
from fcgboost.arrays import stack_rows
from fcgboost.datasets import make_simulation
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    LinearDictionary,
    ReluDictionary,
    Sample,
    SigmoidDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.dictionaries.union import wrapped


def families() -> list[Dictionary]:
    return [ReluDictionary(), TreeDictionary(depth=2), GaussDictionary(), SigmoidDictionary()]


def noisy(n: int = 120, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_simulation(n, noise="uniform", level=0.2, random_state=0)
    return X, y if n_classes == 2 else np.digitize(X[:, 1], [0.3, 0.7])


def make_sample(n: int = 9, d: int = 3) -> Sample:
    Z = np.random.default_rng(0).standard_normal((n, d))
    return Sample(Z, np.zeros(d), np.ones(d), Z.min(axis=0), Z.max(axis=0), 1.0, float(d))


def own_rows(family: Dictionary, n: int = 2) -> np.ndarray:
    return np.asarray(family.candidates(make_sample(n), n, 5))


def test_rows_of_all_families_are_as_wide_as_the_longest() -> None:
    parts = [wrapped(number, own_rows(family)) for number, family in enumerate(families())]
    rows = stack_rows(parts)
    assert rows.shape == (sum(map(len, parts)), max(part.shape[1] for part in parts))
    first = 0
    for number, part in enumerate(parts):
        mine = rows[first : first + len(part)]
        assert (mine[:, 0] == number).all()
        np.testing.assert_array_equal(mine[:, : part.shape[1]], part)
        assert not mine[:, part.shape[1] :].any()
        first += len(part)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_values_are_those_of_the_families_in_any_order(make: Any) -> None:
    union, X = UnionDictionary(families()), np.random.default_rng(1).standard_normal((20, 3))
    X[X < -0.5] = 0.0
    parts = [wrapped(number, own_rows(family)) for number, family in enumerate(union.families)]
    scale = np.array([1.0, 2.0, 0.5])
    expected = np.hstack([f.evaluate(make(X), own_rows(f), scale) for f in union.families])
    order = np.random.default_rng(2).permutation(expected.shape[1])
    rows = stack_rows(parts)[order]
    np.testing.assert_allclose(union.evaluate(make(X), rows, scale), expected[:, order], rtol=1e-12)
    np.testing.assert_allclose(union.prepared(rows, scale)(make(X)), expected[:, order], rtol=1e-12)
    # More room at the end than anybody needs changes nothing.
    wide = np.hstack([rows, np.zeros((len(rows), 7))])
    np.testing.assert_allclose(union.evaluate(make(X), wide, scale), expected[:, order], rtol=1e-12)
    assert union.evaluate(make(X), rows[:0], scale).shape == (20, 0)


def test_members_are_the_rows_of_the_families() -> None:
    union = UnionDictionary(families())
    rows = stack_rows(
        [wrapped(2, own_rows(GaussDictionary())), wrapped(0, own_rows(families()[0]))]
    )
    relus, gausses = union.members(rows, 3)
    assert relus.family is union.families[0]
    assert gausses.family is union.families[2]
    assert gausses.places.tolist() == [0, 1]
    assert relus.places.tolist() == [2, 3]
    np.testing.assert_array_equal(gausses.rows, own_rows(GaussDictionary()))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_families_take_turns(n_classes: int) -> None:
    X, y = noisy(n_classes=n_classes)
    model = FCGBoostClassifier(UnionDictionary(families()), max_iter=9, random_state=0).fit(X, y)
    numbers, n = model.atoms_[:, 0].astype(int), len(families())
    assert len(model.trace_) == 9
    assert {*numbers} == {0, 1, 2, 3}
    for number, k in zip(numbers, model.model_.entered, strict=True):
        assert number == (k - 1) % n


@pytest.mark.parametrize("selection", ["all", "sampled"])
@pytest.mark.parametrize(
    "dictionary",
    [UnionDictionary([ReluDictionary(), GaussDictionary()]), TreeDictionary()],
    ids=["turns", "tree"],
)
def test_turns_and_trees_need_learning(dictionary: Dictionary, selection: str) -> None:
    with pytest.raises(ValueError, match=r"needs selection='learned' \(or 'auto'\)"):
        FCGBoostClassifier(dictionary, selection=selection).fit(*noisy())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (([],), "at least one dictionary"),
        ((ReluDictionary(),), "at least one dictionary"),
        ((["relu"],), "every family must be a dictionary"),
        (([UnionDictionary([ReluDictionary()])],), "not a union"),
        (([GaussDictionary(width=-1.0)],), "width"),
    ],
)
def test_impossible_unions_are_refused(parameters: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FCGBoostClassifier(UnionDictionary(*parameters)).fit(*noisy(20))


def test_a_union_takes_missing_values_if_all_families_do() -> None:
    assert UnionDictionary([TreeDictionary()]).takes_missing
    assert not UnionDictionary([TreeDictionary(), LinearDictionary()]).takes_missing


def test_a_union_is_searched_by_its_parameters() -> None:
    model = FCGBoostClassifier(UnionDictionary(families()), max_iter=3, random_state=0)
    model.set_params(dictionary__families=[ReluDictionary()])
    assert {*model.fit(*noisy()).atoms_[:, 0]} == {0.0}
