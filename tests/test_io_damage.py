"""What is no sound model file is refused with a reason, and the place of the damage."""

import functools
import gzip
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from suites.models import MODELS, SCHEMA, fit

from fcgboost.documents import encode
from fcgboost.io import ModelFileError, load_model, split_model
from fcgboost.stopping import Status


def write_text(text: str | bytes) -> Callable[[Path], object]:
    data = text.encode() if isinstance(text, str) else text
    return lambda path: path.write_bytes(data)


NO_MODELS: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "there is no such file"),
    "folder": (lambda path: path.mkdir(), "it is a folder"),
    "pipe": (lambda path: os.mkfifo(path), "it is not a regular file"),
    "empty": (write_text(""), "not a model file: it is empty"),
    "blank": (write_text(" \n"), "not a model file: it is empty"),
    "gzip": (write_text(gzip.compress(b"{}", mtime=0)), "compressed .gzip.: decompress it first"),
    "zip": (write_text(b"PK\x03\x04..."), "zip archive, such as a checkpoint"),
    "pickle": (write_text(pickle.dumps({})), "a pickle, which load_model never reads"),
    "binary": (write_text(b"\x93NUMPY\xff"), "it is binary .byte 0."),
    "text": (write_text("hello"), "not JSON, or truncated .*line 1 column 1"),
    "cut": (write_text('{"format": "fcgboost model", '), "not JSON, or truncated"),
    "JSON": (write_text('{"learner": {}}'), "not a model file: it is JSON whose 'format'"),
    "list": (write_text("[1, 2]"), "not a model file: it is JSON"),
    "no version": (write_text('{"format": "fcgboost model"}'), "not a model file"),
    "text as version": (
        write_text('{"format": "fcgboost model", "version": "2"}'),
        r"\$\.version must be a whole number",
    ),
    "future": (
        write_text('{"format": "fcgboost model", "version": 7, "new": []}'),
        r"later fcgboost \(format version 7; this one reads 2 to 6\): update fcgboost",
    ),
    "past": (
        write_text('{"format": "fcgboost model", "version": 1}'),
        r"before the first release of fcgboost \(format version 1; this one reads 2 to 6\)",
    ),
    "twice": (write_text('{"format": 1, "format": 1}'), "the key 'format' appears twice"),
    "NaN": (write_text('{"format": NaN}'), "NaN is not a number in JSON"),
    "long whole number": (write_text("[" + "9" * 5000 + "]"), "not JSON.*5000 digits"),
    "deep": (write_text("[" * 100_000), "nested too deeply"),
    "deep objects": (write_text('{"a":' * 100_000), "nested too deeply"),
    "many": (write_text("[" + "[]," * 700_000 + "1]"), "more lists and objects than any model"),
}


@pytest.mark.parametrize(("make", "match"), NO_MODELS.values(), ids=NO_MODELS)
def test_what_is_no_model_file_is_refused_by_name(
    make: Callable[[Path], object], match: str, tmp_path: Path
) -> None:
    path = tmp_path / "model é.json"
    make(path)
    with pytest.raises(ModelFileError, match=match) as caught:
        load_model(path)
    assert str(caught.value).startswith(f"{str(path)!r}: ")
    assert len(str(caught.value)) < 400


def test_a_checkpoint_is_no_model_file(tmp_path: Path) -> None:
    fit(checkpoint=tmp_path / "path.npz")
    with pytest.raises(ModelFileError, match="such as a checkpoint"):
        load_model(tmp_path / "path.npz")


def test_large_files_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ModelFileError, match="1099511627776 bytes, but max_bytes is 268435456"):
        load_model(path)
    fit().save_model(path)
    size = path.stat().st_size
    load_model(path, max_bytes=size)
    with pytest.raises(ModelFileError, match=f"has {size} bytes, but max_bytes is {size - 1}"):
        load_model(path, max_bytes=size - 1)


def test_a_file_that_may_not_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("fcgboost.documents.files.os.stat", refuse)
    with pytest.raises(ModelFileError, match=r"cannot be read .Permission denied.") as caught:
        load_model(tmp_path / "model.json")
    assert isinstance(caught.value.__cause__, PermissionError)


# Damage within a document: what is changed where, and what is said about it.

