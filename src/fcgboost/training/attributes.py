"""Fitted attributes are set all at once or not at all.

Other threads may predict meanwhile: they see the last fit or the new one, never parts of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[Any]:
    """Yield a twin to be fitted; the estimator takes its attributes at the end, unless it fails."""
    twin = twin_of(estimator)
    yield twin
    own = {name: value for name, value in vars(estimator).items() if not name.endswith("_")}
    estimator.__dict__ = own | fitted_attributes(twin)


def twin_of(estimator: Any) -> Any:
    """Return an estimator with the attributes that this one has now."""
    twin = object.__new__(type(estimator))
    twin.__dict__ = vars(estimator).copy()
    return twin


def fitted_attributes(estimator: Any) -> dict[str, Any]:
    """Return what a fit has set."""
    return {name: value for name, value in vars(estimator).items() if name.endswith("_")}
