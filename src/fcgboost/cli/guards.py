"""What protects commands from files: a limit of memory, and faults told in one line."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

#: What may be held, if not this many times the file's own size is more.
_MUCH, _MANY_TIMES = 2**30, 20
_PER_COLUMN = 2**12


class Limit(NamedTuple):
    """The most memory that a file may ask for at once."""

    name: str
    n_bytes: int

    @classmethod
    def of(cls, name: str, size: int, given: int | None) -> Limit:
        """Return the limit of a file of a size; of None given, the default."""
        return cls(name, max(_MUCH, _MANY_TIMES * size) if given is None else given)

    def check(self, n_bytes: int, n_columns: int = 0) -> None:
        """Raise a ValueError if so much, and so many columns, are too much."""
        if n_bytes + _PER_COLUMN * n_columns > self.n_bytes:
            raise ValueError(
                f"{self.name} asks for more than the {self.n_bytes / 2**30:.3g} GiB of memory that "
                "it may fill at once. If you trust it, allow more, for example --max-bytes 16GiB."
            )


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn whatever libraries raise of a damaged file into a ValueError that names it."""
    try:
        yield
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # no fault of what the file holds
            raise OSError(error.errno, error.strerror, error.filename or name) from error
        raise _fault(name, error) from error
    except Exception as error:
        if name in str(error):
            raise
        raise _fault(name, error) from error


def _fault(name: str, error: Exception) -> ValueError:
    problem = "cannot be used" if type(error) is ValueError else "is damaged, or not of its format"
    return ValueError(f"{name} {problem}: {str(error) or type(error).__name__}")
