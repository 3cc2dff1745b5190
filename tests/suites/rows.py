"""Files of rows that tests write, and how they read them."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from fcgboost.cli.reading import open_rows
from fcgboost.cli.rows import read_rows
from fcgboost.cli.writing import write_rows
from fcgboost.tables import TableEncoder

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
    assert write_rows(path, [table[:20], table[20:]]) == len(frame)
    return path


def read(path: Path, target: str = "y", drop: Sequence[str] = (), **options: Any) -> Any:
    with open_rows(path, **options) as rows:
        return rows.read(target, drop)


def encoded(path: Path, encoder: TableEncoder, n_rows: int = 7) -> np.ndarray:
    """Encode the batches of a file; only the last may have fewer rows."""
    with open_rows(path) as rows:
        columns = {one.name: one for one in encoder.columns_ if one.n_outputs}
        frames = [frame for frame, _ in rows.batches(columns, [], n_rows)]
    assert {len(frame) for frame in frames[:-1]} <= {n_rows}
    return np.vstack([encoder.transform(frame) for frame in frames])


def kept(path: Path, names: list[str], n_rows: int = 4) -> pa.Table:
    with open_rows(path) as rows:
        return pa.concat_tables([table for _, table in rows.batches({}, names, n_rows)])


def classes(path: Path) -> list[Any]:
    options = argparse.Namespace(data=path, format=None, max_bytes=None, target="y", drop=[])
    vars(options).update(encoding=None, decimal=None, thousands=None, dayfirst=None, strict=False)
    return read_rows(options)[1].tolist()
