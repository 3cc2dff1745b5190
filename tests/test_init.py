"""The names of the package are there, load on first use, and are seen by tools."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import fcgboost


def test_every_name_is_there() -> None:
    for name in fcgboost.__all__:
        value = getattr(fcgboost, name)
        assert getattr(value, "__name__", name).rpartition(".")[2] == name
    assert fcgboost.datasets is import_module("fcgboost.datasets")
    assert fcgboost.FCGBoostClassifier is import_module("fcgboost.estimators").FCGBoostClassifier


def test_only_public_names_are_shown() -> None:
    assert dir(fcgboost) == sorted([*fcgboost.__all__, "__version__"])


def test_a_star_imports_all_names() -> None:
    names: dict[str, object] = {}
    exec("from fcgboost import *", names)
    assert set(fcgboost.__all__) <= set(names)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        fcgboost.nonsense  # noqa: B018
    with pytest.raises(ImportError, match="nonsense"):
        exec("from fcgboost import nonsense")


def test_tools_that_read_the_code_see_every_name() -> None:
    stub = Path(fcgboost.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    imports = [node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)]
    aliases = [alias for node in imports for alias in node.names]
    # Which is what makes a name public to mypy.
    assert all(alias.asname == alias.name for alias in aliases)
    assert sorted(alias.name for alias in aliases) == fcgboost.__all__
