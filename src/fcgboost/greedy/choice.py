"""The recipe of a path, and the choice of atoms in a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcgboost.designs.base import Design
from fcgboost.greedy.elimination import Removal
from fcgboost.greedy.outputs import Output
from fcgboost.greedy.schemes import Scheme
from fcgboost.losses import Loss
from fcgboost.selection.base import Choice, Chooser, Request, Selection
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
    design: Design,
    recipe: Recipe,
    outputs: Sequence[Output],
    chooser: Chooser,
    k: int,
) -> None:
    """Choose an atom for each output, or set the status with which it ends."""
    can_repeat = recipe.scheme.reselects or recipe.reselect
    request = Request(
        k=k,
        residuals=design.residuals([output.point for output in outputs]),
        excluded=[() if can_repeat else output.column_of for output in outputs],
        normalize=recipe.normalize,
        gains=[output.gain for output in outputs],
    )
    for output, choice in zip(outputs, chooser(request), strict=True):
        output.status = _ending(recipe, output, choice)
        output.choice = choice if output.status is None else None


def _ending(recipe: Recipe, output: Output, choice: Choice | None) -> Status | None:
    """Return why an output cannot take its choice, if so."""
    if choice is None:
        return Status.EXHAUSTED
    # No residual is larger than the one without a model.
    if choice.score <= _ROUNDING * max(output.null, output.first_score):
        return Status.ZERO_SCORE
    if choice.score < recipe.tol * output.first_score:
        return Status.TOLERANCE
    if choice.id in output.column_of and not recipe.scheme.reselects:
        return Status.STALLED
    return None
