"""Fused kernels for GPUs: products, profile and sum without storing values.

Imports Triton, which comes with torch for CUDA, so import it only there. Values stay in registers
instead of being written to memory several times. A tile's sums are in float32 over the rows of a
program, fewer than BLOCK one after the other, and in float64 between programs.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

# Rows per program.
_SPAN = 8192
# Up to this many columns products are unrolled; matrix products need at least 16.
_MOST_WRITTEN_OUT = 8
# Candidates and rows per tile, and warps: what fits into registers without spilling.
_WRITTEN_OUT, _MATRICES = (8, 512, 4), (128, 64, 8)
_LOG2_E = 1.4426950408889634


@triton.jit  # type: ignore[untyped-decorator]
def _profile_sums(  # type: ignore[no-untyped-def]
    Z,
    C,
    offsets,
    r,
    sums,
    n_rows,
    n_atoms,
    IS_GAUSS: tl.constexpr,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    ATOMS: tl.constexpr,
    ROWS: tl.constexpr,
    SPAN: tl.constexpr,
):
    """Z and C have D contiguous columns; WIDTH is 0 if products are unrolled."""
    j = tl.program_id(0) * ATOMS + tl.arange(0, ATOMS)
    is_atom = j < n_atoms
    offset = tl.load(offsets + j, mask=is_atom, other=0.0)
    if WIDTH > 0:
        column = tl.arange(0, WIDTH)
        is_own = is_atom[:, None] & (column < D)[None, :]
        c = tl.load(C + column[None, :] * n_atoms + j[:, None], mask=is_own, other=0.0)
    dots = tl.zeros([ATOMS, ROWS], dtype=tl.float32)
    first = tl.program_id(1) * SPAN
    for start in range(first, tl.minimum(first + SPAN, n_rows), ROWS):
        i = start + tl.arange(0, ROWS)
        is_row = i < n_rows
        values = tl.zeros([ATOMS, ROWS], dtype=tl.float32) + offset[:, None]
        if WIDTH > 0:
            is_in = (column < D)[:, None] & is_row[None, :]
            z = tl.load(Z + column[:, None] * n_rows + i[None, :], mask=is_in, other=0.0)
            values += tl.dot(c, z, input_precision="ieee")
        else:
            for f in tl.static_range(D):
                weights = tl.load(C + f * n_atoms + j, mask=is_atom, other=0.0)
                inputs = tl.load(Z + f * n_rows + i, mask=is_row, other=0.0)
                values = tl.fma(weights[:, None], inputs[None, :], values)
        values = tl.exp2(values) if IS_GAUSS else tl.maximum(values, 0.0)
        residual = tl.load(r + i, mask=is_row, other=0.0)
        dots = tl.fma(values, residual[None, :], dots)
    place = tl.program_id(1).to(tl.int64) * n_atoms + j
    tl.store(sums + place, tl.sum(dots, 1).to(tl.float64), mask=is_atom)


def gauss_sums(Z: Any, atoms: Any, W: Any) -> Any:
    """Return values^T W of Gaussian atoms, a float64 tensor of shape (n_atoms, n_points).

    Parameters
    ----------
    Z : float32 tensor of shape (n_rows, n_features)
    atoms : float32 tensor of shape (n_atoms, n_features + 1)
    W : float32 tensor of shape (n_rows, n_points)
    """
    centers, steepness = atoms[:, :-1], -0.5 * _LOG2_E / atoms[:, -1:] ** 2
    # With rows (z, |z|^2), exponents are t |z|^2 - 2 t <c, z> + t |c|^2.
    rows = torch.cat([Z, (Z * Z).sum(1, keepdim=True)], 1)
    weights = torch.cat([-2.0 * steepness * centers, steepness], 1)
    return _sums(rows, weights, steepness[:, 0] * (centers * centers).sum(1), W, is_gauss=True)


def ramp_sums(Z: Any, atoms: Any, W: Any) -> Any:
    """Return values^T W of ramps (w, b), as `gauss_sums`."""
    return _sums(Z, atoms[:, :-1], atoms[:, -1].contiguous(), W, is_gauss=False)


def _sums(rows: Any, weights: Any, offsets: Any, W: Any, is_gauss: bool) -> Any:
    """Return sum_i W_il g(<row_i, weights_j> + offset_j)."""
    n_rows, n_columns = rows.shape
    n_atoms, n_spans = len(weights), max(1, triton.cdiv(n_rows, _SPAN))
    is_written_out = n_columns <= _MOST_WRITTEN_OUT
    tile_atoms, tile_rows, n_warps = _WRITTEN_OUT if is_written_out else _MATRICES
    rows, weights = rows.T.contiguous(), weights.T.contiguous()
    totals = []
    for r in W.T.contiguous():
        sums = torch.empty((n_spans, n_atoms), dtype=torch.float64, device=rows.device)
        # On the device of the rows, which may not be the current one.
        with torch.cuda.device_of(rows):
            _profile_sums[triton.cdiv(n_atoms, tile_atoms), n_spans](
                *(rows, weights, offsets, r, sums, n_rows, n_atoms),
                IS_GAUSS=is_gauss,
                D=n_columns,
                WIDTH=0 if is_written_out else max(16, triton.next_power_of_2(n_columns)),
                ATOMS=tile_atoms,
                ROWS=tile_rows,
                SPAN=_SPAN,
                num_warps=n_warps,
            )
        totals.append(sums.sum(0))
    return torch.stack(totals, 1)
