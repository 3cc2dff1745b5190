"""Forks, interrupts and threads that fit again: nothing hangs, leaks, or mixes two models."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification

from fcgboost import FCGBoostClassifier, GaussDictionary, threads
from fcgboost.designs.devices import HostDevice
from fcgboost.threads import SharedThreads, cached, shared

X, Y = make_classification(200, 5, random_state=0)
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


def in_child(work):
    """Return the exit status of a forked process that does some work; a hang ends by a signal."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(30)
            status = int(not work())
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@needs_fork
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_process_that_is_forked_amid_fits_can_fit():
    expected = FCGBoostClassifier("relu", max_iter=5, random_state=0).fit(X, Y).decision_function(X)
    before, is_over = shared.n_threads(), threading.Event()

    def keep_fitting():
        while not is_over.is_set():
            FCGBoostClassifier(max_iter=3, random_state=0, n_jobs=2).fit(X, Y)

    def fits_alike():
        fitted = FCGBoostClassifier("relu", max_iter=5, random_state=0).fit(X, Y)
        is_same = np.array_equal(fitted.decision_function(X), expected)
        return is_same and shared.n_threads() == before and not shared._before

    others = [threading.Thread(target=keep_fitting) for _ in range(2)]
    for other in others:
        other.start()
    try:
        for pause in np.random.default_rng(0).uniform(0.0, 0.03, 8):
            time.sleep(pause)
            assert in_child(fits_alike) == 0
    finally:
        is_over.set()
        for other in others:
            other.join()


@needs_fork
def test_a_lock_that_was_held_is_open_after_a_fork():
    limit = SharedThreads()
    inside = limit.ours()
    inside.__enter__()
    with limit._lock:
        assert limit._before

        def can_enter():
            with limit.ours():
                pass
            return not limit._before

        assert in_child(can_enter) == 0
    inside.__exit__(None, None, None)


@needs_fork
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_no_fork_happens_while_a_thread_sets_the_number_of_blas_threads(monkeypatch):
    """OpenBLAS has a lock around that, which a child would inherit held."""
    lock, is_setting = threading.Lock(), threading.Event()

    class Library:
        def set_num_threads(self, number):
            with lock:
                is_setting.set()
                time.sleep(0.05)

    monkeypatch.setattr(threads, "_blas_libraries", lambda: [(Library(), 2)])
    limit = SharedThreads()

    def fit():
        with limit.ours():
            pass

    def can_set():
        Library().set_num_threads(2)
        return True

    for _ in range(3):
        other = threading.Thread(target=fit)
        is_setting.clear()
        other.start()
        is_setting.wait()
        assert in_child(can_set) == 0
        other.join()


def test_an_attribute_is_computed_once_and_needs_no_lock():
    class Circle:
        def __init__(self):
            self.n_calls = 0

        @cached
        def area(self):
            """The area."""
            self.n_calls += 1
            return 3

    circle = Circle()
    assert (circle.area, circle.area, circle.n_calls) == (3, 3, 1)
    assert Circle.area.__doc__ == "The area."
    assert not [name for name in vars(Circle.area) if "lock" in name]


def n_threads():
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0


class Failing(GaussDictionary):
    def evaluate(self, X, atoms, scale):
        raise RuntimeError("no values")


@pytest.mark.parametrize("dictionary", ["gauss", Failing()])
def test_no_thread_outlives_a_fit(dictionary, monkeypatch):
    monkeypatch.setattr(HostDevice, "block_entries", 1000)
    rows, labels = make_classification(3_000, 4, random_state=0)
    made = []
    start = threads._thread.start_new_thread
    monkeypatch.setattr(
        threads._thread, "start_new_thread", lambda *given: made.append(0) or start(*given)
    )
    classifier = FCGBoostClassifier(dictionary, max_iter=3, n_jobs=3, random_state=0)

    def fit() -> None:
        failing = pytest.raises(RuntimeError, match="no values")
        with failing if isinstance(dictionary, Failing) else nullcontext():
            classifier.fit(rows, labels)

    fit()  # The BLAS may have lost threads in a fork, and starts them again.
    before = n_threads()
    fit()
    assert made
    deadline = time.monotonic() + 5.0
    while n_threads() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert n_threads() <= before
    assert threading.active_count() == len(threading.enumerate())


def test_pieces_keep_their_order_and_the_first_error_is_raised():
    assert threads.each(lambda piece: piece**2, range(50), 4) == [i**2 for i in range(50)]
    assert threads.each(str, [1], 4) == ["1"]

    def fails(piece):
        if piece == 3:
            raise ValueError("three")
        return piece

    for n in (1, 2, 4):
        with pytest.raises(ValueError, match="three"):
            threads.each(fails, range(10), n)


