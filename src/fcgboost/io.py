"""Model files: save a fitted classifier, with or without a table encoder, and load it again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import msgspec
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fcgboost.documents import VERSION, Document, ModelFileError, encode, read
from fcgboost.estimators import FCGBoostClassifier
from fcgboost.files import write_whole
from fcgboost.prediction import BaseFCGBoost
from fcgboost.tables import TableEncoder

__all__ = ["ModelFileError", "json_schema", "load_model", "make_model", "save_model", "split_model"]

_MODELS = (
    "A model is a fitted classifier of fcgboost, or a sklearn.pipeline.Pipeline of a TableEncoder "
    "and such a classifier"
)


def split_model(model: Any) -> tuple[TableEncoder | None, BaseFCGBoost]:
    """Return a model's table encoder (or None) and its classifier.

    Parameters
    ----------
    model : classifier of fcgboost, or Pipeline of a TableEncoder and such a classifier

    Raises
    ------
    TypeError
        If the model is anything else.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    """
    if not isinstance(model, BaseFCGBoost | Pipeline):
        raise TypeError(f"{_MODELS}; got {type(model).__name__}.")
    steps = [("classifier", model)] if isinstance(model, BaseFCGBoost) else model.steps
    parts = [step for _, step in steps if step is not None and step != "passthrough"]
    *encoders, classifier = parts or [None]
    is_model = isinstance(classifier, BaseFCGBoost) and len(encoders) < 2
    if not (is_model and all(isinstance(encoder, TableEncoder) for encoder in encoders)):
        raise TypeError(f"{_MODELS}; this Pipeline has {[type(part).__name__ for part in parts]}.")
    for part in parts:
        check_is_fitted(part)
    return encoders[0] if encoders else None, classifier


def make_model(encoder: TableEncoder | None, classifier: BaseFCGBoost) -> Any:
    """Return a Pipeline with steps "encoder" and "classifier", or the classifier alone."""
    if encoder is None:
        return classifier
    return Pipeline([("encoder", encoder), ("classifier", classifier)])


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    trace: bool = True,
    background: bool = True,
    about: dict[str, Any] | None = None,
) -> None:
    """Save a model as one JSON document, exact to the last bit.

    Parameters
    ----------
    model : classifier of fcgboost, or Pipeline of a TableEncoder and such a classifier
    path, trace, background, about :
        As in `FCGBoostClassifier.save_model`.
    """
    encoder, classifier = split_model(model)
    options: dict[str, Any] = {"trace": trace, "background": background, "about": about}
    write_whole(path, encode(classifier, encoder, **options))


def load_model(
    path: str | os.PathLike[str], *, parts: Iterable[type] = (), max_bytes: int = 2**28
) -> Any:
    """Load a model that `save_model` wrote.

    Nothing in the file is executed or imported, and all of it is checked.

    Parameters
    ----------
    path : path
        The file to read.
    parts : iterable of classes, default=()
        User-defined dictionaries, losses and other parts of the model, found by their class names.
    max_bytes : int, default=2**28
        Larger files are refused before they are read.

    Returns
    -------
    FCGBoostClassifier, or Pipeline of a TableEncoder and one

    Raises
    ------
    ModelFileError
        A ValueError that says what is wrong, and where in the file.
    """
    content = read(path, parts=parts, max_bytes=max_bytes)
    classifier = FCGBoostClassifier(**content.parameters)
    classifier.__dict__.update(content.fitted)
    return make_model(content.encoder, classifier)


def json_schema() -> dict[str, Any]:
    """Return the schema of model files (JSON Schema, draft 2020-12)."""
    draft, name = "https://json-schema.org/draft/2020-12/schema", f"urn:fcgboost:model:{VERSION}"
    return {"$schema": draft, "$id": name, **msgspec.json.schema(Document)}
