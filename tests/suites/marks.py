"""What `make test` leaves to `make test-all`."""

import pytest


def also(*values):
    """Give the values of a parameter (tuples: of several) that only `make test-all` tries."""
    cases = [value if isinstance(value, tuple) else (value,) for value in values]
    return [pytest.param(*case, marks=pytest.mark.slow) for case in cases]
