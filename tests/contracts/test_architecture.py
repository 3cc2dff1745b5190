"""What every module keeps to, read from its source text; who may import whom is in pyproject.toml.

Each rule walks all modules of the package and of the paper, and lists everything that breaks it.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.suites.mirrors import mirror_of

ROOT = Path(__file__).parents[2]

# Beside the standard library and the package itself, free in every room.
ALWAYS_THERE = {"fcgboost", "joblib", "msgspec", "numpy", "scipy", "sklearn", "threadpoolctl"}
# Imported inside the function that needs them, with an error naming the extra to install.
OPTIONAL = {
    *("cloudpickle", "cvxpy", "dask", "distributed", "matplotlib", "onnx"),
    *("jinja2", "openpyxl", "pandas", "PIL", "polars", "psutil", "pyarrow", "torch", "tqdm"),
    *("catboost", "lightgbm", "marimo", "triton", "xgboost", "xlrd"),
}
# Rooms whose whole text is in the language of such a dependency: they import it when they are
# imported, so they are themselves imported inside the function that needs them.
WRITTEN_IN_OPTIONAL = (
    "fcgboost.backends.dask",
    "fcgboost.backends.torch.triton_forest",
    "fcgboost.backends.torch.triton_scores",
    "fcgboost.backends.torch.triton_trees",
    "fcgboost.cli.inputs",
    "fcgboost.dask",
    "fcgboost.playground",
    "fcgboost.rows",
)
# Parts are parameter objects: they take `BaseEstimator` from scikit-learn and no more.
BASE_ESTIMATOR_ONLY = ("fcgboost.parts",)
MAY_PRINT = ("fcgboost.cli", "fcgboost.report", "paper")

#: A page or two. A file that grows beyond it has two subjects.
MAX_FILE_LINES = 600
#: Lines on which a statement begins: to break a long one over several lines costs nothing.
MAX_BODY_LINES = 40
#: The loop and the iteration of a solver are one thought each.
MAX_ITERATION_LINES = 60
#: So is what runs on a GPU as one kernel.
ITERATIONS = ("fcgboost.backends.torch.triton_trees", "fcgboost.greedy.loop", "fcgboost.solvers")
#: A module from this length on has a file of tests.
MIN_TESTED_LINES = 60

# Where packages come from is a matter of the machine. The brackets keep the patterns from
# matching themselves.
PACKAGE_HOSTS = re.compile(r"index[-]url|/simpl[e]/|pypi[.]org|https?://\S*(registry|mirror)")


class Module:
    """A source file, read and parsed once."""

    def __init__(self, path: Path, top: Path) -> None:
        self.path = path
        folder = path.relative_to(top).parent.parts
        self.package = ".".join(folder)
        self.name = self.package if path.stem == "__init__" else f"{self.package}.{path.stem}"
        self.text = path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    def is_in(self, rooms: tuple[str, ...]) -> bool:
        return any(self.name == room or self.name.startswith(f"{room}.") for room in rooms)

    def at(self, line: int, what: str = "") -> str:
        return f"{self.path.relative_to(ROOT)}:{line} {what}".rstrip()


class Import(NamedTuple):
    """One imported name: `from module import name`, or `import module` with no name."""

    module: str
    name: str | None
    line: int

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]

    def reaches(self, rooms: tuple[str, ...]) -> bool:
        whole = f"{self.module}.{self.name}."
        return any(whole.startswith(f"{room}.") for room in rooms)


MODULES = [
    *(Module(path, ROOT / "src") for path in sorted((ROOT / "src").rglob("*.py"))),
    *(
        Module(path, ROOT)
        for path in sorted((ROOT / "paper").rglob("*.py"))
        if "tests" not in path.parts
    ),
]


def absolute_module(node: ast.ImportFrom, module: Module) -> str:
    """Resolve the dots of a relative import against the file's place in the package."""
    if node.level == 0:
        return node.module or ""
    folder = module.package.split(".")
    base = folder[: len(folder) - node.level + 1]
    return ".".join((*base, node.module) if node.module else base)


