"""Tables with categories, dates and missing values, and the numbers they become."""

from fcgboost.tables.columns import (
    CategoryColumn,
    Column,
    LevelOutput,
    NumberColumn,
    NumberOutput,
    SkippedColumn,
)

__all__ = [
    "CategoryColumn",
    "Column",
    "LevelOutput",
    "NumberColumn",
    "NumberOutput",
    "SkippedColumn",
]
