"""The frozen result: a sum of atoms, written out."""

import copy
import dataclasses
import math
import pickle
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from scipy import sparse

from fcgboost import FCGBoostClassifier
from fcgboost import model as model_module
from fcgboost.datasets import make_simulation
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
    planes,
)
from fcgboost.model import Model
from fcgboost.stopping import Status
from tests.suites.marks import also

N_FEATURES = 3


class HalfSpace(Dictionary):
    """A user's dictionary that has `evaluate` and no more: 1 where x_1 > t."""

    def candidates(self, sample, n, key):
        raise NotImplementedError

    def evaluate(self, X, atoms, scale):
        first = X[:, :1].toarray() if sparse.issparse(X) else X[:, :1]
        return (first > atoms[:, -1]) * 1.0


def gauss(x, row, scale):
    *c, sigma = row
    terms = (((a - b) / s) ** 2 for a, b, s in zip(x, c, scale, strict=True))
    return math.exp(-sum(terms) / (2 * sigma**2))


def inner(x, row):
    *w, b = row
    return sum(p * q for p, q in zip(x, w, strict=True)) + b


FORMULAS: dict[str, tuple[Dictionary, Callable[..., float]]] = {
    "gauss": (GaussDictionary(), gauss),
    "linear": (PolynomialDictionary(degree=1), lambda x, row, _: 1 + inner(x, row)),
    "square": (PolynomialDictionary(degree=2), lambda x, row, _: (1 + inner(x, row)) ** 2),
    "power": (PolynomialDictionary(degree=5), lambda x, row, _: (1 + inner(x, row)) ** 5),
    "sigmoid": (SigmoidDictionary(), lambda x, row, _: 1 / (1 + math.exp(-inner(x, row)))),
    "relu": (ReluDictionary(), lambda x, row, _: max(0.0, inner(x, row))),
    "user": (HalfSpace(), lambda x, row, _: float(x[0] > row[-1])),
}
each_family = pytest.mark.parametrize("family", FORMULAS)


def make_model(family: str = "gauss", n_outputs: int = 2, n_atoms: int = 6, seed: int = 0) -> Model:
    rng = np.random.default_rng(seed)
    atoms = np.column_stack(
        [rng.standard_normal((n_atoms, N_FEATURES)), rng.uniform(0.5, 2.0, n_atoms)]
    )
    coef, intercept = rng.standard_normal((n_outputs, n_atoms)), rng.standard_normal(n_outputs)
    scale, dictionary = np.array([1.0, 2.0, 0.5]), FORMULAS[family][0]
    return Model(dictionary, atoms, coef, intercept, scale, np.arange(n_atoms))


def make_rows(m: int = 25) -> np.ndarray:
    """Give rows with zeros in them."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((m, N_FEATURES))
    X[rng.random(X.shape) < 0.3] = 0.0
    return X


def naive_decision(family: str, model: Model, X: np.ndarray) -> np.ndarray:
    """Add up the atoms one by one, in Python's own arithmetic."""
    formula = FORMULAS[family][1]
    atoms = model.atoms.toarray() if sparse.issparse(model.atoms) else model.atoms
    values = np.empty((len(X), len(model.intercept)))
    for i, x in enumerate(X.tolist()):
        column = [formula(x, row, model.scale.tolist()) for row in atoms.tolist()]
        for c, intercept in enumerate(model.intercept):
            values[i, c] = intercept + math.fsum(model.coef[c] * column)
    return values


def assert_close(values: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12 * abs(expected).max())


