"""Plant small faults, one at a time, and report those that `make test` does not notice.

    python -m benchmarks.faults                # all of faults.toml
    python -m benchmarks.faults --only solvers # those in some files
    python -m benchmarks.faults --repo DIR     # another checkout's tests, with the same faults

Tests are chosen by coverage: a run of `make test`'s selection writes down once which test executes
which line (build/faults/coverage, about twice the time of the tests; --fresh makes it again), and
a fault meets the tests that execute the lines it changes. It is noticed when one of them fails
that passes without it. Needs pytest-cov (the dependency group `dev`).
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
SELECTION = ("-m", "not slow and not extras")
PACKAGE = Path("src", "fcgboost")
#: A fault may make a test go on for ever: the time that tests have, together and each.
SECONDS, SECONDS_EACH = 120.0, 0.5
_LEFT_OUT = (".git", ".venv*", "build", "demo", "dist", ".hypothesis", ".*_cache", "__pycache__")


@dataclass(frozen=True)
class Fault:
    """One line that is wrong."""

    file: str
    was: str
    now: str
    tests: Sequence[str] = ()

    @property
    def path(self) -> Path:
        return PACKAGE / self.file

    def find(self, text: str) -> re.Match[str]:
        """Return where it fits, however the text is laid out, or raise if that is not one place."""
        words = re.findall(r"\w+|[^\w\s]", self.was)
        # The formatter adds a comma where it gives every argument a line.
        pattern = r"\s*".join(
            (",?\\s*" if word in ")]}" else "") + re.escape(word) for word in words
        )
        places = list(re.finditer(pattern, text))
        if len(places) != 1:
            raise ValueError(f"{self.path}: {self.was!r} occurs {len(places)} times, not once")
        return places[0]

    def lines(self, text: str) -> range:
        """Return the numbers of the lines that it changes."""
        place = self.find(text)
        first = text.count("\n", 0, place.start()) + 1
        return range(first, first + place[0].count("\n") + 1)

    def planted(self, text: str) -> str:
        """Return the text with the fault in it."""
        place = self.find(text)
        return text[: place.start()] + self.now + text[place.end() :]


def read_faults() -> list[Fault]:
    content = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    return [Fault(**one) for one in content["fault"]]


def environment(tree: Path) -> dict[str, str]:
    """Return the environment in which Python takes the package from a tree."""
    paths = os.pathsep.join((str(tree / "src"), str(tree)))
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, **threads, "PYTHONPATH": paths}


def pytest(tree: Path, *options: str, n_tests: int = 1) -> subprocess.CompletedProcess[str]:
    """Run pytest on a copy of the sources."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    limit = SECONDS + SECONDS_EACH * n_tests
    return subprocess.run(
        command, cwd=tree, env=environment(tree), capture_output=True, text=True, timeout=limit
    )


def measure_coverage(repo: Path, data: Path) -> None:
    """Write down which test executes which line."""
    print(f"Measuring which tests execute which lines: {data}", flush=True)
    data.parent.mkdir(parents=True, exist_ok=True)
    options = ("--cov=fcgboost", "--cov-context=test", "--cov-report=", "-n", "auto")
    command = [sys.executable, "-m", "pytest", "-q", *SELECTION, "--dist", "loadgroup", *options]
    subprocess.run(
        command, cwd=repo, env={**environment(repo), "COVERAGE_FILE": str(data)}, check=True
    )


def is_own(test: str, file: Path) -> bool:
    """Whether a test is in a file of tests that mirrors a file of the package."""
    module = Path(test.partition("::")[0])
    room = file.parent.name
    folder = "tests" if room == "fcgboost" else room.strip("_")
    name = f"test_{file.stem.strip('_')}"
    return module.parent.name == folder and module.stem.startswith(name)


