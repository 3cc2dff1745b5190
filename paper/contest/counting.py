"""How many numbers sums of atoms store, counted as for other models.

What says how numbers hang together is not counted: neither where a tree's children are nor to
which family an atom belongs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from fcgboost import (
    Dictionary,
    FCGBoostClassifier,
    TreeDictionary,
    UnionDictionary,
)
from paper.rivals.base import Array, tree_numbers

#: Numbers a node of a tree has in a row of atoms; the first is a feature, or -1 for a leaf, the
#: third the place of the left child.
_NODE = 4


def stored_numbers(classifier: FCGBoostClassifier) -> int:
    """Count coefficients, constants, limits of the inputs, and the atoms' parameters."""
    n_numbers = 0
    for member in classifier.members_:
        model = member.model
        limits = () if model.limits is None else (model.limits.low, model.limits.high)
        n_numbers += sum(np.size(values) for values in (model.coef, model.intercept, *limits))
        if np.any(model.scale != 1.0):
            n_numbers += np.size(model.scale)
        n_numbers += atom_numbers(model.dictionary, model.atoms, len(model.scale))
    return n_numbers


def atom_numbers(dictionary: Dictionary, atoms: Any, n_features: int) -> int:
    """Count the parameters of atoms, one a row."""
    if isinstance(dictionary, UnionDictionary):
        members = dictionary.members(atoms, n_features)
        return sum(atom_numbers(part.family, part.rows, n_features) for part in members)
    rows = atoms.toarray() if sparse.issparse(atoms) else np.asarray(atoms)
    if isinstance(dictionary, TreeDictionary):
        return sum(tree_numbers(_n_leaves(row.reshape(-1, _NODE))) for row in rows)
    # A value and its place; or all values.
    return int(np.minimum(2 * np.count_nonzero(rows, axis=1), rows.shape[1]).sum())


def _n_leaves(nodes: Array) -> int:
    """Count the leaves that the root leads to; what follows them is unused room."""
    waiting, n_leaves = [0], 0
    while waiting:
        node = nodes[waiting.pop()]
        if node[0] < 0.0:
            n_leaves += 1
        else:
            waiting += [int(node[2]), int(node[2]) + 1]
    return n_leaves
