"""Small fits to noisy data, of two classes or three."""

import numpy as np

from fcgboost import (
    FCGBoostClassifier,
)
from fcgboost.datasets import make_simulation


def noisy(n_samples=150, seed=0):
    return make_simulation(n_samples, noise="uniform", level=0.25, random_state=seed)


def three_classes(n_samples=150):
    X, _ = noisy(n_samples)
    flips = np.random.default_rng(0).random(n_samples) < 0.2
    return X, (np.digitize(X[:, 1], [0.3, 0.7]) + flips) % 3


def make(**changes):
    return FCGBoostClassifier(
        **{"dictionary": "gauss", "max_iter": 12, "random_state": 0, **changes}
    )


DICTIONARIES = ["gauss", "polynomial", "sigmoid", "relu"]
