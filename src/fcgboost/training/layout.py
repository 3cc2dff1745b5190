"""Rows laid out for a path: the design, the targets, and what judges the steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import sklearn

from fcgboost.arrays import Array, Codes, Matrix, is_sparse, to_numpy
from fcgboost.backends.torch.device import find_device
from fcgboost.calibration import HeldOut
from fcgboost.checks import check_columns
from fcgboost.clipping import Limits, extreme_values, zeros_in
from fcgboost.designs.base import Design
from fcgboost.designs.memory import MemoryDesign
from fcgboost.designs.moments import moments_of
from fcgboost.designs.outliers import find_limits
from fcgboost.dictionaries import Dictionary
from fcgboost.greedy.path import StepScore
from fcgboost.members import Member, decision_of
from fcgboost.tables.inputs import (
    Inputs,
    are_plain,
    encode,
    facts_of,
    learn_inputs,
    median_rows,
    plain_inputs,
)
from fcgboost.training.dataset import Data, DataSet, at_most
from fcgboost.training.folds import Split
from fcgboost.training.scoring import make_score
from fcgboost.training.settings import Settings
from fcgboost.training.tasks import Task
from fcgboost.training.validation import Score, Validator, make_validator


@dataclass(frozen=True)
class View:
    """How atoms see rows: what a member needs besides a path."""

    dictionary: Dictionary
    scale: Array
    deviation: Array
    limits: Limits | None
    #: None for sparse rows.
    inputs: Inputs | None


@dataclass(frozen=True)
class Judge:
    """Rows that judge members, in this process or elsewhere."""

    #: Their weight.
    weight: float
    #: Returns the decision values of a member for the rows, with class weights.
    predicted: Callable[[Member], HeldOut]


def judge_of(
    rows: Callable[[], DataSet],
    weight: float,
    task: Task,
    design: MemoryDesign,
) -> Judge:
    """Return a judge whose rows are in this process, before encoding.

    The rows are taken when a member asks: the judges of all folds would hold as many as X.
    """
    # Not the design, which would stay as long as the judge.
    device = design.device
    n_threads = design.n_threads

    def predicted(member: Member) -> HeldOut:
        data = rows()
        X = device.put(data.X) if device.is_torch else data.X
        decision = decision_of([member], X, n_threads)
        return HeldOut(
            to_numpy(decision),
            target=data.target,
            weights=task.weights(data.target, data.weights),
        )

    return Judge(weight, predicted)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Rows laid out for a path, in this process or elsewhere, with a target per output."""

    design: Design
    task: Task
    targets: Sequence[Matrix]
    view: View
    validator: StepScore | None = None
    judge: Judge | None = None


@dataclass(frozen=True, kw_only=True)
class MemoryLayout(Layout):
    """Rows in this process."""

    design: MemoryDesign
    settings: Settings
    data: Data

    def make_validator(self, data: DataSet, score: Score) -> Validator:
        """Return a validator that scores steps on rows."""
        view = self.view
        rows = replace(data, X=encode(view.inputs, data.X)).within(view.limits)
        return make_validator(
            rows.X,
            dictionary=view.dictionary,
            scale=view.scale,
            score=score,
            device=self.design.device,
            n_threads=self.design.n_threads,
        )


#: How many rows are sampled.
N_SAMPLED = 256


class FitRows(ABC):
    """The rows of a fit, in this process or elsewhere, and the splits that judge members."""

    task: Task
    #: The sum of the weights.
    total_weight: float
    #: The weight of the rows that each split holds out.
    split_weights: Sequence[float] = ()
    #: Whether there are validation rows.
    has_validation: bool

    @property
    def n_splits(self) -> int:
        return len(self.split_weights)

    @abstractmethod
    def sample(self) -> Matrix:
        """Return some training rows as columns read them, for importances and explanations."""

    @abstractmethod
    def path_bytes(self, settings: Settings) -> float:
        """Return about how much memory a path takes in this process."""

    @abstractmethod
    def lay_out(self, settings: Settings, split: int | None = None) -> Layout:
        """Lay out all training rows, or the training part of a split with what judges it."""


