"""Where rows come from: a file, or what comes through a pipe, of which a copy is made."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
import weakref
from pathlib import Path
from typing import IO

_STANDARD_INPUT = "-"


class Source:
    """A file that can be read several times, and from any place.

    What comes through a pipe can be read only once: it is copied to a temporary file, which is
    deleted with this object.

    Parameters
    ----------
    path : str or path-like
        "-" is the standard input.

    Attributes
    ----------
    path : Path
        As it was given.
    place : Path
        The file to read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = self.place = Path(path)
        if str(path) == _STANDARD_INPUT:
            self._copy(sys.stdin.buffer)
            return
        mode = self.path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            with self.path.open("rb") as file:
                self._copy(file)

    def __str__(self) -> str:
        """Give the name that the user knows, for errors."""
        return "standard input" if str(self.path) == _STANDARD_INPUT else str(self.path)

    def open(self) -> IO[bytes]:
        """Open the file to read its bytes."""
        return self.place.open("rb")

    def _copy(self, file: IO[bytes]) -> None:
        handle, name = tempfile.mkstemp(prefix="fcgboost-")
        self.place = Path(name)
        weakref.finalize(self, self.place.unlink, missing_ok=True)
        with open(handle, "wb") as copy:
            shutil.copyfileobj(file, copy)
