"""A claim of the paper, and the verdict that stored rows give on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from pandas import DataFrame

Verdict = Literal[
    "holds",
    "holds in part",
    "does not hold",
    "too few repetitions",
    "not run",
    "not run: data not available",
]
Frames = Mapping[str, "DataFrame"]


class Finding(NamedTuple):
    """A verdict and the numbers it rests on."""

    verdict: Verdict
    evidence: str


Judge = Callable[["DataFrame"], Finding | None]

ABSENT = Finding("not run", "The rows it needs are not all there.")
TOO_FEW = Finding(
    "too few repetitions", "A mean it needs is that of one repetition, without a standard error."
)


@dataclass(frozen=True)
class Claim:
    """What the paper says, and how rows judge it.

    Parameters
    ----------
    text : str
        The claim in our words; printed figures as printed.
    experiment : str
        Whose rows judge it.
    judge : callable
        From the experiment's rows to a finding; None where rows that it needs are absent.
    is_implied : bool
        Whether the paper takes it for granted rather than says it.
    absent : Finding
        What is found where there are no rows.
    """

    text: str
    experiment: str
    judge: Judge
    is_implied: bool = False
    absent: Finding = ABSENT

    def finding(self, frames: Frames) -> Finding:
        """Judge the claim by what is there."""
        frame = frames.get(self.experiment)
        found = None if frame is None or frame.empty else self.judge(frame)
        return found or self.absent


def needs(column: str, **values: Sequence[object]) -> Callable[[Judge], Judge]:
    """Let a judge decide only where every combination of these values has two repetitions."""

    def restrict(judge: Judge) -> Judge:
        @wraps(judge)
        def judge_if_complete(frame: DataFrame) -> Finding | None:
            return lacking(frame, column, **values) or judge(frame)

        return judge_if_complete

    return restrict


def lacking(frame: DataFrame, column: str, **values: Sequence[object]) -> Finding | None:
    """Say what keeps a column's rows from deciding; None where nothing does."""
    given = frame[frame[column].notna()]
    counts = {
        key if isinstance(key, tuple) else (key,): count
        for key, count in given.groupby(list(values))["repetition"].nunique().items()
    }
    least = min((counts.get(cell, 0) for cell in product(*values.values())), default=0)
    return ABSENT if least == 0 else TOO_FEW if least == 1 else None


def graded(n_true: int, n_all: int) -> Verdict:
    """Turn a count of cases into a verdict: all, none, or some."""
    if n_true == n_all:
        return "holds"
    return "holds in part" if n_true else "does not hold"


def mostly(n_true: int, n_all: int) -> Verdict:
    """Turn a count into a verdict on "frequently" or "generally": more than half, or not."""
    return "holds" if 2 * n_true > n_all else "does not hold"


def select(frame: DataFrame, **values: object) -> DataFrame:
    """Give the rows that have these values."""
    for name, value in values.items():
        frame = frame[frame[name] == value]
    return frame
