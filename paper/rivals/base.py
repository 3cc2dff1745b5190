"""What a rival is: how it is made, tuned and counted, and what it has learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fcgboost.evaluation import log_losses
from paper.protocol import Data

Array = NDArray[np.float64]
Params = Mapping[str, Any]
#: Of the paper's table: "paper" is the protocol in full, "thinned" what an hour allows, "quick"
#: a try.
Grid = Literal["paper", "thinned", "quick"]

_SMALLEST = 1e-15


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
    """How good labels and probabilities are."""

    accuracy: float
    brier: float
    log_loss: float


def score(judgement: Judgement, y: Array) -> Scores:
    """Compare with labels -1 and +1."""
    p, is_positive = judgement.probabilities, y > 0.0
    return Scores(
        float(np.mean((judgement.labels > 0.0) == is_positive)),
        float(np.mean((p - is_positive) ** 2)),
        float(log_losses(np.where(is_positive, p, 1.0 - p)).mean()),
    )


def rank(judgement: Judgement, y: Array) -> tuple[float, float]:
    """Return what orders choices on the validation part, the best first.

    The accuracy decides, of equal ones the likelihood of the labels. That is no log-loss for
    people: it is kept finite and not clipped further, because where a set is easy many choices
    are right and certain, and clipped as a score they would all be equal.
    """
    p, is_positive = judgement.probabilities, y > 0.0
    of_truth = np.where(is_positive, p, 1.0 - p)
    accuracy = float(np.mean((judgement.labels > 0.0) == is_positive))
    return -accuracy, float(-np.mean(np.log(np.maximum(of_truth, _SMALLEST))))


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


class Bounds(NamedTuple):
    """What keeps a rival's time within limits; 0 is no bound.

    Attributes
    ----------
    rows : int
        Training rows, and validation rows, that the grid is searched on.
    final_rows : int
        Training rows that the classifier is fitted to in the end.
    fixed : mapping
        Parameters outside the grid.
    trial : mapping
        Those of `fixed` that are lower while the grid is searched.
    """

    rows: int = 0
    final_rows: int = 0
    fixed: Params = MappingProxyType({})
    trial: Params = MappingProxyType({})


class Plan(NamedTuple):
    """What a contestant does with a set of a given size.

    Attributes
    ----------
    choices : sequence of mapping
        The grid, simplest first.
    rows : int
        Training rows, and validation rows, that the grid is searched on; 0 is all.
    trial : mapping
        Parameters that differ while the grid is searched.
    final_rows : int
        Training rows that the winner is fitted to; 0 is all.
    note : str
        What keeps the effort below that on other sets; empty if nothing does.
    """

    choices: Sequence[Params]
    rows: int = 0
    trial: Params = MappingProxyType({})
    final_rows: int = 0
    note: str = ""

    @property
    def is_refitted(self) -> bool:
        """Whether the winner of the search is not yet the final fit."""
        return bool(self.rows or self.trial)


class Terms(NamedTuple):
    """On what terms a contestant starts: the share of flipped labels, and whether to hurry."""

    noise: float = 0.0
    is_try: bool = False


class Table(NamedTuple):
    """How a rival is tuned in the paper's table, and how its size is counted there.

    Attributes
    ----------
    unit : str
        What its size counts.
    size : callable
        Counts them in a fitted classifier.
    grids : mapping
        Choices, simplest first.
    bounds : mapping
    """

    unit: str
    size: Callable[[Any], int]
    grids: Mapping[Grid, Sequence[Params]]
    bounds: Mapping[Grid, Bounds]


class Entry(NamedTuple):
    """How somebody takes part in the contest.

    Attributes
    ----------
    fit : callable
        Fits a choice to the training part; the validation part may choose how long.
    plan : callable
        From the data and the terms to a `Plan`.
    """

    fit: Callable[[Params, Data, int], Learned]
    plan: Callable[[Data, Terms], Plan]


@dataclass(frozen=True)
class Rival:
    """A method of others.

    Parameters
    ----------
    name, title : str
        In rows, and for people.
    library, package : str
        What has to be importable, and what has to be installed for it.
    make : callable or None
        Gives a scikit-learn classifier from parameters, where one is used.
    table : Table or None
        Its part in the paper's table of real data.
    folds : mapping
        The grid that folds choose from in the demo.
    contest : Entry or None
    """

    name: str
    title: str
    library: str = "sklearn"
    package: str = "scikit-learn"
    make: Callable[..., Any] | None = None
    table: Table | None = None
    folds: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    contest: Entry | None = None

    @property
    def is_installed(self) -> bool:
        """Whether its library can be imported."""
        return find_spec(self.library) is not None

    @property
    def version(self) -> str:
        """The installed version of its package."""
        return version(self.package)

    def classifier(self, **params: Any) -> Any:
        """Make a scikit-learn classifier that is not fitted yet."""
        if self.make is None:
            raise TypeError(f"{self.title} is not used as a classifier of scikit-learn.")
        return self.make(**params)
