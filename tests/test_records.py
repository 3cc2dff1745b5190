"""What a step says of several outputs, and of several paths."""

from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from strategies import simulation

from fcgboost import FCGBoostClassifier
from fcgboost.solvers import NewtonSolver
from fcgboost.training.averaging import averaged


@pytest.mark.parametrize("residuals", [(0.25, 0.75, 0.5), (0.75, 0.25, 0.5), (0.5, 0.25, 0.75)])
def test_the_residual_of_a_step_is_that_of_its_worst_output(
    residuals: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    solve, told = NewtonSolver.solve, cycle(residuals)

    def solved(*given: Any) -> Any:
        return replace(solve(*given), residual=next(told))

    monkeypatch.setattr(NewtonSolver, "solve", solved)
    data = simulation(80, 0.2, seed=0)
    y = np.digitize(data.X[:, 1], [0.3, 0.7])
    model = FCGBoostClassifier("gauss", solver="newton", max_iter=3, random_state=0).fit(data.X, y)
    assert [step.residual for step in model.trace_] == [0.75] * 3


def test_an_average_has_the_worst_residual_and_the_seconds_of_all_paths() -> None:
    data = simulation(60, 0.2, seed=0)
    trace = FCGBoostClassifier("relu", max_iter=2, random_state=0).fit(data.X, data.y).trace_
    told = ((0.25, 1.0), (0.75, 4.0), (0.5, 2.0))
    traces = []
    for residual, seconds in told:
        steps = [replace(s, residual=residual, seconds=seconds * s.k) for s in trace]
        traces.append(replace(trace, steps=tuple(steps)))
    found = averaged(traces)
    assert [step.residual for step in found] == [0.75, 0.75]
    assert [step.seconds for step in found] == [7.0, 14.0]
    total = sum(step.solver_iterations for step in trace)
    assert sum(step.solver_iterations for step in found) == 3 * total
    assert all(step.is_corrected for step in found)
    first = replace(trace, steps=tuple(replace(s, is_corrected=False) for s in trace))
    assert not any(step.is_corrected for step in averaged([trace, first]))
