"""Files that are written in full or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeAlias

FilePath: TypeAlias = str | os.PathLike[str]

_PREFIX = ".fcgboost-"
_N_BYTES = 8
# A file that was not written to for so many seconds is left from a run that was killed.
_A_DAY = 86_400.0


@contextmanager
def writing(path: FilePath) -> Iterator[IO[bytes]]:
    """Yield a file that replaces `path` once all is written.

    Until then, and after an error, `path` is unchanged. Links are followed, and permissions of a
    replaced file are kept. What is not a regular file (a pipe, a terminal, /dev/null) is written
    directly.
    """
    path = Path(path)
    has_file = os.path.isfile(path)
    if os.path.exists(path) and not has_file:
        with path.open("wb") as file:
            yield file
        return
    target = path.resolve()
    # Without the original name, which may already have the maximal length.
    token = secrets.token_hex(_N_BYTES)
    temporary = target.with_name(_PREFIX + token)
    _remove_left(target.parent)
    try:
        with _create(temporary, path) as file:
            if has_file:
                shutil.copymode(target, temporary)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_whole(path: FilePath, data: bytes | str) -> int:
    """Write a file in full or not at all, text as UTF-8; return its size in bytes."""
    content: Any = data.encode() if isinstance(data, str) else data
    with writing(path) as file:
        return file.write(content)


def _remove_left(folder: Path) -> None:
    """Remove temporary files that killed runs have left."""
    digits = "[0-9a-f]" * 2 * _N_BYTES
    now = time.time()
    for left in folder.glob(_PREFIX + digits):
        with suppress(OSError):
            age = now - left.stat().st_mtime
            if age > _A_DAY:
                left.unlink()


def _create(temporary: Path, path: Path) -> IO[bytes]:
    """Create the temporary file; errors name the user's path."""
    try:
        return temporary.open("xb")
    except OSError as error:
        folder = temporary.parent
        problem = error.strerror if folder.exists() else f"The folder {folder} does not exist"
        raise OSError(error.errno, problem, str(path)) from None
