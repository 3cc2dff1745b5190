"""What Arrow's compressed messages ask for: it is known before they take memory."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc

from tests.suites.rows import open_rows, read, write_arrow

MIB = 2**20
TOO_MUCH = r"rows\.arrow asks for more than"
ZEROS = pa.record_batch([np.zeros(2 * MIB), np.zeros(2 * MIB)], names=["a", "y"])


def packed_level(path: Path) -> Path:
    texts = pa.array(["v" * 16 * MIB] * 2).dictionary_encode()
    batch = pa.record_batch([texts, [0, 1]], names=["a", "y"])
    return write_arrow(path, batch, "zstd", is_stream=False)


def marked_by_arrow_0_17(path: Path) -> Path:
    buffer = np.frombuffer((16 * MIB).to_bytes(8, "little") * 2, dtype=np.uint8)
    batch = pa.record_batch([buffer, buffer], names=["a", "y"])
    options = ipc.IpcWriteOptions(metadata_version=ipc.MetadataVersion.V4)
    with ipc.new_stream(path, batch.schema, options=options) as writer:
        writer.write_batch(batch, custom_metadata={"ARROW:experimental_compression": "zstd"})
    return path


@pytest.mark.parametrize(
    "write",
    [
        lambda path: write_arrow(path, ZEROS, "zstd", is_stream=False),
        lambda path: write_arrow(path, ZEROS, "lz4", is_stream=True),
        packed_level,
        marked_by_arrow_0_17,
    ],
    ids=["zstd", "lz4", "a level", "version 4"],
)
def test_arrow_is_refused_before_it_is_unpacked(
    tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    path = write(tmp_path / "rows.arrow")
    assert path.stat().st_size < MIB
    default = pa.default_memory_pool()
    watched = pa.proxy_memory_pool(default)
    pa.set_memory_pool(watched)
    try:
        with pytest.raises(ValueError, match=TOO_MUCH):
            read(path, max_bytes=MIB)
        assert watched.max_memory() < MIB
    finally:
        pa.set_memory_pool(default)


def test_batches_of_arrow_are_counted_one_by_one(tmp_path: Path) -> None:
    batch = pa.record_batch([np.zeros(10_000), ["x", None] * 5000], names=["a", "y"])
    path = tmp_path / "rows.arrow"
    options = ipc.IpcWriteOptions(compression="lz4")
    with ipc.new_file(path, batch.schema, options=options) as writer:
        for _ in range(50):
            writer.write_batch(batch)
    with open_rows(path, max_bytes=MIB) as rows:
        tables = [table for _, table in rows.batches({}, ["a", "y"], 10_000)]
    assert [table.num_rows for table in tables] == [10_000] * 50
    with pytest.raises(ValueError, match=TOO_MUCH):
        read(path, max_bytes=MIB)
