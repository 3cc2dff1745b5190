"""Rules that decide whether half as many learned atoms are as good as random ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from paper.reporting.beyond import in_points, is_above, is_below
from paper.reporting.ledger.base import (
    TOO_FEW,
    Claim,
    Finding,
    graded,
    select,
)
from paper.reporting.summaries import Summary, paired
from paper.reporting.tables import signed_plus_minus

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: The criteria of the claims, and the goals that the random path sets by them.
GOALS: Mapping[str, str] = {
    "accuracy": "the best validation accuracy of the random path",
    "one_error": "one standard error below the random path's best accuracy",
}
_HALF = 0.5
_SETS_HALVED = 6
#: Shares of rows are sums: equal ones may differ in the last bit.
_ROUNDING = 1e-12


def half_differences(frame: DataFrame, way: str) -> dict[str, Summary]:
    """Give, set by set, the test accuracy of at most half as many atoms minus that of all."""
    rows = select(frame, criterion="half")
    return {
        str(name): paired(part, "test_accuracy", "way", "random", way)
        for name, part in rows.groupby("dataset")
    }


def _is_half_enough(frame: DataFrame) -> Finding | None:
    learned, control = (half_differences(frame, way) for way in ("learned", "halved"))
    if not learned or any(one.n == 0 for one in learned.values()):
        return None
    if any(one.error != one.error for one in learned.values()):
        return TOO_FEW
    n_as_good, n_control = (
        sum(one.mean >= -_ROUNDING for one in found.values()) for found in (learned, control)
    )
    shown = "; ".join(
        f"{name} {signed_plus_minus(in_points(one), 2)}" for name, one in learned.items()
    )
    n_above, n_below = (sum(map(test, learned.values())) for test in (is_above, is_below))
    return Finding(
        graded(int(n_as_good >= _SETS_HALVED), 1),
        f"At least as accurate on {n_as_good} of {len(learned)} sets. Learned minus random, in "
        f"points: {shown}. By more than two standard errors it is above on {n_above} and below on "
        f"{n_below}. Half as many random ones are as accurate on {n_control}.",
    )


def atom_ratios(rows: DataFrame, way: str) -> Series:
    """Give the median over splits of a path's number of atoms over the random path's, by set.

    A path that does not reach the goal needs infinitely many.
    """
    wide = rows.pivot(index=["dataset", "repetition"], columns="way", values="k")
    return (wide[way].fillna(np.inf) / wide["random"]).groupby("dataset").median()


def _needs_half(criterion: str, frame: DataFrame) -> Finding | None:
    rows = select(frame, criterion=criterion)
    if not {"random", "again", "learned"} <= set(rows["way"]):
        return None
    rows = rows[rows.groupby(["dataset", "repetition"])["way"].transform("nunique") > 2]
    if rows.empty:
        return None
    learned, again = (atom_ratios(rows, way) for way in ("learned", "again"))
    halved = [str(name) for name in learned.index[learned <= _HALF]]
    named = f" ({', '.join(halved)})" if halved else ""
    control = int((again <= _HALF).sum())
    missed = int(np.isinf(learned).sum())
    return Finding(
        graded(int(len(halved) >= _SETS_HALVED), 1),
        f"Half as many on {len(halved)} of {len(learned)} sets{named}; the goal is missed on "
        f"{missed}. A random path with another seed: {control} sets, missed on "
        f"{int(np.isinf(again).sum())}.",
    )


ATOMS = (
    Claim(
        "On 6 of 11 sets at most half as many learned atoms are at least as accurate on the test "
        "part as random ones; validation chooses ridge and number of both.",
        "atoms",
        _is_half_enough,
    ),
    *(
        Claim(
            f"On 6 of 11 sets half as many learned atoms reach {text}, with one ridge for all.",
            "atoms",
            partial(_needs_half, criterion),
        )
        for criterion, text in GOALS.items()
    ),
)
