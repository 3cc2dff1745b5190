"""Models, and what a model file makes of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fcgboost.documents import Content, read, write
from fcgboost.estimators import FCGBoostClassifier
from fcgboost.prediction import BaseFCGBoost, Loaded, content_of
from fcgboost.tables import TableEncoder
from fcgboost.trace import Trace

_MODELS = (
    "A model is a fitted classifier of fcgboost, or a sklearn.pipeline.Pipeline of a TableEncoder "
    "and such a classifier"
)


def split_model(model: Any) -> tuple[TableEncoder | None, BaseFCGBoost]:
    """Give a model's table encoder, None if it has none, and its classifier.

    Parameters
    ----------
    model : classifier of fcgboost, or Pipeline of a TableEncoder and such a classifier

    Raises
    ------
    TypeError
        For anything else.
    sklearn.exceptions.NotFittedError
        A ValueError, for a model that is not fitted.
    """
    if isinstance(model, BaseFCGBoost):
        check_is_fitted(model)
        return None, model
    if not isinstance(model, Pipeline):
        raise TypeError(f"{_MODELS}; got {type(model).__name__}.")
    parts = [step for _, step in model.steps if step is not None and step != "passthrough"]
    is_model = len(parts) == 2 and isinstance(parts[0], TableEncoder)
    if len(parts) == 1 and isinstance(parts[0], BaseFCGBoost):
        return split_model(parts[0])
    if not (is_model and isinstance(parts[1], BaseFCGBoost)):
        kinds = [type(step).__name__ for step in parts]
        raise TypeError(f"{_MODELS}; this Pipeline is one of {kinds}.")
    check_is_fitted(parts[0])
    return parts[0], split_model(parts[1])[1]


def make_model(encoder: TableEncoder | None, classifier: BaseFCGBoost) -> Any:
    """Give the model of a table encoder, which may be None, and a classifier.

    Returns
    -------
    classifier, or Pipeline of the steps "encoder" and "classifier"
    """
    if encoder is None:
        return classifier
    return Pipeline([("encoder", encoder), ("classifier", classifier)])


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    trace: bool = True,
    about: dict[str, Any] | None = None,
) -> None:
    """Write a model to a file: one JSON document, exact to the last bit.

    Parameters
    ----------
    model : classifier of fcgboost, or Pipeline of a TableEncoder and such a classifier
    path, trace, about :
        As in `FCGBoostClassifier.save_model`.
    """
    encoder, classifier = split_model(model)
    content = content_of(classifier, trace=trace, about=about)
    write(path, replace(content, encoder=encoder))


def load_model(
    path: str | os.PathLike[str], *, parts: Iterable[type] = (), max_bytes: int = 2**28
) -> Any:
    """Read a model from a file that `save_model` wrote.

    Nothing in the file is executed or imported, and all of it is checked.

    Parameters
    ----------
    path : path
    parts : iterable of classes, default=()
        Your own dictionary, loss or other parts that the model has; the file knows their names.
    max_bytes : int, default=2**28
        Larger files are refused before they are read.

    Returns
    -------
    FCGBoostClassifier, or Pipeline of a TableEncoder and one

    Raises
    ------
    ModelFileError
        A ValueError that names the file, the place in it, and what is wrong there.
    """
    content = read(path, parts=parts, max_bytes=max_bytes)
    return make_model(content.encoder, _classifier(content))


def _classifier(content: Content) -> FCGBoostClassifier:
    """Give the fitted classifier that a file describes."""
    model = content.model
    classifier = FCGBoostClassifier(**content.parameters)
    fitted = {
        "classes_": content.classes,
        "n_features_in_": len(model.scale),
        "model_": model,
        "trace_": _no_path(content) if content.trace is None else content.trace,
        "n_iter_": content.n_iter,
        "status_": content.status,
        "link_": content.link,
        "_loss_": content.loss,
        "l2_": content.l2,
        "_k0_": content.k0,
        "_loaded_": Loaded(model, content.about, content.importances),
    }
    if content.feature_names is not None:
        fitted["feature_names_in_"] = content.feature_names
    classifier.__dict__.update(fitted)
    return classifier


def _no_path(content: Content) -> Trace:
    """Give a path of no steps, of which not even the start is known."""
    model, n_outputs = content.model, len(content.model.intercept)
    unknown = np.full(n_outputs, np.nan)
    return Trace((), model.atoms[:0], model.entered[:0], unknown, (None,) * n_outputs)
