"""Common functions for NumPy arrays and torch tensors.

Losses, dictionaries and solvers use the functions of their arrays' library. NumPy and torch agree
on most names; the other functions that the package needs are here.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]

#: Inputs count as at most so many units from zero, powers as at most so large: they have squares.
REACH = 2.0**480


def namespace(array: Any) -> Any:
    """Return the module of an array: numpy or torch."""
    return sys.modules["torch"] if is_tensor(array) else np


def is_tensor(array: Any) -> bool:
    """Return whether an object is a torch tensor, without importing torch."""
    if isinstance(array, np.ndarray):
        return False
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_sparse(array: Any) -> bool:
    """Return whether an object is a SciPy sparse matrix, faster than `issparse` for arrays."""
    return not isinstance(array, np.ndarray) and sparse.issparse(array)


def host(array: Any) -> Any:
    """Return a dense NumPy array."""
    if isinstance(array, np.ndarray):
        return array
    if is_tensor(array):
        return array.cpu().numpy()
    return array.toarray() if sparse.issparse(array) else array


def beside(array: Any, other: Any) -> Any:
    """Return an array in the memory of another: unchanged, or as a tensor on its device."""
    if not is_tensor(other) or is_tensor(array):
        return array
    if array.dtype.kind == "f":
        # Apple's devices have no double precision.
        array = array.astype(np.float32 if other.device.type == "mps" else np.float64)
    return namespace(other).tensor(np.ascontiguousarray(array), device=other.device)


def positive_part(array: Any) -> Array:
    """Return max(0, x) elementwise."""
    return array.clamp(min=0.0) if is_tensor(array) else np.maximum(array, 0.0)  # type: ignore[no-any-return]


def sort(array: Any) -> Any:
    """Sort each row in ascending order."""
    return array.sort(dim=1).values if is_tensor(array) else np.sort(array, axis=1)


def squared_norms(rows: Any) -> Any:
    """Return the squared Euclidean norm of each row."""
    if sparse.issparse(rows):
        numbers = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        return np.bincount(numbers, rows.data**2, minlength=rows.shape[0])
    # torch's einsum is ten times slower here.
    return (rows * rows).sum(1) if is_tensor(rows) else np.einsum("ij,ij->i", rows, rows)
