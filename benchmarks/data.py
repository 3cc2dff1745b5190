"""The rows that the figures are measured on: public sets where they are there, and made-up ones."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from benchmarks.measure import MissingError
from paper.data import fetch_uci

Array = NDArray[np.float64]

# A quick run asks whether the scripts work, on any machine: it never looks for a public set.
QUICK_ROWS = 600


class Split(NamedTuple):
    """A random half of a set for training, the other half for testing."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


def make_rows(n_samples: int, n_features: int = 10, seed: int = 0) -> tuple[Array, Array]:
    """Draw normal rows, and labels on both sides of a curved surface with one in ten flipped."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n_samples, n_features))
    side = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, -1]
    y = np.where(side > 0.0, 1.0, -1.0)
    y[generator.random(n_samples) < 0.1] *= -1.0
    return X, y


def load(name: str, quick: bool = False) -> tuple[Array, Array]:
    """Give a public set, or for a quick run a few made-up rows."""
    if quick:
        return make_rows(QUICK_ROWS)
    try:
        return fetch_uci(name)
    except (FileNotFoundError, ImportError) as error:
        print(error, file=sys.stderr)
        reason = "is not on this machine and cannot be fetched; see docs/data.md"
        raise MissingError(f"the set {name} {reason}") from error


def halves(X: Array, y: Array, seed: int) -> Split:
    """Split rows at random into two halves."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=seed)
    return Split(X_train, y_train, X_test, y_test)
