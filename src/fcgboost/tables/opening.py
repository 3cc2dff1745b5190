"""The columns of a table of any library."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from fcgboost.arrays import Rows, is_sparse
from fcgboost.tables.cells import ColumnLike


class OpenedTable(NamedTuple):
    """A table of any library: its columns by name."""

    columns: dict[str, ColumnLike]
    has_names: bool


def open_table(X: Rows, min_rows: int) -> OpenedTable:
    """Return the columns of a frame, an array or lists with at least `min_rows` rows."""
    if is_frame(X):
        return _open_frame(X, min_rows)
    if is_sparse(X):
        raise ValueError(
            "X is sparse, but a table and categorical_features need dense columns: use X.toarray()."
        )
    X = check_array(
        as_array(X),
        dtype=None,
        ensure_all_finite=False,
        ensure_min_samples=min_rows,
        input_name="X",
    )
    return OpenedTable({f"x{j}": X[:, j] for j in range(X.shape[1])}, has_names=False)


def as_array(X: Rows) -> Rows:
    """Return lists as an array in which numbers among texts stay numbers; leave the rest alone."""
    if hasattr(X, "collect") and not hasattr(X, "__len__"):  # before its columns are asked for
        raise TypeError(f"X is a {type(X).__name__}, whose rows are elsewhere: use X.collect().")
    if is_frame(X) or hasattr(X, "dtype") or hasattr(X, "__array__"):  # of whichever library
        return X
    with suppress(ValueError):  # rows of several lengths, which are refused later
        array = np.asarray(X)
        return np.asarray(X, dtype=object) if array.dtype.kind in "OUS" else array
    return X


def is_table(X: Rows) -> bool:
    """Return whether X has columns other than plain NumPy numbers."""
    if not is_frame(X):
        return getattr(getattr(X, "dtype", None), "kind", "f") in "OSUMmT"
    if not hasattr(X, "iloc") or not X.columns.is_unique:  # only pandas' frames have positions
        return True
    return not all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in X.dtypes)


def is_frame(X: Rows) -> bool:
    """Return whether X is a data frame of some library, or an Arrow table."""
    return hasattr(X, "columns") and not hasattr(X, "dtype")  # of whichever library


def frame_names(X: Rows) -> list[str]:
    """Return the names of the columns of a frame; none of anything else."""
    return names_of(getattr(X, "column_names", X.columns)) if is_frame(X) else []


def _open_frame(X: Rows, min_rows: int) -> OpenedTable:
    labels = list(getattr(X, "column_names", X.columns))
    columns = {name: X[label] for name, label in zip(names_of(labels), labels, strict=True)}
    if not labels:
        raise ValueError(f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if len(X) < min_rows:
        raise ValueError(f"X has {len(X)} sample(s), a minimum of {min_rows} is required.")
    return OpenedTable(columns, has_names=all(isinstance(label, str) for label in labels))


def names_of(labels: Iterable[object]) -> list[str]:
    """Return column labels as text; duplicates are an error."""
    names = list(map(str, labels))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"Two columns of X are named {twice!r}: give each its own name.")
    return names


def closest(name: str, names: Iterable[str]) -> str | None:
    """Return the most similar name, ignoring case; None if none is similar."""
    lower = {candidate.lower(): candidate for candidate in names}
    close = get_close_matches(name.lower(), lower, n=1)
    return lower[close[0]] if close else None