#: Stands for a number that JSON has and floats have not.
OVERFLOW = "1e999"
DAMAGE: dict[str, tuple[str, str, Any, str]] = {
    "unknown key": ("relu", "extra", 1, r"\$: object contains unknown field `extra`"),
    "unknown key inside": ("relu", "model.x y", 1, r"\$\.model: .* unknown field `x y`"),
    "no scale": ("relu", "model.scale", None, r"\$\.model\.scale: expected `array`, got"),
    "zero scale": ("relu", "model.scale.1", 0, r"\$\.model\.scale\[1\]: expected `float` > 0"),
    "no limits": ("limits", "model.limits", None, ""),
    "short limits": ("limits", "model.limits.low", [0.0], "low must have 3 entries"),
    "limits that cross": ("limits", "model.limits.low.1", 1.5, r"above the upper.*\[1\]"),
    "a limit without end": ("limits", "model.limits.high.0", "Infinity", r"high\[0\]: expected"),
    "clipped to nothing": ("limits", "parameters.clip", 0, r"clip: expected"),
    "fewer features": ("relu", "n_features", 2, r"scale must have 2 entries, got 3"),
    "huge features": ("relu", "n_features", 2**31 - 1, "must have 2147483647 entries"),
    "true as a number": ("relu", "n_iter", True, r"\$\.n_iter: expected `int`, got `bool`"),
    "float as a count": ("relu", "n_iter", 7.0, r"\$\.n_iter: expected `int`, got `float`"),
    "fewer steps": ("relu", "n_iter", 6, r"\$\.n_iter is 6, but atoms .* entered later"),
    "more steps": ("relu", "n_iter", 8, r"steps has 7 entries, but n_iter is 8"),
    "a text in a row": (
        *("relu", "model.atoms.3.row.1", "1"),
        r"\$\.model\.atoms\[3\]\.row\[1\]: expected `int \| float`, got `str`",
    ),
    "an overflowing number": (
        *("relu", "model.atoms.3.row.1", OVERFLOW),
        r"\$\.model\.atoms\[3\]\.row\[1\]: expected `float` <= 1.79",
    ),
    "an overflowing parameter": (
        *("gauss", "model.dictionary.parameters.width", OVERFLOW),
        r"dictionary\.parameters\.width: expected",
    ),
    "an overflowing remark": ("relu", "about.a", OVERFLOW, "about has a number"),
    "columns that become nothing": (
        *("pipeline", "encoder.columns", [{"kind": "skipped", "name": "a", "reason": "b"}]),
        "has 0 outputs",
    ),
    "a short row": (
        *("relu", "model.atoms.3.row", [1.0]),
        r"\$\.model\.atoms\[3\]\.row must have 4 entries, got 1",
    ),
    "no row": ("relu", "model.atoms.3", {"step": 4}, r"\$\.model\.atoms\[3\]: .* `coef`"),
    "steps that fall": ("relu", "model.atoms.3.step", 1, r"atoms\[3\]\.step must be at least 3"),
    "huge atoms": (
        *("relu", "model.storage.n_parameters", 2**31),
        "n_parameters: expected `int` <= 2147483646",
    ),
    "wide atoms": (
        *("relu", "model.storage.n_parameters", 2**20),
        "must be 4 for ReluDictionary, got",
    ),
    "narrow atoms": ("gauss", "model.storage.n_parameters", 3, "must be 4 for GaussDictionary"),
    "half a node": ("tree", "model.storage.n_parameters", 6, "must be a multiple of 4"),
    "sparse trees": ("tree", "model.storage.kind", "csr_array", "must be dense and float64"),
    "single union": ("union", "model.storage.dtype", "float32", "must be dense and float64"),
    "no room": ("union", "model.storage.n_parameters", 2, r"must have at most 2 entries"),
    "too much room": (
        *("union", "model.storage.n_parameters", 2**31 - 2),
        "rows, which take too much memory",
    ),
    "a tree without nodes": ("tree", "model.atoms.1.row", [], r"atoms\[1\] is not a tree"),
    "a tree without leaves": (
        *("tree", "model.atoms.1.row", [0, 0.5, 1, 0]),
        r"atoms\[1\] is not a tree",
    ),
    "a tree in a circle": (
        *("tree", "model.atoms.0.row", [0, 0.5, 0, 0, -1, 1, 0, 0]),
        r"atoms\[0\] is not a tree",
    ),
    "a tree that grows together": (
        *(
            "tree",
            "model.atoms.0.row",
            [*(0, 0.5, 1, 0), *(0, 0.5, 3, 0), *(0, 0.5, 3, 0), *(-1, 1, 0, 0), *(-1, 2, 0, 0)],
        ),
        r"atoms\[0\] is not a tree",
    ),
    "a tree of another feature": (
        *("tree", "model.atoms.0.row", [3, 0.5, 1, 0, -1, 1, 0, 0, -1, 2, 0, 0]),
        r"atoms\[0\] is not a tree",
    ),
    "half a feature": (
        *("tree", "model.atoms.0.row", [0.5, 0.5, 1, 0, -1, 1, 0, 0, -1, 2, 0, 0]),
        r"atoms\[0\] is not a tree",
    ),
    "a set that is none": (
        *("tree", "model.atoms.0.row", [0, 0.5, 1, 2, -1, 1, 0, 0, -1, 2, 0, 0]),
        r"atoms\[0\] is not a tree",
    ),
    "words that are none": (
        *("tree", "model.atoms.0.row", [0, 5, 1, 14, *[-1, 1, 0, 0] * 2, -2, -2, -1, -2]),
        r"atoms\[0\] is not a tree",
    ),
    "a tree of many codes": (
        *("tree", "model.atoms.0.row", [0, 5, 1, 14, *[-1, 1, 0, 0] * 2, -2, -3, -2, -2]),
        "",
    ),
    "a small tree": ("tree", "model.atoms.0.row", [0, 5, 1, 3, -1, 1, 0, 0, -1, 2], ""),
    "another family": (
        *("union", "model.atoms.2.row.0", 7),
        r"atoms\[2\] belongs to a family that does not exist",
    ),
    "half a family": ("union", "model.atoms.2.row.0", 0.5, "family that does not exist"),
    "a neuron as a tree": ("union", "model.atoms.0.row.0", 1, r"atoms\[0\] is not a tree"),
    "a tree as a neuron": (
        *("union", "model.atoms.1.row.0", 0),
        r"atoms\[1\] is not a row of ReluDictionary",
    ),
    "a bell without width": ("union", "model.atoms.2.row.4", 0, r"atoms\[2\] .* positive width"),
    "a union in a union": (
        *(
            "union",
            "model.dictionary.parameters.families.0",
            {"part": "UnionDictionary", "parameters": {"families": []}},
        ),
        "is refused: UnionDictionary: ",
    ),
    "a loss in a union": (
        *("union", "model.dictionary.parameters.families.0", {"part": "Hinge", "parameters": {}}),
        "is refused: UnionDictionary: every family must be a dictionary",
    ),
    "a union of nothing": (
        *("union", "model.dictionary.parameters.families", []),
        "is refused: UnionDictionary: families must be a list of at least one",
    ),
    "no atom is gone": ("removal", "path.gone", [], r"\$\.path\.(steps|atoms)"),
    "gone twice": ("removal", "path.gone", [0, 0], "must have increasing places"),
    "gone too far": ("removal", "path.gone", [10**6], "must have increasing places"),
    "removed by nobody": (
        *("removal", "path.steps.0.removed", [[0, 5]]),
        r"steps\[0\]\.removed\[0\] names an atom that the output does not have",
    ),
    "unknown storage": ("relu", "model.storage.kind", "coo", r"kind: invalid enum value"),
    "other coefficients": (
        *("relu", "model.atoms.0.coef.0", 0.5),
        r"\$\.path\.steps does not lead to the coefficients of the model",
    ),
    "coefficient too many": (
        *("relu", "path.steps.2.coef.0", [1.0] * 4),
        r"\$\.path\.steps\[2\]\.coef\[0\] must have 3 entries, got 4",
    ),
    "an atom that is not there": (
        *("relu", "path.steps.0.chosen.0", 99),
        r"steps\[0\]\.chosen does not fit the steps",
    ),
    "an atom out of order": (
        *("relu", "path.steps.0.chosen.0", 1),
        r"steps\[0\]\.chosen does not fit the steps",
    ),
    "an atom that nobody chose": (
        *("relu", "path.steps.6.chosen.0", 0),
        r"steps\[6\]\.coef\[0\] must have 6 entries",
    ),
    "unknown status": ("relu", "status", "DONE", r"\$\.status: invalid enum value 'DONE'"),
    "width zero": ("gauss", "model.atoms.2.row.-1", 0.0, r"atoms\[2\] .* positive width"),
    "unknown part": (
        *("relu", "model.dictionary.part", "os.system"),
        r"\$\.model\.dictionary\.part is 'os\.system', which is not a part of fcgboost",
    ),
    "a loss as dictionary": (
        *("relu", "model.dictionary", {"part": "Hinge", "parameters": {}}),
        "must be a Dictionary, got Hinge",
    ),
    "unknown parameter": (
        *("relu", "model.dictionary.parameters.shell", "ls"),
        "has 'shell', which is not a parameter of ReluDictionary",
    ),
    "refused parameter": (
        *("relu", "model.dictionary.parameters.weights", "dense"),
        "is refused: ReluDictionary: weights must be one of",
    ),
    "a degree without end": (
        *("polynomial", "model.dictionary.parameters.degree", 10**9),
        "is refused: degree must be at most 1000",
    ),
    "a scheme without solver": (
        *("relu", "parameters.scheme", {"part": "FullyCorrective", "parameters": {}}),
        "",
    ),
    "a scheme with a wrong solver": (
        *("relu", "parameters.scheme", {"part": "FullyCorrective", "parameters": {"solver": [1]}}),
        "is refused: solver must be a solver",
    ),
    "a part in a part": (
        *("gauss", "model.dictionary.parameters.width", {"part": "Hinge", "parameters": {}}),
        "has a part as 'width'",
    ),
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
    "seed": ("relu", "parameters.random_state", -1, r"random_state: expected `int` >= 0"),
    "jobs": ("relu", "parameters.n_jobs", 0, "n_jobs must not be 0"),
    "weights": ("relu", "parameters.class_weight", [[0, 1.0], [0, 2.0]], "names a class twice"),
    "fraction": ("relu", "parameters.validation_fraction", 1, "fraction: expected `float` < 1"),
    "about": ("relu", "about", [], r"\$\.about: expected `object`, got `array`"),
    "an atom twice in a row": (
        *("sparse", "model.atoms.0.places", [1, 1]),
        "places must increase, up to 3",
    ),
    "a row beside places": ("sparse", "model.atoms.0.row", [1.0], r"atoms\[0\] must have places"),
    "places beside a row": ("relu", "model.atoms.0.places", [1], r"atoms\[0\] must have a row"),
    "a place too far": ("sparse", "model.atoms.0.places", [9], "places must increase, up to 3"),
    "a value too many": ("sparse", "model.atoms.0.values", [1.0] * 9, "must have"),
    "column kind": ("pipeline", "encoder.columns.0.kind", "date", "kind: invalid value"),
    "no column kind": ("pipeline", "encoder.columns.0", {}, "missing required field `kind`"),
    "columns": ("pipeline", "encoder.columns", [], "columns: expected `array` of length"),
    "levels": (
        *("pipeline", "encoder.columns.3.levels", ["b", "a"]),
        "levels must be in increasing order",
    ),
    "level": ("table", "encoder.columns.3.outputs.0.level", 99, "is a level that does not exist"),
    "level and numbers": (
        *("table", "encoder.columns.3.outputs.0.numbers", [0.0] * 5),
        "must have either a level or numbers",
    ),
    "numbers of levels": ("table", "encoder.columns.3.outputs.-1.numbers", [0.0], "must have 5 en"),
    "views": ("table", "encoder.columns.0.outputs.0.view", "none", "view: invalid enum value"),
    "outputs": ("table", "encoder.columns.0.outputs", [], "has .* outputs"),
    "ranges": ("table", "model.dictionary.parameters.ranges.0", [0, 999], "model"),
    "ranges that end": ("table", "model.dictionary.parameters.ranges.0", [3, 3], "model"),
    "too few ranges": ("table", "model.dictionary.parameters.ranges", [[0, 2]], "model"),
    "too short ranges": ("table", "model.dictionary.parameters.ranges.0", [0, 1], "model"),
    "metrics of no step": (
        *("relu", "path.metrics", {"train": {"f1": [0.5]}}),
        r"\$\.path\.metrics must have \d+ entries, got 1",
    ),
    "metrics of other rows": (
        "relu",
        "path.metrics",
        {"test": {}},
        "enum value .test.*metrics",
    ),
    "metrics without names": ("relu", "path.metrics", {"train": [0.5]}, "expected `object`"),
    "metrics that are texts": ("relu", "path.metrics", {"train": {"f1": ["one"]}}, "metrics"),
    "metrics of nobody": ("relu", "path.metrics", {}, ""),
    "null for metrics": ("relu", "path.metrics", None, "metrics: expected `object`"),
    "fills": ("relu", "fills", [0.0], r"\$\.fills must have 3 entries, got 1"),
    "one name": ("pipeline", "encoder.columns.0.name", "one", "two columns with the same name"),
    "long names": ("pipeline", "encoder.columns.3.name", "x" * 10**7, "too long for a model file"),
}


