"""What commands print: results on standard output, everything else on standard error."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from fcgboost.rows.batches import Batch, LabelledBatch

T = TypeVar("T", "Batch", "LabelledBatch")

# Characters that control a terminal or the direction of its text, and lone surrogates.
_UNSHOWN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def shown(text: str) -> str:
    """Escape everything that may control a terminal, as in JSON."""
    return _UNSHOWN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def say(text: str) -> None:
    """Print a result, or a part of it."""
    print(shown(text))


def output() -> Any:
    """Return where the bytes of a result go: standard output, escaped on a terminal."""
    escaped = SimpleNamespace(write=lambda data: sys.stdout.write(shown(data.decode())))
    return escaped if sys.stdout.isatty() else sys.stdout.buffer


def note(text: str) -> None:
    """Print something that is not the result."""
    print(shown(text), file=sys.stderr)


def print_json(value: object) -> None:
    """Print data for a program."""
    say(
        json.dumps(
            value,
            indent=2,
            ensure_ascii=False,
            allow_nan=False,
            default=str,  # of dates
        )
    )


def print_result(options: argparse.Namespace, facts: object, sentence: str) -> None:
    """Print facts for a program if --json asks for them, else a sentence."""
    if options.json:
        print_json(facts)
    else:
        say(sentence)


@contextmanager
def progress() -> Iterator[Callable[[float, str], None]]:
    """Yield a function that shows the share of a fit that is done, and a text.

    The share must never fall. A terminal shows one line that changes; elsewhere every tenth of the
    fit has a line.
    """
    if _is_terminal():
        yield lambda share, text: _rewrite(f"Fitting: {100 * share:.0f} %, {text}")
        _rewrite("Fitting: 100 %, done")
        print(file=sys.stderr)
        return
    shown_tenths = {0}

    def show(share: float, text: str) -> None:
        tenth = int(10.0 * share)
        if tenth not in shown_tenths:
            shown_tenths.add(tenth)
            note(f"Fitting: {10 * tenth} %, {text}")

    yield show
    show(1.0, "done")


def counted(batches: Iterable[T]) -> Iterator[T]:
    """Yield batches; a terminal shows how many rows are predicted."""
    n_rows = 0
    for batch in batches:
        yield batch
        n_rows += len(batch.decision)
        if _is_terminal():
            _rewrite(f"Predicting: {n_rows:,} rows")
    if _is_terminal():
        _rewrite("")


def _is_terminal() -> bool:
    # A closed stream is None.
    return sys.stderr is not None and sys.stderr.isatty()


def _rewrite(text: str) -> None:
    """Replace the current line of the terminal."""
    width = get_terminal_size().columns - 1
    line = shown(text)[:width].ljust(width)
    print(
        f"\r{line}\r",
        end="",
        file=sys.stderr,
        flush=True,
    )
