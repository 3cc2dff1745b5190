"""The transformer that turns a table into numbers: `TableEncoder`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from fcgboost.tables.columns import Column, NumberColumn, SkippedColumn
from fcgboost.tables.learning import learn_column


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table with categories, dates and missing values into numbers.

    Numbers, truth values and dates stay one column; dates also become their month, weekday and
    hour where these vary. Missing values become the median, and one more column marks them. Text
    is one-hot encoded, rare texts together; text that consists of numbers or ISO dates is read as
    such, unless leading zeros show that they are codes. Constant columns are left out.

    Parameters
    ----------
    max_levels : int, default=32
        How many texts of a column get a column of their own, the most frequent first. The others
        share one.
    min_count : int, default=2
        The number of training rows a text must occur in to get a column of its own.
    dayfirst : bool or None, default=None
        Whether texts such as 03/04/2020 are 3 April or March 4; None leaves them text.

    Attributes
    ----------
    columns_ : tuple of Column
        What was learned about each column of X, in their order: a `NumberColumn`, a
        `CategoryColumn` or a `SkippedColumn`.
    notes_ : tuple of str
        Notes for the user: which columns are left out, hold stray text among numbers, or may not be
        what they seem. Empty after `from_columns`.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X had names that are text.

    See Also
    --------
    fcgboost.FCGBoostClassifier : Takes tables itself; behind the encoder it sees only its numbers.

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

    def __init__(
        self, max_levels: int = 32, min_count: int = 2, dayfirst: bool | None = None
    ) -> None:
        self.max_levels = max_levels
        self.min_count = min_count
        self.dayfirst = dayfirst

    @classmethod
    def from_columns(
        cls, columns: Iterable[Column], names_in: Sequence[str] | None = None
    ) -> TableEncoder:
        """Return a fitted encoder from what another one learned.

        Parameters
        ----------
        columns : iterable of Column
            Its `columns_`.
        names_in : sequence of str or None
            Its `feature_names_in_`; None if columns are found by position.
        """
        encoder = cls()
        encoder.columns_, encoder.notes_ = tuple(columns), ()
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
        table = open_table(X, min_rows=2)
        options = self.max_levels, self.min_count, self.dayfirst
        learned = [
            learn_column(name, values, *options)
            if table.matrix is None
            else (NumberColumn(name), [])
            for name, values in table.columns.items()
        ]
        columns = tuple(column for column, _ in learned)
        if all(isinstance(column, SkippedColumn) for column in columns):
            reasons = " ".join(note for _, notes in learned[:5] for note in notes[:1])
            raise ValueError(f"No column of X is of use. {reasons}")
        self.columns_ = columns
        self.notes_ = tuple(note for _, notes in learned for note in notes)
        self.n_features_in_ = len(columns)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if table.has_names:
            self.feature_names_in_ = np.array(list(table.columns), dtype=object)
        return self

    def transform(self, X: Any) -> Any:
        """Return the numbers of a table.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            A CSR matrix if X is sparse.
        """
        check_is_fitted(self)
        table = open_table(X, min_rows=0)
        matched = self._match(table)
        if table.matrix is not None:
            return self._transform_sparse(table.matrix)
        outputs = [own for column, values in matched for own in column.encode(column.read(values))]
        return np.column_stack(outputs)

    def read(self, X: Any) -> NDArray[np.float64]:
        """Return one number for every cell of a table, before it is encoded.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features_in_)
            The level of a text; NaN where a value is missing or its column is left out.
        """
        check_is_fitted(self)
        table = open_table(X, min_rows=0)
        read = {column.name: column.read(values) for column, values in self._match(table)}
        nothing = np.full(table.n_rows, np.nan)
        return np.column_stack([read.get(column.name, nothing) for column in self.columns_])

    def unknown_share(self, X: Any) -> dict[str, float]:
        """Measure how much of a table is unknown from training.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        dict from str to float
            For each column, the share of its values that have no column of their own, or are text
            in a column of numbers. Columns without any, and those the encoder drops, are left out.
            Pooled rare texts count, too: a share far from 1 need not mean anything.
        """
        check_is_fitted(self)
        table = open_table(X, min_rows=0)
        if table.matrix is not None:
            return {}
        used = ((column, values) for column, values in self._match(table) if column.n_outputs)
        shares = {column.name: column.unknown_share(values) for column, values in used}
        return {name: share for name, share in shares.items() if share > 0.0}

    def _match(self, table: Table) -> list[tuple[Column, Any]]:
        """Return the columns that are not skipped, with their values in a table."""
        if table.has_names and hasattr(self, "feature_names_in_"):  # X of fit may have had no names
            names = [column.name for column in self.columns_]
        elif len(table.columns) == self.n_features_in_:
            names = list(table.columns)
        else:
            raise ValueError(
                f"X has {len(table.columns)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        pairs = zip(self.columns_, names, strict=True)
        used = [pair for pair in pairs if not isinstance(pair[0], SkippedColumn)]
        missing = [name for _, name in used if name not in table.columns]
        if missing:
            shown = ", ".join(map(repr, missing[:5])) + (", ..." if len(missing) > 5 else "")
            close = closest(missing[0], table.columns)
            hint = "" if close is None else f" Is {close!r} the column {missing[0]!r}?"
            lacks = f"X lacks {len(missing)} of the columns the encoder was fitted on"
            raise ValueError(f"{lacks}: {shown}.{hint}")
        return [(column, table.columns[name]) for column, name in used]

    def _transform_sparse(self, matrix: Any) -> Any:
        for column in self.columns_:
            if not isinstance(column, NumberColumn) or column.n_outputs != 1:
                raise ValueError(
                    f"X is sparse, but column {column.name!r} does not stay as it is: pass X as "
                    "an array or a data frame."
                )
        return matrix.astype(np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns of numbers.

        Parameters
        ----------
        input_features : array-like of str or None
            Names for the columns of X, if it had none.
        """
        check_is_fitted(self)
        columns = self.columns_
        if input_features is not None:
            names = _check_feature_names_in(self, input_features)
            columns = tuple(
                replace(column, name=str(name)) for column, name in zip(columns, names, strict=True)
            )
        outputs = [name for column in columns for name in column.output_names()]
        return np.array(outputs, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for name in ("allow_nan", "categorical", "string", "sparse"):
            setattr(tags.input_tags, name, True)
        return tags


class Table(NamedTuple):
    """A table of any library: its columns by name; of a CSR matrix only their names."""

    columns: dict[str, Any]
    has_names: bool
    n_rows: int
    matrix: Any = None


def open_table(X: Any, min_rows: int) -> Table:
    """Return the columns of a frame, an array or lists with at least so many rows."""
    if is_frame(X):
        return _open_frame(X, min_rows)
    X = as_array(X)
    is_sparse = sparse.issparse(X)
    X = check_array(
        X,
        accept_sparse="csr",
        dtype=None,
        # Sparse columns are not looked at one by one: what is not finite is refused here.
        ensure_all_finite=is_sparse,
        ensure_min_samples=min_rows,
        input_name="X",
    )
    columns = {f"x{j}": None if is_sparse else X[:, j] for j in range(X.shape[1])}
    return Table(columns, False, X.shape[0], X if is_sparse else None)


def as_array(X: Any) -> Any:
    """Return lists as an array in which numbers beside texts stay numbers; leave the rest alone."""
    if is_frame(X) or hasattr(X, "dtype") or hasattr(X, "__array__"):  # of whichever library
        return X
    with suppress(ValueError):  # rows of several lengths, which are refused later
        array = np.asarray(X)
        return np.asarray(X, dtype=object) if array.dtype.kind in "OUS" else array
    return X


def is_table(X: Any) -> bool:
    """Whether X has columns other than plain NumPy numbers."""
    if not is_frame(X):
        return getattr(getattr(X, "dtype", None), "kind", "f") in "OSUMmT"
    dtypes = list(getattr(X, "dtypes", [None]))
    if not hasattr(X, "iloc") or not X.columns.is_unique:  # only pandas' frames have places
        return True
    return not all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in dtypes)


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of some library, or an Arrow table."""
    return hasattr(X, "columns") and not hasattr(X, "dtype")  # of whichever library


def _open_frame(X: Any, min_rows: int) -> Table:
    labels = list(getattr(X, "column_names", X.columns))
    columns = {name: X[label] for name, label in zip(names_of(labels), labels, strict=True)}
    if not labels:
        raise ValueError(f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if len(X) < min_rows:
        raise ValueError(f"X has {len(X)} sample(s), a minimum of {min_rows} is required.")
    return Table(columns, all(isinstance(label, str) for label in labels), len(X))


def names_of(labels: Sequence[Any]) -> list[str]:
    """Return column labels as text; duplicates are an error."""
    names = list(map(str, labels))
    if len(set(names)) < len(names):
        twice = next(name for name, n in Counter(names).items() if n > 1)
        raise ValueError(f"Two columns of X are named {twice!r}: give each its own name.")
    return names


def closest(name: str, names: Iterable[str]) -> str | None:
    """Return the most similar name, ignoring case; None if none is similar."""
    lower = {known.lower(): known for known in names}
    close = get_close_matches(name.lower(), lower, n=1)
    return lower[close[0]] if close else None
