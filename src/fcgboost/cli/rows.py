"""How commands read rows: to learn from them, and as a model wants them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.cli import console
from fcgboost.io import split_model
from fcgboost.readers import open_rows, read_table
from fcgboost.tables.cells import text_of

# A number in this many different values is a quantity, not a class.
_MANY_CLASSES = 100
_MANY_NAMES = 5


def check_outputs(outputs: list[Path | None], inputs: list[Path | None]) -> None:
    """Refuse, before any work, to write over an input or into a folder that is not there."""
    for out in outputs:
        if out is None:
            continue
        if not out.resolve().parent.is_dir():
            raise ValueError(f"{out} can not be written: there is no folder {out.parent}.")
        if out.is_dir():
            raise ValueError(f"{out} can not be written: it is a folder.")
        for one in inputs:
            if one is not None and out.exists() and one.exists() and out.samefile(one):
                raise ValueError(f"{out} is an input of this command: write to another file.")


def read_rows(options: argparse.Namespace) -> tuple[Any, NDArray[Any]]:
    """Read the rows a command is to learn from, and their classes."""
    X, y = read_table(options.data, options.target)
    for name in options.drop:
        names = [str(one) for one in getattr(X, "columns", ())]
        if name not in names:
            raise ValueError(f"--drop {name}: the columns are {', '.join(names) or 'unnamed'}.")
        X = X.drop(columns=name)
    is_there = _is_there(y)
    if not is_there.all():
        console.note(f"{int((~is_there).sum())} rows without a target are left out.")
        X, y = X[is_there], y[is_there]
    return X, _classes_of(y, options.target)


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


def model_batches(
    model: Any, path: Path, *, target: str | None = None, batch_rows: int = 65_536
) -> Iterator[tuple[Any, Any]]:
    """Give the rows of a file as a classifier takes them, and as the file has them.

    Yields
    ------
    numbers : ndarray, data frame or CSR matrix
        What the model's classifier takes: the rows, encoded if the model has an encoder.
    batch : data frame or CSR matrix
    """
    encoder, classifier = split_model(model)
    rows = open_rows(path, batch_rows=batch_rows)
    names = vars(classifier).get("feature_names_in_")
    # A file may say itself which column holds the labels.
    own = getattr(rows, "default_target", None)
    known = [target, own, classifier.about_.get("target")]
    for batch in rows.batches(encoder=encoder, target=target, n_features=classifier.n_features_in_):
        if encoder is not None:
            yield encoder.transform(batch), batch
        elif sparse.issparse(batch):
            yield batch, batch
        else:
            yield _plain_numbers(batch, names, known, path), batch


def _plain_numbers(batch: Any, names: Any, targets: list[Any], path: Path) -> Any:
    """Give the columns that a model without an encoder was fitted to."""
    if names is not None:
        for name in names:
            if name not in batch.columns:
                raise ValueError(f"{path} has no column {name!r}, which the model needs.")
        return batch[list(names)]
    kept = [name for name in batch.columns if name not in targets]
    return batch[kept].to_numpy(dtype=np.float64)


def labelled_batches(
    model: Any, path: Path, target: str | None, lost: dict[str, Any]
) -> Iterator[tuple[Any, Any, NDArray[Any]]]:
    """Give numbers, rows and labels, without rows that have no label.

    Parameters
    ----------
    model : classifier, or Pipeline with a table encoder
    path : Path
    target : str or None
        None is what the model was fitted to, if its file tells.
    lost : dict
        Filled with what did not fit: "rows_without_target", "unknown_labels".
    """
    _, classifier = split_model(model)
    about = classifier.about_.get("target")
    rows = open_rows(path)
    if target is None and not rows.is_sparse and isinstance(about, str):
        target = about
    rows.check_target(target)
    known = {text_of(value): value for value in classifier.classes_.tolist()}
    lost.update(rows_without_target=0, unknown_labels=set())
    n_known = 0
    for numbers, batch in model_batches(model, path, target=target):
        X, y = rows.split_target(batch, target)
        is_there = _is_there(y)
        lost["rows_without_target"] += int((~is_there).sum())
        matched = [known.get(text_of(value), value) for value in list(y[is_there])]
        strangers = {str(value) for value in matched if text_of(value) not in known}
        lost["unknown_labels"] |= strangers
        n_known += sum(text_of(value) in known for value in matched)
        labels = np.array(matched, dtype=object if strangers else classifier.classes_.dtype)
        if is_there.any():
            yield numbers[is_there], X[is_there], labels
    if n_known == 0:
        found = ", ".join(sorted(lost["unknown_labels"])[:_MANY_NAMES]) or "none"
        raise ValueError(
            f"No row of {path} has a label that the model knows: found {found}; it knows "
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
