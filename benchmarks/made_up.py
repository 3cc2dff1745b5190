"""As many made-up rows as one likes, in 28 columns: normal, with labels of a curved surface.

A row depends on the seed and its place alone, so that fewer rows are the first of more. They are
drawn in blocks, and nothing but a block is needed beside the rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

N_COLUMNS = 28
#: One label in ten is flipped.
FLIPS = 0.1
_BLOCK = 1 << 16

Rows = NDArray[np.float32]
Labels = NDArray[np.int64]


def make_up(n_rows: int, seed: int = 0) -> tuple[Rows, Labels]:
    """Return rows, and labels 0 and 1: the side of sin(2 x0) + x1 x2 + x27 / 2 they are on."""
    X, y = np.empty((n_rows, N_COLUMNS), np.float32), np.empty(n_rows, np.int64)
    for number, start in enumerate(range(0, n_rows, _BLOCK)):
        generator = np.random.default_rng((seed, number))
        # A whole block, of which the last one may need only a part.
        rows = generator.standard_normal((_BLOCK, N_COLUMNS), dtype=np.float32)
        is_flipped = generator.random(_BLOCK) < FLIPS
        n = min(_BLOCK, n_rows - start)
        X[start : start + n] = rows[:n]
        y[start : start + n] = (_side(rows) != is_flipped)[:n]
    return X, y


def _side(X: Rows) -> NDArray[np.bool_]:
    side = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 27]
    return np.asarray(side > 0.0)
