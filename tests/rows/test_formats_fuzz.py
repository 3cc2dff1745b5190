"""Mutated files of rows: each is used, or refused in one line that names it.

They are read in a process of its own with little memory, by the commands themselves.
`python -m tests.rows.test_formats_fuzz FOLDER COUNT SEED` is that process.
"""

import contextlib
import datetime
import decimal
import gzip
import io
import json
import random
import struct
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet
from sklearn.datasets import dump_svmlight_file

from fcgboost import FCGBoostClassifier
from fcgboost.cli import main
from fcgboost.io import save_model
from tests.documents.test_files_fuzz import (
    cut,
    flip_bits,
    insert_some,
    limit_memory,
    peak,
    remove_some,
    repeat_some,
    splice,
)

ROOT = Path(__file__).parents[2]
N_ROWS = 40
MODEL: dict[str, Any] = {"dictionary": "tree", "max_iter": 2, "l2": 0.01}


def plain_frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "whole": rng.integers(-5, 5, N_ROWS),
            "gappy": np.where(rng.random(N_ROWS) < 0.2, np.nan, rng.normal(size=N_ROWS)),
            "town": rng.choice(np.array(["Ulm", "Köln", 'the "big", one', "two\nlines"]), N_ROWS),
            "y": rng.choice(["yes", "no"], N_ROWS),
        }
    )


