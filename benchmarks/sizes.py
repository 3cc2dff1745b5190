"""How large the wheel is: its files and lines, by kind and by room. `make sizes` prints them.

The wheel is built as it would be shipped, so generated and minified files count like all others.
"""

import tempfile
import zipfile
from collections import Counter
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
KINDS = {
    ".py": "Python",
    ".js": "JavaScript",
    ".css": "CSS",
    ".html": "HTML",
    ".jinja": "HTML",
    ".json": "JSON and data",
    ".so": "compiled",
}


def build_wheel(folder: str) -> Path:
    """Build the wheel into a folder and return its path."""
    # Not at the top: `python -m benchmarks` runs where hatchling is not installed.
    from hatchling.builders.wheel import WheelBuilder

    return Path(next(WheelBuilder(str(ROOT)).build(directory=folder, versions=["standard"])))


def package_lines(wheel: Path) -> dict[PurePosixPath, int]:
    """Return the number of lines of every file of the package, by its path below the package.

    The compiled library has none.
    """
    with zipfile.ZipFile(wheel) as archive:
        paths = {name: PurePosixPath(name) for name in archive.namelist()}
        return {
            path.relative_to("fcgboost"): 0
            if path.suffix == ".so"
            else len(archive.read(name).splitlines())
            for name, path in paths.items()
            if path.parts[0] == "fcgboost"
        }


def kind_of(path: PurePosixPath) -> str:
    """Return the kind of a file, by the end of its name."""
    return KINDS.get(path.suffix, "other")


def room_of(path: PurePosixPath) -> str:
    """Return the folder of the package in which a file lies."""
    return f"{path.parts[0]}/" if len(path.parts) > 1 else "modules at the top"


def table(title: str, groups: list[str], lines: list[int]) -> list[str]:
    """Return the lines and files of every group, the largest first."""
    n_files = Counter(groups)
    n_lines: Counter[str] = Counter()
    for group, n in zip(groups, lines, strict=True):
        n_lines[group] += n
    rows = [f"{group:<20}{n:>8,}{n_files[group]:>8,}" for group, n in n_lines.most_common()]
    return ["", f"{title:<20}{'lines':>8}{'files':>8}", *rows]


def report(wheel: Path) -> str:
    """Return the figures of a wheel as text."""
    with zipfile.ZipFile(wheel) as archive:
        n_files = len(archive.namelist())
    counted = package_lines(wheel)
    paths, lines = list(counted), list(counted.values())
    head = [
        f"{sum(lines):,} lines in the wheel, {n_files:,} files",
        f"({len(paths):,} of the package; {n_files - len(paths)} about it, not counted in lines)",
    ]
    by_kind = table("kind", [kind_of(path) for path in paths], lines)
    by_room = table("room", [room_of(path) for path in paths], lines)
    return "\n".join(head + by_kind + by_room)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(report(build_wheel(folder)))