def imports_in(module: Module, nodes: list[ast.AST] | Iterator[ast.AST]) -> Iterator[Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, None, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = absolute_module(node, module)
            yield from (Import(source, alias.name, node.lineno) for alias in node.names)


def walk_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run when the module is imported: no function bodies, no typing."""
    for child in ast.iter_child_nodes(node):
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        is_typing = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        if not (is_function or is_typing):
            yield child
            yield from walk_at_import(child)


def calls_of(module: Module, name: str) -> Iterator[ast.Call]:
    for node in module.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def commented_lines(module: Module) -> set[int]:
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    return {token.start[0] for token in tokens if token.type == tokenize.COMMENT}


def body_length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function's body on which a statement begins, its docstring left out."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    nodes = [node for statement in body for node in ast.walk(statement)]
    return len({node.lineno for node in nodes if isinstance(node, ast.stmt)})


def unknown_imports(module: Module) -> Iterator[str]:
    known = sys.stdlib_module_names | ALWAYS_THERE | OPTIONAL
    known |= {"paper"} if module.is_in(("paper",)) else set()
    for found in imports_in(module, module.nodes):
        if found.top not in known:
            yield module.at(found.line, found.module)


def more_than_base_estimator(module: Module) -> Iterator[str]:
    if module.is_in(BASE_ESTIMATOR_ONLY):
        for found in imports_in(module, module.nodes):
            is_base = (found.module, found.name) == ("sklearn.base", "BaseEstimator")
            if found.top == "sklearn" and not is_base:
                yield module.at(found.line, f"{found.module}.{found.name}")


def early_imports(module: Module) -> Iterator[str]:
    if not module.is_in(WRITTEN_IN_OPTIONAL):
        for found in imports_in(module, walk_at_import(module.tree)):
            if found.top in OPTIONAL or found.reaches(WRITTEN_IN_OPTIONAL):
                yield module.at(found.line, found.module)


def prints(module: Module) -> Iterator[str]:
    if not module.is_in(MAY_PRINT):
        yield from (module.at(call.lineno) for call in calls_of(module, "print"))


def bare_hasattrs(module: Module) -> Iterator[str]:
    calls = list(calls_of(module, "hasattr"))
    reasons = commented_lines(module) if calls else set()
    yield from (module.at(call.lineno) for call in calls if call.end_lineno not in reasons)


def long_files(module: Module) -> Iterator[str]:
    n_lines = len(module.text.splitlines())
    if n_lines > MAX_FILE_LINES:
        yield module.at(n_lines)


def long_functions(module: Module) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = body_length(node)
            if length > (MAX_ITERATION_LINES if module.is_in(ITERATIONS) else MAX_BODY_LINES):
                yield module.at(node.lineno, f"{node.name}: {length} lines")


def untested_modules(module: Module) -> Iterator[str]:
    if module.is_in(("fcgboost",)) and len(module.text.splitlines()) >= MIN_TESTED_LINES:
        mirror = mirror_of(module.path)
        if not mirror.exists():
            yield module.at(1, f"has no {mirror.relative_to(ROOT)}")


RULES = {
    "a dependency is known and promised": unknown_imports,
    "parts take BaseEstimator from scikit-learn, and no more": more_than_base_estimator,
    "optional dependencies are imported inside functions": early_imports,
    "only commands print": prints,
    "hasattr gives its reason on the same line": bare_hasattrs,
    "a file is short": long_files,
    "a function body fits one screen": long_functions,
    "a module has its tests where they are looked for": untested_modules,
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_module_keeps_the_rule(rule: Callable[[Module], Iterator[str]]) -> None:
    breaches = [breach for module in MODULES for breach in rule(module)]
    assert not breaches, "\n".join(breaches)


def test_every_file_of_tests_mirrors_a_module_or_is_about_none() -> None:
    mirrored = {mirror_of(module.path) for module in MODULES if module.is_in(("fcgboost",))}
    stems = {mirror.with_suffix("") for mirror in mirrored}
    strangers = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if path.parent.name != "contracts"
        if not any(is_about(path, stem) for stem in stems)
    ]
    assert not strangers, "\n".join(strangers)


def is_about(path: Path, mirror: Path) -> bool:
    """Whether a file of tests is a mirror, or goes on where it ends."""
    name = path.stem
    return path.parent == mirror.parent and (
        name == mirror.name or name.startswith(f"{mirror.name}_")
    )


def test_the_walk_meets_the_whole_package() -> None:
    names = {module.name for module in MODULES}
    assert {"fcgboost", "fcgboost.greedy.loop", "fcgboost.designs.base"} <= names


def test_no_file_names_a_package_host() -> None:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listing.returncode != 0:
        pytest.skip("not a git checkout, so there are no tracked files")
    paths = [ROOT / name for name in listing.stdout.decode().split("\0") if name]
    naming = [
        str(path.relative_to(ROOT))
        for path in paths
        if path.is_file() and PACKAGE_HOSTS.search(path.read_text("utf-8", errors="ignore"))
    ]
    assert not naming
