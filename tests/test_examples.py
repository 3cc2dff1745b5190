"""Every example runs as a script, without a warning."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# The demo takes a minute; tests/test_demo.py runs it with smaller sizes.
EXAMPLES = sorted(set(ROOT.glob("examples/*.py")) - {ROOT / "examples" / "demo.py"})


def run(script: Path, folder: Path, *arguments: str) -> str:
    """Run a script in an empty folder and give what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), *arguments],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("script", EXAMPLES, ids=[script.stem for script in EXAMPLES])
def test_an_example_runs_and_prints(script: Path, tmp_path: Path) -> None:
    assert run(script, tmp_path).strip()
