"""Every example of the gallery runs without a warning; what it asserts holds."""

import ast
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(ROOT.glob("examples/plot_*.py"))
NAMES = [path.stem for path in EXAMPLES]
#: Examples that take a moment, and parts of the user's own.
SHORT = ("plot_custom_scheme", "plot_custom_stopping_rule")


def test_the_gallery_has_at_least_twelve_examples() -> None:
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize(
    "script",
    [
        path if path.stem in SHORT else pytest.param(path, marks=pytest.mark.slow)
        for path in EXAMPLES
    ],
    ids=NAMES,
)
def test_an_example_runs_draws_and_prints(
    script: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plt = pytest.importorskip("matplotlib.pyplot", reason="pictures need matplotlib")
    monkeypatch.chdir(tmp_path)
    # Where there is a display, showing figures that are drawn in memory is a warning.
    monkeypatch.delenv("DISPLAY", raising=False)
    plt.close("all")
    runpy.run_path(str(script), run_name="__main__")
    figures = [plt.figure(number) for number in plt.get_fignums()]
    for figure in figures:
        figure.canvas.draw()
    plt.close("all")
    assert figures
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("script", EXAMPLES, ids=NAMES)
def test_an_example_has_a_title_a_lesson_and_asserts_it(script: Path) -> None:
    tree = ast.parse(script.read_text(encoding="utf-8"))
    title, line, *_, lesson = (ast.get_docstring(tree) or "").splitlines()
    assert set(line) == {"="}
    assert len(line) == len(title)
    assert lesson
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree))
