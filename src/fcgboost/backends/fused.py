"""Which fused kernel serves a dictionary in a place, if one is at hand and pays."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from fcgboost.backends import kernels
from fcgboost.backends.places import NumpyPlace, Place, TorchPlace
from fcgboost.dictionaries import Dictionary, GaussDictionary

# Loading compiled code takes about a second, and compiling it for the first time ever four: passes
# of fewer values than these are too quick for that to pay. Few columns are as quick without.
_WORTH_LOADING = 1 << 26
# The registers of a GPU hold no more columns than these without spilling; and for many, separate
# products are as fast.
_MOST_FEATURES = 64

#: From float32 rows, centres, steepnesses and residuals (m x c) to two float64 (n x c) arrays: the
#: sums of residuals times values, and of their sizes.
GaussSums = Callable[[Any, Any, Any, Any], tuple[Any, Any]]


def gauss_sums(
    dictionary: Dictionary, place: Place, n_values: int, n_features: int
) -> GaussSums | None:
    """Give the fused pass for Gauss atoms, or None.

    Parameters
    ----------
    dictionary : Dictionary
    place : Place
    n_values, n_features : int
        How many values a pass has, and the inputs how many columns.
    """
    if type(dictionary) is not GaussDictionary or n_values < _WORTH_LOADING:
        return None
    if isinstance(place, NumpyPlace):
        return kernels.gauss_dots if kernels.is_available() else None
    assert isinstance(place, TorchPlace)
    is_able = place.device.type == "cuda" and importlib.util.find_spec("triton") is not None
    return _gauss_sums_on_gpu if is_able and n_features <= _MOST_FEATURES else None


def is_stored_product_compiled(n_values: int) -> bool:
    """Whether a product with stored values, in NumPy's memory, goes by its rows alone."""
    if n_values < _WORTH_LOADING or not kernels.is_available():
        return False
    kernels.load()
    return True


def _gauss_sums_on_gpu(Z: Any, centers: Any, steepness: Any, R: Any) -> tuple[Any, Any]:
    import torch

    from fcgboost.backends.triton_kernels import gauss_sums

    outputs = [gauss_sums(Z, centers, steepness, R[:, c]) for c in range(R.shape[1])]
    dots, masses = zip(*outputs, strict=True)
    return torch.stack(dots, 1), torch.stack(masses, 1)


def stored_product(G: Any, R: Any, block: slice) -> Any:
    """Give R^T G for some columns of stored values, over the rows that have a residual."""
    columns = []
    for r in R.T:
        rows = np.flatnonzero(r)
        columns.append(kernels.stored_dots(G, rows, r[rows], block.start, block.stop))
    return np.stack(columns, axis=1)
