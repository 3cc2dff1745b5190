"""Made-up rows of the experiments that are not in the paper."""

from itertools import product
from typing import Any

import numpy as np

from paper.contest.frames import METHODS as FRAME_METHODS
from paper.data.tables import TABLES
from paper.experiments.atoms import CRITERIA, HALF, HALF_WAYS, WAYS
from paper.experiments.calibration import LINKS
from paper.experiments.calibration import OURS as OUR_LINKS
from paper.experiments.calibration import RIVALS as CALIBRATED
from paper.experiments.gaps import RATES
from paper.experiments.gaps import SETS as GAP_SETS
from paper.experiments.leaves import SMALL_SETS
from paper.experiments.robustness import (
    DEFAULT,
    LOSSES,
    NOISES,
    OPTIONS,
    OURS,
    REAL_SETS,
    RIVALS,
    SIMULATION,
)
from paper.experiments.uci import SETS

Rows = list[dict[str, Any]]
COUNTS = {"row_limit": 0, "n_train": 500, "n_test": 250}


def robustness(random: np.random.Generator) -> Rows:
    """Give rows in which every option is as good as the default."""
    models = (DEFAULT, *OPTIONS, *LOSSES, *RIVALS)
    return [
        {
            **{"dataset": name, "noise": noise, "repetition": repetition, "model": model},
            **{"method": OURS if model in (DEFAULT, *OPTIONS) else model, **COUNTS},
            **{"accuracy": 0.9 - noise / 4 - 0.001 * random.uniform(), "amount": 0.1},
            "validation_accuracy": 0.9 - noise,
        }
        for repetition, name, noise, model in product(
            range(3), (SIMULATION, *REAL_SETS), NOISES, models
        )
    ]


def calibration(random: np.random.Generator) -> Rows:
    """Give rows in which the logistic link lowers all scores."""
    return [
        {
            **{"dataset": name, "repetition": repetition, "model": model, **COUNTS},
            **{"method": OUR_LINKS if model in LINKS else model, "parameters": "a=3"},
            "brier": 0.1 - 0.01 * (model == "logistic") + 0.001 * random.uniform(),
            "log_loss": 0.3 - 0.02 * (model == "logistic") + 0.001 * random.uniform(),
            "calibration_error": 0.05,
        }
        for repetition, name, model in product(range(3), SETS, (*LINKS, *CALIBRATED))
    ]


def atoms(random: np.random.Generator) -> Rows:
    """Give rows in which learned atoms are a third as many.

    Half as many random ones are worse by two points, half as many learned ones better by one.
    """
    factors = {"random": 1.0, "again": 1.2, "learned": 0.3}
    rows = [
        {
            **{"dataset": name, "repetition": repetition, "row_limit": 0, "n_train": 500},
            **{"criterion": criterion, "way": way, "score": 0.9, "strength": 0.1},
            **{"k": round(100 * factors[way] + random.uniform()), "test_accuracy": 0.9},
            **{"own_k": 120, "own_score": 0.91, "own_test_accuracy": 0.9, "own_strength": 0.1},
        }
        for repetition, name, criterion, way in product(range(3), SETS, CRITERIA, WAYS)
    ]
    gains = {"random": 0.0, "halved": -0.02, "learned": 0.01}
    return rows + [
        {
            **{"dataset": name, "repetition": repetition, "row_limit": 0, "n_train": 500},
            **{"criterion": HALF, "way": way, "score": 0.9, "strength": 0.1},
            **{"k": 100 if way == "random" else 45},
            "test_accuracy": 0.9 + gains[way] + 0.001 * random.uniform(),
            **{"own_k": 120, "own_score": 0.91, "own_test_accuracy": 0.9, "own_strength": 0.1},
        }
        for repetition, name, way in product(range(3), SETS, HALF_WAYS)
    ]


def leaves(random: np.random.Generator) -> Rows:
    """Give rows in which leaves are better on the training part and worse on the test part."""
    models = {"trees": 0.0, "leaves": 0.03, "near_trees": 0.02, "rgf": 0.01}
    return [
        {
            **{"dataset": name, "repetition": repetition, "model": model, **COUNTS},
            **{"method": "rgf" if model == "rgf" else "fcg", "strength": 0.1, "n_trees": 30},
            "accuracy": 0.9 - gap - 0.001 * random.uniform(),
            "squared_hinge": 0.3 + gap + 0.001 * random.uniform(),
            **{"training_squared_hinge": 0.1 - gap, "training_accuracy": 0.95},
            **{"validation_score": 0.7, "n_coefficients": 30 if model == "trees" else 600},
        }
        for repetition, name, (model, gap) in product(range(3), SMALL_SETS, models.items())
    ]


def tables(random: np.random.Generator) -> Rows:
    """Give rows in which ours is best, then as in the order of the methods, and fast."""
    return [
        {
            **{"dataset": name, "repetition": repetition, "method": method, **COUNTS},
            "log_loss": 0.3 + 0.01 * i + 0.001 * random.uniform(),
            "auc": 0.9 - 0.01 * i - 0.001 * random.uniform(),
            **{"accuracy": 0.8, "brier": 0.1, "seconds": 1.0 + i, "seconds_predict": 0.01},
            **{"stored_numbers": 100, "n_parts": 10, "parameters": "trees=10", "n_choices": 3},
            "deviation": "no trees of depth 8" if method == "catboost_tuned" else "",
        }
        for repetition, name, (i, method) in product(range(3), TABLES, enumerate(FRAME_METHODS))
    ]


def gaps(random: np.random.Generator) -> Rows:
    """Give rows in which ours is a fifth of a point below CatBoost and above the other."""
    lead = {"fcg": 0.0, "catboost": 0.002, "hist_gradient_boosting": -0.01}
    return [
        {
            **{"dataset": name, "repetition": repetition, "method": method, "rate": rate, **COUNTS},
            "accuracy": 0.9 - rate / 4 + lead[method] + 0.0001 * random.uniform(),
            **{"log_loss": 0.3, "auc": 0.9, "seconds": 1.0},
        }
        for repetition, name, rate, method in product(range(3), GAP_SETS, RATES, lead)
    ]


MAKERS = {
    "robustness": robustness,
    "calibration": calibration,
    "atoms": atoms,
    "leaves": leaves,
    "tables": tables,
    "gaps": gaps,
}
