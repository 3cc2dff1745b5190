"""How every contestant is tuned and measured.

Each choice of a grid is fitted to the training part; the best accuracy on the validation part
wins, of equal ones the higher likelihood there, and then the first. The winner is not fitted again
to both parts. Nothing looks at the test part but `measure`.

Seconds are processor time, child processes included: everybody runs on one thread, so they are
what a clock would say on a machine with nothing else to do.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from paper.base import Value
from paper.protocol import Data
from paper.rivals.base import Entry, Learned, Params, Plan, Terms, rank, score


def busy_seconds() -> float:
    """Return the processor time of this process and of those it waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


class Winner(NamedTuple):
    """The best choice with what it learned, and what that cost."""

    params: Params
    learned: Learned
    seconds_tune: float
    seconds_fit: float


def tune(entry: Entry, plan: Plan, data: Data, seed: int) -> Winner:
    """Search the grid, and fit the winner to all rows if that has not happened."""
    started = busy_seconds()
    trial = data.at_most(plan.rows, seed) if plan.rows else data
    tried = []
    for choice in plan.choices if not plan.is_refitted or len(plan.choices) > 1 else ():
        begun = busy_seconds()
        learned = entry.fit({**choice, **plan.trial}, trial, seed)
        seconds = busy_seconds() - begun
        tried.append((rank(learned.judge(trial.X_val), trial.y_val), choice, learned, seconds))
        # Sorting is stable: of equal choices the first stays.
        tried = sorted(tried, key=lambda one: one[0])[:1]
    _, choice, learned, seconds = tried[0]
    if plan.is_refitted:
        final = data.at_most(plan.final_rows, seed) if plan.final_rows else data
        begun = busy_seconds()
        learned = entry.fit(choice, final._replace(X_val=data.X_val, y_val=data.y_val), seed)
        seconds = busy_seconds() - begun
    return Winner(choice, learned, busy_seconds() - started, seconds)


def measure(entry: Entry, data: Data, terms: Terms, seed: int) -> dict[str, Value]:
    """Tune, and give the results on the test part."""
    plan = entry.plan(data, terms)
    params, learned, seconds_tune, seconds_fit = tune(entry, plan, data, seed)
    test = score(learned.judge(data.X_test), data.y_test)
    validation = score(learned.judge(data.X_val), data.y_val)
    return {
        **test._asdict(),
        "validation_accuracy": validation.accuracy,
        "parameters": shown({**params, **learned.chosen}),
        "n_choices": len(plan.choices),
        "seconds_tune": seconds_tune,
        "seconds_fit": seconds_fit,
        "stored_numbers": learned.count(),
        "file_bytes": len(learned.file()),
        "n_parts": learned.n_parts,
        "deviation": "; ".join(note for note in (plan.note, learned.note) if note),
    }


def shown(params: Params) -> str:
    """Write parameters in a cell."""
    return " ".join(f"{name}={_short(value)}" for name, value in params.items())


def _short(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
