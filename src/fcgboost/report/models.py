"""The subject of a report: a fitted model, and its predictions for the rows given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from fcgboost.checks import check_rows
from fcgboost.evaluation import Evaluation
from fcgboost.inspection import Description
from fcgboost.io import check_model
from fcgboost.members import decision_of
from fcgboost.plotting.paths import path_length
from fcgboost.prediction import BaseFCGBoost
from fcgboost.wording import listed

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
#: Texts, numbers or truth values.
Labels = NDArray[Any]
#: What users pass: an array, a data frame or a sparse matrix.
Rows: TypeAlias = Any


class FittedModel(Description):
    """A fitted classifier, with the answers to what a page asks about it."""

    @classmethod
    def of(cls, classifier: BaseFCGBoost) -> FittedModel:
        """Describe a classifier of this package; raise a TypeError for anything else."""
        return cls(check_model(classifier))

    @property
    def classes(self) -> Labels:
        return self.classifier.classes_

    @property
    def has_proba(self) -> bool:
        return hasattr(self.classifier, "predict_proba")  # not with the hinge

    def response(self, numbers: Array) -> Array:
        """Return the probabilities of every output, or decision values where there are none.

        Their shape is (n_samples, n_outputs); of two classes the second is the only output. The
        cells were read before.
        """
        decision = np.asarray(self.classifier._flat(decision_of(self.members, numbers)))
        is_pair = decision.ndim == 1
        if not self.has_proba:
            return decision[:, None] if is_pair else decision
        return np.asarray(self.classifier.probabilities_of(decision))[:, int(is_pair) :]

    def largest(self, most: int) -> list[int]:
        """Return the positions of the columns that matter most and are not left out, in order."""
        positions = [j for j, column in enumerate(self.columns) if column.n_outputs]
        influence = self.influence
        if influence is not None:
            positions.sort(key=lambda j: -influence[j])
        return sorted(positions[:most])

    @property
    def has_path(self) -> bool:
        """Whether there are steps to show."""
        return path_length(self.classifier) > 0


@dataclass(frozen=True, eq=False)
class EvaluatedRows(Evaluation):
    """Rows with what a model predicts for them."""

    decision: Array
    model: FittedModel
    X: Rows

    def rows(self, positions: Codes) -> Rows:
        """Return some rows of X."""
        X = self.X
        return X.iloc[positions] if hasattr(X, "iloc") else X[positions]  # pandas takes labels

    def numbers(self, positions: Codes) -> Array:
        """Return a number for every cell: NaN where it is missing, of a category its level."""
        cells: Rows = check_rows(self.model.classifier, self.rows(positions))
        return np.asarray(cells.toarray() if sparse.issparse(cells) else cells, dtype=np.float64)

    def sample(self, most: int, *, of_classes: bool = False) -> Codes:
        """Sample at most `most` rows, on request only those whose label is a class."""
        positions = np.flatnonzero(self.codes >= 0) if of_classes else np.arange(len(self))
        if len(positions) <= most:
            return positions
        return np.sort(np.random.default_rng(0).choice(positions, most, replace=False))


def evaluate_model(model: FittedModel, X: Rows, y: ArrayLike) -> EvaluatedRows:
    """Evaluate a model on rows."""
    if hasattr(X, "column_names"):  # an Arrow table
        X = X.to_pandas()
    elif not hasattr(X, "columns"):  # no data frame of any library
        # Among texts numbers stay numbers.
        X = X.tocsr() if sparse.issparse(X) else np.asarray(X, getattr(X, "dtype", object))
    truth = np.asarray(y)
    if truth.ndim != 1 or len(truth) != X.shape[0] or len(truth) == 0:
        raise ValueError(
            f"X and y must have one row and one label each for at least one row: X has "
            f"{X.shape[0]} rows, y has shape {truth.shape}."
        )
    if not any(np.any(truth == value) for value in model.classes):
        raise ValueError(
            f"No label in y is a class of the model: y begins with {truth[:3].tolist()}, the "
            f"classes are {listed([repr(value) for value in model.classes.tolist()])}."
        )
    decision = np.asarray(model.classifier.decision_function(X))
    evaluation = Evaluation.from_decision(model.classifier, decision, truth)
    return EvaluatedRows(**vars(evaluation), model=model, X=X)
