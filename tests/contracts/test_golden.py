"""Fits take the paths that they took before: the oracle of every change of the engine."""

import json

import numpy as np
import pytest

from tests.golden import FILE, first_steps, paths, record

# One process fits the cases, and runs all the tests that look at them.
pytestmark = pytest.mark.xdist_group("golden")

STORED = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found():
    """Fit all cases once."""
    return {"paths": paths(), "first steps": first_steps()}


@pytest.mark.parametrize("name", STORED["paths"])
def test_drawn_atoms_come_in_the_stored_order_with_the_stored_coefficients(found, name):
    stored, new = STORED["paths"][name], record(found["paths"][name])
    np.testing.assert_allclose(new["atoms"], stored["atoms"], rtol=1e-12, atol=1e-14)
    for key in ("coef", "intercept", "objectives"):
        np.testing.assert_allclose(new[key], stored[key], rtol=1e-6, atol=1e-9)
    assert new["status"] == stored["status"]


@pytest.mark.parametrize("name", STORED["first steps"])
def test_a_residual_leads_to_the_stored_learned_atoms(found, name):
    stored, new = STORED["first steps"][name], record(found["first steps"][name])
    for key in ("atoms", "coef", "intercept", "objectives"):
        np.testing.assert_allclose(new[key], stored[key], rtol=1e-8, atol=1e-10)


def test_every_case_is_stored(found):
    assert {kind: list(fits) for kind, fits in found.items()} == {
        kind: list(fits) for kind, fits in STORED.items()
    }
