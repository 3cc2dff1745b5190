"""Probabilities of several classes: by the formula of the loss, and by the link that is fitted.

Half of the rows train, a quarter chooses ridge, steps and link, a quarter tests; five times. The
model is the same, only its probabilities differ.
"""

from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier
from fcgboost.losses import class_probabilities
from fcgboost.scores import log_losses

REPETITIONS = 5
DATA_SETS = ("iris", "wine", "digits", "synthetic", "twenty")
SYNTHETIC: dict[str, dict[str, Any]] = {
    # As many features and classes as the forest covers, as unequal, and half as clear.
    "synthetic": {
        **{"n_samples": 8_000, "n_features": 54, "n_informative": 20, "n_redundant": 10},
        **{"n_classes": 7, "n_clusters_per_class": 3, "class_sep": 1.0},
        "weights": [0.36, 0.49, 0.06, 0.01, 0.02, 0.03, 0.03],
    },
    "twenty": {
        **{"n_samples": 4_000, "n_features": 30, "n_informative": 15, "n_redundant": 5},
        **{"n_classes": 20, "n_clusters_per_class": 1, "class_sep": 1.5},
    },
}


def load(name: str) -> tuple[Any, Any]:
    """Return rows and labels."""
    if name in SYNTHETIC:
        return make_classification(**SYNTHETIC[name], random_state=0)  # type: ignore[no-any-return]
    loaders = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
    return loaders[name](return_X_y=True)  # type: ignore[no-any-return]


def split(X: Any, y: Any, seed: int) -> tuple[tuple[Any, Any], tuple[Any, Any], tuple[Any, Any]]:
    """Return half of the rows to train, a quarter to choose by and one to test, with labels."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=seed, stratify=y)
    X, X_val, y, y_val = train_test_split(X, y, test_size=1 / 3, random_state=seed, stratify=y)
    return (X, y), (X_val, y_val), (X_test, y_test)


def measure(X: Any, y: Any, seed: int) -> list[float]:
    """Return Brier score and log-loss by the formula of the loss, and both by the link."""
    (X, y), (X_val, y_val), (X_test, y_test) = split(X, y, seed)
    model = FCGBoostClassifier(random_state=seed).fit(X, y, X_val=X_val, y_val=y_val)
    f, is_right = model.decision_function(X_test), y_test[:, None] == model.classes_
    scores = []
    for p in (class_probabilities(model._loss_, f), model.predict_proba(X_test)):
        brier = np.mean(np.sum((p - is_right) ** 2, axis=1))
        scores += [brier, log_losses(p[is_right]).mean()]
    return scores


def main() -> None:
    """Print a table of means, and of differences with standard errors over splits."""
    print("| data | Brier, loss | Brier, link | log-loss, loss | log-loss, link |")
    print("|---|---:|---:|---:|---:|")
    for name in DATA_SETS:
        found = np.array([measure(*load(name), seed) for seed in range(REPETITIONS)])
        cells = [name]
        for i in range(2):
            change = found[:, 2 + i] - found[:, i]
            error = change.std(ddof=1) / np.sqrt(REPETITIONS)
            cells += [f"{found[:, i].mean():.4f}"]
            cells += [f"{found[:, 2 + i].mean():.4f} ({change.mean():+.4f} ± {error:.4f})"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
