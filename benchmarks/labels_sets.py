"""The tables of `benchmarks.labels`, and how some of their labels become wrong.

Training labels are flipped by a kind of noise. What is `surest` or near the `boundary` is what a
forest of 500 trees says of rows that it has not seen, in five folds, from the true labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.mid_sets import TABLES as MID
from benchmarks.processes import ROOT
from paper.data.tables import LabelledFrame
from paper.protocol import seed_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame

    Codes = NDArray[np.int64]
    Array = NDArray[np.float64]

MARGINS = ROOT / "build" / "bench" / "margins"
#: Rows for training, at most, and as a share of the table.
N_TRAIN = 3_000
SHARE = 0.6
#: No row's label is wrong with a larger probability, one-sided noise apart.
MOST = 0.45


#: What labels without flips are called.
CLEAN = "clean"


class Flipped(NamedTuple):
    """Training rows with given and true labels, and other rows with true ones."""

    X: DataFrame
    given: Codes
    true: Codes
    X_test: DataFrame
    y_test: Codes


def _packaged(name: str) -> LabelledFrame:
    """Load a table that scikit-learn has."""
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    return LabelledFrame(bunch.data, bunch.target.to_numpy().astype(np.int64))


_NAMES = (
    "california_housing",
    "magic_gamma_telescope",
    "default_credit_card_clients",
    "diamonds",
    "nass_cds",
    "wa_churn",
)
#: By name, in the order of the report.
TABLES: Mapping[str, Callable[[], LabelledFrame]] = {
    **{name: MID[name].load for name in _NAMES},
    "breast_cancer": partial(_packaged, "breast_cancer"),
    "digits": partial(_packaged, "digits"),
}
#: Tables whose classes hardly overlap.
CLEAR = ("diamonds", "breast_cancer", "digits")


@dataclass(frozen=True)
class Clean:
    """A random split of a table, with its true labels."""

    name: str
    draw: int
    X: DataFrame
    y: Codes
    X_test: DataFrame
    y_test: Codes

    @classmethod
    def of(cls, name: str, draw: int) -> Clean:
        """Deal the rows of a table."""
        X, y = TABLES[name]()
        order = np.random.default_rng(seed_of(f"labels {name}", draw)).permutation(len(y))
        n_train = min(N_TRAIN, int(SHARE * len(y)))
        train = order[:n_train]
        test = order[n_train:]
        return cls(
            name,
            draw,
            X=X.iloc[train].reset_index(drop=True),
            y=y[train],
            X_test=X.iloc[test].reset_index(drop=True),
            y_test=y[test],
        )

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.y.max()) + 1

    def is_sure(self) -> NDArray[np.bool_]:
        """Return whether each row is in the surer half."""
        path = MARGINS / f"{self.name}-{self.draw}.npy"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, _margins(self.X, self.y))
        margins = np.load(path)
        # Ties are broken by chance.
        ties = np.random.default_rng(self.draw).random(len(margins))
        ranks = np.lexsort((ties, margins)).argsort()
        return np.asarray(ranks >= len(margins) // 2)

    def by_column(self) -> Array:
        """Return ranks from 0 to 1 in the numeric column with the most distinct values."""
        numbers = self.X.select_dtypes("number")
        column = numbers[numbers.nunique().idxmax()]
        return np.asarray(column.rank(pct=True).fillna(0.5), dtype=np.float64)


def _margins(X: DataFrame, y: Codes) -> Array:
    """Return out-of-fold probabilities of the true class less those of the best other one."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline

    from paper.rivals.coding import one_hot

    forest = RandomForestClassifier(n_estimators=500, n_jobs=1, random_state=0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    p = cross_val_predict(
        make_pipeline(one_hot(), forest),
        X,
        y,
        cv=folds,
        method="predict_proba",
    )
    own = p[np.arange(len(y)), y]
    p[np.arange(len(y)), y] = -1.0
    return np.asarray(own - p.max(axis=1))


def uniform(rate: float, clean: Clean) -> Array:
    """Every label alike."""
    return np.full(len(clean.y), rate)


def half(rate: float, sure: bool, clean: Clean) -> Array:
    """A rate over all rows, of which only half may be wrong."""
    return np.where(clean.is_sure() == sure, min(MOST, 2.0 * rate), 0.0)


def one_sided(rate: float, code: int, clean: Clean) -> Array:
    """Labels of one class alone."""
    return np.where(clean.y == _losing(clean, code), rate, 0.0)


def by_feature(clean: Clean) -> Array:
    """Labels the more often wrong, the larger a column is."""
    return MOST * clean.by_column()


def _losing(clean: Clean, code: int) -> int:
    """Return the class that loses labels; of many classes, one by the draw."""
    return code if clean.n_classes == 2 else (3 * clean.draw + 5 * code) % clean.n_classes


#: The probabilities of wrong labels, by kind of noise.
KINDS: Mapping[str, Callable[[Clean], Array]] = {
    **{f"uniform {round(100 * rate)}": partial(uniform, rate) for rate in (0.05, 0.1, 0.2, 0.3)},
    **{
        f"one-sided {round(100 * rate)}, {'ab'[code]}": partial(one_sided, rate, code)
        for rate in (0.2, 0.4)
        for code in (0, 1)
    },
    "surest": partial(half, 0.15, True),
    "boundary": partial(half, 0.25, False),
    "feature": by_feature,
}


def flip(clean: Clean, kind: str) -> Flipped:
    """Make some labels wrong; of `CLEAN`, none."""
    generator = np.random.default_rng(seed_of(f"{clean.name} {kind}", clean.draw))
    rates = np.zeros(len(clean.y)) if kind == CLEAN else KINDS[kind](clean)
    n = clean.n_classes
    shift = generator.integers(1, n, len(clean.y)) if n > 2 else np.ones(len(clean.y), dtype=int)
    if kind.startswith("one-sided"):
        # One class to one other.
        shift[:] = 1
    is_wrong = generator.random(len(clean.y)) < rates
    given = np.where(is_wrong, (clean.y + shift) % n, clean.y)
    return Flipped(
        clean.X,
        given=given,
        true=clean.y,
        X_test=clean.X_test,
        y_test=clean.y_test,
    )
