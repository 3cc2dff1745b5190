"""What losses, dictionaries, selections, schemes and solvers have in common.

A part is a parameter object: its `__init__` stores its parameters and nothing else, so that it
can be cloned, printed and reached by a grid search, and fitting never writes on it.
"""

from __future__ import annotations

from abc import ABC
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
from sklearn.base import BaseEstimator


class Part(BaseEstimator, ABC):
    """A parameter object."""

    def __init__(self) -> None:
        # Of the one that objects inherit, Python would parse a text to print a part.
        pass

    def check_parameters(self) -> None:
        """Raise a ValueError that names a parameter with an impossible value."""


def is_positive(value: Any) -> bool:
    """Whether a value is a positive finite number."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and bool(0.0 < value < np.inf)


def check_positive(part: Part, *names: str) -> None:
    """Raise a ValueError unless some parameters are positive finite numbers."""
    for name in names:
        if not is_positive(getattr(part, name)):
            refuse(part, name, "a positive number")


def check_not_negative(part: Part, *names: str) -> None:
    """Raise a ValueError unless some parameters are 0 or positive finite numbers."""
    for name in names:
        value = getattr(part, name)
        if not is_positive(value) and (isinstance(value, bool | str) or value != 0):
            refuse(part, name, "a number of at least 0")


def check_count(part: Part, *names: str) -> None:
    """Raise a ValueError unless some parameters are whole numbers from 1 on."""
    for name in names:
        value = getattr(part, name)
        if not (is_positive(value) and isinstance(value, Integral)):
            refuse(part, name, "a whole number of at least 1")


def check_choice(part: Part, name: str, choices: tuple[str, ...]) -> None:
    """Raise a ValueError unless a parameter is one of some words."""
    value = getattr(part, name)
    if not (isinstance(value, str) and value in choices):
        refuse(part, name, f"one of {list(choices)}")


def refuse(part: Part, name: str, wanted: str) -> NoReturn:
    """Raise the ValueError that says what a parameter must be."""
    value = getattr(part, name)
    raise ValueError(f"{type(part).__name__}: {name} must be {wanted}, got {value!r}.")
