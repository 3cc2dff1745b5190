"""Model files: checked when read, written in full or not at all."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from fcgboost.documents.checking import DocumentError, check_about, containers, refuse, shown
from fcgboost.documents.content import (
    Content,
    background_document,
    document_of,
    found_by,
    read_content,
)
from fcgboost.documents.older import EllipticDictionary
from fcgboost.documents.parts import known_parts, parts_within
from fcgboost.documents.schema import FORMAT, VERSION
from fcgboost.tables import TableEncoder

# An empty list takes three bytes in a file, and twenty times that in memory.
_MOST_BRACKETS = 1 << 19
# A path takes more memory than its text, by at most this factor.
_GROWTH = 64
_compact = partial(json.dumps, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
_FOREIGN = {
    b"\x1f\x8b": "is compressed (gzip): decompress it first",
    b"PK\x03\x04": "is a zip archive, such as a checkpoint of fcgboost",
    b"\x80": "is a pickle, which load_model never reads",
}


class ModelFileError(ValueError):
    """A file that is not a model of this package or is damaged; the message says where and why."""


def encode(
    classifier: Any,
    encoder: TableEncoder | None = None,
    *,
    trace: bool = True,
    background: bool = True,
    about: dict[str, Any] | None = None,
) -> bytes:
    """Return the model file of a fitted classifier as bytes; see its `save_model`."""
    about = classifier.about_ if about is None else _plain_about(about)
    has_path = trace and classifier._has_path()
    document = document_of(classifier, encoder, has_path=has_path, about=about)
    document["background"] = background_document(classifier) if background else None
    parameters = found_by(classifier).get_params(deep=False)
    parts = set(parts_within([parameters, classifier.model_.dictionary, classifier._loss_]))
    if EllipticDictionary in parts:
        raise ValueError(
            "This model has elliptic atoms of an older fcgboost, which can be loaded but not "
            "saved: keep the original file."
        )
    try:
        # What is written must be readable; the path is not tested, to save memory.
        read_content({**document, "path": None}, known_parts(parts))
    except DocumentError as error:
        raise ValueError(f"This model cannot be saved: in its file, {error}.") from None
    try:
        return _layout(document).encode()
    except UnicodeEncodeError as error:
        before = error.object[: error.start + 1]
        key, text = before.rpartition('\n"')[2].partition('"')[0], before.rpartition('"')[2]
        problem = f"{key!r} has a text with a lone surrogate, {shown(text)}: rename it"
        raise ValueError(f"This model cannot be saved: {problem}.") from None
    except ValueError as error:
        problem = "The path has numbers that are not finite: save with trace=False."
        raise ValueError(problem) from error


def _layout(value: Any, depth: int = 0) -> str:
    """Write JSON with a line for each upper-level key, atom, step and row."""
    pad = " " * depth
    if isinstance(value, dict) and depth < 2 and value:
        items = value.items()
        lines = [f"{pad}{_compact(key)}: {_layout(v, depth + 1)}" for key, v in items]
        return "{\n" + ",\n".join(lines) + f"\n{pad[1:]}}}" + ("\n" if depth == 0 else "")
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        return "[\n" + ",\n".join(map(_compact, value)) + f"\n{pad[1:]}]"
    return _compact(value)


def read(
    path: str | os.PathLike[str], *, parts: Iterable[type] = (), max_bytes: int = 2**28
) -> Content:
    """Read a model file; raise a `ModelFileError` for any problem."""
    known, name = known_parts(parts), os.fspath(path)
    try:
        data = _bytes_of(path, max_bytes)
        allowed = min(_GROWTH * len(data) + 2**26, 4 * max_bytes)
        document = _document_in(data)
        del data
        _check_version(document)
        return read_content(document, known, allowed)
    except DocumentError as error:
        raise ModelFileError(f"{name!r}: {error}.") from error.__cause__
    except RecursionError:
        raise ModelFileError(f"{name!r}: lists or objects are nested too deeply.") from None


def _bytes_of(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """Read a file of limited size; refuse to open anything but a regular file."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            what = "a folder" if os.path.isdir(path) else "not a regular file"
            raise DocumentError(f"not a model file: it is {what}")
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read(max_bytes + 1) if size <= max_bytes else b""
    except FileNotFoundError as error:
        raise DocumentError("there is no such file") from error
    except OSError as error:
        raise DocumentError(f"the file cannot be read ({error.strerror})") from error
    if (n := max(size, len(content))) > max_bytes:
        advice = "pass a larger one if you trust the file"
        raise DocumentError(f"the file has {n} bytes, but max_bytes is {max_bytes}: {advice}")
    return content


def _document_in(content: bytes) -> Any:
    """Parse the text of a file if it may be a model."""
    if not content.strip():
        raise DocumentError("not a model file: it is empty")
    for start, what in _FOREIGN.items():
        if content.startswith(start):
            raise DocumentError(f"not a model file: it {what}")
    if content.count(b"[") + content.count(b"{") > _MOST_BRACKETS + len(content) // 16:
        raise DocumentError("not a model file: it has more lists and objects than any model")
    try:
        return _parse(content.decode())
    except UnicodeDecodeError as error:
        raise DocumentError(f"not a model file: it is binary (byte {error.start})") from error


def _check_version(document: Any) -> None:
    if type(document) is not dict or document.get("format") != FORMAT or "version" not in document:
        raise DocumentError(f"not a model file: it is JSON whose 'format' is not {FORMAT!r}")
    if type(found := document["version"]) is not int:
        raise DocumentError(f"$.version must be a whole number, got {shown(found)}")
    if found not in (2, 3, 4, 5, VERSION):
        old = ("before the first release of fcgboost", "fit and save the model again")
        when, advice = old if found < VERSION else ("by a later fcgboost", "update fcgboost")
        versions = f"(format version {shown(found)}; this one reads 2 to {VERSION})"
        raise DocumentError(f"the file was written {when} {versions}: {advice}")


def _parse(text: str) -> Any:
    """Parse JSON, refusing NaN and duplicate keys."""
    try:
        not_a_number = partial(refuse, problem="is not a number in JSON")
        return json.loads(text, object_pairs_hook=_object, parse_constant=not_a_number)
    except ValueError as error:  # also for numbers with thousands of digits
        raise DocumentError(f"not a model file: it is not JSON, or truncated ({error})") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise DocumentError(f"the key {shown(key)} appears twice in one object")
    return found


def _plain_about(about: Any) -> dict[str, Any]:
    """Return the user's metadata as it will be loaded, or raise an error."""
    if not isinstance(about, dict):
        raise TypeError(f"about must be a dict, got {type(about).__name__}.")
    try:
        back = _parse(json.dumps(about, allow_nan=False, default=_item))
        objects = (found for found, _ in containers(about) if isinstance(found, dict))
        if not all(isinstance(key, str) for found in objects for key in found):
            raise TypeError("about must have strings as keys, also in nested dicts.")
        return check_about(back, "about")
    except (DocumentError, RecursionError, ValueError) as error:
        raise ValueError(f"about must be representable in JSON: {error}.") from error


def _item(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"about must be representable in JSON, got a {type(value).__name__}.")
