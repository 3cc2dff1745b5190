"""Classes that share their atoms beside classes that each have their own.

Half of the rows train, a quarter chooses the number of steps, a quarter tests; three times. A step
gives one atom to every class of its own, or one to all of them together: so shared paths may be
three times as long. Seconds are the processor's.
"""

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier, theory_steps

REPETITIONS = 3
# How many times k0 steps a path may have.
VARIANTS = {"one_vs_rest": ("one_vs_rest", 5), "shared": ("shared", 5), "longer": ("shared", 15)}


class Result(NamedTuple):
    """What is measured of one fit."""

    atoms: float
    numbers: float
    seconds: float
    accuracy: float
    brier: float


def data_sets() -> Iterator[tuple[str, Any, Any]]:
    """Give names, rows and labels."""
    for name, load in (("iris", load_iris), ("wine", load_wine), ("digits", load_digits)):
        yield name, *load(return_X_y=True)
    # As many features and classes as the forest covers, as unequal, and half as clear.
    X, y = make_classification(
        n_samples=8_000,
        n_features=54,
        n_informative=20,
        n_redundant=10,
        n_classes=7,
        n_clusters_per_class=3,
        weights=[0.36, 0.49, 0.06, 0.01, 0.02, 0.03, 0.03],
        class_sep=1.0,
        random_state=0,
    )
    yield "synthetic", X, y


def measure(X: Any, y: Any, dictionary: str, variant: str, seed: int) -> Result:
    """Fit once."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=seed, stratify=y)
    X, X_val, y, y_val = train_test_split(X, y, test_size=1 / 3, random_state=seed, stratify=y)
    multiclass, multiple = VARIANTS[variant]
    model = FCGBoostClassifier(
        dictionary,
        selection="sampled",
        max_iter=multiple * theory_steps(len(y)),
        multiclass=multiclass,
        random_state=seed,
    )
    start = time.process_time()
    model.fit(X, y, X_val=X_val, y_val=y_val)
    seconds = time.process_time() - start
    numbers = model.atoms_.size + np.count_nonzero(model.coef_) + len(model.intercept_)
    truth = y_test[:, None] == model.classes_
    brier = np.mean(np.sum((model.predict_proba(X_test) - truth) ** 2, axis=1))
    return Result(model.n_atoms_, numbers, seconds, model.score(X_test, y_test), float(brier))


def main() -> None:
    """Print a table of means."""
    print("| data | dictionary | classes | atoms | numbers | seconds | accuracy | Brier score |")
    print("|---|---|---|---|---|---|---|---|")
    for name, X, y in data_sets():
        for dictionary in ("relu", "gauss"):
            for variant in VARIANTS:
                results = [measure(X, y, dictionary, variant, s) for s in range(REPETITIONS)]
                mean = Result(*np.mean(results, axis=0).tolist())
                cells = [name, dictionary, variant, f"{mean.atoms:.0f}", f"{mean.numbers:.0f}"]
                cells += [f"{mean.seconds:.1f}", f"{100 * mean.accuracy:.2f}", f"{mean.brier:.4f}"]
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
