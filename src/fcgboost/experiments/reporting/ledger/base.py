"""A claim of the paper, and the verdict that stored rows give on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from pandas import DataFrame

Verdict = Literal["holds", "holds in part", "does not hold", "not run"]
Frames = Mapping[str, "DataFrame"]


class Finding(NamedTuple):
    """A verdict and the numbers it rests on."""

    verdict: Verdict
    evidence: str


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
    """

    text: str
    experiment: str
    judge: Callable[[DataFrame], Finding | None]
    is_implied: bool = False

    def finding(self, frames: Frames) -> Finding:
        """Judge the claim by what is there."""
        frame = frames.get(self.experiment)
        found = None if frame is None or frame.empty else self.judge(frame)
        return found or Finding("not run", "The rows it needs are not there.")


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
