"""Forests on a GPU: values and sums of leaves, and rows that walk down trees, one launch each.

Imports Triton, which comes with torch for CUDA. Sums of integers do not depend on the order of
additions.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def, untyped-decorator"
# Arguments of Triton kernels have no types. Numbers that change from call to call are not
# specialised, or Triton would compile a kernel for each kind.

from __future__ import annotations

import torch
import triton
import triton.language as tl

from fcgboost.arrays import Array, Tensor
from fcgboost.dictionaries.bins import N_CODES
from fcgboost.dictionaries.nodes import WORD
from fcgboost.dictionaries.trees import walked_nodes

# Rows per program, and warps.
_BLOCK = 512
_WARPS = 4
# Copies of sums, to reduce contention between threads.
_COPIES = 64
_MOST_COPIES = 1024
_LEAVES_AT_ONCE = 1 << 18
_N_CODES = tl.constexpr(N_CODES)
_CODES_A_WORD = tl.constexpr(WORD)
_WORDS_OF_SET = tl.constexpr(5)


@triton.jit(do_not_specialize=["n_trees"])
def _leaf_values(
    codes,
    first,
    values,
    f,
    n_rows,
    n_trees,
    BLOCK: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    is_row = i < n_rows
    total = tl.load(f + i, mask=is_row, other=0.0)
    for t in range(n_trees):
        code = tl.load(codes + tl.cast(t, tl.int64) * n_rows + i, mask=is_row, other=0)
        total += tl.load(values + tl.load(first + t) + code.to(tl.int64), mask=is_row, other=0.0)
    tl.store(f + i, total, mask=is_row)


def leaf_values(codes: Tensor, first: Tensor, values: Tensor, f: Tensor) -> None:
    """Add the leaf values of all trees to f; `first` is the first leaf of each tree."""
    n_trees, n_rows = codes.shape
    with torch.cuda.device_of(f):
        _leaf_values[(triton.cdiv(n_rows, _BLOCK),)](
            *(codes, first, values, f, n_rows, n_trees), BLOCK=_BLOCK, num_warps=_WARPS
        )


@triton.jit(do_not_specialize=["n_trees", "n_leaves", "n_copies"])
def _leaf_sums(
    codes,
    first,
    vectors,
    units,
    sums,
    n_rows,
    n_trees,
    n_leaves,
    n_copies,
    BLOCK: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    vector = tl.program_id(1).to(tl.int64)
    r = tl.load(vectors + vector * n_rows + i, mask=i < n_rows, other=0.0)
    steps = r / tl.load(units + vector)
    step = (steps + tl.where(steps > 0.0, 0.5, -0.5)).to(tl.int64)
    # Typically half the rows are zero.
    is_row = step != 0
    sums += (vector * n_copies + tl.program_id(0) % n_copies) * n_leaves
    for k in range(n_trees):
        # Not all programs begin with the same tree, whose leaves are few.
        t = (k + tl.program_id(0)) % n_trees
        code = tl.load(codes + t.to(tl.int64) * n_rows + i, mask=is_row, other=0)
        tl.atomic_add(
            sums + tl.load(first + t) + code.to(tl.int64),
            step,
            mask=is_row,
            sem="relaxed",
        )


def leaf_sums(
    codes: Tensor,
    first: Tensor,
    vectors: Tensor,
    units: Tensor,
    n_leaves: int,
) -> Tensor:
    """Return the sums of vectors, one a row, in integer units over each leaf."""
    n_trees, n_rows = codes.shape
    n_copies = max(_COPIES, min(_MOST_COPIES, _LEAVES_AT_ONCE // n_leaves))
    shape = (len(vectors), n_copies, n_leaves)
    sums = torch.zeros(shape, dtype=torch.int64, device=vectors.device)
    with torch.cuda.device_of(vectors):
        _leaf_sums[(triton.cdiv(n_rows, _BLOCK), len(vectors))](
            *(codes, first, vectors, units, sums, n_rows, n_trees, n_leaves, n_copies),
            BLOCK=_BLOCK,
            num_warps=_WARPS,
        )
    return sums.sum(1)


@triton.jit(do_not_specialize=["n_features", "depth"])
def _walk(
    X, left, feature, value, is_missing_right, is_set, sets, roots, reached,
    n_rows, n_features, depth, HAS_SETS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Walk rows down the trees, as `dictionaries.trees` does."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    is_row = i < n_rows
    root = tl.load(roots + tl.program_id(1))
    at = i * 0 + root
    for _ in range(depth):
        x = tl.load(X + i * n_features + tl.load(feature + at), mask=is_row, other=0.0)
        is_missing = tl.load(is_missing_right + at) != 0
        is_right = (x > tl.load(value + at).to(x.dtype)) | ((x != x) & is_missing)
        if HAS_SETS:
            is_code = (x >= 0.0) & (x < _N_CODES) & (x == tl.floor(x))
            code = tl.where(is_code, x, 0.0).to(tl.int64)
            word = tl.load(sets + at * _WORDS_OF_SET + code // _CODES_A_WORD)
            is_other = ((word >> (code % _CODES_A_WORD)) & 1) == 0
            is_other = tl.where(is_code, is_other, is_missing)
            is_right = tl.where(tl.load(is_set + at) != 0, is_other, is_right)
        at = tl.load(left + at) + is_right.to(tl.int64)
    tl.store(reached + tl.program_id(1).to(tl.int64) * n_rows + i, at - root, mask=is_row)


def walk(X: Tensor, nodes: Array, depth: int) -> Tensor:
    """Walk all rows down all trees; return the nodes they reach."""
    walked = walked_nodes(X, nodes)
    n_rows, n_features = X.shape
    n_trees = len(nodes)
    roots = nodes.shape[1] * torch.arange(n_trees, device=X.device)
    reached = torch.empty((n_trees, n_rows), dtype=torch.int64, device=X.device)
    with torch.cuda.device_of(X):
        _walk[(triton.cdiv(n_rows, _BLOCK), n_trees)](
            *(X.contiguous(), *walked[:5], walked.left if walked.sets is None else walked.sets),
            *(roots, reached, n_rows, n_features, depth),
            HAS_SETS=walked.sets is not None,
            BLOCK=_BLOCK,
            num_warps=_WARPS,
        )
    return reached.T
