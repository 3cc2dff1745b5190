"""The content of a model file, as values and as a document."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from fcgboost import __version__, tables
from fcgboost.arrays import host
from fcgboost.calibration import PowerLink
from fcgboost.clipping import Limits
from fcgboost.dictionaries import Dictionary
from fcgboost.documents import schema
from fcgboost.documents.answers import check_answers
from fcgboost.documents.atoms import read_atoms, read_entered, rows_document, storage_document
from fcgboost.documents.checking import check_about, convert, exact, numbers, refuse, sized, special
from fcgboost.documents.older import EllipticDictionary, read_older
from fcgboost.documents.parts import Known, parameters_document, plain, read_parameters, read_part
from fcgboost.documents.paths import path_document, read_path
from fcgboost.greedy.path import Trace
from fcgboost.losses import Loss
from fcgboost.model import Model
from fcgboost.stopping import Status
from fcgboost.tables import Column, TableEncoder
from fcgboost.tables.inputs import Inputs, PlainInputs

# The types of labels in JSON, by the first letter of their NumPy dtype.
_LABELS: dict[str, set[type]]
_LABELS = {"b": {bool}, "i": {int}, "u": {int}, "f": {int, float}, "U": {str}, "o": {str}}
# The largest number of characters in the array of labels.
_MOST_CHARACTERS = 2**22
_ENCODER = "$.encoder.columns"
# The largest size of the background.
_MOST_NUMBERS = 10_000
# The largest length of all output names, each of which repeats the name of its column.
_MOST_IN_NAMES = 2**24


@dataclass(frozen=True)
class Loaded:
    """What a file says about a model beyond the model itself."""

    #: The model it belongs to, until `truncate` or `fit` replace it.
    model: Model
    about: dict[str, Any]
    importances: NDArray[np.float64] | None
    #: Background rows for explanations, as atoms see them.
    background: NDArray[np.float64] | None


class Content(NamedTuple):
    """A classifier's parameters and fitted attributes, and an encoder."""

    parameters: dict[str, Any]
    fitted: dict[str, Any]
    encoder: TableEncoder | None


def found_by(classifier: Any) -> Any:
    """Return the best estimator of a search, or the classifier itself."""
    return vars(classifier).get("best_estimator_", classifier)


def document_of(
    classifier: Any, encoder: TableEncoder | None, *, has_path: bool, about: dict[str, Any]
) -> dict[str, Any]:
    """Return a fitted classifier as a JSON document."""
    found, model, n_iter = found_by(classifier), classifier.model_, int(classifier.n_iter_)
    names = getattr(classifier, "feature_names_in_", None)
    labels = classifier.classes_.dtype
    dtype = f"U{labels.itemsize // 4}" if labels.kind == "U" else labels.name
    # Not available for every dictionary, nor for a loaded and truncated model.
    importances = getattr(classifier, "feature_importances_", None)
    path = path_document(classifier.trace_, n_iter, model.dictionary) if has_path else None
    fills = getattr(vars(classifier).get("_inputs_"), "fills", None)
    return {
        "format": schema.FORMAT,
        "version": schema.VERSION,
        "written_by": f"fcgboost {__version__}",
        "about": about,
        "encoder": _table_document(classifier, encoder),
        "fills": None if fills is None else fills.tolist(),
        "n_features": len(model.scale),
        "feature_names": None if names is None else _texts(names),
        "classes": {"dtype": dtype, "values": _texts(classifier.classes_)},
        "parameters": parameters_document(found.get_params(deep=False)),
        "n_iter": n_iter,
        "k0": int(found._k0_),
        "l2": float(found.l2_),
        "status": classifier.status_.name,
        "feature_importances": None if importances is None else list(map(special, importances)),
        "link": None if classifier.link_ is None else asdict(classifier.link_),
        "model": _model_document(model, classifier._loss_),
        "path": path,
    }


def background_document(classifier: Any) -> list[list[Any]] | None:
    """Return the background rows for explanations, if they are few numbers."""
    rows = classifier._background()
    if rows is None or rows.shape[0] * rows.shape[1] > _MOST_NUMBERS:
        return None
    return [list(map(special, row)) for row in np.asarray(host(rows), dtype=np.float64)]


def _texts(values: NDArray[Any]) -> list[Any]:
    """Return plain Python values, also for NumPy strings in an object array."""
    return [str(value) if isinstance(value, str) else value for value in values.tolist()]