class MemoryRows(FitRows):
    """Rows in this process.

    Parameters
    ----------
    data : Data
    divided : DataSet
        The rows that splits refer to: the training rows of `data`, or the given ones.
    splits : list of Split
    uncounted : list of ndarray
        The positions of the rows of weight zero that each split judges, among these.
    """

    def __init__(
        self,
        data: Data,
        divided: DataSet,
        splits: Sequence[Split] = (),
        uncounted: Sequence[Codes] = (),
    ) -> None:
        self.data = data
        self.divided = divided
        self.splits = splits
        self.uncounted = uncounted
        self.task = data.task
        self.total_weight = float(data.train.weights.sum())
        self.split_weights = [float(divided.weights[split.test].sum()) for split in splits]
        self.has_validation = data.validation is not None

    def sample(self) -> Matrix:
        return self.data.train.drawn(N_SAMPLED).X

    def path_bytes(self, settings: Settings) -> float:
        """Return the bytes of two copies of the rows, and of a column for each step and output."""
        X = self.data.train.X
        n_rows = X.shape[0]
        n_columns = self.task.n_outputs * settings.n_steps(self.total_weight, is_scored=True)
        # Trees with corrected leaves are columns of leaf numbers, of one or two bytes.
        a_row = n_columns * (2 if settings.dictionary.corrects_leaves else 8)
        a_row += 2 * (X.data if is_sparse(X) else X).nbytes / n_rows
        return float(a_row * min(n_rows, settings.kind.most_rows or n_rows))

    def lay_out(self, settings: Settings, split: int | None = None) -> MemoryLayout:
        data = self.data if split is None else self.part(split)
        data = at_most(data, settings.kind.most_rows, split or 0)
        return lay_out(settings, data, partial(self._judging, split))

    def part(self, split: int) -> Data:
        """Return the training part of a split, with the rows that judge it for validation."""
        train = self._taken(self.splits[split].train)
        if self.divided is not self.data.train:
            train = train.canonical(self.data.train.originals is not None)
        return self.data._replace(train=train, validation=self._judging(split))

    def _judging(self, split: int | None) -> DataSet:
        """Return the rows that judge a split, or the validation rows."""
        if split is not None:
            return self._taken(self.splits[split].test)
        assert self.data.validation is not None
        return self.data.validation

    def _taken(self, positions: Codes) -> DataSet:
        mask = np.zeros(len(self.divided.weights), dtype=bool)
        mask[positions] = True
        return self.divided.take(mask)

    def out_of_fold(self, decisions: Sequence[Array]) -> Array:
        """Return mean decision values of the divided rows, and then of those of weight zero.

        They are given by split. NaN stands for rows that no split judges.
        """
        n_rows = len(self.divided.weights)
        n_all = n_rows + len(self.data.others)
        sums = np.zeros((n_all, decisions[0].shape[1]))
        counts = np.zeros(n_all)
        for number, decision in enumerate(decisions):
            is_test = np.zeros(n_rows, dtype=bool)
            is_test[self.splits[number].test] = True
            test = np.flatnonzero(is_test)
            rows = np.append(test, n_rows + self.uncounted[number])
            sums[rows] += decision
            counts[rows] += 1.0
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / counts[:, None])

    def judged(self) -> list[Codes]:
        """Return the positions of the rows given that each split judges."""
        data = self.data
        positions = data.train.positions
        assert positions is not None
        judged = []
        for split, uncounted in zip(self.splits, self.uncounted, strict=True):
            test = split.test
            if self.divided is data.train:
                test = np.flatnonzero(np.isin(positions, test))
            judged.append(np.append(data.kept[np.unique(test)], data.others[uncounted]))
        return judged

    def as_given(self, decision: Array) -> Array:
        """Return what `out_of_fold` returns in the order of the rows given."""
        data = self.data
        n_rows = len(self.divided.weights)
        positions = data.train.positions if self.divided is data.train else slice(n_rows)
        given = np.full((data.n_rows, decision.shape[1]), np.nan)
        given[data.kept] = decision[positions]
        given[data.others] = decision[n_rows:]
        return given


def lay_out(
    settings: Settings,
    data: Data,
    judging: Callable[[], DataSet] | None = None,
) -> MemoryLayout:
    """Lay a dictionary over clipped rows; `judging` returns those that judge the members."""
    task = data.task
    train = data.train
    validation = data.validation
    inputs, dictionary, rows = _make_inputs(settings.dictionary, data)
    limits, design = _make_design(
        settings,
        dictionary=dictionary,
        train=rows,
        weights=task.weights(train.target, train.weights),
    )
    layout = MemoryLayout(
        design=design,
        task=task,
        targets=task.targets(train.target),
        view=View(
            design.dictionary,
            design.scale,
            design.deviation,
            limits,
            inputs,
        ),
        settings=settings,
        data=data,
    )
    check_columns(layout)
    if validation is None:
        return layout
    score = make_score(
        settings.scoring,
        is_smoothed=settings.is_preset,
        task=task,
        data=validation,
    )
    return replace(
        layout,
        validator=layout.make_validator(validation, score),
        judge=judge_of(
            judging or (lambda: validation),
            float(validation.weights.sum()),
            task,
            design,
        ),
    )


def _make_inputs(dictionary: Dictionary, data: Data) -> tuple[Inputs | None, Dictionary, DataSet]:
    """Learn what the families of a dictionary see; return it, the dictionary and the rows."""
    train = data.train
    columns = data.table_columns
    if is_sparse(train.X):
        return None, dictionary, train
    if are_plain(columns) and not train.has_missing:
        return plain_inputs(dictionary, columns, median_rows(train.X)), dictionary, train
    inputs, facts = learn_inputs(
        dictionary,
        columns,
        lambda origins: facts_of(origins, train, data.task.level_sums),
        median_rows(train.X),
        data.task.statistics,
    )
    encoded = inputs.encode_training(train.X, train.row_hashes, facts)
    return inputs, inputs.dictionary(dictionary), replace(train, X=encoded)


def _make_design(
    settings: Settings, dictionary: Dictionary, train: DataSet, weights: Array
) -> tuple[Limits | None, MemoryDesign]:
    limits, moments = find_limits(
        settings.clip,
        dictionary,
        lambda limits: moments_of(train.within(limits).imputed(), weights),
        lambda columns: extreme_values(train.X, columns),
        lambda limits: zeros_in(train.within(limits).X),
    )
    rows = train.within(limits)
    if is_sparse(rows.X) and settings.device != "cpu":
        raise ValueError(
            f"X is sparse, but device={settings.device!r} needs dense arrays: use device='cpu', or "
            "X.toarray() if it fits into memory."
        )
    dictionary.check_rows(rows.X)
    return limits, MemoryDesign(
        dictionary,
        rows.X,
        weights,
        standardize=settings.standardize,
        memory_budget=int(sklearn.get_config()["working_memory"] * 2**20),
        n_threads=settings.n_threads,
        device=find_device(settings.device),
        row_hashes=train.row_hashes,
        moments=moments,
        # What users hand us meets one output at a time.
        shares_outputs=not settings.runs_users_code,
    )
