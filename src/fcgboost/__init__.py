"""fcgboost: noise-robust, calibrated classifiers by fully corrective greedy boosting.

Names are loaded on first use: loading all of them takes a second. They are listed once, as the
imports of the stub `__init__.pyi`, which type checkers and editors read.
"""

import ast
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pkgutil import get_data
from typing import Any


def _read_stub() -> dict[str, str]:
    """Return the module of each public name."""
    stub = get_data("fcgboost", "__init__.pyi")
    assert stub is not None
    imports = [node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


_HOMES = _read_stub()
_MODULES = {home.split(".")[1] for home in _HOMES.values() if "." in home}

try:
    __version__ = version("fcgboost")
except PackageNotFoundError:  # run from source, not installed
    __version__ = "unknown"

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Load a public name or module on first use."""
    if name in _MODULES or _HOMES.get(name) == "fcgboost":
        return import_module(f"fcgboost.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'fcgboost' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return [*__all__, "__version__"]
