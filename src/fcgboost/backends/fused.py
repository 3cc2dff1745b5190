"""Which fused kernel serves a dictionary in a place, if one is at hand and pays."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fcgboost.backends import kernels
from fcgboost.backends.blocks import row_blocks
from fcgboost.backends.places import NumpyPlace, Place, TorchPlace
from fcgboost.dictionaries import Dictionary, GaussDictionary

# Passes of fewer values than these are as quick by products of matrices.
_WORTH_FUSING = 1 << 26
# The registers of a GPU hold no more columns than these without spilling; and for many, separate
# products are as fast.
_MOST_FEATURES = 64
# Stored rows of one piece of work.
_STORED_ROWS = 1024

#: From float32 rows, centres, steepnesses and residuals (m x c) to two float64 (n x c) arrays: the
#: sums of residuals times values, and of their sizes.
GaussSums = Callable[[Any, Any, Any, Any], tuple[Any, Any]]
#: Does pieces of work, in threads or not, and gives the results in their order.
Each = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


def gauss_sums(
    dictionary: Dictionary, place: Place, n_values: int, n_features: int
) -> GaussSums | None:
    """Return the fused pass for Gauss atoms, or None.

    Parameters
    ----------
    dictionary : Dictionary
    place : Place
    n_values, n_features : int
        How many values a pass has, and the inputs how many columns.
    """
    if type(dictionary) is not GaussDictionary or n_values < _WORTH_FUSING:
        return None
    if isinstance(place, NumpyPlace):
        return kernels.gauss_dots
    assert isinstance(place, TorchPlace)
    is_able = place.device.type == "cuda" and importlib.util.find_spec("triton") is not None
    return _gauss_sums_on_gpu if is_able and n_features <= _MOST_FEATURES else None


def is_stored_product_compiled(n_values: int) -> bool:
    """Whether a product with stored values, in NumPy's memory, goes by its rows alone."""
    return n_values >= _WORTH_FUSING


def _gauss_sums_on_gpu(Z: Any, centers: Any, steepness: Any, R: Any) -> tuple[Any, Any]:
    import torch

    from fcgboost.backends.triton_kernels import gauss_sums

    outputs = [gauss_sums(Z, centers, steepness, R[:, c]) for c in range(R.shape[1])]
    dots, masses = zip(*outputs, strict=True)
    return torch.stack(dots, 1), torch.stack(masses, 1)


def stored_product(G: Any, R: Any, each: Each) -> Any:
    """Return R^T G for stored values, over the rows that have a residual.

    Threads share the rows: whole rows come from the memory faster than pieces of them, and a
    thread that is done early takes another piece.
    """
    return np.stack([_stored_product(G, r, each) for r in R.T], axis=1)


def _stored_product(G: Any, r: Any, each: Each) -> Any:
    rows = np.flatnonzero(r != 0.0)
    pieces = row_blocks(len(rows), _STORED_ROWS)
    parts = each(lambda piece: kernels.stored_dots(G, rows[piece], r[rows[piece]]), pieces)
    return sum(parts, np.zeros(G.shape[1]))
