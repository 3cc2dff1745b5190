"""How a data frame is handed to rivals, each in the form that its library takes.

No form knows more than the rows it was learned from. Dates, which no rival takes, become numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: What CatBoost reads where a text is missing: a level of its own.
MISSING = "(missing)"
#: What rare levels are called where there are too many.
OTHER = "(other)"
#: The most levels that HistGradientBoosting takes.
MOST_LEVELS = 255
#: A level of fewer rows has no column of its own behind `one_hot`.
FEWEST_ROWS = 5


def text_columns(frame: DataFrame) -> list[str]:
    """Name the columns of text or categories."""
    from pandas.api.types import is_numeric_dtype

    return [str(name) for name in frame if not is_numeric_dtype(frame[name])]


def as_text(values: Series) -> Series:
    """Give texts, those that are missing as None."""
    return values.astype(object).where(values.notna(), None)


class DateParts(TransformerMixin, BaseEstimator):
    """Dates written as text become days since 1970, month, weekday and hour."""

    names_: list[str]

    def fit(self, X: DataFrame, y: Any = None) -> Self:
        """Find the columns that hold dates and nothing else."""
        self.names_ = [name for name in text_columns(X) if _is_date(X[name])]
        return self

    def transform(self, X: DataFrame) -> DataFrame:
        """Put numbers in the place of dates."""
        import pandas as pd

        found = {}
        for name in self.names_:
            times = _read_dates(X[name])
            days = (times - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
            found[f"{name}_days"] = days
            for part in ("month", "day_of_week", "hour"):
                found[f"{name}_{part}"] = getattr(times.dt, part)
        return X.drop(columns=self.names_).assign(**found)


class TextLevels(TransformerMixin, BaseEstimator):
    """Text and categories become strings, what is missing `MISSING`: CatBoost's form."""

    names_: list[str]

    def fit(self, X: DataFrame, y: Any = None) -> Self:
        """Find the columns of text."""
        self.names_ = text_columns(X)
        return self

    def transform(self, X: DataFrame) -> DataFrame:
        """Give strings."""
        texts = {name: as_text(X[name]).fillna(MISSING).astype(str) for name in self.names_}
        return X.assign(**{name: column.astype(object) for name, column in texts.items()})


class TrainingLevels(TransformerMixin, BaseEstimator):
    """Text becomes a category of the levels seen in `fit`; other levels are missing.

    Parameters
    ----------
    most : int
        The most levels of a column; the rarest share one. 0 is no bound.
    """

    levels_: dict[str, list[str]]

    def __init__(self, most: int = 0) -> None:
        self.most = most

    def fit(self, X: DataFrame, y: Any = None) -> Self:
        """Learn the levels, the frequent ones first."""
        self.levels_ = {
            name: list(as_text(X[name]).value_counts().index) for name in text_columns(X)
        }
        return self

    def transform(self, X: DataFrame) -> DataFrame:
        """Give categories."""
        return X.assign(**{name: self._coded(X[name], name) for name in self.levels_})

    def _coded(self, column: Series, name: str) -> Any:
        import pandas as pd

        texts, levels = as_text(column), self.levels_[name]
        if self.most and len(levels) > self.most:
            kept, rare = levels[: self.most - 1], levels[self.most - 1 :]
            texts, levels = texts.where(~texts.isin(rare), OTHER), [*kept, OTHER]
        known = texts.where(texts.isin(levels), None)
        return pd.Series(pd.Categorical(known, categories=levels), index=column.index)


def one_hot() -> Pipeline:
    """Make the usual coding: a column of zeros and ones a level, medians, and marks of gaps."""
    levels = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=FEWEST_ROWS, sparse_output=False
    )
    numbers = SimpleImputer(strategy="median", add_indicator=True)
    coded = ColumnTransformer(
        [
            ("levels", make_pipeline(TextLevels(), levels), text_columns),
            ("numbers", numbers, make_column_selector(dtype_include=np.number)),
        ]
    )
    return make_pipeline(DateParts(), coded)


def _is_date(column: Series) -> bool:
    """Whether all that is there begins with a date of the ISO's form and can be read."""
    given = column.dropna().astype(str)
    if not len(given) or not given.str.match(r"\d{4}-\d{2}-\d{2}").all():
        return False
    return bool(_read_dates(given).notna().all())


def _read_dates(column: Series) -> Series:
    import pandas as pd

    return pd.to_datetime(column, format="ISO8601", errors="coerce", utc=True)
