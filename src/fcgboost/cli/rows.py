"""How commands read rows: to fit to them, and as a fitted model takes them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from fcgboost import TableEncoder
from fcgboost.cli import console
from fcgboost.cli.arguments import reading_options
from fcgboost.cli.guards import explained
from fcgboost.cli.reading import open_rows
from fcgboost.cli.row_file import RowFile
from fcgboost.io import split_model
from fcgboost.tables import Column, NumberColumn
from fcgboost.tables.cells import CellError, text_of

# A number in this many different values is a quantity, not a class.
_MANY_CLASSES = 100
_MANY_NAMES = 5


def read_rows(
    options: argparse.Namespace, *, table: Path | None = None, categories: Any = "from_dtype"
) -> tuple[Any, NDArray[Any], int | None]:
    """Read rows to fit to, their classes, and what indices of sparse rows count from.

    With `table`, a file that rows are to be written to, sparse ones are refused. `categories` is
    the classifier's parameter `categorical_features`.
    """
    with open_rows(options.data, format=options.format, **reading_options(options)) as rows:
        if table is not None and rows.is_sparse:
            raise ValueError(f"{table} cannot be written: the rows of {rows.name} are sparse.")
        target = _target_of(rows, options.target)
        rows.check_columns(options.drop)
        if target is None:
            X, y = rows.matrix, rows.labels
        else:
            X, y = rows.read(target, options.drop, categories)
    with explained(rows.name):
        is_there = _is_there(y)
        if not is_there.all():
            _tell_left_out(int((~is_there).sum()))
            X, y = X[is_there], y[is_there]
        return X, _classes_of(y, target), rows.first_index


def _target_of(rows: RowFile, target: str | None) -> str | None:
    """Return the column of labels, or None for sparse rows, which have theirs."""
    target = target or rows.default_target
    if rows.is_sparse and rows.labels is None:
        raise ValueError(
            f"{rows.name} is a sparse matrix, which has no labels: save both in one file with "
            "sklearn.datasets.dump_svmlight_file."
        )
    if target is None and not rows.is_sparse:
        raise ValueError(
            f"{rows.name}: name the target column with --target; the columns are "
            f"{rows.show_columns()}."
        )
    rows.check_columns([] if target is None else [target])
    return target


def _is_there(y: Any) -> NDArray[np.bool_]:
    return np.array([one is not None and one == one and one != "" for one in y], dtype=np.bool_)


def _classes_of(y: Any, target: str | None) -> NDArray[Any]:
    """Return the labels as an array whose type is that of the values that are there."""
    name = "The target" if target is None else f"The target {target!r}"
    if len(y) == 0:
        raise ValueError(f"{name} is missing in every row.")
    labels = np.asarray(list(y))
    if labels.dtype.kind not in "biufU" or labels.ndim > 1:
        raise ValueError(
            f"{name} holds values of the type {type(y[0]).__name__}: classes must be texts, "
            "numbers or truth values."
        )
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            raise ValueError(f"{name} holds an infinite number, which cannot be a class.")
        if (labels == np.floor(labels)).all() and np.abs(labels).max() < 2.0**53:
            # Whole numbers that were read as floats because some were missing.
            labels = labels.astype(np.int64)
    n_classes = len(np.unique(labels))
    if n_classes < 2:
        raise ValueError(f"{name} has only one value; a classifier needs at least two.")
    if labels.dtype.kind in "iuf" and n_classes > _MANY_CLASSES:
        raise ValueError(
            f"{name} has {n_classes} different numbers, so it looks like a quantity. fcgboost "
            "predicts classes: cut it into a few first."
        )
    return labels


def open_for(
    model: Any, options: argparse.Namespace, path: Path | None = None
) -> AbstractContextManager[RowFile]:
    """Open the rows that a model is to predict, or another file."""
    about = split_model(model)[1].about_.get("data")  # users may have put anything there
    first = about.get("first_index") if isinstance(about, dict) else None
    is_known = first in (0, 1)
    known: dict[str, Any] = {"first_index": first} if is_known else {}
    known |= {"format": options.format} if path is None else {}
    return open_rows(path or options.data, **reading_options(options), **known)


def model_batches(
    model: Any,
    rows: RowFile,
    *,
    target: str | None = None,
    keep: Sequence[str] = (),
    n_rows: int | None = None,
    with_unused: bool = False,
) -> Iterator[tuple[Any, Any, Any]]:
    """Yield decision values, rows as a model takes them, and columns as the file has them.

    These, the columns of `keep`, are an Arrow table; sparse rows come at once, and with None.
    With `n_rows` None the limit of memory is that of all rows, not of a batch. Columns that the
    model leaves out, such as an id, are missing unless they are asked for.
    """
    before, classifier = split_model(model)
    if rows.is_sparse:
        rows.check_columns(keep)
        X = rows.with_features(classifier.n_features_in_)
        yield model.decision_function(X), X, None
        return
    encoder = encoder_for(model, rows, target)
    names, n_done = list(encoder.feature_names_in_), 0
    # The file may have other names than the model.
    known = [column.name for column in (before or classifier).columns_]
    in_file = dict(zip(known, names, strict=False))
    unused = set(rows.columns) if with_unused else set()
    needed = {one.name: one for one in encoder.columns_ if one.n_outputs or one.name in unused}
    for X, kept in rows.batches(needed, keep, n_rows):
        X = X.reindex(columns=names)
        try:
            taken = _as_taken(model, encoder, X)
            decision = model.decision_function(taken)
        except CellError as error:
            column = in_file.get(error.column, error.column)
            place = f"row {n_done + error.row + 1}, column {column!r}"
            raise ValueError(f"{rows.name}, {place}: {error.problem}") from None
        except ValueError as error:
            raise ValueError(f"{rows.name}: {error}") from None
        for name, share in encoder.unknown_share(X).items() if n_done == 0 else ():
            if share == 1.0:
                console.note(
                    f"Column {name}: none of its first {len(X):,} values occurred in training."
                )
        n_done += len(X)
        yield decision, taken, kept


def _as_taken(model: Any, encoder: TableEncoder, X: Any) -> Any:
    """Return a frame as what the model was fitted to: a frame, cells, or plain numbers."""
    before, classifier = split_model(model)
    has_names = "feature_names_in_" in vars(classifier)
    if before is None and classifier._readers_ is None:
        numbers = encoder.transform(X)
        return pd.DataFrame(numbers, columns=X.columns) if has_names else numbers
    return X if before is not None or has_names else X.to_numpy(dtype=object)


def stacked(parts: Sequence[Any]) -> Any:
    """Return the rows of all batches together: sparse rows, an array or a frame."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    is_array = isinstance(parts[0], np.ndarray)
    return np.concatenate(parts) if is_array else pd.concat(parts, ignore_index=True)


