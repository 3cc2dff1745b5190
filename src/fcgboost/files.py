"""Files that are written in full or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a file that replaces `path` once all is written.

    Until then, and after an error, `path` is unchanged. Links are followed, and permissions of a
    replaced file are kept. What is not a regular file (a pipe, a terminal, /dev/null) is written
    directly.
    """
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except OSError:  # reported when the file is created
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with path.open("wb") as file:
            yield file
        return
    place = path.resolve()
    # Without the original name, which may already have the maximal length.
    temporary = place.with_name(f".fcgboost-{secrets.token_hex(8)}")
    try:
        with _create(temporary, path) as file:
            if mode is not None:
                temporary.chmod(stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_whole(path: str | os.PathLike[str], data: bytes | str) -> int:
    """Write a file in full or not at all, text as UTF-8; return its size in bytes."""
    content: Any = data.encode() if isinstance(data, str) else data
    with writing(path) as file:
        return file.write(content)


def _create(temporary: Path, path: Path) -> IO[bytes]:
    """Create the temporary file; errors name the user's path."""
    try:
        return temporary.open("xb")
    except OSError as error:
        has_folder, folder = temporary.parent.exists(), temporary.parent
        problem = error.strerror if has_folder else f"The folder {folder} does not exist"
        raise OSError(error.errno, problem, str(path)) from None
