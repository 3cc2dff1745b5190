"""What columns of categories are worth: with and without them, beside noise, beside CatBoost.

Tables are those of the contest on tables and of `benchmarks.mid`, and one that is generated: five
columns of up to 120 levels with weak effects. Half of the rows are for training (70 % of those of
`mid`), at most 20,000, and others for tests. All variants of a split are fitted to the same rows,
so differences are paired. Every fit is a row of build/bench/categories.csv as soon as it is done,
and is not measured again; the table is drawn from all rows. `--splits` alone measures nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks.large_sets import Part
from benchmarks.measure import MissingError
from benchmarks.mid_sets import TABLES as MID
from benchmarks.mid_sets import deal as deal_mid
from benchmarks.processes import ROOT
from benchmarks.stored_rows import append_row, read_rows
from fcgboost import FCGBoostClassifier
from paper.data.tables import TABLES as CONTEST
from paper.data.tables import fetch_table
from paper.protocol import seed_of

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

PATH = ROOT / "build" / "bench" / "categories.csv"
GENERATED = "generated"
MOST_ROWS = 20_000
#: The tables of `benchmarks.mid` that the contest does not have.
FILES = (
    "california_housing",
    "diamonds",
    "pole_telecomm",
    "melbourne_house_prices",
    "compactiv",
    "planes2d",
)
NAMES = (GENERATED, *CONTEST, *FILES)
_N_LEVELS = (15, 100, 120, 60, 30)
_N_NOISE = 5


class Figure(NamedTuple):
    """The AUC of a fit, and its CPU seconds."""

    auc: float
    cpu: float


#: Those of a variant, by split.
Figures: TypeAlias = Mapping[int, Figure]


def generate(seed: int, n_rows: int = MOST_ROWS) -> Part:
    """Return 12 normal columns, and five of categories with weak effects, which add up."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    n_all = 2 * n_rows
    x = rng.normal(size=(n_all, 12))
    odds = 0.6 * np.sin(2.0 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.4 * x[:, 3] - 0.8
    X = pd.DataFrame(x).add_prefix("x")
    for n_levels in _N_LEVELS:
        levels = np.floor(rng.exponential(n_levels / 5.0, n_all)).astype(int).clip(max=n_levels - 1)
        odds += rng.normal(0.0, 0.15, n_levels)[levels]
        X[f"of {n_levels}"] = texts(levels)
    y = (rng.random(n_all) < 1.0 / (1.0 + np.exp(-odds))).astype(np.int64)
    order = np.arange(n_all)
    return parted(X, y, order[:n_rows], order[n_rows:])


def texts(levels: NDArray[np.int64]) -> NDArray[Any]:
    """Return levels as texts."""
    return np.char.add("level ", levels.astype(str)).astype(object)


def parted(X: pd.DataFrame, y: Any, train: Any, test: Any) -> Part:
    """Return the rows for training and those for tests."""
    return Part(
        X=X.iloc[train].reset_index(drop=True),
        y=y[train],
        X_test=X.iloc[test].reset_index(drop=True),
        y_test=y[test],
    )


def deal(name: str, split: int) -> Part:
    """Return a split of a table."""
    if name == GENERATED:
        return generate(split)
    if name in FILES:
        n_rows = MID[name].n_rows
        part = deal_mid(name, min(MOST_ROWS, int(0.7 * n_rows)), split)
        return part
    try:
        X, y = fetch_table(name)
    except (FileNotFoundError, ImportError) as error:
        raise MissingError(str(error)) from error
    order = np.random.default_rng(seed_of(name, split)).permutation(len(y))
    n_train = min(MOST_ROWS, len(y) // 2)
    return parted(X, y, order[:n_train], order[n_train:])


def is_text(column: pd.Series[Any]) -> bool:
    """Whether a column holds texts."""
    return column.dtype.kind not in "biuf"


def with_noise(part: Part, n_levels: int) -> Part:
    """Add columns of random levels."""
    rng = np.random.default_rng(n_levels)
    frames = []
    for X in (part.X, part.X_test):
        noise = {f"noise {j}": texts(rng.integers(n_levels, size=len(X))) for j in range(_N_NOISE)}
        frames.append(X.assign(**noise))
    return part._replace(X=frames[0], X_test=frames[1])


def without_texts(part: Part) -> Part:
    """Leave columns of texts out."""
    names = [name for name in part.X if is_text(part.X[name])]
    return part._replace(X=part.X.drop(columns=names), X_test=part.X_test.drop(columns=names))


def fit_ours(part: Part) -> tuple[Array, float]:
    """Return the default's probabilities, and the CPU seconds of its fit."""
    return timed(FCGBoostClassifier(random_state=0, n_jobs=1), part)


def fit_catboost(part: Part) -> tuple[Array, float]:
    """Return those of CatBoost's defaults, told which columns are categories."""
    from catboost import CatBoostClassifier

    names = [name for name in part.X if is_text(part.X[name])]
    frames = [X.assign(**X[names].fillna("").astype(str)) for X in (part.X, part.X_test)]
    model = CatBoostClassifier(
        cat_features=names,
        allow_writing_files=False,
        verbose=False,
        thread_count=1,
        random_seed=0,
    )
    return timed(model, part._replace(X=frames[0], X_test=frames[1]))


def timed(model: Any, part: Part) -> tuple[Array, float]:
    """Return probabilities of test rows, and the CPU seconds of the fit."""
    start = time.process_time()
    model.fit(part.X, part.y)
    seconds = time.process_time() - start
    return model.predict_proba(part.X_test), seconds


#: What is done to the rows, and who is fitted to them.
VARIANTS: Mapping[str, tuple[Callable[[Part], Part], Callable[[Part], tuple[Array, float]]]] = {
    "as it is": (lambda part: part, fit_ours),
    "without text": (without_texts, fit_ours),
    "noise of 100 levels": (lambda part: with_noise(part, 100), fit_ours),
    "noise of 1,000 levels": (lambda part: with_noise(part, 1_000), fit_ours),
    "noise of as many levels as rows": (lambda part: with_noise(part, len(part.y)), fit_ours),
    "CatBoost": (lambda part: part, fit_catboost),
}


def auc(y: Any, p: Array) -> float:
    """Return 100 times the AUC, of several classes the mean of each against the others."""
    if p.shape[1] == 2:
        return 100.0 * float(roc_auc_score(y, p[:, 1]))
    return 100.0 * float(np.mean([roc_auc_score(y == c, p[:, c]) for c in range(p.shape[1])]))


def measure(name: str, split: int, variants: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield a row per variant of a split: its AUC and the CPU seconds of its fit."""
    part = deal(name, split)
    for variant in variants:
        change, fit = VARIANTS[variant]
        changed = change(part)
        with threadpool_limits(1):
            p, seconds = fit(changed)
        score = auc(part.y_test, p)
        print(f"{name}, split {split}, {variant}: {score:.2f} in {seconds:.1f} s", file=sys.stderr)
        yield {"data": name, "split": split, "variant": variant, "auc": score, "cpu": seconds}


def gap(base: Figures, other: Figures) -> str:
    """Say what a variant is ahead of another on the splits of both, in how much of its time."""
    splits = sorted(base.keys() & other.keys())
    if not splits:
        return "–"
    gaps = np.array([base[split].auc - other[split].auc for split in splits])
    error = f" ± {gaps.std(ddof=1) / np.sqrt(len(gaps)):.2f}" if len(gaps) > 1 else ""
    ratio = np.median([base[split].cpu / other[split].cpu for split in splits])
    return f"{gaps.mean():+.2f}{error} ({ratio:.2f} ×)"


def lines(rows: Iterable[Mapping[str, str]], variants: Sequence[str]) -> Iterator[str]:
    """Yield a table in Markdown: what the first variant is ahead of the others."""
    figures: dict[str, dict[str, dict[int, Figure]]] = {}
    for row in rows:
        fits = figures.setdefault(row["data"], {}).setdefault(row["variant"], {})
        fits[int(row["split"])] = Figure(float(row["auc"]), float(row["cpu"]))
    first, *others = variants
    yield f"| table (splits) | AUC | {' | '.join(f'less {variant}' for variant in others)} |"
    yield "|---|" + "---:|" * len(variants)
    for name in NAMES:
        base = figures.get(name, {}).get(first)
        if base:
            mean = np.mean([figure.auc for figure in base.values()])
            cells = [gap(base, figures[name].get(variant, {})) for variant in others]
            yield f"| {name} ({len(base)}) | {mean:.2f} | {' | '.join(cells)} |"


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what has no row yet, and print the table of all rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study_categories")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME")
    parser.add_argument("--splits", nargs="*", type=int, default=[300, 301, 302], metavar="N")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    options = parser.parse_args(argv)
    first = next(iter(VARIANTS))
    variants = [first, *(name for name in options.variants if name != first)]
    are_done = {(row["data"], int(row["split"]), row["variant"]) for row in read_rows(PATH)}
    for split in options.splits:
        for name in options.only:
            missing = [other for other in variants if (name, split, other) not in are_done]
            try:
                for row in measure(name, split, missing):
                    append_row(PATH, row)
            except MissingError as error:
                print(error, file=sys.stderr)
    for text in lines(read_rows(PATH), variants):
        print(text)


if __name__ == "__main__":
    main()