def _model_document(model: Model, loss: Loss) -> dict[str, Any]:
    rows = rows_document(model.dictionary, model.atoms)
    atoms = zip(model.entered.tolist(), model.coef.T.tolist(), rows, strict=True)
    limits = model.limits
    return {
        "dictionary": plain(model.dictionary, "dictionary"),
        "loss": plain(loss, "loss"),
        "scale": model.scale.tolist(),
        "limits": limits and {"low": limits.low.tolist(), "high": limits.high.tolist()},
        "intercept": model.intercept.tolist(),
        "storage": storage_document(model.atoms),
        "atoms": [{"step": step, "coef": own, **row} for step, own, row in atoms],
    }


def _table_document(classifier: Any, encoder: TableEncoder | None) -> dict[str, Any] | None:
    """Return the columns of an encoder, or those of the classifier."""
    owner, parameters = classifier, None
    if encoder is not None:
        owner, parameters = encoder, encoder.get_params()
        parameters |= {name: int(parameters[name]) for name in ("max_levels", "min_count")}
    elif isinstance(vars(classifier).get("_inputs_"), PlainInputs | None):
        return None
    columns = list(map(column_document, owner.columns_))
    has_names = hasattr(owner, "feature_names_in_")  # not of tables without names
    return {"parameters": parameters, "has_names": has_names, "columns": columns}


def column_document(column: Column) -> dict[str, Any]:
    """Return a column as a JSON document."""
    found = {"kind": column.kind, **vars(column)}
    if "outputs" in found:
        found["outputs"] = [output._asdict() for output in column.outputs]
    for output in found.get("outputs", ()):
        if "numbers" in output:
            output["numbers"] = list(map(special, output["numbers"]))
    return {name: value for name, value in found.items() if not name.startswith("_")}


def read_content(value: Any, known: Known, max_bytes: float = math.inf) -> Content:
    """Check a document and return its content.

    `known` are the parts that it may name; `max_bytes` limits the memory of its atoms and of its
    path.
    """
    document: schema.Document
    if isinstance(value, dict) and value.get("version") in (2, 3, 4, 5):
        document, known = read_older(value), {**known, "EllipticDictionary": EllipticDictionary}
    else:
        document = convert(value, schema.Document)
    n_iter, classes = document.n_iter, _read_classes(document.classes)
    model = _read_model(document, known, 1 if len(classes) == 2 else len(classes), max_bytes)
    if model.n_atoms and model.entered[-1] > n_iter:
        refuse("$.n_iter", f"is {n_iter}, but atoms of the model entered later")
    # Without a path, the start is unknown too.
    unknown = np.full(len(model.intercept), np.nan)
    trace = Trace((), model.atoms[:0], model.entered[:0], unknown, (None,) * len(unknown))
    if document.path is not None:
        trace, model = read_path(document, document.path, model, max_bytes)
    fitted = {
        **_read_attributes(document, model),
        "classes_": classes,
        "model_": model,
        "trace_": trace,
        "_loss_": read_part(document.model.loss, known, "$.model.loss", Loss),
    }
    parameters = read_parameters(document.parameters, known)
    encoder, record, fills = None, document.encoder, document.fills
    if record is not None:
        columns = _read_columns(record, document.n_features)
        inputs = Inputs(columns)
        fills = inputs.encode(np.full((1, len(columns)), np.nan))[0]
        if record.parameters is None:
            fitted |= {"_inputs_": inputs, "_readers_": inputs.columns}
        else:
            names = [column.name for column in columns] if record.has_names else None
            encoder = TableEncoder.from_columns(columns, names)
            encoder.set_params(**structs.asdict(record.parameters))
    check_answers(model, trace, fills, fitted["_loaded_"].background)
    return Content(parameters, fitted, encoder)


def _read_attributes(document: schema.Document, model: Model) -> dict[str, Any]:
    """Return the fitted attributes that do not contain parts."""
    link, shares, n_features = document.link, document.feature_importances, document.n_features
    table = document.encoder
    if table is not None and table.parameters is None:
        n_features = len(table.columns)
    importances = None if shares is None else numbers(shares, n_features, "$.feature_importances")
    rows, background = document.background, None
    if rows is not None:
        each = (
            numbers(row, document.n_features, f"$.background[{i}]") for i, row in enumerate(rows)
        )
        background = np.array(list(each))
    read = {
        "n_features_in_": n_features,
        "n_iter_": document.n_iter,
        "status_": Status[document.status],
        "link_": link and PowerLink(link.slope, link.power),
        "l2_": document.l2,
        "_k0_": document.k0,
        "_readers_": None,
        "notes_": (),
        "_loaded_": Loaded(model, check_about(document.about, "$.about"), importances, background),
    }
    if document.feature_names is not None:
        names = sized(document.feature_names, n_features, "$.feature_names")
        read["feature_names_in_"] = np.array(names, dtype=object)
    if document.fills is not None:
        fills = numbers(document.fills, n_features, "$.fills")
        names = document.feature_names or [f"x{j}" for j in range(n_features)]
        read["_inputs_"] = PlainInputs(names, fills)
    return read


