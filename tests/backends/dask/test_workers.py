"""What goes wrong on a cluster ends in the right model or in a clear error, never in a hang."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.dataframe as dd
from sklearn.base import clone

from fcgboost import FCGBoostClassifier, FullyCorrective, ReluDictionary, Status
from fcgboost.backends.cluster import sums
from fcgboost.backends.dask import workers
from fcgboost.dask import DaskFCGBoostClassifier
from tests.suites.clusters import cluster_of, in_chunks, noisy
from tests.test_dask import assert_same_model

pytestmark = [
    pytest.mark.extras,
    pytest.mark.usefixtures("same_splits"),
    pytest.mark.xdist_group("dask-faults"),
]

#: Seconds after which something hangs, also on a busy machine.
HANG = 300.0
PARAMETERS: dict[str, Any] = {
    "dictionary": "relu",
    "selection": "sampled",
    "max_iter": 25,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with cluster_of(2) as client:
        yield client


@pytest.fixture
def expected() -> FCGBoostClassifier:
    return FCGBoostClassifier(**PARAMETERS).fit(*noisy())


def make(client: Any, **changes: Any) -> DaskFCGBoostClassifier:
    return DaskFCGBoostClassifier(client=client, **{**PARAMETERS, **changes})


def n_actors(client: Any) -> int:
    return sum(client.run(lambda dask_worker: len(dask_worker.state.actors)).values())


# --- data that cannot be fitted ---------------------------------------------------------------


def test_chunks_of_columns_are_refused_with_the_call_that_mends_them(client):
    X, y = noisy()
    dX, dy = da.from_array(X, chunks=(300, 1)), da.from_array(y, chunks=300)
    with pytest.raises(ValueError, match=r"2 chunks of columns.*X\.rechunk\(\{1: -1\}\)"):
        make(client).fit(dX, dy)
    model = make(client, max_iter=2).fit(dX.rechunk({1: -1}), dy)
    with pytest.raises(ValueError, match=r"X\.rechunk\(\{1: -1\}\)"):
        model.predict(dX)


def test_data_in_memory_is_refused_with_two_ways_out(client):
    X, y = noisy()
    with pytest.raises(TypeError, match=r"X is a ndarray.*from_array.*FCGBoostClassifier"):
        make(client).fit(X, y)
    with pytest.raises(TypeError, match="y is a ndarray"):
        make(client).fit(da.from_array(X), y)
    dX, dy = in_chunks(X, y, (600,))
    with pytest.raises(TypeError, match="X_val is a ndarray"):
        make(client).fit(dX, dy, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="X_val and y_val together"):
        make(client).fit(dX, dy, X_val=dX)


def bad(columns: list[str], n_rows: int = 10, value: float = 0.0) -> pd.DataFrame:
    return pd.DataFrame({name: np.full(n_rows, value) for name in columns})


def test_partitions_whose_columns_disagree_are_named(client):
    frames = [bad(["a", "b"]), bad(["b", "a"])]
    X = dd.from_map(lambda i: frames[i], [0, 1], meta=frames[0].iloc[:0])
    y = dd.from_pandas(pd.Series([0, 1] * 10), npartitions=2)
    with pytest.raises(ValueError, match=r"partition 1 of X.*\['b', 'a'\].*\['a', 'b'\]"):
        make(client).fit(X, y)
    widths = [2, 3]
    blocks = da.concatenate(
        [
            da.from_delayed(_zeros(10, width), shape=(10, 2), dtype=float)
            for width in map(_later, widths)
        ]
    )
    with pytest.raises(ValueError, match="partition 1 of X has the columns 3 without names"):
        make(client).fit(blocks, da.from_array(np.arange(20) % 2, chunks=10))


def _later(value: int) -> int:
    return value


def _zeros(n_rows: int, n_columns: int) -> Any:
    import dask

    return dask.delayed(np.zeros)((n_rows, n_columns))


def test_bad_values_name_their_partition(client):
    X, y = noisy()
    X[450, 1] = np.inf
    with pytest.raises(ValueError, match="partition 2 of the data: Input X contains infinity in"):
        make(client).fit(*in_chunks(X, y, (200, 200, 200)))
    X, y = noisy()
    weights = np.ones(600)
    weights[10] = -1.0
    with pytest.raises(ValueError, match="partition 0 of the data: sample_weight has negative"):
        make(client).fit(*in_chunks(X, y, (200, 200, 200), weights))


def test_partitions_that_do_not_match_are_counted(client):
    X, y = noisy()
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    with pytest.raises(ValueError, match=r"Partitions do not match: \{'X': 3, 'y': 2\}"):
        make(client).fit(frame, dd.from_pandas(pd.Series(y), npartitions=2))
    dX, dy = in_chunks(X, y, (300, 300))
    with pytest.raises(ValueError, match="X and y have 600 and 500 rows"):
        make(client).fit(dX, dy[:500])
    shorter = dd.from_pandas(pd.Series(y[:599]), npartitions=3)
    with pytest.raises(ValueError, match="partition 2 of X has 200 rows, but that of y has 199"):
        make(client).fit(frame, shorter)


def test_labels_are_judged_over_all_partitions(client):
    X, _ = noisy()
    with pytest.raises(ValueError, match="only one class"):
        make(client).fit(*in_chunks(X, np.zeros(600), (300, 300)))
    y = noisy()[1]
    dX, dy = in_chunks(X, y, (300, 300))
    with pytest.raises(ValueError, match=r"y_val has labels that are not in y: \[-7"):
        make(client).fit(dX, dy, X_val=dX, y_val=dy * 7)
    with pytest.raises(ValueError, match="is zero for all rows"):
        make(client).fit(dX, dy, da.zeros(600, chunks=300))


REFUSED: dict[str, dict[str, Any]] = {
    "device='torch'.*: use device='cpu'": {"device": "torch"},
    "scoring='roc_auc'.* only accuracy and loss score: use scoring=None": {"scoring": "roc_auc"},
    "time_limit .*fits are not timed: use max_iter": {"time_limit": 5.0},
    r"metrics .*no process has all rows: use truncate\(k\) and score": {"metrics": "roc_auc"},
    r"Truncation\(.*: use scheme='fully_corrective'": {"scheme": "truncation"},
    r"^Hinge\(.*: use a CurvedLoss": {"loss": "hinge"},
    r"AdmmSolver\(.*: use solver='newton'": {"solver": "admm"},
    r"GradientDescentSolver\(.*: use solver='newton'": {"solver": "gradient_descent"},
    "max_iter": {"max_iter": 0},
}


@pytest.mark.parametrize(("message", "changes"), REFUSED.items(), ids=lambda value: str(value))
def test_parameters_that_mean_nothing_on_a_cluster_are_refused(message, changes):
    # Before any work: there is no client.
    with pytest.raises(ValueError, match=message):
        make(None, **changes).fit(*in_chunks(*noisy(), (600,)))


class Broken(ReluDictionary):
    """Fails where the rows are."""

    def evaluate(self, X: Any, atoms: Any, scale: Any) -> Any:
        raise ZeroDivisionError("this dictionary is broken")


def test_an_error_on_a_worker_is_told_and_leaves_nothing_behind(client, expected):
    data = in_chunks(*noisy(), (300, 300))
    model = make(client, dictionary=Broken())
    with pytest.raises(ZeroDivisionError, match="this dictionary is broken"):
        model.fit(*data)
    assert not [name for name in vars(model) if name.endswith("_")]
    assert_same_model(make(client).fit(*data), expected)
    deadline = time.monotonic() + HANG
    while n_actors(client) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert n_actors(client) == 0


class Locked(ReluDictionary):
    """Cannot be pickled."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()


