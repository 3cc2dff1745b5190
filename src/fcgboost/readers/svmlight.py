"""Sparse rows as LIBSVM and SVMlight write them: a label, then index:value pairs."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from fcgboost.readers.sources import Source
from fcgboost.readers.sparse import SparseRows
from fcgboost.readers.streams import open_bytes


class LabelledRows(sparse.csr_matrix):
    """A CSR matrix that remembers the labels read with its rows; parts of it do not."""

    labels: Any = None


@dataclass(frozen=True)
class Extent:
    """What a pass over all rows tells: the least index, the number of features, the labels."""

    first: int
    n_features: int
    has_whole_labels: bool


class SvmlightRows(SparseRows):
    """A file of sparse rows.

    Parameters
    ----------
    source : Source
    batch_rows : int
    first_index : {0, 1} or None
        What indices count from. None is 1, as LIBSVM counts, or 0 if index 0 occurs anywhere.
    """

    where_labels_are = "its labels are the first number of each line"

    def __init__(self, source: Source, batch_rows: int, first_index: int | None = None) -> None:
        super().__init__(source, batch_rows)
        self._given_first = self.first_index = first_index

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        encoder: Any = None,
        target: str | None = None,
        n_features: int | None = None,
    ) -> Iterator[Any]:
        self._refuse_names(columns, target)
        extent = self._extent(n_features)
        for X, y in self._chunks():
            yield _shifted(X, y, extent)

    def read(
        self,
        columns: Sequence[str] | None = None,
        *,
        encoder: Any = None,
        target: str | None = None,
        n_features: int | None = None,
    ) -> Any:
        parts = list(self.batches(columns, target=target, n_features=n_features))
        rows = LabelledRows(sparse.vstack(parts, format="csr"))
        rows.labels = np.concatenate([part.labels for part in parts])
        return rows

    def split_target(self, batch: Any, target: str | None = None) -> tuple[Any, Any]:
        self.check_target(target)
        if getattr(batch, "labels", None) is None:
            raise ValueError("Labels are known of batches as they were read, not of parts of them.")
        return batch, batch.labels

    def _extent(self, n_features: int | None) -> Extent:
        """Look at all rows, because the first ones do not tell what the others hold."""
        least, most, has_whole_labels = 1, 0, True
        n_rows = 0
        for X, y in self._chunks():
            n_rows += len(y)
            if len(X.indices):
                least = min(least, int(X.indices.min()))
                most = max(most, int(X.indices.max()))
            has_whole_labels = has_whole_labels and bool((y == np.floor(y)).all())
        self.refuse_no_rows(n_rows)
        self.first_index = self._check_first(least)
        width = max(most - self.first_index + 1, 1)
        if n_features is not None and width > n_features:
            raise ValueError(
                f"{self.source} has features up to index {most}, but the model knows {n_features} "
                "features."
            )
        n_columns = width if n_features is None else n_features
        return Extent(self.first_index, n_columns, has_whole_labels)

    def _check_first(self, least: int) -> int:
        if self._given_first is None:
            return least
        if least < self._given_first:
            raise ValueError(f"{self.source} has the index 0, but its indices should count from 1.")
        return self._given_first

    def _chunks(self) -> Iterator[tuple[Any, Any]]:
        """Give rows as they are written, indices and all."""
        n_lines = 0
        with open_bytes(self.source) as file:
            while lines := list(islice(file, self.batch_rows)):
                try:
                    X, y = _parse(lines)
                except ValueError as error:
                    self._explain(lines, n_lines, error)
                n_lines += len(lines)
                if len(y):
                    yield X, y

    def _explain(self, lines: list[bytes], n_before: int, error: ValueError) -> NoReturn:
        for place, line in enumerate(lines):
            try:
                _parse([line])
            except ValueError as found:
                raise ValueError(f"{self.source}, line {n_before + place + 1}: {found}") from None
        raise ValueError(f"{self.source} can not be read: {error}") from error


def _parse(lines: list[bytes]) -> tuple[Any, Any]:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(io.BytesIO(b"".join(lines)), zero_based=True)
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise ValueError("a value is not finite")
    return X, y


def _shifted(X: Any, y: Any, extent: Extent) -> LabelledRows:
    parts = (X.data, X.indices - extent.first, X.indptr)
    rows = LabelledRows(parts, shape=(X.shape[0], extent.n_features))
    rows.labels = y.astype(np.int64) if extent.has_whole_labels else y
    return rows
