"""The tables of `benchmarks.regression`: five of a data home, and counts that are drawn."""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import make_friedman1

from benchmarks.large_sets import Part
from benchmarks.mid_sets import Table, content_of, deal_table
from paper.data.tables import LabelledFrame

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDER = "regression"
TARGET = "target"
#: Training rows of counts, and as many are for tests.
N_COUNTS = 5_000
#: What Friedman's first function is divided by, to be the logarithm of a rate.
DIVISORS: Mapping[str, float] = {"counts, f / 10": 10.0, "counts, f / 5": 5.0}
#: Rows of files, and digests of what they hold.
FILES: Mapping[str, tuple[int, str]] = {
    "california_housing": (
        20_640,
        "ca7d0f6857cb2d046e84180822da135f424c74ee553ac26bab458f586c784515",
    ),
    "diamonds": (
        53_940,
        "81565446179346e6ea8d23b8e35856fe55e45cfae2207acf601acfa15421e5d9",
    ),
    "melbourne_house_prices": (
        13_580,
        "a57a1126dbe08cf410f133a7d493d35e7cfb61be1eed956dc167003af4aec7a0",
    ),
    "compactiv": (
        8_192,
        "0b779ecece9b33a03a5ace9864d0b2e9cd8985d9027f88af6f6f7a168f7d1d29",
    ),
    "planes2d": (
        40_768,
        "97b2c235e5f1a2c1973563a33a8f43bc59d8c82a9f853490b8fc69c6cb15e92d",
    ),
}


def _table(name: str, sha256: str) -> LabelledFrame:
    import pandas as pd

    frame = pd.read_csv(io.BytesIO(content_of(f"{FOLDER}/{name}.csv.gz", sha256)))
    target: NDArray[np.float64] = frame.pop(TARGET).to_numpy(dtype=float)
    return LabelledFrame(frame, target)


#: By name, in the order of the report.
TABLES: Mapping[str, Table] = {
    name: Table(partial(_table, name, sha256), n_rows) for name, (n_rows, sha256) in FILES.items()
}


def draw(name: str, seed: int) -> Part:
    """Return counts whose logarithm of the rate is Friedman's first function, divided."""
    import pandas as pd

    X, f = make_friedman1(2 * N_COUNTS, random_state=seed)
    counts = np.random.default_rng(seed).poisson(np.exp(f / DIVISORS[name])).astype(float)
    frame = pd.DataFrame(X).add_prefix("x")
    return Part(
        X=frame[:N_COUNTS],
        y=counts[:N_COUNTS],
        X_test=frame[N_COUNTS:],
        y_test=counts[N_COUNTS:],
    )


def part_of(name: str, size: int, split: int) -> Part:
    """Return a split of a table, or counts that the split's number draws."""
    return draw(name, split) if name in DIVISORS else deal_table(TABLES[name], name, size, split)
