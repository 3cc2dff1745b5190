"""The number of BLAS threads belongs to the process, not to a fit."""

import threading

from threadpoolctl import ThreadpoolController

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import make_simulation
from fcgboost.threads import SharedLimit


def blas_threads():
    return [info["num_threads"] for info in ThreadpoolController().select(user_api="blas").info()]


def test_the_last_one_out_restores_the_threads():
    limit = SharedLimit()
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        before = blas_threads()
        first, second = limit.one_thread(), limit.one_thread()
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
                target=FCGBoostClassifier(random_state=seed, max_iter=30).fit, args=(X, y)
            )
            for seed in range(4)
        ]
        for fit in fits:
            fit.start()
        for fit in fits:
            fit.join()
        assert blas_threads() == before
