"""The paper's simulation: test errors and sparsity, beside the published figures.

Slow (`make test-all`), and short: few seeds, folds and settings. The tables of docs/method.md are
printed by the whole of it:

    FCGBOOST_WHOLE=1 python -m pytest tests/contracts/test_simulation.py -m slow -rA
"""

import os

import numpy as np
import pytest

from fcgboost import (
    FCGBoostClassifier,
    GaussDictionary,
    PolynomialDictionary,
    ReluDictionary,
    SigmoidDictionary,
)
from fcgboost.datasets import make_simulation

pytestmark = pytest.mark.slow

IS_WHOLE = "FCGBOOST_WHOLE" in os.environ
N_SEEDS, N_FOLDS, N_REPETITIONS = (20, 5, 10) if IS_WHOLE else (6, 3, 4)
DEGREES, SLOPES = (range(1, 11), (1.0, 5.0, 10.0, 20.0)) if IS_WHOLE else ((3, 5, 7), (5.0, 10.0))

# No constant and no standardisation, as in the paper's simulations.
PAPER = {"fit_intercept": False, "standardize": False}

GRIDS = {
    "gauss": [GaussDictionary(width=width) for width in (0.1, 0.2, 0.35, 0.5, 1.0, 5.0)],
    # <x, c> / 2, the mean over the two coordinates.
    "polynomial": [PolynomialDictionary(degree=p, q=2.0) for p in DEGREES],
    # <x, c>, the paper's own.
    "polynomial, q = 1": [PolynomialDictionary(degree=p, q=1.0) for p in DEGREES],
    "sigmoid": [SigmoidDictionary(slope_range=slope) for slope in SLOPES],
    "relu": [ReluDictionary()],
}
# q = 2 was picked after a look at test errors of several variants on seeds 0 to 19, so it is
# judged on seeds that had no part in that.
SEEDS = {"polynomial": range(100, 100 + N_SEEDS)}
UNIFORM = {"noise": "uniform", "level": 0.3}
OUTLIER = {"noise": "outlier", "tol": 0.3, "ratio": 0.4}

# Dictionary, noise, the mean test error that must be reached, the one the paper prints.
CELLS = [
    pytest.param("relu", UNIFORM, 0.042, 0.0335, id="relu-uniform"),
    pytest.param("gauss", UNIFORM, 0.045, 0.0418, id="gauss-uniform"),
    pytest.param("polynomial", UNIFORM, 0.052, 0.0425, id="polynomial-uniform"),
    pytest.param("polynomial, q = 1", UNIFORM, 0.052, 0.0425, id="polynomial-q1-uniform"),
    pytest.param("sigmoid", UNIFORM, 0.048, 0.0597, id="sigmoid-uniform"),
    pytest.param("relu", OUTLIER, 0.055, 0.0380, id="relu-outlier"),
    pytest.param("gauss", OUTLIER, 0.065, 0.0450, id="gauss-outlier"),
    pytest.param("polynomial", OUTLIER, 0.052, 0.0608, id="polynomial-outlier"),
]
if IS_WHOLE:
    # Printed, not judged.
    CELLS += [
        pytest.param("polynomial, q = 1", OUTLIER, 1.0, 0.0608, id="polynomial-q1-outlier"),
        pytest.param("sigmoid", OUTLIER, 1.0, 0.0629, id="sigmoid-outlier"),
    ]


def simulate(seed: int, noise: dict) -> tuple[np.ndarray, ...]:
    train = make_simulation(1000, random_state=seed, **noise)
    test = make_simulation(1000, noise=None, random_state=10_000 + seed)
    return (*train, *test)


def search(name: str, n_folds: int, seed: int, X: np.ndarray, y: np.ndarray) -> FCGBoostClassifier:
    """Choose dictionary and steps by folds, and fit them to all rows."""
    fits = [
        FCGBoostClassifier(one, cv=n_folds, ensemble=False, random_state=seed, **PAPER).fit(X, y)
        for one in GRIDS[name]
    ]
    return max(fits, key=lambda fit: fit.oof_score_)


