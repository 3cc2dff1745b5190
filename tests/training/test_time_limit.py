"""A time limit ends a whole fit in time, with the best it has."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier, SquaredHinge, Status, estimators, threads
from fcgboost.datasets import make_simulation
from fcgboost.stopping import Progress, Step
from fcgboost.training import crossfit, time_limit
from fcgboost.training.dataset import check_data
from fcgboost.training.tasks import Classification
from fcgboost.training.time_limit import TimeLimit
from tests.suites.members import folds_by_hash, out_of_fold

X, Y = make_simulation(200, noise="uniform", level=0.2, random_state=0)


class Clock:
    """A time that tests set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def make_step(
    k: int,
    is_corrected: bool = False,
    path: int = 1,
    fold: int | None = None,
) -> Step:
    one, n_iter = np.zeros(1), int(is_corrected)
    progress = Progress(path=path, n_paths=path, fold=fold, share=0.0)
    values = (np.array([0]), one, one, np.zeros((1, k)), one, n_iter, 0.0, is_corrected, 0.0)
    return Step(k, *values, progress=progress)


def walk(
    limit: TimeLimit,
    clock: Clock,
    seconds: float,
    n_steps: int = 1000,
    path: int = 1,
    fold: int | None = None,
) -> int:
    """Make a path whose steps take so long; return how many it made."""
    for k in range(1, n_steps + 1):
        clock.now += seconds
        if limit(make_step(k, path=path, fold=fold)) is not None:
            return k
    return n_steps


def make_limit(seconds: float, n_kinds: int = 1, has_final: bool = False) -> tuple[Any, Clock]:
    clock = Clock()
    limit = TimeLimit(seconds, clock)
    limit.plan(n_kinds, has_final)
    return limit, clock


def test_a_single_path_has_all_of_the_time() -> None:
    limit, clock = make_limit(60.0)
    walk(limit, clock, 0.1)
    assert 57.0 < clock.now - 100.0 <= 60.0
    assert limit.is_reached


@pytest.mark.parametrize("n_kinds", [1, 2])
@pytest.mark.parametrize("has_final", [False, True])
def test_the_paths_that_are_needed_share_the_time(n_kinds: int, has_final: bool) -> None:
    limit, clock = make_limit(60.0, n_kinds, has_final)
    assert limit.allows_split()
    steps = [walk(limit, clock, 0.1, path=1 + kind, fold=1) for kind in range(n_kinds)]
    assert not limit.allows_split()
    if has_final:
        steps.append(walk(limit, clock, 0.1, path=1 + n_kinds))
    assert max(steps) <= 1.1 * min(steps)
    assert 57.0 < clock.now - 100.0 <= 60.0


@pytest.mark.parametrize("has_final", [False, True])
def test_paths_that_run_at_once_have_the_same_time(has_final: bool) -> None:
    clock = Clock()
    limit = TimeLimit(60.0, clock)
    limit.plan(2, has_final, n_at_once=4)
    assert limit.allows_split()
    running = {1, 2}
    n_steps = 0
    while running:
        n_steps += 1
        clock.now += 0.1
        for path in sorted(running):
            if limit(make_step(n_steps, path=path, fold=1)) is not None:
                running.remove(path)
    share = 0.5 if has_final else 1.0
    assert n_steps == pytest.approx(share * 582, rel=0.02)
    assert not limit.allows_split()
    if has_final:
        walk(limit, clock, 0.1, path=3)
        assert 57.0 < clock.now - 100.0 <= 60.0


def test_what_one_path_does_not_need_the_others_have() -> None:
    limit, clock = make_limit(60.0, n_kinds=2, has_final=True)
    sizes = [20, 20, 500]
    folds = (1, 1, None)
    made = [walk(limit, clock, 0.1, n, i + 1, folds[i]) for i, n in enumerate(sizes)]
    assert made == sizes
    assert not limit.is_reached


@pytest.mark.parametrize(("has_final", "n_splits"), [(False, 5), (True, 3)])
def test_a_split_begins_if_there_is_time_for_one_like_the_longest(
    has_final: bool, n_splits: int
) -> None:
    limit, clock = make_limit(60.0, has_final=has_final)
    n_begun = 0
    while limit.allows_split():
        n_begun += 1
        assert walk(limit, clock, 1.0, 10, path=n_begun, fold=n_begun) == 10
    # 58.2 seconds less 10 for each split must be more than 15, or 30 with a path after the last.
    assert n_begun == n_splits
    if has_final:
        assert walk(limit, clock, 1.0, 10, path=n_begun + 1) == 10
    assert clock.now - 100.0 <= 60.0


