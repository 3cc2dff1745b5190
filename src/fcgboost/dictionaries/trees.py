"""Regression trees grown on the residual, level by level or best split first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fcgboost import _kernels
from fcgboost._kernels import Rules, WeightUnit, walks
from fcgboost.arrays import (
    Array,
    Codes,
    Flags,
    Matrix,
    Tensor,
    is_sparse,
    is_tensor,
    namespace,
    to_device_of,
    to_numpy,
)
from fcgboost.dictionaries.base import Grower, GrownDictionary, Sample, ValuesOf
from fcgboost.dictionaries.bins import (
    N_BINS,
    N_CODES,
    bin_rows,
    is_code,
)
from fcgboost.dictionaries.nodes import (
    CATEGORIES,
    FIELDS,
    MISSING_LEFT,
    WORD,
    as_rows,
    nodes_of,
    sets_of,
)
from fcgboost.parts import check_count, check_not_negative, check_positive, refuse

# "shallow" trees have this many levels fewer: as good among other families, at a tenth of the size.
_SHALLOW = 3
_DEEPEST = 30
# Leaf numbers take at most two bytes; the last number means none.
_MOST_LEAVES = 2**16 - 1
# The largest size of all histograms in memory (256 MiB).
_MOST_NUMBERS = 1 << 25
# The unit of weight is found while a tree grows.
_UNKNOWN = WeightUnit()
#: From rows and trees on a device, and a depth: the nodes reached, of shape (n_rows, n_trees).
Walk: TypeAlias = Callable[[Any, Array, int], Any]
# Values per pass on a device.
_ENTRIES = 1 << 22


@dataclass(eq=False, repr=False)
class TreeDictionary(GrownDictionary):
    """Regression trees grown on the residual; a row is the nodes of a tree, then zeros.

    A node is (feature, value, left, kind). Feature -1 is a leaf with that value. Otherwise inputs
    x <= value go to node `left`, others to the node after it. Kind is a sum: 1, missing values go
    left; 2, the value is a set of categories, one bit per code; 4 w, the set continues at place w,
    with codes from 52 on, in four numbers, each -2 minus 52 bits.

    A split maximises S_l^2 / (n_l + s) + S_r^2 / (n_r + s), where S and n are the sums of residuals
    and weights of each side, over the rows that have a residual (over all rows if leaves are
    corrected), and s is the smoothing. With a Poisson loss rows weigh as much as the loss is
    curved there. Missing values go to the better side, or to the larger one
    if there were none. Categories are ordered by their smoothed mean residuals; the first ones go
    left. The value of a leaf is S / (n + s), scaled so that the largest is the peak.

    Parameters
    ----------
    depth : int, "auto" or "shallow", default="auto"
        Levels of splits. "auto" is log2(number of rows) / 2, rounded; "shallow" is three fewer.
    min_leaf : float, default=5
        The smallest total weight of the rows in a leaf.
    smoothing : float, default=10.0
        The smoothing s, which acts like that many additional rows with residual 0.
    peak : float, default=0.1
        The largest absolute leaf value. Small values strengthen the ridge penalty, 0.1 by a factor
        of 100, which keeps trees from overfitting under full correction.
    categorical_features : array-like of bool or int, or None, default=None
        A mask or the indices of features that hold category codes 0, ..., 254. Other values count
        as missing; larger codes are an error in fitting.
    max_leaf_nodes : int or None, default=None
        The largest number of leaves, grown best split first. None means no limit, and trees grow
        level by level.
    corrects_leaves : bool, default=False
        Whether full correction refits a coefficient for every leaf instead of one for the tree.
        `peak` then has no effect. Not allowed in a union.
    max_features : int or None, default=None
        Split only this many features, those most often non-zero; None means all. Not allowed with
        `corrects_leaves`.
    """

    takes_missing = True

    depth: int | Literal["auto", "shallow"] = "auto"
    min_leaf: float = 5
    smoothing: float = 10.0
    peak: float = 0.1
    categorical_features: ArrayLike | None = None
    max_leaf_nodes: int | None = None
    corrects_leaves: bool = False
    max_features: int | None = None

    def check_parameters(self) -> None:
        check_positive(self, "min_leaf", "peak")
        if self.depth != "auto" and self.depth != "shallow":
            check_count(self, "depth")
            if self.depth > _DEEPEST:
                refuse(self, "depth", f"at most {_DEEPEST}")
        check_not_negative(self, "smoothing")
        if self.max_leaf_nodes is not None:
            check_count(self, "max_leaf_nodes")
            if not 2 <= self.max_leaf_nodes <= _MOST_LEAVES:
                refuse(self, "max_leaf_nodes", f"None or from 2 to {_MOST_LEAVES}")
        if not isinstance(self.corrects_leaves, bool):
            refuse(self, "corrects_leaves", "True or False")
        if self.max_features is not None:
            check_count(self, "max_features")
            if self.corrects_leaves:
                refuse(self, "max_features", "None if corrects_leaves=True")
        listed = np.asarray(() if self.categorical_features is None else self.categorical_features)
        if listed.ndim != 1 or (listed.dtype.kind not in "bui" and listed.size):
            wanted = "None, a list of booleans or a list of feature indices"
            refuse(self, "categorical_features", wanted)

    def candidates(self, sample: Sample, n: int, key: int) -> Matrix:
        """Return one tree with a single leaf: others are grown."""
        return np.array([[-1.0, float(self.peak), 0.0, 0.0]])

    def grower(self, sample: Sample) -> TreeGrower:
        """Return the grower; raise a ValueError if categorical features do not exist."""
        return TreeGrower(self, sample.rows)

    def levels(self, n_rows: float) -> int:
        """Return the depth of trees for this many rows."""
        if self.depth != "auto" and self.depth != "shallow":
            return int(self.depth)
        fewer = _SHALLOW if self.depth == "shallow" else 0
        return min(_DEEPEST, max(1, round(math.log2(n_rows) / 2.0) - fewer))

    def rules(self, depth: int, unit: WeightUnit = _UNKNOWN) -> Rules:
        """Return the rules for growing a tree; the unit of weight may be filled in later."""
        most = self.max_leaf_nodes or 0
        if self.corrects_leaves and not most and 2**depth > _MOST_LEAVES:
            most = _MOST_LEAVES
        return Rules(
            depth=depth,
            max_leaves=most,
            min_leaf=float(self.min_leaf),
            smoothing=float(self.smoothing),
            peak=float(self.peak),
            unit=unit.size,
            is_exact=unit.is_exact,
            looks_ahead=not self.corrects_leaves,
        )

    def check_rows(self, X: Matrix) -> None:
        """Refuse category codes that are too large, and sparse rows if leaves are corrected."""
        if self.corrects_leaves and is_sparse(X):
            raise ValueError(
                "TreeDictionary: corrects_leaves=True needs dense rows: use X.toarray(), or "
                "corrects_leaves=False."
            )
        for column in np.flatnonzero(self.categories(X.shape[1])):
            values = to_numpy(X[:, [column]]).ravel()
            bad = values[(values >= N_CODES) & (values == np.floor(values))]
            if len(bad):
                raise ValueError(
                    f"Column {column} is categorical and has the code {bad[0]:g}: codes must be "
                    f"whole numbers from 0 to {N_CODES - 1}, or NaN. Encode it, for example with "
                    "sklearn.preprocessing.OrdinalEncoder(max_categories=...), or leave it out of "
                    "categorical_features."
                )

    def categories(self, n_features: int) -> Flags:
        is_category = np.zeros(n_features, bool)
        if self.categorical_features is not None:
            listed = np.asarray(self.categorical_features)
            is_mask = listed.dtype.kind == "b"
            if not is_mask:
                listed = listed.astype(np.int64)
            fits = len(listed) == n_features if is_mask else np.all(abs(listed + 0.5) < n_features)
            if not fits:
                refuse(self, "categorical_features", f"for {n_features} features")
            is_category[listed] = True
        return is_category

    def evaluate(self, X: Matrix, atoms: Matrix, scale: Array) -> Array:
        return self.prepared(atoms, scale)(X)

    def prepared(self, atoms: Matrix, scale: Array) -> ValuesOf:
        """Check the trees once; raise a ValueError if rows are not trees."""
        nodes = nodes_of(atoms)
        checked = walks.check_trees(nodes, len(scale))
        if is_tensor(atoms):
            size = max(1, _ENTRIES // max(1, len(nodes)))
            table = namespace(atoms).as_tensor(nodes, device=atoms.device)
            deepest = int(checked.depths.max(initial=0))

            def values_there(X: Tensor) -> Tensor:
                numbers = namespace(X).arange(len(nodes), device=X.device)
                parts = []
                for rows in X.split(size):
                    reached = _walk(rows, nodes, deepest)
                    parts.append(table[numbers, reached, 1])
                return namespace(X).concatenate(parts).to(X.dtype)

            return values_there

        def values(X: Matrix) -> Array:
            if X.shape[1] != len(scale):
                raise ValueError(f"X has {X.shape[1]} features, not {len(scale)}.")
            trees = checked
            if is_sparse(X):
                # Only the columns in use are made dense.
                features = nodes[:, :, 0]
                used, numbers = np.unique(features.clip(0.0), return_inverse=True)
                numbers = numbers.reshape(features.shape)
                renumbered = nodes.copy()
                renumbered[:, :, 0] = np.where(features < 0.0, features, numbers)
                trees = walks.check_trees(renumbered, len(used))
                X = X[:, used.astype(np.intp)].toarray()
            return walks.walk(X, trees)

        return values

    def n_parameters(self, n_features: int) -> int:
        """Return the size of a full tree."""
        depth = _DEEPEST if isinstance(self.depth, str) else int(self.depth)
        n_splits = min(2**depth, self.max_leaf_nodes or 2**depth) - 1
        return int(FIELDS * (1 + n_splits * (2 if self.categorical_features is None else 3)))

    def n_dense(self, n_features: int) -> int:
        return min(n_features, self.max_features or n_features)

    def leaves(self, X: Matrix, atom: Array, walk: Walk | None = None) -> Matrix:
        """Return the leaf number of each row in one tree; a device may have its own `walk`."""
        nodes = nodes_of(atom)
        tree = walks.check_trees(nodes, X.shape[1])
        numbers = np.cumsum(nodes[0, :, 0] == -1.0) - 1
        if is_tensor(X):
            reached = (walk or _walk)(X, nodes, int(tree.depths[0]))
            return to_device_of(numbers, X)[reached[:, 0]]
        return walks.walk_to_leaves(to_numpy(X), tree, numbers.astype(np.uint16))

    def leaf_values(self, atom: Array) -> Array:
        """Return the leaf values of one tree, in the order of the leaf numbers."""
        (nodes,) = nodes_of(self.trimmed(atom))
        return np.asarray(nodes[nodes[:, 0] == -1.0, 1])

    def bare(self, atoms: Matrix) -> Matrix:
        return _with_leaves(atoms, 0.0) if self.corrects_leaves else atoms

    def with_leaf_values(self, atoms: Matrix, values: Sequence[Array]) -> Matrix:
        return _with_leaves(atoms, np.concatenate(values)) if values else atoms

    def trimmed(self, atoms: Matrix) -> Matrix:
        """Return rows cut to the length of the longest tree."""
        is_used = (nodes_of(atoms) != 0.0).any(axis=(0, 2))
        used = np.flatnonzero(is_used)
        return atoms[:, : FIELDS * (int(used.max(initial=0)) + 1)]


def _with_leaves(atoms: Matrix, values: Array | float) -> Matrix:
    """Return trees with other leaf values, tree by tree and in the order of the leaf numbers."""
    nodes = nodes_of(atoms).copy()
    nodes[nodes[:, :, 0] == -1.0, 1] = values
    return as_rows(nodes)


class WalkedNodes(NamedTuple):
    """The nodes of all trees as rows on a device walk through them."""

    #: The left child; that of a leaf is the leaf itself, which all rows reach from the left.
    left: Tensor
    feature: Tensor
    value: Tensor
    is_missing_right: Tensor
    is_set: Tensor
    #: The categories that go left, if there are any.
    sets: Tensor | None


def walked_nodes(X: Tensor, nodes: Array) -> WalkedNodes:
    """Return the nodes of trees on the device of X."""
    n_trees, n_nodes = nodes.shape[:2]
    flat = nodes.reshape(-1, FIELDS)
    is_leaf = flat[:, 0] == -1.0
    kinds = flat[:, 3].astype(np.int64)
    roots = n_nodes * np.arange(n_trees)
    # Rows stay in a leaf.
    children = np.repeat(roots, n_nodes) + flat[:, 2]
    children = np.where(is_leaf, np.arange(len(flat)), children).astype(np.int64)
    is_set = kinds & CATEGORIES != 0
    sets = sets_of(nodes).reshape(len(flat), -1)
    return WalkedNodes(
        left=to_device_of(children, X),
        feature=to_device_of(flat[:, 0].clip(0.0).astype(np.int64), X),
        value=to_device_of(np.where(is_leaf, np.inf, flat[:, 1]), X),
        is_missing_right=to_device_of(~is_leaf & (kinds & MISSING_LEFT == 0), X),
        is_set=to_device_of(is_set, X),
        sets=to_device_of(sets, X) if is_set.any() else None,
    )


def _walk(X: Matrix, nodes: Array, depth: int) -> Matrix:
    """Walk all rows down all trees, level by level; return the nodes they reach."""
    xp = namespace(X)
    left, feature, value, is_missing_right, is_set, sets = walked_nodes(X, nodes)
    rows = xp.arange(len(X), device=X.device)[:, None]
    root = to_device_of(nodes.shape[1] * np.arange(len(nodes)), X)
    at = root + 0 * rows
    for _ in range(depth):
        x = X[rows, feature[at]]
        is_right = x > value[at].to(x.dtype)
        is_right |= xp.isnan(x) & is_missing_right[at]
        if sets is not None:
            codes = xp.where(is_code(x), x, 0.0).long()
            is_other = ((sets[at, codes // WORD] >> codes % WORD) & 1) == 0
            is_other = xp.where(is_code(x), is_other, is_missing_right[at])
            is_right = xp.where(is_set[at], is_other, is_right)
        at = left[at] + is_right
    return at - root


def _most_used(rows: Matrix, n: int | None) -> Codes | None:
    """Return the n features that are most often non-zero, in their order; None means all."""
    if n is None or n >= rows.shape[1]:
        return None
    counts = np.asarray((rows != 0.0).sum(axis=0)).ravel()
    return np.sort(np.argsort(-counts, kind="stable")[:n])


class TreeGrower(Grower):
    """Grows one tree on a residual of some rows.

    The weights, if given, are those of all trees.
    """

    def __init__(
        self,
        dictionary: TreeDictionary,
        rows: Matrix,
        weights: Array | None = None,
    ) -> None:
        self._dictionary = dictionary
        is_category = dictionary.categories(rows.shape[1])
        #: The features that may be split; None means all.
        self._features = _most_used(rows, dictionary.max_features)
        if self._features is not None:
            rows = rows[:, self._features]
            is_category = is_category[self._features]
        self._bins, self._codes = bin_rows(np.ascontiguousarray(to_numpy(rows)), is_category)
        self._binned_rows = _kernels.refer_to_bins(self._bins, self._codes)
        self._n_rows = self._bins.n_rows(rows.shape[0])
        self._rules = dictionary.rules(0)
        #: The leaf numbers of the rows in the last tree, if leaves are corrected.
        self.leaves: NDArray[np.unsignedinteger] | None = None
        self._unit = _UNKNOWN
        if weights is not None:
            self._unit = _kernels.weight_unit(*_kernels.weigh(weights))
        #: Whether the depth is that of all trees.
        self._is_settled = False

    def __copy__(self) -> TreeGrower:
        """Return a grower on the same rows with its own work space."""
        grower = object.__new__(type(self))
        vars(grower).update(vars(self))
        grower._make_room(int(self._rules.depth))
        return grower

    def grow(self, residual: Array, weights: Array, key: int) -> Array:
        """Grow one tree, of shape (1, n_parameters); the key is not used."""
        residual = np.ascontiguousarray(residual, dtype=np.float64)
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        is_corrected = self._dictionary.corrects_leaves
        if not is_corrected:
            weights = weights * (residual != 0.0)
        if not self._is_settled:
            # Weights may cover only the rows that have a residual.
            depth = self._dictionary.levels(max(np.add.reduce(weights), self._n_rows, 1.0))
            if depth != self._rules.depth:
                self._make_room(depth)
            self._is_settled = self._unit is not _UNKNOWN
        if is_corrected:
            self.leaves = np.empty(len(weights), self._leaf_type)
        tree = _kernels.grow_tree(
            self._binned_rows,
            self._rules,
            residual,
            weights,
            self._histograms,
            self._nodes,
            self.leaves,
        )
        if self._features is not None:
            feature = tree[::FIELDS]
            original = self._features[feature.astype(np.intp)]
            tree[::FIELDS] = np.where(feature < 0.0, feature, original)
        return tree[None, :]

    def _make_room(self, depth: int) -> None:
        """Allocate histograms, nodes and sets of categories for trees of this depth."""
        self._rules = self._dictionary.rules(depth, self._unit)
        n_rows, n_columns = self._codes.shape
        n_leaves = max(1, min(n_rows, 2**depth, self._dictionary.max_leaf_nodes or n_rows))
        # Threads split about as many nodes in vain, at most.
        n_histograms = max(1, min(2 * n_leaves, _MOST_NUMBERS // max(1, n_columns * N_BINS)))
        self._histograms = np.empty((n_histograms, n_columns * N_BINS), np.int64)
        n_sets = n_leaves - 1 if self._bins.is_category.any() else 0
        self._nodes = np.empty((2 * n_leaves - 1 + n_sets, FIELDS))
        self._leaf_type = np.uint8 if n_leaves <= 256 else np.uint16
