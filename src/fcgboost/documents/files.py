"""Model files: read with care, written in full or not at all."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fcgboost.documents.content import FORMAT, VERSION, Content, document_of, read_content
from fcgboost.documents.parsing import parse
from fcgboost.documents.parts import known_parts
from fcgboost.documents.spots import DocumentError, Spot
from fcgboost.files import write_whole

# An empty list is three bytes in a file, and twenty times that in memory.
_MOST_BRACKETS = 1 << 19
# A path takes more memory than its text.
_GROWTH = 64
_FOREIGN = {
    b"\x1f\x8b": "is compressed (gzip): decompress it first",
    b"PK\x03\x04": "is a zip archive, as NumPy's and fcgboost's checkpoints are",
    b"\x80": "is a pickle, which load_model never reads",
}


class ModelFileError(ValueError):
    """A file that is no model of this package, or is damaged; the message says where and why."""


def write(path: str | os.PathLike[str], content: Content) -> None:
    """Write a model file, which is there in full or as it was before."""
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"The folder {folder} for the model file {path} does not exist.")
    write_whole(path, encode(content))


def encode(content: Content) -> bytes:
    """Give the bytes of a model file."""
    document = document_of(content)
    try:
        # What is written must be read again: the path aside, which would take twice the memory.
        read_content(Spot({**document, "path": None}), known_parts(content.parts()))
    except DocumentError as error:
        raise ValueError(f"This model cannot be saved: in its file, {error}.") from None
    try:
        return _layout(document, ascii_only=False).encode()
    except UnicodeEncodeError:  # half of a pair of surrogates in some text
        return _layout(document, ascii_only=True).encode()
    except ValueError as error:
        raise ValueError(
            "The path has coefficients that are no finite numbers: save it with trace=False."
        ) from error


def _layout(value: Any, ascii_only: bool, depth: int = 0) -> str:
    """Write JSON so that every key of the upper levels, atom and step has a line of its own."""
    pad = " " * depth
    if isinstance(value, dict) and depth < 2 and value:
        lines = [
            f"{pad}{_compact(key, ascii_only)}: {_layout(inside, ascii_only, depth + 1)}"
            for key, inside in value.items()
        ]
        return "{\n" + ",\n".join(lines) + f"\n{pad[1:]}}}" + ("\n" if depth == 0 else "")
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(_compact(one, ascii_only) for one in value) + f"\n{pad[1:]}]"
    return _compact(value, ascii_only)


def _compact(value: Any, ascii_only: bool) -> str:
    return json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, separators=(",", ":"))


def read(
    path: str | os.PathLike[str], *, parts: Iterable[type] = (), max_bytes: int = 2**28
) -> Content:
    """Read a model file; whatever is wrong with it is a `ModelFileError`."""
    known, name = known_parts(parts), os.fspath(path)
    try:
        data = _bytes_of(path, max_bytes)
        allowed = min(_GROWTH * len(data) + 2**26, 4 * max_bytes)
        document = Spot(_parse(data))
        del data
        _check_version(document)
        return read_content(document, known, allowed)
    except DocumentError as error:
        raise ModelFileError(f"{name!r}: {error}.") from error.__cause__
    except RecursionError:
        raise ModelFileError(f"{name!r}: there are too many lists inside one another.") from None


def _bytes_of(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """Read a file of limited size; anything but a plain file is refused unopened."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            what = "a folder" if os.path.isdir(path) else "no plain file"
            raise DocumentError(f"it is {what}, and no model file")
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read(max_bytes + 1) if size <= max_bytes else b""
    except FileNotFoundError as error:
        raise DocumentError("there is no such file") from error
    except OSError as error:
        raise DocumentError(f"the file cannot be read ({error.strerror})") from error
    if size > max_bytes or len(content) > max_bytes:
        raise DocumentError(
            f"the file has {max(size, len(content))} bytes, and max_bytes is {max_bytes}: pass a "
            "larger one if you trust it"
        )
    return content


def _parse(content: bytes) -> Any:
    """Parse the text in a file, if it can be a model's."""
    if not content.strip():
        raise DocumentError("the file is empty")
    for start, what in _FOREIGN.items():
        if content.startswith(start):
            raise DocumentError(f"the file {what}; it is no model file")
    if content.count(b"[") + content.count(b"{") > _MOST_BRACKETS + len(content) // 16:
        raise DocumentError("the file has more lists and objects than any model has")
    try:
        return parse(content.decode())
    except UnicodeDecodeError as error:
        raise DocumentError(f"the file is binary, no text (byte {error.start})") from error


def _check_version(document: Spot) -> None:
    """Refuse what is no model file, or one of another version."""
    value = document.value
    if not isinstance(value, dict) or value.get("format") != FORMAT or "version" not in value:
        raise DocumentError(f"the file is JSON, but no model file: its 'format' is not {FORMAT!r}")
    found = Spot(value["version"], document, "version").whole(1)
    if found < VERSION:
        raise DocumentError(
            f"the file was written before the first release of fcgboost (format version {found}; "
            f"this one reads {VERSION}): fit and save the model again"
        )
    if found > VERSION:
        raise DocumentError(
            f"the file was written by a later fcgboost (format version {found}; this one reads "
            f"{VERSION}): update fcgboost"
        )
