"""Settings that every test shares, and which of its cases `make test` leaves to `make test-all`.

Cases that are slow, or that a `covering` test can do without, are not even collected, because
collecting them takes seconds in each worker. `FCGBOOST_TESTS=all` collects them.
"""

import os
import random
import time
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.suites.covering import covering_cases

# Figures are drawn in memory; must be set before anything imports matplotlib.
os.environ["MPLBACKEND"] = "Agg"

# The same examples on every run, and no time limit that a busy machine could break.
settings.register_profile("quick", derandomize=True, deadline=None, max_examples=10)
settings.register_profile("thorough", derandomize=True, deadline=None, max_examples=50)
# Other examples on every run; what failed is kept in `.hypothesis` and tried first the next time.
settings.register_profile("explore", deadline=None, max_examples=300, print_blob=True)
settings.load_profile("quick")

# How many minutes `make explore` takes; what is not begun by then is skipped.
EXPLORE_MINUTES = os.environ.get("FCGBOOST_EXPLORE")
END = time.monotonic() + 60.0 * float(EXPLORE_MINUTES or "inf")

COLLECTS_ALL = os.environ.get("FCGBOOST_TESTS") == "all"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "covering: few cases show every value of every parameter; the others of the full "
        "product are slow",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Explore in another order on every run, the same in all workers: the last may be skipped."""
    if EXPLORE_MINUTES:
        random.Random(os.environ.get("PYTEST_XDIST_TESTRUNUID")).shuffle(items)


def pytest_runtest_setup() -> None:
    if time.monotonic() > END:
        pytest.skip("the time to explore is over")


def is_marked(metafunc: pytest.Metafunc, case, *names: str) -> bool:
    marks = [*case.marks, *metafunc.definition.iter_markers()]
    return any(mark.name in names for mark in marks)


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Iterator[None]:
    """Drop the slow cases of a test, or mark as slow those that `covering` makes so."""
    yield
    # pytest has no public name for the cases of a test before they become items.
    cases = metafunc._calls
    slow = [case for case in cases if is_marked(metafunc, case, "slow")]
    if metafunc.definition.get_closest_marker("covering"):
        candidates = [case for case in cases if not is_marked(metafunc, case, "slow", "extras")]
        covering = covering_cases([case.indices for case in candidates])
        redundant = [case for i, case in enumerate(candidates) if i not in covering]
        for case in redundant:
            case.marks.append(pytest.mark.slow.mark)
        slow += redundant
    # A test of which nothing is left would look like a test without parameters.
    if not COLLECTS_ALL and len(slow) < len(cases):
        dropped = {id(case) for case in slow}
        metafunc._calls = [case for case in cases if id(case) not in dropped]


@pytest.fixture
def same_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let fits in memory hold out the rows that fits on workers do, which have no folds."""
    from fcgboost import estimators
    from fcgboost.training import run
    from tests.suites import workers

    monkeypatch.setattr(estimators, "resolve", workers.resolve_without_folds)
    monkeypatch.setattr(run, "one_split", workers.one_split_by_limits)
    n_folds = run._n_folds
    # Whatever the size of the data, one part.
    monkeypatch.setattr(run, "_n_folds", lambda settings, data: min(1, n_folds(settings, data)))
