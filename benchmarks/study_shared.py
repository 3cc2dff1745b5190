"""Classes that share their atoms beside classes that each have their own.

Half of the rows train, a quarter chooses the number of steps (and the ridge of a preset), a quarter
tests; three times, of few rows five times. In a step every class chooses an atom: it alone takes
it, or all take the three best. All is as by default; single families also have half the steps
("half"). Seconds are the processor's. Differences of accuracies are to one against the rest on the
same splits, with a standard error.

Run all of it, or some data sets, or some dictionaries of one:

    python -m benchmarks.study_shared [data set] [dictionary]
"""

import math
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.model_selection import train_test_split

from fcgboost import FCGBoostClassifier, theory_steps

# Of so many rows the splits are more, because each says less.
REPETITIONS, REPETITIONS_OF_FEW, FEW_ROWS = 3, 5, 500
# What the classes do, and the longest path of a single family in multiples of k0.
VARIANTS: dict[str, tuple[Any, float]] = {
    "one_vs_rest": ("one_vs_rest", 5.0),
    "shared": ("shared", 5.0),
    "half": ("shared", 2.5),
}
# Names in the table, and what they stand for.
DICTIONARIES: dict[str, dict[str, Any]] = {
    "relu": {"dictionary": "relu", "selection": "sampled"},
    "gauss": {"dictionary": "gauss", "selection": "sampled"},
    "learned relu": {"dictionary": "relu", "selection": "learned"},
    "auto": {"dictionary": "auto"},
    "compact": {"dictionary": "compact"},
}
# Those that choose their number of steps.
PRESETS = ("auto", "compact")
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


class Result(NamedTuple):
    """What is measured of one fit."""

    atoms: float
    numbers: float
    seconds: float
    accuracy: float
    brier: float


def load(name: str) -> tuple[Any, Any]:
    """Give rows and labels."""
    if name in SYNTHETIC:
        return make_classification(**SYNTHETIC[name], random_state=0)  # type: ignore[no-any-return]
    loaders = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
    return loaders[name](return_X_y=True)  # type: ignore[no-any-return]


def split(X: Any, y: Any, seed: int) -> tuple[tuple[Any, Any], tuple[Any, Any], tuple[Any, Any]]:
    """Give half of the rows to train, a quarter to choose by and a quarter to test, with labels."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=seed, stratify=y)
    X, X_val, y, y_val = train_test_split(X, y, test_size=1 / 3, random_state=seed, stratify=y)
    return (X, y), (X_val, y_val), (X_test, y_test)


def measure(X: Any, y: Any, name: str, variant: str, seed: int) -> Result:
    """Fit once."""
    (X, y), (X_val, y_val), (X_test, y_test) = split(X, y, seed)
    multiclass, multiple = VARIANTS[variant]
    limit = "auto" if name in PRESETS else math.ceil(multiple * theory_steps(len(y)))
    model = FCGBoostClassifier(
        **DICTIONARIES[name], max_iter=limit, multiclass=multiclass, random_state=seed
    )
    start = time.process_time()
    model.fit(X, y, X_val=X_val, y_val=y_val)
    seconds = time.process_time() - start
    numbers = model.atoms_.size + np.count_nonzero(model.atom_coef_) + len(model.intercept_)
    truth = y_test[:, None] == model.classes_
    brier = np.mean(np.sum((model.predict_proba(X_test) - truth) ** 2, axis=1))
    accuracy = 100.0 * model.score(X_test, y_test)
    return Result(model.n_atoms_, numbers, seconds, accuracy, float(brier))


def compare(data: str, name: str) -> None:
    """Print the rows of one data set and one dictionary."""
    X, y = load(data)
    seeds = range(REPETITIONS_OF_FEW if len(y) <= FEW_ROWS else REPETITIONS)
    # What is compiled on the way is compiled before.
    measure(X[:300], y[:300] % 3, name, "shared", 0)
    apart = np.zeros(0)
    for variant in VARIANTS:
        if variant == "half" and name in PRESETS:
            continue
        results = [measure(X, y, name, variant, seed) for seed in seeds]
        mean = Result(*np.mean(results, axis=0).tolist())
        accuracies = np.array([result.accuracy for result in results])
        apart = accuracies if variant == "one_vs_rest" else apart
        lead = accuracies - apart
        error = lead.std(ddof=1) / math.sqrt(len(lead))
        leads = "" if variant == "one_vs_rest" else f"{lead.mean():+.2f} ± {error:.2f}"
        cells = [data, name, variant, f"{mean.atoms:.0f}", f"{mean.numbers:.0f}"]
        cells += [f"{mean.seconds:.2f}", f"{mean.accuracy:.2f}", leads, f"{mean.brier:.4f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


def main(*wanted: str) -> None:
    """Print a table of means."""
    print("| data | dictionary | classes | atoms | numbers | seconds | accuracy | lead | Brier |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|")
    for data in DATA_SETS:
        for name in DICTIONARIES:
            if all(word in (data, name) for word in wanted):
                compare(data, name)


if __name__ == "__main__":
    main(*sys.argv[1:])
