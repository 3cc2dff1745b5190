"""From rows on workers to a fit: classes, rows set aside, units, the design."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from fcgboost.clipping import Limits
from fcgboost.dask.design import DaskDesign, Workers, add_up
from fcgboost.dask.shard import Survey
from fcgboost.designs.base import Array
from fcgboost.designs.moments import Moments
from fcgboost.losses import CurvedLoss
from fcgboost.schemes import FullyCorrective
from fcgboost.solvers import NewtonSolver
from fcgboost.stopping import Step
from fcgboost.training.checks import check_labels, class_weights
from fcgboost.training.dataset import check_some_weight
from fcgboost.training.fit import Fit, Layout
from fcgboost.training.resume import Identity, Start, identify
from fcgboost.training.settings import Settings

_BYTES = 8


def check_supported(settings: Settings) -> None:
    """Raise a ValueError for settings that a cluster does not have."""
    scheme, loss = settings.scheme, settings.loss
    if not isinstance(scheme, FullyCorrective):
        raise ValueError(
            f"{type(scheme).__name__} moves along one atom, and a Dask cluster has full correction "
            "only: use scheme='fully_corrective', or FCGBoostClassifier for data in memory."
        )
    if not isinstance(loss, CurvedLoss):
        raise ValueError(
            f"{type(loss).__name__} has no second derivative, which correction on a Dask cluster "
            "needs: use loss='squared_hinge', or FCGBoostClassifier for data in memory."
        )
    if not isinstance(scheme.solver, NewtonSolver):
        raise ValueError(
            f"{type(scheme.solver).__name__} needs all rows in one place, and on a Dask cluster "
            "they are on the workers: use solver='newton'."
        )
    if settings.device != "cpu":
        raise ValueError(
            f"device={settings.device!r}: on a Dask cluster rows are on the workers' processors; "
            "use device='cpu'."
        )
    if settings.needs_link:
        raise ValueError(
            "link='power' needs the decision values of validation data in one place; on a Dask "
            "cluster probabilities are those of the loss: use link='auto' or 'theory'."
        )
    if not (settings.scoring is None or settings.scoring == "accuracy"):
        raise ValueError(
            f"scoring={settings.scoring!r} needs all decision values in one place; on a Dask "
            "cluster the score on validation data is accuracy: use scoring=None."
        )


class DaskValidator:
    """Accuracy on validation rows of workers, whose weight is known."""

    def __init__(self, workers: Workers, weight: float) -> None:
        self._workers, self._weight, self._n_atoms = workers, weight, 0

    def __call__(self, step: Step, atoms: Sequence[Any]) -> float:
        """Send the new atoms and all coefficients; add up the hits."""
        new, self._n_atoms = list(atoms[self._n_atoms :]), len(atoms)
        return float(add_up(self._workers.ask_validation("hits", step, new))) / self._weight


def prepare(
    settings: Settings,
    workers: Workers,
    has_validation_data: bool,
    start_of: Callable[[Identity], Start],
) -> Fit:
    """Return the fit to the rows of workers.

    Parameters
    ----------
    settings : Settings
    workers : Workers
    has_validation_data : bool
    start_of : callable
        Says where the path starts, once it is known which data it is.
    """
    classes, survey = _find_classes(workers, has_validation_data)
    start = start_of(_identity(settings, workers, classes, survey))
    fraction = settings.validation_fraction
    if fraction is not None:
        _set_aside(workers, len(classes), fraction, start.key)
    totals = add_up(workers.ask("class_totals", len(classes)))
    per_class = class_weights(settings.class_weight, classes, totals)
    moments: Moments = add_up(workers.ask("moments", per_class))
    limits = None
    if settings.clip is not None:
        limits = moments.limits(settings.clip, add_up(workers.ask("zeros")))
        limits = limits.without(settings.dictionary.categories(survey.n_features))
        workers.ask("clip", limits)
        moments = add_up(workers.ask("moments", per_class))
    budget = int(sklearn.get_config()["working_memory"] * 2**20)
    dictionary, standardize = settings.dictionary, settings.standardize
    laid = workers.round("lay", dictionary, moments, per_class, standardize, budget)
    design = DaskDesign(workers, dictionary, moments, standardize, totals * per_class, laid)
    validator = None
    if has_validation_data or fraction is not None:
        validator = _validator(workers, design, len(classes), limits)
    positives = [1] if len(classes) == 2 else range(len(classes))
    return Fit.of(settings, Layout(classes, design, positives, validator, limits), start)


def _validator(
    workers: Workers, design: DaskDesign, n_classes: int, limits: Limits | None
) -> DaskValidator:
    if limits is not None:
        workers.ask_validation("clip", limits)
    workers.ask_validation("judge", design.dictionary, design.scale, n_classes)
    totals: Array = add_up(workers.ask_validation("class_totals", n_classes))
    return DaskValidator(workers, float(totals.sum()))


def _find_classes(workers: Workers, has_validation_data: bool) -> tuple[NDArray[Any], Survey]:
    """Return the classes of all rows of positive weight, and what else was seen."""
    answers = workers.ask("survey")
    check_some_weight(np.array([len(answers)]), "sample_weight")
    survey: Survey = add_up(answers)
    classes, _ = check_labels(survey.labels)
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class ({classes.tolist()[0]!r}) among the rows of positive weight; a "
            "classifier needs at least two classes."
        )
    if has_validation_data:
        answers = workers.ask_validation("survey")
        check_some_weight(np.array([len(answers)]), "sample_weight_val")
        unknown = sorted(set(add_up(answers).labels.tolist()) - set(classes.tolist()))
        if unknown:
            raise ValueError(
                f"y_val has labels that y does not have: {unknown}. The training labels are "
                f"{classes.tolist()}."
            )
    return classes, survey


def _identity(
    settings: Settings, workers: Workers, classes: NDArray[Any], survey: Survey
) -> Identity:
    """Replace labels by codes, and return what says whether data and settings are the same."""
    training, validation = workers.ask("encode", classes), workers.ask_validation("encode", classes)
    kind = (survey.n_features, settings.validation_fraction, survey.is_sparse)
    held_out = add_up(validation) if validation else None
    return identify(classes, add_up(training), held_out, kind, settings.described)


def _set_aside(workers: Workers, n_classes: int, fraction: float, key: int) -> None:
    """Set rows aside for validation, as `dataset.hash_split` does, without looking at them here.

    Of every class those with the smallest hashes go. The last one that goes is found byte by byte.
    """
    last, before = np.zeros(n_classes, dtype=np.uint64), np.zeros(n_classes)
    wanted, everyone = np.zeros(n_classes), np.arange(n_classes)
    for n_known in range(_BYTES):
        counts: Array = add_up(workers.ask("histogram", key, last, n_known))
        wanted = fraction * counts.sum(axis=1) if n_known == 0 else wanted
        reached = before[:, None] + np.cumsum(counts, axis=1)
        is_enough = reached >= wanted[:, None]
        # The byte at which so much is reached; the last one of all if rounding hides it.
        byte = np.where(is_enough.any(axis=1), is_enough.argmax(axis=1), 255)
        before = reached[everyone, byte] - counts[everyone, byte]
        last |= byte.astype(np.uint64) << np.uint64(56 - 8 * n_known)
    # Every class keeps its last distinct row for training.
    largest = np.max(workers.ask("largest_hashes", key, n_classes), axis=0)
    if not workers.round("set_aside", key, np.minimum(last, largest - np.uint64(1))):
        raise ValueError(
            f"validation_fraction={fraction} leaves no row for validation: every class keeps at "
            "least one distinct row for training."
        )
