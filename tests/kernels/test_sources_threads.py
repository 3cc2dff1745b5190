"""Every part of shared work is done once, and no two threads race."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kernels.test_sources import SOURCES


@pytest.mark.slow
@pytest.mark.extras
@pytest.mark.parametrize("is_sanitized", [False, True])
def test_threads_do_every_part_once(tmp_path: Path, is_sanitized: bool) -> None:
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("there is no gcc")
    program = tmp_path / "pool"
    command = [gcc, "-std=gnu99", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{SOURCES}"]
    command += ["-fsanitize=thread"] if is_sanitized else []
    sources = [Path(__file__).with_name("pool.c"), SOURCES / "pool.c"]
    built = subprocess.run(
        [*command, *map(str, sources), "-lpthread", "-o", str(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    if is_sanitized and built.returncode and "tsan" in built.stderr:
        pytest.skip("gcc has no thread sanitizer")
    assert built.returncode == 0, built.stderr
    # A sanitizer of threads does not follow forks.
    arguments = [] if is_sanitized else ["forks"]
    done = subprocess.run(
        [str(program), *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
