"""Names of columns that are not there, and those that may be meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def closest(name: str, names: Iterable[str]) -> str | None:
    """Give the name that is most like another one, in whatever case; None if none is like it."""
    lower = {known.lower(): known for known in names}
    close = get_close_matches(name.lower(), lower, n=1)
    return lower[close[0]] if close else None
