"""The map of the package, enforced on its source text.

A room is a module named by its path below `src/fcgboost`: `losses`, `solvers.newton`. The tables
say what each may import; when a room is added or moves, its line here changes with it.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = "fcgboost"

NOTHING: frozenset[str] = frozenset()
CORE = {
    "arrays",
    "losses",
    "hashing",
    "sums",
    "dictionaries",
    "stopping",
    "backends.*",
    "solvers",
    "solvers.*",
    "climbing",
    "learning",
    "selection",
    "learned",
    "schemes",
    "model",
    "outputs",
    "removal",
    "trace",
    "greedy",
    "progress",
    "callbacks",
    "checkpoints",
    "files",
    "threads",
    "validation",
    "data",
    "documents",
    "prediction",
    "known",
    "links",
    "parameters",
    "importances",
    "inputs",
    "grounds",
    "judging",
    "starting",
    "fitting",
    "choosing",
    "committee",
    "presets",
}

ABOVE_FITTING = {"choosing", "committee"}

SIMULATION = {
    *("__init__", "datasets", "dictionaries", "stopping"),
    *("experiments.base", "experiments.settings"),
}
REAL_DATA = {"experiments.protocol", "experiments.methods", "experiments.rivals"}
BEYOND = {"experiments.base", "experiments.protocol", "experiments.uci"}
CONTEST = {"experiments.contest.field", "experiments.contest.tuning"}

# Room -> the rooms it may import, from the bottom up. A key or a value may be a pattern; of
# several keys that match a room the first one counts. `__init__` is the package's own face.
ROOMS: dict[str, set[str] | frozenset[str]] = {
    "parts": NOTHING,
    "files": NOTHING,
    "threads": NOTHING,
    "compiling": NOTHING,
    "tables.cells": NOTHING,
    "tables.names": NOTHING,
    "tables.columns": {"tables.cells"},
    "tables.learning": {"tables.cells", "tables.columns"},
    "tables.encoder": {"tables.columns", "tables.learning", "tables.names"},
    "tables": {"tables.*"},
    "readers.*": {"files", "readers.*", "tables.cells", "tables.names", "tables"},
    "readers": {"readers.*"},
    "arrays": NOTHING,
    "losses": {"arrays", "parts"},
    "links": {"arrays"},
    "hashing": NOTHING,
    "sums": NOTHING,
    "dictionaries.base": {"arrays", "parts"},
    "dictionaries.planes": {"arrays", "dictionaries.base", "parts"},
    "dictionaries.kernels": {"arrays", "dictionaries.base", "dictionaries.planes", "parts"},
    "dictionaries.elliptic": {
        *("arrays", "dictionaries.base", "dictionaries.kernels", "dictionaries.planes"),
    },
    "dictionaries.trees.*": {
        *("arrays", "compiling", "dictionaries.base", "dictionaries.trees.*"),
        *("hashing", "parts"),
    },
    "dictionaries.trees": {"dictionaries.trees.*"},
    "dictionaries.union": {"arrays", "dictionaries.base", "hashing", "parts"},
    "dictionaries.*": {"arrays", "dictionaries.base", "dictionaries.planes", "parts"},
    "dictionaries": {"dictionaries.*"},
    "inputs": {"arrays"},
    "stopping": NOTHING,
    "backends.base": {"dictionaries"},
    "backends.places": {"arrays"},
    "backends.blocks": {"backends.places"},
    "backends.kernels": {"backends.base", "compiling"},
    "backends.triton_kernels": NOTHING,
    "backends.fused": {
        *("backends.blocks", "backends.kernels", "backends.places", "backends.triton_kernels"),
        "dictionaries",
    },
    "backends.values": {
        *("arrays", "backends.base", "backends.blocks", "backends.fused", "backends.places"),
        "dictionaries",
    },
    "backends.screening": {"backends.base", "backends.values"},
    "backends.candidates": {
        *("backends.base", "backends.blocks", "backends.places", "backends.screening"),
        *("backends.values", "dictionaries"),
    },
    "backends.columns": {"backends.base", "backends.blocks", "backends.places"},
    "backends.moments": {"backends.base", "backends.blocks", "dictionaries", "inputs", "sums"},
    "backends.glimpses": {"arrays", "backends.base", "hashing"},
    "backends.memory": {
        *(
            "arrays",
            "backends.moments",
            "backends.base",
            "backends.blocks",
            "backends.candidates",
            "backends.columns",
            "backends.glimpses",
        ),
        *("backends.fused", "backends.places", "dictionaries", "hashing"),
    },
    "model": {"arrays", "dictionaries", "inputs"},
    "importances": {"dictionaries", "model"},
    "backends.calls": NOTHING,
    "backends.pieces": {
        *("backends.base", "backends.candidates", "backends.columns", "backends.memory"),
        *("backends.glimpses", "backends.values", "hashing"),
    },
    "backends.rows": {
        *("backends.base", "backends.pieces", "dictionaries", "hashing", "inputs", "model", "sums"),
    },
    "backends.shards": {
        *("backends.base", "backends.calls", "backends.moments", "backends.pieces"),
        *("backends.rows", "dictionaries", "hashing", "inputs", "sums", "threads"),
    },
    "backends.cluster": {
        *("backends.base", "backends.calls", "backends.candidates", "backends.moments"),
        *("backends.pieces", "backends.places", "dictionaries", "hashing"),
    },
    "backends": {"backends.*"},
    "solvers.base": {"losses", "parts", "stopping", "backends.base"},
    "solvers.looking": {"arrays", "compiling", "losses"},
    "solvers.*": {
        *("arrays", "solvers.base", "solvers.looking", "losses", "parts", "stopping"),
        "backends.base",
    },
    "solvers": {"solvers.*"},
    "climbing": {"compiling", "dictionaries"},
    "learning": {"arrays", "backends.base", "climbing", "dictionaries"},
    "selection": {"dictionaries", "backends.base", "hashing", "learning", "parts"},
    "learned": {
        *("arrays", "backends.base", "dictionaries", "hashing", "learning", "parts", "selection"),
    },
    "schemes": {"solvers.base", "losses", "backends.base", "parts", "stopping"},
    "outputs": {"backends.base", "losses", "schemes", "selection", "solvers.base", "stopping"},
    "removal": {"backends.base", "losses", "outputs", "parts", "solvers.base"},
    "presets": {"dictionaries", "learned", "removal"},
    "trace": {"backends.base", "dictionaries", "inputs", "model", "stopping"},
    "greedy": {
        "backends.base",
        "hashing",
        "learning",
        "losses",
        "outputs",
        "removal",
        "schemes",
        "selection",
        "solvers.base",
        "stopping",
        "trace",
    },
    "progress": {"stopping"},
    "callbacks": {"greedy", "stopping", "trace"},
    "checkpoints": {"files", "stopping", "trace"},
    "validation": {
        *(
            "arrays",
            "dictionaries",
            "learned",
            "losses",
            "presets",
            "removal",
            "schemes",
            "selection",
        ),
        "solvers",
    },
    "data": {"hashing", "inputs", "sums", "validation"},
    # A model in a file: knows parts, models and paths, and no estimator.
    "documents.spots": NOTHING,
    "documents.parsing": {"documents.spots"},
    "documents.parts": {"dictionaries", "documents.spots", "parts", "schemes", "validation"},
    "documents.*": {
        *("dictionaries", "documents.*", "files", "inputs", "links", "losses", "model"),
        *("parts", "stopping", "tables", "trace"),
    },
    "documents": {"documents.*"},
    "prediction": {
        *(
            "arrays",
            "documents",
            "importances",
            "links",
            "losses",
            "model",
            "presets",
            "stopping",
            "trace",
        ),
        "validation",
    },
    "known": {"prediction", "validation"},
    "parameters": {
        "removal",
        *(
            "dictionaries",
            "known",
            "losses",
            "learned",
            "presets",
            "schemes",
            "selection",
            "validation",
        ),
    },
    "starting": {"checkpoints", "hashing", "links", "presets", "trace"},
    "grounds": CORE - {*ABOVE_FITTING, "fitting", "grounds", "judging"},
    "judging": CORE - {*ABOVE_FITTING, "fitting", "judging"},
    "fitting": CORE - {*ABOVE_FITTING, "fitting"},
    "choosing": CORE - ABOVE_FITTING,
    "committee": CORE - ABOVE_FITTING,
    "spread": CORE,
    "estimators": CORE,
    "search": CORE | {"estimators"},
    "io.models": {"documents", "estimators", "prediction", "tables", "trace"},
    "io": {"documents", "io.*"},
    "export.forests": {"dictionaries"},
    "export.formula": {
        "dictionaries",
        "export.forests",
        "inputs",
        "io",
        "links",
        "losses",
        "model",
    },
    "export.c_text": NOTHING,
    "export.c_origin": {"dictionaries", "export.c_text", "export.formula"},
    "export.c_sum": {"export.c_origin", "export.c_text", "export.forests", "export.formula"},
    "export.c_input": {"export.c_sum", "export.c_text", "export.formula", "tables"},
    "export.c": {"export.c_*", "export.formula", "files", "links"},
    "export.onnx_graph": NOTHING,
    "export.onnx_atoms": {"export.forests", "export.formula", "export.onnx_graph"},
    "export.onnx": {
        *("export.formula", "export.onnx_atoms", "export.onnx_graph", "files", "links", "tables"),
    },
    "export": {"export.c", "export.onnx"},
    "dask.collections": {"backends.rows", "validation"},
    "dask.actors": {"backends.rows", "backends.shards"},
    "dask.crews": {
        *("backends.calls", "backends.rows", "backends.shards"),
        *("dask.actors", "dask.collections", "stopping"),
    },
    "dask.estimators": CORE | {"dask.collections", "dask.crews", "estimators", "spread"},
    "dask": {"dask.*"},
    "scores": NOTHING,
    "datasets.simulation": NOTHING,
    "datasets.catalog": NOTHING,
    "datasets.home": NOTHING,
    "datasets.lzw": NOTHING,
    "datasets.archive": {"datasets.catalog", "datasets.home", "datasets.lzw"},
    "datasets.table": {"datasets.catalog"},
    "datasets.uci": {
        "datasets.archive",
        "datasets.catalog",
        "datasets.home",
        "datasets.table",
    },
    "datasets.earthquake": {"datasets.home"},
    "datasets": {"datasets.*"},
    "plotting.canvas": NOTHING,
    "plotting.*": {
        *("dictionaries", "importances", "losses", "model", "plotting.*", "prediction", "scores"),
        "stopping",
    },
    "plotting": {"plotting.*"},
    "__init__": {"*"},
    "comparison": {"__init__", "files", "scores", "tables"},
    # The demo, too, uses the package as a user would.
    "demo.*": {
        *("__init__", "datasets", "demo.*", "files"),
        *("plotting", "plotting.canvas", "threads"),
    },
    "demo": {"demo.*"},
    "report.document": NOTHING,
    "report.svg": NOTHING,
    "report.rendering": {"files", "report.document"},
    "report.wording": {"scores"},
    "report.subject": {
        *("io", "plotting.*", "prediction", "report.wording", "scores", "stopping"),
        "tables",
    },
    "report.*": {
        *("comparison", "dictionaries", "files", "importances", "losses", "model", "plotting"),
        *("plotting.*", "prediction", "report.*", "schemes", "scores", "tables"),
    },
    "report": {"report.*"},
    "experiments.base": NOTHING,
    "experiments.store": {"experiments.base"},
    "experiments.display": NOTHING,
    "experiments.runner": {"experiments.base", "experiments.display", "experiments.store"},
    # The experiments use the package as a user would; the solvers' race builds its problems.
    "experiments.settings": {"__init__", "datasets", "dictionaries"},
    "experiments.admm_vs_gd": {
        *("__init__", "datasets", "experiments.base"),
        *("backends.memory", "losses", "solvers"),
    },
    "experiments.samples": SIMULATION,
    "experiments.sim[1-4]": SIMULATION,
    "experiments.rates": SIMULATION,
    "experiments.fpc": {"losses"},
    "experiments.protocol": NOTHING,
    "experiments.methods": {
        *("__init__", "dictionaries", "stopping"),
        *("experiments.fpc", "experiments.protocol"),
    },
    "experiments.rivals": {"__init__", "experiments.fpc", "experiments.methods"},
    "experiments.uci": {"datasets", "datasets.*", "experiments.base", *REAL_DATA},
    "experiments.earthquake": {"datasets", "experiments.base", "experiments.uci", *REAL_DATA},
    "experiments.contest.measures": NOTHING,
    "experiments.contest.counting": {
        *("__init__", "dictionaries", "experiments.contest.measures", "model"),
    },
    "experiments.contest.tuning": {
        *("experiments.base", "experiments.contest.measures", "experiments.protocol"),
    },
    "experiments.contest.field": {"experiments.contest.*", "experiments.protocol"},
    "experiments.contest.*": {
        *("__init__", "dictionaries", "experiments.contest.counting"),
        *("experiments.contest.measures", "experiments.protocol"),
    },
    "experiments.contest": {
        *("experiments.base", "experiments.contest.*", "experiments.protocol", "experiments.uci"),
    },
    "experiments.atoms": {"__init__", *BEYOND},
    "experiments.leaves": {"__init__", "experiments.atoms", *CONTEST, *BEYOND},
    "experiments.calibration": {"__init__", "experiments.atoms", "links", *CONTEST, *BEYOND},
    "experiments.robust": {"__init__", "hashing"},
    "experiments.robustness": {
        *("__init__", "datasets", "experiments.contest", "experiments.robust"),
        *(*CONTEST, *BEYOND),
    },
    "experiments.registry": {"experiments.*"},
    # What draws sees rows; what measures knows nothing of drawing.
    "experiments.reporting": NOTHING,
    "experiments.reporting.*": {
        *("datasets", "plotting", "stopping"),
        *(
            "experiments.base",
            "experiments.display",
            "experiments.settings",
            "experiments.sim[1-4]",
        ),
        *("experiments.reporting", "experiments.reporting.*"),
    },
    "experiments.report": {
        *("experiments.base", "experiments.runner", "experiments.store"),
        "experiments.reporting.*",
    },
    "experiments": NOTHING,
    "playground.settings": NOTHING,
    "playground.samples": {"datasets", "playground.settings"},
    "playground.fits": {"__init__", "playground.samples", "playground.settings", "plotting.*"},
    "playground.desk": {"playground.fits", "playground.settings"},
    "playground.clock": NOTHING,
    "playground.gate": NOTHING,
    "playground.handler": {"playground.clock", "playground.desk", "playground.settings"},
    "playground.server": {"playground.desk", "playground.gate", "playground.handler"},
    "playground": {"playground.server"},
    "cli.console": {"scores", "stopping"},
    "cli.arguments": NOTHING,
    # The commands use the package as a user would; the sets' facts and names are listed.
    "cli.*": {
        *("__init__", "cli.*", "comparison", "datasets", "datasets.*", "demo"),
        *("dictionaries", "experiments", "experiments.*", "export", "importances", "io", "model"),
        *(
            "playground",
            "known",
            "readers",
            "presets",
            "report",
            "scores",
            "tables",
            "tables.cells",
            "validation",
        ),
    },
    "cli": {"cli.*", "experiments.base", "experiments.store", "io"},
}

FOLDERS = {
    "cli.*",
    *("readers.*", "tables.*"),
    *("dictionaries.*", "dictionaries.trees.*"),
    *("backends.*", "solvers.*", "dask.*", "datasets.*"),
    *("documents.*", "export.c_*", "io.*"),
    *("demo.*", "experiments.*", "experiments.contest.*", "experiments.reporting.*", "plotting.*"),
    "report.*",
}

# Beside the standard library, free in every room.
FREE = {"numpy", "scipy"}
# What scikit-learn itself runs jobs and limits threads with.
BESIDE_SKLEARN = {"joblib", "threadpoolctl"}
MAY_RUN_JOBS = {
    *("checkpoints", "comparison"),
    *("experiments.calibration", "experiments.contest", "experiments.robustness"),
    "experiments.runner",
    "grounds",
    "search",
    "threads",
}
# Parts are parameter objects: they take `BaseEstimator` from scikit-learn and no more.
BASE_ESTIMATOR_ONLY = {"checkpoints", "parts"}
ALL_OF_SKLEARN = {
    "callbacks",
    "validation",
    "prediction",
    "known",
    "parameters",
    "grounds",
    "judging",
    "starting",
    "fitting",
    "spread",
    "estimators",
    "search",
    "io.*",
    *("readers.svmlight", "tables.encoder"),
    "dask.*",
    *("cli.fit", "cli.training", "comparison"),
    "playground.samples",
    "datasets.earthquake",
    "datasets.simulation",
    "datasets.uci",
    "plotting.*",
    *("demo.methods", "experiments.*"),
}
# Imported inside the function that needs them, with an error naming the extra to install.
OPTIONAL = {
    *("cloudpickle", "cvxpy", "dask", "distributed", "matplotlib", "numba", "onnx"),
    *("jinja2", "pandas", "PIL", "polars", "psutil", "pyarrow", "rich", "torch", "tqdm"),
    *("catboost", "lightgbm", "triton", "xgboost", "xlrd"),
}
# Rooms whose whole text is in the language of such a dependency: they import it when they are
# imported, so they are themselves imported inside the function that needs them.
WRITTEN_IN_OPTIONAL = {"backends.triton_kernels", "dask", "dask.*"}

MAX_FILE_LINES = 400
MAX_BODY_LINES = 60

# Where packages come from is a matter of the machine. The brackets keep the patterns from
# matching themselves.
PACKAGE_HOSTS = re.compile(r"index[-]url|/simpl[e]/|pypi[.]org|https?://\S*(registry|mirror)")


class Module(NamedTuple):
    """A source file of the package."""

    room: str
    path: Path

    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"))


class Import(NamedTuple):
    """One imported name: `from module import name`, or `import module` with no name."""

    module: str
    name: str | None
    line: int

    def __str__(self) -> str:
        text = f"from {self.module} import {self.name}" if self.name else f"import {self.module}"
        return f"line {self.line}: {text}"


def find_modules() -> list[Module]:
    source = ROOT / "src" / PACKAGE
    modules = []
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        if len(parts) > 1 and parts[-1] == "__init__":
            parts = parts[:-1]
        modules.append(Module(".".join(parts), path))
    return modules


MODULES = find_modules()
each_module = pytest.mark.parametrize("module", MODULES, ids=[module.room for module in MODULES])


def matches(room: str, patterns: set[str] | frozenset[str]) -> bool:
    return any(fnmatchcase(room, pattern) for pattern in patterns)


def allowed_rooms(room: str) -> set[str] | frozenset[str] | None:
    return next((rooms for key, rooms in ROOMS.items() if fnmatchcase(room, key)), None)


def absolute_module(node: ast.ImportFrom, module: Module) -> str:
    """Resolve the dots of a relative import against the file's place in the package."""
    if node.level == 0:
        return node.module or ""
    folder = (PACKAGE, *module.path.relative_to(ROOT / "src" / PACKAGE).parts[:-1])
    base = folder[: len(folder) - node.level + 1]
    return ".".join((*base, node.module) if node.module else base)


