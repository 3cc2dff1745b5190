"""C compilers, and programs compiled by them."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMPILER = shutil.which("cc") or shutil.which("gcc")


needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")


WARNINGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]


def compile_c(folder: Path, text: str, *options: str) -> Path:
    """Compile a text; fail with what the compiler says."""
    source, result = folder / "model.c", folder / "model.out"
    source.write_text(text, encoding="ascii")
    command = [COMPILER, *WARNINGS, *options, str(source), "-o", str(result), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return result


def load_builder():
    """Load hatch_build.py, which is no module of the package."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
