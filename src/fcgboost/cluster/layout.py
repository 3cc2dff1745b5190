"""From rows on workers to a fit: classes, rows set aside, units, the design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from fcgboost.clipping import Limits
from fcgboost.cluster.design import ClusterDesign, Workers, add_up
from fcgboost.designs.base import Array
from fcgboost.designs.moments import Moments
from fcgboost.greedy.path import StepScore
from fcgboost.greedy.schemes import FullyCorrective
from fcgboost.losses import CurvedLoss
from fcgboost.solvers import NewtonSolver
from fcgboost.stopping import Step
from fcgboost.training.checks import check_labels, class_weights
from fcgboost.training.dataset import check_some_weight, check_two_classes
from fcgboost.training.fit import Fit, Layout
from fcgboost.training.resume import FitState, find_state
from fcgboost.training.settings import Settings


def check_supported(settings: Settings) -> None:
    """Raise a ValueError for settings that a cluster does not have."""
    scheme, loss, atoms = settings.scheme, settings.loss, settings.dictionary
    device, scoring = settings.device, settings.scoring
    solver = scheme.solver if isinstance(scheme, FullyCorrective) else None
    is_accuracy = scoring is None or (isinstance(scoring, str) and scoring == "accuracy")
    for is_there, what, why, instead in (
        (solver is not None, scheme, "there is full correction only", "scheme='fully_corrective'"),
        (isinstance(loss, CurvedLoss), loss, "losses must be curved", "loss='squared_hinge'"),
        (isinstance(solver, NewtonSolver), solver, "nobody has all rows", "solver='newton'"),
        (not atoms.corrects_leaves, atoms, "leaves are not corrected", "corrects_leaves=False"),
        (device == "cpu", f"device={device!r}", "workers use processors", "device='cpu'"),
        (settings.link != "power", "link='power'", "nobody has all values", "link='theory'"),
        (is_accuracy, f"scoring={scoring!r}", "steps are scored by accuracy", "scoring=None"),
        (settings.time_limit is None, "time_limit", "rounds have no clock", "max_iter"),
    ):
        if not is_there:
            raise ValueError(f"{what} is not for a Dask cluster, where {why}: use {instead}.")


def prepare(
    settings: Settings, workers: Workers, has_validation_data: bool, last: FitState | None
) -> Fit:
    """Return the fit to the rows of workers, which may go on from the last one."""
    classes, width, is_sparse = _find_classes(workers, has_validation_data)
    fraction, encode = settings.validation_fraction, ("encode", classes)
    answers = [workers.ask(*encode, lasts=True), workers.ask_validation(*encode, lasts=True)]
    digests = [add_up(parts) for parts in answers if parts]
    state = find_state(settings, classes, digests, (width, is_sparse), last)
    if fraction is not None:
        _set_aside(workers, len(classes), fraction, state.key)
    design, limits = _lay_out(settings, workers, classes)
    validator = None
    if has_validation_data or fraction is not None:
        validator = _validator(workers, design, limits, len(classes))
    positives = [1] if len(classes) == 2 else range(len(classes))
    return Fit.of(settings, Layout(classes, design, positives, validator, limits), state)


def _find_classes(workers: Workers, has_validation_data: bool) -> tuple[NDArray[Any], int, bool]:
    """Return the classes of all rows of positive weight, their width, and whether sparse."""
    answers = workers.ask("survey")
    check_some_weight(np.array([len(answers)]), "sample_weight")
    labels, widths, are_sparse = zip(*answers, strict=True)
    if len(set(are_sparse)) > 1:
        raise ValueError(
            "Some partitions of X are sparse and some are not: make them all alike, for example by "
            "X.map_blocks(scipy.sparse.csr_array)."
        )
    classes, _ = check_labels(_united(labels))
    check_two_classes(classes)
    if has_validation_data:
        answers = workers.ask_validation("survey")
        check_some_weight(np.array([len(answers)]), "sample_weight_val")
        check_labels(_united([labels for labels, *_ in answers]), classes)
    return classes, widths[0], are_sparse[0]


def _united(labels: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the labels of all partitions."""
    numbers = [some for some in labels if some.dtype.kind in "biuf"]
    if 0 < len(numbers) < len(labels):
        other = next(some for some in labels if some.dtype.kind not in "biuf")
        raise ValueError(
            f"Labels are numbers in some partitions and not in others ({numbers[0].tolist()[0]!r} "
            f"and {other.tolist()[0]!r}): make them all of one kind."
        )
    return np.unique(np.concatenate(labels))


def _set_aside(workers: Workers, n_classes: int, fraction: float, key: int) -> None:
    """Set rows aside for validation, as `dataset.split_data` does, without looking at them here.

    Of every class those with the smallest hashes go. The last one that goes is found byte by byte.
    """
    last, before = np.zeros(n_classes, dtype=np.uint64), np.zeros(n_classes)
    wanted, everyone = np.zeros(n_classes), np.arange(n_classes)
    for n_bits in range(0, 64, 8):
        counts: Array = add_up(workers.ask("histogram", key, last, n_bits))
        wanted = fraction * counts.sum(axis=1) if n_bits == 0 else wanted
        reached = before[:, None] + np.cumsum(counts, axis=1)
        is_enough = reached >= wanted[:, None]
        # The byte at which so much is reached; the last one of all if rounding hides it.
        byte = np.where(is_enough.any(axis=1), is_enough.argmax(axis=1), 255)
        before = reached[everyone, byte] - counts[everyone, byte]
        last |= byte.astype(np.uint64) << np.uint64(56 - n_bits)
    # Every class keeps its last distinct row for training.
    largest = np.max(workers.ask("largest_hashes", key, n_classes), axis=0)
    last = np.minimum(last, largest - np.uint64(1))
    if not workers.round("set_aside", key, last, lasts=True):
        raise ValueError(
            f"validation_fraction={fraction} leaves no row for validation: every class keeps at "
            "least one distinct row for training."
        )


def _lay_out(
    settings: Settings, workers: Workers, classes: NDArray[Any]
) -> tuple[ClusterDesign, Limits | None]:
    """Find out what rows are clipped to, and lay the dictionary over them."""
    dictionary, standardize = settings.dictionary, settings.standardize
    totals = add_up(workers.ask("class_totals", len(classes)))
    per_class = class_weights(settings.class_weight, classes, totals)
    moments: Moments = add_up(workers.ask("moments", per_class))
    limits = None
    if settings.clip is not None:
        limits = moments.limits(settings.clip, add_up(workers.ask("zeros")))
        limits = limits.without(dictionary.categories(len(moments.mean)))
        moments = add_up(workers.ask("moments", per_class, limits))
    budget = int(sklearn.get_config()["working_memory"] * 2**20)
    question = (budget, standardize, limits, dictionary, moments, per_class)
    laid = workers.round("lay", *question, lasts=True)
    design = ClusterDesign(workers, dictionary, moments, standardize, totals * per_class, laid)
    return design, limits


def _validator(
    workers: Workers, design: ClusterDesign, limits: Limits | None, n_classes: int
) -> StepScore:
    """Return what finds the accuracy of a step on validation rows."""
    question = (limits, design.dictionary, design.scale, n_classes)
    workers.ask_validation("judge", *question, lasts=True)
    total = float(add_up(workers.ask_validation("class_totals", n_classes)).sum())

    def accuracy(step: Step, atoms: Sequence[Any]) -> float:
        return float(add_up(workers.ask_validation("hits", step, list(atoms)))) / total

    return accuracy