def imports_in(module: Module, nodes: Iterator[ast.AST]) -> Iterator[Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, None, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = absolute_module(node, module)
            yield from (Import(source, alias.name, node.lineno) for alias in node.names)


def is_typing(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


def walk_except(node: ast.AST, *is_left_out: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not any(test(child) for test in is_left_out):
            yield child
            yield from walk_except(child, *is_left_out)


def walk_that_runs(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that ever run: not what is there for type checkers alone."""
    return walk_except(node, is_typing)


def walk_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run when the module is imported: no function bodies, no typing."""
    return walk_except(node, is_typing, is_function)


def walk_for_types(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that are there for type checkers alone."""
    return (below for found in ast.walk(node) if is_typing(found) for below in ast.walk(found))


def inside_imports(module: Module, nodes: Iterator[ast.AST]) -> list[Import]:
    imports = imports_in(module, nodes)
    return [found for found in imports if found.module.partition(".")[0] == PACKAGE]


def imported_room(found: Import) -> str:
    """Name the room an import of the package reaches: a submodule where the name is one."""
    rooms = {module.room for module in MODULES}
    module = found.module.removeprefix(PACKAGE).lstrip(".")
    submodule = f"{module}.{found.name}".lstrip(".")
    if found.name is not None and submodule in rooms:
        return submodule
    return module or "__init__"


def is_allowed_outside(found: Import, room: str) -> bool:
    """Tell whether a room may import this name from outside the package."""
    top = found.module.partition(".")[0]
    if top == "sklearn":
        is_base = (found.module, found.name) == ("sklearn.base", "BaseEstimator")
        return matches(room, ALL_OF_SKLEARN) or (is_base and matches(room, BASE_ESTIMATOR_ONLY))
    if top in BESIDE_SKLEARN:
        return matches(room, MAY_RUN_JOBS)
    return top in sys.stdlib_module_names or top in FREE or top in OPTIONAL


def calls_of(module: Module, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(module.tree()):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def commented_lines(module: Module) -> set[int]:
    text = module.path.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {token.start[0] for token in tokens if token.type == tokenize.COMMENT}


def body_length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function's body, its docstring left out."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_the_table_lists_rooms_from_the_bottom_up() -> None:
    keys = list(ROOMS)
    for place, (room, allowed) in enumerate(ROOMS.items()):
        known = {key for key in keys[:place] if "*" not in key} | FOLDERS | {"*"}
        assert allowed <= known, f"{room} may import {allowed - known}, listed below it or nowhere"


@each_module
def test_every_room_is_in_the_table(module: Module) -> None:
    assert allowed_rooms(module.room) is not None, (
        f"{module.room} is not on the map: add it to ROOMS in {Path(__file__).name}"
    )


@each_module
def test_a_room_imports_only_the_rooms_it_may(module: Module) -> None:
    allowed = allowed_rooms(module.room) or NOTHING
    inside = inside_imports(module, walk_that_runs(module.tree()))
    breaches = [str(found) for found in inside if not matches(imported_room(found), allowed)]
    assert not breaches, f"{module.room} may import {sorted(allowed) or 'no other room'}"


@each_module
def test_a_room_names_the_types_of_its_own_folder_and_of_the_rooms_it_may_import(
    module: Module,
) -> None:
    """A part may name the type of the whole that hands itself to it, which imports the part."""
    folder = {f"{module.room.rpartition('.')[0]}.*"} if "." in module.room else NOTHING
    allowed = (allowed_rooms(module.room) or NOTHING) | folder
    named = inside_imports(module, walk_for_types(module.tree()))
    assert not [str(found) for found in named if not matches(imported_room(found), allowed)]


@each_module
def test_a_room_may_import_no_room_that_it_does_not(module: Module) -> None:
    """The lines of the backends are exact: what is no longer imported is struck from the map."""
    if not module.room.startswith("backends."):
        return
    inside = inside_imports(module, walk_that_runs(module.tree()))
    assert {imported_room(found) for found in inside} == allowed_rooms(module.room)


@each_module
def test_a_room_imports_only_the_dependencies_it_may(module: Module) -> None:
    breaches = [
        str(found)
        for found in imports_in(module, ast.walk(module.tree()))
        if found.module.partition(".")[0] != PACKAGE and not is_allowed_outside(found, module.room)
    ]
    assert not breaches, f"not allowed in {module.room}, or unknown to {Path(__file__).name}"


@each_module
def test_optional_dependencies_are_imported_inside_functions(module: Module) -> None:
    breaches = [
        str(found)
        for found in imports_in(module, walk_at_import(module.tree()))
        if found.module.partition(".")[0] in OPTIONAL
        or matches(imported_room(found), WRITTEN_IN_OPTIONAL)
    ]
    assert not breaches or matches(module.room, WRITTEN_IN_OPTIONAL)


@each_module
def test_only_the_command_line_prints(module: Module) -> None:
    may_print = matches(module.room, {"cli", "cli.*", "demo", "demo.*", "playground.*"})
    assert may_print or not [call.lineno for call in calls_of(module, "print")]


@each_module
def test_hasattr_gives_its_reason_on_the_same_line(module: Module) -> None:
    reasons = commented_lines(module)
    bare = [call.lineno for call in calls_of(module, "hasattr") if call.end_lineno not in reasons]
    assert not bare


@each_module
def test_a_file_is_short(module: Module) -> None:
    n_lines = len(module.path.read_text(encoding="utf-8").splitlines())
    assert n_lines <= MAX_FILE_LINES


@each_module
def test_a_function_body_fits_one_screen(module: Module) -> None:
    functions = (
        node
        for node in ast.walk(module.tree())
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    lengths = {
        f"{function.name}:{function.lineno}": body_length(function) for function in functions
    }
    assert not {name: length for name, length in lengths.items() if length > MAX_BODY_LINES}


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
