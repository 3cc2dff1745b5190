"""Probabilities of several classes: by the formula of the loss, and by the link that is fitted.

Half of the rows train, a quarter chooses ridge, steps and link, a quarter tests; five times. The
model is the same, only its probabilities differ. Log-losses are of probabilities that are kept half
a training row away from 0 and 1.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier
from fcgboost.losses import class_probabilities

REPETITIONS = 5


def data_sets() -> Iterator[tuple[str, Any, Any]]:
    """Give names, rows and labels."""
    for name, load in (("iris", load_iris), ("wine", load_wine), ("digits", load_digits)):
        yield name, *load(return_X_y=True)
    X, y = make_classification(
        n_samples=4_000,
        n_features=30,
        n_informative=15,
        n_classes=5,
        n_clusters_per_class=2,
        flip_y=0.1,
        random_state=0,
    )
    yield "synthetic", X, y


def measure(X: Any, y: Any, seed: int) -> list[float]:
    """Give Brier score and log-loss by the formula of the loss, and both by the link."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=seed, stratify=y)
    X, X_val, y, y_val = train_test_split(X, y, test_size=1 / 3, random_state=seed, stratify=y)
    model = FCGBoostClassifier(random_state=seed).fit(X, y, X_val=X_val, y_val=y_val)
    f, is_right = model.decision_function(X_test), y_test[:, None] == model.classes_
    scores = []
    for p in (class_probabilities(model._loss_, f), model.predict_proba(X_test)):
        right = np.maximum(p[is_right], 0.5 / len(y))
        scores += [np.mean(np.sum((p - is_right) ** 2, axis=1)), -np.mean(np.log(right))]
    return scores


def main() -> None:
    """Print a table of means, and of differences with standard errors over splits."""
    print("| data | Brier, loss | Brier, link | log-loss, loss | log-loss, link |")
    print("|---|---:|---:|---:|---:|")
    for name, X, y in data_sets():
        found = np.array([measure(X, y, seed) for seed in range(REPETITIONS)])
        cells = [name]
        for i in range(2):
            change = found[:, 2 + i] - found[:, i]
            error = change.std(ddof=1) / np.sqrt(REPETITIONS)
            cells += [f"{found[:, i].mean():.4f}"]
            cells += [f"{found[:, 2 + i].mean():.4f} ({change.mean():+.4f} ± {error:.4f})"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
