"""What a page is about: a model, and the data it is judged on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fcgboost.io import split_model
from fcgboost.plotting.margins import margins_of
from fcgboost.plotting.paths import theory_k0
from fcgboost.prediction import BaseFCGBoost
from fcgboost.report.wording import listed
from fcgboost.scores import Score, score_predictions
from fcgboost.stopping import theory_steps
from fcgboost.tables import Column, NumberColumn, TableEncoder

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Subject:
    """A fitted model.

    Attributes
    ----------
    encoder : TableEncoder or None
    classifier : BaseFCGBoost
    columns : tuple of Column
        The columns of a table for the model.
    """

    encoder: TableEncoder | None
    classifier: BaseFCGBoost
    columns: tuple[Column, ...]

    @property
    def classes(self) -> NDArray[Any]:
        """The classes."""
        return self.classifier.classes_

    @property
    def about(self) -> Mapping[str, Any]:
        """What travels along in a model file: how it was made, and how good it was then."""
        return self.classifier.about_

    def told(self, key: str) -> Mapping[str, Any]:
        """Give a mapping of what travels along; empty where there is none."""
        found = self.about.get(key)
        return found if isinstance(found, Mapping) else {}

    @property
    def feature_names(self) -> list[str]:
        """The names of the numbers that the classifier sees."""
        return [name for column in self.columns for name in column.output_names()]

    @property
    def k0(self) -> int | None:
        """The theory's number of steps for the data of the fit, where it is known."""
        known, n_samples = theory_k0(self.classifier, None), self.told("data").get("n_samples")
        return theory_steps(n_samples) if known is None and isinstance(n_samples, int) else known

    @cached_property
    def feature_influence(self) -> Array | None:
        """The share of every feature in the model's slopes; None where no slope is known."""
        try:
            return self.classifier.feature_importances_
        except AttributeError:
            return None

    @cached_property
    def influence(self) -> Array | None:
        """The share of every column, summed over the features that it becomes."""
        found = self.feature_influence
        if found is None:
            return None
        return np.array([found[part].sum() for part in self.parts])

    @property
    def parts(self) -> list[slice]:
        """Where the features are that every column becomes."""
        ends = np.cumsum([0, *(column.n_outputs for column in self.columns)]).tolist()
        return [slice(start, end) for start, end in pairwise(ends)]

    def largest(self, most: int) -> list[int]:
        """Give the places of the columns that matter most and are not left out, in their order."""
        places = [j for j, column in enumerate(self.columns) if column.n_outputs]
        influence = self.influence
        if influence is not None:
            places.sort(key=lambda j: -influence[j])
        return sorted(places[:most])

    @property
    def has_dollars(self) -> bool:
        """Whether a name has a sign that pictures could take for the beginning of a formula."""
        return any("$" in name for name in (*self.feature_names, *map(str, self.classes)))

    @property
    def has_path(self) -> bool:
        """Whether every step of the path is known."""
        return len(self.classifier.trace_) >= max(1, self.classifier.n_iter_)


@dataclass(frozen=True, eq=False)
class Judged:
    """Data, and what a model says about it.

    Attributes
    ----------
    X : data frame, ndarray or CSR matrix
        As the user gave it.
    inputs : ndarray or CSR matrix of shape (n_samples, n_features)
        What the classifier sees.
    y, labels : ndarray of shape (n_samples,)
        The truth, and what the model says.
    decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
    proba : ndarray of shape (n_samples, n_classes) or None
    scores : dict from str to Score
    """

    subject: Subject
    X: Any
    inputs: Any
    y: NDArray[Any]
    labels: NDArray[Any]
    decision: Array
    proba: Array | None
    scores: Mapping[str, Score]

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """The place of every true label among the classes; -1 for a label that is none."""
        is_one = self.y[:, None] == self.subject.classes[None, :]
        return np.where(is_one.any(axis=1), is_one.argmax(axis=1), -1)

    @cached_property
    def margins(self) -> Array:
        """How far the true class is ahead, y f(x) for two classes; below 0 is a mistake."""
        return margins_of(self.codes, self.decision)

    def values(self, place: int) -> Any:
        """Give a column of X as it is; None for one that X does not have."""
        if hasattr(self.X, "columns"):  # a data frame of any library
            name = self.subject.columns[place].name
            by_name = {str(label): label for label in self.X.columns}
            if self.subject.encoder is None and hasattr(
                self.X, "iloc"
            ):  # pandas: a name may repeat
                return self.X.iloc[:, place]
            return self.X[by_name[name]] if name in by_name else None
        return self.X[:, [place]].toarray()[:, 0] if sparse.issparse(self.X) else self.X[:, place]

    def some_inputs(self, rows: NDArray[np.intp]) -> Any:
        """Give some rows of the inputs, whatever these are."""
        if hasattr(self.inputs, "iloc"):  # pandas' data frames take labels, not places
            return self.inputs.iloc[rows]
        return self.inputs[rows]

    def some(self, most: int, *, known: bool = False) -> NDArray[np.intp]:
        """Draw at most so many rows, or rows whose class is known; the same ones at every call."""
        rows = np.flatnonzero(self.codes >= 0) if known else np.arange(len(self))
        if len(rows) <= most:
            return rows
        return np.sort(np.random.default_rng(0).choice(rows, most, replace=False))


def find_subject(model: Any) -> Subject:
    """Take a model apart."""
    encoder, classifier = split_model(model)
    if encoder is not None:
        return Subject(encoder, classifier, encoder.columns_)
    names = vars(classifier).get("feature_names_in_")
    if names is None:
        names = [f"feature {i}" for i in range(1, classifier.n_features_in_ + 1)]
    columns = tuple(NumberColumn(str(name), 0.0, False) for name in names)
    return Subject(None, classifier, columns)


def judge(subject: Subject, X: Any, y: Any) -> Judged:
    """Let a model predict for data."""
    if not hasattr(X, "columns") and not sparse.issparse(X):  # no data frame of any library
        X = np.asarray(X)
    X = X.tocsr() if sparse.issparse(X) else X
    truth = np.asarray(y)
    if truth.ndim != 1 or len(truth) != X.shape[0] or len(truth) == 0:
        raise ValueError(
            f"X and y must have one row and one label each for at least one row: X has "
            f"{X.shape[0]} rows, y has shape {truth.shape}."
        )
    classifier = subject.classifier
    if not any(np.any(truth == value) for value in classifier.classes_):
        raise ValueError(
            f"No label in y is a class of the model: y begins with {truth[:3].tolist()}, the "
            f"classes are {listed([repr(value) for value in classifier.classes_.tolist()])}."
        )
    inputs = X if subject.encoder is None else subject.encoder.transform(X)
    labels, decision = np.asarray(classifier.predict(inputs)), classifier.decision_function(inputs)
    has_proba = hasattr(classifier, "predict_proba")  # not with the hinge
    proba = np.asarray(classifier.predict_proba(inputs)) if has_proba else None
    scores = score_predictions(truth, labels, proba, classifier.classes_)
    seen = replace(subject, columns=_named_as(subject, X))
    return Judged(seen, X, inputs, truth, labels, np.asarray(decision), proba, scores)


def _named_as(subject: Subject, X: Any) -> tuple[Column, ...]:
    """Give the columns the names of a data frame where the model has seen no names."""
    names = getattr(X, "columns", None)
    known = subject.encoder or subject.classifier
    if names is None or "feature_names_in_" in vars(known) or len(names) != len(subject.columns):
        return subject.columns
    pairs = zip(subject.columns, names, strict=True)
    return tuple(replace(column, name=str(name)) for column, name in pairs)
