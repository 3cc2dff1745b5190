"""What commands print: results on standard output, everything else on standard error.

On a terminal, rich draws tables and progress bars if it is installed; elsewhere all is plain text.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, TextIO

Rows = Sequence[Sequence[str]]
# What may steer a terminal, turn the direction of its text, or is half a character.
_UNSHOWN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def shown(text: str) -> str:
    """Escape whatever may steer a terminal, as in JSON."""
    return _UNSHOWN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def say(text: str) -> None:
    """Print a result, or a part of it."""
    print(shown(text))


def output() -> Any:
    """Return where the bytes of a result go: standard output, escaped on a terminal."""
    seen = SimpleNamespace(write=lambda data: sys.stdout.write(shown(data.decode())))
    return seen if sys.stdout.isatty() else sys.stdout.buffer


def note(text: str) -> None:
    """Print something that is not the result."""
    print(shown(text), file=sys.stderr)


def print_json(value: Any) -> None:
    """Print data for a program."""
    say(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def print_result(options: argparse.Namespace, facts: Any, sentence: str) -> None:
    """Print facts for a program if --json asks for that, else a sentence."""
    if options.json:
        print_json(facts)
    else:
        say(sentence)


def print_table(header: Sequence[str], rows: Rows, *, n_labels: int = 1) -> None:
    """Print a table; the first `n_labels` columns are words, the others numbers."""
    # A name may have several lines, a row of a table has one.
    header, *rows = ([shown(" ".join(text.split())) for text in row] for row in (header, *rows))
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
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = (
            text.ljust(width) if i < n_labels else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def print_scores(scores: Mapping[str, Any]) -> None:
    """Print scores with their intervals."""
    from fcgboost.scores import TITLES

    rows = [
        (TITLES[name], f"{score.value:.4f}", f"{score.low:.4f} to {score.high:.4f}")
        for name, score in scores.items()
    ]
    print_table(("score", "value", "95 % interval"), rows)


@contextmanager
def progress(label: str) -> Iterator[Callable[[float, str], None]]:
    """Yield a function that shows the share of the work that is done, and a text.

    The share never falls. A terminal shows a bar; elsewhere there is a line for every tenth.
    """
    if not _is_rich(sys.stderr):
        show = partial(_show_tenth, label, {0})
        yield show
        show(1.0, "done")
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), TaskProgressColumn(), "{task.fields[text]}")
    console = Console(file=sys.stderr)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(label, total=1.0, text="")
        yield lambda share, text: bar.update(task, completed=share, text=text)
        bar.update(task, completed=1.0, refresh=True)


def _show_tenth(label: str, shown: set[int], share: float, text: str) -> None:
    tenth = int(10.0 * share)
    if tenth not in shown:
        shown.add(tenth)
        note(f"{label}: {10 * tenth} %, {text}")


def counted(label: str, batches: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Yield batches; a terminal shows how many rows are done."""
    if not _is_rich(sys.stderr):
        yield from batches
        return
    from rich.console import Console

    n_rows = 0
    with Console(file=sys.stderr).status(label) as status:
        for batch in batches:
            yield batch
            n_rows += batch[0].shape[0]
            status.update(f"{label}: {n_rows:,} rows")


def _is_rich(stream: TextIO | None) -> bool:
    # A closed stream is None.
    is_terminal = stream is not None and stream.isatty()
    return is_terminal and find_spec("rich") is not None
