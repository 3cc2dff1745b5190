"""How commands read rows: to learn from them, and as a model wants them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.cli import console
from fcgboost.io import split_model
from fcgboost.readers import RowFile, open_rows
from fcgboost.readers.writing import check_name
from fcgboost.tables.cells import factorize, read_column, text_of

# A number in this many different values is a quantity, not a class.
_MANY_CLASSES = 100
_MANY_NAMES = 5


def check_outputs(
    outputs: list[Path | None], inputs: list[Path | None], *, tables: Sequence[Path | None] = ()
) -> None:
    """Refuse, before any work, outputs that could not be written.

    Parameters
    ----------
    outputs : list of Path or None
        None is one that was not asked for.
    inputs : list of Path or None
        They are never written over.
    tables : sequence of Path or None
        Outputs whose names tell the form of a table.
    """
    wanted = [out for out in outputs if out is not None]
    for out in wanted:
        _check_place(out)
        for one in filter(None, inputs):
            if out.exists() and one.exists() and out.samefile(one):
                raise ValueError(f"{out} is an input of this command: write to another file.")
    if len({out.resolve() for out in wanted}) < len(wanted):
        raise ValueError("Two outputs of this command have the same name: give each its own.")
    for table in filter(None, tables):
        check_name(table)


def _check_place(out: Path) -> None:
    """Refuse a place where no file can be put."""
    folder = out.resolve().parent
    if not folder.is_dir():
        raise ValueError(
            f"{out} cannot be written: there is no folder {out.parent}. Make it first, or name "
            "another file."
        )
    if out.is_dir():
        raise ValueError(f"{out} cannot be written: it is a folder. Name a file in it.")
    # A new file takes the place of an older one; what is no plain file is written on directly.
    is_new = out.is_file() or not out.exists()
    if not os.access(folder if is_new else out, os.W_OK):
        raise ValueError(f"{out} cannot be written: this user may not. Name another file.")


def read_rows(
    options: argparse.Namespace, *, table: Path | None = None
) -> tuple[Any, NDArray[Any], int | None]:
    """Read rows to learn from, their classes, and what indices of sparse rows count from.

    With `table`, a file that rows are to be written to, sparse ones are refused.
    """
    rows = open_rows(options.data, form=options.format)
    if table is not None and rows.is_sparse:
        raise ValueError(
            f"{table} cannot be written: the rows of {rows.source} are sparse, and tables are not."
        )
    _need_target(rows, options.target)
    X, y = rows.read_labelled(options.target, drop=options.drop)
    is_there = _is_there(y)
    if not is_there.all():
        console.note(f"{int((~is_there).sum())} rows without a target are left out.")
        X, y = X[is_there], y[is_there]
    return X, _classes_of(y, options.target), rows.first_index


def _need_target(rows: RowFile, target: str | None) -> None:
    """Refuse rows with labels in a column that nobody has named."""
    if target is None and rows.default_target is None and not rows.is_sparse:
        raise ValueError(
            f"{rows.source}: no target column given; use --target, one of "
            f"{', '.join(rows.names or ())}."
        )


def _is_there(y: Any) -> NDArray[np.bool_]:
    return np.array([value is not None and value == value for value in y], dtype=np.bool_)


def _classes_of(y: Any, target: str | None) -> NDArray[Any]:
    """Give the labels as an array whose type is that of the values that are there."""
    name = "The target" if target is None else f"The target {target!r}"
    if len(y) == 0:
        raise ValueError(f"{name} is missing in every row.")
    labels = np.asarray(list(y))
    if labels.dtype.kind not in "biufU":
        raise ValueError(
            f"{name} holds values of the type {type(y[0]).__name__}: classes are texts, numbers or "
            "truth values."
        )
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            raise ValueError(f"{name} holds an infinite number, which is no class.")
        if (labels == np.floor(labels)).all() and np.abs(labels).max() < 2.0**53:
            # Whole numbers that were read as floats because some were missing.
            labels = labels.astype(np.int64)
    n_classes = len(np.unique(labels))
    if n_classes < 2:
        raise ValueError(f"{name} has one value only: there is nothing to tell apart.")
    if labels.dtype.kind in "iuf" and n_classes > _MANY_CLASSES:
        raise ValueError(
            f"{name} has {n_classes} different numbers, which looks like a quantity: fcgboost "
            "tells classes apart. Cut it into a few classes first."
        )
    return labels


def open_for(model: Any, options: argparse.Namespace, batch_rows: int = 65_536) -> RowFile:
    """Open the rows that a model is to judge."""
    data = about_part(split_model(model)[1].about_, "data")
    first = data.get("first_index")
    return open_rows(
        options.data,
        batch_rows=batch_rows,
        form=options.format,
        first_index=first if first in (0, 1) else None,
    )


def about_part(about: dict[str, Any], key: str) -> dict[str, Any]:
    """Give a part of what travels with a model; users may have put anything there."""
    found = about.get(key)
    return found if isinstance(found, dict) else {}


def model_batches(
    model: Any, rows: RowFile, *, target: str | None = None, keep: Sequence[str] = ()
) -> Iterator[tuple[Any, Any, Any]]:
    """Give rows as a classifier takes them, as the file has them, and columns to be kept.

    Yields
    ------
    numbers : ndarray, data frame or CSR matrix
        What the model's classifier takes: the rows, encoded if the model has an encoder.
    batch : data frame or CSR matrix
    kept : data frame
    """
    encoder, classifier = split_model(model)
    names = vars(classifier).get("feature_names_in_")
    targets = [target, rows.default_target, classifier.about_.get("target")]
    wanted = {"encoder": encoder, "target": target, "n_features": classifier.n_features_in_}
    for i, (batch, kept) in enumerate(rows.batches_with(keep, **wanted)):
        if encoder is not None:
            numbers = encoder.transform(batch)
            if i == 0:
                _tell_unknown(encoder, batch)
        else:
            is_sparse = sparse.issparse(batch)
            numbers = batch if is_sparse else _plain_numbers(batch, names, targets, rows)
        yield numbers, batch, kept


def _tell_unknown(encoder: Any, batch: Any) -> None:
    """Warn of columns of which the first rows show nothing that the training rows had."""
    for name, share in encoder.unknown_share(batch).items():
        if share == 1.0:
            console.note(f"{name}: none of the first {len(batch):,} values was there in training.")


def _plain_numbers(batch: Any, names: Any, targets: list[Any], rows: RowFile) -> Any:
    """Give the columns that a model without an encoder was fitted to."""
    if names is not None:
        for name in names:
            if name not in batch.columns:
                raise ValueError(f"{rows.source} has no column {name!r}, which the model needs.")
        return batch[list(names)]
    kept = [name for name in batch.columns if name not in targets]
    return batch[kept].to_numpy(dtype=np.float64)


def labelled_batches(
    model: Any, options: argparse.Namespace, lost: dict[str, Any]
) -> Iterator[tuple[Any, Any, NDArray[Any]]]:
    """Give numbers, rows and labels, without rows that have no label.

    Parameters
    ----------
    model : classifier, or Pipeline with a table encoder
    options : Namespace
        With "data", "format" and "target"; a target of None is what the model was fitted to, if
        its file tells.
    lost : dict
        Filled with what did not fit: "rows_without_target", "unknown_labels".
    """
    _, classifier = split_model(model)
    rows, target = open_for(model, options), options.target
    about = classifier.about_.get("target")
    if target is None and not rows.is_sparse and isinstance(about, str):
        target = about
    _need_target(rows, target)
    rows.check_target(target)
    known = {text_of(value): value for value in classifier.classes_.tolist()}
    lost.update(rows_without_target=0, unknown_labels=set())
    n_known = 0
    for numbers, batch, _ in model_batches(model, rows, target=target):
        X, y = rows.split_target(batch, target)
        is_there = _is_there(y)
        lost["rows_without_target"] += int((~is_there).sum())
        codes, values = factorize(read_column(y[is_there]))
        texts = [text_of(value) for value in values]
        strangers = {text for text in texts if text not in known}
        lost["unknown_labels"] |= strangers
        n_known += int(np.array([text in known for text in texts], dtype=np.intp)[codes].sum())
        matched = [known.get(text, value) for text, value in zip(texts, values, strict=True)]
        dtype = object if strangers else classifier.classes_.dtype
        labels = np.array(matched, dtype=dtype)[codes]
        if is_there.any():
            yield numbers[is_there], X[is_there], labels
    if n_known == 0:
        found = ", ".join(sorted(lost["unknown_labels"])[:_MANY_NAMES]) or "none"
        raise ValueError(
            f"No row of {rows.source} has a label that the model knows: found {found}; it knows "
            f"{', '.join(known)}."
        )
    _tell_lost(lost, known)


def _tell_lost(lost: dict[str, Any], known: dict[str, Any]) -> None:
    if lost["rows_without_target"]:
        console.note(f"{lost['rows_without_target']} rows without a target are left out.")
    unknown = sorted(lost["unknown_labels"])
    if unknown:
        console.note(
            f"Labels the model does not know count as mistakes: {', '.join(unknown[:_MANY_NAMES])}"
            f"{' ...' if len(unknown) > _MANY_NAMES else ''}. It knows {', '.join(known)}."
        )
