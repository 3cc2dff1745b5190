"""Files of format versions 2 to 5, converted to version 6."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta
from scipy import sparse

from fcgboost.arrays import namespace, squared_norms
from fcgboost.dictionaries import Array, Dictionary, Sample
from fcgboost.documents import schema
from fcgboost.documents.checking import convert
from fcgboost.documents.schema import AtomRecord, Document, Parameters, PartRecord, PathRecord

# Numbers per node of a tree, and the mark of a leaf.
_NODE, _LEAF = 4, -1
# Dropped parameters, which said how atoms were made, not what they are.
_FORGOTTEN = {"TreeDictionary": "oblivious", "UnionDictionary": "mode", "Removal": "prune"}
# A constant is a tree with a single leaf.
_RENAMED = {"ConstantDictionary": "TreeDictionary"}
_NAMES = {"constant": "tree", "elliptic": {"part": "EllipticDictionary", "parameters": {}}}


class EllipticDictionary(Dictionary):
    """Atoms exp(-1/2 sum_j (p_j (x_j - c_j) / s_j)^2), for predictions only; a row is (c, p)."""

    def __init__(self, width: Any = None, max_features: Any = None, scaling: Any = "none") -> None:
        self.width = width
        self.max_features = max_features
        self.scaling = scaling

    def candidates(self, sample: Sample, n: int, key: int) -> Any:
        raise ValueError(
            "Elliptic atoms of an older fcgboost can predict but not be fitted. Choose another "
            "dictionary, such as 'gauss'."
        )

    def evaluate(self, X: Any, atoms: Any, scale: Array) -> Array:
        X, d = X.toarray() if sparse.issparse(X) else X, X.shape[1]
        squares = [squared_norms((X - row[:d]) * (row[d:] / scale)) for row in atoms]
        xp = namespace(X)
        values: Array = xp.exp(-0.5 * xp.stack(squares, axis=1))
        return values

    def n_parameters(self, n_features: int) -> int:
        return 2 * n_features


class _Path(PathRecord):
    #: Whether outputs shared their atoms, which is no longer supported.
    is_shared: bool = False


class _Number(schema.Record, tag_field="kind", tag="number"):
    name: str
    fill: schema.Real
    is_marked: bool
    unit: Literal["number", "days"]


class _Category(schema.Record, tag_field="kind", tag="category"):
    name: str
    levels: tuple[str, ...]
    has_other: bool
    is_marked: bool


class _Encoder(schema.Record):
    max_levels: schema.WholePositive
    min_count: schema.WholePositive
    has_names: bool
    columns: Annotated[list[_Number | _Category | schema.SkippedRecord], Meta(min_length=1)]


class _Version5(Document, kw_only=True):
    version: Literal[5]  # type: ignore[assignment]
    background: None = None


class _Document(Document, kw_only=True):
    version: Literal[2, 3, 4]  # type: ignore[assignment]
    encoder: _Encoder | None  # type: ignore[assignment]
    fills: None = None
    background: None = None
    parameters: dict[str, Any]
    path: _Path | None


def read_older(value: dict[str, Any]) -> Document:
    """Convert a document to version 6; a path with shared atoms is dropped."""
    if value["version"] == 5:
        return convert(value, _Version5)  # type: ignore[no-any-return]
    document: _Document = convert(value, _Document)
    if document.path is not None and document.path.is_shared:
        document.path = None
    if (old := document.encoder) is not None:
        parameters = schema.EncoderParameters(old.max_levels, old.min_count, None)
        columns = list(map(_column_record, old.columns))
        document.encoder = schema.EncoderRecord(parameters, old.has_names, columns)  # type: ignore[assignment]
    _replace_constants(document)
    document.model.dictionary = convert(_updated(value["model"]["dictionary"]), PartRecord)
    given = {key: _updated(one) for key, one in document.parameters.items()}
    given.pop("multiclass", None)
    given |= {"categorical_features": "from_dtype", "dayfirst": None}
    if isinstance(name := given.get("dictionary"), str):
        given["dictionary"] = _NAMES.get(name, name)
    document.parameters = convert(given, Parameters, "$.parameters")
    return document


def _column_record(column: Any) -> Any:
    """Convert a column with a fill and marks, or levels and marks."""
    if isinstance(column, _Number):
        outputs = [schema.NumberOutputRecord("value", column.fill, "both")]
        outputs += [schema.NumberOutputRecord("missing", None, "both")] * column.is_marked
        return schema.NumberRecord(column.name, outputs, column.unit, "", column.is_marked)
    if isinstance(column, _Category):
        n = len(column.levels)
        marked = [*range(n), *[n] * column.has_other, *[n + 1] * column.is_marked]
        levels = [schema.LevelOutputRecord("level", code, [], "both") for code in marked]
        return schema.CategoryRecord(column.name, column.levels, levels, False)
    return column


def _updated(value: Any) -> Any:
    """Return parts with their current names and parameters."""
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
    """Replace constant atoms by trees with a single leaf."""
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
            # Trailing zeros are omitted, including the number of the first family.
            number = atom.row[0] if atom.row else 0
            if number in constants:
                _insert_leaf(atom, 1)


def _insert_leaf(atom: AtomRecord, place: int) -> None:
    if atom.row is not UNSET:
        row = atom.row or [0] * place
        atom.row = [*row[:place], _LEAF, *row[place:]]
