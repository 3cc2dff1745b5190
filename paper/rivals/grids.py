"""The grids of the paper's real-data table as data, and what bounds a rival's time there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from paper.rivals.base import Bounds, Grid, Params

GRIDS: tuple[Grid, ...] = get_args(Grid)
NO_GRID: Mapping[Grid, Sequence[Params]] = {grid: [{}] for grid in GRIDS}

#: Powers of two for C and gamma, as the paper's search in LIBSVM.
POWERS: Mapping[Grid, Sequence[int]] = {
    "paper": range(-5, 6),
    "thinned": range(-5, 6, 2),
    "quick": (-3, 1),
}
SVM_DEGREES: Mapping[Grid, Sequence[int]] = {
    "paper": range(1, 11),
    "thinned": (1, 2, 3, 5, 8),
    "quick": (1, 3),
}
DEGREES: Mapping[Grid, Sequence[int]] = {
    "paper": range(1, 11),
    "thinned": range(1, 11),
    "quick": (1, 3),
}
TREES: Mapping[Grid, Sequence[int]] = {
    "paper": range(2, 21, 2),
    "thinned": range(2, 21, 2),
    "quick": (4, 20),
}


def each(name: str, values: Mapping[Grid, Sequence[Any]]) -> dict[Grid, Sequence[Params]]:
    """Give the grids of one parameter."""
    return {grid: [{name: value} for value in values[grid]] for grid in values}


def rbf_grid(grid: Grid) -> list[Params]:
    """Return all pairs of (C, gamma)."""
    powers = POWERS[grid]
    return [{"C": 2.0**c, "gamma": 2.0**g} for c in powers for g in powers]


def poly_grid(grid: Grid) -> list[Params]:
    """Give (degree, C, gamma), in this order, once for every C gamma^p.

    The kernel (gamma <x, z>)^p is a multiple of <x, z>^p, and C times a multiple of the kernel
    is all that the classifier depends on, so the others would be the same classifier again.
    """
    powers = POWERS[grid]
    kept: dict[tuple[int, int], Params] = {}
    for p in SVM_DEGREES[grid]:
        for c in powers:
            for g in powers:
                kept.setdefault((p, c + p * g), {"degree": p, "C": 2.0**c, "gamma": 2.0**g})
    return list(kept.values())


SVM_BOUNDS: Mapping[Grid, Bounds] = {
    # LIBSVM's own bound.
    "paper": Bounds(fixed={"max_iter": 10_000_000, "cache_size": 1_000}),
    "thinned": Bounds(
        rows=1_000,
        fixed={"max_iter": 1_000_000, "cache_size": 1_000},
        trial={"max_iter": 20_000},
    ),
    "quick": Bounds(rows=1_000, fixed={"max_iter": 20_000}),
}
NO_BOUNDS: Mapping[Grid, Bounds] = dict.fromkeys(GRIDS, Bounds())
FPC_BOUNDS: Mapping[Grid, Bounds] = {
    "paper": Bounds(),
    "thinned": Bounds(rows=1_000, fixed={"max_centers": 2_000}),
    "quick": Bounds(rows=1_000, fixed={"max_centers": 300}),
}
#: On 122,528 rows it neither converges in minutes nor is then better than guessing.
POLY_BOUNDS: Mapping[Grid, Bounds] = {
    **SVM_BOUNDS,
    "thinned": SVM_BOUNDS["thinned"]._replace(final_rows=15_000),
}
