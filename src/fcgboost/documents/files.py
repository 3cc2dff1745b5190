"""Model files: checked when read, written in full or not at all."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from fcgboost.documents.checking import (
    DocumentError,
    Json,
    JsonObject,
    containers,
    refuse,
    shown,
)
from fcgboost.documents.content import (
    Content,
    Fitted,
    document_of,
    read_content,
)
from fcgboost.documents.members import member_document
from fcgboost.documents.parts import known_parts, parts_within
from fcgboost.documents.schema import FORMAT, VERSION
from fcgboost.files import FilePath

# An empty list takes three bytes in a file, and twenty times that in memory.
_MOST_BRACKETS = 1 << 19
# A path takes more memory than its text, by at most this factor.
_GROWTH = 64
_compact = partial(
    json.dumps,
    allow_nan=False,
    ensure_ascii=False,
    separators=(",", ":"),
)
# Objects with a line for each of their keys.
_OPENED = {"document", "parameters", "members", "inputs", "model", "path"}
_FOREIGN = {
    b"\x1f\x8b": "is compressed (gzip): decompress it first",
    b"PK\x03\x04": "is a zip archive",
    b"\x80": "is a pickle, which load_model never reads",
}


class ModelFileError(ValueError):
    """A file that is not a model of this package or is damaged; the message says where and why."""


def encode(
    classifier: Fitted,
    *,
    trace: bool = True,
    background: bool = True,
    about: Mapping[str, Json] | None = None,
) -> bytes:
    """Return the model file of a fitted classifier as bytes; see its `save_model`."""
    about = classifier.about_ if about is None else _plain_about(about)
    document = document_of(classifier, has_background=background, about=about)
    members = [member_document(member, has_path=trace) for member in classifier.members_]
    dictionaries = [member.model.dictionary for member in classifier.members_]
    parameters = classifier.get_params(deep=False)
    parts = set(parts_within([parameters, classifier._loss_, dictionaries]))
    # Paths are not read back, to save memory.
    bare = [{**member, "path": None} for member in members]
    try:
        # What is written must be readable.
        read_content({**document, "members": bare}, known_parts(parts))
    except DocumentError as error:
        raise ValueError(f"This model cannot be saved: in its file, {error}.") from None
    try:
        return _layout({**document, "members": members}).encode()
    except UnicodeEncodeError as error:
        text = shown(error.object[: error.start + 1].rpartition('"')[2])
        raise ValueError(f"This model cannot be saved: {text} has a lone surrogate.") from None
    except ValueError as error:
        problem = "The path has numbers that are not finite: save with trace=False."
        raise ValueError(problem) from error


def _layout(value: Json, name: str = "document", depth: int = 0) -> str:
    """Write JSON with a line for each upper-level key, column, atom, step and row."""
    pad = " " * depth
    if isinstance(value, dict) and name in _OPENED:
        items = value.items()
        lines = [f"{pad}{_compact(key)}: {_layout(v, key, depth + 1)}" for key, v in items]
        return "{\n" + ",\n".join(lines) + f"\n{pad[1:]}}}" + ("\n" if depth == 0 else "")
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        write = partial(_layout, name=name, depth=depth) if name in _OPENED else _compact
        return "[\n" + ",\n".join(map(write, value)) + f"\n{pad[1:]}]"
    return _compact(value)


def read(path: FilePath, *, parts: Iterable[type] = (), max_bytes: int = 2**28) -> Content:
    """Read a model file; raise a `ModelFileError` for any problem."""
    parts_by_name = known_parts(parts)
    name = os.fspath(path)
    try:
        data = _bytes_of(path, max_bytes)
        allowed = min(_GROWTH * len(data) + 2**26, 4 * max_bytes)
        document = _document_in(data)
        del data
        _check_version(document)
        return read_content(document, parts_by_name, allowed)
    except DocumentError as error:
        raise ModelFileError(f"{name!r}: {error}.") from error.__cause__
    except RecursionError:
        raise ModelFileError(f"{name!r}: lists or objects are nested too deeply.") from None


def _bytes_of(path: FilePath, max_bytes: int) -> bytes:
    """Read a file of limited size; refuse to open anything but a regular file."""
    try:
        facts = os.stat(path)
        if not stat.S_ISREG(facts.st_mode):
            what = "a folder" if stat.S_ISDIR(facts.st_mode) else "not a regular file"
            raise DocumentError(f"not a model file: it is {what}")
        if facts.st_size > max_bytes:
            raise DocumentError(
                f"the file has {facts.st_size} bytes, but max_bytes is {max_bytes}: pass a larger "
                "one if you trust the file"
            )
        with open(path, "rb") as file:
            return file.read(max_bytes)
    except FileNotFoundError as error:
        raise DocumentError("there is no such file") from error
    except OSError as error:
        raise DocumentError(f"the file cannot be read ({error.strerror})") from error


def _document_in(content: bytes) -> object:
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


def _check_version(document: object) -> None:
    if type(document) is not dict or document.get("format") != FORMAT or "version" not in document:
        raise DocumentError(f"not a model file: it is JSON whose 'format' is not {FORMAT!r}")
    version = document["version"]
    if type(version) is not int:
        raise DocumentError(f"$.version must be a whole number, got {shown(version)}")
    if version != VERSION:
        raise DocumentError(
            f"the file has format version {shown(version)}, but this fcgboost reads version "
            f"{VERSION} only: use the fcgboost that wrote it, or fit and save the model again"
        )


def _parse(text: str) -> Any:
    """Parse JSON, refusing NaN and duplicate keys."""
    try:
        not_a_number = partial(refuse, problem="is not a number in JSON")
        return json.loads(text, object_pairs_hook=_object, parse_constant=not_a_number)
    except ValueError as error:  # also for numbers with thousands of digits
        raise DocumentError(f"not a model file: it is not JSON, or truncated ({error})") from error


def _object(pairs: list[tuple[str, Json]]) -> JsonObject:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise DocumentError(f"the key {shown(key)} appears twice in one object")
    return entries


def _plain_about(about: object) -> JsonObject:
    """Return the user's metadata as it will be loaded, or raise an error."""
    if not isinstance(about, dict):
        raise TypeError(f"about must be a dict, got {type(about).__name__}.")
    try:
        back: JsonObject = _parse(json.dumps(about, allow_nan=False, default=_item))
        objects = (value for value, _ in containers(about) if isinstance(value, dict))
        if not all(isinstance(key, str) for value in objects for key in value):
            raise TypeError("about must have strings as keys, also in nested dicts.")
    except (DocumentError, RecursionError, ValueError) as error:
        raise ValueError(f"about must be representable in JSON: {error}.") from error
    return back


def _item(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"about must be representable in JSON, got a {type(value).__name__}.")
