"""What the families of a dictionary see of the rows, on which design, and in how much memory."""

import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.designs import columns
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import TreeDictionary, UnionDictionary
from fcgboost.training import presets, validation
from fcgboost.training.presets import FAMILIES, FOREST
from tests.suites.frames import kinds, small
from tests.suites.members import folds_by_hash, noisy, out_of_fold


def test_plain_numbers_stay_as_they_are() -> None:
    numbers = np.random.default_rng(0).normal(size=(100, 3))
    y = numbers[:, 0] > 0
    model = small().fit(numbers, y)
    assert model.members_[0].inputs.encode(numbers) is numbers
    frame = small().fit(pd.DataFrame(numbers, columns=list("abc")), y)
    np.testing.assert_array_equal(frame.atoms_, model.atoms_)
    assert kinds(frame) == dict.fromkeys("abc", "number")


def test_trees_alone_send_gaps_to_the_larger_child() -> None:
    numbers = np.arange(100.0)[:, None]
    trees = TreeDictionary(1, min_leaf=1)
    model = FCGBoostClassifier(trees, max_iter=1).fit(numbers, numbers[:, 0] > 69)
    assert not model.predict(np.array([[np.nan]]))[0]
    assert model.predict(np.array([[99.0]]))[0]


def test_one_design_at_a_time_stays_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy()
    designs = []
    init = MemoryDesign.__init__

    def recorded(design: MemoryDesign, *arguments: Any, **named: Any) -> None:
        designs.append(weakref.ref(design))
        init(design, *arguments, **named)

    monkeypatch.setattr(MemoryDesign, "__init__", recorded)
    n_alive = set()

    def count(step: Any) -> None:
        n_alive.add(sum(design() is not None for design in designs))

    FCGBoostClassifier(cv=3, max_iter=2, random_state=0).set_callbacks(count).fit(X, y)
    # Families are laid out twice.
    assert len(designs) == 9
    assert n_alive == {1}


def test_families_learn_from_some_of_very_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy(240)
    y = (y > 0).astype(int)
    y[[5, 6]] = 2
    families = replace(FAMILIES, most_rows=60)
    auto = replace(presets.AUTO, kinds=(families, FOREST))
    monkeypatch.setitem(presets.PRESETS, "auto", auto)
    sizes = []
    init = MemoryDesign.__init__

    def recorded(
        design: MemoryDesign, dictionary: Any, rows: Any, *rest: Any, **named: Any
    ) -> None:
        sizes.append((type(dictionary), len(rows)))
        init(design, dictionary, rows, *rest, **named)

    monkeypatch.setattr(MemoryDesign, "__init__", recorded)
    model = FCGBoostClassifier(cv=3, max_iter=4, n_jobs=1, random_state=0).fit(X, y)
    for dictionary, n_rows in sizes:
        assert abs(n_rows - (40 if dictionary is UnionDictionary else 160)) <= 3
    # All rows judge them, and each class is in every training part.
    folds = folds_by_hash(X, y, 3, 0)
    expected = out_of_fold(model, X, folds)
    np.testing.assert_allclose(model.oof_decision_function_, expected, rtol=1e-12, atol=1e-12)
    assert np.isfinite(expected).all()
    for member in model.members_:
        assert (member.model.coef != 0.0).any(axis=1).all()
    # Alone, they learn from all rows.
    sizes.clear()
    FCGBoostClassifier(cv=3, max_iter=2, clip=4.0, n_jobs=1, random_state=0).fit(X, y)
    assert {dictionary for dictionary, _ in sizes} == {UnionDictionary}
    assert min(n_rows for _, n_rows in sizes) >= 157
    # Members differ in their rows.
    starts = {tuple(member.trace.start) for member in model.members_[:3]}
    assert len(starts) == 3


def test_the_columns_of_presets_are_not_copied_as_they_grow() -> None:
    for preset in presets.PRESETS.values():
        for kind in (*preset.kinds, *preset.for_wide):
            # With the constant.
            assert (kind.max_steps or 0) + 1 <= min(columns._ROOM, validation._ROOM)
