"""Averages of members that differ: in family, weight, length, and encodings of a table."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from fcgboost import (
    FCGBoostClassifier,
    GaussDictionary,
    ReluDictionary,
    TreeDictionary,
    UnionDictionary,
)

FAMILIES = UnionDictionary([ReluDictionary(), TreeDictionary(), GaussDictionary()])
FOREST = TreeDictionary(6, max_leaf_nodes=20, corrects_leaves=True, min_leaf=2)


def average_of(fits: list[FCGBoostClassifier], weights: list[float]) -> FCGBoostClassifier:
    """Return a classifier whose members are the paths of others, fitted to the same rows."""
    whole = copy.copy(fits[0])
    pairs = zip(fits, weights, strict=True)
    whole.members_ = tuple(replace(fit.members_[0], weight=weight) for fit, weight in pairs)
    return whole


def mixed_fits(X: Any, y: Any) -> list[FCGBoostClassifier]:
    """Fit families and forests, twice each, to different labels: shares of categories differ."""
    labels = np.asarray(y)
    swapped = np.where(np.arange(len(labels)) % 7 == 0, np.roll(labels, 1), labels)
    fits = []
    for seed, target in enumerate((labels, swapped)):
        for dictionary, max_iter in ((FAMILIES, 9), (FOREST, 4)):
            fit = FCGBoostClassifier(
                dictionary, l2=0.1 + seed, max_iter=max_iter + seed, random_state=seed
            )
            fits.append(fit.fit(X, target))
    return fits


def mixed_average(X: Any, y: Any) -> FCGBoostClassifier:
    """Return an average of families (weight 0.4) and forests (weight 0.6)."""
    return average_of(mixed_fits(X, y), [0.1, 0.4, 0.3, 0.2])
