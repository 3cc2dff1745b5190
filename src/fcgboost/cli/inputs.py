"""How commands open the rows that their options name."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fcgboost.cli.arguments import reading_options
from fcgboost.prediction import BaseFCGBoost
from fcgboost.rows import RowFile, open_rows
from fcgboost.rows.batches import target_of


def read_labelled(
    options: argparse.Namespace, categorical_features: ArrayLike | None = "from_dtype"
) -> tuple[pd.DataFrame, NDArray[np.generic], int | None]:
    """Read rows to fit to, their classes, and what indices of sparse rows count from."""
    with open_rows(options.data, format=options.format, **reading_options(options)) as rows:
        X, y = labelled_rows(rows, options, categorical_features)
    return X, y, rows.first_index


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


def open_for(
    model: BaseFCGBoost, options: argparse.Namespace, path: Path | None = None
) -> AbstractContextManager[RowFile]:
    """Open the rows that a model is to predict, or another file."""
    first = model.describe().recorded("data").get("first_index")
    return open_rows(
        path or options.data,
        format=options.format if path is None else None,
        first_index=first if first in (0, 1) else None,  # users may store anything
        **reading_options(options),
    )
