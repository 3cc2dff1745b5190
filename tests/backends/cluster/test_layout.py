"""Partitions that make no data set are refused."""

import numpy as np
import pytest
from scipy import sparse

from fcgboost import FCGBoostClassifier
from fcgboost.backends.cluster.layout import check_supported
from fcgboost.training.settings import resolve
from tests.suites.places import noisy
from tests.suites.workers import LocalWorkers, fit_on, label, make_workers

pytestmark = pytest.mark.usefixtures("same_splits")


def test_kinds_of_partitions_must_agree() -> None:
    X, y = noisy(40)
    dense = label(X[:20], y[:20], np.ones(20))
    thin = label(sparse.csr_array(X[20:]), y[20:], np.ones(20))
    words = label(X[20:], np.array(["a", "b"] * 10), np.ones(20))
    for other, message in ((thin, "are sparse and some are not"), (words, "Labels are numbers")):
        workers = LocalWorkers([({0: dense}, {}), ({1: other}, {})])
        with pytest.raises(ValueError, match=message):
            fit_on(workers, max_iter=2)


def test_rows_must_weigh_something_and_be_enough() -> None:
    X, y = noisy(60)
    ones, nothing = np.ones(60), np.zeros(60)
    with pytest.raises(ValueError, match="sample_weight is zero for all rows"):
        fit_on(make_workers(X, y, nothing, [30]), max_iter=2)
    with pytest.raises(ValueError, match="sample_weight_val is zero for all rows"):
        fit_on(make_workers(X, y, ones, [30], validation=(X, y, nothing)), True, max_iter=2)
    workers = make_workers(np.repeat(X[:2], 30, 0), np.repeat([0, 1], 30), ones, [10])
    with pytest.raises(ValueError, match="leaves no row for validation"):
        fit_on(workers, max_iter=2, validation_fraction=0.1)


def test_labels_are_not_judged_on_workers() -> None:
    settings = resolve(FCGBoostClassifier(), has_validation_data=False)
    check_supported(settings, None)
    with pytest.raises(ValueError, match="trusted is not supported"):
        check_supported(settings, None, np.ones(3, dtype=bool))
