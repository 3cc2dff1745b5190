"""Parameters become settings, by the rows and the columns there are."""

from typing import Any

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.dictionaries import TreeDictionary, UnionDictionary
from fcgboost.stopping import theory_steps
from fcgboost.training.presets import FAMILIES, FAST, FOREST, SMALL, WORDS
from fcgboost.training.settings import Settings, resolve


def settings_of(has_validation_data: bool = False, **parameters: Any) -> Settings:
    return resolve(FCGBoostClassifier(**parameters), has_validation_data)


def test_a_time_limit_changes_no_setting() -> None:
    plain, limited = (settings_of(time_limit=seconds) for seconds in (None, 60.0))
    for m in (100.0, 1e9):
        assert plain.n_steps(m) == limited.n_steps(m)
    assert plain.n_steps(100.0) == 10 * theory_steps(100.0)
    assert plain.n_steps(1e9) == FAMILIES.max_steps


@pytest.mark.parametrize(
    ("parameters", "cv", "is_ensemble"),
    [
        ({}, "auto", True),
        ({"ensemble": False}, "auto", False),
        ({"dictionary": "fast"}, "auto", False),
        ({"dictionary": "compact"}, "auto", False),
        ({"dictionary": "compact", "ensemble": True}, "auto", True),
        ({"dictionary": "gauss"}, None, True),
        ({"dictionary": "gauss", "cv": 5}, 5, True),
        ({"cv": None}, None, True),
        ({"scheme": "shrinkage"}, None, True),
        ({"max_iter": 5, "l2": 0.1}, "auto", True),
        ({"dictionary": "gauss", "l2": [0.1, 1.0], "has_validation_data": True}, "auto", True),
        ({"dictionary": "gauss", "l2": [0.1], "validation_fraction": 0.2}, "auto", True),
    ],
    ids=str,
)
def test_presets_have_folds_and_other_dictionaries_one_path(
    parameters: dict[str, Any], cv: Any, is_ensemble: bool
) -> None:
    settings = settings_of(**parameters)
    assert (settings.cv, settings.is_ensemble) == (cv, is_ensemble)


def dictionaries_of(n_rows: int, n_sparse: int = 0, **parameters: Any) -> list[Any]:
    return [one.dictionary for one in settings_of(**parameters).of_kinds(n_rows, n_sparse)]


def test_all_kinds_take_part_where_they_can() -> None:
    families, forest, words, small = (k.dictionary for k in (FAMILIES, FOREST, WORDS, SMALL))
    for n_rows in (10, 16_383):
        assert dictionaries_of(n_rows) == [families, forest, families]
        assert dictionaries_of(n_rows, n_sparse=256) == [families]
        assert dictionaries_of(n_rows, n_sparse=257) == [words]
    assert dictionaries_of(9_999, dictionary="fast") == [families]
    assert dictionaries_of(10_000, dictionary="fast") == [forest]
    assert dictionaries_of(10**6, dictionary="compact") == [small]


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": "hinge"},
        {"removal": 0.3},
        {"scheme": "original"},
        {"solver": "newton"},
        {"selection": "learned"},
        {"clip": 3.0},
        {"normalize": True},
        {"reselect": True},
    ],
    ids=str,
)
def test_parts_of_the_users_leave_families_alone(parameters: dict[str, Any]) -> None:
    (settings,) = settings_of(**parameters).of_kinds(10**6, 0)
    assert isinstance(settings.dictionary, UnionDictionary)


def test_a_kind_brings_its_parts() -> None:
    families, forest, robust = settings_of().of_kinds(1_000, 0)
    assert robust.loss.get_params() == {"threshold": 0.5}
    assert len(settings_of(loss="square").of_kinds(1_000, 0)) == 2
    assert isinstance(forest.dictionary, TreeDictionary)
    assert (families.clip, forest.clip) == (4.0, None)
    assert (families.scheme.growth, forest.scheme.growth) == (1.2, 1.5)  # type: ignore[attr-defined]
    assert forest.n_steps(1e9) == FOREST.max_steps
    m = 400.0
    assert forest.ridges(m) == [strength / 20.0 for strength in FOREST.strengths]
    assert forest.ridge(m) == FOREST.strength / 20.0  # type: ignore[operator]


def test_ridges_are_given_strongest_first_and_once() -> None:
    options = {"dictionary": "gauss", "cv": 3}
    assert settings_of(l2=[0.1, 1.0, 0.1, 0], **options).ridges(50.0) == [1.0, 0.1, 0.0]
    assert settings_of(l2=np.array([0.01, 2.0]), **options).ridges(50.0) == [2.0, 0.01]
    assert settings_of(l2=0.25, **options).ridges(50.0) == [0.25]
    assert settings_of(**options).ridges(50.0) == [1.0 / 50.0]
    # The place of "auto" does not depend on the number of rows.
    mixed = settings_of(l2=["auto", 0.01], **options)
    assert mixed.ridges(50.0) == [0.01, 1.0 / 50.0]
    assert mixed.ridges(200.0) == [0.01, 1.0 / 200.0]
    assert settings_of(scheme="original", **options).ridges(50.0) == [0.0]


def test_where_rows_cannot_be_divided_auto_means_fast() -> None:
    settings = settings_of().without_folds()
    assert settings.preset is FAST
    assert not settings.is_ensemble
    plain = settings_of(dictionary="gauss")
    assert plain.without_folds() is plain
