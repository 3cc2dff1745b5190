"""From a path to rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from fcgboost.readers.arrays import open_arrays
from fcgboost.readers.arrow import ArrowRows, ParquetRows
from fcgboost.readers.base import RowFile, need_tables
from fcgboost.readers.forms import form_of
from fcgboost.readers.sources import Source
from fcgboost.readers.svmlight import SvmlightRows
from fcgboost.readers.text import TextFile


def open_rows(
    path: str | os.PathLike[str],
    *,
    batch_rows: int = 65_536,
    form: str | None = None,
    first_index: int | None = None,
) -> RowFile:
    """Open a file of rows to read it a batch at a time.

    The end of its name tells the form: .csv, .tsv, .txt (with a header line; the separator is
    found out), .svm, .libsvm, .svmlight (sparse rows), all these also packed as .gz; .parquet;
    .arrow, .feather, .ipc; .npz (arrays X, y and feature_names, or
    a matrix of scipy.sparse). Any other name tells nothing, and
    the first bytes of the file do. Needs the extra `tables`.

    Parameters
    ----------
    path : str or path-like
        A file or a pipe; "-" is the standard input. What comes through a pipe is first copied to a
        temporary file: open it only once.
    batch_rows : int, default=65536
        The most rows of a batch.
    form : {"csv", "tsv", "svmlight", "parquet", "arrow", "npz"} or None
        The form of the file, whatever its name is.
    first_index : {0, 1} or None
        What the indices of sparse rows count from. None is 1, as LIBSVM counts, unless index 0
        occurs in the file. Pass the `first_index` of the training rows when reading later ones.

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
    if first_index not in (None, 0, 1):
        raise ValueError(f"first_index must be 0, 1 or None, got {first_index!r}.")
    need_tables()
    source = Source(path)
    form = form_of(source, form)
    if form in ("csv", "tsv"):
        return TextFile(source, batch_rows, "\t" if form == "tsv" else None)
    if form == "svmlight":
        return SvmlightRows(source, batch_rows, first_index)
    if form == "npz":
        return open_arrays(source, batch_rows)
    return (ParquetRows if form == "parquet" else ArrowRows)(source, batch_rows)


def read_table(
    path: str | os.PathLike[str],
    target: str | None = None,
    *,
    form: str | None = None,
    first_index: int | None = None,
    drop: Sequence[str] = (),
) -> tuple[Any, Any]:
    """Read all rows of a file, and their labels.

    Parameters
    ----------
    path : str or path-like
        A file that `open_rows` can open.
    target : str or None
        The column of labels; None where the form of the file says where they are.
    form, first_index
        As `open_rows` takes them.
    drop : sequence of str
        Columns to leave out.

    Returns
    -------
    X : data frame or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        May have missing values: these are for the caller to judge.

    Raises
    ------
    ValueError
        Where there is no such column, which lists the columns, the file is damaged, or a number is
        infinite, which names the line or the row.
    """
    return open_rows(path, form=form, first_index=first_index).read_labelled(target, drop=drop)