def test_what_cannot_travel_is_an_error_and_no_hang(client, tmp_path, monkeypatch):
    data = in_chunks(*noisy(), (300, 300))
    with pytest.raises(TypeError, match="pickle"):
        make(client, dictionary=Locked()).fit(*data)
    (tmp_path / "only_here.py").write_text(
        "from fcgboost import SquaredHinge\n\n\nclass MyLoss(SquaredHinge):\n    pass\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    import only_here

    with pytest.raises(ModuleNotFoundError, match="only_here"):
        make(client, loss=only_here.MyLoss()).fit(*data)


def test_partitions_that_change_are_noticed_after_a_loss():
    X = da.from_array(np.zeros((400, 2)), chunks=(200, 2))
    fickle = X.map_blocks(lambda block: np.random.default_rng().standard_normal(block.shape))
    y = da.from_array(np.arange(400) % 2, chunks=200)
    with cluster_of(2) as client:
        model = make(client).set_callbacks(lambda step: kill_one(client) if step.k == 3 else None)
        with (
            pytest.warns(RuntimeWarning, match="rows are loaded again"),
            pytest.raises(RuntimeError, match="had other rows when they were loaded again"),
        ):
            model.fit(fickle, y)


def lose_once(monkeypatch: pytest.MonkeyPatch, is_time: Callable[..., bool]) -> list[bool]:
    """Make a worker seem lost at the first question for which it is time."""
    losses: list[bool] = []
    original = workers.DaskWorkers.ask_all

    def ask_all(self: Any, *question: Any) -> Any:
        if not losses and is_time(*question):
            losses.append(True)
            raise workers.WorkerLostError("made up")
        return original(self, *question)

    monkeypatch.setattr(workers.DaskWorkers, "ask_all", ask_all)
    return losses


def test_a_worker_lost_after_the_last_step_does_not_prolong_the_path(client, monkeypatch):
    # All coefficients are corrected once more after the last step.
    changes = {"scheme": FullyCorrective(growth=3.0)}
    stop = FCGBoostClassifier(**PARAMETERS, **changes).set_callbacks(lambda step: step.k == 4)
    expected = stop.fit(*noisy())
    steps = []

    def rule(step):
        steps.append(step.k)
        return step.k == 4

    losses = lose_once(monkeypatch, lambda *question: len(steps) == 4)
    with pytest.warns(RuntimeWarning, match="made up"):
        model = make(client, **changes).set_callbacks(rule).fit(*in_chunks(*noisy(), (600,)))
    assert losses
    assert steps == [1, 2, 3, 4]
    assert_same_model(model, expected)
    assert model.status_ is Status.CALLBACK


@pytest.mark.parametrize("method", ["split", "expand", "candidate_scores", "scores"])
def test_whatever_is_lost_the_model_is_the_same(client, monkeypatch, method):
    changes = {"validation_fraction": 0.2, "n_candidates": 80, "selection": "all"}
    expected = FCGBoostClassifier(
        **{**PARAMETERS, **changes, "random_state": np.random.RandomState(5)}
    ).fit(*noisy())
    rounds = []

    def is_time(*question: Any) -> bool:
        rounds.append(method in [word for word in question if isinstance(word, str)])
        return sum(rounds) == 3 or (rounds[-1] and method == "split")

    lose_once(monkeypatch, is_time)
    # The generator gives another number the next time.
    changes["random_state"] = np.random.RandomState(5)
    with pytest.warns(RuntimeWarning, match="made up"):
        model = make(client, **changes).fit(*in_chunks(*noisy(), (300, 300)))
    assert_same_model(model, expected)


def test_workers_that_are_lost_again_and_again_end_the_fit(client, monkeypatch):
    def lose(self: Any, *question: Any) -> Any:
        raise workers.WorkerLostError("made up")

    monkeypatch.setattr(workers.DaskWorkers, "ask_all", lose)
    with (
        pytest.warns(RuntimeWarning, match="made up"),
        pytest.raises(RuntimeError, match=r"6 times in a row: made up\. Check whether"),
    ):
        make(client).fit(*in_chunks(*noisy(), (600,)))


# --- clusters that are not there ----------------------------------------------------------------


def test_no_client_and_a_closed_client():
    data = in_chunks(*noisy(), (600,))
    with pytest.raises(ValueError, match=r"no Dask client: create one"):
        make(None).fit(*data)
    with cluster_of(1) as client:
        client.close()
        with pytest.raises(RuntimeError, match="client is closed: create a new one"):
            make(client).fit(*data)


def test_a_client_that_is_closed_in_the_middle_of_a_fit(recwarn):
    with cluster_of(1) as client:
        model = make(client).set_callbacks(lambda step: client.close() if step.k == 3 else None)
        start = time.monotonic()
        with pytest.raises(RuntimeError, match="Dask"):
            model.fit(*in_chunks(*noisy(), (600,)))
        assert time.monotonic() - start < HANG


def test_a_cluster_without_workers(monkeypatch):
    monkeypatch.setattr(workers, "_PATIENCE", 1.0)
    with cluster_of(0) as client, pytest.raises(RuntimeError, match="no workers for 1 seconds"):
        make(client).fit(*in_chunks(*noisy(), (600,)))


def test_a_cluster_that_loses_all_workers(monkeypatch, recwarn):
    monkeypatch.setattr(workers, "_PATIENCE", 1.0)
    with cluster_of(2) as client:
        model = make(client)
        model.set_callbacks(lambda step: client.cluster.scale(0) if step.k == 3 else None)
        start = time.monotonic()
        with pytest.raises(RuntimeError, match=r"no workers for|lost all its workers"):
            model.fit(*in_chunks(*noisy(), (300, 300)))
        assert time.monotonic() - start < HANG


# --- workers that are lost ----------------------------------------------------------------------


def kill_one(client: Any, which: int = 0) -> None:
    pids = client.run(os.getpid)
    os.kill(pids[sorted(pids)[which % len(pids)]], signal.SIGKILL)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_worker_killed_in_the_middle_of_a_fit(n_workers, expected):
    with cluster_of(n_workers) as client:
        model = make(client).set_callbacks(lambda step: kill_one(client) if step.k == 7 else None)
        with pytest.warns(RuntimeWarning, match="rows are loaded again"):
            model.fit(*in_chunks(*noisy(), (100, 250, 250)))
    assert_same_model(model, expected)


def test_validation_and_patience_survive_the_loss_of_a_worker():
    changes = {"validation_fraction": 0.3, "n_iter_no_change": 6, "max_iter": 40}
    here = FCGBoostClassifier(**{**PARAMETERS, **changes}).fit(*noisy())
    with cluster_of(2) as client:
        model = make(client, **changes)
        model.set_callbacks(lambda step: kill_one(client) if step.k == 4 else None)
        with pytest.warns(RuntimeWarning, match="rows are loaded again"):
            model.fit(*in_chunks(*noisy(), (100, 250, 250)))
    assert_same_model(model, here)
    assert here.status_ is Status.VALIDATION


@pytest.mark.parametrize("is_before", [True, False])
@pytest.mark.filterwarnings("ignore:.*rows are loaded again:RuntimeWarning")
def test_rows_that_lay_on_a_lost_worker_alone_are_an_error_that_says_so(is_before):
    X, y = noisy()
    with cluster_of(1) as client:
        futures = client.scatter([X, y])
        shapes = ((600, 2), (600,))
        dX, dy = (
            da.from_delayed(dask.delayed(future), shape=shape, dtype=float)
            for future, shape in zip(futures, shapes, strict=True)
        )
        model = make(client).set_callbacks(lambda step: kill_one(client) if step.k == 3 else None)
        if is_before:
            kill_one(client)
            deadline = time.monotonic() + HANG
            while futures[0].status == "finished" and time.monotonic() < deadline:
                time.sleep(0.1)
        with pytest.raises(RuntimeError, match=r"lost with their Dask worker.* call fit again"):
            model.fit(dX, dy)


class Killer:
    """Kills a worker at a random moment of a fit: while it loads, or within a step."""

    def __init__(self, client: Any, draw: random.Random) -> None:
        pids = client.run(os.getpid)
        self._pid = pids[sorted(pids)[draw.randrange(2)]]
        self._last = PARAMETERS["max_iter"] - 1
        self._step = draw.choice([0, *range(1, self._last + 1)])
        delay = draw.uniform(0.0, 0.5 if self._step == 0 else 0.02)
        self._timer = threading.Timer(delay, os.kill, (self._pid, signal.SIGKILL))
        if self._step == 0:
            self._timer.start()

    def __call__(self, step: Any) -> None:
        if step.k == self._step and self._timer.ident is None:
            self._timer.start()
        if step.k == self._last:
            # However fast the steps are, one is left when the worker is gone.
            self._timer.join()

    @property
    def has_killed(self) -> bool:
        return self._timer.finished.is_set()


def check_random_kills(n_fits: int, seed: int) -> list[str]:
    """Kill a worker in every fit; say how each one ended."""
    draw = random.Random(seed)
    expected = FCGBoostClassifier(**PARAMETERS).fit(*noisy())
    endings = []
    data = in_chunks(*noisy(), (100, 250, 250))
    for _ in range(n_fits):
        # A new cluster each time: a worker that is killed while it starts may not be restarted.
        with cluster_of(2) as client:
            killer = Killer(client, draw)
            started = time.monotonic()
            try:
                model = make(client).set_callbacks(killer).fit(*data)
                assert killer.has_killed
                assert_same_model(model, expected)
                endings.append("right")
            except RuntimeError as error:
                endings.append(f"error: {error}")
            assert time.monotonic() - started < HANG
    return endings


@pytest.mark.filterwarnings("ignore:.*rows are loaded again:RuntimeWarning")
def test_workers_killed_at_random_moments():
    assert check_random_kills(3, seed=0) == ["right"] * 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*rows are loaded again:RuntimeWarning")
def test_more_fits_with_a_killed_worker_each(capsys):
    endings = check_random_kills(7, seed=1)
    with capsys.disabled():
        print(f"\n7 fits with a killed worker each: {endings.count('right')} right, {endings}")
    assert endings.count("right") >= 6


@pytest.mark.filterwarnings("ignore:.*rows are loaded again:RuntimeWarning")
@pytest.mark.parametrize("which", [0, 2])
def test_a_default_fit_whose_worker_is_killed_anywhere_in_a_chain(which, monkeypatch):
    monkeypatch.setattr(sums, "FAN_OUT", 1)
    X, y = noisy(400)
    steps = []

    def rule(step):
        steps.append(step.k)
        # In the choice, and in the last path.
        if len(steps) in (10, 30):
            kill_one(client, which)

    with cluster_of(3) as client:
        model = DaskFCGBoostClassifier("compact", client=client, random_state=0)
        chunks = in_chunks(X, y, (100, 0, 50, 50, 200))
        here = clone(model).fit(*chunks)
        model.set_callbacks(rule).fit(*chunks)
    assert len(steps) > 30
    assert (model.n_iter_, model.link_) == (here.n_iter_, here.link_)
    assert model.l2_ == pytest.approx(here.l2_)
    np.testing.assert_allclose(model.decision_function(X), here.decision_function(X), atol=1e-4)


@pytest.mark.filterwarnings("ignore:.*rows are loaded again:RuntimeWarning")
def test_a_default_fit_of_many_rows_whose_workers_are_killed(monkeypatch):
    monkeypatch.setattr(sums, "FAN_OUT", 1)
    X, y = noisy(10_200)
    parameters = {"random_state": 0, "max_iter": 6}
    here, steps = FCGBoostClassifier(**parameters).fit(X, y), []

    def rule(step):
        steps.append(step.k)
        # In the choice, and in the last path: in the middle of a tree, or of a correction.
        if len(steps) in (3, 9):
            threading.Timer(0.05, kill_one, (client, len(steps) % 2)).start()

    with cluster_of(3) as client:
        model = DaskFCGBoostClassifier(client=client, **parameters)
        model.set_callbacks(rule).fit(*in_chunks(X, y, (3000, 0, 200, 4000, 3000)))
    assert len(steps) > 9
    np.testing.assert_array_equal(model.trace_.atoms, here.trace_.atoms)
    assert (model.n_iter_, model.link_) == (here.n_iter_, here.link_)
    np.testing.assert_allclose(model.decision_function(X), here.decision_function(X), atol=1e-9)


@pytest.mark.filterwarnings("ignore:.*rows are loaded again:RuntimeWarning")
def test_errors_below_another_worker_are_told_and_fits_do_not_wait_in_a_circle(monkeypatch):
    monkeypatch.setattr(sums, "FAN_OUT", 1)
    with cluster_of(3) as client:
        with pytest.raises(ZeroDivisionError, match="this dictionary is broken"):
            make(client, dictionary=Broken()).fit(*in_chunks(*noisy(), (100,) * 6))
        expected = FCGBoostClassifier(**PARAMETERS).fit(*noisy())
        data = in_chunks(*noisy(), (100,) * 6)
        # Three workers ask each other for two fits at once.
        with ThreadPoolExecutor(2) as pool:
            fits = [pool.submit(make(client).fit, *data) for _ in range(2)]
            for fit in fits:
                assert_same_model(fit.result(timeout=HANG), expected)


def test_two_fits_at_once_do_not_wait_for_each_other(client, expected):
    data = in_chunks(*noisy(), (300, 300))
    with ThreadPoolExecutor(2) as pool:
        fits = [pool.submit(make(client).fit, *data) for _ in range(2)]
        for fit in fits:
            assert_same_model(fit.result(timeout=HANG), expected)


class StuckClient:
    """A client whose tasks never end, and whose workers are idle or busy."""

    status = "running"

    def __init__(self, task_counts: dict[str, int]) -> None:
        self.cancelled: list[Any] = []
        self._workers = {"a": {"status": "running", "metrics": {"task_counts": task_counts}}}

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        return {"workers": self._workers}

    def nthreads(self) -> dict[str, int]:
        return {"a": 1}

    def cancel(self, futures: list[Any], force: bool) -> None:
        self.cancelled += futures


def test_a_task_that_the_scheduler_forgot_is_asked_for_again(monkeypatch):
    looks = []

    def never(futures, timeout):
        looks.append(timeout)
        if len(looks) > 50:
            raise KeyboardInterrupt
        raise TimeoutError

    monkeypatch.setattr(workers, "wait", never)
    clock = iter(range(1000))
    monkeypatch.setattr(workers.time, "monotonic", lambda: float(next(clock)))
    idle = StuckClient({"memory": 3})
    with pytest.raises(workers.WorkerLostError, match="idle"):
        workers.await_all(idle, ["rows"])
    assert idle.cancelled == ["rows"]
    # Loading may take long.
    looks.clear()
    with pytest.raises(KeyboardInterrupt):
        workers.await_all(StuckClient({"executing": 1, "memory": 3}), ["rows"])
