"""The recipe of a path, and the choice of atoms in a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcgboost.designs.base import Design, Divisor
from fcgboost.greedy.elimination import Removal
from fcgboost.greedy.outputs import Output
from fcgboost.greedy.schemes import Scheme
from fcgboost.losses import Loss
from fcgboost.selection.fixed import Choice, Chooser, Request, Selection
from fcgboost.selection.gain import Gain
from fcgboost.stopping import Status

# A score below this share of the first score, or of the loss without a model, is rounding.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Recipe:
    """All that the loop needs besides the data."""

    loss: Loss
    scheme: Scheme
    selection: Selection
    #: The size of a fixed dictionary.
    n_candidates: int
    #: The step limit, which is also the capacity for columns.
    max_iter: int
    l2: float
    fit_intercept: bool
    normalize: bool
    reselect: bool
    #: An output ends once its best score falls below tol times the first one.
    tol: float
    #: The seed of all draws.
    key: int
    removal: Removal | None = None
    #: Further ridge penalties with which the same atoms are corrected.
    other_l2: tuple[float, ...] = ()


def choose(
    design: Design, recipe: Recipe, outputs: Sequence[Output], chooser: Chooser, k: int
) -> None:
    """Choose an atom for each output, or set the status with which it ends."""
    divisor: Divisor = "norm" if recipe.normalize else design.dictionary.scaling
    repeats = recipe.scheme.reselects or recipe.reselect
    request = Request(
        k=k,
        points=[output.point(recipe.scheme, k) for output in outputs],
        excluded=[() if repeats else output.places for output in outputs],
        divisor=divisor,
        gains=[Gain(o.problem.l2, recipe.fit_intercept, design.total_weight) for o in outputs],
    )
    for output, choice in zip(outputs, chooser(request), strict=True):
        output.choice = choice
        output.status = _ending(recipe, output, choice)


def _ending(recipe: Recipe, output: Output, choice: Choice | None) -> Status | None:
    """Return why an output cannot take its choice, if so."""
    if choice is None:
        return Status.EXHAUSTED
    # No residual is larger than the one without a model.
    if choice.score <= _ROUNDING * max(output.null, output.first_score):
        return Status.ZERO_SCORE
    if choice.score < recipe.tol * output.first_score:
        return Status.TOLERANCE
    if choice.id in output.places and not recipe.scheme.reselects:
        return Status.STALLED
    return None
