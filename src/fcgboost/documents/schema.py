"""The types of model files, from which their JSON schema is derived."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from fcgboost.shapley import MOST_ROWS
from fcgboost.stopping import Status
from fcgboost.tables.cells import Style
from fcgboost.tables.columns import View
from fcgboost.training.checks import FAMILIES

FORMAT, VERSION = "fcgboost model", 6

_MAX = sys.float_info.max
Real = Annotated[float, Meta(ge=-_MAX, le=_MAX)]
_NotNegative = Annotated[float, Meta(ge=0, le=_MAX)]
# Numbers that JSON does not have are written as names.
Special = Literal["NaN", "Infinity", "-Infinity"]
_AnyReal = Real | Special
# Integers stay integers.
_Number = int | Real
_WholeNotNegative = Annotated[int, Meta(ge=0, le=2**53)]
WholePositive = Annotated[int, Meta(ge=1, le=2**53)]
_Positive = Annotated[float, Meta(gt=0, le=_MAX)]
_Fraction = Annotated[float, Meta(gt=0, lt=1)]
_Count = Annotated[int, Meta(ge=1, le=2**31 - 1)]
_Place = Annotated[int, Meta(ge=0, le=2**31 - 2)]
_PerOutput = Annotated[list[Real], Meta(min_length=1)]
_Label = str | bool | int | Real
#: A parameter of a part, other than parts and lists.
Value = str | bool | Annotated[int, Meta(ge=-(2**53), le=2**53)] | Real | None
_StatusName: Any = Literal[tuple(Status.__members__)]


class Record(Struct, forbid_unknown_fields=True):
    """An object without unknown keys."""


class PartRecord(Record):
    """A loss, dictionary or other part: the name of its class and its parameters."""

    part: str
    parameters: dict[str, Any]


def _part_or(*names: str) -> Any:
    return PartRecord | Literal[names]


#: The classifier's parameters that do not belong to one machine.
PARAMETERS: dict[str, Any] = {
    "dictionary": _part_or(*FAMILIES["dictionary"][1]),
    "loss": _part_or(*FAMILIES["loss"][1]),
    "scheme": _part_or(*FAMILIES["scheme"][1]),
    "solver": _part_or("auto", *FAMILIES["solver"][1]),
    "selection": _part_or("auto", *FAMILIES["selection"][1]),
    "removal": _part_or(*FAMILIES["removal"][1]) | _Fraction | None,
    "n_candidates": WholePositive | None,
    "max_iter": Literal["auto", "theory"] | WholePositive,
    "l2": Literal["auto"] | _WholeNotNegative | _NotNegative,
    "fit_intercept": bool,
    "standardize": bool,
    "clip": Literal["auto"] | WholePositive | _Positive | None,
    "normalize": bool,
    "reselect": bool,
    "link": Literal["auto", "theory", "power"],
    "validation_fraction": _Fraction | None,
    "n_iter_no_change": WholePositive | None,
    "scoring": str | None,
    "tol": _WholeNotNegative | _NotNegative,
    # Keys of JSON objects are strings.
    "class_weight": Literal["balanced"] | list[tuple[_Label, WholePositive | _Positive]] | None,
    "warm_start": bool,
    "device": str,
    "n_jobs": Annotated[int, Meta(ge=-(2**31), le=2**31)] | None,
    "random_state": Annotated[int, Meta(ge=0, le=2**32 - 1)] | None,
    "verbose": bool | _WholeNotNegative,
    "categorical_features": Literal["from_dtype"] | list[str | bool | int] | None,
    "dayfirst": bool | None,
}
Parameters: Any = defstruct("Parameters", list(PARAMETERS.items()), forbid_unknown_fields=True)


class ClassesRecord(Record):
    """The class labels in increasing order, and their NumPy dtype."""

    dtype: Annotated[
        str, Meta(pattern=r"^(bool|u?int(8|16|32|64)|float(16|32|64)|U[1-9][0-9]{0,6}|object)$")
    ]
    values: Annotated[list[_Label], Meta(min_length=2)]


class LinkRecord(Record):
    """The log-odds of a decision value f are slope f (1 + f^2)^((power - 1) / 2)."""

    slope: Annotated[float, Meta(gt=0, le=1000)]
    power: Annotated[float, Meta(gt=0, le=4)]


class LimitsRecord(Record):
    """Inputs are clipped to these limits."""

    low: list[Real]
    high: list[Real]


class StorageRecord(Record):
    """Whether atoms are dense or sparse, their NumPy dtype, and their length."""

    kind: Literal["dense", "csr_matrix", "csr_array"]
    dtype: Literal["float64", "float32", "int64", "int32"]
    n_parameters: Annotated[int, Meta(ge=1, le=2**31 - 2)]


class AtomRecord(Record):
    """The step at which an atom entered; its row, or the places and values of non-zeros."""

    step: _Count
    row: list[_Number] | UnsetType = UNSET
    places: list[_Place] | UnsetType = UNSET
    values: list[_Number] | UnsetType = UNSET


class ModelAtomRecord(AtomRecord, kw_only=True):
    """An atom with its coefficients."""

    coef: _PerOutput


class ModelRecord(Record):
    """The decision values are the intercept plus the sum of coefficients times atoms."""

    dictionary: PartRecord
    loss: PartRecord
    scale: Annotated[list[_Positive], Meta(min_length=1)]
    limits: LimitsRecord | None
    intercept: _PerOutput
    storage: StorageRecord
    atoms: list[ModelAtomRecord]


class StepRecord(Record):
    """A step: for each output, the coefficients of its atoms in its own order.

    If leaves are corrected, `leaves` has those of the newest trees; others did not change.
    """

    chosen: Annotated[list[Annotated[int, Meta(ge=-1, le=2**31 - 1)]], Meta(min_length=1)]
    removed: list[tuple[_Place, _Place]]
    scores: list[_AnyReal]
    objectives: list[_AnyReal]
    intercept: _PerOutput
    coef: Annotated[list[list[Real]], Meta(min_length=1)]
    solver_iterations: _WholeNotNegative
    residual: _AnyReal
    is_corrected: bool
    seconds: _NotNegative
    validation_score: _AnyReal | None
    leaves: list[list[Real]] | UnsetType = UNSET


class PathRecord(Record):
    """All steps, atoms that were removed or entered after n_iter steps, and metrics if any."""

    start: _PerOutput
    endings: Annotated[list[_StatusName | None], Meta(min_length=1)]
    gone: list[_Place]
    atoms: list[AtomRecord]
    steps: list[StepRecord]
    metrics: dict[Literal["train", "validation"], dict[str, list[_AnyReal]]] | UnsetType = UNSET


class NumberOutputRecord(Record):
    """An output of a number: its value, whether it is missing, or a part of a date."""

    part: Literal["value", "missing", "month", "weekday", "hour"]
    fill: Real | None
    view: View


class NumberRecord(Record, tag_field="kind", tag="number"):
    """A column of numbers or dates."""

    name: str
    outputs: list[NumberOutputRecord]
    unit: Literal["number", "days"]
    style: Style
    accepts_text: bool


class LevelOutputRecord(Record):
    """Whether a text is a level, or a number for each level and for missing values."""

    part: str
    level: _Place | None
    numbers: list[_AnyReal]
    view: View


class CategoryRecord(Record, tag_field="kind", tag="category"):
    """A column of text."""

    name: str
    levels: tuple[str, ...]
    outputs: list[LevelOutputRecord]
    is_unknown_missing: bool


class SkippedRecord(Record, tag_field="kind", tag="skipped"):
    """A column that is not used."""

    name: str
    reason: str


class EncoderParameters(Record):
    """The parameters of a TableEncoder."""

    max_levels: WholePositive
    min_count: WholePositive
    dayfirst: bool | None


class EncoderRecord(Record):
    """The columns of a table, whose outputs are the inputs of the model.

    With parameters they belong to a TableEncoder, otherwise to the classifier.
    """

    parameters: EncoderParameters | None
    has_names: bool
    columns: Annotated[list[NumberRecord | CategoryRecord | SkippedRecord], Meta(min_length=1)]


class Document(Record):
    """A fitted classifier of fcgboost. See docs/model-file.md."""

    format: Literal["fcgboost model"]
    version: Literal[6]
    written_by: str
    about: dict[str, Any]
    encoder: EncoderRecord | None
    #: Replacements of missing values, if the inputs are plain numbers.
    fills: list[Real] | None
    n_features: _Count
    feature_names: list[str] | None
    classes: ClassesRecord
    parameters: Parameters
    n_iter: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    k0: _Count
    l2: _NotNegative
    status: _StatusName
    feature_importances: list[_AnyReal] | None
    link: LinkRecord | None
    model: ModelRecord
    path: PathRecord | None
    #: Background rows for explanations, as atoms see them.
    background: Annotated[list[list[_AnyReal]], Meta(min_length=1, max_length=MOST_ROWS)] | None
