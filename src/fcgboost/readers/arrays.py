"""NumPy's archives of arrays: X with the rows, y with the labels, feature_names with the names."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from fcgboost.readers.base import RowFile
from fcgboost.readers.frames import FrameFile, Request, check_distinct
from fcgboost.readers.sources import Source
from fcgboost.readers.sparse import MatrixRows

_TARGET = "y"
#: What an archive may unpack to, if that is more than so many times its own size.
_MUCH = 2**30
_MANY_TIMES = 200
#: An OSError is a place outside the file.
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError)


class ArrayRows(FrameFile):
    """An .npz file."""

    def __init__(self, source: Source, batch_rows: int) -> None:
        super().__init__(source, batch_rows)
        with self._opened() as archive:
            self._members = {name.removesuffix(".npy") for name in archive.namelist()}
            if "X" not in self._members:
                raise ValueError(
                    f"{source} has no array named X, only {', '.join(sorted(self._members))}: save "
                    "the rows as X, and their labels as y."
                )
            with self._array(archive, "X") as (_, shape, _dtype, _order):
                self._shape = self._check_shape(shape)
            names = self._small(archive, "feature_names")
            self._y = self._small(archive, _TARGET)
        self._check_parts(names)
        features = [f"x{i}" for i in range(self._shape[1])] if names is None else names.tolist()
        ends = [] if self._y is None else [_TARGET]
        self.columns = check_distinct(source, [*map(str, features), *ends])
        self.names = None if names is None else self.columns
        self.default_target = None if self._y is None else _TARGET

    def _parts(self, request: Request) -> Iterator[tuple[Any, Any]]:
        import pandas as pd

        n_features = self._shape[1]
        start = 0
        for rows in self._rows():
            frame = pd.DataFrame(rows, columns=list(self.columns[:n_features]))
            if self._y is not None:
                frame[_TARGET] = self._y[start : start + len(rows)]
            start += len(rows)
            yield frame[list(request.columns)], frame[list(request.keep)]

    def _whole(self, request: Request) -> Any:
        import pandas as pd

        return pd.concat([frame for frame, _ in self._parts(request)], ignore_index=True)

    def _place(self, row: int) -> str:
        return f"row {row + 1}"

    def _rows(self) -> Iterator[NDArray[Any]]:
        """Give the rows of X, unpacking no more than needed."""
        with self._opened() as archive, self._array(archive, "X") as (file, shape, dtype, order):
            if order:
                whole = np.frombuffer(_take(file, shape, dtype), dtype).reshape(shape, order="F")
                for start in range(0, shape[0], self.batch_rows):
                    yield whole[start : start + self.batch_rows]
                return
            for start in range(0, shape[0], self.batch_rows):
                part = (min(self.batch_rows, shape[0] - start), shape[1])
                yield np.frombuffer(_take(file, part, dtype), dtype).reshape(part)

    @contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        with self.source.open() as raw:
            try:
                with zipfile.ZipFile(raw) as archive:
                    yield archive
            except _DAMAGE as error:
                raise ValueError(f"{self.source} is damaged, or no .npz file: {error}") from error

    @contextmanager
    def _array(self, archive: zipfile.ZipFile, name: str) -> Iterator[tuple[Any, ...]]:
        """Open an array and give its file, shape, type, and whether columns come first."""
        with archive.open(f"{name}.npy") as file:
            try:
                version = npy.read_magic(file)
                read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                shape, order, dtype = read(file)
            except (ValueError, EOFError) as error:
                raise ValueError(f"{self.source}: {name} is damaged: {error}") from error
            if dtype.hasobject:
                raise ValueError(
                    f"{self.source}: {name} holds Python objects, which are not read because they "
                    "can run code. Save numbers or fixed-width text."
                )
            yield file, shape, dtype, order

    def _small(self, archive: zipfile.ZipFile, name: str) -> NDArray[Any] | None:
        """Read an array of one dimension at once, or give None if there is none."""
        if name not in self._members:
            return None
        with self._array(archive, name) as (file, shape, dtype, _):
            if len(shape) != 1:
                raise ValueError(f"{self.source}: {name} has shape {shape}, not one dimension.")
            return np.frombuffer(_take(file, shape, dtype), dtype)

    def _check_shape(self, shape: tuple[int, ...]) -> tuple[int, int]:
        if len(shape) != 2 or 0 in shape:
            raise ValueError(f"{self.source}: X has shape {shape}, not rows and columns.")
        return shape[0], shape[1]

    def _check_parts(self, names: NDArray[Any] | None) -> None:
        n_rows, n_features = self._shape
        if names is not None and len(names) != n_features:
            raise ValueError(
                f"{self.source} has {len(names)} feature_names for {n_features} columns of X."
            )
        if self._y is not None and len(self._y) != n_rows:
            raise ValueError(f"{self.source} has {len(self._y)} labels y for {n_rows} rows of X.")


def open_arrays(source: Source, batch_rows: int) -> RowFile:
    """Open an .npz file: arrays of NumPy's, or the parts of one sparse matrix."""
    try:
        with zipfile.ZipFile(source.place) as archive:
            _check_size(source, archive)
            is_matrix = {"format.npy", "shape.npy", "data.npy"} <= set(archive.namelist())
    except zipfile.BadZipFile as error:
        raise ValueError(f"{source} is damaged, or no .npz file: {error}") from error
    return (MatrixRows if is_matrix else ArrayRows)(source, batch_rows)


def _check_size(source: Source, archive: zipfile.ZipFile) -> None:
    unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > max(_MUCH, _MANY_TIMES * source.place.stat().st_size):
        raise ValueError(
            f"{source} would unpack to {unpacked / 2**30:.1f} GiB, more than {_MANY_TIMES} times "
            "its size: it is refused as damaged or meant to do harm."
        )


def _take(file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> bytes:
    wanted = int(np.prod(shape, dtype=object)) * dtype.itemsize
    data = file.read(wanted)
    if len(data) < wanted:
        raise EOFError(f"{wanted} bytes announced, {len(data)} found")
    return data
