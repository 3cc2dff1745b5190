"""The fused Gauss pass on a GPU: distance, exponential and both sums without a value in memory.

Imports Triton, which comes with torch for CUDA, so it is itself imported only where that is there.
A value takes about 2 d + 5 instructions; writing it to memory and reading it back, as separate
operations do, takes several times as long.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

# Candidates and rows of one tile, rows that are added up in float32, and rows of one program.
_ATOMS, _ROWS, _BLOCK, _SPAN = 128, 32, 512, 4096
_LOG2_E = 1.4426950408889634


@triton.jit  # type: ignore[untyped-decorator]
def _gauss_sums(  # type: ignore[no-untyped-def]
    Z,
    C,
    steepness,
    r,
    dots,
    masses,
    n_rows,
    n_atoms,
    D: tl.constexpr,
    ATOMS: tl.constexpr,
    ROWS: tl.constexpr,
    SPAN: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Sum over SPAN rows for ATOMS candidates: float32 within a block of rows, float64 between."""
    j = tl.program_id(0) * ATOMS + tl.arange(0, ATOMS)
    is_atom = j < n_atoms
    t = tl.load(steepness + j, mask=is_atom, other=0.0)
    dot = tl.zeros([ATOMS], dtype=tl.float64)
    mass = tl.zeros([ATOMS], dtype=tl.float64)
    first = tl.program_id(1).to(tl.int64) * SPAN
    for block in range(0, SPAN, BLOCK):
        dot_here = tl.zeros([ATOMS], dtype=tl.float32)
        mass_here = tl.zeros([ATOMS], dtype=tl.float32)
        for start in range(0, BLOCK, ROWS):
            i = first + block + start + tl.arange(0, ROWS)
            is_row = i < n_rows
            residual = tl.load(r + i, mask=is_row, other=0.0)
            squares = tl.zeros([ATOMS, ROWS], dtype=tl.float32)
            for feature in tl.static_range(D):
                z = tl.load(Z + i * D + feature, mask=is_row, other=0.0)
                c = tl.load(C + j * D + feature, mask=is_atom, other=0.0)
                gap = c[:, None] - z[None, :]
                squares += gap * gap
            values = tl.exp2(-squares * t[:, None])
            dot_here += tl.sum(values * residual[None, :], 1)
            mass_here += tl.sum(values * tl.abs(residual)[None, :], 1)
        dot += dot_here.to(tl.float64)
        mass += mass_here.to(tl.float64)
    place = tl.program_id(1).to(tl.int64) * n_atoms + j
    tl.store(dots + place, dot, mask=is_atom)
    tl.store(masses + place, mass, mask=is_atom)


def gauss_sums(Z: Any, centers: Any, steepness: Any, r: Any) -> tuple[Any, Any]:
    """Give sum_i r_i g_ij and sum_i |r_i| g_ij, g_ij = exp(-t_j |z_i - c_j|^2).

    Parameters
    ----------
    Z, centers : float32 tensors of shape (n_rows, n_features), (n_atoms, n_features)
    steepness, r : float32 tensors of shape (n_atoms,), (n_rows,)

    Returns
    -------
    two float64 tensors of shape (n_atoms,)
    """
    n_rows, n_atoms = len(Z), len(centers)
    n_spans = max(1, triton.cdiv(n_rows, _SPAN))
    parts = torch.empty((2, n_spans, n_atoms), dtype=torch.float64, device=Z.device)
    _gauss_sums[triton.cdiv(n_atoms, _ATOMS), n_spans](
        *(Z.contiguous(), centers.contiguous(), steepness * _LOG2_E, r.contiguous()),
        *(parts[0], parts[1], n_rows, n_atoms),
        D=Z.shape[1],
        ATOMS=_ATOMS,
        ROWS=_ROWS,
        SPAN=_SPAN,
        BLOCK=_BLOCK,
    )
    dots, masses = parts.sum(1)
    return dots, masses
