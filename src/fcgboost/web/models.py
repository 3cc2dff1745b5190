"""The subject of a report: a fitted model, and its predictions for the rows given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.io import split_model
from fcgboost.plotting.base import feature_names
from fcgboost.plotting.margins import margins_of
from fcgboost.plotting.paths import theory_k0
from fcgboost.prediction import BaseFCGBoost
from fcgboost.scores import Score, score_predictions
from fcgboost.tables import Column, TableEncoder
from fcgboost.tables.encoder import as_array
from fcgboost.tables.inputs import Inputs, PlainInputs
from fcgboost.threads import cached
from fcgboost.training.checks import check_rows
from fcgboost.training.scoring import precomputed
from fcgboost.web.text import listed

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A classifier, the encoder before it, if any, and the inputs that atoms see."""

    encoder: TableEncoder | None
    classifier: BaseFCGBoost
    inputs: Inputs

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.inputs.columns

    @property
    def classes(self) -> NDArray[Any]:
        return self.classifier.classes_

    def about_part(self, key: str) -> Mapping[str, Any]:
        """Return a mapping stored in the model file; empty if there is none."""
        found = self.classifier.about_.get(key)
        return found if isinstance(found, Mapping) else {}

    @property
    def feature_names(self) -> list[str]:
        """The names of what atoms see."""
        return self.inputs.names()

    @property
    def are_marks(self) -> NDArray[np.bool_]:
        """Which features are 0 or 1: whether a value is a level, or missing."""
        if isinstance(self.inputs, PlainInputs):
            return np.zeros(len(self.feature_names), dtype=np.bool_)
        outputs = [one for column in self.columns for one in column.outputs]
        are_levels = np.array([getattr(one, "level", None) is not None for one in outputs])
        return self.inputs.ordered(are_levels | [one.part == "missing" for one in outputs])

    @property
    def k0(self) -> int:
        """The number of steps that theory suggests for the training data."""
        return theory_k0(self.classifier)

    @cached
    def _importances(self) -> Array | None:
        try:
            return self.classifier.feature_importances_
        except AttributeError:
            return None

    @property
    def feature_influence(self) -> Array | None:
        """The share of every feature, or of the column that it is made of; None if not known."""
        found = self._importances
        return found[self.inputs.sources] if found is not None and self.encoder is None else found

    @cached
    def influence(self) -> Array | None:
        """The share of every column: of one before an encoder, that of all it becomes."""
        found = self._importances
        if found is None or self.encoder is None:
            return found
        return np.bincount(self.inputs.sources, found, len(self.columns)).astype(np.float64)

    def decision(self, numbers: Array) -> Array:
        """Return decision values, of shape (n_samples, n_outputs), of cells that were read."""
        return np.asarray(self.classifier.model_.decision(self.inputs.encode(numbers)))

    @property
    def has_proba(self) -> bool:
        return hasattr(self.classifier, "predict_proba")  # not with the hinge

    def response(self, numbers: Array) -> Array:
        """Return the probabilities of every output, or decision values where there are none."""
        decision = self.decision(numbers)
        if not self.has_proba:
            return decision
        values = decision[:, 0] if decision.shape[1] == 1 else decision
        proba = np.asarray(precomputed(self.classifier, values).predict_proba(None))
        return proba[:, 1:] if decision.shape[1] == 1 else proba

    def largest(self, most: int) -> list[int]:
        """Return the places of the columns that matter most and are not left out, in order."""
        places = [j for j, column in enumerate(self.columns) if column.n_outputs]
        influence = self.influence
        if influence is not None:
            places.sort(key=lambda j: -influence[j])
        return sorted(places[:most])

    @property
    def has_dollars(self) -> bool:
        """Whether a name contains a dollar, which matplotlib would take for a formula."""
        return any("$" in name for name in (*self.feature_names, *map(str, self.classes)))

    @property
    def has_path(self) -> bool:
        """Whether every step of the path is known."""
        return len(self.classifier.trace_) >= max(1, self.classifier.n_iter_)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Rows and their true labels, and what a model predicts for them.

    X is as the user gave it, `inputs` what the classifier takes; the model has X's column names.
    """

    model: FittedModel
    X: Any
    inputs: Any
    y: NDArray[Any]
    labels: NDArray[Any]
    decision: Array
    proba: Array | None
    scores: Mapping[str, Score]

    def __len__(self) -> int:
        return len(self.y)

    @cached
    def codes(self) -> NDArray[np.intp]:
        """The place of every true label among the classes; -1 for a label that is none."""
        is_one = self.y[:, None] == self.model.classes[None, :]
        return np.where(is_one.any(axis=1), is_one.argmax(axis=1), -1)

    @property
    def baseline(self) -> tuple[Any, float]:
        """The most frequent class, and the share of the rows that belong to it."""
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.model.classes))
        return self.model.classes[counts.argmax()], float(counts.max() / len(self))

    @cached
    def margins(self) -> Array:
        """The lead of the true class, y f(x) for two classes; negative for mistakes."""
        return margins_of(self.codes, self.decision)

    @cached
    def mistakes(self) -> NDArray[np.intp]:
        """The misclassified rows, the worst first."""
        wrong = np.flatnonzero(self.labels != self.y)
        return wrong[np.argsort(self.margins[wrong], kind="stable")]

    def values(self, place: int) -> Any:
        """Return a column of X as it is; None for one that X does not have."""
        if not hasattr(self.X, "columns"):  # no data frame of any library
            is_sparse = sparse.issparse(self.X)
            return self.X[:, [place]].toarray()[:, 0] if is_sparse else self.X[:, place]
        by_name = {str(label): label for label in self.X.columns}
        name = self.model.columns[place].name
        return self.X[by_name[name]] if name in by_name else None

    def some_inputs(self, rows: NDArray[np.intp]) -> Any:
        is_frame = hasattr(self.inputs, "iloc")  # pandas' data frames take labels, not places
        return self.inputs.iloc[rows] if is_frame else self.inputs[rows]

    @cached
    def numbers(self) -> Any:
        """One number for every cell of X: NaN where it is missing, of a category its level."""
        if self.model.encoder is None:
            return check_rows(self.model.classifier, self.X)
        return self.X if sparse.issparse(self.X) else self.model.encoder.read(self.X)

    def some_numbers(self, rows: NDArray[np.intp]) -> Array:
        found = self.numbers[rows]
        return np.array(found.toarray() if sparse.issparse(found) else found, dtype=np.float64)

    def some(self, most: int, *, known: bool = False) -> NDArray[np.intp]:
        """Sample at most so many rows, if wanted of known classes; the same ones at every call."""
        rows = np.flatnonzero(self.codes >= 0) if known else np.arange(len(self))
        if len(rows) <= most:
            return rows
        return np.sort(np.random.default_rng(0).choice(rows, most, replace=False))


def take_apart(model: Any) -> FittedModel:
    """Return the parts of a classifier, or of a Pipeline of an encoder and one."""
    encoder, classifier = split_model(model)
    if encoder is not None:
        plain = PlainInputs([column.name for column in encoder.columns_], None)
        is_plain = encoder.columns_ == plain.columns
        return FittedModel(encoder, classifier, plain if is_plain else Inputs(encoder.columns_))
    inputs = vars(classifier).get("_inputs_")
    if inputs is None or isinstance(inputs, PlainInputs):
        fills = getattr(inputs, "fills", None)
        inputs = PlainInputs(feature_names(None, classifier), fills)
    return FittedModel(None, classifier, inputs)


def evaluate_model(model: FittedModel, X: Any, y: Any) -> Evaluation:
    """Evaluate a model on rows."""
    if hasattr(X, "column_names"):  # an Arrow table
        X = X.to_pandas()
    elif not hasattr(X, "columns"):  # no data frame of any library
        X = X.tocsr() if sparse.issparse(X) else np.asarray(as_array(X))
    truth, classifier = np.asarray(y), model.classifier
    if truth.ndim != 1 or len(truth) != X.shape[0] or len(truth) == 0:
        raise ValueError(
            f"X and y must have one row and one label each for at least one row: X has "
            f"{X.shape[0]} rows, y has shape {truth.shape}."
        )
    if not any(np.any(truth == value) for value in classifier.classes_):
        raise ValueError(
            f"No label in y is a class of the model: y begins with {truth[:3].tolist()}, the "
            f"classes are {listed([repr(value) for value in classifier.classes_.tolist()])}."
        )
    inputs = X if model.encoder is None else model.encoder.transform(X)
    decision = np.asarray(classifier.decision_function(inputs))
    found = precomputed(classifier, decision)
    labels = found.predict(None)
    proba = np.asarray(found.predict_proba(None)) if model.has_proba else None
    scores = score_predictions(truth, labels, proba, classifier.classes_)
    named = replace(model, inputs=_named_as(model, X))
    return Evaluation(named, X, inputs, truth, labels, decision, proba, scores)


def _named_as(model: FittedModel, X: Any) -> Inputs:
    """Name the columns as a data frame does, where the model has seen no names."""
    names: Sequence[Any] | None = getattr(X, "columns", None)
    known, inputs = model.encoder or model.classifier, model.inputs
    if names is None or "feature_names_in_" in vars(known) or len(names) != len(inputs.columns):
        return inputs
    if isinstance(inputs, PlainInputs):
        return PlainInputs(list(map(str, names)), inputs.fills)
    pairs = zip(inputs.columns, names, strict=True)
    return Inputs([replace(column, name=str(name)) for column, name in pairs])
