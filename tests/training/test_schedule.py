"""A fit tells its callbacks which of its paths runs, and how much of it is done."""

from typing import Any

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier, Status
from fcgboost.datasets import make_simulation
from fcgboost.stopping import Progress, Step
from fcgboost.training.callbacks import FitTasks
from fcgboost.training.schedule import Schedule


def make_step(k: int) -> Step:
    zero = np.zeros(1)
    return Step(
        k=k,
        chosen=np.array([0]),
        scores=zero,
        objectives=zero,
        coef=np.zeros((1, k)),
        intercept=zero,
        solver_iterations=1,
        residual=0.0,
        is_corrected=True,
        seconds=0.0,
    )


def make_schedule(rules: list[Any], n_paths: int) -> Schedule:
    tasks = FitTasks({"estimator": FCGBoostClassifier()}, n_paths, has_paths=True)
    return Schedule(rules, n_paths, tasks, lambda trial: {})


def follow(schedule: Schedule, n_steps: int, max_iter: int = 100, fold: int | None = None) -> None:
    with schedule.path(max_iter, fold) as (rule,):
        for k in range(1, n_steps + 1):
            assert rule(make_step(k)) is None


def test_shares_of_a_fit_only_grow() -> None:
    seen: list[Progress] = []
    schedule = make_schedule([lambda step: seen.append(step.progress)], n_paths=4)
    for fold, n_steps in ((1, 30), (2, 50), (3, 20), (None, 40)):
        follow(schedule, n_steps, fold=fold)
    shares = [progress.share for progress in seen]
    assert shares == sorted(shares)
    assert shares[29] == pytest.approx(0.3 / 4)
    # The longest path before the last one had 50 steps.
    assert shares[-1] == pytest.approx(0.95)
    assert [seen[i].path for i in (0, 29, 30, -1)] == [1, 1, 2, 4]
    assert [seen[i].fold for i in (0, 29, 30, -1)] == [1, 1, 2, None]
    assert {progress.n_paths for progress in seen} == {4}


def test_paths_that_are_left_out_are_not_waited_for() -> None:
    seen: list[Progress] = []
    schedule = make_schedule([lambda step: seen.append(step.progress)], n_paths=6)
    follow(schedule, 10, max_iter=10, fold=1)
    schedule.n_paths -= 4
    follow(schedule, 10, max_iter=10, fold=2)
    assert [seen[i].n_paths for i in (0, -1)] == [6, 2]
    assert [seen[i].share for i in (9, -1)] == pytest.approx([1 / 6, 1.0])


def test_all_rules_are_asked_and_the_first_answer_counts() -> None:
    asked = []

    def make_rule(answer: Status | None) -> Any:
        return lambda step: (asked.append(answer), answer)[1]

    answers = [None, Status.CALLBACK, Status.TIME_LIMIT]
    schedule = make_schedule([make_rule(answer) for answer in answers], n_paths=1)
    with schedule.path(5, None) as (rule,):
        pass
    assert rule(make_step(1)) is Status.CALLBACK
    assert asked == answers


def test_without_rules_a_path_goes_on() -> None:
    schedule = make_schedule([], n_paths=1)
    with schedule.path(5, None) as (rule,):
        assert [rule(make_step(k)) for k in range(1, 6)] == [None] * 5


ONE = [None]
FITS: list[tuple[dict[str, Any], list[int | None]]] = [
    ({"cv": 3}, [1, 1, 1, 2, 2, 2, 3, 3, 3]),
    ({"cv": 3, "removal": "backward"}, [1, 2, 3]),
    ({"cv": 2, "l2": 0.5, "max_iter": 4}, [1, 1, 1, 2, 2, 2]),
    ({"cv": 2, "ensemble": False}, [1, 1, 1, 2, 2, 2, None]),
    ({"cv": None}, ONE),
    ({"validation_fraction": 0.25}, [1, 1, 1, 2, 2, 3, 3]),
    ({"scheme": "original"}, ONE),
    ({"dictionary": "fast"}, [1, None]),
    ({"dictionary": "compact", "cv": 3}, [1, 2, 3, None]),
    ({"dictionary": "gauss"}, ONE),
    ({"dictionary": "gauss", "cv": 3}, [1, 2, 3]),
    ({"dictionary": "gauss", "n_iter_no_change": 3}, ONE),
    ({"dictionary": "gauss", "validation_fraction": 0.25}, ONE),
    ({"dictionary": "gauss", "validation_fraction": 0.25, "l2": [0.1, 1.0]}, [1]),
]


@pytest.mark.parametrize(("settings", "folds"), FITS, ids=str)
def test_a_fit_makes_as_many_paths_as_it_says(settings: Any, folds: list[int | None]) -> None:
    X, y = make_simulation(80, random_state=0)
    seen: list[tuple[int, Progress]] = []
    clf = FCGBoostClassifier(random_state=0).set_params(**settings)
    clf.set_callbacks(lambda step: seen.append((step.k, step.progress))).fit(X, y)
    firsts = [progress for k, progress in seen if k == 1]
    assert [progress.path for progress in firsts] == list(range(1, firsts[0].n_paths + 1))
    assert [progress.fold for progress in firsts] == folds
    shares = [progress.share for _, progress in seen]
    assert shares == sorted(shares)
    assert 0.0 < shares[0] <= shares[-1] <= 1.0
    assert all(step.progress is None for member in clf.members_ for step in member.trace)
