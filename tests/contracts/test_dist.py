"""What is shipped: the package and its licence in the wheel, all of the project in the sdist.

The distributions are built here, without the network, or taken from the folder named by the
environment variable FCGBOOST_DIST (`make dist`).
"""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
METADATA = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
MEGABYTE = 1_000_000
_PROGRAM = """
import fcgboost
from fcgboost import _kernels
print(fcgboost.__version__)
print(fcgboost.__file__)
print(_kernels.library()._name)
"""

# One process builds, and runs all the tests that look at the result.
pytestmark = pytest.mark.xdist_group("dist")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if "FCGBOOST_DIST" in os.environ:
        return ROOT / os.environ["FCGBOOST_DIST"]
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    """The wheel of this machine; one for Windows may stand beside it."""
    found = dist.glob(f"fcgboost-{VERSION}-py3-none-*.whl")
    return min(found, key=lambda path: "win_" in path.name)


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {member.filename for member in archive.infolist() if not member.is_dir()}


@pytest.fixture(scope="module")
def sdist_names(dist: Path) -> set[str]:
    """Names of the files in the sdist, relative to its one top folder."""
    with tarfile.open(dist / f"fcgboost-{VERSION}.tar.gz") as archive:
        names = [PurePosixPath(member.name) for member in archive.getmembers() if member.isfile()]
    assert {name.parts[0] for name in names} == {f"fcgboost-{VERSION}"}
    return {str(PurePosixPath(*name.parts[1:])) for name in names}


def python_files(*folders: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
    }


def test_wheels_and_one_sdist_are_built(dist: Path, wheel: Path) -> None:
    other = f"fcgboost-{VERSION}-py3-none-win_amd64.whl"
    found = {path.name for path in dist.iterdir()}
    assert found - {other} == {wheel.name, f"fcgboost-{VERSION}.tar.gz"} - {other}


@pytest.mark.skipif(
    "FCGBOOST_DIST" not in os.environ or sys.platform != "linux",
    reason="`make dist` finds out which Linux a wheel is for",
)
def test_a_wheel_for_linux_says_for_which(wheel: Path) -> None:
    assert "-py3-none-manylinux_" in wheel.name


def test_a_wheel_for_windows_differs_by_its_library(dist: Path, wheel: Path) -> None:
    for other in dist.glob("*-win_amd64.whl"):
        names = names_in(other)
        libraries = {f"fcgboost/_kernels/{name}.dll" for name in ("kernels", "kernels_v3")}
        expected = {name for name in names_in(wheel) if not name.endswith((".so", ".dll"))}
        assert names == expected | libraries
        assert other.stat().st_size < MEGABYTE
        with zipfile.ZipFile(other) as archive:
            header = archive.read("fcgboost/_kernels/kernels.h")
            declared = re.findall(rb"\b(fcg_\w+)\(", header)
            for library in libraries:
                assert not {name for name in declared if name not in archive.read(library)}


def test_wheel_is_for_one_platform_and_every_python_and_small(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        header = archive.read(f"fcgboost-{VERSION}.dist-info/WHEEL").decode()
    assert "Root-Is-Purelib: false" in header
    assert "any" not in wheel.stem.split("-")
    assert wheel.stat().st_size < MEGABYTE


def test_wheel_holds_the_package_and_its_metadata_and_nothing_else(wheel: Path) -> None:
    info = f"fcgboost-{VERSION}.dist-info"
    modules = {name.removeprefix("src/") for name in python_files("src")}
    metadata = {f"{info}/{name}" for name in METADATA}
    # Pages and the compiled library: named by their kinds, so that nothing else slips in.
    kinds = ("py.typed", "*.pyi", "*.html", "*.jinja", "*.css", "*.js", "kernels.h")
    kinds += ("*.dll",) if os.name == "nt" else ("*.so",)
    found = (path for kind in kinds for path in (SOURCE / "fcgboost").rglob(kind))
    data = {path.relative_to(SOURCE).as_posix() for path in found}
    assert names_in(wheel) == modules | data | metadata


def test_wheel_can_be_imported_and_knows_its_version(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    version, *locations = done.stdout.splitlines()
    assert version == VERSION
    assert all(Path(location).is_relative_to(tmp_path) for location in locations)


def test_sdist_holds_source_tests_and_project_files(sdist_names: set[str]) -> None:
    project = {
        "src/fcgboost/_kernels/kernels.h",
        "hatch_build.py",
        "CHANGELOG.md",
        "LICENSE",
        "Makefile",
        "README.md",
        "pyproject.toml",
    }
    assert python_files("src", "tests", "paper") | project <= sdist_names


def test_sdist_holds_nothing_made_by_a_run(sdist_names: set[str]) -> None:
    made_at_the_top, made = {"build", "demo", "dist"}, {"__pycache__"}
    hidden = {".ci", ".github", ".gitignore"}
    unwanted = {
        name
        for name in sdist_names
        for part in PurePosixPath(name).parts
        if part in made
        or name.partition("/")[0] in made_at_the_top
        or part.endswith((".pyc", ".so", ".dll"))
        or (part.startswith(".") and part not in hidden)
    }
    assert not unwanted
