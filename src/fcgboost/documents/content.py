"""What a model file holds, as values; and as a document."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fcgboost.documents.encoders import encoder_document, read_encoder
from fcgboost.documents.models import model_document, read_model
from fcgboost.documents.parsing import parse
from fcgboost.documents.parts import (
    Known,
    parameters_document,
    parts_within,
    read_label,
    read_parameters,
)
from fcgboost.documents.paths import path_document, read_path
from fcgboost.documents.spots import Array, Spot, is_deeper, specials
from fcgboost.links import PowerLink
from fcgboost.losses import Loss
from fcgboost.model import Model
from fcgboost.parts import Part
from fcgboost.stopping import Status
from fcgboost.tables import TableEncoder
from fcgboost.trace import Trace

FORMAT = "fcgboost model"
VERSION = 2

_KEYS = (
    *("format", "version", "written_by", "about", "encoder", "n_features", "feature_names"),
    *("classes", "parameters", "n_iter", "k0", "l2", "status", "feature_importances", "link"),
    *("model", "path"),
)
_LABELS = r"bool|u?int(8|16|32|64)|float(16|32|64)|U[1-9][0-9]{0,6}|object"
_LABEL_TYPES: Mapping[str, set[type]] = {
    **{"b": {bool}, "i": {int}, "u": {int}, "f": {int, float}},
    **{"U": {str}, "o": {str}},
}
# An array of strings takes this many characters at most, whatever its type says.
_MOST_CHARACTERS = 2**22
_DEEPEST_ABOUT = 32
_LONGEST_ABOUT = 2**20
_LARGEST_COUNT = 2**31 - 1


@dataclass(frozen=True)
class Content:
    """What a model file holds.

    Attributes
    ----------
    parameters : mapping
        The classifier's parameters.
    classes : ndarray of shape (n_classes,)
    feature_names : ndarray of shape (n_features,) or None
    model : Model
    loss : Loss
        The loss that the decision values belong to.
    link : PowerLink or None
        What turns them into probabilities; None is the formula of the loss.
    trace : Trace or None
        The whole path; None where only the model is kept.
    n_iter : int
    k0 : int
        The theory's number of steps for the training data.
    l2 : float
        The ridge of the fit.
    status : Status
    importances : ndarray of shape (n_features,) or None
    about : dict
        JSON of the user's.
    encoder : TableEncoder or None
        What gives the features.
    """

    parameters: Mapping[str, Any]
    classes: NDArray[Any]
    feature_names: NDArray[Any] | None
    model: Model
    loss: Loss
    link: PowerLink | None
    trace: Trace | None
    n_iter: int
    k0: int
    l2: float
    status: Status
    importances: Array | None
    about: dict[str, Any]
    encoder: TableEncoder | None = None

    def parts(self) -> set[type[Part]]:
        """Give the classes of all parts."""
        held = (dict(self.parameters), self.model.dictionary, self.loss)
        return {part for value in held for part in parts_within(value)}


def document_of(content: Content) -> dict[str, Any]:
    """Give what a file holds as JSON has it."""
    names, importances, trace = content.feature_names, content.importances, content.trace
    dictionary = content.model.dictionary
    return {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"fcgboost {_own_version()}",
        "about": content.about,
        "encoder": encoder_document(content.encoder),
        "n_features": len(content.model.scale),
        "feature_names": None if names is None else _texts(names.tolist()),
        "classes": _classes_document(content.classes),
        "parameters": parameters_document(content.parameters),
        "n_iter": int(content.n_iter),
        "k0": int(content.k0),
        "l2": float(content.l2),
        "status": content.status.name,
        "feature_importances": None if importances is None else specials(importances),
        "link": None if content.link is None else asdict(content.link),
        "model": model_document(content.model, content.loss),
        "path": None if trace is None else path_document(trace, content.n_iter, dictionary),
    }


def _own_version() -> str:
    try:
        return version("fcgboost")
    except PackageNotFoundError:  # run from its source, not installed
        return "unknown"


def _classes_document(classes: NDArray[Any]) -> dict[str, Any]:
    name, labels = classes.dtype.name, classes.tolist()
    if classes.dtype.kind == "U":
        name = f"U{classes.dtype.itemsize // 4}"
    return {"dtype": name, "values": _texts(labels)}


def _texts(values: list[Any]) -> list[Any]:
    """Give texts of whatever type, NumPy's for one, as plain ones."""
    return [str(value) if isinstance(value, str) else value for value in values]


