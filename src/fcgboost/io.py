"""Model files: save a fitted classifier, and load it again."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from sklearn.utils.validation import check_is_fitted

from fcgboost.documents import VERSION, Document, Json, ModelFileError, read
from fcgboost.estimators import FCGBoostClassifier
from fcgboost.files import FilePath
from fcgboost.prediction import BaseFCGBoost

__all__ = ["ModelFileError", "check_model", "json_schema", "load_model", "save_model"]


def check_model(model: object) -> BaseFCGBoost:
    """Return a model if it is a fitted classifier of fcgboost.

    Raises
    ------
    TypeError
        If the model is anything else, such as a Pipeline.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    """
    if not isinstance(model, BaseFCGBoost):
        raise TypeError(
            f"A model is a fitted classifier of fcgboost, got {type(model).__name__}: pass the "
            "classifier alone, which reads tables itself."
        )
    check_is_fitted(model)
    return model


def save_model(
    model: BaseFCGBoost,
    path: FilePath,
    *,
    trace: bool | None = None,
    background: bool = True,
    about: dict[str, Json] | None = None,
) -> None:
    """Save a model as one JSON document, exact to the last bit.

    Parameters
    ----------
    model : fitted classifier of fcgboost
    path, trace, background, about :
        As in `FCGBoostClassifier.save_model`.
    """
    check_model(model).save_model(
        path,
        trace=trace,
        background=background,
        about=about,
    )


def load_model(
    path: FilePath, *, parts: Iterable[type] = (), max_bytes: int = 2**28
) -> FCGBoostClassifier:
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
    FCGBoostClassifier
        Also for the model of a `DaskFCGBoostClassifier`.

    Raises
    ------
    ModelFileError
        A ValueError that says what is wrong, and where in the file.
    """
    content = read(path, parts=parts, max_bytes=max_bytes)
    classifier = FCGBoostClassifier(**content.parameters)
    classifier.__dict__.update(content.fitted)
    return classifier


def json_schema() -> dict[str, Json]:
    """Return the schema of model files (JSON Schema, draft 2020-12)."""
    draft = "https://json-schema.org/draft/2020-12/schema"
    name = f"urn:fcgboost:model:{VERSION}"
    return {"$schema": draft, "$id": name, **msgspec.json.schema(Document)}