@pytest.mark.parametrize(("name", "noise", "bound", "published"), CELLS)
def test_cross_validated_test_error_is_as_low_as_promised(name, noise, bound, published):
    errors, atoms = [], []
    # Bells come so near their bounds that six seeds do not tell.
    n_seeds, n_folds = (20, 5) if name == "gauss" else (N_SEEDS, N_FOLDS)
    for seed in SEEDS.get(name, range(n_seeds)):
        X, y, X_test, y_test = simulate(seed, noise)
        found = search(name, n_folds, seed, X, y)
        errors.append(1.0 - found.score(X_test, y_test))
        atoms.append(found.n_atoms_)
    mean, standard_error = np.mean(errors), np.std(errors, ddof=1) / np.sqrt(len(errors))
    print(
        f"\n{name}, {noise['noise']} noise: test error {mean:.4f} ± {standard_error:.4f} "
        f"({np.mean(atoms):.1f} atoms), published {published:.4f}, bound {bound}"
    )
    assert mean <= bound


N_STEPS, N_STEPS_OF_OTHERS = (500, 5000) if IS_WHOLE else (100, 600)
SCHEMES = ["original", "shrinkage", "truncation", "epsilon", "rescaled"]


def atoms_to_reach(scheme: str, width: float, seed: int, goal: float | None) -> tuple[int, float]:
    """Give the distinct atoms at the first step with a test error of at most `goal`, and the best
    test error along the path; all atoms held at the end where the goal is not reached."""
    X, y, X_test, y_test = simulate(seed, UNIFORM)
    classifier = FCGBoostClassifier(
        GaussDictionary(width=width, centers="box"),
        scheme=scheme,
        selection="all",
        n_candidates=10_000,
        max_iter=N_STEPS if scheme == "fully_corrective" else N_STEPS_OF_OTHERS,
        tol=0.0,
        random_state=seed,
        **PAPER,
    )
    if goal is not None:
        classifier.set_callbacks(lambda step: step.validation_score >= 1.0 - goal)
    # The test set is watched, not used: this is sim4's printed rule.
    trace = classifier.fit(X, y, X_val=X_test, y_val=y_test).trace_
    accuracies = trace.column("validation_score")
    if goal is None:
        first = int(np.argmax(accuracies >= accuracies.max() - 0.005))
    else:
        first = len(trace) - 1
    return trace[first].n_atoms, 1.0 - float(accuracies.max())


@pytest.mark.parametrize("width", [0.35, 0.2] if IS_WHOLE else [0.35])
def test_other_schemes_need_at_least_three_times_as_many_atoms(width):
    atoms = {scheme: [] for scheme in ["fully_corrective", *SCHEMES]}
    for seed in range(N_REPETITIONS):
        n_atoms, best = atoms_to_reach("fully_corrective", width, seed, None)
        atoms["fully_corrective"].append(n_atoms)
        for scheme in SCHEMES:
            atoms[scheme].append(atoms_to_reach(scheme, width, seed, best + 0.005)[0])
    means = {scheme: float(np.mean(counts)) for scheme, counts in atoms.items()}
    ratios = {scheme: means[scheme] / means["fully_corrective"] for scheme in SCHEMES}
    print(f"\nGauss, sigma = {width}: atoms {means}, ratios {ratios}")
    if width == 0.35:
        assert min(ratios.values()) >= 3.0


def test_without_a_ridge_long_paths_overfit_and_with_it_they_do_not():
    errors = {}
    for l2 in (0.0, 1e-3):
        paths = []
        for seed in range(N_REPETITIONS):
            X, y, X_test, y_test = simulate(seed, UNIFORM)
            classifier = FCGBoostClassifier("relu", l2=l2, random_state=seed, **PAPER).fit(X, y)
            stages = list(classifier.staged_predict(X_test))
            paths.append([np.mean(stages[k - 1] != y_test) for k in (7, 13, 65)])
        errors[l2] = np.mean(paths, axis=0)
        print(f"\nReLU, lambda = {l2}: test error {errors[l2].round(4)} at k = 7, 13, 65")
    assert errors[0.0][2] > 2.0 * errors[0.0].min()
    assert errors[1e-3][2] < errors[1e-3][0]
