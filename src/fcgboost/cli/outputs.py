"""What a command will write: checked before any work."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


def check_outputs(
    outputs: list[Path | None], inputs: list[Path | None], *, tables: Sequence[Path | None] = ()
) -> None:
    """Refuse, before any work, outputs that cannot be written or would replace an input.

    None is skipped. The names of `tables` must tell the format.
    """
    named = [out for out in outputs if out is not None]
    for out in named:
        _check_writable(out)
        for path in filter(None, inputs):
            if out.exists() and path.exists() and out.samefile(path):
                raise ValueError(f"{out} is an input of this command: name another output.")
    distinct = {out.resolve() for out in named}
    if len(distinct) < len(named):
        raise ValueError("Two outputs of this command have the same name: give each its own.")
    for table in filter(None, tables):
        from fcgboost.rows.writing import format_of  # needs pyarrow, which not all commands do

        format_of(table)


def _check_writable(out: Path) -> None:
    folder = out.resolve().parent
    if not folder.is_dir():
        raise ValueError(
            f"{out} cannot be written: there is no folder {out.parent}. Create it, or name another "
            "file."
        )
    if out.is_dir():
        raise ValueError(f"{out} cannot be written: it is a folder. Name a file in it.")
    # A new file takes the place of an older one; what is no plain file is written on directly.
    is_new = out.is_file() or not out.exists()
    if not os.access(folder if is_new else out, os.W_OK):
        raise ValueError(f"{out} cannot be written: permission denied. Name another file.")
