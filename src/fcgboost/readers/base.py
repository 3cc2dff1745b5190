"""A file of rows, whatever its form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

from fcgboost.readers.sources import Source


class RowFile(ABC):
    """Rows of a file, in its order, a batch at a time.

    Parameters
    ----------
    source : Source
    batch_rows : int
        The most rows of a batch.

    Attributes
    ----------
    names : tuple of str or None
        The names of the columns; None if the file has none.
    is_sparse : bool
        Whether a batch is a CSR matrix and not a data frame.
    default_target : str or None
        The column of labels if the user names none.
    first_index : {0, 1} or None
        What the indices of sparse rows count from: known once rows were read. None for other rows.
    """

    names: tuple[str, ...] | None = None
    is_sparse: bool = False
    default_target: str | None = None
    first_index: int | None = None

    def __init__(self, source: Source, batch_rows: int) -> None:
        self.source = source
        self.batch_rows = batch_rows

    @abstractmethod
    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        encoder: Any = None,
        target: str | None = None,
        n_features: int | None = None,
    ) -> Iterator[Any]:
        """Give the rows, batch after batch, in memory that does not grow with the file.

        Types do not depend on the batch. Where the file holds text and no encoder says what a
        column is, the file is read twice: to see what all its rows hold, and to give them.

        Parameters
        ----------
        columns : sequence of str or None
            The columns to give; all if None.
        encoder : TableEncoder or None
            A fitted encoder for which the rows are meant. Its number columns are read as numbers
            and its categories as text; all other columns stay text as the file has it.
        target : str or None
            A column of labels. In a file of text it is numbers if all of it are, else exactly the
            texts; only an empty field is missing.
        n_features : int or None
            The width of sparse batches; that of the file if None.

        Yields
        ------
        DataFrame or CSR matrix
            The index of a data frame counts the rows of the file.

        Raises
        ------
        ValueError
            Where the file is damaged, has no rows, or holds what does not fit the encoder; names
            the line or the row.
        """

    @abstractmethod
    def batches_with(
        self,
        keep: Sequence[str],
        *,
        encoder: Any = None,
        target: str | None = None,
        n_features: int | None = None,
    ) -> Iterator[tuple[Any, Any]]:
        """Give the rows as `batches` does, and beside them columns exactly as the file has them.

        Parameters
        ----------
        keep : sequence of str
            The columns to give exactly. The batches have all columns, also these.
        encoder, target, n_features
            As `batches` takes them.

        Yields
        ------
        batch : DataFrame or CSR matrix
        kept : DataFrame
            The columns of `keep`, in this order, with as many rows as the batch: texts from a file
            of text, whatever they look like, else the types of the file, in Arrow's memory, in
            which whole numbers stay whole also where some are missing.
        """

    @abstractmethod
    def read(
        self,
        columns: Sequence[str] | None = None,
        *,
        encoder: Any = None,
        target: str | None = None,
        n_features: int | None = None,
    ) -> Any:
        """Give all rows at once; the parameters are those of `batches`."""

    @abstractmethod
    def split_target(self, batch: Any, target: str | None = None) -> tuple[Any, Any]:
        """Part rows from their labels.

        Parameters
        ----------
        batch : what `batches` or `read` gave
        target : str or None
            The name of the column of labels; None where the form of the file says which it is.

        Returns
        -------
        X : DataFrame or CSR matrix
        y : ndarray of shape (n_rows,)

        Raises
        ------
        ValueError
            Where a label is a date, bytes, or an infinite number.
        """

    @abstractmethod
    def read_labelled(
        self, target: str | None = None, *, drop: Sequence[str] = ()
    ) -> tuple[Any, Any]:
        """Read all rows to learn from them, and their labels; see `read_table`."""

    @abstractmethod
    def check_target(self, target: str | None) -> str | None:
        """Raise a ValueError that lists the columns, unless a target is one of them.

        Returns
        -------
        str or None
            The column of labels; None where labels are not in a column.
        """

    def refuse_no_rows(self, n_rows: int) -> None:
        """Raise a ValueError if there are no rows."""
        if n_rows == 0:
            raise ValueError(f"{self.source} has no rows.")


def need_tables() -> None:
    """Raise an ImportError that names the extra, where what reads files is not installed."""
    if find_spec("pandas") is None or find_spec("pyarrow") is None:
        raise ImportError(
            "Files of rows need pandas and pyarrow: python -m pip install 'fcgboost[tables]'"
        )
