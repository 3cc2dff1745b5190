"""Print the requirements of the oldest supported environment, for `make test-oldest`.

The lower bounds stand once, in pyproject.toml. What the package depends on, and pandas, whose
frames the estimators accept, is held at its bound; the test tools are as new as they come.
"""

import re
import tomllib
from pathlib import Path

TOOLS = ("hypothesis", "pytest", "pytest-xdist")
AT_THE_BOUND = ("pandas",)


def split_bound(requirement: str) -> tuple[str, str]:
    """Return the name and the version of a requirement written "name>=version"."""
    found = re.fullmatch(r"([\w.-]+)\s*>=\s*([\w.]+)", requirement)
    if found is None:
        raise SystemExit(f"pyproject.toml: {requirement!r} is not of the form name>=version")
    return found[1], found[2]


def oldest(pyproject: dict) -> list[str]:
    """Return the requirements of the oldest supported environment."""
    project = pyproject["project"]
    given = project["optional-dependencies"]["tables"] + pyproject["dependency-groups"]["test"]
    test = dict(split_bound(requirement) for requirement in given)
    bounds = dict(split_bound(requirement) for requirement in project["dependencies"])
    bounds |= {name: test[name] for name in AT_THE_BOUND}
    pinned = [f"{name}=={version}" for name, version in bounds.items()]
    return pinned + [f"{name}>={test[name]}" for name in TOOLS]


if __name__ == "__main__":
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    print(*oldest(tomllib.loads(text)))
