"""Files of the format versions 2 to 4, read as if they were of version 5."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct
from scipy import sparse

from fcgboost.arrays import namespace, squared_norms
from fcgboost.dictionaries import Array, Dictionary, Sample
from fcgboost.documents.checking import convert
from fcgboost.documents.schema import (
    AtomRecord,
    Document,
    EncoderRecord,
    Parameters,
    PartRecord,
    PathRecord,
)

# The numbers of a node of a tree, and what says that it is a leaf.
_NODE, _LEAF = 4, -1
# Parameters that said how atoms were made or left, not what they are.
_FORGOTTEN = {"TreeDictionary": "oblivious", "UnionDictionary": "mode", "Removal": "prune"}
# A constant is a tree of one leaf.
_RENAMED = {"ConstantDictionary": "TreeDictionary"}
_NAMES = {"constant": "tree", "elliptic": {"part": "EllipticDictionary", "parameters": {}}}


class EllipticDictionary(Dictionary):
    """Bells exp(-1/2 sum_j (p_j (x_j - c_j) / s_j)^2); a row is (c, p). Only evaluated."""

    def __init__(self, width: Any = None, max_features: Any = None, scaling: Any = "none") -> None:
        self.width = width
        self.max_features = max_features
        self.scaling = scaling

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        raise ValueError(
            "Elliptic atoms come from an older fcgboost: the model predicts, but cannot be fitted "
            "again. Choose another dictionary, such as 'gauss'."
        )

    def evaluate(self, X: Any, atoms: Any, scale: Array) -> Array:
        """Return exp(-1/2 |p (x - c) / s|^2), one atom after the other."""
        X, d = X.toarray() if sparse.issparse(X) else X, X.shape[1]
        squares = [squared_norms((X - row[:d]) * (row[d:] / scale)) for row in atoms]
        xp = namespace(X)
        values: Array = xp.exp(-0.5 * xp.stack(squares, axis=1))
        return values

    def n_parameters(self, n_features: int) -> int:
        return 2 * n_features


_MAX = sys.float_info.max


class _Named(Struct, forbid_unknown_fields=True):
    name: str


class _Path(PathRecord):
    #: Whether all outputs had the atoms that any of them chose: no path is like that now.
    is_shared: bool = False


class _Number(_Named, tag_field="kind", tag="number"):
    fill: Annotated[float, Meta(ge=-_MAX, le=_MAX)]
    is_marked: bool
    unit: Literal["number", "days"]


class _Category(_Named, tag_field="kind", tag="category"):
    levels: tuple[str, ...]
    has_other: bool
    is_marked: bool


class _Skipped(_Named, tag_field="kind", tag="skipped"):
    reason: str


class _Encoder(Struct, forbid_unknown_fields=True):
    max_levels: int
    min_count: int
    has_names: bool
    columns: list[_Number | _Category | _Skipped]


class _Document(Document, kw_only=True):
    version: Literal[2, 3, 4]  # type: ignore[assignment]
    encoder: _Encoder | None  # type: ignore[assignment]
    fills: None = None
    parameters: dict[str, Any]
    path: _Path | None


def read_older(value: dict[str, Any]) -> Document:
    """Return a document of version 2 to 4 as one of version 5; of shared atoms without its path."""
    document: _Document = convert(value, _Document)
    if document.path is not None and document.path.is_shared:
        document.path = None
    if document.encoder is not None:
        record = _encoder_record(document.encoder)
        document.encoder = convert(record, EncoderRecord, "$.encoder")
    _replace_constants(document)
    document.model.dictionary = convert(_updated(value["model"]["dictionary"]), PartRecord)
    parameters = {key: _updated(given) for key, given in document.parameters.items()}
    parameters.pop("multiclass", None)
    parameters |= {"categorical_features": "from_dtype", "dayfirst": None}
    if isinstance(name := parameters.get("dictionary"), str):
        parameters["dictionary"] = _NAMES.get(name, name)
    document.parameters = convert(parameters, Parameters, "$.parameters")
    return document


def _encoder_record(encoder: _Encoder) -> dict[str, Any]:
    """Return an encoder of which columns had a fill and marks."""
    parameters = {"max_levels": encoder.max_levels, "min_count": encoder.min_count}
    return {
        "parameters": {**parameters, "dayfirst": None},
        "has_names": encoder.has_names,
        "columns": list(map(_column_record, encoder.columns)),
    }


def _column_record(column: Any) -> dict[str, Any]:
    name = {"name": column.name, "kind": column.__struct_config__.tag}
    if isinstance(column, _Skipped):
        return {**name, "reason": column.reason}
    if isinstance(column, _Number):
        outputs: list[Any] = [{"part": "value", "fill": column.fill, "view": "both"}]
        outputs += [{"part": "missing", "fill": None, "view": "both"}] * column.is_marked
        found = {"unit": column.unit, "style": "", "accepts_text": column.is_marked}
        return {**name, "outputs": outputs, **found}
    n = len(column.levels)
    marked = [*range(n), *[n] * column.has_other, *[n + 1] * column.is_marked]
    outputs = [{"part": "level", "level": at, "numbers": [], "view": "both"} for at in marked]
    return {**name, "levels": column.levels, "outputs": outputs, "is_unknown_missing": False}


def _updated(value: Any) -> Any:
    """Return parts under the names and with the parameters that they have now."""
    if isinstance(value, list):
        return [_updated(inside) for inside in value]
    if not isinstance(value, dict):
        return value
    name, new = value.get("part"), {key: _updated(inside) for key, inside in value.items()}
    if isinstance(name, str) and isinstance(new.get("parameters"), dict):
        new["part"] = _RENAMED.get(name, name)
        new["parameters"].pop(_FORGOTTEN.get(name), None)
    return new


def _replace_constants(document: Document) -> None:
    """Write atoms of constants as trees of one leaf."""
    model, path = document.model, document.path
    atoms = [*model.atoms, *(() if path is None else path.atoms)]
    if model.dictionary.part == "ConstantDictionary":
        model.storage.n_parameters += _NODE - 1
        for atom in atoms:
            _insert_leaf(atom, 0)
    elif model.dictionary.part == "UnionDictionary":
        families = model.dictionary.parameters.get("families")
        found = families if isinstance(families, list) else []
        names = [family.get("part") if isinstance(family, dict) else None for family in found]
        constants = {i for i, name in enumerate(names) if name == "ConstantDictionary"}
        if constants:
            model.storage.n_parameters = max(model.storage.n_parameters, 1 + _NODE)
        for atom in atoms:
            # Zeros at the end are left out, also that of the first family.
            number = atom.row[0] if atom.row else 0
            if number in constants:
                _insert_leaf(atom, 1)


def _insert_leaf(atom: AtomRecord, place: int) -> None:
    if atom.row is not UNSET:
        row = atom.row or [0] * place
        atom.row = [*row[:place], _LEAF, *row[place:]]
