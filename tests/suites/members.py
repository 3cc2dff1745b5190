"""Ensembles of small data, and naive references of what their members say."""

from typing import Any

import numpy as np

from fcgboost import FCGBoostClassifier, hashing
from fcgboost.checks import draw_key
from fcgboost.datasets import make_simulation


def noisy(n_rows: int = 120, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_simulation(n_rows, noise="uniform", level=0.2, random_state=seed)
    if n_classes == 2:
        return X, y
    flips = np.random.default_rng(seed).random(n_rows) < 0.2
    return X, (np.digitize(X[:, 1], [0.3, 0.7]) + flips) % 3


class Keyed(np.random.RandomState):
    """Draws one number again and again."""

    def __init__(self, number: int) -> None:
        super().__init__(0)
        self.number = number

    def randint(self, *args: Any, **options: Any) -> int:
        return self.number


def keys_of(model: FCGBoostClassifier, n_folds: int, n_kinds: int) -> list[list[int]]:
    """Return the seeds of the members, by kind and fold, of a classifier of a fixed seed."""
    key = draw_key(draw_key(model.random_state))
    return [
        [hashing.derive(key, fold * n_kinds + kind) >> 33 for fold in range(n_folds)]
        for kind in range(n_kinds)
    ]


def hashes_of(X: np.ndarray, random_state: int) -> list[int]:
    """Return the keyed hashes of rows."""
    key = draw_key(random_state)
    return hashing.keyed(hashing.fingerprint(X), key).tolist()


def folds_by_hash(X: np.ndarray, y: np.ndarray, n_folds: int, random_state: int) -> np.ndarray:
    """Return the fold of each row: its rank in its class plus the class; -1 if it is alone."""
    hashes = hashes_of(X, random_state)
    codes = np.unique(y, return_inverse=True)[1].tolist()
    of_class = [
        sorted({h for h, own in zip(hashes, codes, strict=True) if own == code})
        for code in range(max(codes) + 1)
    ]
    folds = [
        (of_class[c].index(h) + c) % n_folds if len(of_class[c]) > 1 else -1
        for h, c in zip(hashes, codes, strict=True)
    ]
    # Without empty ones.
    filled = sorted({*folds} - {-1})
    return np.array([filled.index(fold) if fold >= 0 else -1 for fold in folds])


def decision_of_fold(model: FCGBoostClassifier, X: np.ndarray, fold: int, n: int) -> np.ndarray:
    """Return the weighted mean of the members that one of n folds judges, kind by kind."""
    members = model.members_[fold::n]
    total = sum(member.weight for member in members)
    decision = sum(member.weight / total * member.decision(X) for member in members)
    return decision[:, 0] if len(model.classes_) == 2 else decision


def out_of_fold(model: FCGBoostClassifier, X: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Return the decision values of each row by the members of its fold; NaN without one."""
    n_folds = int(folds.max()) + 1
    n_classes = len(model.classes_)
    expected = np.full(len(X) if n_classes == 2 else (len(X), n_classes), np.nan)
    for fold in range(n_folds):
        rows = folds == fold
        expected[rows] = decision_of_fold(model, X[rows], fold, n_folds)
    return expected