def odd_columns() -> dict[str, Any]:
    """Return columns of types that are no numbers, texts or times, or rare ones of these."""
    day = datetime.datetime(2020, 1, 1, 12)
    return {
        "lists": pa.array([[1.0, 2.0]] * N_ROWS),
        "structs": pa.array([{"a": 1}] * N_ROWS),
        "maps": pa.array([[("a", 1)]] * N_ROWS, pa.map_(pa.string(), pa.int64())),
        "decimals": pa.array([decimal.Decimal("1.5"), decimal.Decimal("-2.5")] * (N_ROWS // 2)),
        "bytes": pa.array([b"\xff\0"] * N_ROWS),
        "fixed": pa.array([b"ab"] * N_ROWS, pa.binary(2)),
        "zone": pa.array([day] * N_ROWS, pa.timestamp("us", tz="Europe/Berlin")),
        "nowhere": pa.array([0] * N_ROWS, pa.int64()).cast(pa.timestamp("us", tz="No/Where")),
        "far": pa.array([2**62] * N_ROWS, pa.int64()).cast(pa.timestamp("s")),
        "far days": pa.array([2**31 - 1] * N_ROWS, pa.int32()).cast(pa.date32()),
        "days": pa.array([day.date()] * N_ROWS),
        "hours": pa.array([day.time()] * N_ROWS),
        "lengths": pa.array([datetime.timedelta(3)] * N_ROWS),
        "nothing": pa.nulls(N_ROWS),
        "half": pa.array(np.arange(N_ROWS, dtype=np.float16)),
        "large": pa.array([2**64 - 1, 1] * (N_ROWS // 2), pa.uint64()),
        "codes": pa.array([7, 8] * (N_ROWS // 2)).dictionary_encode(),
        "long texts": pa.array(["a", "b"] * (N_ROWS // 2), pa.large_string()),
        "views": pa.array(["a", "b"] * (N_ROWS // 2), pa.string_view()),
        "runs": pa.RunEndEncodedArray.from_arrays([N_ROWS], ["a"]),
        "truths": pa.array([True, None] * (N_ROWS // 2)),
    }


def typed(table: Any, kind: str, **options: Any) -> bytes:
    sink = io.BytesIO()
    if kind == "parquet":
        parquet.write_table(table, sink, row_group_size=15, **options)
    else:
        open_ = ipc.new_file if kind == "arrow" else ipc.new_stream
        with open_(sink, table.schema, options=ipc.IpcWriteOptions(**options)) as writer:
            writer.write_table(table, 15)
    return sink.getvalue()


def saved(save: Callable[..., Any], *arrays: Any, **named: Any) -> bytes:
    sink = io.BytesIO()
    save(sink, *arrays, **named)
    return sink.getvalue()


def seeds() -> dict[str, list[bytes]]:
    """Return files that are as they should be, by the ends of their names."""
    frame = plain_frame()
    table = pa.Table.from_pandas(frame.astype({"town": "category"}), preserve_index=False)
    texts = pa.Table.from_pandas(frame, preserve_index=False)
    csv, tsv = (frame.to_csv(index=False, sep=mark).encode() for mark in ",\t")
    X, y = frame[["whole", "gappy"]].fillna(0.0).to_numpy(), np.arange(N_ROWS) % 2
    svm = saved(lambda sink: dump_svmlight_file(X, y, sink))
    return {
        "csv": [csv, frame.to_csv(index=False, sep=";", decimal=",").encode()],
        "csv.gz": [gzip.compress(csv, mtime=0)],
        "tsv": [tsv],
        "parquet": [typed(table, "parquet"), typed(texts, "parquet", compression="gzip")],
        "arrow": [typed(table, "arrow"), typed(texts, "arrow", compression="zstd")],
        "ipc": [typed(table, "stream", compression="lz4"), typed(texts, "stream")],
        "svm": [svm],
        "svm.gz": [gzip.compress(svm, mtime=0)],
    }


def odd_files() -> list[tuple[str, bytes]]:
    """Return files that are whole, but hold what is rare."""
    frame, found = plain_frame(), []
    base = pa.Table.from_pandas(frame, preserve_index=False)
    tables = [base.append_column(name, column) for name, column in odd_columns().items()]
    tables += [base.set_column(0, "whole", column) for column in odd_columns().values()]
    tables += [base.set_column(3, "y", column) for column in odd_columns().values()]
    tables += [base[:0], base.select([]), base[:1], base.append_column("y", base["y"])]
    tables += [base.rename_columns(["", "\0", "\x1b[31m", "y"]), base.rename_columns(["y"] * 4)]
    for table in tables:
        for kind in ("parquet", "arrow"):
            with contextlib.suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid):
                found.append((kind, typed(table, kind)))
    csv = frame.to_csv(index=False).encode()
    head, _, rest = csv.partition(b"\n")
    heads = [
        b"",
        b",,,",
        b"a,a,a,y",
        b'"whole',
        b"whole\0,gappy,town,y",
        b"\xff,b,c,y",
        b"y",
        b"\xef\xbb\xbf" + head,
    ]
    heads += [head + b",more", head.replace(b",", b"|"), b"1,2,3,4", head * 999, b"\x1b[2J,b,c,y"]
    found += [("csv", one + b"\n" + rest) for one in heads]
    found += [
        ("csv", one) for one in (b"", b"\n" * 99, head, head + b"\n", csv.replace(b"Ulm", b"\0"))
    ]
    found += [("csv", frame.to_csv(index=False).encode("utf-16")), ("csv", csv + b'"x')]
    for line in (
        *(
            b"1 2147483648:1",
            b"1 2147483647:1",
            b"1 9223372036854775807:1",
            b"1 99999999999999999999:1",
        ),
        *(
            b"1 -1:1",
            b"1 0:1",
            b"1 1:1e999",
            b"1e999 1:1",
            b"1,2 1:1",
            b"1 qid:9999999999999999999 1:1",
        ),
        *(b"1 1:", b"1 :1", b"\0", b"1 1:1\0", b"\xff 1:1", b"1 1:1 1:1", b"1 1:0x10", b"nan 1:1"),
    ):
        found.append(("svm", b"0 1:1\n" + line + b"\n"))
    return found


def huge_count(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Put a large number where the file may have a count."""
    number = rng.choice([2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, -1])
    text = rng.choice(
        [struct.pack("<q", number), struct.pack("<i", number % 2**31), str(number).encode()]
    )
    start = rng.randrange(len(data))
    return data[:start] + text + data[start + rng.choice([0, len(text)]) :]


def odd_text(rng: random.Random, data: bytes, other: bytes) -> bytes:
    start = rng.randrange(len(data))
    odd = [
        b"\xff",
        b"\xc3",
        b"\0",
        b"\x1b[31m",
        b"\xed\xa0\x80",
        b'"',
        b"\r",
        b"\n",
        b";",
        b"1e999",
    ]
    return data[:start] + rng.choice(odd) + data[start:]


def swap(rng: random.Random, data: bytes, other: bytes) -> bytes:
    i, j = sorted(rng.randrange(len(data)) for _ in range(2))
    n = min(rng.choice([1, 4, 8, 64]), j - i)
    return data[:i] + data[j : j + n] + data[i + n : j] + data[i : i + n] + data[j + n :]


CHANGES = (
    cut,
    flip_bits,
    flip_bits,
    insert_some,
    remove_some,
    repeat_some,
    splice,
    huge_count,
    odd_text,
    swap,
)


def damaged(rng: random.Random, known: dict[str, list[bytes]]) -> tuple[str, bytes]:
    """Return a file that something happened to, and the end of its name."""
    kind = rng.choice(list(known))
    data = rng.choice(known[kind])
    # What is packed is changed before it is packed, too.
    is_inside = kind.endswith(".gz") and rng.random() < 0.5
    data = gzip.decompress(data) if is_inside else data
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        data = rng.choice(CHANGES)(rng, data, rng.choice(known[kind])) or b" "
    return kind, gzip.compress(data, mtime=0) if is_inside else data


# The process that reads them


def commands(folder: Path, path: Path) -> list[list[Any]]:
    kind = path.name.partition(".")[2]
    model = folder / ("numbers.model" if kind in ("svm", "svm.gz") else "table.model")
    keep = [] if "numbers" in model.name else ["--keep", "town"]
    target = [] if kind.startswith("svm") else ["--target", "y"]
    options = [
        part for name, value in MODEL.items() for part in ("--set", f"{name}={json.dumps(value)}")
    ]
    return [
        ["predict", model, path, *keep, "--out", folder / "out.csv", "--batch", "16"],
        ["predict", model, path, *keep, "--out", folder / "out.parquet"],
        ["evaluate", model, path, *target],
        ["fit", path, *target, "--out", folder / "new.json", *options],
    ]


def outcome(folder: Path, path: Path, command: list[Any]) -> tuple[int, str | None]:
    """Return the exit status of a command, and what is wrong with its end, if anything."""
    told, out = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(out):
            status = main([str(word) for word in command])
    except BaseException as error:
        return -1, f"{type(error).__name__}: {str(error)[:300]}"
    lines = told.getvalue().splitlines()
    if status == 0:
        return 0, None
    is_told = bool(lines) and lines[-1].startswith("fcgboost: ")
    expected = (3,)
    if status not in expected or not is_told or not all(map(str.isprintable, lines)):
        return status, f"status {status}, {told.getvalue()[-300:]!r}"
    if path.name not in lines[-1]:
        return status, f"no name: {lines[-1][:300]}"
    return status, None if len(lines[-1]) < 2100 else f"{len(lines[-1])} characters"


def write_models(folder: Path) -> None:
    frame = plain_frame()
    X, y = frame.drop(columns="y"), frame["y"]
    save_model(FCGBoostClassifier(**MODEL).fit(X, y), folder / "table.model")
    numbers = X[["whole", "gappy"]].fillna(0.0).to_numpy()
    save_model(
        FCGBoostClassifier(**MODEL).fit(numbers, np.arange(N_ROWS) % 2), folder / "numbers.model"
    )


def run(folder: Path, count: int, seed: int) -> dict[str, Any]:
    """Give commands damaged files, and return what is to be known about it."""
    warnings.simplefilter("ignore")
    write_models(folder)
    rng, known = random.Random(seed), seeds()
    files = [(kind, data) for kind, some in known.items() for data in some] + odd_files()
    for kind in ("csv", "parquet", "arrow", "svm"):  # load what there is to load
        path = folder / f"warm.{kind}"
        path.write_bytes(known[kind][0])
        for command in commands(folder, path):
            status, problem = outcome(folder, path, command)
            assert status == 0, (command, problem)
    start = peak()
    limit_memory(3 * 2**30)
    counts: Counter[str] = Counter()
    problems = []
    for i in range(len(files) + count):
        if i < len(files):
            kind, data = files[i]
        else:
            kind, data = damaged(rng, known)
        path = folder / f"rows{i}.{kind}"
        path.write_bytes(data)
        chosen = commands(folder, path)
        for command in chosen if i < len(files) and count > 1000 else [rng.choice(chosen)]:
            status, problem = outcome(folder, path, command)
            counts["used" if status == 0 else "refused"] += 1
            if problem is not None:
                problems.append(f"{path.name} {command[0]}: {problem}")
        path.unlink()
    return {"counts": counts, "problems": problems, "peak": peak() - start}


@pytest.mark.parametrize("count", [25, pytest.param(5000, marks=pytest.mark.slow)])
def test_damaged_files_are_used_or_refused_in_one_line_that_names_them(
    tmp_path: Path, count: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(tmp_path), str(count), "0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert not found["problems"]
    assert found["counts"]["refused"] > 0.5 * count
    assert found["counts"]["used"] > 0.05 * count
    assert found["peak"] < 400


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
