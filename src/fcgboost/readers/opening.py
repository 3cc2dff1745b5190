"""Which form a file has: by the end of its name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fcgboost.readers.arrays import ArrayRows
from fcgboost.readers.arrow import ArrowRows, ParquetRows
from fcgboost.readers.base import RowFile, need_tables
from fcgboost.readers.svmlight import SvmlightRows
from fcgboost.readers.text import TextFile

_SVMLIGHT = (".svm", ".libsvm", ".svmlight")
_TEXT = {".csv": None, ".tsv": "\t", ".txt": None}
_ARROW = (".arrow", ".feather", ".ipc")
_KNOWN = (*_TEXT, *_SVMLIGHT, ".parquet", *_ARROW, ".npz")


def suffix_of(path: Path) -> str:
    """Give the end of a file's name that tells its form, that of packing left out."""
    name = path.name.lower()
    return Path(name.removesuffix(".gz")).suffix


def open_rows(path: str | os.PathLike[str], *, batch_rows: int = 65_536) -> RowFile:
    """Open a file of rows to read it a batch at a time.

    The end of its name tells the form: .csv, .tsv, .txt (with a header line; the separator is
    found out), .svm, .libsvm, .svmlight (sparse rows), all these also packed as .gz; .parquet;
    .arrow, .feather, .ipc; .npz (arrays X, y and feature_names). Needs the extra `tables`.

    Parameters
    ----------
    path : str or path-like
    batch_rows : int, default=65536
        The most rows of a batch.

    Returns
    -------
    RowFile

    Raises
    ------
    ValueError
        Where the form is unknown, or the beginning of the file is not of this form.
    """
    if not isinstance(batch_rows, int) or batch_rows < 1:
        raise ValueError(f"batch_rows must be a whole number of at least 1, got {batch_rows!r}.")
    need_tables()
    path = Path(path)
    suffix = suffix_of(path)
    if suffix in _TEXT:
        return TextFile(path, batch_rows, _TEXT[suffix])
    if suffix in _SVMLIGHT:
        return SvmlightRows(path, batch_rows)
    if path.suffix.lower() == ".gz" or suffix not in _KNOWN:
        raise ValueError(
            f"The form of {path} is not known by its name: it must end in {', '.join(_KNOWN)}; "
            "text may be packed as .gz."
        )
    if suffix == ".npz":
        return ArrayRows(path, batch_rows)
    return (ParquetRows if suffix == ".parquet" else ArrowRows)(path, batch_rows)


def read_table(path: str | os.PathLike[str], target: str | None = None) -> tuple[Any, Any]:
    """Read all rows of a file, and their labels.

    Parameters
    ----------
    path : str or path-like
        A file that `open_rows` can open.
    target : str or None
        The column of labels; None where the form of the file says where they are.

    Returns
    -------
    X : data frame or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        May have missing values: these are for the caller to judge.

    Raises
    ------
    ValueError
        Where there is no such column, which lists the columns, or the file is damaged.
    """
    rows = open_rows(path)
    rows.check_target(target)
    return rows.split_target(rows.read(), target)
