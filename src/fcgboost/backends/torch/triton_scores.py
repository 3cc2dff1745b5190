"""Scores on a GPU: values of atoms are added up in registers and never written to memory.

Imports Triton, which comes with torch for CUDA. A program adds up a fixed span of rows in float32;
the sums of spans are added up in float64 in a fixed order, so they are the same twice.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from fcgboost.arrays import Tensor
from fcgboost.designs.devices import FusedSums
from fcgboost.dictionaries import (
    Dictionary,
    GaussDictionary,
    ReluDictionary,
    SigmoidDictionary,
)

# Rows per program.
_SPAN = 8192
# Up to this many columns products are unrolled; matrix products need at least 16.
_MOST_UNROLLED = 8
# Registers hold at most this many features without spilling, and one more column for distances.
_MOST_FEATURES = 63
_LOG2_E = 1.4426950408889634


@triton.jit  # type: ignore[untyped-decorator]
def _add_up(  # type: ignore[no-untyped-def]
    rows, weights, offsets, factors, sums, n_rows, n_atoms,
    PROFILE: tl.constexpr, IS_SQUARED: tl.constexpr, N_COLUMNS: tl.constexpr,
    WIDTH: tl.constexpr, ATOMS: tl.constexpr, ROWS: tl.constexpr, SPAN: tl.constexpr,
):  # fmt: skip
    """Rows and weights are stored column by column; WIDTH is 0 if products are unrolled."""
    row_stride = tl.cast(n_rows, tl.int64)
    atom_stride = tl.cast(n_atoms, tl.int64)
    j = tl.program_id(0) * ATOMS + tl.arange(0, ATOMS)
    is_atom = j < n_atoms
    offset = tl.load(offsets + j, mask=is_atom, other=0.0)
    if WIDTH > 0:
        column = tl.arange(0, WIDTH)
        is_weight = is_atom[:, None] & (column < N_COLUMNS)[None, :]
        w_places = column[None, :] * atom_stride + j[:, None]
        w = tl.load(weights + w_places, mask=is_weight, other=0.0)
    total = tl.zeros([ATOMS, ROWS], dtype=tl.float32)
    first = tl.program_id(1) * SPAN
    for start in range(first, tl.minimum(first + SPAN, n_rows), ROWS):
        i = start + tl.arange(0, ROWS)
        is_row = i < n_rows
        values = tl.zeros([ATOMS, ROWS], dtype=tl.float32) + offset[:, None]
        if WIDTH > 0:
            is_input = (column < N_COLUMNS)[:, None] & is_row[None, :]
            x_places = column[:, None] * row_stride + i[None, :]
            x = tl.load(rows + x_places, mask=is_input, other=0.0)
            values += tl.dot(w, x, input_precision="ieee")
        else:
            for f in tl.static_range(N_COLUMNS):
                w = tl.load(weights + f * atom_stride + j, mask=is_atom, other=0.0)
                x = tl.load(rows + f * row_stride + i, mask=is_row, other=0.0)
                values = tl.fma(w[:, None], x[None, :], values)
        if PROFILE == "gauss":
            # Only rounding can have made exponents positive.
            values = tl.exp2(tl.minimum(values, 0.0))
        elif PROFILE == "sigmoid":
            values = 1.0 / (1.0 + tl.exp2(values))
        else:
            values = tl.maximum(values, 0.0)
        if IS_SQUARED:
            values = values * values
        factor = tl.load(factors + i, mask=is_row, other=0.0)
        total = tl.fma(values, factor[None, :], total)
    places = tl.program_id(1) * atom_stride + j
    tl.store(sums + places, tl.sum(total, 1).to(tl.float64), mask=is_atom)


def find_sums(dictionary: Dictionary, n_features: int) -> FusedSums | None:
    """Return the sums of a dictionary's atoms, None if no kernel has its profile."""
    return _SUMS.get(type(dictionary)) if n_features <= _MOST_FEATURES else None


def gauss_sums(Z: Tensor, atoms: Tensor, W: Tensor, is_squared: bool) -> Tensor:
    """Return the sums of Gaussian atoms (c, sigma)."""
    centers = atoms[:, :-1]
    steepness = -0.5 * _LOG2_E / atoms[:, -1:] ** 2
    # With rows (z, |z|^2), exponents are t |z|^2 - 2 t <c, z> + t |c|^2.
    rows = torch.cat([Z, (Z * Z).sum(1, keepdim=True)], 1)
    weights = torch.cat([-2.0 * steepness * centers, steepness], 1)
    offsets = steepness[:, 0] * (centers * centers).sum(1)
    planes = torch.cat([weights, offsets[:, None]], 1)
    return _plane_sums(
        "gauss",
        rows,
        planes,
        W,
        is_squared,
    )


def relu_sums(Z: Tensor, atoms: Tensor, W: Tensor, is_squared: bool) -> Tensor:
    """Return the sums of ramps (w, b)."""
    return _plane_sums(
        "relu",
        Z,
        atoms,
        W,
        is_squared,
    )


def sigmoid_sums(Z: Tensor, atoms: Tensor, W: Tensor, is_squared: bool) -> Tensor:
    """Return the sums of sigmoids (w, b)."""
    return _plane_sums(
        "sigmoid",
        Z,
        -_LOG2_E * atoms,
        W,
        is_squared,
    )


_SUMS: dict[type[Dictionary], FusedSums] = {
    GaussDictionary: gauss_sums,
    ReluDictionary: relu_sums,
    SigmoidDictionary: sigmoid_sums,
}


def _plane_sums(
    profile: str,
    rows: Tensor,
    planes: Tensor,
    W: Tensor,
    is_squared: bool,
) -> Tensor:
    """Return sum_i W_il g(<row_i, w_j> + b_j)^p for planes (w, b), in one pass for each l."""
    n_rows, n_columns = rows.shape
    n_atoms = len(planes)
    n_spans = triton.cdiv(n_rows, _SPAN)
    # Tiles that fit into registers without spilling.
    if n_columns <= _MOST_UNROLLED:
        tile = {"WIDTH": 0, "ATOMS": 8, "ROWS": 512, "num_warps": 4}
    else:
        width = max(16, triton.next_power_of_2(n_columns))
        tile = {"WIDTH": width, "ATOMS": 128, "ROWS": 64, "num_warps": 8}
    rows = rows.T.contiguous()
    planes = planes.T.contiguous()
    sums = torch.empty((W.shape[1], n_spans, n_atoms), dtype=torch.float64, device=rows.device)
    # On the device of the rows, which may not be the current one.
    with torch.cuda.device_of(rows):
        for factors, spans in zip(W.T.contiguous(), sums, strict=True):
            _add_up[triton.cdiv(n_atoms, tile["ATOMS"]), n_spans](
                rows,
                planes,
                planes[-1],
                factors,
                spans,
                n_rows,
                n_atoms,
                PROFILE=profile,
                IS_SQUARED=is_squared,
                N_COLUMNS=n_columns,
                SPAN=_SPAN,
                **tile,
            )
    return sums.sum(1).T
