"""The demo, with everything smaller."""

import contextlib
import io
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from paper.__main__ import main as run
from paper.demo import main, methods, story
from paper.demo.pictures import save
from paper.rivals import RIVALS

PNG = b"\x89PNG\r\n\x1a\n"
METHODS = [
    "FCGBoost gauss",
    "FCGBoost polynomial",
    "FCGBoost sigmoid",
    "FCGBoost relu",
    "SVM RBF",
    "random forest",
    "AdaBoost",
]

# The module's fixture runs the demo once: its tests belong on one worker.
pytestmark = pytest.mark.xdist_group("demo")


@pytest.fixture(scope="module")
def small() -> Iterator[None]:
    """Let the demo have one setting per competitor and few draws."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods, "N_TEST", 200)
        patch.setattr(methods, "N_MORE_DRAWS", 2)
        few = {
            name: replace(RIVALS[name], folds={k: v[:1] for k, v in RIVALS[name].folds.items()})
            for name in methods.COMPETITORS
        }
        patch.setattr(methods, "RIVALS", few)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pictures") / "new" / "folder"


@pytest.fixture(scope="module")
def output(small: None, folder: Path) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        run(["demo", "--out", str(folder), "--n-samples", "60", "--seed", "3"])
    return text.getvalue()


def test_the_table_has_a_line_for_every_method(output: str) -> None:
    lines = output.splitlines()
    for name in METHODS:
        (row,) = [line for line in lines if line.startswith(f"{name} ") and line.endswith(" s")]
        assert "%" in row
        assert any(unit in row for unit in ("atoms", "support vectors", "nodes"))


def test_the_output_says_what_one_sees(output: str) -> None:
    for words in ("labels are wrong", "lowest test error", "sums of", "support vectors", "k0 = 4"):
        assert words in " ".join(output.split())


def test_the_output_names_the_pictures_and_nothing_else_is_written(
    output: str, folder: Path
) -> None:
    named = {Path(line.removeprefix("Wrote ")) for line in output.splitlines() if "Wrote" in line}
    assert named == set(folder.iterdir()) == {folder / "boundaries.png", folder / "paths.png"}


def test_the_pictures_are_complete_png_files(output: str, folder: Path) -> None:
    for path in folder.iterdir():
        content = path.read_bytes()
        assert content.startswith(PNG)
        assert content.endswith(b"IEND\xaeB`\x82")


def test_a_failure_while_writing_leaves_the_old_picture_and_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(figure: Figure, file: Any, **options: Any) -> None:
        file.write(PNG)
        raise OSError("no space left")

    monkeypatch.setattr(Figure, "savefig", fail)
    old = tmp_path / "old.png"
    old.write_bytes(b"old")
    for path in (old, tmp_path / "new.png"):
        with pytest.raises(OSError, match="no space left"):
            save(Figure(), path)
    assert [path.name for path in tmp_path.iterdir()] == ["old.png"]
    assert old.read_bytes() == b"old"


def test_too_few_points_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--out", str(tmp_path / "unused"), "--n-samples", "10"]) == 3
    assert "at least 50" in capsys.readouterr().err
    with pytest.raises(ValueError, match="at least 50, got 10"):
        main(tmp_path / "unused", n_samples=10)
    assert not (tmp_path / "unused").exists()


def test_without_matplotlib_nothing_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(story, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="The demo needs matplotlib: python -m pip install"):
        main(tmp_path / "unused")
    assert capsys.readouterr().out == ""
    assert not (tmp_path / "unused").exists()


def test_the_demo_is_a_module_that_can_be_run() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "paper", "demo", "--help"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "--n-samples" in done.stdout
