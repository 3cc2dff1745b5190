"""The sources of the compiled library."""

import hashlib
from pathlib import Path

FOLDER = Path(__file__).parent


def source_hash() -> str:
    """Return the hash of the C sources in this folder."""
    hashed = hashlib.sha256()
    for path in sorted((*FOLDER.glob("*.c"), *FOLDER.glob("*.h"))):
        hashed.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return hashed.hexdigest()[:16]
