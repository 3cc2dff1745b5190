"""Every design goes through one suite; what follows is about designs in memory."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse
from strategies import Data, training_sets
from suites.designs import CHECKS, Place, make_atoms, make_codes, make_data, make_scene
from suites.reference import full_matrix

from fcgboost.designs import columns, scoring, views
from fcgboost.designs.devices import Host, find_device
from fcgboost.designs.memory import MemoryDesign
from fcgboost.designs.moments import moments_of
from fcgboost.dictionaries import GaussDictionary, PolynomialDictionary, ReluDictionary
from fcgboost.losses import CubedHinge, CurvedLoss, Hinge, Square, SquaredHinge


def targets_of(classes: list[int]) -> list[np.ndarray]:
    return [np.where(make_codes() == c, 1.0, -1.0) for c in classes]


MEMORY = Place(MemoryDesign, targets_of)


@pytest.fixture(params=["usual", "small blocks"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Place:
    if request.param == "small blocks":
        monkeypatch.setattr(Host, "block_entries", 64)
        for module in ("blocks", "scoring", "memory"):
            monkeypatch.setattr(f"fcgboost.designs.{module}.BLOCK", 16)
        monkeypatch.setattr(scoring, "_MANY", 2)
        monkeypatch.setattr(views, "_AT_ONCE", 7)
        monkeypatch.setattr(columns, "_ROOM", 3)
    return MEMORY


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_design_passes(place: Place, check: Callable[[Place], None]) -> None:
    check(place)


def test_a_loss_without_curvature_has_no_gram_matrix() -> None:
    scene = make_scene(MEMORY, has_constant=True, loss=Hinge())
    coef = np.full(9, 0.01)
    ((risk, gradient, gram),) = scene.columns.look([(1, coef)])
    y, f = scene.rows.Y[1], scene.rows.A @ coef
    assert risk == pytest.approx(scene.rows.shares @ np.maximum(0.0, 1.0 - y * f))
    slopes = np.where(y * f < 1.0, -y, 0.0) * scene.rows.shares
    np.testing.assert_allclose(gradient, scene.rows.A.T @ slopes, atol=1e-13)
    assert gram is None


class OwnHinge(SquaredHinge):
    """The squared hinge by array formulas."""


@pytest.mark.parametrize("device", ["cpu", pytest.param("torch", marks=pytest.mark.extras)])
@pytest.mark.parametrize(("loss", "n_anew"), [(OwnHinge(), 6), (Square(), 4), (CubedHinge(), 202)])
def test_a_gram_matrix_follows_the_rows_that_changed(
    loss: CurvedLoss, n_anew: int, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch" if device == "torch" else "numpy")
    rng, sizes = np.random.default_rng(0), []
    X, weights = rng.standard_normal((2000, 4)), rng.uniform(0.1, 3.0, 2000)
    Y = [np.where(X[:, j] + 0.5 * rng.standard_normal(2000) > 0.3, 1.0, -1.0) for j in (0, 1)]
    design = MemoryDesign(ReluDictionary(), X, weights, True, device=find_device(device))
    atoms = design.dictionary.candidates(design.sample(40, 0), 40, 0)
    values, A = full_matrix(design, atoms), np.ones((2000, 1))
    own = design.columns(Y, loss, 40, has_constant=True)
    plain = columns.MemoryColumns._gram
    monkeypatch.setattr(
        columns.MemoryColumns,
        "_gram",
        lambda self, A, weights: sizes.append(len(weights)) or plain(self, A, weights),
    )
    coef = np.array([[0.9], [-0.9]])
    for step in range(200):
        if step % 5 == 0:
            own.append(atoms[step // 5][None])
            A, coef = np.column_stack([A, values[:, step // 5]]), np.column_stack([coef, [0, 0]])
        if step == 50:
            own.drop(7)
            A, coef = np.delete(A, 7, 1), np.delete(coef, 7, 1)
        coef[step % 2] += 0.01 * rng.standard_normal(A.shape[1])
        for output in (0, 1):
            own.look([(output, coef[output])])
            found = own.gram(output, coef[output])
            h = loss.curvature(Y[output], A @ coef[output]) * weights / weights.sum()
            expected = A.T @ (h[:, None] * A)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    # For each of the two outputs: at first, without a column, and after 64 updates.
    assert sizes.count(2000) == n_anew
    assert (max(sizes[-9:]) < 400) == (type(loss) is OwnHinge)


def test_rows_at_a_kink_are_beyond_it() -> None:
    """A line search ends where a margin is 1 up to rounding, which must not choose the side."""
    design = MemoryDesign(ReluDictionary(), make_data()[0], np.ones(60), standardize=False)
    columns = design.columns(targets_of([0]), Hinge(), 1, has_constant=True)
    for off in (-1e-12, 0.0, 1e-12):
        residual = columns.residual(0, np.array([1.0 + off]))
        np.testing.assert_array_equal(residual != 0.0, make_codes() != 0)


def test_all_threads_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Host, "block_entries", 64)
    monkeypatch.setattr(views, "_AT_ONCE", 7)
    X, weights = make_data()
    for store in (False, True):
        scores = []
        for n_threads in (1, 3):
            design = MemoryDesign(ReluDictionary(), X, weights, False, n_threads=n_threads)
            candidates = design.candidates(make_atoms(50), reuse=True, store=store)
            points = make_scene(MEMORY, design=design).points(seed=2)[0]
            found = candidates.estimates(points, "norm", np.arange(50), "float32")
            scores.append((found.dots, found.extents[:, None]))
        np.testing.assert_array_equal(*map(np.hstack, scores))


def weighted_moments(X, weights) -> tuple[np.ndarray, np.ndarray]:
    moments = moments_of(X, weights)
    return moments.mean, moments.variance


@given(training_sets())
def test_moments_of_weighted_repeated_and_sparse_rows_agree(data: Data) -> None:
    mean, variance = weighted_moments(data.X, data.weights)
    twin = data.repeated()
    for X, weights in ((twin.X, twin.weights), (sparse.csr_array(data.X), data.weights)):
        again = weighted_moments(X, weights)
        np.testing.assert_allclose(again, (mean, variance), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(mean, twin.X.mean(axis=0), atol=1e-15)
    np.testing.assert_allclose(variance, twin.X.var(axis=0), rtol=1e-13, atol=1e-15)


def test_moments_survive_large_offsets() -> None:
    rng = np.random.default_rng(10)
    Z = np.round(rng.standard_normal((1000, 2)) * 2**10) / 2**10
    weights = rng.uniform(0.1, 1.0, 1000)
    for inputs in (1e6 + Z, sparse.csr_array(1e6 + Z)):
        mean, variance = weighted_moments(inputs, weights)
        np.testing.assert_allclose(mean - 1e6, np.average(Z, axis=0, weights=weights), atol=1e-8)
        deviations = Z - np.average(Z, axis=0, weights=weights)
        expected = np.average(deviations**2, axis=0, weights=weights)
        np.testing.assert_allclose(variance, expected, rtol=1e-8)


def test_a_sparse_design_stays_sparse_until_its_columns() -> None:
    X = sparse.random_array((30, 5000), density=0.01, random_state=np.random.default_rng(0)).tocsr()
    design = MemoryDesign(GaussDictionary(), X, np.ones(30), standardize=True)
    atoms = design.dictionary.candidates(design.sample(30, 0), 30, 0)
    assert sparse.issparse(atoms)
    twin = MemoryDesign(GaussDictionary(), X.toarray(), np.ones(30), standardize=True)
    dense_atoms = twin.dictionary.candidates(twin.sample(30, 0), 30, 0)
    np.testing.assert_allclose(atoms.toarray(), dense_atoms, rtol=1e-13)
    np.testing.assert_allclose(design.evaluate(atoms), twin.evaluate(dense_atoms), atol=1e-12)


def test_wide_sparse_rows_are_evaluated_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their width costs nothing; blocks of two rows each would take minutes."""
    X = sparse.csr_array((np.ones(5000), (range(5000), range(5000))), shape=(5000, 100_000))
    dictionary, sizes = GaussDictionary(), []
    design = MemoryDesign(dictionary, X, np.ones(5000), standardize=False)
    atoms = dictionary.candidates(design.sample(3, 0), 3, 0)

    def evaluate(self: GaussDictionary, X: sparse.csr_array, *given: object) -> np.ndarray:
        sizes.append(X.shape[0])
        return np.zeros((X.shape[0], 3))

    monkeypatch.setattr(GaussDictionary, "evaluate", evaluate)
    assert design.evaluate(atoms).shape == (5000, 3)
    assert len(sizes) == 1


def test_polynomial_atoms_of_sparse_rows_equal_those_of_dense_rows() -> None:
    X, weights = make_data()
    values = []
    for inputs in (X, sparse.csr_array(X)):
        design = MemoryDesign(PolynomialDictionary(degree=4), inputs, weights, standardize=True)
        atoms = design.dictionary.candidates(design.sample(20, 0), 20, 0)
        values.append(design.evaluate(atoms))
    np.testing.assert_allclose(values[1], values[0], rtol=1e-10, atol=1e-12)
