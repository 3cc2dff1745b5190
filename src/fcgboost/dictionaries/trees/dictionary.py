"""The dictionary of trees."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from fcgboost.arrays import host
from fcgboost.dictionaries.base import Array, GrownDictionary, Sample, Scaling
from fcgboost.dictionaries.trees.binning import MOST_THRESHOLDS
from fcgboost.dictionaries.trees.growing import Rules, TreeGrower
from fcgboost.dictionaries.trees.nodes import FIELDS, N_CODES, BoolArray, nodes_of, values_of
from fcgboost.parts import check_count, check_not_negative, check_positive, refuse

# Levels that shallow trees have less: as good beside other families, and a tenth of the size.
_SHALLOW = 3
_DEEPEST = 30


class TreeDictionary(GrownDictionary):
    """Regression trees, grown level by level on the residual; a row is the nodes of a tree.

    A node is (feature, value, left, kind). Feature -1: a leaf with that value. Else inputs x with
    x <= value go to node `left`, others to the one behind it. Kind 1 more: missing values go left.
    Kind 2 more: the value is a set of categories, whose codes are the bits that are set.

    A split maximises S_l^2 / (n_l + s) + S_r^2 / (n_r + s), where S and n are the sums of residuals
    and weights of both sides over the rows that have a residual, and s is the smoothing. Missing
    values go to the better side; where there were none, to that of more rows. Categories are
    ordered by their smoothed mean residuals, and the first ones go left. The value of a leaf is
    S / (n + s), times what makes the largest one the peak.

    Parameters
    ----------
    depth : int, "auto" or "shallow", default="auto"
        Levels of splits. "auto": half the binary logarithm of the number of rows, rounded;
        "shallow": three fewer.
    min_leaf : float, default=5
        The smallest number of rows of a leaf, in weights.
    smoothing : float, default=10.0
        s, as many rows as speak for 0.
    peak : float, default=0.1
        The largest absolute value. A column so small makes the ridge on it 100 times as strong,
        which keeps trees from over-fitting under full correction.
    n_thresholds : int, default=250
        The most thresholds of a feature, half at quantiles of the rows, half at quantiles of the
        distinct values; at most 254.
    categorical_features : array-like of bool or int, or None, default=None
        A mask, or the indices of features that hold the codes 0, ..., 51 of categories. Any other
        value counts as missing there; a classifier refuses to be fitted to larger ones.
    scaling : {"none", "max", "norm"}, default="none"
    """

    takes_missing = True

    def __init__(
        self,
        depth: int | Literal["auto", "shallow"] = "auto",
        min_leaf: float = 5,
        smoothing: float = 10.0,
        peak: float = 0.1,
        n_thresholds: int = 250,
        categorical_features: Any = None,
        scaling: Scaling = "none",
    ) -> None:
        self.depth = depth
        self.min_leaf = min_leaf
        self.smoothing = smoothing
        self.peak = peak
        self.n_thresholds = n_thresholds
        self.categorical_features = categorical_features
        self.scaling = scaling

    def check_parameters(self) -> None:
        super().check_parameters()
        check_positive(self, "min_leaf", "peak")
        check_count(self, "n_thresholds")
        if self.n_thresholds > MOST_THRESHOLDS:
            refuse(self, "n_thresholds", f"at most {MOST_THRESHOLDS}")
        if self.depth != "auto" and self.depth != "shallow":
            check_count(self, "depth")
            if self.depth > _DEEPEST:
                refuse(self, "depth", f"at most {_DEEPEST}")
        check_not_negative(self, "smoothing")
        listed = np.asarray(() if self.categorical_features is None else self.categorical_features)
        if listed.ndim != 1 or (listed.dtype.kind not in "bui" and listed.size):
            wanted = "None, a list of truth values or a list of indices of features"
            refuse(self, "categorical_features", wanted)

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        """Return one tree of one leaf: others are grown."""
        return np.array([[-1.0, float(self.peak), 0.0, 0.0]])

    def grower(self, sample: Sample) -> TreeGrower:
        """Return what grows trees; raise a ValueError if there are no such categorical features."""
        is_category = self.categories(sample.n_features)
        return TreeGrower(self._rules, is_category, int(self.n_thresholds))

    def _rules(self, n_rows: float) -> Rules:
        depth = self.depth
        if isinstance(depth, str):
            fewer = _SHALLOW if depth == "shallow" else 0
            depth = min(_DEEPEST, max(1, round(math.log2(n_rows) / 2.0) - fewer))
        return int(depth), float(self.min_leaf), float(self.smoothing), float(self.peak)

    def check_rows(self, X: Any) -> None:
        """Refuse codes of categories that cannot be told apart and would count as missing."""
        for column in np.flatnonzero(self.categories(X.shape[1])):
            values = host(X[:, [column]]).ravel()
            bad = values[(values >= N_CODES) & (values == np.floor(values))]
            if len(bad):
                raise ValueError(
                    f"Column {column} is categorical and has the code {bad[0]:g}: codes are the "
                    f"whole numbers from 0 to {N_CODES - 1}, or NaN. Encode it (for example with "
                    "sklearn.preprocessing.OrdinalEncoder(max_categories=...)), or leave it out of "
                    "categorical_features."
                )

    def categories(self, n_features: int) -> BoolArray:
        is_category = np.zeros(n_features, bool)
        if self.categorical_features is None:
            return is_category
        listed = np.asarray(self.categorical_features)
        is_mask = listed.dtype.kind == "b"
        fits = len(listed) == n_features if is_mask else (np.abs(listed + 0.5) < n_features).all()
        if not fits:
            refuse(self, "categorical_features", f"for {n_features} features")
        is_category[listed if is_mask else listed.astype(np.int64)] = True
        return is_category

    def evaluate(self, X: Any, atoms: Any, scale: Array) -> Array:
        return self.prepared(atoms, scale)(X)

    def prepared(self, atoms: Any, scale: Array) -> Callable[[Any], Array]:
        return values_of(atoms, len(scale))

    def scaled(self, atoms: Any, factors: Array) -> Array:
        """Return trees whose leaves are so many times as large."""
        nodes = nodes_of(atoms).copy()
        nodes[:, :, 1] *= np.where(nodes[:, :, 0] == -1.0, np.asarray(factors)[:, None], 1.0)
        return nodes.reshape(len(nodes), -1)

    def n_parameters(self, n_features: int) -> int:
        """Return the numbers of a full tree."""
        depth = _DEEPEST if isinstance(self.depth, str) else int(self.depth)
        return int(FIELDS * (2 ** (depth + 1) - 1))

    def trimmed(self, atoms: Any) -> Any:
        """Return rows up to the end of the longest tree, which is a leaf."""
        used = np.flatnonzero((nodes_of(atoms) != 0.0).any(axis=(0, 2)))
        return atoms[:, : FIELDS * (int(used.max(initial=0)) + 1)]
