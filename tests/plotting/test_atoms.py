"""Where atoms lie in the plane."""

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose, assert_array_equal

from fcgboost import FCGBoostClassifier, ReluDictionary, SigmoidDictionary
from fcgboost.colors import CLASS_COLORS
from fcgboost.plotting import DecisionBoundaryDisplay
from fcgboost.plotting.atoms import atom_positions
from fcgboost.plotting.base import class_colors
from tests.suites.averages import average_of
from tests.suites.pictures import (
    BLOBS,
    COLORS,
    X,
    legend_texts,
    y,
)


def test_gauss_atoms_lie_at_their_centres_sized_by_coefficient_and_coloured_by_sign(
    model: FCGBoostClassifier, ax: Axes
) -> None:
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax)
    (drawn,) = display.atoms_
    (coef,) = model.atom_coef_
    assert_allclose(drawn.get_offsets(), model.atoms_[:, :2])
    colors = [to_hex(color).upper() for color in drawn.get_facecolors()]
    assert colors == [CLASS_COLORS[int(value > 0.0)] for value in coef]
    # The order of the areas is that of the coefficients.
    assert_array_equal(np.argsort(drawn.get_sizes()), np.argsort(np.abs(coef)))


def test_atoms_without_a_place_are_not_drawn() -> None:
    for dictionary in ("polynomial", "linear", "tree"):
        model = FCGBoostClassifier(dictionary, max_iter=3, random_state=0).fit(X, y)
        assert atom_positions(model.members_) is None


def test_atoms_of_all_members_are_drawn_if_they_are_of_one_kind(model: FCGBoostClassifier) -> None:
    other = FCGBoostClassifier("gauss", max_iter=3, random_state=1).fit(X, y)
    both = average_of([model, other], [0.75, 0.25])
    found = atom_positions(both.members_)
    assert found is not None
    assert found.kind == "centre"
    assert_allclose(found.places[: model.n_atoms_], model.atoms_[:, :2])
    coef = np.hstack([0.75 * model.atom_coef_, 0.25 * other.atom_coef_])
    assert_allclose(found.coef, coef)
    neurons = FCGBoostClassifier("relu", max_iter=3, random_state=0).fit(X, y)
    assert atom_positions(average_of([model, neurons], [0.5, 0.5]).members_) is None


@pytest.mark.parametrize(
    ("dictionary", "kind"), [(ReluDictionary(), "hinge"), (SigmoidDictionary(), "half-way line")]
)
def test_neurons_are_the_lines_on_which_they_bend_from_edge_to_edge(
    dictionary: Any, kind: str, ax: Axes
) -> None:
    model = FCGBoostClassifier(dictionary, max_iter=8, random_state=0).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax)
    assert legend_texts(ax)[-1] == f"{kind} of an atom"
    low, high = display.limits
    (drawn,) = display.atoms_
    for row, ends in zip(model.atoms_, drawn.get_segments(), strict=True):
        assert_allclose(ends @ row[:2] + row[2], 0.0, atol=1e-9)
        # Hinges go through training points, so every one of them crosses the plane.
        assert ((ends < low) | (ends > high)).any(axis=1).all()
    widths = np.asarray(drawn.get_linewidths())
    assert widths.min() >= 0.6
    assert widths.max() <= 3.2
    colors = [to_hex(color).upper() for color in drawn.get_colors()]
    assert colors == [CLASS_COLORS[int(value > 0.0)] for value in model.atom_coef_[0]]
    assert ((ax.get_xlim(), ax.get_ylim()) == display.limits.T).all()


def test_atoms_of_several_classes_have_the_class_of_their_largest_coefficient(
    several: FCGBoostClassifier, ax: Axes
) -> None:
    display = DecisionBoundaryDisplay.from_estimator(several, BLOBS, COLORS, ax=ax)
    assert legend_texts(ax)[-1] == "centre of an atom (hollow: against the class)"
    largest = np.abs(several.atom_coef_).argmax(axis=0)
    is_for = several.atom_coef_[largest, np.arange(several.n_atoms_)] > 0.0
    (drawn,) = display.atoms_
    assert_allclose(drawn.get_offsets(), several.atoms_[:, :2])
    assert_array_equal(drawn.get_facecolors()[:, 3] > 0.0, is_for)
    assert not is_for.all()
    palette = class_colors(3)
    for face, edge, code, fills in zip(
        drawn.get_facecolors(), drawn.get_edgecolors(), largest, is_for, strict=True
    ):
        assert to_hex(face if fills else edge).upper() == palette[code]
