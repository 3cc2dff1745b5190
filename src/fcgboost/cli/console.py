"""What commands say: results on standard output, all else on standard error.

On a terminal tables have lines and a fit has a progress bar (by rich, if it is installed); in a
pipe everything is plain text.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TextIO

from fcgboost.scores import TITLES, Score
from fcgboost.stopping import Step

Rows = Sequence[Sequence[str]]


def note(text: str) -> None:
    """Say something that is not the result."""
    print(text, file=sys.stderr)


def print_json(value: Any) -> None:
    """Print data for a program."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def print_table(header: Sequence[str], rows: Rows, *, n_labels: int = 1) -> None:
    """Print a table; the first `n_labels` columns are words, the others numbers."""
    if _is_rich(sys.stdout):
        from rich import box
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD)
        for i, name in enumerate(header):
            table.add_column(escape(name), justify="left" if i < n_labels else "right")
        for row in rows:
            table.add_row(*map(escape, row))
        Console(file=sys.stdout).print(table)
    else:
        print("\n".join(_plain(header, rows, n_labels)))


def _plain(header: Sequence[str], rows: Rows, n_labels: int) -> Iterator[str]:
    # A name may have several lines, a row of a table has one.
    rows = [[" ".join(text.split()) for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = (
            text.ljust(width) if i < n_labels else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def print_scores(scores: Mapping[str, Score]) -> None:
    """Print scores with their intervals."""
    rows = [
        (TITLES[name], f"{score.value:.4f}", f"{score.low:.4f} to {score.high:.4f}")
        for name, score in scores.items()
    ]
    print_table(("score", "value", "95 % interval"), rows)


def as_data(scores: Mapping[str, Score]) -> dict[str, dict[str, float | None]]:
    """Give scores as JSON has them."""
    return {name: score.to_dict() for name, score in scores.items()}


@contextmanager
def progress(
    label: str, n_steps: int, *, has_paths: bool = False
) -> Iterator[Callable[[Step], None]]:
    """Give a callback of a fit that shows how far it is, and with several paths in which."""
    if not _is_rich(sys.stderr):
        numbers = itertools.count(1)
        yield lambda step: _show_line(label, step, n_steps, numbers if has_paths else None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("step {task.completed}/{task.total}, {task.fields[atoms]} atoms"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task(label, total=n_steps, atoms=0)
        yield lambda step: bar.update(task, completed=step.k, atoms=step.n_atoms)


def _show_line(label: str, step: Step, n_steps: int, numbers: Iterator[int] | None) -> None:
    if numbers is not None:
        if step.k == 1:
            note(f"{label}: path {next(numbers)}")
        return
    # Ten lines tell as much as hundreds.
    if step.k % max(1, n_steps // 10) == 0:
        note(f"{label}: step {step.k}/{n_steps}, {step.n_atoms} atoms, {step.seconds:.1f} s")


@contextmanager
def counting(label: str) -> Iterator[Callable[[int], None]]:
    """Give a function that shows, on a terminal, how many rows are done."""
    if not _is_rich(sys.stderr):
        yield lambda n_rows: None
        return
    from rich.console import Console

    with Console(file=sys.stderr).status(label) as status:
        yield lambda n_rows: status.update(f"{label}: {n_rows:,} rows")


def _is_rich(stream: TextIO | None) -> bool:
    # A closed stream is None.
    is_terminal = stream is not None and stream.isatty()
    return is_terminal and find_spec("rich") is not None
