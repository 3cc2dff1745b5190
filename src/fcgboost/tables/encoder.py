"""The transformer that turns a table into numbers: `TableEncoder`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from fcgboost.tables.columns import Column, NumberColumn, SkippedColumn
from fcgboost.tables.learning import Learned, learn_column
from fcgboost.tables.names import closest


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table with categories, dates and missing values into numbers.

    A column of numbers, truth values or dates stays one column; its missing values become the
    median, and one more column marks them. A column of texts becomes a column of zeros and ones
    for each frequent text. A column that tells nothing is left out.

    Parameters
    ----------
    max_levels : int, default=32
        The most texts of one column that get a column of their own: the most frequent ones. The
        others share one.
    min_count : int, default=2
        The number of training rows a text must occur in to get a column of its own.

    Attributes
    ----------
    columns_ : tuple of Column
        What was learned about each column of X, in their order: a `NumberColumn`, a
        `CategoryColumn` or a `SkippedColumn`.
    notes_ : tuple of str
        Sentences for people: which columns are left out, hold strays among their numbers, or do
        not look like what they are taken for. Empty after `from_columns`.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X had names that are text.

    See Also
    --------
    fcgboost.FCGBoostClassifier : The classifier to put after it in a pipeline.

    Notes
    -----
    Missing are None, NaN, NaT, pandas' NA and the empty text. Texts are compared as
    `str(value)`, whole numbers without a decimal point whatever their type. Dates become days
    since 1970-01-01, times with a zone in UTC.

    Later rows have their columns found by name where both tables have names, else by position.
    A row's numbers do not depend on the rows around it.

    A sparse matrix has neither categories nor missing values: it is given back unchanged as a CSR
    matrix of floats, without looking for constant columns.

    Examples
    --------
    >>> import numpy as np
    >>> from fcgboost.tables import TableEncoder
    >>> X = np.array([[1.5, "red"], [None, "blue"], [2.5, "red"], [3.5, "blue"]], dtype=object)
    >>> encoder = TableEncoder().fit(X)
    >>> encoder.get_feature_names_out().tolist()
    ['x0', 'x0 is missing', 'x1=blue', 'x1=red']
    >>> encoder.transform([[None, "red"], [7, "green"]])
    array([[2.5, 1. , 0. , 1. ],
           [7. , 0. , 0. , 0. ]])
    """

    columns_: tuple[Column, ...]
    notes_: tuple[str, ...]

    def __init__(self, max_levels: int = 32, min_count: int = 2) -> None:
        self.max_levels = max_levels
        self.min_count = min_count

    @classmethod
    def from_columns(
        cls, columns: Iterable[Column], names_in: Sequence[str] | None = None
    ) -> TableEncoder:
        """Give a fitted encoder from what another one learned.

        Parameters
        ----------
        columns : iterable of Column
            Its `columns_`.
        names_in : sequence of str or None
            Its `feature_names_in_`; None if columns are found by position.
        """
        encoder = cls()
        encoder.columns_ = tuple(columns)
        encoder.notes_ = ()
        encoder.n_features_in_ = len(encoder.columns_)
        if names_in is not None:
            if len(names_in) != len(encoder.columns_):
                raise ValueError(f"{len(names_in)} names for {len(encoder.columns_)} columns.")
            encoder.feature_names_in_ = np.array(names_in, dtype=object)
        return encoder

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what each column holds.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        for name in ("max_levels", "min_count"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
        table = _open_table(X, min_rows=2)
        learned = list(self._learn(table))
        columns = tuple(one.column for one in learned)
        _check_something_left(columns)
        self.columns_ = columns
        self.notes_ = tuple(note for one in learned for note in one.notes)
        self.n_features_in_ = len(columns)
        if table.has_names:
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_
        return self

    def _learn(self, table: Table) -> Iterator[Learned]:
        for place, name in enumerate(table.names):
            if table.matrix is not None:
                yield Learned(NumberColumn(name, 0.0, False))
            else:
                values = table.column(place)
                yield learn_column(name, values, self.max_levels, self.min_count)

    def transform(self, X: Any) -> Any:
        """Give the numbers of a table.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            A CSR matrix if X is sparse.
        """
        check_is_fitted(self)
        table = _open_table(X, min_rows=0)
        places = self._places_in(table)
        if table.matrix is not None:
            return self._transform_sparse(table.matrix)
        numbers = np.zeros((table.n_rows, sum(column.n_outputs for column in self.columns_)))
        start = 0
        for column, place in zip(self.columns_, places, strict=True):
            end = start + column.n_outputs
            if end > start:
                column.encode_into(numbers[:, start:end], table.column(place))
            start = end
        return numbers

    def unknown_share(self, X: Any) -> dict[str, float]:
        """Say how much of a table the training rows did not know.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        dict from str to float
            By the names of columns, the share of values that are there but have no column of their
            own, or are texts in a column of numbers that takes them as missing. Columns of which
            all is known are left out. Where rare texts were pooled these count too: a share far
            from 1 need not mean anything.
        """
        check_is_fitted(self)
        table = _open_table(X, min_rows=0)
        places = self._places_in(table)
        if table.matrix is not None:
            return {}
        shares = {
            column.name: column.unknown_share(table.column(place))
            for column, place in zip(self.columns_, places, strict=True)
            if not isinstance(column, SkippedColumn)
        }
        return {name: share for name, share in shares.items() if share > 0.0}

    def _places_in(self, table: Table) -> list[int]:
        """Find the columns of a table; a skipped one need not be there (-1)."""
        if table.has_names and hasattr(self, "feature_names_in_"):  # X of fit may have had no names
            place_of = {name: place for place, name in enumerate(table.names)}
            missing = [
                column.name
                for column in self.columns_
                if not isinstance(column, SkippedColumn) and column.name not in place_of
            ]
            if missing:
                raise ValueError(_describe_missing(missing, table.names))
            return [place_of.get(column.name, -1) for column in self.columns_]
        if len(table.names) != self.n_features_in_:
            raise ValueError(
                f"X has {len(table.names)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return list(range(self.n_features_in_))

    def _transform_sparse(self, matrix: Any) -> Any:
        for column in self.columns_:
            if not isinstance(column, NumberColumn) or column.n_outputs != 1:
                raise ValueError(
                    f"X is sparse, but column {column.name!r} does not stay as it is: pass X as "
                    "an array or a data frame."
                )
        return matrix.astype(np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Give the names of the columns of numbers.

        Parameters
        ----------
        input_features : array-like of str or None
            Names for the columns of X, if it had none.
        """
        check_is_fitted(self)
        columns = self.columns_
        if input_features is not None:
            names = [str(name) for name in input_features]
            known = getattr(self, "feature_names_in_", None)
            if known is not None and names != known.tolist():
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(names) != len(columns):
                raise ValueError(
                    "input_features should have length equal to number of features "
                    f"({len(columns)}), got {len(names)}"
                )
            columns = tuple(
                replace(column, name=name) for column, name in zip(columns, names, strict=True)
            )
        outputs = [name for column in columns for name in column.output_names()]
        return np.array(outputs, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags


@dataclass(frozen=True)
class Table:
    """Columns by their place, whatever X is; of a sparse X the whole matrix."""

    names: tuple[str, ...]
    has_names: bool
    n_rows: int
    column: Callable[[int], Any]
    matrix: Any = None


def _open_table(X: Any, min_rows: int) -> Table:
    if hasattr(X, "columns"):  # a data frame of any library
        return _open_frame(X, min_rows)
    if not hasattr(X, "dtype") and not hasattr(X, "__array__"):  # lists of numbers and texts
        as_array = np.asarray(X)
        X = np.asarray(X, dtype=object) if as_array.dtype.kind in "UST" else as_array
    X = check_array(
        X,
        accept_sparse="csr",
        dtype=None,
        # Sparse columns are not looked at one by one: what is not finite is refused here.
        ensure_all_finite=sparse.issparse(X),
        ensure_min_samples=min_rows,
        input_name="X",
    )
    names = tuple(f"x{place}" for place in range(X.shape[1]))
    matrix = X if sparse.issparse(X) else None
    return Table(names, False, X.shape[0], lambda place: X[:, place], matrix)


def _open_frame(X: Any, min_rows: int) -> Table:
    labels = list(X.columns)
    names = tuple(str(label) for label in labels)
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(f"Two columns of X are named {twice!r}: give each its own name.")
    if not labels:
        raise ValueError(f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if len(X) < min_rows:
        raise ValueError(f"X has {len(X)} sample(s), a minimum of {min_rows} is required.")
    has_names = all(isinstance(label, str) for label in labels)
    return Table(names, has_names, len(X), lambda place: X[labels[place]])


def _check_something_left(columns: tuple[Column, ...]) -> None:
    skipped = [column for column in columns if isinstance(column, SkippedColumn)]
    if len(skipped) == len(columns):
        reasons = "; ".join(f"{column.name!r}: {column.reason}" for column in skipped[:5])
        raise ValueError(
            "No column of X tells one row from another: "
            f"{reasons}{'; ...' if len(columns) > 5 else ''}."
        )


def _describe_missing(missing: list[str], names: tuple[str, ...]) -> str:
    shown = ", ".join(map(repr, missing[:5])) + (", ..." if len(missing) > 5 else "")
    close = closest(missing[0], names)
    hint = "" if close is None else f" Is {missing[0]!r} named {close!r} there?"
    return f"X lacks {len(missing)} of the columns the encoder was fitted on: {shown}.{hint}"
