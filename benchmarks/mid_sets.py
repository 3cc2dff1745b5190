"""The tables of `benchmarks.mid`: between five thousand rows and half a million, of two classes.

Six are the files `mid/<name>.csv.gz` of a data home, whose label says on which side of its median a
number is. The others are of the contest on tables, MAGIC, and covtype, the second class against the
rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.data import load
from benchmarks.large_sets import MAGIC, Part, covtype_file
from benchmarks.measure import MissingError
from paper.data.home import VARIABLE, data_homes, find_file, read_verified
from paper.data.tables import LabelledFrame, fetch_table, read_table
from paper.protocol import seed_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDER = "mid"
#: Numbers of training rows, and how few a table may have in place of one.
SIZES = (3_000, 9_000, 40_000)
FEWEST: Mapping[int, int] = {40_000: 12_000}
#: The largest share of a table that is for training, and the most rows for tests.
SHARE = 0.7
N_TEST = 50_000


@dataclass(frozen=True)
class Table:
    """How a table is loaded, and how many rows it has."""

    load: Callable[[], LabelledFrame]
    n_rows: int

    def n_train(self, size: int) -> int:
        """Return how many rows are for training; 0 if they are too few for the size."""
        n_train = min(size, int(SHARE * self.n_rows))
        return n_train if n_train >= FEWEST.get(size, size) else 0


def deal(name: str, size: int, split: int) -> Part:
    """Return a random split of one of the tables."""
    return deal_table(TABLES[name], name, size, split)


def deal_table(table: Table, name: str, size: int, split: int) -> Part:
    """Return a random split; larger sizes have all training rows of smaller ones."""
    X, y = table.load()
    order = np.random.default_rng(seed_of(name, split)).permutation(len(y))
    n_train = table.n_train(size)
    train = order[:n_train]
    test = order[n_train:][-N_TEST:]
    return Part(
        X=X.iloc[train].reset_index(drop=True),
        y=y[train],
        X_test=X.iloc[test].reset_index(drop=True),
        y_test=y[test],
    )


def content_of(file: str, sha256: str) -> bytes:
    """Return what a file of a data home holds."""
    path = find_file((file,), data_homes())
    if path is None:
        raise MissingError(f"{file} is in no data home; {VARIABLE} names one")
    return read_verified(path, sha256)


def _mid(name: str, sha256: str) -> LabelledFrame:
    return read_table(content_of(f"{FOLDER}/{name}.csv.gz", sha256))


def _contest(name: str) -> LabelledFrame:
    try:
        return fetch_table(name)
    except (FileNotFoundError, ImportError) as error:
        raise MissingError(str(error)) from error


def _magic() -> LabelledFrame:
    X, y = load(MAGIC)
    return _numbers(X, y > 0.0)


def _covtype() -> LabelledFrame:
    rows = np.load(covtype_file(), mmap_mode="r")
    return _numbers(rows[:, :-1], rows[:, -1] == 2)


def _numbers(X: NDArray[Any], is_second: NDArray[np.bool_]) -> LabelledFrame:
    import pandas as pd

    return LabelledFrame(pd.DataFrame(X).add_prefix("x"), is_second.astype(np.int64))


#: Rows of the files of `FOLDER`, and digests of what they hold.
FILES: Mapping[str, tuple[int, str]] = {
    "california_housing": (
        20_640,
        "d489d1d8b2456a39c9533ba5f14ff0d3c666812ac73dc1897ec23e0c319f841a",
    ),
    "diamonds": (
        53_940,
        "e3cc435bd87b226fff125b6e83ed36796fe50b5dddecd2d3fcc23d65f29cc45b",
    ),
    "pole_telecomm": (
        14_998,
        "7d9f6990ccd75379a0c38447b808290bb82154f072af59498b9a9a5ca9dbb520",
    ),
    "melbourne_house_prices": (
        13_580,
        "b295c6f7a21bb886a8ad6600af4a85cb7c6027af2014638eb163e0a3de0275f7",
    ),
    "compactiv": (
        8_192,
        "403ba7f1b699a04820af75478fef8518b079c51c7c0060d6da4429fd33992c84",
    ),
    "planes2d": (
        40_768,
        "b96325d09eb4706112fa479b243092f9e534e0fbc97b778a2a5f0d6096506068",
    ),
}

#: By name, in the order of the report.
TABLES: Mapping[str, Table] = {
    **{
        name: Table(partial(_mid, name, sha256), n_rows) for name, (n_rows, sha256) in FILES.items()
    },
    MAGIC: Table(_magic, 19_020),
    "default_credit_card_clients": Table(partial(_contest, "default_credit_card_clients"), 30_000),
    "nass_cds": Table(partial(_contest, "nass_cds"), 26_217),
    "mpls_stops": Table(partial(_contest, "mpls_stops"), 51_920),
    "lending_club": Table(partial(_contest, "lending_club"), 9_857),
    "wa_churn": Table(partial(_contest, "wa_churn"), 7_043),
    "covtype": Table(_covtype, 581_012),
}
