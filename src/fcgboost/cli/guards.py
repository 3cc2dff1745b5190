"""What protects commands from files: a memory limit, and errors that name the file."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

_PER_COLUMN = 2**12


class Limit(NamedTuple):
    """The most memory that the rows of a file may fill at once."""

    name: str
    n_bytes: int

    def check(self, n_bytes: int, n_columns: int = 0) -> None:
        """Raise a ValueError if that many bytes, or columns, are too many."""
        if n_bytes + _PER_COLUMN * n_columns > self.n_bytes:
            raise ValueError(
                f"{self.name} asks for more than the {self.n_bytes / 2**30:.3g} GiB of memory that "
                "its rows may fill. If you trust the file, allow more, such as --max-bytes 16GiB."
            )


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn whatever libraries raise about a damaged file into a ValueError that names it."""
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            # No fault of what the file holds.
            raise OSError(error.errno, error.strerror, error.filename or name) from error
        if name in str(error) or isinstance(error, ImportError):
            raise
        what = "cannot be used" if type(error) is ValueError else "is damaged, or not of its format"
        raise ValueError(f"{name} {what}: {str(error) or type(error).__name__}") from error
