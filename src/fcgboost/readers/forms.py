"""Which form a file has: by the end of its name, or by its first bytes."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import NoReturn

from fcgboost.readers.sources import Source
from fcgboost.readers.streams import open_bytes

#: The forms by the ends of names that tell them.
SUFFIXES = {
    **{".csv": "csv", ".txt": "csv", ".tsv": "tsv"},
    **dict.fromkeys((".svm", ".libsvm", ".svmlight"), "svmlight"),
    ".parquet": "parquet",
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    ".npz": "npz",
}
FORMS = ("csv", "tsv", "svmlight", "parquet", "arrow", "npz")
#: Forms that may be packed by gzip.
TEXT = ("csv", "tsv", "svmlight")

_ARROW_STREAM = b"\xff\xff\xff\xff"
_HEAD = 2**16
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_NUMBER = rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
_SPARSE_ROW = re.compile(
    rb"%s(,%s)*([ \t]+qid:\d+)?(?P<pairs>([ \t]+\d+:%s)*)\s*(#.*)?" % ((_NUMBER,) * 3)
)


def suffix_of(path: Path) -> str:
    """Give the end of a file's name that tells its form, that of packing left out."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def form_of(source: Source, form: str | None) -> str:
    """Name the form of a file: as given, else by its name, else by its first bytes."""
    if form is None:
        form = SUFFIXES.get(suffix_of(source.path)) or _sniff(source)
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}.")
    if form not in TEXT and source.path.suffix.lower() == ".gz":
        raise ValueError(f"{source} is packed: only text may be. Unpack it by gzip -d.")
    return form


def _sniff(source: Source) -> str:
    with open_bytes(source) as file:
        head = file.read(_HEAD)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", _ARROW_STREAM)):
        return "arrow"
    if head.startswith(b"PK\x03\x04") and _has_arrays(source):
        return "npz"
    if b"\0" in head and not head.startswith(_UTF16):
        _refuse(source)
    return "svmlight" if _is_sparse_text(head) else "csv"


def _has_arrays(source: Source) -> bool:
    try:
        with zipfile.ZipFile(source.place) as archive:
            return any(name.endswith(".npy") for name in archive.namelist())
    except zipfile.BadZipFile:
        return True  # damaged arrays, which their reader says


def _refuse(source: Source) -> NoReturn:
    raise ValueError(
        f"The form of {source} is not known by its name, nor by its first bytes. Known are "
        f"{', '.join(SUFFIXES)}; text may be packed as .gz. A workbook must be saved as CSV first."
    )


def _is_sparse_text(head: bytes) -> bool:
    """Whether the first lines are labels with index:value pairs."""
    lines = head.splitlines()[:-1] if len(head) == _HEAD else head.splitlines()
    rows = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(b"#")]
    found = [_SPARSE_ROW.fullmatch(row) for row in rows]
    return all(found) and any(match["pairs"] for match in found if match)
