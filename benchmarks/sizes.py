"""How large and how dense the code is, by folder: `make sizes`.

    python -m benchmarks.sizes           # print the figures
    python -m benchmarks.sizes --check   # fail where a folder is denser than density.toml allows,
                                         # or has more tokens than it had, and a few per cent
    python -m benchmarks.sizes --update  # write today's figures there, where they are lower

Lines can be joined, so tokens are what counts: those of Python's tokenizer, without comments,
layout and docstrings; a string of more than 200 characters counts by its words. An f-string is one
token, also where Python's tokenizer divides it (from 3.12 on). A code line is a line with a token.
A tuple assignment gives several names several values in one statement.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "fcgboost"
LIMITS = Path(__file__).with_name("density.toml")
LONG_STRING = 200
LAYOUT = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}
#: What a fit on one machine and its extension points are made of: folders, and modules at the top.
CORE = (
    "training",
    "greedy",
    "selection",
    "solvers",
    "designs",
    "dictionaries",
    "_kernels",
    "__init__.py",
    "arrays.py",
    "calibration.py",
    "checks.py",
    "clipping.py",
    "estimators.py",
    "hashing.py",
    "losses.py",
    "members.py",
    "model.py",
    "names.py",
    "parts.py",
    "prediction.py",
    "stopping.py",
    "threads.py",
)
#: Of the folders of the core, what only backends or explanations use.
NOT_CORE = {Path("_kernels/rounds.py"), Path("_kernels/shapley.py")}
#: How much larger a folder may get before its limit has to be raised by hand, with a reason.
ROOM = 1.03
OTHER_KINDS = {".js": "JS", ".css": "CSS", ".html": "HTML", ".jinja": "HTML", ".c": "C", ".h": "C"}


@dataclass
class Size:
    """Counts of some Python files, and the densities that follow from them."""

    files: int = 0
    tokens: int = 0
    lines: int = 0
    statements: int = 0
    tuple_assignments: int = 0
    anys: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(**{name: n + getattr(other, name) for name, n in vars(self).items()})

    @property
    def densities(self) -> dict[str, float]:
        """How dense the files are: every figure is better if it is lower."""
        return {
            "tokens_per_line": self.tokens / max(1, self.lines),
            "tokens_per_statement": self.tokens / max(1, self.statements),
            "tuple_assignments_per_100_lines": 100.0 * self.tuple_assignments / max(1, self.lines),
            "any_per_1000_tokens": 1000.0 * self.anys / max(1, self.tokens),
        }

    @property
    def figures(self) -> dict[str, float]:
        """What the ratchet holds."""
        return {"tokens": self.tokens, **self.densities}


@dataclass
class Docstrings(ast.NodeVisitor):
    """Collects the lines on which docstrings stand."""

    lines: set[int] = field(default_factory=set)

    def generic_visit(self, node: ast.AST) -> None:
        owners = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, owners) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            self.lines.update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
        super().generic_visit(node)


def is_tuple_assignment(node: ast.AST) -> bool:
    """Whether a statement gives several names several values."""
    several = ast.Tuple | ast.List
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, several)
        and any(isinstance(target, several) for target in node.targets)
    )


def tokens_of(text: str) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens of a Python text, every f-string as one, as Python 3.11 does."""
    lines = io.StringIO(text).readlines()
    starts: list[tuple[int, int]] = []  # of the f-strings that are open, the outermost first
    for token in tokenize.generate_tokens(iter(lines).__next__):
        part = tokenize.tok_name[token.type].partition("STRING_")[2]
        if part == "START":
            starts.append(token.start)
        if not starts:
            yield token
        elif part == "END":
            start = starts.pop()
            if not starts:
                yield whole_string(lines, start, token)


def whole_string(
    lines: list[str], start: tuple[int, int], last: tokenize.TokenInfo
) -> tokenize.TokenInfo:
    """Return the string between its start and its last token."""
    pieces = lines[start[0] - 1 : last.end[0]]
    pieces[-1] = pieces[-1][: last.end[1]]
    pieces[0] = pieces[0][start[1] :]
    return last._replace(type=tokenize.STRING, string="".join(pieces), start=start)


def weight_of(token: tokenize.TokenInfo) -> int:
    """Return 1, or the number of words of a long string."""
    if token.type == tokenize.STRING and len(token.string) > LONG_STRING:
        return len(re.findall(r"\w+", token.string))
    return 1


def size_of(text: str) -> Size:
    """Count what a Python text has."""
    tree = ast.parse(text)
    docstrings = Docstrings()
    docstrings.visit(tree)
    tokens = [
        token
        for token in tokens_of(text)
        if token.type not in LAYOUT and token.start[0] not in docstrings.lines
    ]
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    nodes = list(ast.walk(tree))
    return Size(
        files=1,
        tokens=sum(map(weight_of, tokens)),
        lines=len(lines),
        statements=sum(isinstance(node, ast.stmt) for node in nodes),
        tuple_assignments=sum(map(is_tuple_assignment, nodes)),
        anys=sum(token.string == "Any" for token in tokens),
    )


