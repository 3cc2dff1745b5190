"""Passes over rows on a GPU that keep in registers what separate operations write to memory.

Imports Triton, which comes with torch for CUDA, so it is itself imported only where that is there.
Sums of Gauss atoms are float32 over a block of rows and float64 between blocks; those of trees are
of whole numbers, in whatever order threads add them.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

# Rows that are added up in float32, and rows of one program.
_BLOCK, _SPAN = 512, 8192
# Candidates and rows of a tile, and warps.
_ATOMS, _ROWS, _WARPS = 128, 64, 4
# How many copies of sums threads share.
_COPIES = 64
_LOG2_E = 1.4426950408889634


@triton.jit  # type: ignore[untyped-decorator]
def _gauss_sums(  # type: ignore[no-untyped-def]
    Z,
    C,
    steepness,
    r,
    dots,
    n_rows,
    n_atoms,
    D: tl.constexpr,
    ATOMS: tl.constexpr,
    ROWS: tl.constexpr,
    SPAN: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Z and C are row by row, filled up with zeros to D columns, a power of two."""
    j = tl.program_id(0) * ATOMS + tl.arange(0, ATOMS)
    is_atom = j < n_atoms
    column = tl.arange(0, D)
    t = tl.load(steepness + j, mask=is_atom, other=0.0)
    c = tl.load(C + j[:, None] * D + column[None, :], mask=is_atom[:, None], other=0.0)
    lengths = t * tl.sum(c * c, 1)
    c = c * (-2.0 * t)[:, None]
    dot = tl.zeros([ATOMS], dtype=tl.float64)
    first = tl.program_id(1) * SPAN
    for block in range(first, tl.minimum(first + SPAN, n_rows), BLOCK):
        dot_here = tl.zeros([ATOMS, ROWS], dtype=tl.float32)
        for start in range(0, BLOCK, ROWS):
            i = (block + start + tl.arange(0, ROWS)).to(tl.int64)
            is_row = i < n_rows
            residual = tl.load(r + i, mask=is_row, other=0.0)[None, :]
            z = tl.load(Z + i[None, :] * D + column[:, None], mask=is_row[None, :], other=0.0)
            exponents = tl.dot(c, z, input_precision="ieee")
            exponents += lengths[:, None] + t[:, None] * tl.sum(z * z, 0)[None, :]
            dot_here += tl.exp2(exponents) * residual
        dot += tl.sum(dot_here, 1).to(tl.float64)
    place = tl.program_id(1).to(tl.int64) * n_atoms + j
    tl.store(dots + place, dot, mask=is_atom)


def gauss_sums(Z: Any, centers: Any, steepness: Any, r: Any) -> Any:
    """Return sum_i r_i g_ij, g_ij = exp(-t_j |z_i - c_j|^2), a float64 tensor of shape (n_atoms,).

    Parameters
    ----------
    Z, centers : float32 tensors of shape (n_rows, n_features), (n_atoms, n_features)
    steepness, r : float32 tensors of shape (n_atoms,), (n_rows,)
    """
    n_rows, n_atoms = len(Z), len(centers)
    n_spans = max(1, triton.cdiv(n_rows, _SPAN))
    sums = torch.empty((n_spans, n_atoms), dtype=torch.float64, device=Z.device)
    width = max(16, triton.next_power_of_2(Z.shape[1]))
    Z, centers = (
        torch.nn.functional.pad(rows, (0, width - rows.shape[1])).contiguous()
        for rows in (Z, centers)
    )
    _gauss_sums[triton.cdiv(n_atoms, _ATOMS), n_spans](
        *(Z, centers, -_LOG2_E * steepness, r.contiguous(), sums, n_rows, n_atoms),
        D=width,
        ATOMS=_ATOMS,
        ROWS=_ROWS,
        SPAN=_SPAN,
        BLOCK=_BLOCK,
        num_warps=_WARPS,
    )
    return sums.sum(0)


