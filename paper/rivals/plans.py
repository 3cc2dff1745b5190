"""How much effort a rival makes in the contest: its grid by the size of the data.

A grid is small and covers what decides: the size of trees, the width and the penalty of a
kernel machine. Where a set is so large that a grid would take minutes, the effort is smaller
and the row says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from paper.protocol import Data
from paper.rivals.base import Params, Plan, Terms

#: Leaves or depths of a tree, small trees first.
LEAVES = (4, 16, 64)
DEPTHS = (2, 4, 6)
#: CatBoost's default is 6.
SYMMETRIC_DEPTHS = (4, 6, 8)
#: Entries of the training part above which CatBoost's deepest trees take half a minute.
MANY_ENTRIES = 500_000

POWERS_C = (-1, 1, 3, 5, 7)
POWERS_GAMMA = (-7, -5, -3, -1, 1)
MACHINE_ROWS = 2_000
#: With as many rows and noisy labels, most rows become support vectors.
MANY_ROWS = 50_000
NOISY_ROWS = 15_000

FOREST_TREES = 300
FOREST_ROWS = 2_000
MIN_LEAVES = (1, 5)

#: The original program of RGF up to so many rows, the fast one beyond.
RGF_ROWS = 2_000
RGF_LEAVES = 2_000
RGF_PENALTIES = (1.0, 0.1, 0.01)
FAST_TREES = 200
#: On more than `MANY_ROWS` rows.
FEW_TREES = 60
FAST_CHOICES: Sequence[Params] = (
    {"max_leaf": 50, "l2": 1000.0},
    {"max_leaf": 10, "l2": 10.0},
)


def sizes(name: str, values: Sequence[int], data: Data, terms: Terms) -> Plan:
    """Plan one fit per size of a tree."""
    return Plan([{name: value} for value in (values[:1] if terms.is_try else values)])


def catboost_plan(data: Data, terms: Terms) -> Plan:
    """Plan small trees first; on large data no deep ones."""
    plan = sizes("depth", SYMMETRIC_DEPTHS, data, terms)
    if data.X.size <= MANY_ENTRIES:
        return plan
    return plan._replace(choices=plan.choices[:2], note="no trees of depth 8")


def machine_plan(data: Data, terms: Terms) -> Plan:
    """Plan widths and penalties, tried on few rows."""
    choices = [
        {"C": 2.0**c, "gamma": 2.0**g, "max_iter": 1_000_000}
        for c in POWERS_C
        for g in POWERS_GAMMA
    ]
    is_large = max(len(data.y), len(data.y_val)) > MACHINE_ROWS
    note = f"tuned on {MACHINE_ROWS:,} rows" if is_large else ""
    choices = choices[:2] if terms.is_try else choices
    plan = Plan(choices, MACHINE_ROWS, {"max_iter": 50_000}, note=note)
    if terms.noise == 0.0 or len(data.y) <= MANY_ROWS:
        return plan
    return plan._replace(final_rows=NOISY_ROWS, note=f"{note}; fitted to {NOISY_ROWS:,} rows")


def forest_plan(data: Data, terms: Terms) -> Plan:
    """Plan features per split and sizes of leaves, tried on few rows."""
    n_features = data.X.shape[1]
    shares = dict.fromkeys((max(1, math.isqrt(n_features)), math.ceil(0.4 * n_features)))
    choices = [
        {"n_estimators": FOREST_TREES, "max_features": share, "min_samples_leaf": least}
        for least in MIN_LEAVES
        for share in shares
    ]
    is_large = max(len(data.y), len(data.y_val)) > FOREST_ROWS
    note = f"tuned on {FOREST_ROWS:,} rows" if is_large else ""
    trial = {"n_estimators": FOREST_TREES // 3}
    return Plan(choices[:1] if terms.is_try else choices, FOREST_ROWS, trial, note=note)


def rgf_plan(data: Data, terms: Terms) -> Plan:
    """Plan the original program on few rows, the fast one on more."""
    if len(data.y) <= RGF_ROWS:
        penalties = RGF_PENALTIES[:1] if terms.is_try else RGF_PENALTIES
        return Plan([{"max_leaf": RGF_LEAVES, "l2": l2} for l2 in penalties])
    if len(data.y) > MANY_ROWS:
        few = {"n_trees": FEW_TREES, **FAST_CHOICES[0]}
        return Plan([few], note=f"FastRGF; one choice, {FEW_TREES} trees")
    choices = [{"n_trees": FAST_TREES, **choice} for choice in FAST_CHOICES]
    return Plan(choices[:1] if terms.is_try else choices, note="FastRGF")
