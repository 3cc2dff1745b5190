"""What the demo says."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np

from fcgboost.datasets import bayes_boundary
from paper.demo import methods
from paper.demo.methods import Array, Data, Result

_LINE = "{:<20}{:<33}{:>11}{:>17}{:>6} {:<16}{:>8}{:>9}"


def print_beginning(data: Data) -> None:
    """Say what is about to happen, and print the head of the table."""
    sizes = f"{len(data.y)} training points, {len(data.y_test)} test points"
    print(f"{sizes}; five folds; one thread\n")
    head = ("method", "chosen setting", "test error", f"{methods.N_MORE_DRAWS} more draws")
    print(_LINE.format(*head, "size", "", "fit", "tuning"), flush=True)


def print_row(r: Result) -> None:
    """Print one line of the table."""
    draws = f"{100 * r.more_errors.mean():.2f} ± {100 * r.more_errors.std():.2f}%"
    times = (f"{r.fit_seconds:.3f} s", f"{r.tune_seconds:.1f} s")
    errors = (f"{r.error:.2%}", draws)
    print(_LINE.format(r.name, r.setting, *errors, r.size, r.unit, *times), flush=True)


def print_reading(results: Sequence[Result], data: Data) -> None:
    """Say what the table shows, in numbers of this very run."""
    n_draws = len(results[0].more_errors)
    flipped = np.mean(data.y != np.where(data.X[:, 1] >= bayes_boundary(data.X[:, 0]), 1.0, -1.0))
    sizes = [r.size for r in results if r.unit == "atoms"]
    svm = next(r for r in results if r.unit == "support vectors")
    best = min(results, key=lambda r: r.error)
    steady = min(results, key=lambda r: float(r.more_errors.mean()))
    uncertainty = steady.more_errors.std(ddof=1) / np.sqrt(n_draws)
    sentences = [
        f"{flipped:.1%} of the training labels are wrong, none of the test labels is.",
        f"On this draw {best.name} has the lowest test error, {best.error:.2%}.",
        f"One draw says little: on {n_draws} more, with the settings kept, {steady.name} has "
        f"the lowest mean, {steady.more_errors.mean():.2%} (± is the standard deviation over "
        f"draws, so the standard error of that mean is {uncertainty:.2%}), and the lowest error of "
        f"a draw goes to {_winners(results)}.",
        f"FCGBoost's models are sums of {min(sizes)} to {max(sizes)} atoms; the SVM's is one of "
        f"{svm.size} kernels: {svm.size / len(data.y):.0%} of the noisy training points are "
        "support vectors.",
        "AdaBoost's trees are stumps, the forest has 100 trees; nodes are counted over all trees, "
        "leaves among them.",
    ]
    print("\n" + textwrap.fill(" ".join(sentences), width=100))


def _winners(results: Sequence[Result]) -> str:
    """Count the draws on which each method has the lowest error."""
    wins = np.bincount(np.argmin([r.more_errors for r in results], axis=0), minlength=len(results))
    return ", ".join(f"{r.name} {n}" for r, n in zip(results, wins, strict=True) if n)


def print_path(curves: Mapping[str, Array], k0: int) -> None:
    """Say how the test error goes on after k0 steps."""
    print(f"\nOne fit gives every number of steps. Test error after k0 = {k0} steps and later:")
    for name, curve in curves.items():
        ks = [min(k, len(curve)) for k in (k0, 5 * k0, 10 * k0)]
        print(f"  {name:<12}" + ", ".join(f"{curve[k - 1]:.2%} at {k}" for k in ks))
