"""Every example and every benchmark runs as a script, without a warning."""

import json
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


def test_the_benchmark_of_the_path_prints_ratios_and_writes_them_only_if_asked(
    tmp_path: Path,
) -> None:
    script = ROOT / "benchmarks" / "bench_path.py"
    small = ["--n-samples", "60", "--runs", "1"]
    assert "ratio" in run(script, tmp_path, *small)
    assert not list(tmp_path.iterdir())
    run(script, tmp_path, *small, "--json", "times.json")
    written = json.loads((tmp_path / "times.json").read_text("utf-8"))
    ours = written["m=60"]["default path"]
    assert 0.0 < ours["correction"] < ours["seconds"]
    assert set(written["m=60"]) == {"default path", "path with ADMM", "SVC(C=1)", "AdaBoost(100)"}
    environment = written["environment"]
    assert {environment[name] for name in environment if name.endswith("threads")} == {1}
