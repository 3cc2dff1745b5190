"""Settings that every test shares, and which of its cases `make test` leaves to `make test-all`."""

import os
from collections import defaultdict
from zlib import crc32

import pytest
from hypothesis import settings

# Figures are drawn in memory; must be set before anything imports matplotlib.
os.environ["MPLBACKEND"] = "Agg"

# The same examples on every run, and no time limit that a busy machine could break.
settings.register_profile("quick", derandomize=True, deadline=None, max_examples=10)
settings.register_profile("thorough", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("quick")


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "covering: few cases show every value of every parameter; the others of the full "
        "product are slow",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark as slow what adds no value to the cases of a `covering` test."""
    shown = defaultdict(set)
    # In an order that mixes the parameters and does not depend on the other tests.
    for item in sorted(items, key=lambda item: crc32(item.nodeid.encode())):
        is_elsewhere = item.get_closest_marker("slow") or item.get_closest_marker("extras")
        if not item.get_closest_marker("covering") or is_elsewhere:
            continue
        # Some values cannot be hashed; each is one object in all cases that have it.
        values = {(name, id(value)) for name, value in item.callspec.params.items()}
        test = item.nodeid.partition("[")[0]
        if values <= shown[test]:
            item.add_marker(pytest.mark.slow)
        shown[test] |= values
