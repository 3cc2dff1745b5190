"""The fused Gauss pass on a GPU: distance, exponential and sum without a value in memory.

Imports Triton, which comes with torch for CUDA, so it is itself imported only where that is there.
Separate operations write every value to memory and read it back several times; here a value lives
in a register. Sums are float32 over a block of rows and float64 between blocks.
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
