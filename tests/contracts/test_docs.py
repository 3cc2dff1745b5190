"""The documentation: its code runs, its links lead somewhere, it is complete, it builds."""

import ast
import importlib
import os
import re
import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import fcgboost
from fcgboost import FCGBoostClassifier
from fcgboost.cli import make_parser

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "fcgboost"
#: Folders without pages, or with pages that Sphinx writes.
NO_PAGES = {DOCS / "_templates", DOCS / "gallery", DOCS / "api" / "generated"}
#: What users import from, besides `fcgboost` itself.
PUBLIC = (
    *("fcgboost", "fcgboost.datasets", "fcgboost.export", "fcgboost.io", "fcgboost.plotting"),
    *("fcgboost.tables", "fcgboost.report", "fcgboost.rows", "fcgboost.evaluation"),
    *("fcgboost.inspection", "fcgboost.comparison", "fcgboost.dictionaries", "fcgboost.losses"),
    *("fcgboost.solvers", "fcgboost.stopping", "fcgboost.parts", "fcgboost.arrays"),
    "fcgboost.colors",
)


#: A mark, Python, and what it prints; only the second is always there.
PYTHON = re.compile(
    r"^(?:(<!--[^\n]*-->)\n)?```python\n(.*?)^```$(?:\n\n```\n(.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A piece of Python in a page."""

    line: int
    mark: str
    code: str
    output: str


def pages() -> list[Path]:
    found = sorted([*DOCS.rglob("*.md"), *DOCS.rglob("*.rst")])
    return [path for path in found if not NO_PAGES & set(path.parents)]


TOP = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
TEXTS = [*pages(), *(ROOT / name for name in TOP)]
each_text = pytest.mark.parametrize("path", TEXTS, ids=[path.name for path in TEXTS])


def blocks(path: Path) -> Iterator[Block]:
    """Give the fenced Python of a page with the mark above it and the output below."""
    text = path.read_text(encoding="utf-8")
    for found in PYTHON.finditer(text):
        mark, code, output = (group or "" for group in found.groups())
        yield Block(text.count("\n", 0, found.start(2)), mark, code, output)


RUNNABLE = [path for path in TEXTS if any(not block.mark for block in blocks(path))]
#: Pages that fit models for more than a second.
LONG = (
    *("auto.md", "choosing-a-dictionary.md", "cross-validation.md", "imbalanced.md"),
    *("migrating.md", "parameters.md", "report.md", "start.md"),
)


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=pytest.mark.slow) if p.name in LONG else p for p in RUNNABLE],
    ids=[path.name for path in RUNNABLE],
)
def test_the_code_of_a_page_runs(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All blocks of a page share one namespace and one empty folder."""
    plt = pytest.importorskip("matplotlib.pyplot", reason="pages draw pictures")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__page__"}
    for block in blocks(path):
        if not block.mark:
            # Blank lines first, so that a traceback names the line of the page.
            exec(compile("\n" * block.line + block.code, str(path), "exec"), namespace)
            printed = capsys.readouterr().out
            assert block.output in ("", printed)
    plt.close("all")


def commands_in(path: Path) -> list[list[str]]:
    """Give the words of every command `fcgboost` in the fences of a page."""
    text = path.read_text(encoding="utf-8")
    fences = re.findall(r"^```(?:console|text)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [line for fence in fences for line in fence.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith("fcgboost ")]


@pytest.mark.parametrize("path", [*filter(commands_in, TEXTS)], ids=lambda path: path.name)
def test_commands_are_what_the_command_line_understands(path: Path) -> None:
    for _, command, *words in commands_in(path):
        options = make_parser().parse_args([command, *words])
        assert options.run.__module__ == f"fcgboost.cli.{command}"


@each_text
def test_code_that_does_not_run_says_why(path: Path) -> None:
    marks = [block.mark for block in blocks(path) if block.mark]
    assert all(re.fullmatch(r"<!-- not run: .{5,} -->", mark) for mark in marks)


def source_of(target: Path) -> Path:
    """Give the file in the repository that a file of the gallery is made from."""
    gallery = DOCS / "gallery"
    if gallery not in target.parents:
        return target
    name = re.sub(r"^sphx_glr_(\w+)_\d{3}$", r"\1", target.stem)
    return ROOT / "examples" / ("GALLERY_HEADER.rst" if name == "index" else f"{name}.py")


def prose(path: Path) -> str:
    """Return a page without its code."""
    return re.sub(r"```.*?```|`[^`]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def links(path: Path) -> Iterator[tuple[Path, str]]:
    """Give what the relative links of a page lead to: a file, and a place in it or ""."""
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", prose(path)):
        if not re.match(r"[a-z]+:", target):
            yield (path.parent / target).resolve() if target else path, anchor


def anchors(path: Path) -> set[str]:
    """Return the places in a page that links can name: its headings, and explicit ones."""
    text = path.read_text(encoding="utf-8")
    whole = re.fullmatch(r"```\{include\} (.*)\n```\n", text)
    if whole:
        return anchors(path.parent / whole[1])
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#{1,4} (.*)$", text, flags=re.MULTILINE)
    named = re.findall(r'<a id="([\w-]+)">|^\(([\w-]+)\)=$', text, flags=re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs.union(*named)


@each_text
def test_relative_links_lead_to_something(path: Path) -> None:
    missing = [str(target) for target, _ in links(path) if not source_of(target).exists()]
    assert not missing


@each_text
def test_anchors_of_links_exist(path: Path) -> None:
    lost = [
        f"{target.name}#{anchor}"
        for target, anchor in links(path)
        if anchor and target.suffix == ".md" and anchor not in anchors(target)
    ]
    assert not lost


def test_the_page_on_parameters_has_all_with_their_defaults() -> None:
    page = (DOCS / "parameters.md").read_text(encoding="utf-8").partition("## All of them")[2]
    documented = {}
    for names, defaults in re.findall(r"^\| (`[^|]*) \| ([^|]*) \|", page, flags=re.MULTILINE):
        each = names.replace("`", "").split(", ")
        values = [value.strip("`") for value in defaults.split(", ")]
        documented |= dict(zip(each, values * (len(each) // len(values)), strict=True))
    expected = FCGBoostClassifier().get_params()
    assert documented == {
        name: f'"{value}"' if isinstance(value, str) else str(value)
        for name, value in expected.items()
    }


#: A family has one name; "beside" means "next to", and nothing is compared by it.
OTHER_WORDS = re.compile(r"(?<!seismic[-+])\b(?:ramps?|bells?|bumps?|beside)\b", re.IGNORECASE)
#: What reports say is drawn from rows, by programs of the laboratory.
DRAWN = re.compile(r"<!-- ([\w-]+): begin -->.*?<!-- \1: end -->", re.DOTALL)


@pytest.mark.parametrize(
    "path", [*DOCS.glob("*.md"), *ROOT.glob("examples/*.py")], ids=lambda path: path.name
)
def test_pages_use_one_word_per_thing(path: Path) -> None:
    assert OTHER_WORDS.findall(DRAWN.sub("", path.read_text(encoding="utf-8"))) == []


def test_pictures_say_what_they_show() -> None:
    bare = [path.name for path in TEXTS if "![](" in path.read_text(encoding="utf-8")]
    assert not bare


def toctree(path: Path) -> Iterator[Path]:
    """Give the pages that a page's tables of contents name."""
    text = path.read_text(encoding="utf-8")
    for body in re.findall(r"```\{toctree\}\n(.*?)```", text, flags=re.DOTALL):
        for line in body.splitlines():
            entry = re.sub(r".*<(.*)>", r"\1", line.strip())
            if entry and not entry.startswith(":"):
                yield path.parent / entry


def test_every_page_is_in_a_table_of_contents() -> None:
    named = {target for path in pages() for target in toctree(path)} | {DOCS / "index"}
    lost = [path for path in pages() if path.with_suffix("") not in named]
    assert not lost


def test_every_entry_of_a_table_of_contents_is_a_page() -> None:
    there = {path.with_suffix("") for path in pages()} | {DOCS / "gallery" / "index"}
    named = {target for path in pages() for target in toctree(path)}
    assert named <= there


@pytest.mark.parametrize("module", PUBLIC)
def test_the_reference_names_all_that_is_public(module: str) -> None:
    listed = set(
        re.findall(r"^   ([\w.]+)$", (DOCS / "api" / "index.rst").read_text(), re.MULTILINE)
    )
    prefix = module.removeprefix("fcgboost").removeprefix(".")
    names = {f"{prefix}.{name}".lstrip(".") for name in importlib.import_module(module).__all__}
    # A module is listed by what is in it; a class of a sub-module may be listed as the package's.
    known = {name for name in names if name not in PUBLIC and f"fcgboost.{name}" not in PUBLIC}
    short = {name.rpartition(".")[2] for name in listed} & set(fcgboost.__all__)
    assert {name for name in known - listed if name.rpartition(".")[2] not in short} == set()


def documented_parameters(text: str) -> set[str]:
    """Return the names in the section Parameters of a docstring; starred ones stand for several."""
    # Up to the next heading.
    section = re.search(r"^Parameters\n-+\n((?:.*\n)*?)(?=.+\n-+\n|\Z)", f"{text}\n", re.MULTILINE)
    entries = re.findall(r"^\S.*", section[1], re.MULTILINE) if section else []
    names = {name.strip() for entry in entries for name in entry.partition(" :")[0].split(",")}
    return {name for name in names if not name.startswith("*")}


def parameters(node: ast.AST, classes: dict[str, ast.ClassDef]) -> set[str]:
    """Return the parameters of a function, or those with which a class is made."""
    if isinstance(node, ast.FunctionDef):
        arguments = [part for part in ast.walk(node.args) if isinstance(part, ast.arg)]
        return {argument.arg for argument in arguments}
    assert isinstance(node, ast.ClassDef)
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            return parameters(part, classes)
    fields = {ast.unparse(part.target) for part in node.body if isinstance(part, ast.AnnAssign)}
    bases = [classes[name] for name in map(ast.unparse, node.bases) if name in classes]
    return fields.union(*(parameters(base, classes) for base in bases))


def test_documented_parameters_exist() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
    documented = {
        node: documented_parameters(ast.get_docstring(node) or "")
        for node in nodes
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    unknown = [
        (node.name, names - parameters(node, classes))
        for node, names in documented.items()
        if not names <= parameters(node, classes)
    ]
    assert unknown == []
    assert sum(map(len, documented.values())) > 200


def test_the_gallery_has_an_order() -> None:
    order = runpy.run_path(str(DOCS / "gallery_order.py"))["ORDER"]
    assert sorted(order) == sorted(path.stem for path in ROOT.glob("examples/plot_*.py"))


@pytest.fixture(scope="module")
def built() -> Path:
    """Return the folder of the documentation that `make docs` has built."""
    folder = os.environ.get("FCGBOOST_DOCS")
    if folder is None:
        pytest.skip("`make test-all` builds the documentation and sets FCGBOOST_DOCS")
    return ROOT / folder


@pytest.mark.extras
def test_the_documentation_builds_without_warnings(built: Path) -> None:
    for page in ("index", "start", "gallery/index", "api/generated/fcgboost.FCGBoostClassifier"):
        assert (built / f"{page}.html").stat().st_size > 10_000


@pytest.mark.extras
def test_no_page_loads_anything_from_elsewhere(built: Path) -> None:
    loads = re.compile(
        r"<(?:script|link|img|iframe|source|video|audio)\b[^>]*?(?:src|href)=\"(?:https?:)?//[^\"]*"
    )
    styles = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)\"']*")
    found = {
        f"{path.name}: {match}"
        for pattern, ending in ((loads, "html"), (styles, "css"))
        for path in built.rglob(f"*.{ending}")
        for match in pattern.findall(path.read_text(encoding="utf-8"))
    }
    assert not found