def encoder_for(model: Any, rows: RowFile, target: str | None = None) -> TableEncoder:
    """Return an encoder of the model's columns, with the names that the file has."""
    encoder, classifier = split_model(model)
    columns: Sequence[Column] = (encoder or classifier).columns_
    if encoder is None and classifier._readers_ is None:
        columns = [NumberColumn("")] * classifier.n_features_in_
    names = vars(encoder or classifier).get("feature_names_in_")
    if names is None:
        targets = (target, rows.default_target, classifier.about_.get("target"))
        names = [name for name in rows.columns if name not in targets]
        if len(names) != len(columns):
            raise ValueError(
                f"{rows.name} has {len(names)} columns, but the model was fitted to "
                f"{len(columns)} columns without names."
            )
    named = [replace(one, name=str(name)) for one, name in zip(columns, names, strict=True)]
    return TableEncoder.from_columns(named, list(names))


def labelled_batches(
    model: Any, options: argparse.Namespace, lost: dict[str, Any], *, with_unused: bool = False
) -> Iterator[tuple[Any, Any, NDArray[Any]]]:
    """Yield decision values, rows and labels, without rows that have no label.

    A target of None is what the model was fitted to, if its file tells. What does not fit is
    counted in `lost`: "rows_without_target", "unknown_labels".
    """
    classifier = split_model(model)[1]
    known = {text_of(value): value for value in classifier.classes_.tolist()}
    lost.update(rows_without_target=0, unknown_labels=set())
    n_known = 0
    with open_for(model, options) as rows:
        about = classifier.about_.get("target")
        is_told = isinstance(about, str) and not rows.is_sparse
        target = _target_of(rows, options.target or (about if is_told else None))
        keep = [] if target is None else [target]
        batches = model_batches(model, rows, target=target, keep=keep, with_unused=with_unused)
        for decision, X, kept in batches:
            with explained(rows.name):
                y = rows.labels if target is None else rows.labels_in(kept[target])
                is_there = _is_there(y)
                lost["rows_without_target"] += int((~is_there).sum())
                labels, is_known = _match(y[is_there], classifier.classes_, known)
            lost["unknown_labels"].update(map(text_of, pd.unique(labels[~is_known]).tolist()))
            n_known += int(is_known.sum())
            if is_there.any():
                yield decision[is_there], X[is_there], labels
    if n_known == 0:
        found = ", ".join(sorted(lost["unknown_labels"])[:_MANY_NAMES]) or "none"
        raise ValueError(
            f"No row of {rows.name} has a label that the model knows: found {found}, expected "
            f"{', '.join(known)}."
        )
    _tell_lost(lost, known)


def _match(
    y: NDArray[Any], classes: NDArray[Any], known: dict[str, Any]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return labels as the classes of the same text or number, and which of them are classes."""
    codes, values = pd.factorize(y)
    texts = [text_of(value) for value in values.tolist()]
    if classes.dtype.kind in "iuf":
        numbers = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").tolist()
        plain = zip(texts, map(text_of, numbers), strict=True)
        texts = [text if text in known else number for text, number in plain]
    is_known = np.array([text in known for text in texts], dtype=np.bool_)
    matched = [known.get(text, value) for text, value in zip(texts, values, strict=True)]
    dtype = classes.dtype if is_known.all() else object
    return np.array(matched, dtype=dtype)[codes], is_known[codes]


def _tell_left_out(n_rows: int) -> None:
    console.note(f"Rows skipped because they have no target: {n_rows:,}.")


def _tell_lost(lost: dict[str, Any], known: dict[str, Any]) -> None:
    if lost["rows_without_target"]:
        _tell_left_out(lost["rows_without_target"])
    unknown = sorted(lost["unknown_labels"])
    if unknown:
        console.note(
            f"Labels unknown to the model count as errors: {', '.join(unknown[:_MANY_NAMES])}"
            f"{' ...' if len(unknown) > _MANY_NAMES else ''}. It knows {', '.join(known)}."
        )