@functools.cache
def document(name: str) -> str:
    makers: dict[str, Callable[[], Any]] = {
        "relu": MODELS["relu, squared_hinge"],
        "gauss": MODELS["gauss, squared_hinge"],
        "polynomial": MODELS["polynomial, squared_hinge"],
        "sparse": MODELS["sparse matrix"],
        "pipeline": MODELS["pipeline"],
        "table": MODELS["table"],
        "limits": MODELS["limits"],
        "tree": MODELS["trees"],
        "union": MODELS["union"],
        "removal": MODELS["removal"],
    }
    encoder, classifier = split_model(makers[name]())
    return encode(classifier, encoder).decode()


def damaged(seed: str, place: str, value: Any) -> Any:
    """Return the document of a model with another value at a place such as "model.scale.1"."""
    whole = json.loads(document(seed))
    *above, last = (int(key) if key.lstrip("-").isdigit() else key for key in place.split("."))
    functools.reduce(lambda holder, key: holder[key], above, whole)[last] = value
    return whole


@pytest.mark.parametrize(("seed", "place", "value", "match"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_named_with_its_place(
    seed: str, place: str, value: Any, match: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(damaged(seed, place, value)).replace(f'"{OVERFLOW}"', OVERFLOW))
    if not match:
        load_model(path)
        return
    with pytest.raises(ModelFileError, match=match) as caught:
        load_model(path)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("seed", ["relu", "sparse", "pipeline", "table"])
def test_every_key_is_needed(seed: str, tmp_path: Path) -> None:
    """Parameters of parts aside, which have defaults, and keys of the user's own."""

    def holders(value: Any, place: tuple[Any, ...] = ()) -> Any:
        if isinstance(value, dict):
            if place[-1:] not in [("parameters",), ("about",)] or place == ("parameters",):
                yield from ((place, key) for key in value)
            for key, inside in value.items():
                yield from holders(inside, (*place, key))
        elif isinstance(value, list) and value:
            yield from holders(value[-1], (*place, -1))

    path = tmp_path / "model.json"
    found = list(holders(json.loads(document(seed))))
    assert len(found) > 50
    for place, key in found:
        whole = json.loads(document(seed))
        del functools.reduce(lambda holder, step: holder[step], place, whole)[key]
        path.write_text(json.dumps(whole))
        with pytest.raises(ModelFileError, match=r"missing required|must have|not a model"):
            load_model(path)


def test_a_path_that_is_larger_in_memory_than_in_its_file_is_refused(tmp_path: Path) -> None:
    """Every step of a thousand outputs names all of them, and holds them times all atoms."""
    n, n_steps = 1000, 20
    model = json.loads(document("relu"))
    model["classes"]["values"] = list(range(n))
    model["model"].update(intercept=[0.0] * n, atoms=[])
    model.update(n_iter=0)
    row = {"row": [0.0] * 4}
    model["path"].update(start=[0.0] * n, endings=[None] * n)
    model["path"]["atoms"] = [{"step": k + 1, **row} for k in range(n_steps) for _ in range(n)]
    step = {**model["path"]["steps"][0], "scores": [0.0] * n, "objectives": [0.0] * n}
    step.update(intercept=[0.0] * n)
    model["path"]["steps"] = [
        {**step, "chosen": list(range(k * n, k * n + n)), "coef": [[0.0] * (k + 1)] * n}
        for k in range(n_steps)
    ]
    path = tmp_path / "model.json"
    path.write_text(json.dumps(model, separators=(",", ":")))
    with pytest.raises(ModelFileError, match="too much memory: pass a larger max_bytes"):
        load_model(path, max_bytes=path.stat().st_size)


def test_numbers_may_be_written_as_others_write_them(tmp_path: Path) -> None:
    text = document("relu").replace("{", "{\n\t").replace('"tol": 1e-06', '"tol": 0.000001')
    path = tmp_path / "model.json"
    path.write_text(text.replace("0.0,", "0,"), encoding="utf-8")
    model = load_model(path)
    assert np.array_equal(model.atom_coef_, MODELS["relu, squared_hinge"]().atom_coef_)
    assert model.tol == 1e-6


def test_the_schema_knows_every_ending() -> None:
    status = SCHEMA["$defs"]["Document"]["properties"]["status"]
    assert set(status["enum"]) == set(Status.__members__)


def test_the_schema_is_one_and_refuses_what_the_loader_refuses(tmp_path: Path) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.check_schema(SCHEMA)
    refused = 0
    for seed, place, value, match in DAMAGE.values():
        is_refused = not validator.is_valid(damaged(seed, place, value))
        assert match or not is_refused
        refused += is_refused
    assert refused > 20
