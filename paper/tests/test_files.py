"""Files that are there in full or not at all."""

import os
from pathlib import Path

import pytest

from paper.data import uci
from paper.data.catalog import HEART
from paper.files import replace_file


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_file_and_a_download_have_the_usual_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mask: int, mode: int
) -> None:
    monkeypatch.setattr(uci, "fetch_text", lambda facts, base: b"rows")
    before = os.umask(mask)
    try:
        replace_file(tmp_path / "new", "text")
        assert uci.read_or_fetch(HEART, (tmp_path,)) == b"rows"
    finally:
        os.umask(before)
    for path in (tmp_path / "new", tmp_path / HEART.file_name):
        assert path.stat().st_mode & 0o777 == mode
    assert len(list(tmp_path.iterdir())) == 2
