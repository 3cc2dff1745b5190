"""Names load on first use, and a command loads what it needs."""

import subprocess
import sys

HEAVY = ("numpy", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib", "torch", "dask")
SHOW = f"import sys; print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
COMMANDS = ("fit", "predict", "evaluate", "inspect", "report", "export", "compare", "playground")


def loaded(program: str) -> str:
    """Run a program in a new process; give the list of heavy packages it has loaded."""
    command = [sys.executable, "-c", f"{program}\n{SHOW}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stderr.splitlines()[-1]


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded("import fcgboost; dir(fcgboost); fcgboost.__version__") == "[]"


def test_versions_and_help_load_nothing_heavy() -> None:
    arguments = [["--version"], ["--help"], ["datasets", "--help"]]
    arguments += [[name, "--help"] for name in COMMANDS]
    program = f"""
from fcgboost.cli import main
for words in {arguments}:
    try:
        main(words)
    except SystemExit as ending:
        assert ending.code == 0, words
    else:
        raise AssertionError(words)
"""
    assert loaded(program) == "[]"


def test_a_program_that_uses_a_name_loads_what_it_needs() -> None:
    assert "numpy" in loaded("import fcgboost; fcgboost.theory_steps(1000)")
