"""Files of rows: CSV and its like, Parquet, Arrow, NumPy's archives, LIBSVM's sparse text."""

from fcgboost.readers.base import RowFile
from fcgboost.readers.opening import open_rows, read_table
from fcgboost.readers.writing import write_rows

__all__ = ["RowFile", "open_rows", "read_table", "write_rows"]
