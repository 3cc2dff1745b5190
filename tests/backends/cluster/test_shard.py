"""The rows of one worker."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from fcgboost.backends.cluster.sums import Pieces
from fcgboost.backends.cluster.workers import WorkerLostError, Workers
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import (
    ReluDictionary,
)
from fcgboost.training.dataset import DataSet
from tests.suites.workers import lay, make_workers

pytestmark = pytest.mark.usefixtures("same_splits")


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("cuts", [[], [5, 20, 20, 44], list(range(1, 50))], ids=len)
def test_drawn_rows_are_those_of_memory_in_their_order(make: Any, cuts: list[int]) -> None:
    rng = np.random.default_rng(0)
    X, codes = rng.integers(-2, 3, (50, 2)) * [1.0, 30.0], np.arange(50) % 2
    there = lay(make_workers(make(X), codes, np.ones(50), cuts, 3), ReluDictionary(), True, 2)
    data = DataSet.of(make(X), codes, np.ones(50)).canonical()
    assert len(data.weights) < 50
    here = MemoryDesign(ReluDictionary(), data.X, data.weights, True, row_hashes=data.row_hashes)
    for n, key in itertools.product((1, 7, 20, 1000), (5, 2**62)):
        samples = [design.sample(n, key, 9 * key % 2**64).rows for design in (there, here)]
        np.testing.assert_array_equal(*map(dense, samples))
    subsamples = [design.subsample(1000, 5).rows for design in (there, here)]
    np.testing.assert_array_equal(*map(dense, subsamples))


def dense(rows: Any) -> Any:
    return rows.toarray() if sparse.issparse(rows) else rows


def test_rows_that_are_others_when_they_are_loaded_again_are_refused() -> None:
    class Counting(Workers):
        n_asked = 0

        def connect(self) -> None:
            pass

        close = connect

        def ask_all(self, *call: object) -> Pieces:
            self.n_asked += 1
            if self.n_asked == 2:
                raise WorkerLostError("A worker is lost")
            return Pieces.of(1, {0: self.n_asked})

    workers = Counting()
    assert workers.round("count", owner=(2,)) == 1
    with (
        pytest.warns(RuntimeWarning, match="A worker is lost"),
        pytest.raises(RuntimeError, match="had other rows when they were loaded again"),
    ):
        workers.round("ask")
