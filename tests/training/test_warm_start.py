"""Which parameters count as changed when a fit continues the last one."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, make_scorer

from fcgboost import FCGBoostClassifier, GaussDictionary, ReluDictionary, UnionDictionary
from fcgboost.datasets import make_simulation

X, Y = make_simulation(60, noise="uniform", level=0.2, random_state=0)
SCORER = make_scorer(accuracy_score)


# A single path of learned atoms.
PATH: dict[str, Any] = {"dictionary": "tree"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"l2": np.float64(0.1)}, {"l2": 0.1}),
        ({"class_weight": {1.0: 2.0, -1.0: 1.0}}, {"class_weight": {-1.0: 1, 1.0: np.int64(2)}}),
        ({"dictionary": GaussDictionary(0.5)}, {"dictionary": GaussDictionary(np.float64(0.5))}),
        (
            {"dictionary": UnionDictionary([ReluDictionary(), GaussDictionary(2.0)])},
            {"dictionary": UnionDictionary([ReluDictionary(), GaussDictionary(2.0)])},
        ),
        ({"categorical_features": [0]}, {"categorical_features": np.array([0])}),
        ({"scoring": SCORER, "validation_fraction": 0.3}, {"scoring": SCORER}),
        ({"device": "cpu", "n_jobs": 1}, {"device": "torch", "n_jobs": 2}),
    ],
    ids=["number", "dict", "part", "parts in a list", "array", "function", "free"],
)
def test_equal_values_continue_a_path(first: dict[str, Any], second: dict[str, Any]) -> None:
    if second.get("device") == "torch":
        pytest.importorskip("torch")
    model = FCGBoostClassifier(
        **{**PATH, "max_iter": 2, "random_state": 0, "warm_start": True, **first}
    )
    model.fit(X, Y)
    assert len(model.set_params(max_iter=4, **second).fit(X, Y).trace_) == 4


def test_a_generator_that_moved_on_continues_a_path() -> None:
    generator = np.random.RandomState(0)
    model = FCGBoostClassifier("relu", max_iter=2, random_state=generator, warm_start=True)
    model.fit(X, Y)
    generator.random(10)
    assert model.set_params(max_iter=4).fit(X, Y).n_iter_ == 4


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("class_weight", {-1.0: 1.0, 1.0: 2.0}, {-1.0: 1.0, 1.0: 3.0}),
        ("scoring", make_scorer(accuracy_score), make_scorer(accuracy_score)),
        ("solver", "newton", "admm"),
    ],
)
def test_other_values_do_not(name: str, first: Any, second: Any) -> None:
    model = FCGBoostClassifier(**PATH, max_iter=2, random_state=0, warm_start=True, **{name: first})
    model.fit(X, Y)
    with pytest.raises(ValueError, match=rf"\['{name}'\] changed"):
        model.set_params(**{name: second}).fit(X, Y)


def test_a_family_of_a_union_that_is_changed_in_place_is_noticed() -> None:
    union = UnionDictionary([ReluDictionary(), GaussDictionary(2.0)])
    model = FCGBoostClassifier(union, max_iter=2, random_state=0, warm_start=True).fit(X, Y)
    union.families[1].width = 3.0
    with pytest.raises(ValueError, match=r"\['dictionary'\] changed"):
        model.fit(X, Y)