def read_content(spot: Spot, known: Known, max_bytes: float = math.inf) -> Content:
    """Give what a document holds; all of it is checked.

    Parameters
    ----------
    spot : Spot
        The whole document, which says that it is one.
    known : mapping from str to class
        The parts that it may name.
    max_bytes : float
        The memory that the atoms, or the coefficients of the path, may take.
    """
    fields = dict(zip(_KEYS, spot.fields(*_KEYS), strict=True))
    fields["written_by"].text()
    n_features = fields["n_features"].whole(1, _LARGEST_COUNT)
    classes = _read_classes(fields["classes"])
    n_outputs = 1 if len(classes) == 2 else len(classes)
    model, loss, storage = read_model(fields["model"], known, n_features, n_outputs, max_bytes)
    n_iter = _read_n_iter(fields["n_iter"], model)
    path, importances = fields["path"], fields["feature_importances"]
    trace = None if path.is_null else read_path(path, model, storage, n_iter, max_bytes)
    if trace is not None:
        model = trace.model(n_iter, model.dictionary, model.scale, model.limits)
    return Content(
        parameters=read_parameters(fields["parameters"], known),
        classes=classes,
        feature_names=_read_names(fields["feature_names"], n_features),
        model=model,
        loss=loss,
        link=_read_link(fields["link"]),
        trace=trace,
        n_iter=n_iter,
        k0=fields["k0"].whole(1, _LARGEST_COUNT),
        l2=float(fields["l2"].number(0.0)),
        status=Status[fields["status"].word(*Status.__members__)],
        importances=None if importances.is_null else importances.any_reals(n_features),
        about=read_about(fields["about"]),
        encoder=read_encoder(fields["encoder"], n_features),
    )


def _read_link(spot: Spot) -> PowerLink | None:
    if spot.is_null:
        return None
    slope, power = (side.number() for side in spot.fields("slope", "power"))
    try:
        return PowerLink(float(slope), float(power))
    except ValueError as error:
        spot.refuse(f"is no link: {str(error).rstrip('.')}")


def _read_names(spot: Spot, n_features: int) -> NDArray[Any] | None:
    return None if spot.is_null else np.array(spot.texts(n_features), dtype=object)


def _read_classes(spot: Spot) -> NDArray[Any]:
    """Give the class labels in the type they had, in their order."""
    dtype, values = spot.fields("dtype", "values")
    name, labels = dtype.text(), [read_label(label) for label in values.items()]
    if not re.fullmatch(_LABELS, name, re.ASCII):
        dtype.refuse(f"must be a type of labels such as 'int64', and is {name[:60]!a}")
    if len(labels) < 2:
        values.refuse("must have two entries or more")
    if name.startswith("U") and int(name[1:]) * len(labels) > _MOST_CHARACTERS:
        dtype.refuse("makes the labels too large for a model file")
    if not set(map(type, labels)) <= _LABEL_TYPES[name[0]]:
        values.refuse(f"must have labels of the type {name} only")
    try:
        with np.errstate(over="ignore"):
            classes = np.array(labels, dtype=name)
    except OverflowError:
        values.refuse(f"has labels that are no {name}")
    if classes.tolist() != labels:
        values.refuse(f"has labels that are no {name}")
    if any(first >= second for first, second in pairwise(labels)):
        values.refuse("must grow from one label to the next")
    return classes


def _read_n_iter(spot: Spot, model: Model) -> int:
    n_iter = spot.whole(0, _LARGEST_COUNT)
    if model.n_atoms and model.entered[-1] > n_iter:
        spot.refuse(f"is {n_iter}, and atoms of the model entered later")
    return n_iter


def plain_about(about: Any) -> dict[str, Any]:
    """Give what a user wants to travel along as it will come back, or say why it cannot."""
    if not isinstance(about, dict):
        raise TypeError(f"about must be a dict, got {type(about).__name__}.")
    try:
        _check_depth(Spot(about, None, "about"))
        if _has_other_keys(about):
            raise TypeError("about must have strings as keys, also inside.")
        text = json.dumps(about, allow_nan=False, default=_item)
        return read_about(Spot(parse(text), None, "about"))
    except ValueError as error:
        raise ValueError(f"about must be what JSON can hold: {error}.") from error


def _has_other_keys(value: Any) -> bool:
    if isinstance(value, dict):
        return any(not isinstance(key, str) or _has_other_keys(v) for key, v in value.items())
    return isinstance(value, list | tuple) and any(map(_has_other_keys, value))


def _item(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"about must be what JSON can hold, and not a {type(value).__name__}.")


def read_about(spot: Spot) -> dict[str, Any]:
    """Give JSON of the user's, which is an object of limited size."""
    spot.entries()
    _check_depth(spot)
    if len(json.dumps(spot.value)) > _LONGEST_ABOUT:
        spot.refuse(f"has more than {_LONGEST_ABOUT} characters of JSON")
    return spot.value  # type: ignore[no-any-return]


def _check_depth(spot: Spot) -> None:
    if is_deeper(spot.value, _DEEPEST_ABOUT):
        spot.refuse(f"has more than {_DEEPEST_ABOUT} lists and objects inside one another")
