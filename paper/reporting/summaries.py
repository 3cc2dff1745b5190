"""Numbers over repetitions: means with standard errors, who is best, slopes with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Array = NDArray[np.float64]
Mark = Literal["", "best", "second"]
K = TypeVar("K")

N_BOOTSTRAP = 1000


class Summary(NamedTuple):
    """A mean, its standard error (NaN for fewer than two values) and the number of values."""

    mean: float
    error: float
    n: int


class Slope(NamedTuple):
    """A fitted line's slope and intercept; the ends of the slope's 95 % interval."""

    slope: float
    intercept: float
    low: float
    high: float


NOTHING = Summary(np.nan, np.nan, 0)


def summarize(values: ArrayLike) -> Summary:
    """Summarise the values that are there.

    >>> summarize([1.0, 3.0, float("nan")])
    Summary(mean=2.0, error=1.0, n=2)
    """
    given = np.asarray(values, dtype=np.float64)
    # Sorted, so that the order of the rows leaves no trace in the last digit.
    given = np.sort(given[np.isfinite(given)])
    if len(given) == 0:
        return NOTHING
    error = np.std(given, ddof=1) / np.sqrt(len(given)) if len(given) > 1 else np.nan
    return Summary(float(np.mean(given)), float(error), len(given))


def summaries(frame: DataFrame, keys: Sequence[str], column: str) -> dict[Any, Summary]:
    """Summarise a column for every value of one key, or every tuple of values of several."""
    groups = frame.groupby(keys[0] if len(keys) == 1 else list(keys), sort=True)
    return {key: summarize(values) for key, values in groups[column]}


def marks(
    values: Mapping[K, float], digits: int, *, largest: bool = False, second: bool = True
) -> dict[K, Mark]:
    """Mark the best and the second best as they are shown, rounded to `digits`.

    Equal values share a mark; the second best is the next distinct value. Where all are equal,
    none is marked.

    >>> marks({"a": 0.2, "b": 0.1, "c": 0.1001, "d": 0.3}, digits=3)
    {'a': 'second', 'b': 'best', 'c': 'best', 'd': ''}
    """
    shown = {key: round(float(value), digits) for key, value in values.items() if value == value}
    ranked = sorted(set(shown.values()), reverse=largest)
    if len(ranked) == 1 and len(shown) > 1:
        return dict.fromkeys(values, "")
    given: tuple[Mark, ...] = ("best", "second") if second else ("best",)
    names = dict(zip(ranked, given, strict=False))
    return {key: names.get(shown[key], "") if key in shown else "" for key in values}


def paired(frame: DataFrame, column: str, key: str, first: Any, last: Any) -> Summary:
    """Summarise, over repetitions that have both, the value at `last` minus that at `first`."""
    wide = frame.pivot_table(index="repetition", columns=key, values=column)
    if first not in wide or last not in wide:
        return NOTHING
    return summarize(wide[last] - wide[first])


def paired_over(
    frame: DataFrame, column: str, cells: Sequence[str], key: str, first: Any, last: Any
) -> Summary:
    """Summarise, over repetitions that have all cells, the mean difference `last` minus `first`.

    Cells that share training and test inputs err together: only repetitions are independent.
    """
    wide = frame.pivot_table(index=["repetition", *cells], columns=key, values=column)
    if first not in wide or last not in wide:
        return NOTHING
    gaps = (wide[last] - wide[first]).dropna()
    n_cells = gaps.index.droplevel("repetition").nunique()
    by_repetition = gaps.groupby("repetition").agg(["mean", "size"])
    return summarize(by_repetition[by_repetition["size"] == n_cells]["mean"])


def texts(values: Iterable[Any]) -> str:
    """Join the distinct texts of a column; what is empty or missing counts for nothing."""
    found = {str(value).strip() for value in values if isinstance(value, str)}
    return "; ".join(sorted(found - {""}))


def flags(values: Series) -> NDArray[np.bool_]:
    """Read truth values, stored as numbers or as words."""
    return np.array(
        [str(value).strip().lower() in ("true", "1", "1.0") for value in values], dtype=bool
    )


def carried(frame: DataFrame, column: str, index: str = "k") -> DataFrame:
    """Give a column by step and repetition; a path that has ended keeps its last value."""
    return frame.pivot_table(index=index, columns="repetition", values=column).sort_index().ffill()


def growth(m: ArrayLike) -> Array:
    """Give m / ln m, in which the theory's rates are written."""
    sizes = np.asarray(m, dtype=np.float64)
    return sizes / np.log(sizes)


def fit_slope(frame: DataFrame, column: str, seed: int = 0) -> Slope | None:
    """Regress the log of a column's mean on ln(m / ln m), m being `n_samples`.

    The interval holds 95 % of the slopes of data sets whose repetitions are drawn with
    replacement within each m. None where fewer than two m have a positive mean.
    """
    groups = [
        (float(m), np.sort(values[np.isfinite(values)].to_numpy(dtype=np.float64)))
        for m, values in frame.groupby("n_samples", sort=True)[column]
    ]
    groups = [(m, values) for m, values in groups if len(values) and np.mean(values) > 0.0]
    if len(groups) < 2:
        return None
    x = np.log(growth([m for m, _ in groups]))
    slope, intercept = _line(x, np.array([np.mean(values) for _, values in groups]))
    random = np.random.default_rng(seed)
    draws = [random.choice(values, (N_BOOTSTRAP, len(values))).mean(axis=1) for _, values in groups]
    means = np.array(draws)
    means = means[:, np.all(means > 0.0, axis=0)]
    low, high = np.percentile(_line(x, means)[0], (2.5, 97.5)) if means.size else (np.nan, np.nan)
    return Slope(float(slope), float(intercept), float(low), float(high))


def _line(x: Array, means: Array) -> Array:
    """Give slope and intercept of a line through ln(means), or through each of its columns."""
    return np.asarray(np.polyfit(x, np.log(means), 1))
