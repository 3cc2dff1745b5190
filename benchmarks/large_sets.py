"""The rows of `benchmarks.large` and `benchmarks.along_time`: public sets, and made-up ones.

Labels are the numbers 0, 1, ... of classes. Splits of the paper's sets are those of the contest:
half of the rows for training, standardised, and the last quarter for tests. Of covtype, shuffled
once and for all, the last 100,000 rows are for tests.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from benchmarks.data import load
from benchmarks.made_up import make_up
from benchmarks.measure import MissingError
from benchmarks.processes import ROOT
from paper.data.home import data_homes, find_file, read_verified
from paper.files import replace_file
from paper.protocol import arrange, deal_random, seed_of

MAGIC = "magic_gamma_telescope"
N_TEST = 100_000
_DIGITS_ROWS = 1_200
_COVTYPE = "covtype.csv.gz"
_SHA256 = "f0d34e40fafb38cdcbc48cc8c8bf7bdeb3c4a55503b0e430153cb41c94717429"
# The same rows as numbers, which are there at once.
_READY = ROOT / "build" / "bench" / "covtype.npy"


class Part(NamedTuple):
    """Rows for training, and rows for tests."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any

    def first(self, n_rows: int) -> Part:
        """Return so many training rows, and all that are for tests."""
        return self._replace(X=self.X[:n_rows], y=self.y[:n_rows])


@dataclass(frozen=True)
class DataSet:
    """Rows by the number of a split, and how they are measured.

    `is_quick` says that a quick run has them; `left_out` are methods that take hours.
    """

    load: Callable[[int], Part]
    n_splits: int = 1
    threads: int = 1
    is_quick: bool = False
    left_out: tuple[str, ...] = ()


def contest(name: str, split: int, n_rows: int | None = None) -> Part:
    """Return a random split of one of the paper's sets, as the contest deals it."""
    X, y = load(name)
    data = arrange(X, y, deal_random(len(y), seed_of(name, split)))
    labels, tests = ((part > 0.0).astype(np.int64) for part in (data.y, data.y_test))
    return Part(data.X[:n_rows], labels[:n_rows], data.X_test, tests)


def covtype(n_rows: int, split: int = 0, has_all_classes: bool = False) -> Part:
    """Return the first rows of covtype: seven classes, or the second one against the rest."""
    table = np.load(covtype_file(), mmap_mode="r")
    order = np.random.default_rng(split).permutation(len(table))
    own, tests = table[order[:n_rows]], table[order[-N_TEST:]]
    y, y_test = (
        part[:, -1].astype(np.int64) - 1 if has_all_classes else (part[:, -1] == 2).astype(np.int64)
        for part in (own, tests)
    )
    return Part(np.ascontiguousarray(own[:, :-1]), y, np.ascontiguousarray(tests[:, :-1]), y_test)


def covtype_file() -> Path:
    """Return the file with all rows as numbers, the class last, and make it if need be."""
    if not _READY.exists():
        path = find_file((_COVTYPE,), data_homes())
        if path is None:
            where = ", ".join(map(str, data_homes()))
            raise MissingError(f"{_COVTYPE} (UCI Covertype, the class last) is not in {where}")
        text = read_verified(path, _SHA256).decode()
        table = np.loadtxt(io.StringIO(text), dtype=np.float32, delimiter=",", skiprows=1)
        content = io.BytesIO()
        np.save(content, table)
        replace_file(_READY, content.getvalue())
    return _READY


def made_up(n_rows: int, split: int = 0) -> Part:
    """Return made-up rows; those for tests have a seed of their own."""
    return Part(*make_up(n_rows, 2 * split), *make_up(N_TEST, 2 * split + 1))


def digits(split: int) -> Part:
    """Return a random split of scikit-learn's digits."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=_DIGITS_ROWS, random_state=split, stratify=y
    )
    return Part(X, y, X_test, y_test)


def _magic(n_rows: int, split: int) -> Part:
    return contest(MAGIC, split, n_rows)


#: By name, in the order of tables.
SETS: dict[str, DataSet] = {
    **{
        f"magic-{n}": DataSet(partial(_magic, n), n_splits=10, is_quick=n < 9_000)
        for n in (300, 1_000, 9_510)
    },
    **{
        f"covtype-{n}": DataSet(partial(covtype, n), is_quick=n == 10_000)
        for n in (10_000, 100_000, 400_000)
    },
    **{f"made-up-1e{p}": DataSet(partial(made_up, 10**p), is_quick=p == 4) for p in (4, 5, 6)},
    # Of so many rows, six settings of up to 2,000 trees take hours.
    "made-up-1e7": DataSet(partial(made_up, 10**7), threads=2, left_out=("lightgbm_tuned",)),
    "covtype-7-classes": DataSet(partial(covtype, 100_000, has_all_classes=True)),
    "digits": DataSet(digits, n_splits=10, is_quick=True),
}
