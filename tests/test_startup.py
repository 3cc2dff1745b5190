"""Names load on first use, and a command loads what it needs."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import fcgboost

HEAVY = ("numpy", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib", "rich", "torch", "numba")
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


def test_every_name_is_there() -> None:
    for name in fcgboost.__all__:
        value = getattr(fcgboost, name)
        assert getattr(value, "__name__", name).rpartition(".")[2] == name
    assert set(fcgboost.__all__) < set(dir(fcgboost))
    assert fcgboost.datasets is import_module("fcgboost.datasets")
    assert fcgboost.FCGBoostClassifier is import_module("fcgboost.estimators").FCGBoostClassifier


def test_a_star_imports_all_names() -> None:
    names: dict[str, object] = {}
    exec("from fcgboost import *", names)
    assert set(fcgboost.__all__) <= set(names)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        fcgboost.nonsense  # noqa: B018
    with pytest.raises(ImportError, match="nonsense"):
        exec("from fcgboost import nonsense")


def test_tools_that_read_the_code_see_the_same_names() -> None:
    tree = ast.parse(Path(fcgboost.__file__).read_text(encoding="utf-8"))
    (block,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    found = set()
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name  # which is what makes a name public to mypy
            found.add((str(node.module).removeprefix("fcgboost").lstrip("."), alias.name))
    homes = {(home, name) for home, names in fcgboost._NAMES.items() for name in names.split()}
    assert found == homes | {("", "datasets")}
