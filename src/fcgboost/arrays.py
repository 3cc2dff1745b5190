"""Common functions for NumPy arrays and torch tensors.

Losses, dictionaries and solvers use the functions of their arrays' library. NumPy and torch agree
on most names; the other functions that the package needs are here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

__all__ = ["namespace"]

Array = NDArray[np.float64]
#: Class codes, and positions of rows or atoms.
Codes = NDArray[np.intp]
Flags = NDArray[np.bool_]
#: Classes as the user writes them: numbers, text or booleans.
ClassLabels = NDArray[Any]
#: A `torch.Tensor`: type checkers do not see torch, which only backends import.
Tensor: TypeAlias = Any
#: A CSR matrix, which type checkers do not see either: SciPy has no annotations.
SparseMatrix: TypeAlias = sparse.csr_matrix
#: Rows, atoms or columns within the package.
Matrix: TypeAlias = Array | SparseMatrix | Tensor
#: What users pass: rows (an array, a data frame, a sparse matrix or a tensor), labels and weights.
Rows: TypeAlias = Any
Labels: TypeAlias = ArrayLike
Weights: TypeAlias = ArrayLike | None

#: Inputs (in standardised units) and powers are clipped to this magnitude, so that their squares
#: are finite.
REACH = 2.0**480


def namespace(array: Matrix) -> Any:
    """Return the module of an array: numpy or torch, which share names, not types."""
    return sys.modules["torch"] if is_tensor(array) else np


def is_tensor(array: object) -> TypeGuard[Tensor]:
    """Return whether an object is a torch tensor, without importing torch."""
    if isinstance(array, np.ndarray):
        return False
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_sparse(array: object) -> TypeGuard[SparseMatrix]:
    """Return whether an object is a SciPy sparse matrix, faster than `issparse` for arrays."""
    return not isinstance(array, np.ndarray) and bool(sparse.issparse(array))


def to_numpy(array: Matrix) -> Array:
    """Return a dense NumPy array."""
    if isinstance(array, np.ndarray):
        return array
    if is_tensor(array):
        return np.asarray(array.cpu())
    return np.asarray(array.toarray())


def differ(first: Array, second: Array) -> Flags:
    """Return the columns in which arrays of rows differ; missing values are equal."""
    is_other = (first != second) & ~(np.isnan(first) & np.isnan(second))
    return np.asarray(is_other.any(axis=0))


def to_device_of(array: Any, other: Matrix) -> Any:
    """Return an array in the memory of another: unchanged, or as a tensor on its device."""
    if not is_tensor(other) or is_tensor(array):
        return array
    device = other.device
    if array.dtype.kind == "f":
        # Apple's devices have no double precision.
        array = array.astype(np.float32 if device.type == "mps" else np.float64)
    array = np.ascontiguousarray(array)
    return namespace(other).tensor(array, device=device)


def positive_part(array: Matrix) -> Matrix:
    """Return max(0, x) elementwise."""
    return array.clamp(min=0.0) if is_tensor(array) else np.maximum(array, 0.0)


def sort(array: Matrix) -> Matrix:
    """Sort each row in ascending order."""
    return array.sort(dim=1).values if is_tensor(array) else np.sort(array, axis=1)


def stack_rows(rows: Sequence[Matrix]) -> Matrix:
    """Stack at least one array of rows, padding short ones with zeros."""
    if len(rows) == 1:
        return rows[0]
    if any(map(is_sparse, rows)):
        return sparse.vstack(rows, "csr")
    heights, widths = zip(*(part.shape for part in rows), strict=True)
    stacked = np.zeros((sum(heights), max(widths)))
    first = 0
    for part in rows:
        n_rows, n_columns = part.shape
        stacked[first : first + n_rows, :n_columns] = part
        first += n_rows
    return stacked


def squared_norms(rows: Matrix) -> Matrix:
    """Return the squared Euclidean norm of each row."""
    if is_sparse(rows):
        numbers = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        return np.bincount(numbers, rows.data**2, minlength=rows.shape[0])
    if is_tensor(rows):
        # Ten times faster than torch's einsum.
        return (rows * rows).sum(1)
    return np.einsum("ij,ij->i", rows, rows)