@triton.jit  # type: ignore[untyped-decorator]
def _send_rows(  # type: ignore[no-untyped-def]
    codes,
    steps,
    nodes,
    slots,
    parents,
    added,
    columns,
    goes_left,
    sums,
    first,
    n_rows,
    n_columns,
    n_splits,
    n_copies,
    BLOCK: tl.constexpr,
):
    """As `send_rows`; sums of a few splits are made in copies, so that threads meet less."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    is_row = i < n_rows
    node = tl.load(nodes + i, mask=is_row, other=0)
    slot = tl.load(slots + node, mask=is_row, other=-1)
    is_row = is_row & (slot >= 0)
    parent = tl.load(parents + slot, mask=is_row, other=0)
    column = tl.load(columns + parent, mask=is_row, other=0)
    code = tl.load(codes + column * n_rows + i, mask=is_row, other=0).to(tl.int64)
    is_right = 1 - tl.load(goes_left + parent * 256 + code, mask=is_row, other=0).to(tl.int64)
    tl.store(nodes + i, first + 2 * slot + is_right, mask=is_row)
    is_row = is_row & (is_right == tl.load(added + slot, mask=is_row, other=0))
    step = tl.load(steps + i, mask=is_row, other=0)
    copy = (tl.program_id(0) % n_copies).to(tl.int64)
    place = (copy * n_splits + slot) * n_columns * 256
    for j in range(n_columns):
        bins = tl.load(codes + tl.cast(j, tl.int64) * n_rows + i, mask=is_row, other=0)
        tl.atomic_add(sums + place + j * 256 + bins.to(tl.int64), step, mask=is_row, sem="relaxed")


def send_rows(
    codes: Any, steps: Any, nodes: Any, tables: tuple[Any, ...], n_splits: int, first: int
) -> Any:
    """Send rows to their children, and return histograms of those that are added up.

    Parameters
    ----------
    codes : uint8 tensor of shape (n_columns, n_rows)
    steps, nodes : int64 tensors of shape (n_rows,)
        The nodes are overwritten.
    tables : tuple of tensors
        Slots of nodes, parents and added sides of splits, columns and codes that go left of nodes.
    n_splits, first : int
    """
    n_columns, n_rows = codes.shape
    n_copies = max(1, _COPIES // n_splits)
    sums = steps.new_zeros((n_copies, n_splits, n_columns * 256))
    _send_rows[triton.cdiv(n_rows, _BLOCK),](
        *(codes, steps, nodes, *tables, sums, first, n_rows, n_columns, n_splits, n_copies),
        BLOCK=_BLOCK,
        num_warps=_WARPS,
    )
    return sums.sum(0)


@triton.jit  # type: ignore[untyped-decorator]
def _leaf_values(codes, first, values, f, n_rows, n_trees, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    is_row = i < n_rows
    total = tl.load(f + i, mask=is_row, other=0.0)
    for t in range(n_trees):
        code = tl.load(codes + tl.cast(t, tl.int64) * n_rows + i, mask=is_row, other=0)
        total += tl.load(values + tl.load(first + t) + code.to(tl.int64), mask=is_row, other=0.0)
    tl.store(f + i, total, mask=is_row)


def leaf_values(codes: Any, first: Any, values: Any, f: Any) -> None:
    """Add the values of all trees' leaves to f; `first` is where those of a tree begin."""
    n_trees, n_rows = codes.shape
    _leaf_values[triton.cdiv(n_rows, _BLOCK),](
        *(codes, first, values, f, n_rows, n_trees), BLOCK=_BLOCK, num_warps=_WARPS
    )


@triton.jit  # type: ignore[untyped-decorator]
def _leaf_sums(codes, steps, sums, n_rows, n_trees, width, n_copies, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    step = tl.load(steps + i, mask=i < n_rows, other=0)
    # Of most sums half the rows are zero.
    is_row = step != 0
    sums += (tl.program_id(0) % n_copies).to(tl.int64) * n_trees * width
    for t in range(n_trees):
        code = tl.load(codes + tl.cast(t, tl.int64) * n_rows + i, mask=is_row, other=0)
        tl.atomic_add(sums + t * width + code.to(tl.int64), step, mask=is_row, sem="relaxed")


def leaf_sums(codes: Any, steps: Any, width: int) -> Any:
    """Return the sums of whole numbers over every leaf, of shape (n_trees, width)."""
    n_trees, n_rows = codes.shape
    sums = steps.new_zeros((_COPIES, n_trees, width))
    _leaf_sums[triton.cdiv(n_rows, _BLOCK),](
        *(codes, steps, sums, n_rows, n_trees, width, _COPIES), BLOCK=_BLOCK, num_warps=_WARPS
    )
    return sums.sum(0)
