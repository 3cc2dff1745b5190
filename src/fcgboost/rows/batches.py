"""Rows of a file as a fitted model takes them, batch after batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse

from fcgboost.arrays import Array, ClassLabels, Rows
from fcgboost.classifiers import ClassifierPredictions
from fcgboost.findings import folded
from fcgboost.prediction import BaseFCGBoost
from fcgboost.rows.limits import explained
from fcgboost.rows.row_file import RowFile, has_label, tell_unlabelled
from fcgboost.rows.texts import Strays
from fcgboost.tables import Column, NumberColumn
from fcgboost.tables.cells import CellError, text_of
from fcgboost.wording import listed


class Batch(NamedTuple):
    """Rows as the model takes them, their decision values, and columns as the file has them."""

    X: Rows
    decision: Array
    #: An Arrow table; None of sparse rows, which have no names.
    kept: pa.Table


class LabelledBatch(NamedTuple):
    """Rows with labels, as the model takes them, and their decision values."""

    X: Rows
    decision: Array
    y: ClassLabels


@dataclass
class Lost:
    """What a file holds that a model cannot be judged by."""

    rows_without_target: int = 0
    unknown_labels: set[str] = field(default_factory=set)


def model_batches(
    model: BaseFCGBoost,
    rows: RowFile,
    *,
    target: str | None = None,
    keep: Sequence[str] = (),
    n_rows: int | None = None,
    with_unused: bool = False,
) -> Iterator[Batch]:
    """Yield the rows of a file as a model takes them; sparse rows come at once.

    Parameters
    ----------
    model : fitted classifier of this package
    rows : RowFile
        What `open_rows` yields.
    target : str or None, default=None
        A column that is no feature, for models that were fitted without names.
    keep : sequence of str, default=()
        Columns of the file that batches carry along.
    n_rows : int or None, default=None
        The rows of a batch; with None all rows are one.
    with_unused : bool, default=False
        Whether X also has columns that the model leaves out, such as an id.

    Yields
    ------
    Batch
    """
    if rows.matrix is not None:
        rows.check_columns(keep)
        X = _with_features(rows, rows.matrix, model.n_features_in_)
        yield Batch(X, np.asarray(model._decision(X)), None)
        return
    columns = columns_in(model, rows, target)
    names = [column.name for column in columns]
    unused = set(rows.columns) if with_unused else set()
    needed = {c.name: c for c in columns if c.n_outputs or c.name in unused}
    n_done = 0
    for frame, kept in rows.batches(needed, keep, n_rows):
        frame = frame.reindex(columns=names)
        try:
            X = _as_taken(model, columns, frame)
            decision = np.asarray(model._decision(X))
        except CellError as error:
            cell = f"row {n_done + error.row + 1}, column {error.column!r}"
            raise ValueError(f"{rows.name}, {cell}: {error.problem}") from None
        except ValueError as error:
            raise ValueError(f"{rows.name}: {error}") from None
        if n_done == 0:
            _tell_unknown(rows, needed.values(), frame)
        n_done += len(frame)
        yield Batch(X, decision, kept)


def _with_features(rows: RowFile, matrix: sparse.csr_matrix, n_known: int) -> sparse.csr_matrix:
    """Return sparse rows with as many features as the model knows."""
    n_rows, n_features = matrix.shape
    if n_features > n_known:
        raise ValueError(f"{rows.name} has {n_features} features, but the model knows {n_known}.")
    entries = (matrix.data, matrix.indices, matrix.indptr)
    return sparse.csr_matrix(entries, shape=(n_rows, n_known))


def _tell_unknown(rows: RowFile, columns: Iterable[Column], frame: pd.DataFrame) -> None:
    """Say which columns have nothing in common with training."""
    for column in columns:
        values = frame[column.name]
        is_filled = column.n_outputs and values.notna().any()
        if is_filled and np.isnan(column.read(values)).all():
            rows.source.tell(
                f"Column {column.name}: none of its first {len(frame):,} values occurred in "
                "training."
            )


def _as_taken(model: BaseFCGBoost, columns: Sequence[Column], frame: pd.DataFrame) -> Rows:
    """Return a frame as what the model was fitted to: a frame, cells, or plain numbers."""
    has_names = "feature_names_in_" in vars(model)
    if model._table_columns_ is not None:
        return frame if has_names else frame.to_numpy(dtype=object)
    numbers = np.column_stack([column.read(frame[column.name]) for column in columns])
    return pd.DataFrame(numbers, columns=frame.columns) if has_names else numbers


def columns_in(model: BaseFCGBoost, rows: RowFile, target: str | None = None) -> list[Column]:
    """Return the columns of a model, with the names that the file has."""
    columns = model.columns_ or [NumberColumn("")] * model.n_features_in_
    names = vars(model).get("feature_names_in_")
    if names is None:
        targets = (target, model.about_.get("target"))
        names = [name for name in rows.columns if name not in targets]
        if len(names) != len(columns):
            raise ValueError(
                f"{rows.name} has {len(names)} columns, but the model was fitted to "
                f"{len(columns)} columns without names."
            )
    pairs = zip(columns, names, strict=True)
    return [replace(column, name=str(name)) for column, name in pairs]


def labelled_batches(
    model: BaseFCGBoost,
    rows: RowFile,
    lost: Lost,
    *,
    target: str | None = None,
    n_rows: int | None = None,
    with_unused: bool = False,
) -> Iterator[LabelledBatch]:
    """Yield the rows that have a label; what does not fit is counted in `lost`.

    A target of None is what the model was fitted to, if its file tells.
    """
    if rows.matrix is None:
        target = target_of(rows, target or model.about_.get("target"))
    truth = (
        _Classes.of(model, rows, lost)
        if isinstance(model, ClassifierPredictions)
        else _Numbers(Strays(rows.source))
    )
    unlabelled: list[int] = []
    n_rows_seen = 0
    for batch in model_batches(
        model,
        rows,
        target=target,
        keep=[] if target is None else [target],
        n_rows=n_rows,
        with_unused=with_unused,
    ):
        with explained(rows.name):
            y = truth.read(rows, target, batch)
            is_labelled = has_label(y)
            unlabelled += (n_rows_seen + np.flatnonzero(~is_labelled)).tolist()
            n_rows_seen += len(y)
            lost.rows_without_target = len(unlabelled)
            labels = truth.known(y[is_labelled])
        if len(labels):
            yield LabelledBatch(batch.X[is_labelled], batch.decision[is_labelled], labels)
    truth.check(rows, n_rows_seen - len(unlabelled))
    if lost.rows_without_target:
        tell_unlabelled(rows.source, unlabelled)
    truth.tell(rows)


@dataclass
class _Numbers:
    """What a regressor is judged by."""

    strays: Strays

    def read(self, rows: RowFile, target: str | None, batch: Batch) -> Array:
        """Return the numbers of a batch; missing ones are NaN."""
        if target is None:
            return np.asarray(rows.labels, dtype=np.float64)
        numbers = rows.numbers_in(target, batch.kept[target], self.strays)
        self.strays.n_before += len(numbers)
        return numbers

    def known(self, y: Array) -> Array:
        return y

    def check(self, rows: RowFile, n_labelled: int) -> None:
        """Raise a ValueError if there is nothing to judge by."""
        if n_labelled == 0:
            raise ValueError(f"No row of {rows.name} has a number as its target.")

    def tell(self, rows: RowFile) -> None:
        self.strays.tell()


@dataclass
class _Classes:
    """What a classifier is judged by."""

    lost: Lost
    spelled: Callable[[str], str]
    classes: dict[str, object]
    dtype: np.dtype[np.generic]
    has_known: bool = False

    @classmethod
    def of(cls, model: ClassifierPredictions, rows: RowFile, lost: Lost) -> Self:
        spelled = folded if rows.source.merges_spellings else str
        classes = {spelled(text_of(value)): value for value in model.classes_.tolist()}
        return cls(
            lost,
            spelled,
            classes,
            model.classes_.dtype,
        )

    def read(self, rows: RowFile, target: str | None, batch: Batch) -> ClassLabels:
        """Return the labels of a batch as the file has them."""
        y = rows.labels if target is None else rows.labels_in(batch.kept[target])
        assert y is not None
        return y

    def known(self, y: ClassLabels) -> ClassLabels:
        """Return labels as classes, where they are; count the others."""
        codes, values = pd.factorize(y)
        labels = [_class_of(value, self.classes, self.spelled) for value in values.tolist()]
        strange = {text for text in map(text_of, labels) if self.spelled(text) not in self.classes}
        self.lost.unknown_labels |= strange
        self.has_known |= len(strange) < len(labels)
        values = np.array(labels, dtype=object if strange else self.dtype)
        return np.asarray(values[codes])

    def check(self, rows: RowFile, n_labelled: int) -> None:
        """Raise a ValueError if there is nothing to judge by."""
        if not self.has_known:
            unknown = listed(sorted(self.lost.unknown_labels))
            raise ValueError(
                f"No row of {rows.name} has a label that the model knows: found "
                f"{unknown or 'none'}, expected {', '.join(self.classes)}."
            )

    def tell(self, rows: RowFile) -> None:
        """Say which labels are no classes."""
        if self.lost.unknown_labels:
            unknown = listed(sorted(self.lost.unknown_labels))
            rows.source.tell(f"Labels that the model does not know count as errors: {unknown}.")


def target_of(rows: RowFile, target: object) -> str:
    """Return the column of labels; raise a ValueError if there is none."""
    if not isinstance(target, str):  # users may have stored anything with a model
        raise ValueError(
            f"{rows.name}: name the target column with --target; the columns are "
            f"{rows.show_columns()}."
        )
    rows.check_columns([target])
    return target


def _class_of(label: object, classes: dict[str, object], spelled: Callable[[str], str]) -> object:
    """Return the class of the same text or number; the label itself if there is none."""
    text = spelled(text_of(label))
    if text not in classes:
        with suppress(ValueError):
            text = text_of(float(text))
    return classes.get(text, label)
