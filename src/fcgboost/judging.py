"""How a step of a path is judged on validation data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import check_scoring

from fcgboost.designs.blocks import row_blocks
from fcgboost.designs.memory import MemoryDesign
from fcgboost.data import DataSet
from fcgboost.grounds import make_targets
from fcgboost.inputs import Limits
from fcgboost.known import KnownDecision, scorer_options
from fcgboost.losses import Loss, SquaredHinge
from fcgboost.prediction import winners
from fcgboost.presets import preset_of
from fcgboost.trace import Validator
from fcgboost.validation import Array

# What a unit of the squared hinge counts beside the accuracy of a preset.
_LOSS_SHARE = 0.5
# Rows that are evaluated at once hold so many numbers: they stay in the cache.
_BLOCK_ENTRIES = 1 << 17


def make_validator(
    p: Any,
    design: MemoryDesign,
    loss: Loss,
    classes: NDArray[Any],
    data: DataSet,
    limits: Limits | None,
) -> Validator:
    """Return what scores the steps of one path on validation data."""
    # A function of the user's sees the rows as they were written.
    data = data if data.written is None else data.written
    X = data.within(limits).X
    score = make_scorer(p, data, classes, loss)
    dictionary, scale = design.dictionary, design.scale
    width = 1 if sparse.issparse(X) else X.shape[1]
    blocks = row_blocks(X.shape[0], _BLOCK_ENTRIES // max(1, width))

    def evaluate(atom: Any) -> Array:
        parts = [dictionary.evaluate(X[rows], atom, scale) for rows in blocks]
        return np.asarray(parts[0] if len(parts) == 1 else np.concatenate(parts))

    return Validator(evaluate, score)


def make_scorer(
    p: Any, data: DataSet, classes: NDArray[Any], loss: Loss
) -> Callable[[Array], float]:
    """Return a function from decision values on validation data to a score."""
    if p.scoring is None:
        # Rows that weigh the same count as 1: equal shares are then equal numbers.
        units, codes = data.weights / data.weights.max(), np.arange(len(classes))
        total = float(units.sum())

        def accuracy(decision: Array) -> float:
            values = decision[:, 0] if len(classes) == 2 else decision
            return float(units[winners(values, codes) == data.codes].sum()) / total

        return accuracy if preset_of(p.dictionary) is None else _steadied(accuracy, data, classes)
    scorer = check_scoring(KnownDecision(loss), scoring=p.scoring)
    y = classes[data.codes]
    options = scorer_options(scorer, data.weights)

    def score(decision: Array) -> float:
        values = decision[:, 0] if len(classes) == 2 else decision
        value = float(scorer(KnownDecision(loss, classes, values), data.X, y, **options))
        if np.isnan(value):
            raise ValueError(
                f"scoring={p.scoring!r} is not defined on the validation data (it gave NaN): does "
                "every class occur there?"
            )
        return value

    return score


def _steadied(
    accuracy: Callable[[Array], float], data: DataSet, classes: NDArray[Any]
) -> Callable[[Array], float]:
    """Return the accuracy less half the squared hinge, which breaks ties of accuracies.

    The accuracy of some hundred rows alone is too coarse to choose by.
    """
    targets = np.column_stack(make_targets(data.codes, len(classes)))
    shares, loss = data.weights / data.weights.sum(), SquaredHinge()

    def score(decision: Array) -> float:
        losses = loss.value(targets, decision)
        return accuracy(decision) - _LOSS_SHARE * float((shares @ losses).mean())

    return score
