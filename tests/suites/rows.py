"""Files of rows that tests write, and how they read them."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import ipc

from fcgboost.cli import console
from fcgboost.rows import RowFile, formats, read_table, write_rows
from tests.suites.tables import Encoder

TABLES = ["csv", "tsv", "csv.gz", "tsv.gz", "parquet", "arrow", "feather", "ipc"]


def put(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def mixed_frame(n_rows: int = 50) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    town = rng.choice(np.array(["Ulm", "Köln", 'the "big", one', "two\nlines"]), n_rows)
    return pd.DataFrame(
        {
            "whole": rng.integers(-5, 5, n_rows),
            "number": rng.normal(size=n_rows),
            "gappy": np.where(rng.random(n_rows) < 0.3, np.nan, rng.normal(size=n_rows)),
            "town": pd.Series(town).where(rng.random(n_rows) < 0.8, None),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, n_rows), "D"),
            "y": rng.choice(["yes", "no"], n_rows),
        }
    ).astype({"day": "datetime64[us]"})


def write(path: Path, frame: pd.DataFrame) -> Path:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if path.suffix in (".csv", ".parquet"):
        assert write_rows(path, [table[:20], table[20:]]) == len(frame)
    elif path.suffix in (".tsv", ".gz"):
        frame.to_csv(path, sep="\t" if ".tsv" in path.suffixes else ",", index=False)
    else:
        with ipc.new_file(path, table.schema) as file:
            file.write_table(table[:20])
            file.write_table(table[20:])
    return path


def open_rows(path: Path, **options: Any) -> AbstractContextManager[RowFile]:
    """Open rows as commands do: notes are printed."""
    return formats.open_rows(path, tell=console.note, **options)


def read(path: Path, target: str = "y", drop: Sequence[str] = (), **options: Any) -> Any:
    with open_rows(path, **options) as rows:
        return rows.read(target, drop)


def encoded(path: Path, encoder: Encoder, n_rows: int = 7) -> np.ndarray:
    """Encode the batches of a file; only the last may have fewer rows."""
    with open_rows(path) as rows:
        columns = {one.name: one for one in encoder.columns_ if one.n_outputs}
        frames = [frame for frame, _ in rows.batches(columns, [], n_rows)]
    assert {len(frame) for frame in frames[:-1]} <= {n_rows}
    # Columns that give nothing are not read: they are empty, as models get them.
    names = [column.name for column in encoder.columns_]
    return np.vstack([encoder.transform(frame.reindex(columns=names)) for frame in frames])


def kept(path: Path, names: list[str], n_rows: int = 4) -> pa.Table:
    with open_rows(path) as rows:
        return pa.concat_tables([table for _, table in rows.batches({}, names, n_rows)])


def classes(path: Path) -> list[Any]:
    return read_table(path, "y", tell=console.note)[1].tolist()


def write_arrow(path: Path, batch: Any, compression: str | None, *, is_stream: bool) -> Path:
    open_ = ipc.new_stream if is_stream else ipc.new_file
    options = ipc.IpcWriteOptions(compression=compression)
    with open_(path, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return path
