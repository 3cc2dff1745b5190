"""What a contestant has learned, and what is measured of it.

Seconds are processor time, child processes included: everybody runs on one thread, so they are
what a clock would say on a machine with nothing else to do.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Params = Mapping[str, Any]

#: Probabilities are kept so far away from 0 and 1 before their logarithm is taken.
CLIP = 1e-15


class Judgement(NamedTuple):
    """Labels -1 and +1, and probabilities of +1."""

    labels: Array
    probabilities: Array


@dataclass(frozen=True)
class Learned:
    """A fitted classifier.

    Parameters
    ----------
    judge : callable
        From rows to a `Judgement`.
    n_parts : int
        Trees, atoms or support vectors.
    count : callable
        Gives the numbers that the model stores: for trees a feature and a threshold per split
        and a value per leaf, for a sum of atoms its coefficients and the atoms' parameters.
    file : callable
        Gives the model in its own file format.
    chosen : mapping
        What the validation part chose within the fit, such as the number of trees.
    note : str
        How the fit differs from what was declared; empty if it does not.
    """

    judge: Callable[[Array], Judgement]
    n_parts: int
    count: Callable[[], int]
    file: Callable[[], bytes]
    chosen: Params = field(default_factory=dict)
    note: str = ""


class Scores(NamedTuple):
    """How good labels and probabilities are: log-loss with natural logarithms."""

    accuracy: float
    brier: float
    log_loss: float


def score(judgement: Judgement, y: Array) -> Scores:
    """Compare with labels -1 and +1."""
    p, is_positive = judgement.probabilities, y > 0.0
    right = np.clip(np.where(is_positive, p, 1.0 - p), CLIP, 1.0 - CLIP)
    return Scores(
        float(np.mean((judgement.labels > 0.0) == is_positive)),
        float(np.mean((p - is_positive) ** 2)),
        float(-np.mean(np.log(right))),
    )


def by_log_odds(odds: Array) -> Judgement:
    """Judge by the logarithm of the odds of +1."""
    odds = np.asarray(odds, dtype=np.float64)
    # tanh overflows nowhere.
    return Judgement(np.where(odds > 0.0, 1.0, -1.0), 0.5 * (1.0 + np.tanh(0.5 * odds)))


def by_probability(p: Array) -> Judgement:
    """Judge by the probability of +1."""
    p = np.asarray(p, dtype=np.float64)
    return Judgement(np.where(p > 0.5, 1.0, -1.0), p)


def tree_numbers(n_leaves: int) -> int:
    """Count what a binary tree stores: two numbers a split and one a leaf."""
    return 2 * (n_leaves - 1) + n_leaves


def busy_seconds() -> float:
    """Give the processor time of this process and of those it waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def needs(library: str) -> ImportError:
    """Say how to get a library that is not there."""
    return ImportError(f"The contest needs {library}: python -m pip install 'fcgboost[study]'.")
