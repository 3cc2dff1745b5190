"""The base of losses, dictionaries, selections, schemes and solvers.

A part is a parameter object: its `__init__` only stores its parameters, so that it can be cloned,
printed and tuned by a grid search. Fitting never modifies it.
"""

from __future__ import annotations

from abc import ABC
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
from sklearn.base import BaseEstimator

__all__ = ["Part", "check_choice", "check_count", "check_not_negative", "check_positive"]


class Part(BaseEstimator, ABC):
    """A parameter object."""

    def __init__(self) -> None:
        # The inherited one has a text signature, which is slow to parse when a part is printed.
        pass

    def check_parameters(self) -> None:
        """Raise a ValueError that names an invalid parameter."""


def is_ours(part: Part) -> bool:
    """Whether a part is one of this package, whose methods are known."""
    return type(part).__module__.startswith("fcgboost.")


def is_positive(value: Any) -> bool:
    """Return whether a value is a positive finite number."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and bool(0.0 < value < np.inf)


def check_positive(part: Part, *names: str) -> None:
    """Raise a ValueError unless the named parameters are positive finite numbers."""
    for name in names:
        if not is_positive(getattr(part, name)):
            refuse(part, name, "a positive number")


def check_not_negative(part: Part, *names: str) -> None:
    """Raise a ValueError unless the named parameters are finite numbers of at least 0."""
    for name in names:
        value = getattr(part, name)
        if not is_positive(value) and (isinstance(value, bool | str) or value != 0):
            refuse(part, name, "a number of at least 0")


def check_count(part: Part, *names: str) -> None:
    """Raise a ValueError unless the named parameters are positive integers."""
    for name in names:
        value = getattr(part, name)
        if not (is_positive(value) and isinstance(value, Integral)):
            refuse(part, name, "a whole number of at least 1")


def check_choice(part: Part, name: str, choices: tuple[str, ...]) -> None:
    """Raise a ValueError unless a parameter is one of the choices."""
    value = getattr(part, name)
    if not (isinstance(value, str) and value in choices):
        refuse(part, name, f"one of {list(choices)}")


def refuse(part: Part, name: str, wanted: str) -> NoReturn:
    """Raise a ValueError that says what a parameter must be."""
    value = getattr(part, name)
    raise ValueError(f"{type(part).__name__}: {name} must be {wanted}, got {value!r}.")
