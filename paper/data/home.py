"""Where data files lie on this computer, and whether they are what they should be."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from pathlib import Path

VARIABLE = "FCGBOOST_DATA"


def cache_folder() -> Path:
    """Give the project's folder in the user's cache, which need not exist."""
    base = os.environ.get("XDG_CACHE_HOME")
    if not base and os.name == "nt":
        base = os.environ.get("LOCALAPPDATA")
    return Path(base or "~/.cache").expanduser() / "fcgboost"


def data_homes(data_home: str | os.PathLike[str] | None = None) -> tuple[Path, ...]:
    """Give the folders to look in, in order; a download goes to the first."""
    named = (data_home, os.environ.get(VARIABLE))
    return (*(Path(folder).expanduser() for folder in named if folder), cache_folder())


def find_file(names: tuple[str, ...], homes: tuple[Path, ...]) -> Path | None:
    """Give the first file with one of these names, folder by folder."""
    paths = (home / name for home in homes for name in names)
    return next((path for path in paths if path.is_file()), None)


def digest(content: bytes) -> str:
    """Give the SHA-256 of a file's content in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def read_gzip(path: Path) -> bytes:
    """Decompress a file, or say that it is damaged."""
    try:
        return gzip.decompress(path.read_bytes())
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(
            f"{path} is not a whole gzip file ({error}). Delete it to have it fetched again, "
            "or put an undamaged copy in its place."
        ) from error


def read_verified(path: Path, sha256: str) -> bytes:
    """Decompress a file and compare its content with the digest it must have."""
    content = read_gzip(path)
    found = digest(content)
    if found != sha256:
        raise ValueError(
            f"{path} does not hold the expected data: the SHA-256 of its decompressed content is "
            f"{found}, expected {sha256}. Delete the file to have it fetched again, or put the "
            "right one in its place."
        )
    return content
