"""Functions compiled by numba, once for all processes where they can be left on the disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compiled(function: Callable[..., None], signature: Any, **options: Any) -> Any:
    """Compile a function, or take it from the disk where a process before has left it.

    Parameters
    ----------
    function : callable
        It runs without Python's lock. Divisions by zero are as in NumPy.
    signature : numba type
    **options :
        More for `numba.njit`, such as which liberties it takes with sums.
    """
    from numba import njit

    options = {"nogil": True, "error_model": "numpy", **options}
    try:
        return njit(signature, cache=True, **options)(function)
    except RuntimeError:
        # There is no folder to leave it in: each process compiles for itself.
        return njit(signature, **options)(function)
