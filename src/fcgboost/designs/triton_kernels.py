"""The fused Gauss pass on a GPU: distance, exponential and both sums without a value in memory.

Imports Triton, which comes with torch for CUDA, so it is itself imported only where that is there.
Separate operations write every value to memory and read it back several times; here a value lives
in a register. Few columns go by differences, which take two instructions a column; many go by a
product of tiles. Sums are float32 over a block of rows and float64 between blocks.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

# Rows that are added up in float32, and rows of one program.
_BLOCK, _SPAN = 512, 8192
# Up to so many columns go by differences.
_FEW = 4
# Candidates and rows of a tile, and warps.
_TILE_FEW = (64, 32, 4)
_TILE_MANY = (128, 64, 4)
_LOG2_E = 1.4426950408889634


@triton.jit  # type: ignore[untyped-decorator]
def _few_columns(  # type: ignore[no-untyped-def]
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
    """Z and C are column by column; there are one to four columns."""
    j = tl.program_id(0) * ATOMS + tl.arange(0, ATOMS)
    is_atom = j < n_atoms
    t = tl.load(steepness + j, mask=is_atom, other=0.0)[:, None]
    c0 = tl.load(C + j, mask=is_atom, other=0.0)[:, None]
    c1, c2, c3 = c0, c0, c0
    if D > 1:
        c1 = tl.load(C + n_atoms + j, mask=is_atom, other=0.0)[:, None]
    if D > 2:
        c2 = tl.load(C + 2 * n_atoms + j, mask=is_atom, other=0.0)[:, None]
    if D > 3:
        c3 = tl.load(C + 3 * n_atoms + j, mask=is_atom, other=0.0)[:, None]
    dot = tl.zeros([ATOMS], dtype=tl.float64)
    mass = tl.zeros([ATOMS], dtype=tl.float64)
    first = tl.program_id(1) * SPAN
    for block in range(first, tl.minimum(first + SPAN, n_rows), BLOCK):
        dot_here = tl.zeros([ATOMS, ROWS], dtype=tl.float32)
        mass_here = tl.zeros([ATOMS, ROWS], dtype=tl.float32)
        for start in range(0, BLOCK, ROWS):
            i = (block + start + tl.arange(0, ROWS)).to(tl.int64)
            is_row = i < n_rows
            residual = tl.load(r + i, mask=is_row, other=0.0)[None, :]
            gap = c0 - tl.load(Z + i, mask=is_row, other=0.0)[None, :]
            squares = gap * gap
            if D > 1:
                gap = c1 - tl.load(Z + n_rows + i, mask=is_row, other=0.0)[None, :]
                squares += gap * gap
            if D > 2:
                gap = c2 - tl.load(Z + 2 * n_rows.to(tl.int64) + i, mask=is_row, other=0.0)[None, :]
                squares += gap * gap
            if D > 3:
                gap = c3 - tl.load(Z + 3 * n_rows.to(tl.int64) + i, mask=is_row, other=0.0)[None, :]
                squares += gap * gap
            values = tl.exp2(squares * t)
            dot_here += values * residual
            mass_here += values * tl.abs(residual)
        dot += tl.sum(dot_here, 1).to(tl.float64)
        mass += tl.sum(mass_here, 1).to(tl.float64)
    place = tl.program_id(1).to(tl.int64) * n_atoms + j
    tl.store(dots + place, dot, mask=is_atom)
    tl.store(masses + place, mass, mask=is_atom)


@triton.jit  # type: ignore[untyped-decorator]
def _many_columns(  # type: ignore[no-untyped-def]
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
    """Z and C are row by row, filled up with zeros to D columns, a power of two."""
    j = tl.program_id(0) * ATOMS + tl.arange(0, ATOMS)
    is_atom = j < n_atoms
    column = tl.arange(0, D)
    t = tl.load(steepness + j, mask=is_atom, other=0.0)
    c = tl.load(C + j[:, None] * D + column[None, :], mask=is_atom[:, None], other=0.0)
    lengths = t * tl.sum(c * c, 1)
    c = c * (-2.0 * t)[:, None]
    dot = tl.zeros([ATOMS], dtype=tl.float64)
    mass = tl.zeros([ATOMS], dtype=tl.float64)
    first = tl.program_id(1) * SPAN
    for block in range(first, tl.minimum(first + SPAN, n_rows), BLOCK):
        dot_here = tl.zeros([ATOMS, ROWS], dtype=tl.float32)
        mass_here = tl.zeros([ATOMS, ROWS], dtype=tl.float32)
        for start in range(0, BLOCK, ROWS):
            i = (block + start + tl.arange(0, ROWS)).to(tl.int64)
            is_row = i < n_rows
            residual = tl.load(r + i, mask=is_row, other=0.0)[None, :]
            z = tl.load(Z + i[None, :] * D + column[:, None], mask=is_row[None, :], other=0.0)
            exponents = tl.dot(c, z, input_precision="ieee")
            exponents += lengths[:, None] + t[:, None] * tl.sum(z * z, 0)[None, :]
            values = tl.exp2(exponents)
            dot_here += values * residual
            mass_here += values * tl.abs(residual)
        dot += tl.sum(dot_here, 1).to(tl.float64)
        mass += tl.sum(mass_here, 1).to(tl.float64)
    place = tl.program_id(1).to(tl.int64) * n_atoms + j
    tl.store(dots + place, dot, mask=is_atom)
    tl.store(masses + place, mass, mask=is_atom)


def gauss_sums(Z: Any, centers: Any, steepness: Any, r: Any) -> tuple[Any, Any]:
    """Return sum_i r_i g_ij and sum_i |r_i| g_ij, g_ij = exp(-t_j |z_i - c_j|^2).

    Parameters
    ----------
    Z, centers : float32 tensors of shape (n_rows, n_features), (n_atoms, n_features)
    steepness, r : float32 tensors of shape (n_atoms,), (n_rows,)

    Returns
    -------
    two float64 tensors of shape (n_atoms,)
    """
    n_rows, n_atoms, n_features = len(Z), len(centers), Z.shape[1]
    n_spans = max(1, triton.cdiv(n_rows, _SPAN))
    sums = torch.empty((2, n_spans, n_atoms), dtype=torch.float64, device=Z.device)
    is_few = n_features <= _FEW
    if is_few:
        Z, centers = Z.T.contiguous(), centers.T.contiguous()
    else:
        n_features = max(16, triton.next_power_of_2(n_features))
        Z, centers = (_widened(part, n_features) for part in (Z, centers))
    atoms, rows, warps = _TILE_FEW if is_few else _TILE_MANY
    (_few_columns if is_few else _many_columns)[triton.cdiv(n_atoms, atoms), n_spans](
        *(Z, centers, -_LOG2_E * steepness, r.contiguous()),
        *(sums[0], sums[1], n_rows, n_atoms),
        D=n_features,
        ATOMS=atoms,
        ROWS=rows,
        SPAN=_SPAN,
        BLOCK=_BLOCK,
        num_warps=warps,
    )
    dots, masses = sums.sum(1)
    return dots, masses


def _widened(rows: Any, n_columns: int) -> Any:
    """Add columns of zeros."""
    return torch.nn.functional.pad(rows, (0, n_columns - rows.shape[1])).contiguous()
