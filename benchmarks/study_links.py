"""Probabilities of several classes: by the formula of the loss, and by the link that is fitted.

The data and the splits are those of `study_shared`, five of them; the validation part chooses
ridge, steps and link. The model is the same, only its probabilities differ.
"""

from typing import Any

import numpy as np

from benchmarks.study_shared import DATA_SETS, load, split
from fcgboost import FCGBoostClassifier
from fcgboost.losses import class_probabilities
from fcgboost.scores import log_losses

REPETITIONS = 5


def measure(X: Any, y: Any, seed: int) -> list[float]:
    """Give Brier score and log-loss by the formula of the loss, and both by the link."""
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
