"""What the demo prints."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np

from paper.demo.methods import COMPACT, DEFAULT, Result
from paper.demo.tasks import Array, Task

_LINE = "  {:<22}{:>17}{:>11}{:>16}{:>11}{:>10}"


def print_head(task: Task, n_draws: int) -> None:
    """Print a task's title and the head of its table."""
    print(f"\n{task.title}; {n_draws} draws")
    head = ("", "test error", "log-loss", "numbers stored", "fit", "tuning")
    print(_LINE.format(*head), flush=True)


def print_row(r: Result) -> None:
    """Print one line of a table."""
    error = f"{100 * r.errors.mean():.2f} ± {100 * r.standard_error:.2f} %"
    loss = "-" if np.isnan(r.log_loss) else f"{r.log_loss:.3f}"
    tuning = f"{r.tune_seconds:.1f} s" if r.name not in (DEFAULT, COMPACT) else "none"
    print(
        _LINE.format(r.name, error, loss, f"{r.size:,}", f"{r.fit_seconds:.3f} s", tuning),
        flush=True,
    )


def print_reading(found: Mapping[Task, Sequence[Result]]) -> None:
    """Say what the tables show, in the figures of this run."""
    print()
    for task, results in found.items():
        ranked = sorted(results, key=lambda r: float(r.errors.mean()))
        best, default = ranked[0], next(r for r in results if r.name == DEFAULT)
        said = f"{task.name}: lowest mean error {100 * best.errors.mean():.2f} %, {best.name}"
        if best is not default:
            gap = default.errors - best.errors
            error = gap.std(ddof=1) / np.sqrt(len(gap))
            said += f"; the default is {100 * gap.mean():.2f} ± {100 * error:.2f} points behind"
        _print_paragraph(f"{said}.")
    _print_paragraph(
        "± is the standard error over draws. Test labels are true; the log-loss is that of labels "
        "as noisy as the training labels. Times are CPU seconds on one thread. SVC has no "
        "probabilities."
    )


def print_path(curves: Mapping[str, Array], k0: int) -> None:
    """Say how the families' test error goes on after k0 steps."""
    print(
        f"\nOne fit holds every number of steps. Simulation, test error after k0 = {k0} and more:"
    )
    for name, curve in curves.items():
        ks = [min(k, len(curve)) for k in (k0, 5 * k0, 10 * k0)]
        print(f"  {name:<12}" + ", ".join(f"{100 * curve[k - 1]:.2f} % at {k}" for k in ks))


def _print_paragraph(text: str) -> None:
    print(textwrap.fill(text, width=96, subsequent_indent="  "))
