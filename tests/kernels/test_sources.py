"""The compiled library is there, belongs to its sources, and keeps to its memory."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fcgboost import GaussDictionary, ReluDictionary, SigmoidDictionary, _kernels
from fcgboost._kernels import walks
from fcgboost.selection.gain import CONSTANTS
from fcgboost.sums import sum_of
from tests.suites.compilers import load_builder
from tests.test_sums import summand_of

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "fcgboost" / "_kernels"
SUITES = (
    "tests/contracts/test_every_core.py",
    "tests/dictionaries/test_trees.py",
    "tests/kernels/test_forest.py",
    "tests/kernels/test_init.py",
    "tests/kernels/test_walks.py",
    "tests/selection/test_learned.py",
    "tests/solvers/test_newton.py",
    "tests/test_shapley.py",
    "tests/test_sums.py",
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Another folder of the library, for a while."""
    monkeypatch.setattr(_kernels, "FOLDER", tmp_path)
    _kernels.library.cache_clear()
    yield tmp_path
    _kernels.library.cache_clear()


def test_a_missing_library_is_one_error_that_says_what_to_run(folder):
    with pytest.raises(ImportError, match=r"pip install --editable \."):
        _kernels.library()


def test_a_library_of_other_sources_is_refused(folder, monkeypatch):
    for path in SOURCES.glob(f"*{_kernels.SUFFIX}"):
        shutil.copy(path, folder)
    (folder / "trees.c").touch()
    monkeypatch.setattr(_kernels, "source_hash", lambda: "other")
    with pytest.raises(ImportError, match="older than its sources"):
        _kernels.library()


def test_a_library_without_sources_is_taken_as_it_is(folder, monkeypatch):
    for path in SOURCES.glob(f"*{_kernels.SUFFIX}"):
        shutil.copy(path, folder)
    monkeypatch.setattr(_kernels, "source_hash", lambda: "other")
    assert _kernels.library().fcg_source_hash()


def results():
    """Return what every kind of loop makes of the same numbers."""
    rng = np.random.default_rng(0)
    X, residual = rng.normal(size=(500, 7)), rng.normal(size=500) / 500
    weights = rng.integers(0, 4, 500) * 1.0
    for family in (_kernels.RELU, _kernels.GAUSS):
        search = _kernels.Search(family, 32, 300, 30, 0.01, np.inf, 7, -1.0, 1.0, *CONSTANTS)
        rows = _kernels.in_blocks(X)
        yield _kernels.propose(search, rows, residual, weights, (0.1, 1000.0, True), 5)
    yield _kernels.gauss_values(X, X[:3].copy(), np.full((3, 7), 0.3))
    for family in (ReluDictionary(), SigmoidDictionary(), GaussDictionary()):
        rows = np.abs(rng.normal(size=(21, 8)))
        yield walks.add_up(sum_of([summand_of(family, rows, np.ones((1, 21)))]), X)
    yield _kernels.fingerprint(X, np.arange(7, dtype=np.uint64)).astype(np.float64)
    # BLAS is the same one for both.
    A, y = rng.normal(size=(9, 500)), rng.choice([-1.0, 1.0], 500)
    sums, shares = _kernels.HingeSums(A, y, np.full(500, 1.0 / 500)), np.full(9, 1e-3)
    for _ in range(3):
        coef, *ending, state = sums.newton(
            0.1 * rng.normal(size=9), shares, np.ones(9), 1.0, 1e-12, 9
        )
        yield coef
        yield np.array(ending)
        yield from state
        yield sums.expand(coef)[2]


def test_builds_for_all_processors_have_the_same_bits(folder):
    newer = SOURCES / f"kernels_v3{_kernels.SUFFIX}"
    if not (newer.exists() and _kernels._load_from(newer).fcg_has_v3()):
        pytest.skip("this processor has one build")
    shutil.copy(newer.with_name(f"kernels{_kernels.SUFFIX}"), folder)
    plain = list(results())
    shutil.copy(newer, folder)
    _kernels.library.cache_clear()
    for found, expected in zip(results(), plain, strict=True):
        assert np.ptp(found) > 0.0
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("path", sorted(SOURCES.glob("*.[ch]")), ids=lambda path: path.name)
def test_sources_are_as_narrow_and_as_short_as_modules(path):
    lines = path.read_text("utf-8").splitlines()
    assert max(map(len, lines)) <= 100
    assert len(lines) <= 500


@pytest.mark.slow
@pytest.mark.extras
def test_no_loop_leaves_its_memory_or_does_what_is_undefined(tmp_path):
    gcc = shutil.which("gcc")
    found = (
        gcc
        and subprocess.run(
            [gcc, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
        ).stdout.strip()
    )
    if not found or not Path(found).is_absolute():
        pytest.skip("there is no gcc with an address sanitizer")
    flags = (
        *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O1", "-g"),
        *("-Wall", "-Wextra", "-Wconversion", "-Werror", "-Wno-maybe-uninitialized"),
        # The header has sizes where the definitions have pointers.
        *("-Wno-vla-parameter", "-Wno-array-parameter"),
    )
    load_builder().build_kernels(tmp_path, flags)
    code = (
        "import pathlib, sys, pytest, fcgboost._kernels as kernels\n"
        f"kernels.FOLDER = pathlib.Path({str(tmp_path)!r})\n"
        f"sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', *{SUITES!r}]))\n"
    )
    # What Python itself never frees is not ours to report.
    environment = {"LD_PRELOAD": found, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