class Coverage:
    """Which tests execute which lines."""

    def __init__(self, repo: Path, data: Path) -> None:
        from coverage import CoverageData

        self._repo, self._data = repo, CoverageData(str(data))
        self._data.read()

    def tests_of(self, fault: Fault) -> list[str]:
        """Return the tests that a fault meets, in an order that soon finds one that fails."""
        if fault.tests:
            return list(fault.tests)
        file = self._repo / fault.path
        contexts = self._data.contexts_by_lineno(str(file))
        lines = fault.lines(file.read_text("utf-8"))
        # A constant is executed by the import, and matters to whoever uses the file.
        found = {test for line in lines for test in contexts.get(line, ()) if test}
        others = {test for tests in contexts.values() for test in tests if test}
        # What is cached is executed by the first test that asks: the file's own tests all count.
        found = (found or others) | {test for test in others if is_own(test, file)}
        # pytest-cov adds the phase of a test to its name, pytest-xdist its group.
        names = sorted({re.sub(r"@[\w-]+$", "", one.rsplit("|", 1)[0]) for one in found})
        random.Random(0).shuffle(names)
        # They are quick, too, and most likely to notice.
        return sorted(names, key=lambda name: not is_own(name, file))


def build_library(tree: Path, path: Path) -> None:
    """Build the compiled library of a tree again, where one of its sources was changed."""
    if path.suffix in (".c", ".h"):
        subprocess.run([sys.executable, str(tree / "hatch_build.py")], check=True)


def is_noticed(fault: Fault, tests: Sequence[str], tree: Path) -> tuple[bool, str]:
    """Plant a fault in a copy of the sources, run tests, and mend it again."""
    if not tests:
        return False, "no test executes it"
    path, list_ = tree / fault.path, tree / "tests-to-run"
    text = path.read_text("utf-8")
    list_.write_text("\n".join(tests), "utf-8")
    path.write_text(fault.planted(text), "utf-8")
    build_library(tree, path)
    try:
        options = ("-x", "-rfE", "--no-header", *SELECTION, f"@{list_}")
        run = pytest(tree, *options, n_tests=len(tests))
    except subprocess.TimeoutExpired:
        return True, "a test does not end"
    finally:
        path.write_text(text, "utf-8")
        build_library(tree, path)
    if run.returncode == 0:
        return False, f"{len(tests)} tests pass"
    failed = re.search(r"^(?:FAILED|ERROR) (\S.*?)(?: - |$)", run.stdout, re.MULTILINE)
    if failed is None:
        raise SystemExit(f"{fault.file}: pytest ended with {run.returncode}:\n{run.stdout[-2000:]}")
    again = pytest(tree, *SELECTION, failed[1])
    if again.returncode != 0:
        raise SystemExit(f"{failed[1]} fails without a fault:\n{again.stdout[-2000:]}")
    return True, failed[1]


def report(faults: Sequence[Fault], coverage: Coverage, trees: Sequence[Path]) -> int:
    """Plant all faults, each in a tree that is free; return how many were not noticed."""
    free: SimpleQueue[Path] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def judge(fault: Fault) -> bool:
        tree = free.get()
        try:
            noticed, reason = is_noticed(fault, coverage.tests_of(fault), tree)
        finally:
            free.put(tree)
        verdict = "noticed" if noticed else "SURVIVES"
        print(f"{verdict}  {fault.file}: {fault.now}  [{reason}]", flush=True)
        return noticed

    with ThreadPoolExecutor(len(trees)) as pool:
        verdicts = list(pool.map(judge, faults))
    print(f"{sum(verdicts)} of {len(verdicts)} faults are noticed.")
    return verdicts.count(False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repo", type=Path, default=ROOT, help="the checkout whose tests run")
    parser.add_argument("--only", default="", help="plant faults in files whose path has this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--fresh", action="store_true", help="measure the coverage again")
    options = parser.parse_args()
    repo = options.repo.resolve()
    faults = [fault for fault in read_faults() if options.only in fault.file]
    for fault in faults:
        fault.lines((repo / fault.path).read_text("utf-8"))
    data = repo / "build" / "faults" / "coverage"
    if options.fresh or not data.exists():
        measure_coverage(repo, data)
    with tempfile.TemporaryDirectory() as folder:
        trees = [Path(folder, str(i), "tree") for i in range(options.jobs)]
        for tree in trees:
            shutil.copytree(repo, tree, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        return report(faults, Coverage(repo, data), trees) > 0


if __name__ == "__main__":
    sys.exit(main())
