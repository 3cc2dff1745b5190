"""Rows and samples of them for tests of dictionaries."""

import numpy as np

from fcgboost.dictionaries import (
    Sample,
)


def make_data(seed: int = 0, m: int = 40, d: int = 3) -> np.ndarray:
    """Give rows with zeros in them, on columns of different place and size."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d)) * [0.5, 2.0, 30.0][:d] + [1.0, -3.0, 10.0][:d]
    X[rng.random((m, d)) < 0.3] = 0.0
    return X


def make_sample(X: np.ndarray, shift: np.ndarray, scale: np.ndarray, n: int = 12) -> Sample:
    """Give the first rows of X and its bounding box."""
    Z = (X - shift) / scale
    variance, mean_square = float(Z.var(axis=0).mean()), float((Z**2).sum(axis=1).mean())
    return Sample(X[:n], shift, scale, X.min(axis=0), X.max(axis=0), variance, mean_square)
