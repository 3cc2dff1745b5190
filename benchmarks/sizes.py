"""How large the wheel is: its files, lines and tokens, by kind and by room: `make sizes`.

The wheel is built as it would be shipped, so generated and minified files count like all others.
C is not in the wheel, which holds the library that is made of it, and stands beside it.
"""

import io
import re
import tempfile
import tokenize
import zipfile
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
    ".c": "C, not in the wheel",
    ".h": "C, not in the wheel",
}
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
# What surrounds fits and predictions.
SURROUNDINGS = {
    *("inspection", "importances", "scores", "comparison"),
    *("tables", "documents", "io", "export", "plotting", "colors", "web", "cli", "datasets"),
}


def build_wheel(folder: str) -> Path:
    """Build the wheel into a folder and return its path."""
    # Not at the top: `python -m benchmarks` runs where hatchling is not installed.
    from hatchling.builders.wheel import WheelBuilder

    return Path(next(WheelBuilder(str(ROOT)).build(directory=folder, versions=["standard"])))


def package_texts(wheel: Path) -> dict[PurePosixPath, str]:
    """Return the text of every file of the package, by its path below the package.

    The compiled library has none.
    """
    with zipfile.ZipFile(wheel) as archive:
        paths = {name: PurePosixPath(name) for name in archive.namelist()}
        return {
            path.relative_to("fcgboost"): ""
            if path.suffix == ".so"
            else archive.read(name).decode()
            for name, path in paths.items()
            if path.parts[0] == "fcgboost"
        }


def count_tokens(path: PurePosixPath, text: str) -> int:
    """Return the number of words and signs of a text; Python's without comments and layout."""
    if path.suffix != ".py":
        return len(re.findall(r"\w+|[^\w\s]", text))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type not in LAYOUT and bool(token.string.strip()) for token in tokens)


def kind_of(path: PurePosixPath) -> str:
    """Return the kind of a file, by the end of its name."""
    return KINDS.get(path.suffix, "other")


def room_of(path: PurePosixPath) -> str:
    """Return the folder of the package in which a file lies."""
    return f"{path.parts[0]}/" if len(path.parts) > 1 else "modules at the top"


def is_core(path: PurePosixPath) -> bool:
    """Whether a file belongs to the core: all Python but what surrounds fits and predictions."""
    return path.suffix == ".py" and not {path.parts[0], path.stem} & SURROUNDINGS


def table(title: str, groups: list[str], texts: dict[PurePosixPath, str]) -> list[str]:
    """Return the lines, tokens and files of every group, the largest first."""
    sizes: dict[str, list[int]] = {}
    for group, (path, text) in zip(groups, texts.items(), strict=True):
        mine = sizes.setdefault(group, [0, 0, 0])
        own = (len(text.splitlines()), count_tokens(path, text), 1)
        mine[:] = (total + n for total, n in zip(mine, own, strict=True))
    rows = sorted(sizes.items(), key=lambda item: -item[1][0])
    return [
        "",
        f"{title:<20}{'lines':>10}{'tokens':>10}{'files':>8}",
        *(f"{group:<20}{n:>10,}{words:>10,}{files:>8,}" for group, (n, words, files) in rows),
    ]


def report(wheel: Path) -> str:
    """Return the figures of a wheel as text."""
    with zipfile.ZipFile(wheel) as archive:
        n_files = len(archive.namelist())
    texts = package_texts(wheel)
    n_lines = sum(len(text.splitlines()) for text in texts.values())
    head = [
        f"{n_lines:,} lines in the wheel, {n_files:,} files",
        f"({len(texts):,} of the package; {n_files - len(texts)} about it, not counted in lines)",
    ]
    kernels = sorted((ROOT / "src" / "fcgboost" / "_kernels").glob("*.[ch]"))
    all_texts = texts | {PurePosixPath(path.name): path.read_text() for path in kernels}
    core = {path: text for path, text in texts.items() if is_core(path)}
    by_kind = table("kind", [kind_of(path) for path in all_texts], all_texts)
    by_room = table("room", [room_of(path) for path in texts], texts)
    of_core = table("core", ["Python of the core"] * len(core), core)
    return "\n".join(head + by_kind + of_core + by_room)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(report(build_wheel(folder)))
