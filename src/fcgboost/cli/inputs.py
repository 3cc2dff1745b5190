"""How commands open the rows that their options name."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fcgboost.cli.arguments import reading_options
from fcgboost.findings import find_quantity
from fcgboost.prediction import BaseFCGBoost
from fcgboost.rows import RowFile, open_rows
from fcgboost.rows.batches import target_of


def read_labelled(
    options: argparse.Namespace, categorical_features: ArrayLike | None = "from_dtype"
) -> tuple[pd.DataFrame, NDArray[np.generic], dict[str, Any]]:
    """Read rows to fit to, their classes, and how the file was written."""
    with open_rows(options.data, format=options.format, **reading_options(options)) as rows:
        X, y = labelled_rows(rows, options, categorical_features)
    return X, y, rows.about()


def labelled_rows(
    rows: RowFile,
    options: argparse.Namespace,
    categorical_features: ArrayLike | None,
    aside: Sequence[str] = (),
) -> tuple[pd.DataFrame, NDArray[np.generic]]:
    """Read rows to fit to, without the columns that are put aside, and their classes."""
    target = options.target if rows.matrix is not None else target_of(rows, options.target)
    X, y = rows.read(target, [*options.drop, *aside], categorical_features)
    assert y is not None
    if len(np.unique(y)) < 2:
        raise ValueError(f"{options.data}: the target has only one value; at least two are needed.")
    return X, y


def check_classes(y: NDArray[np.generic]) -> None:
    """Raise a ValueError for a quantity."""
    for finding in find_quantity(np.unique(y), len(y)):
        raise ValueError(str(finding))


def as_written(X: pd.DataFrame, reading: dict[str, Any]) -> pd.DataFrame:
    """Write decimal commas as the file did, where later files are expected to have them."""
    if reading["separator"] != ",":
        return X
    texts = {
        name: X[name].map("{!r}".format, na_action="ignore").str.replace(".", ",")
        for name, (_, style) in reading["columns"].items()
        if style == "decimal comma"
    }
    return X.assign(**texts)


def open_for(
    model: BaseFCGBoost, options: argparse.Namespace, path: Path | None = None
) -> AbstractContextManager[RowFile]:
    """Open the rows that a model is to predict, or another file."""
    return open_rows(
        path or options.data,
        format=options.format if path is None else None,
        like=model.describe().recorded("data", "reading"),
        **reading_options(options),
    )
