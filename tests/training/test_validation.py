"""Steps are scored on validation rows, one by one or a whole path at once."""

from typing import Any

import numpy as np
import pytest

from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import (
    GaussDictionary,
)
from fcgboost.greedy.path import Trace
from fcgboost.stopping import NoImprovement, Status
from fcgboost.training.validation import make_validator
from tests.suites.paths import (
    fit_one,
    make_recipe,
)
from tests.suites.strategies import load_example, simulation

SmallGain = load_example("plot_custom_stopping_rule").SmallGain


# How a rule is made for one fit, and the ending it names.
RULES = {
    "patience": (lambda: NoImprovement(3), Status.VALIDATION),
    "small gain, a user's": (lambda: SmallGain(share=0.02, patience=2), Status.CALLBACK),
    "a function": (
        lambda: lambda step: Status.CALLBACK if step.n_atoms == 6 else None,
        Status.CALLBACK,
    ),
}


def test_worse_validation_ends_the_loop() -> None:
    data, held_out = simulation(60, 0.3, seed=16), simulation(500, 0.3, seed=17)
    dictionary = GaussDictionary(width=0.1)
    design = MemoryDesign(dictionary, data.X, data.weights, standardize=False)

    def accuracy(values: np.ndarray) -> float:
        return float(np.mean(np.sign(values[:, 0]) == held_out.y))

    validator = make_validator(
        held_out.X,
        dictionary=dictionary,
        scale=np.ones(2),
        score=accuracy,
        device=design.device,
    )
    recipe = make_recipe(n_candidates=60, max_iter=60)
    trace, status = fit_one(design, [data.y], recipe, [NoImprovement(5)], validator)
    scores = trace.column("validation_score")
    assert status is Status.VALIDATION
    assert len(trace) == np.argmax(scores) + 1 + 5
    for k in range(1, len(trace) + 1):
        model = trace.model(k, dictionary, np.ones(2))
        assert scores[k - 1] == accuracy(model.decision(held_out.X))


def test_the_steps_of_a_whole_path_score_as_one_by_one() -> None:
    data, held_out = simulation(80, 0.3, seed=19), simulation(200, 0.3, seed=20)
    dictionary = GaussDictionary(width=0.3)
    design = MemoryDesign(dictionary, data.X, data.weights, standardize=False)
    validator = make_validator(
        held_out.X,
        dictionary=dictionary,
        scale=np.ones(2),
        score=lambda values: float(values[:, 0] @ held_out.y - values[:, 1] @ held_out.y**2),
        device=design.device,
    )
    recipe = make_recipe(n_candidates=80, max_iter=37)
    trace, _ = fit_one(design, [data.y, -data.y], recipe, validator=validator)
    assert len(trace) == 37
    found = validator.scores(trace.steps, trace.atoms)
    np.testing.assert_allclose(found, trace.column("validation_score"), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("make_rule", "ending"), RULES.values(), ids=RULES)
def test_a_rule_cuts_the_path_where_it_speaks(make_rule: Any, ending: Status) -> None:
    data, held_out = simulation(80, 0.3, seed=19), simulation(200, 0.3, seed=20)
    dictionary = GaussDictionary(width=0.3)
    design = MemoryDesign(dictionary, data.X, data.weights, standardize=False)
    recipe = make_recipe(n_candidates=80, max_iter=40)

    def run(rules: list[Any]) -> tuple[Trace, Status]:
        validator = make_validator(
            held_out.X,
            dictionary=dictionary,
            scale=np.ones(2),
            score=lambda values: float(np.mean(np.sign(values[:, 0]) == held_out.y)),
            device=design.device,
        )
        return fit_one(design, [data.y], recipe, rules, validator)

    whole, _ = run([])
    rule = make_rule()
    spoken = next(k for k, step in enumerate(whole, start=1) if rule(step) is not None)
    trace, status = run([make_rule()])
    assert status is ending
    assert 1 < len(trace) == spoken < len(whole)
    for cut, full in zip(trace, whole, strict=False):
        np.testing.assert_array_equal(cut.coef, full.coef)
