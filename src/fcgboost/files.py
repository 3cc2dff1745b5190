"""Files that are there in full or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Give a file to write on that takes its place at `path` once all is written.

    Until then, and after an error, what was at `path` stays as it was.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_whole(path: str | os.PathLike[str], data: bytes | str) -> int:
    """Write a whole file, text as UTF-8; give its size in bytes."""
    content: Any = data.encode() if isinstance(data, str) else data
    with writing(path) as file:
        return file.write(content)
