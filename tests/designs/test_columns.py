"""Columns of a design in memory: Gram matrices, kinks, sparse rows."""

import numpy as np
import pytest
from scipy import sparse

from fcgboost.designs.base import Point
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import GaussDictionary, ReluDictionary
from fcgboost.losses import Hinge
from tests.suites.designs import MEMORY, make_codes, make_data, make_scene, target_of


def test_a_loss_without_curvature_has_no_gram_matrix() -> None:
    scene = make_scene(MEMORY, has_constant=True, loss=Hinge())
    coef = np.full(9, 0.01)
    risk, gradient, gram, _ = scene.columns.expand(Point(scene.columns, 1, coef))
    y, f = scene.rows.Y[1], scene.rows.A @ coef
    assert risk == pytest.approx(scene.rows.shares @ np.maximum(0.0, 1.0 - y * f))
    slopes = np.where(y * f < 1.0, -y, 0.0) * scene.rows.shares
    np.testing.assert_allclose(gradient, scene.rows.A.T @ slopes, atol=1e-13)
    assert gram is None


def test_rows_at_a_kink_are_beyond_it() -> None:
    """A line search ends where a margin is 1 up to rounding, which must not choose the side."""
    design = MemoryDesign(ReluDictionary(), make_data()[0], np.ones(60), standardize=False)
    columns = design.columns(target_of(0), Hinge(), 1, has_constant=True)
    for off in (-1e-12, 0.0, 1e-12):
        residual, _ = columns.residual(Point(columns, 0, np.array([1.0 + off])))
        np.testing.assert_array_equal(residual != 0.0, make_codes() != 0)


def test_a_sparse_design_stays_sparse_until_its_columns() -> None:
    X = sparse.random_array((30, 5000), density=0.01, random_state=np.random.default_rng(0)).tocsr()
    design = MemoryDesign(GaussDictionary(), X, np.ones(30), standardize=True)
    atoms = design.dictionary.candidates(design.sample(30, 0), 30, 0)
    assert sparse.issparse(atoms)
    twin = MemoryDesign(GaussDictionary(), X.toarray(), np.ones(30), standardize=True)
    dense_atoms = twin.dictionary.candidates(twin.sample(30, 0), 30, 0)
    np.testing.assert_allclose(atoms.toarray(), dense_atoms, rtol=1e-13)
    np.testing.assert_allclose(design.evaluate(atoms), twin.evaluate(dense_atoms), atol=1e-12)
