"""Which tests mirror a module.

`python -m tests.suites.mirrors src/fcgboost/greedy/loop.py` prints the tests of that module, for
`make check`.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "fcgboost"
#: What an experienced reader runs besides: the paths that fits took before.
GOLDEN = ROOT / "tests" / "contracts" / "test_golden.py"
#: The rooms whose results those paths are.
ENGINE = ("_kernels", "designs", "dictionaries", "greedy", "selection", "solvers", "training")


def mirror_of(module: Path) -> Path:
    """Return the file that has the tests of a module; underscores around names are left out."""
    relative = module.resolve().relative_to(PACKAGE)
    folders = [folder.strip("_") for folder in relative.parent.parts]
    return ROOT.joinpath("tests", *folders, f"test_{relative.stem.strip('_')}.py")


def tests_of(module: Path) -> list[Path]:
    """Return the mirror of a module and the files that go on where it ends."""
    mirror = mirror_of(module)
    found = [*mirror.parent.glob(mirror.name), *mirror.parent.glob(f"{mirror.stem}_*.py")]
    # The tests of `c_text` are not those of `c`.
    others = {mirror_of(path) for path in module.resolve().parent.glob("*.py")} - {mirror}
    found = sorted(set(found) - others)
    if module.resolve().relative_to(PACKAGE).parts[0] in ENGINE:
        found.append(GOLDEN)
    return found


if __name__ == "__main__":
    for path in tests_of(Path(sys.argv[1])):
        print(path.relative_to(ROOT))
