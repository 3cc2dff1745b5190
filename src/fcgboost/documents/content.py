"""The content of a model file, as values and as a document."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from fcgboost import __version__
from fcgboost.arrays import (
    Array,
    to_numpy,
)
from fcgboost.calibration import Correction, PowerLink, check_noise_matrix
from fcgboost.documents import schema
from fcgboost.documents.checking import (
    Json,
    JsonObject,
    Memory,
    check_about,
    convert,
    increases,
    numbers,
    refuse,
    sized,
    special,
)
from fcgboost.documents.columns import (
    column_document,
    n_inputs,
    read_background,
    read_columns,
)
from fcgboost.documents.members import Shared, read_member
from fcgboost.documents.parts import (
    PartsByName,
    parameters_document,
    plain,
    read_parameters,
    read_part,
)
from fcgboost.findings import Finding
from fcgboost.losses import Loss
from fcgboost.members import Member, Members

#: A fitted classifier, whose attributes are known here, but not its class.
Fitted: TypeAlias = Any

# The types of labels in JSON, by the first letter of their NumPy dtype.
_LABELS: dict[str, set[type]]
_LABELS = {"b": {bool}, "i": {int}, "u": {int}, "f": {int, float}, "U": {str}, "o": {str}}
# The largest number of characters in the array of labels.
_MOST_CHARACTERS = 2**22
# The largest size of the background.
_MOST_NUMBERS = 10_000


@dataclass(frozen=True)
class Loaded:
    """What a file says about a model beyond the model itself."""

    #: The members it belongs to, until `truncate` or `fit` replace them.
    members: tuple[Member, ...]
    about: JsonObject
    importances: Array | None
    #: Background rows for explanations, as columns read them.
    background: Array | None


class Content(NamedTuple):
    """A classifier's parameters and fitted attributes."""

    parameters: dict[str, Any]
    fitted: dict[str, Any]


def document_of(classifier: Fitted, *, has_background: bool, about: JsonObject) -> JsonObject:
    """Return a fitted classifier as a JSON document, but for its members."""
    names = getattr(classifier, "feature_names_in_", None)
    labels = classifier.classes_.dtype
    dtype = f"U{labels.itemsize // 4}" if labels.kind == "U" else labels.name
    # Not available for every dictionary, nor for a loaded and truncated model.
    importances = getattr(classifier, "feature_importances_", None)
    columns = classifier._table_columns_
    correction = classifier._correction_
    return {
        "format": schema.FORMAT,
        "version": schema.VERSION,
        "written_by": f"fcgboost {__version__}",
        "about": about,
        "n_features": int(classifier.n_features_in_),
        "feature_names": None if names is None else _texts(names),
        "columns": None if columns is None else list(map(column_document, columns)),
        "classes": {"dtype": dtype, "values": _texts(classifier.classes_)},
        "parameters": parameters_document(classifier.get_params(deep=False)),
        "k0": int(classifier._k0_),
        "loss": plain(classifier._loss_, "loss"),
        "link": None if classifier.link_ is None else asdict(classifier.link_),
        "correction": correction
        and {"matrix": correction.matrix.tolist(), "shift": correction.shift},
        "feature_importances": None if importances is None else list(map(special, importances)),
        "background": _background_document(classifier) if has_background else None,
        "findings": list(map(asdict, classifier.findings_)),
    }


def _background_document(classifier: Fitted) -> Json:
    """Return the background rows for explanations, if they are few numbers."""
    rows = classifier._background()
    if rows is None or rows.shape[0] * rows.shape[1] > _MOST_NUMBERS:
        return None
    return [list(map(special, row)) for row in np.asarray(to_numpy(rows), dtype=np.float64)]


def _texts(values: NDArray[np.generic]) -> list[Json]:
    """Return plain Python values, also for NumPy strings in an object array."""
    return [str(value) if isinstance(value, str) else value for value in values.tolist()]


def read_content(value: object, parts: PartsByName, max_bytes: float = math.inf) -> Content:
    """Check a document and return its content.

    It may name `parts` only; `max_bytes` limits the memory of its atoms and of its paths.
    """
    document: schema.Document = convert(value, schema.Document)
    n_features = document.n_features
    # A number of columns is believed once there is a list of that length.
    for i, member in enumerate(document.members):
        place = f"$.members[{i}]"
        sized(member.model.scale, n_inputs(member, document, place), f"{place}.model.scale")
    classes = _read_classes(document.classes)
    columns = read_columns(document)
    background = read_background(document, columns)
    shared = Shared(
        columns=columns,
        n_outputs=1 if len(classes) == 2 else len(classes),
        background=background,
        parts=parts,
        memory=Memory(max_bytes),
    )
    members = Members(
        read_member(member, shared, f"$.members[{i}]") for i, member in enumerate(document.members)
    )
    shares = document.feature_importances
    link = document.link
    fitted = {
        "classes_": classes,
        "members_": members,
        "n_features_in_": n_features,
        "link_": link and PowerLink(link.slope, link.power),
        "findings_": tuple(Finding(**structs.asdict(finding)) for finding in document.findings),
        "_correction_": _read_correction(document.correction, classes),
        "_k0_": document.k0,
        "_loss_": read_part(
            document.loss,
            parts,
            "$.loss",
            Loss,
        ),
        "_table_columns_": None if document.columns is None else tuple(columns),
        "_loaded_": Loaded(
            members,
            about=check_about(document.about, "$.about"),
            importances=None
            if shares is None
            else numbers(shares, n_features, "$.feature_importances"),
            background=background,
        ),
    }
    if document.feature_names is not None:
        fitted["feature_names_in_"] = np.array(document.feature_names, dtype=object)
    return Content(read_parameters(document.parameters, parts), fitted)


def _read_correction(
    record: schema.CorrectionRecord | None, classes: NDArray[np.generic]
) -> Correction | None:
    """Return the correction for wrong labels, with a valid matrix."""
    if record is None:
        return None
    rows = [numbers(row, len(classes), "$.correction.matrix") for row in record.matrix]
    try:
        return Correction(check_noise_matrix(rows, classes.tolist()), record.shift)
    except ValueError:
        refuse("$.correction.matrix", "is not a matrix of rates of labels")


def _read_classes(record: schema.ClassesRecord) -> NDArray[np.generic]:
    """Return the class labels with their original dtype."""
    name = record.dtype
    place = "$.classes.values"
    labels: list[Any] = record.values
    if name.startswith("U") and int(name[1:]) * len(labels) > _MOST_CHARACTERS:
        refuse("$.classes.dtype", "makes the labels too large for a model file")
    if not set(map(type, labels)) <= _LABELS[name[0]]:
        refuse(place, f"must have labels of type {name} only")
    with np.errstate(over="ignore"):
        try:
            classes = np.array(labels, dtype=name)
        except OverflowError:
            classes = np.empty(0)
    if classes.tolist() != labels:
        refuse(place, f"has a value that is not of the type {name}")
    if not increases(labels):
        refuse(place, "must be in increasing order")
    return classes
