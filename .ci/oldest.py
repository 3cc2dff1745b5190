"""Print the requirements of the oldest supported environment, or what is tested in it.

For `make test-oldest`. The lower bounds stand once, in pyproject.toml: what the package and its
extras depend on is held exactly there; of the test tools only polars is, whose frames the old
scikit-learn must know. Torch is left out, which is large and whose old versions are not for every
machine, and marimo, whose app is tested with new versions: their lower bounds are not tested.
"""

import re
import sys
import tomllib
from pathlib import Path

UNTESTED = {"marimo", "torch"}
OLD_TOOLS = {"polars"}
NEW_TOOLS = {"cloudpickle", "hypothesis", "jsonschema", "onnxruntime", "pytest", "pytest-xdist"}

TESTS = (
    "tests/cli",
    "tests/export/test_onnx.py",
    "tests/kernels/test_init.py",
    "tests/tables/test_columns.py",
    "tests/test_comparison.py",
    "tests/test_estimators.py",
    "tests/test_io.py",
    "tests/test_dask.py::test_data_frames_weights_classes_and_validation_data",
    "tests/test_dask.py::test_learned_atoms_are_those_of_memory",
    # onnx's own interpreter cannot gather in 1.17; onnxruntime can.
    "--deselect=tests/export/test_onnx.py::test_another_interpreter_agrees",
    # Old libraries warn of what newer ones changed since: that is not ours to mend.
    "-Wdefault",
)


def name_of(requirement: str) -> str:
    """Return the name of what is required."""
    return re.split(r"[^\w.-]", requirement)[0]


def at_its_bound(requirement: str) -> str:
    """Return "name==version" for "name>=version"."""
    if re.fullmatch(r"[\w.-]+(\[[\w,]+\])?>=[\w.]+", requirement) is None:
        raise SystemExit(f"pyproject.toml: {requirement!r} is not of the form name>=version")
    return requirement.replace(">=", "==")


def requirements(pyproject: dict) -> list[str]:
    """Return the requirements of the oldest supported environment."""
    project, groups = pyproject["project"], pyproject["dependency-groups"]
    extras = project["optional-dependencies"].values()
    own = [*project["dependencies"], *(one for extra in extras for one in extra)]
    tools = [one for one in groups["test"] + groups["test-all"] if isinstance(one, str)]
    held = [one for one in own if name_of(one) not in {project["name"], *UNTESTED}]
    held += [one for one in tools if name_of(one) in OLD_TOOLS]
    return [at_its_bound(one) for one in dict.fromkeys(held)] + [
        one for one in tools if name_of(one) in NEW_TOOLS
    ]


if __name__ == "__main__":
    if sys.argv[1:] == ["tests"]:
        print(*TESTS, sep="\n")
    else:
        text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
        print(*requirements(tomllib.loads(text)))
