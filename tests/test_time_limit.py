"""A time limit ends a whole fit in time, with the best it has."""

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier, Status
from fcgboost.datasets import make_simulation
from fcgboost.stopping import Step
from fcgboost.training import time_limit
from fcgboost.training.dataset import check_data
from fcgboost.training.time_limit import TimeLimit

X, Y = make_simulation(200, noise="uniform", level=0.2, random_state=0)


class Clock:
    """A time that tests set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def make_step(k: int, is_corrected: bool = False) -> Step:
    one, n_iter = np.zeros(1), int(is_corrected)
    return Step(k, np.array([0]), one, one, np.zeros((1, k)), one, n_iter, 0.0, is_corrected, 0.0)


def walk(limit: TimeLimit, clock: Clock, seconds: float, n_steps: int = 1000) -> int:
    """Make a path whose steps take so long; return how many it made."""
    for k in range(1, n_steps + 1):
        clock.now += seconds
        if limit(make_step(k)) is not None:
            return k
    return n_steps


def make_limit(seconds: float, n_paths: int) -> tuple[TimeLimit, Clock]:
    clock = Clock()
    limit = TimeLimit(seconds, clock)
    limit.plan([1.0] * n_paths)
    return limit, clock


def test_paths_share_the_time_of_the_whole_fit() -> None:
    limit, clock = make_limit(60.0, 4)
    steps = [walk(limit, clock, 0.1) for _ in range(4)]
    assert max(steps) <= 1.1 * min(steps)
    assert 57.0 < clock.now - 100.0 <= 60.0
    assert limit.is_reached


def test_paths_that_take_longer_have_more_of_the_time() -> None:
    clock = Clock()
    limit = TimeLimit(60.0, clock)
    limit.plan([2.0, 1.0])
    first, second = (walk(limit, clock, 0.1) for _ in range(2))
    assert 1.9 < first / second < 2.1


def test_rows_that_there_is_no_time_for_are_left_out(monkeypatch) -> None:
    monkeypatch.setattr(time_limit, "_ENOUGH_ROWS", 50)
    labels = np.where(np.arange(200) == 0, 2, Y > 0)
    data = check_data(FCGBoostClassifier(), X, labels, None, (None, None, None))
    for taken, share in ((0.01, 1.0), (0.5, 1.0 / 12.0 / 24.0 * 11.0), (0.99, 0.25)):
        clock = Clock()
        limit = TimeLimit(1.0, clock)
        clock.now += taken
        n_rows = max(50, share * 200)
        if share == 1.0:
            assert len(limit.some_rows(data).train.codes) == 200
            continue
        with pytest.warns(UserWarning, match="time_limit=1 is too short for all rows"):
            train = limit.some_rows(data).train
        assert abs(len(train.codes) - n_rows) <= 3
        assert np.unique(train.codes).tolist() == [0, 1, 2]


def test_what_one_path_does_not_need_the_others_have() -> None:
    limit, clock = make_limit(60.0, 3)
    assert [walk(limit, clock, 0.1, n) for n in (20, 20, 500)] == [20, 20, 500]
    assert not limit.is_reached


def test_a_path_leaves_time_for_its_last_correction() -> None:
    limit, clock = make_limit(10.0, 1)
    for k in range(1, 100):
        clock.now += 1.0 if k == 5 else 0.1
        if limit(make_step(k, is_corrected=k == 5)) is not None:
            break
    assert 8.0 < clock.now - 100.0 < 8.4


def test_data_that_take_too_long_to_read_are_told() -> None:
    clock = Clock()
    limit = TimeLimit(2.0, clock)
    clock.now += 5.0
    with pytest.warns(UserWarning, match="the data took 5 s, longer than time_limit=2"):
        limit.plan([1.0, 1.0])
    assert [walk(limit, clock, 0.1), walk(limit, clock, 0.1)] == [1, 1]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("has_validation_data", [False, True])
def test_a_fit_within_a_limit_has_a_model_and_says_what_ended_it(
    monkeypatch: pytest.MonkeyPatch, n_classes: int, has_validation_data: bool
) -> None:
    clock = Clock()
    monkeypatch.setattr(time_limit.time, "perf_counter", clock)
    monkeypatch.setattr(TimeLimit.__init__, "__defaults__", (clock,))
    y = Y if n_classes == 2 else np.digitize(X[:, 0], [0.3, 0.6])
    given = {"X_val": X, "y_val": y} if has_validation_data else {}

    def tick(step: Step) -> None:
        clock.now += 0.1

    model = FCGBoostClassifier(time_limit=20.0, random_state=0)
    model.set_callbacks(tick).fit(X, y, **given)
    assert clock.now - 100.0 <= 20.0
    assert model.status_ is Status.TIME_LIMIT
    assert model.score(X, y) > 0.7
    # Whoever has time enough gets what he gets without a limit.
    clock.now, plain = 100.0, FCGBoostClassifier(random_state=0).fit(X, y, **given)
    model.set_params(time_limit=1e6).fit(X, y, **given)
    assert model.status_ is not Status.TIME_LIMIT
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))


@pytest.mark.parametrize("value", [0, -1.0, "fast", np.nan])
def test_what_is_no_time_is_refused(value: object) -> None:
    with pytest.raises((ValueError, TypeError), match="time_limit"):
        FCGBoostClassifier(time_limit=value).fit(X, Y)
