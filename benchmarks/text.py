"""The default on words of documents and on other wide sparse rows, and rivals.

    python -m benchmarks.text [N_DRAWS] [--first DRAW] [--only NAME ...]

1,500 documents to train and as many to test; 3,000 words whose rates follow Zipf's law, and some
that one class has more often. One thread; seconds are those of the processor. Differences are
paired over draws, in points of accuracy, with their standard errors.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.linear_model import LogisticRegressionCV
from sklearn.preprocessing import OneHotEncoder

from benchmarks.rivals import make_lightgbm, timed
from fcgboost import FCGBoostClassifier

N, N_WORDS, N_COMMON, LENGTH = 1_500, 3_000, 400, 100.0
#: Rows and labels to train, and the same to test.
Draw = tuple[Any, Any, Any, Any]


def _halves(X: Any, y: Any) -> Draw:
    X = X if isinstance(X, list) else sparse.csr_matrix(X, dtype=np.float64)
    return X[:N], y[:N], X[N:], y[N:]


def documents(seed: int, n_informative: int, n_classes: int = 2, is_text: bool = False) -> Draw:
    """Count words, some of which are more frequent in one class; or write them down."""
    rng = np.random.default_rng(seed)
    rates = rng.permutation(np.arange(1, N_WORDS + 1) ** -0.8)
    rates *= LENGTH / rates.sum()
    y = rng.integers(n_classes, size=2 * N)
    words = rng.choice(np.argsort(-rates)[:N_COMMON], n_informative, replace=False)
    by_class = np.tile(rates, (n_classes, 1))
    by_class[rng.integers(n_classes, size=n_informative), words] *= (
        8.0 if n_informative < 9 else 3.0
    )
    X = rng.poisson(by_class[y])
    if is_text:
        names = np.array([f"word{j}" for j in range(N_WORDS)])
        return _halves([" ".join(np.repeat(names, row)) for row in X], y)
    return _halves(X, y)


def through(make: Callable[[], Any], draw: Draw) -> Draw:
    """Pass rows through a transformer that is fitted to those to train."""
    transformer = make()
    X, X_test = transformer.fit_transform(draw[0]), transformer.transform(draw[2])
    return X.astype(np.float64), draw[1], X_test.astype(np.float64), draw[3]


def _noisy(y: Any, rng: np.random.Generator) -> Any:
    return (y ^ (rng.random(len(y)) < 0.05)).astype(int)


def marks(seed: int, n_columns: int, share: float) -> Draw:
    """Draw zeros and ones; the classes are one or the other of two of them."""
    rng = np.random.default_rng(seed)
    X = rng.random((2 * N, n_columns)) < rng.uniform(0.01, 0.08, n_columns)
    X[:, :2] = rng.random((2 * N, 2)) < share
    return _halves(X, _noisy(X[:, 0] ^ X[:, 1], rng))


def one_mark(seed: int) -> Draw:
    """Draw words that say nothing, and one mark that says all."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.gamma(0.5, 0.1, 2_000), (2 * N, 2_000))
    X[:, 7] = rng.random(2 * N) < 0.3
    return _halves(X, _noisy(X[:, 7] > 0, rng))


def together(seed: int) -> Draw:
    """Draw words of which one pair or another occurs together."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.gamma(0.5, 0.1, 1_000), (2 * N, 1_000))
    X[:, 5:9] = rng.poisson(0.6, (2 * N, 4))
    is_there = X[:, 5:9] > 0
    return _halves(X, _noisy(is_there[:, :2].all(axis=1) | is_there[:, 2:].all(axis=1), rng))


def levels(seed: int) -> Draw:
    """Draw levels of eight categories, whose effects add up but for one pair of groups."""
    rng, sizes = np.random.default_rng(seed), (20, 20, 40, 40, 60, 80, 100, 100)
    codes = np.column_stack([rng.integers(size, size=2 * N) for size in sizes])
    effects = [
        0.7 * rng.standard_normal(size)[own] for size, own in zip(sizes, codes.T, strict=True)
    ]
    f = np.sum(effects, axis=0) + 3.0 * (codes[:, :2] < 6).all(axis=1)
    y = (rng.logistic(size=2 * N) < f - np.median(f)).astype(int)
    return _halves(OneHotEncoder().fit_transform(codes), y)


CASES: Mapping[str, Callable[[int], Draw]] = {
    **{f"counts, {k} words": partial(documents, n_informative=k) for k in (2, 40)},
    **{
        f"tf-idf, {k} words": lambda seed, k=k: through(TfidfTransformer, documents(seed, k))
        for k in (2, 40)
    },
    **{
        f"{make.__name__}, 40 words": lambda seed, make=make: through(
            make, documents(seed, 40, is_text=True)
        )
        for make in (CountVectorizer, TfidfVectorizer)
    },
    "HashingVectorizer(2**14), 40 words": lambda seed: through(
        partial(HashingVectorizer, n_features=2**14), documents(seed, 40, is_text=True)
    ),
    "counts, 40 words, 4 classes": partial(documents, n_informative=40, n_classes=4),
    "tf-idf, 40 words, 4 classes": lambda seed: through(
        TfidfTransformer, documents(seed, 40, n_classes=4)
    ),
    "either of two marks, 30 % ones": partial(marks, n_columns=600, share=0.3),
    "either of two marks, half ones": partial(marks, n_columns=300, share=0.5),
    "one mark among words": one_mark,
    "words that occur together": together,
    "one-hot levels": levels,
}
METHODS: Mapping[str, Callable[[], Any]] = {
    "ours": partial(FCGBoostClassifier, random_state=0),
    "LogisticRegressionCV": LogisticRegressionCV,
    "LightGBM": partial(make_lightgbm, 1),
}


def measure(case: Callable[[int], Draw], draws: range) -> tuple[Any, Any]:
    """Return accuracies and seconds, of shape (n_draws, n_methods)."""
    found = []
    for seed in draws:
        X, y, X_test, y_test = case(seed)
        for make in METHODS.values():
            model, cost = timed(partial(make().fit, X, y))
            found.append((100.0 * np.mean(model.predict(X_test) == y_test), cost.cpu))
    return np.moveaxis(np.reshape(found, (len(draws), len(METHODS), 2)), -1, 0)


def line(name: str, accuracies: Any, seconds: Any) -> str:
    """Return the means, what we are better by than each rival, and our time compared with each."""
    cells = [name, *(f"{mean:.2f}" for mean in accuracies.mean(axis=0))]
    for i in range(1, len(METHODS)):
        gain = accuracies[:, 0] - accuracies[:, i]
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        ratio = seconds[:, 0].sum() / seconds[:, i].sum()
        cells.append(f"{gain.mean():+.2f} ± {error:.2f}, {ratio:.2g} ×")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n_draws", nargs="?", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[*CASES])
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the rivals announce changes and count their iterations
    rivals = [*METHODS][1:]
    heads = [*METHODS, *(f"compared with {name}" for name in rivals)]
    print(f"| data | {' | '.join(heads)} |")
    print(f"|---|{(len(METHODS) + len(rivals)) * '---:|'}")
    for name in options.only:
        draws = range(options.first, options.first + options.n_draws)
        print(line(name, *measure(CASES[name], draws)), flush=True)


if __name__ == "__main__":
    main()