def test_a_later_split_that_takes_too_long_leaves_time_for_the_last_path() -> None:
    limit, clock = make_limit(60.0, has_final=True)
    assert limit.allows_split()
    walk(limit, clock, 0.1, 20, path=1, fold=1)
    assert limit.allows_split()
    second = walk(limit, clock, 0.1, path=2, fold=2)
    last = walk(limit, clock, 0.1, path=3)
    assert 0.9 < last / second < 1.1
    assert clock.now - 100.0 <= 60.0


def test_a_path_leaves_time_for_its_last_correction() -> None:
    limit, clock = make_limit(10.0)
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
        limit.plan(1, has_final=True)
    assert [walk(limit, clock, 0.1, path=1 + i, fold=f) for i, f in enumerate((1, None))] == [1, 1]


def test_rows_that_there_is_no_time_for_are_left_out(monkeypatch) -> None:
    monkeypatch.setattr(time_limit, "_ENOUGH_ROWS", 50)
    labels = np.where(np.arange(200) == 0, 2, Y > 0)
    data = check_data(
        FCGBoostClassifier(), Classification(SquaredHinge()), X, labels, None, (None, None, None)
    )
    for taken, share in ((0.01, 1.0), (0.5, 1.0 / 12.0 / 24.0 * 11.0), (0.99, 0.25)):
        clock = Clock()
        limit = TimeLimit(1.0, clock)
        clock.now += taken
        n_rows = max(50, share * 200)
        if share == 1.0:
            assert limit.affordable_rows(data) is data
            continue
        with pytest.warns(UserWarning, match="time_limit=1 is too short for all rows"):
            part = limit.affordable_rows(data)
        assert abs(len(part.train.target) - n_rows) <= 3
        assert np.unique(part.train.target).tolist() == [0, 1, 2]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Let limits of fits read a time that tests set."""
    clock = Clock()
    monkeypatch.setattr(time_limit.time, "perf_counter", clock)
    monkeypatch.setattr(estimators, "TimeLimit", partial(TimeLimit, clock=clock))
    return clock


def test_left_out_rows_are_judged_by_nobody(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(time_limit, "_ENOUGH_ROWS", 50)
    check = estimators.check_data

    def slow(*arguments: Any) -> Any:
        clock.now += 9.0
        return check(*arguments)

    monkeypatch.setattr(estimators, "check_data", slow)
    for cv in (3, [(np.arange(100), np.arange(100, 200)), (np.arange(100, 200), np.arange(100))]):
        model = FCGBoostClassifier("relu", cv=cv, max_iter=3, time_limit=10.0, random_state=0)
        with pytest.warns(UserWarning, match="only .. of 200"):
            model.fit(X, Y)
        assert 45 <= (~np.isnan(model.oof_decision_function_)).sum() <= 55


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["folds", "one model", "validation data"])
def test_a_fit_within_a_limit_has_a_model(n_classes: int, kind: str, clock: Clock) -> None:
    y = Y if n_classes == 2 else np.digitize(X[:, 0], [0.3, 0.6])
    named = {"X_val": X, "y_val": y} if kind == "validation data" else {}
    options = {"cv": "auto" if named else 4, "ensemble": kind != "one model", "random_state": 0}

    def tick(step: Step) -> None:
        clock.now += 0.1

    model = FCGBoostClassifier(time_limit=4.0, **options)
    model.set_callbacks(tick).fit(X, y, **named)
    assert clock.now - 100.0 <= 4.1
    if kind != "one model":
        assert Status.TIME_LIMIT in {member.status for member in model.members_}
    assert model.score(X, y) > 0.6
    # Whoever has time enough gets what he gets without a limit.
    clock.now = 100.0
    plain = FCGBoostClassifier(**options).fit(X, y, **named)
    model.set_params(time_limit=1e6).fit(X, y, **named)
    assert Status.TIME_LIMIT not in {member.status for member in model.members_}
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))


def test_less_time_means_fewer_members_and_nothing_else(clock: Clock) -> None:
    options = {"cv": 5, "max_iter": 10, "l2": 0.01, "random_state": 0}
    plain = FCGBoostClassifier("relu", **options).fit(X, Y)
    folds = folds_by_hash(X, Y, 5, 0)

    def tick(step: Step) -> None:
        clock.now += 0.1

    numbers = []
    for seconds in (1.6, 3.5, 4.0, 100.0):
        clock.now = 100.0
        model = FCGBoostClassifier("relu", time_limit=seconds, **options).set_callbacks(tick)
        model.fit(X, Y)
        n = len(model.members_)
        numbers.append(n)
        assert clock.now - 100.0 <= seconds
        np.testing.assert_allclose(model.member_weights_, 1.0 / n)
        for member, same in zip(model.members_, plain.members_, strict=False):
            np.testing.assert_array_equal(member.model.coef, same.model.coef)
        audit = model.audit(X, Y)
        explained = audit.explain(audit.ranking[:5])
        total = explained.values.sum(axis=1) + explained.base_values
        expected = model.oof_decision_function_[audit.ranking[:5]]
        np.testing.assert_allclose(total, expected, rtol=1e-9, atol=1e-9)
        judged = out_of_fold(plain, X, folds)
        judged[folds >= n] = np.nan
        np.testing.assert_allclose(model.oof_decision_function_, judged, rtol=1e-12)
        is_right = (model.oof_decision_function_ > 0) == (Y > 0)
        assert model.oof_score_ == pytest.approx(np.mean(is_right, where=folds < n))
    assert numbers == [1, 2, 3, 5]


@pytest.mark.parametrize(("n_jobs", "sizes"), [(1, [2] * 8), (5, [2, 4, 4, 4, 2]), (32, [2, 14])])
def test_within_a_limit_members_run_at_once_after_the_first_fold(
    n_jobs: int, sizes: list[int], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"cv": 8, "max_iter": 3, "l2": 0.01, "random_state": 0}
    plain = FCGBoostClassifier(**options).fit(X, Y)
    pieces = []
    each = threads.each

    def recorded(work: Any, places: Any, n_threads: int | None = None, *n_at_once: int) -> Any:
        if getattr(work, "__name__", "") == "fit":
            pieces.append(len(places))
            assert n_at_once == (n_jobs,)
        return each(work, places, n_threads, *n_at_once)

    monkeypatch.setattr(threads, "each", recorded)
    model = FCGBoostClassifier(time_limit=1e6, n_jobs=n_jobs, **options).fit(X, Y)
    assert pieces == sizes
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))


@pytest.mark.parametrize("late", [0, 1, 3])
def test_splits_before_one_that_ends_early_are_kept(
    late: int, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = crossfit._Paths.fit

    def interrupted(paths: Any, place: tuple[int, int]) -> Any:
        trial = fit(paths, place)
        return replace(trial, status=Status.TIME_LIMIT) if place[0] == late else trial

    monkeypatch.setattr(crossfit._Paths, "fit", interrupted)
    options = {"cv": 6, "max_iter": 3, "l2": 0.01, "random_state": 0, "n_jobs": 16}
    model = FCGBoostClassifier("relu", time_limit=1e6, **options).fit(X, Y)
    # The first one is there in any case.
    n_kept = late or 6
    assert len(model.members_) == n_kept
    folds = folds_by_hash(X, Y, 6, 0)
    np.testing.assert_array_equal(np.isnan(model.oof_decision_function_), folds >= n_kept)


@pytest.mark.parametrize("jump", [1, 3, 7, 11, 17, 23])
@pytest.mark.parametrize("options", [{}, {"ensemble": False}, {"dictionary": "compact"}], ids=str)
def test_a_clock_that_jumps_costs_no_model(
    jump: int, options: dict[str, Any], clock: Clock
) -> None:
    heard = 0

    def tick(step: Step) -> None:
        nonlocal heard
        heard += 1
        clock.now += 1e6 if heard == jump else 0.01

    settings = {"cv": 3, "max_iter": 5, "time_limit": 60.0, "random_state": 0, **options}
    model = FCGBoostClassifier(**settings).set_callbacks(tick).fit(X, Y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.n_iter_ >= 1
    np.testing.assert_allclose(model.member_weights_.sum(), 1.0)
    assert np.isfinite(model.oof_score_)


@pytest.mark.parametrize("value", [0, -1.0, "fast", np.nan])
def test_what_is_no_time_is_refused(value: object) -> None:
    with pytest.raises((ValueError, TypeError), match="time_limit"):
        FCGBoostClassifier(time_limit=value).fit(X, Y)
