"""A file of rows, whatever its form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any


class RowFile(ABC):
    """Rows of a file, in its order, a batch at a time.

    Parameters
    ----------
    path : Path
    batch_rows : int
        The most rows of a batch.

    Attributes
    ----------
    names : tuple of str or None
        The names of the columns; None if the file has none.
    is_sparse : bool
        Whether a batch is a CSR matrix and not a data frame.
    """

    names: tuple[str, ...] | None = None
    is_sparse: bool = False

    def __init__(self, path: Path, batch_rows: int) -> None:
        self.path = path
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
            A column of labels, read as what it holds in the whole file.
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
        """

    @abstractmethod
    def check_target(self, target: str | None) -> None:
        """Raise a ValueError that lists the columns, unless a target is one of them."""

    def refuse_no_rows(self, n_rows: int) -> None:
        """Raise a ValueError if there are no rows."""
        if n_rows == 0:
            raise ValueError(f"{self.path} has no rows.")


def need_tables() -> None:
    """Raise an ImportError that names the extra, where what reads files is not installed."""
    if find_spec("pandas") is None or find_spec("pyarrow") is None:
        raise ImportError(
            "Files of rows need pandas and pyarrow: python -m pip install 'fcgboost[tables]'"
        )
