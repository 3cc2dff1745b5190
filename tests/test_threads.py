"""The number of BLAS threads belongs to the process, and a fit takes its share of the cores."""

import gc
import signal
import threading
import time
from contextvars import ContextVar
from functools import partial

import joblib
import numpy as np
import pytest
from sklearn import config_context
from threadpoolctl import ThreadpoolController

from fcgboost import FCGBoostClassifier, threads
from fcgboost.datasets import make_simulation
from fcgboost.designs import scoring
from fcgboost.designs.devices import HostDevice
from fcgboost.threads import SharedThreads, allowed


@pytest.fixture(autouse=True)
def nobody_else():
    """Let shards of simulated workers go: each keeps the BLAS to one thread as long as it lives."""
    if len(threads.shared._inside):
        gc.collect()


def blas_threads():
    return [info["num_threads"] for info in ThreadpoolController().select(user_api="blas").info()]


def test_the_last_one_out_restores_the_threads():
    limit = SharedThreads()
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        before = blas_threads()
        first, second = limit.ours(), limit.ours()
        first.__enter__()
        second.__enter__()
        assert set(blas_threads()) == {1}
        first.__exit__(None, None, None)
        assert set(blas_threads()) == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before


def test_fits_in_several_threads_leave_the_blas_as_it_was():
    X, y = make_simulation(200, random_state=0)
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        before = blas_threads()
        fits = [
            threading.Thread(
                target=FCGBoostClassifier("gauss", random_state=seed, max_iter=30).fit, args=(X, y)
            )
            for seed in range(4)
        ]
        for fit in fits:
            fit.start()
        for fit in fits:
            fit.join()
        assert blas_threads() == before


# Threads of a fit


_patching = threading.Lock()
_each = threads.each


def pool_sizes(fit):
    """Return how many threads pieces of work were given to, and the result of a fit."""
    sizes = []

    def recorded(work, pieces, n_threads=None, *options):
        # Without a number they are those of the fit.
        if n_threads is not None:
            sizes.append(n_threads)
        return _each(work, pieces, n_threads, *options)

    # Patches of several threads by turns would leave that of another.
    with _patching, pytest.MonkeyPatch.context() as patch:
        # Many small blocks, so that threads have something to share.
        patch.setattr(HostDevice, "block_entries", 1000)
        patch.setattr(scoring, "_AT_ONCE", 16)
        patch.setattr(threads, "each", recorded)
        result = fit()
    return sizes, result


def fit_with_all_cores(seed):
    X, y = make_simulation(300, noise="uniform", level=0.2, random_state=0)
    model = FCGBoostClassifier("gauss", selection="all", n_jobs=-1, max_iter=8, random_state=seed)
    sizes, _ = pool_sizes(lambda: model.fit(X, y))
    return sizes, allowed(1000), blas_threads(), model.atom_coef_


def test_a_fit_on_its_own_uses_the_threads_it_is_given():
    X, y = make_simulation(300, random_state=0)
    for n_jobs in (2, 3):
        model = FCGBoostClassifier("gauss", selection="all", n_jobs=n_jobs, max_iter=3)
        sizes, _ = pool_sizes(partial(model.fit, X, y))
        assert set(sizes) == {n_jobs}
    sizes, _ = pool_sizes(partial(model.set_params(n_jobs=1).fit, X, y))
    assert not sizes
    assert allowed(1000) == 1000


@pytest.mark.parametrize("backend", ["threading", "multiprocessing"])
def test_workers_that_do_not_know_their_share_use_one_thread(backend):
    """Neither threads nor forked processes are told how many of them there are."""
    alone = fit_with_all_cores(0)[-1]
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        before = blas_threads()
        found = joblib.Parallel(n_jobs=2, backend=backend)(
            joblib.delayed(fit_with_all_cores)(0) for _ in range(2)
        )
    for sizes, most, n_blas, coef in found:
        assert most == 1
        assert not sizes
        assert n_blas == before
        np.testing.assert_array_equal(coef, alone)


def test_a_pool_of_one_job_is_no_pool():
    (most,) = joblib.Parallel(n_jobs=1)(joblib.delayed(allowed)(n) for n in [1000])
    assert most == 1000


