"""Files of rows: tables of text, Excel, Parquet, Arrow and svmlight, read whole or in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from numpy.typing import ArrayLike

from fcgboost.arrays import ClassLabels, Rows
from fcgboost.tables.cells import ColumnError

try:
    from fcgboost.rows.batches import Batch, model_batches
    from fcgboost.rows.formats import open_rows, warn
    from fcgboost.rows.row_file import RowFile
    from fcgboost.rows.writing import write_rows
except ImportError as error:
    raise ImportError(
        "Reading tables needs pandas and pyarrow: python -m pip install 'fcgboost[tables]'",
        name=error.name,
    ) from error

__all__ = [
    "Batch",
    "ColumnError",
    "RowFile",
    "model_batches",
    "open_rows",
    "read_table",
    "write_rows",
]


def read_table(
    path: str | Path,
    target: str | None = None,
    *,
    drop: Sequence[str] = (),
    categorical_features: ArrayLike | None = "from_dtype",
    format: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    dayfirst: bool | None = None,
    sheet: str | None = None,
    merge_spellings: bool = False,
    strict: bool = False,
    max_bytes: int | None = None,
    tell: Callable[[str], None] = warn,
) -> tuple[Rows, ClassLabels | None]:
    r"""Read a file of rows as the command `fcgboost fit` does.

    Parameters
    ----------
    path : path
        A CSV, TSV, Excel, Parquet, Arrow or svmlight file, text also gzipped; "-" is standard
        input.
    target : str or None, default=None
        The column to be predicted. Rows without a value there are skipped.
    drop : sequence of str, default=()
        Columns to leave out.
    categorical_features : default="from_dtype"
        As in `FCGBoostClassifier`: columns listed here stay text.
    format : {"csv", "tsv", "xlsx", "parquet", "arrow", "svmlight"} or None, default=None
        None takes it from the extension, or else from the first bytes.
    encoding : str or None, default=None
        The encoding of a text file; None is UTF-8, or UTF-16 if the file begins so.
    decimal : {".", ","} or None, default=None
        Decides whether 1.234 and 1,234 are thousands where the texts do not. None asks the other
        columns, and then what separates them: commas mean a decimal point, and semicolons that
        1,234 has a decimal comma. What nothing decides stays text.
    thousands : {",", ".", " ", "'"} or None, default=None
        The thousands separator of a text file, which decides likewise.
    dayfirst : bool or None, default=None
        Whether 3/4/2020 is 3 April; None asks the other dates of the column, and of the file.
    sheet : str or None, default=None
        The sheet of a workbook; None is the first.
    merge_spellings : bool, default=False
        Whether labels, and levels of a column, that differ only in case or white space become the
        most frequent one.
    strict : bool, default=False
        Whether stray text in a column of numbers or dates is an error; else it counts as missing.
    max_bytes : int or None, default=None
        The most memory that the rows may fill; None is 1 GiB, or 40 times the size of the file.
    tell : callable, default=a function that warns
        Called with one sentence about each thing the user should know, such as stray texts.

    Returns
    -------
    X : data frame, or CSR matrix of an svmlight file
    y : ndarray of shape (n_samples,), or None without a target

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "houses.csv"
    ...     _ = path.write_text("price;built;sold\n1.5;1990;no\n2.25;2004;yes\n")
    ...     X, y = read_table(path, "sold")
    >>> X["price"].tolist(), y.tolist()
    ([1.5, 2.25], ['no', 'yes'])
    """
    with open_rows(
        path,
        format=format,
        encoding=encoding,
        decimal=decimal,
        thousands=thousands,
        dayfirst=dayfirst,
        sheet=sheet,
        merge_spellings=merge_spellings,
        strict=strict,
        max_bytes=max_bytes,
        tell=tell,
    ) as rows:
        return rows.read(target, drop, categorical_features)
