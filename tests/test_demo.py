"""The demo, with everything smaller."""

import contextlib
import importlib.util
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from matplotlib.figure import Figure

SCRIPT = Path(__file__).parents[1] / "examples" / "demo.py"
PNG = b"\x89PNG\r\n\x1a\n"
METHODS = [
    "FCGBoost gauss",
    "FCGBoost polynomial",
    "FCGBoost sigmoid",
    "FCGBoost relu",
    "SVC",
    "random forest",
    "AdaBoost",
]

# The module's fixture runs the demo once: its tests belong on one worker.
pytestmark = pytest.mark.xdist_group("demo")


def load_demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def demo() -> Iterator[ModuleType]:
    """Give the demo with one setting per competitor and few draws."""
    module = load_demo()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "N_TEST", 200)
        patch.setattr(module, "N_MORE_DRAWS", 2)
        few = [
            competitor._replace(grid={key: values[:1] for key, values in competitor.grid.items()})
            for competitor in module.COMPETITORS
        ]
        patch.setattr(module, "COMPETITORS", few)
        yield module


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pictures") / "new" / "folder"


@pytest.fixture(scope="module")
def output(demo: ModuleType, folder: Path) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        demo.main(["--out", str(folder), "--n-samples", "60", "--seed", "3"])
    return text.getvalue()


def test_the_table_has_a_line_for_every_method(output: str) -> None:
    lines = output.splitlines()
    for name in METHODS:
        (row,) = [line for line in lines if line.startswith(f"{name} ") and line.endswith(" s")]
        assert "%" in row
        assert any(unit in row for unit in ("atoms", "support vectors", "leaves"))


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
    demo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(figure: Figure, path: Path, **options: Any) -> None:
        Path(path).write_bytes(PNG)
        raise OSError("no space left")

    monkeypatch.setattr(Figure, "savefig", fail)
    old = tmp_path / "old.png"
    old.write_bytes(b"old")
    for path in (old, tmp_path / "new.png"):
        with pytest.raises(OSError, match="no space left"):
            demo.save(Figure(), path)
    assert [path.name for path in tmp_path.iterdir()] == ["old.png"]
    assert old.read_bytes() == b"old"


def test_too_few_points_are_refused(
    demo: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        demo.main(["--out", str(tmp_path / "unused"), "--n-samples", "10"])
    assert "at least 50" in capsys.readouterr().err
    assert not (tmp_path / "unused").exists()


def test_importing_the_demo_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    load_demo()
    assert capsys.readouterr().out == ""
    assert "demo" not in sys.modules
