"""Protection from files: a memory limit, and errors that name the file."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Source(NamedTuple):
    """A file: its name, the most memory its rows may fill at once, and what takes its warnings."""

    name: str
    max_bytes: int
    tell: Callable[[str], None]
    #: Whether stray text in a column of numbers or dates is an error.
    is_strict: bool = False
    #: Whether texts that differ only in case or white space are one.
    merges_spellings: bool = False

    def check(self, n_bytes: int) -> None:
        """Raise a ValueError if that many bytes are too many."""
        if n_bytes > self.max_bytes:
            raise ValueError(
                f"{self.name} asks for more than the {self.max_bytes / 2**30:.3g} GiB of memory "
                "that its rows may fill. If you trust the file, allow more: max_bytes=2**34, or "
                "--max-bytes 16GiB."
            )


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn whatever libraries raise about a damaged file into a ValueError that names it."""
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            # The machine failed, not the file.
            raise OSError(error.errno, error.strerror, error.filename or name) from error
        if name in str(error) or isinstance(error, ImportError):
            raise
        what = "cannot be used" if type(error) is ValueError else "is damaged, or not of its format"
        raise ValueError(f"{name} {what}: {str(error) or type(error).__name__}") from error
