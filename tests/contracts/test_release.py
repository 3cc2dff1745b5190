"""What a release needs to agree: versions, requirements, the text for PyPI, pinned actions."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.suites.compilers import load_builder

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
ADDRESS = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]["address"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RECIPE = (ROOT / ".ci" / "recipe.yaml").read_text(encoding="utf-8")
RELATIVE = re.compile(r"\]\((?!https?:)[^)]*\)")


def tags() -> list[str]:
    """Return the tags of versions at this commit; none outside of a repository."""
    command = ["git", "tag", "--points-at", "HEAD", "v*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    pushed = os.environ.get("GITHUB_REF", "").removeprefix("refs/tags/")
    return [*done.stdout.split(), *([pushed] if re.match(r"v\d", pushed) else [])]


def test_versions_agree() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [PROJECT["version"]]
    assert re.findall(r'^  version: "(.*)"$', RECIPE, re.MULTILINE) == [PROJECT["version"]]
    assert set(tags()) <= {f"v{PROJECT['version']}"}


def test_the_changelog_has_the_form_of_keep_a_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased, *released = re.findall(r"^## (.*)$", changelog, re.MULTILINE)
    assert unreleased == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", line) for line in released)
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", changelog, re.MULTILINE)) <= kinds
    assert not tags() or f"[{PROJECT['version']}]" in released[0]


def section(name: str) -> list[str]:
    """Return the requirements under a heading of the recipe."""
    found = re.search(rf"^  {name}:\n((?:    - .*\n)+)", RECIPE, re.MULTILINE)
    assert found is not None
    return re.findall(r"^    - (.*)$", found[1], re.MULTILINE)


def test_the_recipe_requires_what_the_package_requires() -> None:
    def spaced(requirements: list[str]) -> list[str]:
        return [requirement.replace(">=", " >=") for requirement in requirements]

    python = f"python {PROJECT['requires-python']}"
    assert section("run") == [python, *spaced(PROJECT["dependencies"])]
    assert section("host") == [python, "pip", *spaced(PYPROJECT["build-system"]["requires"])]


def test_the_text_for_pypi_has_no_relative_link() -> None:
    text = load_builder().with_address(README, ADDRESS)
    assert RELATIVE.search(README)
    assert not RELATIVE.search(text)
    assert "python -m paper run sim3" in text


def test_an_address_makes_links_absolute() -> None:
    builder = load_builder()
    text = "![A](docs/a.png)\n\n*Drawn\nso.*\n\nSee [B](docs/b.md#c), [D](https://e.org)."
    assert builder.with_address(text, "") == "See B, [D](https://e.org)."
    assert builder.with_address(text, "https://x.org/f") == (
        "![A](https://x.org/f/raw/main/docs/a.png)\n\n*Drawn\nso.*\n\n"
        "See [B](https://x.org/f/blob/main/docs/b.md#c), [D](https://e.org)."
    )
    assert builder.urls_of("https://x.org/f")["Issues"] == "https://x.org/f/issues"


@pytest.mark.skipif(bool(ADDRESS), reason="the package has an address")
def test_without_an_address_nothing_points_to_an_index() -> None:
    assert load_builder().urls_of(ADDRESS) == {}
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.py")]
    command = re.compile(r"pip install (?:-\S+ )*['\"]?fcgboost")
    assert [page.name for page in pages if command.search(page.read_text(encoding="utf-8"))] == []


def test_actions_are_pinned_by_commit() -> None:
    texts = [path.read_text(encoding="utf-8") for path in ROOT.glob(".github/workflows/*.yml")]
    uses = [action for text in texts for action in re.findall(r"uses: (.*)", text)]
    assert uses
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}  # v\d+", action) for action in uses)
