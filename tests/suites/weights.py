"""Rows that are counted: each has a whole number as its weight."""

import numpy as np

from fcgboost.datasets import make_simulation


def counted(n_samples=60, n_classes=2):
    """Give rows, labels and how often each row counts, some of them not at all."""
    X, y = make_simulation(n_samples, noise="uniform", level=0.2, random_state=1)
    if n_classes == 3:
        y = np.digitize(X[:, 1], [0.3, 0.7])
    return X, y, np.random.default_rng(1).integers(0, 4, size=n_samples)
