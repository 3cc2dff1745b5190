"""Model files in all parts, and what may be damaged in them."""

import functools
import json
from collections.abc import Callable
from typing import Any

from fcgboost.documents import encode
from tests.suites.models import MODELS


@functools.cache
def document(name: str) -> str:
    makers: dict[str, Callable[[], Any]] = {
        "relu": MODELS["relu, squared_hinge"],
        "gauss": MODELS["gauss, squared_hinge"],
        "polynomial": MODELS["polynomial, squared_hinge"],
        "sparse": MODELS["sparse matrix"],
        "table": MODELS["table"],
        "folds": MODELS["folds of a table"],
        "limits": MODELS["limits"],
        "tree": MODELS["trees"],
        "union": MODELS["union"],
        "removal": MODELS["removal"],
        "numbers": MODELS["regression, folds"],
    }
    return encode(makers[name]()).decode()


#: Stands for a number that JSON has and floats have not.
OVERFLOW = "1e999"


DAMAGE: dict[str, tuple[str, str, Any, str]] = {
    "unknown key": ("relu", "extra", 1, r"\$: object contains unknown field `extra`"),
    "unknown key inside": (
        "relu",
        "0.model.x y",
        1,
        r"\[0\]\.model: .* unknown field `x y`",
    ),
    "no scale": (
        "relu",
        "0.model.scale",
        None,
        r"\[0\]\.model\.scale: expected `array`, got",
    ),
    "zero scale": (
        "relu",
        "0.model.scale.1",
        0,
        r"\[0\]\.model\.scale\[1\]: expected `float` > 0",
    ),
    "no limits": ("limits", "0.model.limits", None, ""),
    "short limits": ("limits", "0.model.limits.low", [0.0], "low must have 3 entries"),
    "limits that cross": ("limits", "0.model.limits.low.1", 1.5, r"above the upper.*\[1\]"),
    "a limit without end": (
        "limits",
        "0.model.limits.high.0",
        "Infinity",
        r"high\[0\]: expected",
    ),
    "fewer features": ("relu", "n_features", 2, r"scale must have 2 entries, got 3"),
    "huge features": ("relu", "n_features", 2**31 - 1, "must have 2147483647 entries"),
    "true as a number": (
        "relu",
        "0.n_iter",
        True,
        r"\[0\]\.n_iter: expected `int`, got `bool`",
    ),
    "float as a count": (
        "relu",
        "0.n_iter",
        7.0,
        r"\[0\]\.n_iter: expected `int`, got `float`",
    ),
    "fewer steps": (
        "relu",
        "0.n_iter",
        6,
        r"steps does not lead to the coefficients of the model",
    ),
    "more steps": ("relu", "0.n_iter", 8, r"steps ends after step 7, but n_iter is 8"),
    "a text in a row": (
        *("relu", "0.model.atoms.3.row.1", "1"),
        r"\[0\]\.model\.atoms\[3\]\.row\[1\]: expected `float`, got `str`",
    ),
    "an overflowing number": (
        *("relu", "0.model.atoms.3.row.1", OVERFLOW),
        r"\[0\]\.model\.atoms\[3\]\.row\[1\]: expected `float` <= 1.79",
    ),
    "an overflowing parameter": (
        *("gauss", "0.model.dictionary.parameters.width", OVERFLOW),
        r"dictionary\.parameters\.width: expected",
    ),
    "an overflowing remark": ("relu", "about.a", OVERFLOW, "about has a number"),
    "columns that become nothing": (
        *("table", "0.inputs.outputs", [[]] * 5),
        r"\[0\]\.model\.scale must have 0 entries",
    ),
    "a short row": (
        *("relu", "0.model.atoms.3.row", [1.0]),
        r"\[0\]\.model\.atoms\[3\]\.row must have 4 entries, got 1",
    ),
    "no row": (
        "relu",
        "0.model.atoms.3",
        {"step": 4},
        r"\[0\]\.model\.atoms\[3\]: .* `coef`",
    ),
    "steps that fall": (
        "relu",
        "0.model.atoms.3.step",
        1,
        r"atoms\[3\]\.step must be at least 3",
    ),
    "huge atoms": (
        *("relu", "0.model.storage.n_parameters", 2**31),
        "n_parameters: expected `int` <= 2147483646",
    ),
    "wide atoms": (
        *("relu", "0.model.storage.n_parameters", 2**20),
        "must be 4 for ReluDictionary, got",
    ),
    "narrow atoms": (
        "gauss",
        "0.model.storage.n_parameters",
        3,
        "must be 4 for GaussDictionary",
    ),
    "half a node": ("tree", "0.model.storage.n_parameters", 6, "must be a multiple of 4"),
    "sparse trees": ("tree", "0.model.storage.kind", "csr_array", "must be dense for Tree"),
    "no room": ("union", "0.model.storage.n_parameters", 2, r"must have at most 2 entries"),
    "too much room": (
        *("union", "0.model.storage.n_parameters", 2**31 - 2),
        "takes too much memory",
    ),
    "a tree without nodes": (
        "tree",
        "0.model.atoms.1.row",
        [],
        r"atoms\[1\] is not a tree",
    ),
    "a tree without leaves": (
        *("tree", "0.model.atoms.1.row", [0, 0.5, 1, 0]),
        r"atoms\[1\] is not a tree",
    ),
    "a tree in a circle": (
        *("tree", "0.model.atoms.0.row", [0, 0.5, 0, 0, -1, 1, 0, 0]),
        r"atoms\[0\] is not a tree",
    ),
    "a tree that grows together": (
        *(
            "tree",
            "0.model.atoms.0.row",
            [*(0, 0.5, 1, 0), *(0, 0.5, 3, 0), *(0, 0.5, 3, 0), *(-1, 1, 0, 0), *(-1, 2, 0, 0)],
        ),
        r"atoms\[0\] is not a tree",
    ),
    "a tree of another feature": (
        *("tree", "0.model.atoms.0.row", [3, 0.5, 1, 0, -1, 1, 0, 0, -1, 2, 0, 0]),
        r"atoms\[0\] is not a tree",
    ),
    "half a feature": (
        *("tree", "0.model.atoms.0.row", [0.5, 0.5, 1, 0, -1, 1, 0, 0, -1, 2, 0, 0]),
        r"atoms\[0\] is not a tree",
    ),
    "a set that is none": (
        *("tree", "0.model.atoms.0.row", [0, 0.5, 1, 2, -1, 1, 0, 0, -1, 2, 0, 0]),
        r"atoms\[0\] is not a tree",
    ),
    "words that are none": (
        *("tree", "0.model.atoms.0.row", [0, 5, 1, 14, *[-1, 1, 0, 0] * 2, -2, -2, -1, -2]),
        r"atoms\[0\] is not a tree",
    ),
    "a tree of many codes": (
        *("tree", "0.model.atoms.0.row", [0, 5, 1, 14, *[-1, 1, 0, 0] * 2, -2, -3, -2, -2]),
        "",
    ),
    "a small tree": ("tree", "0.model.atoms.0.row", [0, 5, 1, 3, -1, 1, 0, 0, -1, 2], ""),
    "another family": (
        *("union", "0.model.atoms.2.row.0", 7),
        r"atoms\[2\] belongs to a family that does not exist",
    ),
    "half a family": ("union", "0.model.atoms.2.row.0", 0.5, "family that does not exist"),
    "a neuron as a tree": (
        "union",
        "0.model.atoms.0.row.0",
        1,
        r"atoms\[0\] is not a tree",
    ),
    "a tree as a neuron": (
        *("union", "0.model.atoms.1.row.0", 0),
        r"atoms\[1\] is not a row of ReluDictionary",
    ),
    "a bell without width": (
        "union",
        "0.model.atoms.2.row.4",
        0,
        r"atoms\[2\] .* positive width",
    ),
    "a union in a union": (
        *(
            "union",
            "0.model.dictionary.parameters.families.0",
            {"part": "UnionDictionary", "parameters": {"families": []}},
        ),
        "is refused: UnionDictionary: ",
    ),
    "a loss in a union": (
        *(
            "union",
            "0.model.dictionary.parameters.families.0",
            {"part": "Hinge", "parameters": {}},
        ),
        "is refused: UnionDictionary: every family must be a dictionary",
    ),
    "a union of nothing": (
        *("union", "0.model.dictionary.parameters.families", []),
        "is refused: UnionDictionary: families must be a list of at least one",
    ),
    "an atom that is gone": (
        *("removal", "0.model.atoms.0.coef.0", 0.5),
        "steps does not lead to the coefficients of the model",
    ),
    "removed by nobody": (
        *("removal", "0.path.steps.0.removed", [[0, 5]]),
        r"steps\[0\]\.removed\[0\] names an atom that the output does not have",
    ),
    "unknown storage": ("relu", "0.model.storage.kind", "coo", r"kind: invalid enum value"),
    "other coefficients": (
        *("relu", "0.model.atoms.0.coef.0", 0.5),
        r"\[0\]\.path\.steps does not lead to the coefficients of the model",
    ),
    "coefficient too many": (
        *("relu", "0.path.steps.2.coef.0", [1.0] * 4),
        r"\[0\]\.path\.steps\[2\]\.coef\[0\] must have 3 entries, got 4",
    ),
    "an atom that is not there": (
        *("relu", "0.path.steps.0.chosen.0", 99),
        r"steps\[0\]\.chosen does not fit the steps",
    ),
    "an atom out of order": (
        *("relu", "0.path.steps.0.chosen.0", 1),
        r"steps\[0\]\.chosen does not fit the steps",
    ),
    "an atom that nobody chose": (
        *("relu", "0.path.steps.6.chosen.0", 0),
        r"steps\[6\]\.coef\[0\] must have 6 entries",
    ),
    "unknown status": (
        "relu",
        "0.status",
        "DONE",
        r"\[0\]\.status: invalid enum value 'DONE'",
    ),
    "width zero": ("gauss", "0.model.atoms.2.row.-1", 0.0, r"atoms\[2\] .* positive width"),
    "unknown part": (
        *("relu", "0.model.dictionary.part", "os.system"),
        r"\[0\]\.model\.dictionary\.part is 'os\.system', which is not a part of fcgboost",
    ),
    "a loss as dictionary": (
        *("relu", "0.model.dictionary", {"part": "Hinge", "parameters": {}}),
        "must be a Dictionary, got Hinge",
    ),
    "unknown parameter": (
        *("relu", "0.model.dictionary.parameters.shell", "ls"),
        "has 'shell', which is not a parameter of ReluDictionary",
    ),
    "refused parameter": (
        *("relu", "0.model.dictionary.parameters.weights", "dense"),
        "is refused: ReluDictionary: weights must be one of",
    ),
    "a degree without end": (
        *("polynomial", "0.model.dictionary.parameters.degree", 10**9),
        "is refused: degree must be at most 1000",
    ),
    "a scheme without solver": (
        *("relu", "parameters.scheme", {"part": "FullyCorrective", "parameters": {}}),
        "",
    ),
    "a part in a part": (
        *(
            "gauss",
            "0.model.dictionary.parameters.width",
            {"part": "Hinge", "parameters": {}},
        ),
        r"is refused: GaussDictionary: width must be .* got Hinge",
    ),
    "a dictionary as loss": (
        *("relu", "loss", {"part": "ReluDictionary", "parameters": {}}),
        r"\$\.loss must be a Loss, got ReluDictionary",
    ),
    "no task": ("relu", "task", None, r"\$\.task: expected `str`"),
    "another task": ("relu", "task", "ranking", "invalid value 'ranking'"),
    "classes of numbers": ("numbers", "classes", None, "unknown field `classes`"),
    "numbers as classes": ("numbers", "task", "classification", r"parameters: .* field `quantile`"),
    "a link of numbers": ("numbers", "parameters.link", "auto", r"parameters: .* field `link`"),
    "no errors": ("numbers", "errors", None, ""),
    "errors out of order": (
        *("numbers", "errors.errors.1", [2.0, 1.0]),
        r"\$\.errors\.totals\[1\] must have 2 entries",
    ),
    "weights out of order": (
        "numbers",
        "errors.totals.1.-1",
        0.5,
        r"\$\.errors must be in increasing order",
    ),
    "errors without weights": ("numbers", "errors.totals", [[1.0]], "totals must have 3 entries"),
    "errors of no fold": (
        "numbers",
        "errors.are_folds",
        False,
        "errors must have 1 entries, got 3",
    ),
    "a fold without members": (
        *("numbers", "errors.errors", [[1.0]] * 9),
        r"\$\.errors\.errors has a fold without members",
    ),
    "no weight of errors": ("numbers", "errors.totals.0.0", 0.0, r"expected `float` > 0"),
    "one class": ("relu", "classes.values", [0], "values: expected `array` of length >= 2"),
    "classes twice": ("relu", "classes.values", [1, 1], "must be in increasing order"),
    "three classes": ("relu", "classes.values", [0, 1, 2], "must have 3 entries"),
    "text as classes": ("relu", "classes.values", ["0", "1"], "labels of type int64 only"),
    "small type": (
        *("relu", "classes", {"dtype": "int8", "values": [0, 300]}),
        "not of the type int8",
    ),
    "wide type": ("relu", "classes.dtype", "U9999999", "labels too large"),
    "odd type": ("relu", "classes.dtype", "O8; import os", "dtype: expected `str` matching"),
    "names": ("relu", "feature_names", ["a"], r"\$\.feature_names must have 3 entries"),
    "seed": (
        "relu",
        "parameters.random_state",
        {"seed": 1},
        r"random_state: .* unknown field `seed`",
    ),
    "weights": (
        *("relu", "parameters.class_weight", {"pairs": [[0, 1.0], [0, 2.0]]}),
        r"parameters\.class_weight\.pairs has a key twice",
    ),
    "weights of nobody": ("relu", "parameters.class_weight", {"pairs": [[0]]}, "length 2"),
    "parameter": ("relu", "parameters.more", 1, r"parameters: .* unknown field `more`"),
    "about": ("relu", "about", [], r"\$\.about: expected `object`, got `array`"),
    "an atom twice in a row": (
        *("sparse", "0.model.atoms.0.columns", [1, 1]),
        "columns must increase, up to 3",
    ),
    "columns of a dense row": (
        "relu",
        "0.model.atoms.0.columns",
        [1],
        r"atoms\[0\] must not have",
    ),
    "a column too far": (
        "sparse",
        "0.model.atoms.0.columns",
        [9],
        "columns must increase, up to 3",
    ),
    "a value too many": ("sparse", "0.model.atoms.0.row", [1.0] * 9, "must have"),
    "column kind": ("table", "columns.0.kind", "date", "kind: invalid value"),
    "no column kind": ("table", "columns.0", {}, "missing required field `kind`"),
    "columns": ("table", "columns", [], r"\$\.columns must have 5 entries"),
    "columns of inputs that are plain": (
        *("folds", "1.inputs", {"kind": "plain", "fills": None}),
        r"members\[1\]\.inputs must be of kind .table. if there are columns",
    ),
    "columns of inputs that are passed through": (
        *("folds", "1.inputs", None),
        r"members\[1\]\.inputs must be of kind .table. if there are columns",
    ),
    "inputs of a table without columns": ("table", "columns", None, "not an output of numbers"),
    "levels": (
        *("table", "columns.3.levels", ["b", "a"]),
        r"\$\.columns\[3\]\.levels must be in increasing order",
    ),
    "fewer levels": (
        *("table", "columns.3.levels", ["a"]),
        r"\$\.background\[\d+\] has a level that does not exist",
    ),
    "a level of a row": ("folds", "background.4.3", 1.5, r"background\[4\] has a level"),
    "a negative level of a row": ("folds", "background.4.3", -1, r"background\[4\] has a level"),
    "a short row to explain against": (
        *("folds", "background.2", [1.0]),
        r"\$\.background\[2\] must have 5 entries",
    ),
    "an infinite row": ("folds", "background.2.0", "Infinity", "enum value .Infinity."),
    "a row without values": ("folds", "background.2", ["NaN"] * 5, ""),
    "level": (
        *("folds", "1.inputs.outputs.3.0.level", 4),
        r"members\[1\].*outputs\[3\]\[0\]\.level is a level that does not exist",
    ),
    "an output of numbers for a category": (
        *("folds", "1.inputs.outputs.3.0"),
        {"kind": "number", "part": "value", "fill": None, "view": "both"},
        r"outputs\[3\]\[0\] is not an output of a category",
    ),
    "an output of a level for numbers": (
        *("folds", "1.inputs.outputs.0.0"),
        {"kind": "mark", "level": 0, "view": "both"},
        r"outputs\[0\]\[0\] is not an output of numbers",
    ),
    "a column that is skipped and used": (
        *("table", "columns.0", {"kind": "skipped", "name": "size", "reason": "b"}),
        r"outputs\[0\] must be empty, because the column is skipped",
    ),
    "numbers of levels": (
        *("folds", "1.inputs.outputs.3.-1.numbers", [0.0]),
        "numbers must have 5 entries",
    ),
    "views": (
        *("folds", "1.inputs.outputs.0.0.view", "none"),
        "view: invalid enum value",
    ),
    "outputs": (
        *("folds", "1.inputs.outputs.0", []),
        r"members\[1\]\.model\.scale must have \d+ entries",
    ),
    "outputs of fewer columns": (
        *("folds", "1.inputs.outputs", []),
        r"members\[1\]\.inputs\.outputs must have 5 entries",
    ),
    "no members": ("folds", "members", [], r"\$\.members: expected `array` of length >= 1"),
    "null for members": ("folds", "members", None, r"\$\.members: expected `array`"),
    "one member less": ("folds", "members.2", {}, r"\$\.members\[2\]: .* missing required"),
    "a negative weight": ("folds", "1.weight", -0.5, r"\[1\]\.weight: expected .* >= 0"),
    "a large weight": ("folds", "1.weight", 1.5, r"\[1\]\.weight: expected `float` <= 1"),
    "no weight": ("folds", "1.weight", None, r"\[1\]\.weight: expected `float`"),
    "a weight of zero": ("folds", "1.weight", 0, ""),
    "a part of a member": (
        *("folds", "2.model.dictionary.part", "os.system"),
        r"members\[2\]\.model\.dictionary\.part is 'os\.system', which is not a part",
    ),
    "fewer steps of a member": (
        *("folds", "2.n_iter", 1),
        r"members\[2\]\.path\.steps does not lead to the coefficients of the model",
    ),
    "a member without its path": ("folds", "2.path", None, ""),
    "a member without answers": (
        *("folds", "1.model.atoms.0.row.1", 1.7e308),
        r"members\[1\]\.model has numbers that make decision values infinite",
    ),
    "ranges": ("table", "0.model.dictionary.parameters.ranges.0", [0, 999], "model"),
    "ranges that end": ("table", "0.model.dictionary.parameters.ranges.0", [3, 3], "model"),
    "too few ranges": ("table", "0.model.dictionary.parameters.ranges", [[0, 2]], "model"),
    "too short ranges": (
        "table",
        "0.model.dictionary.parameters.ranges.0",
        [0, 1],
        "model",
    ),
    "metrics of no step": (
        *("relu", "0.path.metrics", {"train": {"f1": [0.5]}}),
        r"\[0\]\.path\.metrics must have \d+ entries, got 1",
    ),
    "metrics of other rows": (
        "relu",
        "0.path.metrics",
        {"test": {}},
        "enum value .test.*metrics",
    ),
    "metrics without names": (
        "relu",
        "0.path.metrics",
        {"train": [0.5]},
        "expected `object`",
    ),
    "metrics that are texts": (
        "relu",
        "0.path.metrics",
        {"train": {"f1": ["one"]}},
        "metrics",
    ),
    "metrics of nobody": ("relu", "0.path.metrics", {}, ""),
    "null for metrics": ("relu", "0.path.metrics", None, "metrics: expected `object`"),
    "fills": ("relu", "0.inputs.fills", [0.0], r"fills must have 3 entries, got 1"),
    "one name": ("table", "columns.0.name", "one", "two columns with the same name"),
    "long names": (
        "table",
        "columns.3.name",
        "x" * 10**7,
        "names that are too long for a model file",
    ),
}


def damaged(seed: str, place: str, value: Any) -> Any:
    """Return the document of a model with another value at a place.

    Places such as "0.model.scale.1" are those of a member.
    """
    whole = json.loads(document(seed))
    if place[0].isdigit():
        place = f"members.{place}"
    *above, last = (int(key) if key.lstrip("-").isdigit() else key for key in place.split("."))
    functools.reduce(lambda holder, key: holder[key], above, whole)[last] = value
    return whole
