"""The demo, with everything smaller."""

import contextlib
import io
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer

from paper.__main__ import main as run
from paper.demo import main, methods, story, tasks
from paper.demo.pictures import lowest_log_loss, save
from paper.rivals import RIVALS

PNG = b"\x89PNG\r\n\x1a\n"
# The module's fixture runs the demo once: its tests belong on one worker.
pytestmark = pytest.mark.xdist_group("demo")


@pytest.fixture(scope="module")
def small() -> Iterator[None]:
    """Let the demo have one setting per competitor and few test rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "N_TEST", 200)
        few = {
            name: replace(RIVALS[name], folds={k: v[:1] for k, v in RIVALS[name].folds.items()})
            for name in methods.COMPETITORS.values()
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
        main(folder, n_samples=60, n_draws=2, seed=3, n_jobs=1)
    return text.getvalue()


def test_every_task_has_a_line_for_every_method(output: str) -> None:
    for name in methods.METHODS:
        rows = [line for line in output.splitlines() if line.startswith(f"  {name} ")]
        assert len(rows) == 3
        assert all("±" in row for row in rows)


def test_the_output_says_what_one_sees(output: str) -> None:
    assert output.count("lowest mean error") == 3
    for words in ("30 % of the training labels flipped", "standard error", "k0 = 4"):
        assert words in " ".join(output.split())


def test_the_output_names_what_is_written_and_nothing_else_is_there(
    output: str, folder: Path
) -> None:
    lines = [line for line in output.splitlines() if line.startswith("Wrote ")]
    named = {Path(line.removeprefix("Wrote ").partition(": ")[0]) for line in lines}
    expected = {folder / name for name in ("overview.png", "paths.png", "report.html")}
    assert named == set(folder.iterdir()) == expected


def test_the_pictures_are_complete_png_files(output: str, folder: Path) -> None:
    for path in folder.glob("*.png"):
        content = path.read_bytes()
        assert content.startswith(PNG)
        assert content.endswith(b"IEND\xaeB`\x82")


@pytest.mark.parametrize("noise", [0.0, 0.2, 1.0])
def test_as_many_labels_are_flipped_as_are_said_to_be(noise: float) -> None:
    y = np.ones(20_000)
    assert np.mean(tasks.flip(y, noise, 0) < 0.0) == pytest.approx(noise, abs=0.01)


def test_no_test_row_is_a_training_row_and_true_labels_are_kept() -> None:
    clean, noisy = tasks.draw_cancer(0, 0.0), tasks.draw_cancer(0, 0.2)
    np.testing.assert_array_equal(clean.y_test, noisy.y_test)
    assert not {*map(tuple, clean.X)} & {*map(tuple, clean.X_test)}
    assert np.mean(clean.y != noisy.y) == pytest.approx(0.2, abs=0.06)
    np.testing.assert_array_equal(clean.y_same, clean.y_test)


def test_the_lowest_log_loss_is_that_of_the_true_probabilities() -> None:
    assert lowest_log_loss(0.5) == pytest.approx(np.log(2.0))
    assert lowest_log_loss(0.3) == pytest.approx(0.6109, abs=1e-4)


def test_numbers_are_counted_as_documented() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    stumps = RIVALS["adaboost"].classifier(n_estimators=5).fit(X, y)
    assert methods.count_numbers("AdaBoost", stumps) == 5 * (2 + 2)
    machine = RIVALS["svm_rbf"].classifier().fit(X, y)
    assert methods.count_numbers("SVC", machine) == len(machine.support_) * (X.shape[1] + 1) + 1


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


def test_one_draw_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 2, got 1"):
        main(tmp_path / "unused", n_draws=1)


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
