"""How every contestant is tuned and measured.

Each choice of a grid is fitted to the training part; the best accuracy on the validation part
wins, of equal ones the lower log-loss there, and then the first. The winner is not fitted again
to both parts. Nothing looks at the test part but `measure`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from fcgboost.experiments.base import Value
from fcgboost.experiments.contest.measures import (
    Learned,
    Params,
    Scores,
    busy_seconds,
    score,
)
from fcgboost.experiments.protocol import Data


class Plan(NamedTuple):
    """What a contestant does with a set of a given size.

    Attributes
    ----------
    choices : sequence of mapping
        The grid, simplest first.
    rows : int
        Training rows, and validation rows, that the grid is searched on; 0 is all.
    trial : mapping
        Parameters that differ while the grid is searched.
    final_rows : int
        Training rows that the winner is fitted to; 0 is all.
    note : str
        What keeps the effort below that on other sets; empty if nothing does.
    """

    choices: Sequence[Params]
    rows: int = 0
    trial: Params = MappingProxyType({})
    final_rows: int = 0
    note: str = ""

    @property
    def is_refitted(self) -> bool:
        """Whether the winner of the search is not yet the final fit."""
        return bool(self.rows or self.trial)


class Terms(NamedTuple):
    """On what terms a contestant starts: the share of flipped labels, and whether to hurry."""

    noise: float = 0.0
    is_try: bool = False


@dataclass(frozen=True)
class Contestant:
    """A column of the table.

    Parameters
    ----------
    name : str
    library : str
        What has to be importable.
    fit : callable
        Fits a choice to the training part; the validation part may choose how long.
    plan : callable
        From the data and the terms to a `Plan`.
    """

    name: str
    library: str
    fit: Callable[[Params, Data, int], Learned]
    plan: Callable[[Data, Terms], Plan]


class Winner(NamedTuple):
    """The best choice with what it learned, and what that cost."""

    params: Params
    learned: Learned
    seconds_tune: float
    seconds_fit: float


def tune(contestant: Contestant, plan: Plan, data: Data, seed: int) -> Winner:
    """Search the grid, and fit the winner to all rows if that has not happened."""
    started = busy_seconds()
    trial = data.at_most(plan.rows, seed) if plan.rows else data
    tried = []
    for choice in plan.choices if not plan.is_refitted or len(plan.choices) > 1 else ():
        begun = busy_seconds()
        learned = contestant.fit({**choice, **plan.trial}, trial, seed)
        seconds = busy_seconds() - begun
        found = score(learned.judge(trial.X_val), trial.y_val)
        tried.append((_rank(found), choice, learned, seconds))
        # Sorting is stable: of equal choices the first stays.
        tried = sorted(tried, key=lambda one: one[0])[:1]
    _, choice, learned, seconds = tried[0]
    if plan.is_refitted:
        final = data.at_most(plan.final_rows, seed) if plan.final_rows else data
        begun = busy_seconds()
        learned = contestant.fit(choice, final._replace(X_val=data.X_val, y_val=data.y_val), seed)
        seconds = busy_seconds() - begun
    return Winner(choice, learned, busy_seconds() - started, seconds)


def _rank(found: Scores) -> tuple[float, float]:
    return -found.accuracy, found.log_loss


def measure(contestant: Contestant, data: Data, terms: Terms, seed: int) -> dict[str, Value]:
    """Tune, and give the results on the test part."""
    plan = contestant.plan(data, terms)
    params, learned, seconds_tune, seconds_fit = tune(contestant, plan, data, seed)
    test = score(learned.judge(data.X_test), data.y_test)
    validation = score(learned.judge(data.X_val), data.y_val)
    shown = {**params, **learned.chosen}
    return {
        **test._asdict(),
        "validation_accuracy": validation.accuracy,
        "parameters": " ".join(f"{name}={_short(value)}" for name, value in shown.items()),
        "n_choices": len(plan.choices),
        "seconds_tune": seconds_tune,
        "seconds_fit": seconds_fit,
        "stored_numbers": learned.count(),
        "file_bytes": len(learned.file()),
        "n_parts": learned.n_parts,
        "deviation": "; ".join(note for note in (plan.note, learned.note) if note),
    }


def _short(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