def sizes_by_file(package: Path) -> dict[Path, Size]:
    """Return the size of every Python file, by its path below the package."""
    return {
        path.relative_to(package): size_of(path.read_text(encoding="utf-8"))
        for path in sorted(package.rglob("*.py"))
    }


def folder_of(path: Path) -> str:
    """Return the folder of the package in which a file lies."""
    return path.parts[0] if len(path.parts) > 1 else "top"


def by_folder(sizes: dict[Path, Size]) -> dict[str, Size]:
    """Add up the files of each folder."""
    folders: dict[str, Size] = {}
    for path, size in sizes.items():
        folder = folder_of(path)
        folders[folder] = folders.get(folder, Size()) + size
    return folders


def core_of(sizes: dict[Path, Size]) -> Size:
    """Add up the files of the core."""
    missing = set(CORE) - {path.parts[0] for path in sizes}
    if missing:
        raise SystemExit(f"benchmarks/sizes.py: CORE names what is not there: {sorted(missing)}")
    parts = (path for path in sizes if path.parts[0] in CORE and path not in NOT_CORE)
    return sum((sizes[path] for path in parts), Size())


def ratcheted_parts(sizes: dict[Path, Size]) -> dict[str, Size]:
    """Return what has limits: every folder, the core and the whole."""
    whole = sum(sizes.values(), Size())
    return {**by_folder(sizes), "core": core_of(sizes), "all": whole}


def other_lines(package: Path) -> Counter[str]:
    """Count the lines of files that are not Python, by kind."""
    counts: Counter[str] = Counter()
    for path in package.rglob("*"):
        if path.suffix in OTHER_KINDS:
            counts[OTHER_KINDS[path.suffix]] += len(path.read_text("utf-8").splitlines())
    return counts


def row(name: str, size: Size) -> str:
    """Return the line of the table about some files."""
    counts = f"{name:<14}{size.files:>6}{size.tokens:>9,}{size.lines:>9,}"
    return counts + "".join(f"{value:>11.1f}" for value in size.densities.values())


def report(package: Path = PACKAGE) -> str:
    """Return the figures as text."""
    sizes = sizes_by_file(package)
    folders = by_folder(sizes)
    heads = ("tok/line", "tok/stmt", "tuples/100", "Any/1000")
    title = f"{'folder':<14}{'files':>6}{'tokens':>9}{'lines':>9}"
    largest_first = sorted(folders.items(), key=lambda item: -item[1].tokens)
    return "\n".join(
        [
            title + "".join(f"{head:>11}" for head in heads),
            *(row(name, size) for name, size in largest_first),
            row("core", core_of(sizes)),
            row("all", sum(folders.values(), Size())),
            "",
            *(f"{kind:<14}{n:>15,} lines" for kind, n in sorted(other_lines(package).items())),
        ]
    )


def read_limits() -> dict[str, dict[str, float]]:
    """Return the figures that each folder may have."""
    return tomllib.loads(LIMITS.read_text(encoding="utf-8"))


def breaches(folders: dict[str, Size], limits: dict[str, dict[str, float]]) -> list[str]:
    """Return what is denser or larger than it may be; a new folder has the limits of `all`."""
    problems = []
    for name, size in folders.items():
        allowed = limits.get(name, limits["all"])
        for figure, value in size.figures.items():
            most = allowed[figure] * (ROOM if figure == "tokens" else 1.0)
            if round(value, 1) > most:
                problems.append(f"{name}: {figure} is {value:.1f}, at most {most:.1f} is allowed")
    return problems


def ratcheted(
    folders: dict[str, Size], limits: dict[str, dict[str, float]]
) -> dict[str, dict[str, float]]:
    """Return the limits after today's figures: they fall, and never rise."""
    return {
        name: {
            figure: min(round(value, 1), limits.get(name, {}).get(figure, value))
            for figure, value in size.figures.items()
        }
        for name, size in sorted(folders.items())
    }


def write_limits(limits: dict[str, dict[str, float]]) -> None:
    """Write the limits, a table per folder."""
    lines = [
        "# How large and how dense the Python of each folder may be: written by `python -m",
        "# benchmarks.sizes --update`, read by `make lint`. Raise no density, and tokens only with",
        "# a feature that is worth them.",
    ]
    for name, figures in limits.items():
        lines += ["", f"[{name}]"]
        lines += [f"{figure} = {value:.1f}" for figure, value in figures.items()]
    LIMITS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Print, check or update."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail where a folder has grown")
    parser.add_argument("--update", action="store_true", help="lower the limits to today's figures")
    arguments = parser.parse_args()
    folders = ratcheted_parts(sizes_by_file(PACKAGE))
    if arguments.check:
        sys.exit("\n".join(breaches(folders, read_limits())) or 0)
    if arguments.update:
        write_limits(ratcheted(folders, read_limits() if LIMITS.exists() else {}))
    print(report())


if __name__ == "__main__":
    main()