@each_family
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("limit", [1, 17, None])
def test_the_decision_is_the_sum_of_the_atoms(
    family: str, n_outputs: int, limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if limit is not None:
        for name in ("_BLOCK_ENTRIES", "_COSTLY_ENTRIES", "_DEVICE_ENTRIES"):
            monkeypatch.setattr(model_module, name, limit)
    model, X = make_model(family, n_outputs), make_rows()
    expected = naive_decision(family, model, X)
    for rows in (X, np.asfortranarray(X), X.repeat(2, axis=0)[::2], sparse.csr_array(X)):
        assert_close(model.decision(rows), expected)
        assert_close(model.columns(rows) @ model.coef.T + model.intercept, expected)
    assert_close(model.decision(sparse.csr_matrix(X)), expected)
    for i in range(len(X)):
        assert_close(model.decision(X[i : i + 1]), expected[i : i + 1])
        assert_close(model.decision(sparse.csr_array(X[i : i + 1])), expected[i : i + 1])


@each_family
def test_one_atom_is_a_model(family: str) -> None:
    model, X = make_model(family, n_atoms=1), make_rows()
    assert_close(model.decision(X), naive_decision(family, model, X))


def test_inputs_that_are_wide_are_summed_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    X = make_rows()
    for products in (1, 16 * 6 * 2):
        monkeypatch.setattr(planes, "PRODUCTS_ON_ONE_THREAD", products)
        monkeypatch.setattr(planes, "_PRODUCTS_WITH_ONE_COLUMN", products)
        for family in FORMULAS:
            model = make_model(family)
            assert_close(model.decision(X), naive_decision(family, model, X))


def test_sparse_atoms_are_summed_alike() -> None:
    model, X = make_model(), make_rows()
    atoms = model.atoms.copy()
    atoms[::2, 0] = 0.0
    model = dataclasses.replace(model, atoms=sparse.csr_array(atoms))
    expected = naive_decision("gauss", model, X)
    for rows in (X, sparse.csr_array(X), X[:1], sparse.csr_array(X[:1])):
        assert_close(model.decision(rows), expected[: rows.shape[0]])


def test_gauss_atoms_do_not_cancel_far_from_the_origin() -> None:
    model, X = make_model(), make_rows()
    far = np.array([1e7, -1e5, 1e6])
    moved = np.hstack([model.atoms[:, :-1] + far, model.atoms[:, -1:]])
    model = dataclasses.replace(model, atoms=moved)
    assert_close(model.decision(X + far), naive_decision("gauss", model, X + far))


@each_family
def test_single_precision_rows_lose_nothing(family: str) -> None:
    model, X = make_model(family), make_rows().astype(np.float32)
    expected = model.decision(X.astype(np.float64))
    assert model.decision(X).dtype == np.float64
    np.testing.assert_array_equal(model.decision(X), expected)
    assert_close(model.decision(sparse.csr_array(X)), expected)


def test_large_arguments_of_sigmoids_are_no_overflow() -> None:
    model = make_model("sigmoid", 1)
    assert np.isfinite(model.decision(np.array([[1e6, 1e6, -1e6], [-1e6, 1e6, 1e6]]))).all()


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_no_rows_and_no_atoms_are_no_error(make: Callable[..., object]) -> None:
    model = make_model()
    assert model.decision(make(np.empty((0, 3)))).shape == (0, 2)
    assert model.columns(make(np.empty((0, 3)))).shape == (0, 6)
    empty = dataclasses.replace(model, atoms=model.atoms[:0], coef=model.coef[:, :0])
    assert empty.n_atoms == 0
    assert empty.columns(make(np.ones((4, 3)))).shape == (4, 0)
    expected = np.tile(model.intercept, (4, 1))
    np.testing.assert_array_equal(empty.decision(make(np.ones((4, 3)))), expected)


def test_rows_are_not_written_on() -> None:
    for family in FORMULAS:
        model, X = make_model(family), make_rows()
        X.flags.writeable = False
        before = [array.copy() for array in (model.atoms, model.coef, model.intercept)]
        model.decision(X)
        for array, old in zip((model.atoms, model.coef, model.intercept), before, strict=True):
            np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize("family", ["gauss", *also(*list(FORMULAS)[1:])])
def test_a_million_rows_need_little_memory(family: str) -> None:
    model, X = make_model(family, n_outputs=1, n_atoms=200), np.zeros((1_000_000, N_FEATURES))
    tracemalloc.start()
    try:
        values = model.decision(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - values.nbytes < 8 * 2**20


def test_wide_rows_need_little_memory() -> None:
    rng = np.random.default_rng(0)
    atoms = np.hstack([rng.standard_normal((60, 5000)), np.full((60, 1), 100.0)])
    coef, scale = np.ones((1, 60)), np.ones(5000)
    model = Model(GaussDictionary(), atoms, coef, np.zeros(1), scale, np.arange(60))
    X = rng.standard_normal((2000, 5000), dtype=np.float32)
    model.decision(X[:1])
    tracemalloc.start()
    try:
        model.decision(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * 2**20


def test_a_model_is_frozen_and_can_be_pickled() -> None:
    model, X = make_model(), np.ones((2, 3))
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.intercept = np.zeros(2)  # type: ignore[misc]
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.decision(X), model.decision(X))


@each_family
def test_what_predictions_keep_is_not_part_of_the_model(family: str) -> None:
    model, X = make_model(family), make_rows()
    saved = pickle.dumps(model)
    values = model.decision(X)
    assert pickle.dumps(model) == saved
    for twin in (pickle.loads(saved), copy.copy(model), copy.deepcopy(model)):
        assert set(vars(twin)) == {field.name for field in dataclasses.fields(Model)}
        np.testing.assert_array_equal(twin.decision(X), values)


def test_a_changed_copy_predicts_anew() -> None:
    model, X = make_model(), make_rows()
    model.decision(X)
    for name in ("atoms", "coef", "intercept", "scale"):
        changed = dataclasses.replace(model, **{name: 2.0 * getattr(model, name)})
        assert_close(changed.decision(X), naive_decision("gauss", changed, X))
        assert not np.allclose(changed.decision(X), model.decision(X))


@pytest.mark.extras
@each_family
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("limit", [17, None])
def test_tensors_give_tensors(
    family: str, precision: str, limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    if limit is not None:
        monkeypatch.setattr(model_module, "_DEVICE_ENTRIES", limit)
    model, X = make_model(family), make_rows().astype(precision)
    tensor = torch.tensor(X)
    if family == "gauss":
        model = dataclasses.replace(model, atoms=sparse.csr_array(model.atoms))
    if family != "user":  # whose formula is NumPy's
        decision = model.decision(tensor)
        assert isinstance(decision, torch.Tensor)
        assert decision.dtype == torch.float64
        assert_close(decision.numpy(), model.decision(X))
        assert isinstance(model.columns(tensor), torch.Tensor)
        assert_close(model.columns(tensor).numpy(), model.columns(X))
        assert model.decision(tensor[:0]).shape == (0, 2)
    empty = dataclasses.replace(model, atoms=model.atoms[:0], coef=model.coef[:, :0])
    np.testing.assert_array_equal(empty.decision(tensor), empty.decision(X))
    np.testing.assert_array_equal(tensor.numpy(), X)


def test_what_a_fit_leaves_says_itself_in_a_line() -> None:
    X, y = make_simulation(80, random_state=0)
    fitted = FCGBoostClassifier("gauss", max_iter=4, random_state=0).fit(X, y)
    assert repr(fitted.model_) == "Model(GaussDictionary, n_atoms=4, n_outputs=1)"
    assert repr(fitted.trace_) == "Trace(n_steps=4, n_atoms=4, endings=[None])"
    ended = dataclasses.replace(fitted.trace_, endings=(Status.VALIDATION, None) * 500)
    assert repr(ended).endswith("endings=['VALIDATION', None])")
    step = dataclasses.replace(fitted.trace_[2], seconds=0.0125, validation_score=-1 / 3)
    assert repr(step) == "Step(k=3, n_atoms=3, seconds=0.0125, validation_score=-0.333333)"
    step = dataclasses.replace(step, validation_score=None)
    assert repr(step) == "Step(k=3, n_atoms=3, seconds=0.0125)"