_INTERRUPTED = """
import os, signal, threading, time
import numpy as np
from sklearn.datasets import make_classification
from fcgboost import FCGBoostClassifier
from fcgboost.threads import shared

X, y = make_classification(3_000, 5, random_state=0)
def make():
    return FCGBoostClassifier("relu", selection="sampled", max_iter=20, n_jobs=2, random_state=0)

def interrupt(after):
    time.sleep(after)
    os.kill(os.getpid(), signal.SIGINT)

before, rng, n_ended, n_interrupts = shared.n_threads(), np.random.default_rng(0), 0, 0
for pause in rng.uniform(0.0, {longest}, {n}):
    clf, timer = make(), threading.Thread(target=interrupt, args=(pause,))
    try:
        timer.start()
        clf.fit(X, y)
        n_ended += 1
        while timer.is_alive():
            time.sleep(0.001)
        time.sleep(0.001)
    except KeyboardInterrupt:
        n_interrupts += 1
        assert "model_" not in vars(clf) or n_ended
    while timer.is_alive():
        time.sleep(0.001)
first, second = (make().fit(X, y).decision_function(X) for _ in range(2))
assert np.array_equal(first, second)
assert shared.n_threads() == before and not shared._before and not len(shared._inside)
assert threading.active_count() == 1
print("interrupts", n_interrupts)
"""


def interrupted(n, longest):
    script = _INTERRUPTED.replace("{n}", str(n)).replace("{longest}", str(longest))
    environment = {**os.environ, "PYTHONPATH": str(Path(threads.__file__).parents[1])}
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=500
    )


def test_an_interrupt_at_any_moment_spoils_nothing():
    ended = interrupted(4, 0.3)
    assert (ended.returncode, ended.stdout) == (0, "interrupts 4\n"), ended.stderr


@pytest.mark.slow
def test_many_interrupts_spoil_nothing():
    ended = interrupted(150, 0.4)
    assert (ended.returncode, ended.stdout) == (0, "interrupts 150\n"), ended.stderr


def test_predictions_amid_fits_are_of_one_model():
    """Two data sets that differ in everything: widths, classes, names of columns."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=(60, 3))
    second = np.column_stack([rng.choice(["a", "b"], 60), rng.normal(size=60).astype(object)])
    sets = [(first, first[:, 0] > 0), (second.astype(object), rng.choice(["x", "y", "z"], 60))]
    makes = [FCGBoostClassifier("tree", max_iter=2, random_state=0).fit(*data) for data in sets]
    expected = [made.predict_proba(data[0]) for made, data in zip(makes, sets, strict=True)]
    classifier, is_over, mixed = FCGBoostClassifier("tree", max_iter=2, random_state=0), [], []
    classifier.fit(*sets[0])

    def keep_predicting(which):
        rows = sets[which][0]
        while not is_over:
            try:
                found = classifier.predict_proba(rows)
            except ValueError as error:
                # The other model does not take these rows, and says so.
                if not any(word in str(error) for word in ("features", "convert", "number")):
                    mixed.append(repr(error))
                continue
            except Exception as error:
                mixed.append(repr(error))
                continue
            if found.shape != expected[which].shape or not np.array_equal(found, expected[which]):
                mixed.append("other values")

    others = [threading.Thread(target=keep_predicting, args=(which,)) for which in (0, 1)]
    for other in others:
        other.start()
    for i in range(20):
        classifier.fit(*sets[i % 2])
    is_over.append(True)
    for other in others:
        other.join()
    assert not mixed, mixed[:3]


def test_a_failed_fit_leaves_the_last_one():
    classifier = FCGBoostClassifier("tree", max_iter=2, random_state=0).fit(X, Y)
    before = dict(vars(classifier))
    with pytest.raises(ValueError, match="rows"):
        classifier.fit(X[:10], Y)
    assert vars(classifier) == before


def test_nothing_of_an_earlier_fit_is_left():
    pd = pytest.importorskip("pandas")
    classifier = FCGBoostClassifier("tree", max_iter=2, random_state=0)
    classifier.fit(pd.DataFrame(X).add_prefix("column "), Y)
    assert hasattr(classifier, "feature_names_in_")
    classifier.own = 2
    classifier.fit(X, Y)
    assert not hasattr(classifier, "feature_names_in_")
    assert classifier.own == 2


@pytest.mark.slow
def test_all_at_random_breaks_nothing():
    """The short version of `make soak`."""
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.soak", "--minutes", "3", "--seed", "1"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        timeout=900,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "; 0 problems" in ended.stdout