@pytest.mark.slow
@pytest.mark.parametrize("share", [1, 2])
def test_fits_in_a_pool_of_processes_take_no_more_than_their_share(share):
    alone = [fit_with_all_cores(seed)[-1] for seed in range(4)]
    with joblib.parallel_config("loky", n_jobs=2, inner_max_num_threads=share):
        found = joblib.Parallel()(joblib.delayed(fit_with_all_cores)(seed) for seed in range(4))
    for (sizes, most, n_blas, coef), expected in zip(found, alone, strict=True):
        assert most == share
        assert all(size <= share for size in sizes)
        assert set(n_blas) == {share}  # as it was before the fit
        np.testing.assert_allclose(coef, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.slow
def test_by_default_two_processes_share_the_cores(monkeypatch):
    for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA"):
        monkeypatch.delenv(f"{library}_NUM_THREADS", raising=False)
    share = max(joblib.cpu_count() // 2, 1)
    found = joblib.Parallel(n_jobs=2, backend="loky")(
        joblib.delayed(fit_with_all_cores)(seed) for seed in range(2)
    )
    for sizes, most, _, _ in found:
        assert most == share
        assert all(size <= share for size in sizes)


@pytest.mark.parametrize("memory", [1024, 1e-6])
@pytest.mark.parametrize("name", ["gauss", "polynomial", "sigmoid", "relu"])
def test_results_do_not_depend_on_the_threads_to_the_last_bit(name, memory):
    X, y = make_simulation(300, noise="uniform", level=0.2, random_state=0)
    y = np.digitize(X[:, 1] + 0.1 * y, [0.4, 0.8])
    models = []
    for n_jobs in (1, 2, 5):
        model = FCGBoostClassifier(name, selection="all", n_jobs=n_jobs, max_iter=8, random_state=0)
        with config_context(working_memory=memory):
            sizes, model = pool_sizes(partial(model.fit, X, y))
        assert set(sizes) <= {n_jobs}
        models.append(model)
    for model in models[1:]:
        np.testing.assert_array_equal(model.atoms_, models[0].atoms_)
        np.testing.assert_array_equal(model.atom_coef_, models[0].atom_coef_)
        for one, other in zip(model.trace_, models[0].trace_, strict=True):
            np.testing.assert_array_equal(one.scores, other.scores)


# Pieces of work


def test_after_an_error_no_thread_takes_another_piece():
    done = []

    def work(piece):
        if piece == 0:
            raise ValueError("the first piece")
        time.sleep(0.02)
        done.append(piece)

    with pytest.raises(ValueError, match="the first piece"):
        threads.each(work, list(range(100)), 3)
    assert len(done) < 20
    assert threads.each(str, list(range(100)), 3) == [str(i) for i in range(100)]


def until_stopped(running):
    """Work until `check` ends it, or too long; it takes a while to end."""
    running.append(None)
    deadline = time.monotonic() + 60.0
    try:
        while time.monotonic() < deadline:
            threads.check()
            time.sleep(0.001)
    finally:
        time.sleep(0.1)
        running.pop()
    raise AssertionError("nobody ended this piece")


def until_two(running):
    while len(running) < 2:
        time.sleep(0.001)


def test_after_an_error_pieces_end_where_they_check():
    running = []

    def work(piece):
        if piece < 2:
            threads.each(lambda _: until_stopped(running), [0], 1)
        until_two(running)
        raise ValueError("the last piece")

    with pytest.raises(ValueError, match="the last piece"):
        threads.each(work, range(3), 3)
    assert not running
    threads.check()


@pytest.mark.parametrize("n_interrupts", [1, 3])
def test_interrupts_are_raised_when_all_pieces_have_ended(n_interrupts):
    running = []
    # What a shell starts in the background ignores interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def work(piece):
        if threading.current_thread() is threading.main_thread():
            until_two(running)
        else:
            until_stopped(running)

    def interrupt():
        until_two(running)
        for _ in range(n_interrupts):
            time.sleep(0.03)
            signal.raise_signal(signal.SIGINT)

    other = threading.Thread(target=interrupt)
    try:
        other.start()
        with pytest.raises(KeyboardInterrupt):
            threads.each(work, range(3), 3)
        assert not running
        other.join()
    finally:
        signal.signal(signal.SIGINT, before)


def test_pieces_of_pieces_share_the_threads():
    lock = threading.Lock()
    working = set()
    most = []

    def work(piece):
        with lock:
            working.add(threading.get_ident())
            most.append(len(working))
        time.sleep(0.002)
        with lock:
            working.discard(threading.get_ident())
        return piece

    def whole(piece):
        return threads.each(work, range(piece, piece + 12), 4)

    # The second of the two leaves its thread to the pieces of the other.
    found = threads.each(whole, [0, 100], 4)
    assert found == [list(range(12)), list(range(100, 112))]
    assert 2 < max(most) <= 4


@pytest.mark.parametrize("n_started", [0, 1])
def test_work_goes_on_with_the_threads_that_there_are(n_started, monkeypatch):
    start = threads._thread.start_new_thread
    left = [start] * n_started

    def start_if_possible(*given):
        if not left:
            raise RuntimeError("can't start new thread")
        return left.pop()(*given)

    monkeypatch.setattr(threads._thread, "start_new_thread", start_if_possible)
    assert threads.each(str, range(20), 4) == [str(i) for i in range(20)]


def test_pieces_see_the_context_of_their_caller():
    word = ContextVar("word", default="none")
    word.set("the caller's")

    def work(piece):
        time.sleep(0.01)
        return word.get()

    assert set(threads.each(work, range(4), 2)) == {"the caller's"}