def _read_classes(record: schema.ClassesRecord) -> NDArray[Any]:
    """Return the class labels with their original dtype."""
    name, place = record.dtype, "$.classes.values"
    labels: list[Any] = record.values
    if name.startswith("U") and int(name[1:]) * len(labels) > _MOST_CHARACTERS:
        refuse("$.classes.dtype", "makes the labels too large for a model file")
    if not set(map(type, labels)) <= _LABELS[name[0]]:
        refuse(place, f"must have labels of type {name} only")
    classes = exact(labels, name, place)
    if any(first >= second for first, second in pairwise(labels)):
        refuse(place, "must be in increasing order")
    return classes


def _read_model(document: schema.Document, known: Known, n_outputs: int, max_bytes: float) -> Model:
    model, place, n_features = document.model, "$.model", document.n_features
    dictionary = read_part(model.dictionary, known, f"{place}.dictionary", Dictionary)
    scale = numbers(model.scale, n_features, f"{place}.scale")
    coef = np.zeros((n_outputs, len(model.atoms)))
    for i, atom in enumerate(model.atoms):
        coef[:, i] = numbers(atom.coef, n_outputs, f"{place}.atoms[{i}].coef")
    intercept = numbers(model.intercept, n_outputs, f"{place}.intercept")
    for array in (coef, intercept):
        array.setflags(write=False)
    limits = None
    if model.limits is not None:
        low = numbers(model.limits.low, n_features, f"{place}.limits.low")
        high = numbers(model.limits.high, n_features, f"{place}.limits.high")
        for i in np.flatnonzero(low > high)[:1]:
            refuse(f"{place}.limits", f"has a lower limit above the upper one, at [{i}]")
        limits = Limits(low, high)
    return Model(
        dictionary=dictionary,
        atoms=read_atoms(model.atoms, document, dictionary, f"{place}.atoms", max_bytes),
        coef=coef,
        intercept=intercept,
        scale=scale,
        entered=np.array(read_entered(model.atoms, f"{place}.atoms"), dtype=np.intp),
        limits=limits,
    )


def _read_columns(record: schema.EncoderRecord, n_features: int) -> list[Column]:
    columns = [_read_column(one, f"{_ENCODER}[{i}]") for i, one in enumerate(record.columns)]
    # Check the length of the output names before making them.
    if sum(len(one.name) * one.n_outputs for one in columns) > _MOST_IN_NAMES:
        refuse(_ENCODER, "has names and levels that are too long for a model file")
    n_outputs = sum(column.n_outputs for column in columns)
    if n_outputs != n_features:
        refuse(_ENCODER, f"has {n_outputs} outputs, but n_features is {n_features}")
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        refuse(_ENCODER, "has two columns with the same name")
    return columns


def _read_column(record: Any, place: str) -> Column:
    """Check and return a column."""
    given = structs.asdict(record)
    if isinstance(record, schema.NumberRecord):
        outputs = tuple(tables.NumberOutput(*structs.astuple(one)) for one in record.outputs)
        return tables.NumberColumn(**{**given, "outputs": outputs})
    if isinstance(record, schema.SkippedRecord):
        return tables.SkippedColumn(**given)
    if any(first >= second for first, second in pairwise(record.levels)):
        refuse(f"{place}.levels", "must be in increasing order")
    found = []
    for i, one in enumerate(record.outputs):
        inside, n_levels = f"{place}.outputs[{i}]", len(record.levels)
        if (one.level is None) == (not one.numbers):
            refuse(inside, "must have either a level or numbers")
        if one.level is not None and one.level > n_levels + 1:
            refuse(f"{inside}.level", "is a level that does not exist")
        values = numbers(one.numbers, n_levels + 1, f"{inside}.numbers") if one.numbers else ()
        found.append(tables.LevelOutput(one.part, one.level, tuple(map(float, values)), one.view))
    return tables.CategoryColumn(**{**given, "outputs": tuple(found)})
