"""The layout of rows on workers: classes, splits, the design, and scores of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from fcgboost.calibration import HeldOut
from fcgboost.cluster.design import ClusterDesign, count_distinct, first_rows, merged
from fcgboost.cluster.workers import Rows, Workers
from fcgboost.designs.base import Array
from fcgboost.designs.moments import find_limits
from fcgboost.dictionaries import Dictionary
from fcgboost.greedy.path import StepScore
from fcgboost.greedy.schemes import FullyCorrective
from fcgboost.losses import CurvedLoss
from fcgboost.model import Model
from fcgboost.solvers import NewtonSolver
from fcgboost.stopping import Step
from fcgboost.tables.columns import Column
from fcgboost.tables.inputs import (
    Inputs,
    has_categories,
    learn_inputs,
    n_median_rows,
    number_columns,
    plain_inputs,
    with_others,
    words_of,
)
from fcgboost.tables.learning import NumberFacts
from fcgboost.training.checks import check_columns, check_labels, class_weights, warn_of_shares
from fcgboost.training.dataset import can_be_split, check_some_weight, check_two_classes
from fcgboost.training.fit import Fit, Layout
from fcgboost.training.resume import FitState, find_state
from fcgboost.training.scoring import steadied
from fcgboost.training.settings import Settings

# Medians for missing values are those of all rows, or of a sample of about this size.
_ENOUGH_FOR_MEDIANS = 1 << 14


def check_supported(settings: Settings) -> None:
    """Raise a ValueError for settings that clusters do not support."""
    scheme, loss = settings.scheme, settings.loss
    device, scoring = settings.device, settings.scoring
    solver = scheme.solver if isinstance(scheme, FullyCorrective) else None
    is_accuracy = scoring is None or (isinstance(scoring, str) and scoring == "accuracy")
    for is_there, what, why, instead in (
        (solver is not None, scheme, "correction is always full", "scheme='fully_corrective'"),
        (isinstance(loss, CurvedLoss), loss, "losses must be curved", "loss='squared_hinge'"),
        (isinstance(solver, NewtonSolver), solver, "no process has all rows", "solver='newton'"),
        (device == "cpu", f"device={device!r}", "workers compute on CPUs", "device='cpu'"),
        (is_accuracy, f"scoring={scoring!r}", "steps are scored by accuracy", "scoring=None"),
        (settings.time_limit is None, "time_limit", "fits are not timed", "max_iter"),
        (not settings.metrics, "metrics", "no process has all rows", "truncate(k) and score"),
    ):
        if not is_there:
            raise ValueError(
                f"{what} is not supported on a Dask cluster, where {why}: use {instead}."
            )


def prepare(
    settings: Settings,
    workers: Workers,
    readers: Sequence[Column | str],
    has_validation_data: bool,
    last: FitState | None,
) -> Fit:
    """Return the fit to rows on workers, which may continue the last one."""
    given = [Rows(workers, place) for place in range(1 + has_validation_data)]
    classes, width, is_sparse = _find_classes(given)
    digests = [rows.ask("encode", classes, lasts=True) for rows in given]
    train = given[0]._replace(n_rows=digests[0].n_rows)
    validation = given[1] if has_validation_data else None
    kind = width, is_sparse, *words_of(readers)
    state = find_state(settings, classes, digests, kind, last)
    # Equal rows of different partitions count once, as in memory.
    n_rows = count_distinct(train, by_class=True) if settings.is_preset else train.n_rows
    settings = settings.at(n_rows, width if is_sparse else 0, has_categories(readers))
    if settings.validation_fraction is not None:
        whole, fraction = train, settings.validation_fraction
        train, validation = _set_aside(whole, len(classes), fraction, state.key)
        workers.round("forget", [whole.place], owner=(whole.place,))
    known = None if is_sparse else readers
    layout = check_columns(_lay_out(settings, classes, train, validation, known))
    return Fit.of(settings, layout, state)


def _find_classes(given: Sequence[Rows]) -> tuple[NDArray[Any], int, bool]:
    """Return the classes, the number of columns, and whether rows are sparse."""
    found = [rows.ask("survey") for rows in given]
    for answer, name in zip(found, ("sample_weight", "sample_weight_val"), strict=False):
        check_some_weight(np.array([answer is not None]), name)
    labels, widths, are_sparse, totals, n_rows = found[0]
    warn_of_shares(sum(totals), sum(n_rows), stacklevel=6)
    if len(set(are_sparse)) > 1:
        raise ValueError(
            "Some partitions of X are sparse and some are not: convert all, for example with "
            "X.map_blocks(scipy.sparse.csr_array)."
        )
    classes, _ = check_labels(_united(labels))
    check_two_classes(classes)
    for others, *_ in found[1:]:
        check_labels(_united(others), classes)
    return classes, widths[0], are_sparse[0]


def _united(labels: Sequence[NDArray[Any]]) -> NDArray[Any]:
    numbers = [some for some in labels if some.dtype.kind in "biuf"]
    if 0 < len(numbers) < len(labels):
        other = next(some for some in labels if some.dtype.kind not in "biuf")
        raise ValueError(
            f"Labels are numbers in some partitions and not in others ({numbers[0].tolist()[0]!r} "
            f"and {other.tolist()[0]!r}): convert all to one type."
        )
    return np.unique(np.concatenate(labels))


def _set_aside(
    rows: Rows, n_classes: int, fraction: float, key: int, n_places: int = 2
) -> list[Rows]:
    """Split rows on the workers as `dataset.split_data` does; return the new places.

    In each class, rows with the smallest hashes are held out; the last hash is found byte by byte.
    """
    last, before = np.zeros(n_classes, dtype=np.uint64), np.zeros(n_classes)
    wanted, everyone = np.zeros(n_classes), np.arange(n_classes)
    for n_bits in range(0, 64, 8):
        counts: Array = rows.ask("histogram", key, last, n_bits)
        wanted = fraction * counts.sum(axis=1) if n_bits == 0 else wanted
        reached = before[:, None] + np.cumsum(counts, axis=1)
        is_enough = reached >= wanted[:, None]
        # The byte at which enough is reached; the last one if rounding hides it.
        byte = np.where(is_enough.any(axis=1), is_enough.argmax(axis=1), 255)
        before = reached[everyone, byte] - counts[everyone, byte]
        last |= byte.astype(np.uint64) << np.uint64(56 - n_bits)
    # Each class keeps its last distinct row for training.
    largest = np.max(rows.ask("largest_hashes", key, n_classes), axis=0)
    last = np.minimum(last, largest - np.uint64(1))
    places = [next(rows.workers.places) for _ in range(n_places)]
    sizes = rows.workers.round("split", rows.place, places, key, last, owner=(places[0],))
    if 0 in sizes:
        raise ValueError(
            f"validation_fraction={fraction} leaves no row for validation: each class keeps at "
            "least one distinct row for training, so pass more rows, or X_val and y_val."
        )
    return [Rows(rows.workers, *new) for new in zip(places, sizes, strict=True)]


@dataclass(frozen=True)
class ClusterLayout(Layout):
    """Rows on workers; `places` are those to free with it. Sparse rows have no readers."""

    train: Rows
    validation: Rows | None
    class_weights: Array
    readers: Sequence[Column | str] | None
    places: tuple[int, ...] = ()

    def can_be_split(self, needs_all: bool) -> bool:
        words = map(np.concatenate, self.train.ask("some_words", len(self.classes)))
        return can_be_split(np.array([len(np.unique(own)) for own in words]), needs_all)

    def split(self, settings: Settings, share: float, n_enough: int, key: int) -> ClusterLayout:
        rows, n_classes, kept = self.train, len(self.classes), n_enough / self.train.n_rows
        if kept < 1.0:
            (rows,) = _set_aside(rows, n_classes, 1.0 - kept, key >> 1, n_places=1)
        train, aside = _set_aside(rows, n_classes, share, key)
        layout = _lay_out(settings, self.classes, train, aside, self.readers)
        places = {rows.place, train.place, aside.place} - {self.train.place}
        return replace(layout, places=tuple(sorted(places)))

    def predicted(self, model: Model) -> HeldOut:
        assert self.validation is not None
        decision, codes, weights = map(np.concatenate, self.validation.ask("predicted", model))
        return HeldOut(decision, codes, weights * self.class_weights[codes])

    def forget(self) -> None:
        super().forget()
        if self.places:
            self.train.workers.forget(self.places)


def _lay_out(
    settings: Settings,
    classes: NDArray[Any],
    train: Rows,
    validation: Rows | None,
    readers: Sequence[Column | str] | None,
) -> ClusterLayout:
    """Learn the inputs and limits of the rows, and lay the dictionary over them."""
    dictionary, inputs, medians = settings.dictionary, None, None
    if readers is not None:
        inputs, has_missing = _see(dictionary, train, readers, classes.tolist())
        dictionary = inputs.dictionary(dictionary)
        medians = _medians(train) if has_missing else None
    totals, standardize = train.ask("class_totals", len(classes)), settings.standardize
    per_class = class_weights(settings.class_weight, classes, totals)

    def moments_within(limits: Any) -> Any:
        filled = medians if medians is None or limits is None else limits.apply(medians[None])[0]
        return train.ask("moments", per_class, filled, limits)

    verbs = moments_within, partial(train.ask, "ends"), partial(train.ask, "zeros")
    limits, moments = find_limits(settings.clip, dictionary, *verbs)
    budget = int(sklearn.get_config()["working_memory"] * 2**20)
    keeps_rows = settings.chooses and validation is None
    question = (budget, standardize, limits, dictionary, moments, per_class, keeps_rows)
    n_unscreened = train.workers.round("lay", train.place, *question, owner=(train.place,))
    known = (moments, standardize, totals * per_class, n_unscreened == 0)
    design = ClusterDesign(train, dictionary, *known)
    validator, weight = None, 0.0
    if validation is not None:
        is_steadied = settings.is_preset and settings.scoring is None
        asked = (inputs, limits, dictionary, design.scale, len(classes), is_steadied)
        weight = validation.ask("judge", *asked, lasts=True)
        validator = ClusterValidator(validation, weight)
    positives = [1] if len(classes) == 2 else range(len(classes))
    laid = (classes, design, positives, validator, limits, weight, inputs)
    return ClusterLayout(*laid, train, validation, per_class, readers)


def _see(
    dictionary: Dictionary, rows: Rows, readers: Sequence[Column | str], labels: Sequence[Any]
) -> tuple[Inputs, bool]:
    """Learn what atoms see and encode the rows; return whether values are missing."""
    columns = number_columns(readers)
    facts = rows.ask("facts", columns)
    first, _ = first_rows(rows, n := n_median_rows(len(columns)))
    some = first.X[:n]
    has_numbers = [isinstance(own, NumberFacts) and own.has_numbers for own in facts]
    is_empty = np.isnan(some).all(axis=0) & has_numbers
    if is_empty.any():
        some = with_others(some, merged(rows.ask("rows_with", is_empty)).X)
    names = [one for one in readers if isinstance(one, str)]
    if names and not any(own.has_gaps for own in facts):
        inputs = plain_inputs(dictionary, names, some)
    else:
        inputs = learn_inputs(dictionary, columns, facts, some, labels)
    return inputs, rows.ask("see", inputs, inputs.used(facts), lasts=True) > 0


def _medians(rows: Rows) -> Array:
    """Return the medians of the columns, over a sample if there are many rows."""
    width = 2**64 * _ENOUGH_FOR_MEDIANS // max(_ENOUGH_FOR_MEDIANS, rows.n_rows)
    return merged(rows.ask("draw", 0, 0, width)[1]).medians()


class ClusterValidator(StepScore):
    """Scores steps on rows of workers; each atom is sent once."""

    def __init__(self, rows: Rows, weight: float) -> None:
        self._rows, self._weight, self._n_sent = rows, weight, 0

    def __call__(self, steps: Sequence[Step], atoms: Sequence[Any]) -> list[float]:
        workers, place = self._rows.workers, self._rows.place
        new = list(atoms[self._n_sent :])
        question = ("scores", self._n_sent, new, steps)
        if self._n_sent == 0:
            workers.drop((place, -1))
        sums = self._rows.ask(*question)
        if new:
            workers.remember((place, -1), ("ask", place, *question))
        self._n_sent += len(new)
        return [steadied(own, self._weight, self._weight) for own in sums]

    def scores(self, steps: Sequence[Step], atoms: Any) -> list[float]:
        return self.anew()(steps, [atoms[j : j + 1] for j in range(atoms.shape[0])])

    def anew(self) -> ClusterValidator:
        return ClusterValidator(self._rows, self._weight)
