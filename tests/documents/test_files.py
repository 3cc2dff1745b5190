"""What is no model file is refused before it is read."""

import gzip
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcgboost.io import ModelFileError, load_model
from tests.suites.models import fit


def write_text(text: str | bytes) -> Callable[[Path], object]:
    data = text.encode() if isinstance(text, str) else text
    return lambda path: path.write_bytes(data)


NO_MODELS: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "there is no such file"),
    "folder": (lambda path: path.mkdir(), "it is a folder"),
    "pipe": (lambda path: os.mkfifo(path), "it is not a regular file"),
    "empty": (write_text(""), "not a model file: it is empty"),
    "blank": (write_text(" \n"), "not a model file: it is empty"),
    "gzip": (write_text(gzip.compress(b"{}", mtime=0)), "compressed .gzip.: decompress it first"),
    "zip": (write_text(b"PK\x03\x04..."), "it is a zip archive"),
    "pickle": (write_text(pickle.dumps({})), "a pickle, which load_model never reads"),
    "binary": (write_text(b"\x93NUMPY\xff"), "it is binary .byte 0."),
    "text": (write_text("hello"), "not JSON, or truncated .*line 1 column 1"),
    "cut": (write_text('{"format": "fcgboost model", '), "not JSON, or truncated"),
    "JSON": (write_text('{"learner": {}}'), "not a model file: it is JSON whose 'format'"),
    "list": (write_text("[1, 2]"), "not a model file: it is JSON"),
    "no version": (write_text('{"format": "fcgboost model"}'), "not a model file"),
    "text as version": (
        write_text('{"format": "fcgboost model", "version": "2"}'),
        r"\$\.version must be a whole number",
    ),
    "another version": (
        write_text('{"format": "fcgboost model", "version": 2, "new": []}'),
        "has format version 2, but this fcgboost reads version 1 only: use the fcgboost that",
    ),
    "twice": (write_text('{"format": 1, "format": 1}'), "the key 'format' appears twice"),
    "NaN": (write_text('{"format": NaN}'), "NaN is not a number in JSON"),
    "long whole number": (write_text("[" + "9" * 5000 + "]"), "not JSON.*5000 digits"),
    "deep": (write_text("[" * 100_000), "nested too deeply"),
    "deep objects": (write_text('{"a":' * 100_000), "nested too deeply"),
    "many": (write_text("[" + "[]," * 700_000 + "1]"), "more lists and objects than any model"),
}


@pytest.mark.parametrize(("make", "match"), NO_MODELS.values(), ids=NO_MODELS)
def test_what_is_no_model_file_is_refused_by_name(
    make: Callable[[Path], object], match: str, tmp_path: Path
) -> None:
    path = tmp_path / "model é.json"
    make(path)
    with pytest.raises(ModelFileError, match=match) as caught:
        load_model(path)
    assert str(caught.value).startswith(f"{str(path)!r}: ")
    assert len(str(caught.value)) < 400


def test_large_files_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ModelFileError, match="1099511627776 bytes, but max_bytes is 268435456"):
        load_model(path)
    fit().save_model(path)
    size = path.stat().st_size
    load_model(path, max_bytes=size)
    with pytest.raises(ModelFileError, match=f"has {size} bytes, but max_bytes is {size - 1}"):
        load_model(path, max_bytes=size - 1)


def test_a_file_that_may_not_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("fcgboost.documents.files.os.stat", refuse)
    with pytest.raises(ModelFileError, match=r"cannot be read .Permission denied.") as caught:
        load_model(tmp_path / "model.json")
    assert isinstance(caught.value.__cause__, PermissionError)
