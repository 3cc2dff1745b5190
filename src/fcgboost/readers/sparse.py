"""Files of sparse rows: columns have no names, and batches are CSR matrices."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from fcgboost.readers.base import RowFile
from fcgboost.readers.sources import Source

_COMPRESSED = ("csr", "csc", "bsr")


class SparseRows(RowFile):
    """A file of sparse rows."""

    is_sparse = True
    #: Half a sentence for those who name a target.
    where_labels_are: str

    def batches_with(
        self,
        keep: Sequence[str],
        *,
        encoder: Any = None,
        target: str | None = None,
        n_features: int | None = None,
    ) -> Iterator[tuple[Any, Any]]:
        import pandas as pd

        self._refuse_names(keep or None, target)
        n_rows = 0
        for batch in self.batches(n_features=n_features):
            yield batch, pd.DataFrame(index=pd.RangeIndex(n_rows, n_rows + batch.shape[0]))
            n_rows += batch.shape[0]

    def read_labelled(
        self, target: str | None = None, *, drop: Sequence[str] = ()
    ) -> tuple[Any, Any]:
        self._refuse_names(drop or None, target)
        return self.split_target(self.read())

    def check_target(self, target: str | None) -> None:
        self._refuse_names(None, target)

    def _refuse_names(self, columns: Sequence[str] | None, target: str | None) -> None:
        if columns is not None or target is not None:
            raise ValueError(
                f"{self.source} has no names of columns: {self.where_labels_are}. Name no columns "
                "and no target."
            )


class MatrixRows(SparseRows):
    """A matrix as `scipy.sparse.save_npz` writes it, which is read as a whole; it has no labels."""

    where_labels_are = "it is a sparse matrix, which has no labels"

    def __init__(self, source: Source, batch_rows: int) -> None:
        super().__init__(source, batch_rows)
        try:
            with source.open() as file:
                matrix = sparse.load_npz(file)
            if matrix.format in _COMPRESSED:  # a damaged one may point outside its memory
                matrix.check_format(full_check=True)
            self._matrix = matrix.tocsr()
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"{source} is damaged, or no sparse matrix: {error}") from error
        self.refuse_no_rows(self._matrix.shape[0])
        if self._matrix.dtype.kind not in "biuf" or not np.isfinite(self._matrix.data).all():
            raise ValueError(f"{source} holds what is no finite number.")

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        encoder: Any = None,
        target: str | None = None,
        n_features: int | None = None,
    ) -> Iterator[Any]:
        whole = self.read(columns, target=target, n_features=n_features)
        for start in range(0, whole.shape[0], self.batch_rows):
            yield whole[start : start + self.batch_rows]

    def read(
        self,
        columns: Sequence[str] | None = None,
        *,
        encoder: Any = None,
        target: str | None = None,
        n_features: int | None = None,
    ) -> Any:
        self._refuse_names(columns, target)
        n_rows, width = self._matrix.shape
        if n_features is not None and width > n_features:
            raise ValueError(
                f"{self.source} has {width} features, but the model knows {n_features}."
            )
        parts = (self._matrix.data, self._matrix.indices, self._matrix.indptr)
        return sparse.csr_matrix(parts, shape=(n_rows, n_features or width))

    def split_target(self, batch: Any, target: str | None = None) -> tuple[Any, Any]:
        raise ValueError(
            f"{self.source} is a sparse matrix, which has no labels: save both in one file by "
            "sklearn.datasets.dump_svmlight_file."
        )
