"""The types of model files, from which their JSON schema is derived."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from fcgboost.shapley import MOST_ROWS
from fcgboost.stopping import Status
from fcgboost.tables.cells import Style, Unit
from fcgboost.tables.columns import StrayText, View

FORMAT = "fcgboost model"
VERSION = 1

# Decision values are finite, and so are sums of so many.
_MOST_MEMBERS = 1000
_MAX = sys.float_info.max
Real = Annotated[float, Meta(ge=-_MAX, le=_MAX)]
_NotNegative = Annotated[float, Meta(ge=0, le=_MAX)]
# Numbers that JSON does not have are written as names.
Special = Literal["NaN", "Infinity", "-Infinity"]
_RealOrName = Real | Special
_RealOrNaN = Real | Literal["NaN"]
_WholeNotNegative = Annotated[int, Meta(ge=0, le=2**53)]
_Positive = Annotated[float, Meta(gt=0, le=_MAX)]
_Count = Annotated[int, Meta(ge=1, le=2**31 - 1)]
_Place = Annotated[int, Meta(ge=0, le=2**31 - 2)]
_PerOutput = Annotated[list[Real], Meta(min_length=1)]
_Label = str | bool | int | Real
#: A parameter of a part, other than parts and lists.
Value = str | bool | Annotated[int, Meta(ge=-(2**53), le=2**53)] | Real | None
_StatusName: Any = Literal[tuple(Status.__members__)]


class Record(Struct, forbid_unknown_fields=True):
    """An object without unknown keys."""


class Kind(Record, tag_field="kind"):
    """An object that says in `kind` which of several it is."""


class PartRecord(Record):
    """A loss, dictionary or other part: the name of its class and its parameters."""

    part: str
    parameters: dict[str, Any]


#: The classifier's parameters that do not belong to one machine; `fit` checks their values.
PARAMETERS = (
    "dictionary",
    "loss",
    "scheme",
    "solver",
    "selection",
    "removal",
    "n_candidates",
    "max_iter",
    "l2",
    "fit_intercept",
    "standardize",
    "clip",
    "normalize",
    "reselect",
    "link",
    "label_noise",
    "cv",
    "ensemble",
    "validation_fraction",
    "n_iter_no_change",
    "scoring",
    "tol",
    "class_weight",
    "warm_start",
    "device",
    "n_jobs",
    "random_state",
    "verbose",
    "categorical_features",
    "dayfirst",
    "keep_columns",
)
Parameters: Any = defstruct("Parameters", PARAMETERS, forbid_unknown_fields=True)


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


class CorrectionRecord(Record):
    """Rates of labels (columns) by true class (rows); the shift moves decision values of a pair."""

    matrix: list[list[Annotated[float, Meta(ge=0, le=1)]]]
    shift: Real


class LimitsRecord(Record):
    """Inputs are clipped to these limits."""

    low: list[Real]
    high: list[Real]


class StorageRecord(Record):
    """Whether atoms are dense or sparse, and their length."""

    kind: Literal["dense", "csr_matrix", "csr_array"]
    n_parameters: Annotated[int, Meta(ge=1, le=2**31 - 2)]


class AtomRecord(Record):
    """The step at which an atom entered, its coefficients, and its row.

    A sparse row has its non-zeros only, and their `columns`.
    """

    step: _Count
    coef: _PerOutput
    row: list[Real]
    columns: list[_Place] | UnsetType = UNSET


class ModelRecord(Record):
    """The decision values are the intercept plus the sum of coefficients times atoms.

    With a path, its other atoms are here too, with coefficients of zero.
    """

    dictionary: PartRecord
    scale: Annotated[list[_Positive], Meta(min_length=1)]
    limits: LimitsRecord | None
    intercept: _PerOutput
    storage: StorageRecord
    atoms: list[AtomRecord]


class StepRecord(Record):
    """A step: for each output, the coefficients of its atoms in its own order.

    `k` is its number: records may skip steps, whose choices `chosen` then lists as well. If leaves
    are corrected, `leaves` has the values of the newest trees; others did not change.
    """

    k: _Count
    chosen: Annotated[list[Annotated[int, Meta(ge=-1, le=2**31 - 1)]], Meta(min_length=1)]
    removed: list[tuple[_Place, _Place]]
    scores: list[_RealOrName]
    objectives: list[_RealOrName]
    intercept: _PerOutput
    coef: Annotated[list[list[Real]], Meta(min_length=1)]
    solver_iterations: _WholeNotNegative
    residual: _RealOrName
    is_corrected: bool
    seconds: _NotNegative
    validation_score: _RealOrName | None
    leaves: list[list[Real]]


class PathRecord(Record):
    """All steps, also those after n_iter, and recorded metrics."""

    start: _PerOutput
    endings: Annotated[list[_StatusName | None], Meta(min_length=1)]
    steps: list[StepRecord]
    metrics: dict[Literal["train", "validation"], dict[str, list[_RealOrName]]]


class NumberOutputRecord(Kind, tag="number"):
    """An output of a number: its value, whether it is missing, or a part of a date."""

    part: Literal["value", "missing", "month", "weekday", "hour"]
    fill: Real | None
    view: View


class MarkRecord(Kind, tag="mark"):
    """An output of a category: whether its text is a level."""

    level: _Place
    view: View


class LevelNumbersRecord(Kind, tag="numbers"):
    """An output of a category: a number for each level, and one for missing values."""

    part: str
    numbers: list[Real]
    view: View


OutputRecord = NumberOutputRecord | MarkRecord | LevelNumbersRecord


class PlainInputsRecord(Kind, tag="plain"):
    """The columns are the inputs; fills, if any, replace missing values."""

    fills: list[Real] | None


class PairRecord(Record):
    """Two columns of categories, and what their combinations become."""

    columns: tuple[_Place, _Place]
    outputs: list[LevelNumbersRecord]


class TableInputsRecord(Kind, tag="table"):
    """The inputs are the outputs of each column and then of each pair, ordered by their views."""

    outputs: list[list[OutputRecord]]
    pairs: list[PairRecord]


class MemberRecord(Record):
    """One path: its model after n_iter steps, and what it sees of the columns."""

    weight: Annotated[float, Meta(ge=0, le=1)]
    n_iter: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    l2: _NotNegative
    status: _StatusName
    inputs: PlainInputsRecord | TableInputsRecord | None
    model: ModelRecord
    path: PathRecord | None


class NumberRecord(Kind, tag="number"):
    """A column of numbers or dates."""

    name: str
    unit: Unit
    style: Style
    stray_text: StrayText


class CategoryRecord(Kind, tag="category"):
    """A column of text."""

    name: str
    levels: tuple[str, ...]


class SkippedRecord(Kind, tag="skipped"):
    """A column that is not used."""

    name: str
    reason: str


ColumnRecord = NumberRecord | CategoryRecord | SkippedRecord


class FindingRecord(Record):
    """What users should know about the training data."""

    kind: str
    text: str
    columns: tuple[str, ...]
    rows: tuple[_WholeNotNegative, ...]


class Document(Record):
    """A fitted classifier of fcgboost. See docs/model-file.md."""

    format: Literal["fcgboost model"]
    version: Literal[1]
    written_by: str
    about: dict[str, Any]
    n_features: _Count
    feature_names: list[str] | None
    #: How the columns of a table are read; null if all are plain numbers.
    columns: list[ColumnRecord] | None
    classes: ClassesRecord
    parameters: Parameters
    k0: _Count
    loss: PartRecord
    link: LinkRecord | None
    correction: CorrectionRecord | None
    feature_importances: list[_RealOrName] | None
    #: Background rows for explanations, as columns read them.
    background: Annotated[list[list[_RealOrNaN]], Meta(min_length=1, max_length=MOST_ROWS)] | None
    findings: list[FindingRecord]
    members: Annotated[list[MemberRecord], Meta(min_length=1, max_length=_MOST_MEMBERS)]
