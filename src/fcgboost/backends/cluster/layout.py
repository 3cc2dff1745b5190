"""The layout of rows on workers: targets, splits, the design, and scores of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NoReturn

import numpy as np
import sklearn

from fcgboost import hashing
from fcgboost.arrays import ClassLabels, Matrix
from fcgboost.backends.cluster.design import ClusterDesign, draw
from fcgboost.backends.cluster.shard import HashSplit
from fcgboost.backends.cluster.workers import RemoteRows, Workers
from fcgboost.calibration import HeldOut
from fcgboost.checks import check_columns, warn_of_shares
from fcgboost.designs.base import Array
from fcgboost.designs.outliers import find_limits
from fcgboost.dictionaries import Dictionary
from fcgboost.findings import Finding
from fcgboost.greedy.path import StepScore
from fcgboost.greedy.schemes import FullyCorrective
from fcgboost.losses import CurvedLoss
from fcgboost.members import Member
from fcgboost.solvers import NewtonSolver
from fcgboost.stopping import Step
from fcgboost.tables.columns import Column
from fcgboost.tables.inputs import (
    Inputs,
    are_plain,
    learn_inputs,
    n_median_rows,
    plain_inputs,
)
from fcgboost.tables.levels import LevelFacts
from fcgboost.training.dataset import check_some_weight
from fcgboost.training.folds import SHARE
from fcgboost.training.layout import N_SAMPLED, FitRows, Judge, Layout, View
from fcgboost.training.run import Job
from fcgboost.training.settings import Settings
from fcgboost.training.tasks import Task
from fcgboost.training.warm_start import FitState, find_state

# The choice uses at most this many rows.
_ENOUGH_ROWS = 1 << 20
_FAST = "Rows on a cluster are not divided into folds: one part was held out, as by 'fast'."
# Medians of encoded columns are those of all rows, or of about this many.
_MEDIAN_ROWS = 1 << 14


def check_supported(settings: Settings, groups: object, trusted: object = None) -> None:
    """Raise a ValueError for settings that clusters do not support."""
    if settings.cv not in (None, "auto"):
        _refuse(f"cv={settings.cv!r}", "rows are not divided into folds", "cv='auto', or X_val")
    if groups is not None:
        _refuse("groups", "rows are not divided into folds", "X_val")
    if trusted is not None:
        _refuse("trusted", "rows are not divided into folds, and labels not judged", "trusted=None")
    scheme = settings.scheme
    solver = scheme.solver if isinstance(scheme, FullyCorrective) else None
    if solver is None:
        _refuse(scheme, "correction is always full", "scheme='fully_corrective'")
    if not isinstance(settings.loss, CurvedLoss):
        _refuse(settings.loss, "losses must be curved", "a CurvedLoss, such as the default")
    if not isinstance(solver, NewtonSolver):
        _refuse(solver, "no process has all rows", "solver='newton'")
    if settings.device != "cpu":
        _refuse(f"device={settings.device!r}", "workers compute on CPUs", "device='cpu'")
    if settings.scoring not in (None, "accuracy"):
        _refuse(f"scoring={settings.scoring!r}", "only accuracy and loss score", "scoring=None")
    if settings.time_limit is not None:
        _refuse("time_limit", "fits are not timed", "max_iter")
    if settings.metrics:
        _refuse("metrics", "no process has all rows", "truncate(k) and score")


def _refuse(setting: object, reason: str, instead: str) -> NoReturn:
    raise ValueError(
        f"{setting} is not supported on a Dask cluster, where {reason}: use {instead}."
    )


def prepare(
    settings: Settings,
    workers: Workers,
    table_columns: Sequence[Column],
    has_validation_data: bool,
    last: FitState | None,
) -> Job:
    """Return the fit to rows on workers, which may continue the last one."""
    train = RemoteRows(workers, 0)
    validation = RemoteRows(workers, 1) if has_validation_data else None
    task, is_sparse = _survey(settings.task, train, validation)
    digests = [train.ask("set_task", task, lasts=True)]
    if validation is not None:
        digests.append(validation.ask("set_task", task, lasts=True))
    train = train._replace(n_rows=digests[0].n_rows)
    n_columns = len(table_columns)
    state = find_state(
        settings,
        (*task.names, *digests, n_columns, is_sparse),
        table_columns,
        last,
    )
    target, weights = map(np.concatenate, train.ask("target_totals"))
    if settings.validation_fraction is not None:
        whole = train
        train, validation = _split(
            whole,
            task,
            settings.validation_fraction,
            state.key,
        )
        if not validation.n_rows:
            raise ValueError(
                f"validation_fraction={settings.validation_fraction} leaves no row for validation: "
                "each class keeps at least one distinct row for training, so pass more rows, or "
                "X_val and y_val."
            )
        workers.round("clear_cache", [whole.dataset_id], owner=(whole.dataset_id,))
    kinds = settings.of_kinds(train.n_rows, n_columns if is_sparse else 0)
    rows = ClusterRows(
        task.learned(target, weights),
        train=train,
        validation=validation,
        total_weight=float(weights.sum()),
        table_columns=None if is_sparse else table_columns,
    )
    if settings.is_crossfitted and validation is None:
        rows.hold_out(state.key)
    is_fast = settings.is_crossfitted and validation is None
    return Job(
        kinds,
        rows,
        state,
        [Finding("fit", _FAST)] if is_fast else [],
    )


def _survey(
    task: Task,
    train: RemoteRows,
    validation: RemoteRows | None,
) -> tuple[Task, bool]:
    """Return the task and whether rows are sparse; check that all partitions agree."""
    survey = train.ask("survey")
    check_some_weight(np.array([survey is not None]), "sample_weight")
    labels, are_sparse, totals, n_rows = survey
    warn_of_shares(sum(totals), sum(n_rows), stacklevel=8)
    if len(set(are_sparse)) > 1:
        raise ValueError(
            "Some partitions of X are sparse and some are not: convert all, for example with "
            "X.map_blocks(scipy.sparse.csr_array)."
        )
    task, target = task.read(_united(labels))
    task, _ = task.present(target)
    if validation is not None:
        survey = validation.ask("survey")
        check_some_weight(np.array([survey is not None]), "sample_weight_val")
        task.read_again(_united(survey[0]))
    return task, are_sparse[0]


def _united(labels: Sequence[ClassLabels]) -> ClassLabels:
    """Return the distinct labels of all partitions."""
    numbers = [part for part in labels if part.dtype.kind in "biuf"]
    if 0 < len(numbers) < len(labels):
        other = next(part for part in labels if part.dtype.kind not in "biuf")
        raise ValueError(
            f"Labels are numbers in some partitions and not in others ({numbers[0].tolist()[0]!r} "
            f"and {other.tolist()[0]!r}): convert all to one type."
        )
    return np.unique(np.concatenate(labels))


def _split(
    rows: RemoteRows,
    task: Task,
    fraction: float,
    key: int,
    kept: float = 1.0,
) -> tuple[RemoteRows, RemoteRows]:
    """Split a share of the rows on the workers into training and validation rows.

    Rows are held out if their keyed hashes are small. Of each class, or of all rows without one,
    with at least two distinct rows one is held out and one is kept for training; equal rows stay
    together.
    """
    # Not the key of draws, which would miss the rows with small hashes.
    key = hashing.derive(key, 1)
    smallest, largest = rows.ask("hash_ranges", key, max(1, len(task.names)))
    largest = np.max(largest, axis=0)
    last = np.maximum(_hash_at(fraction * kept), np.min(smallest, axis=0))
    last = np.minimum(last, largest - np.uint64(1))
    first = np.minimum(_hash_at(fraction * kept + (1.0 - kept)), largest)
    first = np.maximum(first, last + np.uint64(1))
    split = HashSplit(key=key, last_held_out=last, first_kept=first)
    return _part(rows, split, is_held_out=False), _part(rows, split, is_held_out=True)


def _part(rows: RemoteRows, split: HashSplit, is_held_out: bool) -> RemoteRows:
    """Return the rows on one side of a split."""
    workers = rows.workers
    dataset_id = next(workers.dataset_ids)
    n_rows = workers.round(
        "split",
        rows.dataset_id,
        dataset_id,
        split,
        is_held_out,
        owner=(dataset_id,),
    )
    return RemoteRows(workers, dataset_id, n_rows)


def _hash_at(share: float) -> np.uint64:
    """Return the hash below which a share of all hashes lies."""
    return np.uint64(min(int(share * 2.0**64), 2**64 - 1))


class ClusterRows(FitRows):
    """Rows on workers. There are no folds: one part is held out.

    Sparse rows have no table columns.
    """

    def __init__(
        self,
        task: Task,
        train: RemoteRows,
        validation: RemoteRows | None,
        total_weight: float,
        table_columns: Sequence[Column] | None,
    ) -> None:
        self.task = task
        self.total_weight = total_weight
        self.has_validation = validation is not None
        self._train = train
        self._parts = train, validation
        self._table_columns = table_columns
        # Drawn now, because rows are encoded in place.
        self._sample = draw(train, N_SAMPLED).data.X[:N_SAMPLED]

    def hold_out(self, key: int) -> None:
        """Hold out a quarter of the rows, if any class has two distinct rows."""
        kept = min(1.0, _ENOUGH_ROWS / self._train.n_rows)
        train, held_out = _split(
            self._train,
            self.task,
            SHARE,
            key,
            kept,
        )
        if held_out.n_rows:
            self._parts = train, held_out
            self.split_weights = [float(held_out.n_rows)]

    def sample(self) -> Matrix:
        return self._sample

    def path_bytes(self, settings: Settings) -> float:
        return 0.0

    def lay_out(self, settings: Settings, split: int | None = None) -> Layout:
        train, validation = self._parts
        if self.n_splits and split is None:
            train.workers.clear_cache([part.dataset_id for part in self._parts if part is not None])
            train = self._train
            validation = None
        inputs = medians = None
        dictionary = settings.dictionary
        if self._table_columns is not None:
            inputs, medians = _encode(
                dictionary,
                train,
                self._table_columns,
                self.task,
            )
            dictionary = inputs.dictionary(dictionary)
        limits, moments = find_limits(
            settings.clip,
            dictionary,
            partial(train.ask, "moments", self.task, medians),
            partial(train.ask, "ends"),
            partial(train.ask, "zeros"),
        )
        train.workers.round(
            "attach",
            train.dataset_id,
            int(sklearn.get_config()["working_memory"] * 2**20),
            settings.standardize,
            limits,
            dictionary,
            moments,
            self.task,
            owner=(train.dataset_id,),
        )
        design = ClusterDesign(
            rows=train,
            dictionary=dictionary,
            moments=moments,
            standardize=settings.standardize,
            is_sparse=self._table_columns is None,
        )
        layout = Layout(
            design=design,
            task=self.task,
            targets=range(self.task.n_outputs),
            view=View(
                dictionary,
                design.scale,
                design.deviation,
                limits,
                inputs,
            ),
        )
        check_columns(layout)
        if validation is None:
            return layout
        weight = validation.ask(
            "make_validator",
            inputs,
            limits,
            dictionary,
            design.scale,
            self.task,
            settings.is_preset and settings.scoring is None,
            lasts=True,
        )

        def predicted(member: Member) -> HeldOut:
            answers = validation.ask("predicted", member.model)
            decision, target, weights = map(np.concatenate, answers)
            return HeldOut(decision, target, self.task.weights(target, weights))

        return replace(
            layout,
            validator=ClusterValidator(validation, weight),
            judge=Judge(weight, predicted),
        )


def _encode(
    dictionary: Dictionary, rows: RemoteRows, columns: Sequence[Column], task: Task
) -> tuple[Inputs, Array | None]:
    """Learn what atoms see and encode the rows; return their medians if values are missing."""
    ask = partial(rows.ask, "facts", task)
    sample = draw(rows, n_median_rows(len(columns))).data.X
    used: dict[int, LevelFacts] = {}
    if are_plain(columns) and not any(fact.has_gaps for fact in ask(columns)):
        inputs = plain_inputs(dictionary, columns, sample)
    else:
        inputs, used = learn_inputs(
            dictionary,
            columns,
            ask,
            sample,
            task.statistics,
        )
    has_missing = (
        rows.ask(
            "encode",
            inputs,
            used,
            lasts=True,
        )
        > 0
    )
    # Medians of what atoms see, over a draw if there are many rows.
    return inputs, draw(rows, _MEDIAN_ROWS).data.medians() if has_missing else None


class ClusterValidator(StepScore):
    """Scores steps on rows of workers; each atom is sent once."""

    def __init__(self, rows: RemoteRows, weight: float) -> None:
        self._rows = rows
        self._weight = weight
        self._n_sent = 0

    def __call__(self, steps: Sequence[Step], atoms: Sequence[Matrix]) -> list[float]:
        workers = self._rows.workers
        dataset_id = self._rows.dataset_id
        new = list(atoms[self._n_sent :])
        question = ("scores", self._n_sent, new, steps)
        if self._n_sent == 0:
            workers.drop((dataset_id, -1))
        sums = self._rows.ask(*question)
        if new:
            workers.remember((dataset_id, -1), ("ask", dataset_id, *question))
        self._n_sent += len(new)
        return [float(total) / self._weight for total in sums]

    def scores(self, steps: Sequence[Step], atoms: Matrix) -> list[float]:
        rows = [atoms[j : j + 1] for j in range(atoms.shape[0])]
        return self.fresh()(steps, rows)

    def fresh(self) -> ClusterValidator:
        return ClusterValidator(self._rows, self._weight)
