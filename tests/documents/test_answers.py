"""Model files with other numbers: each is refused, or its model has finite answers.

The rows are those of the training, where a model that the package wrote has finite answers. Also
here: texts that no file holds, and rows of trees that are too short.
"""

import copy
import json
import random
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.documents.answers import check_answers
from fcgboost.documents.checking import DocumentError
from fcgboost.io import ModelFileError, load_model, save_model
from tests.suites.small_models import models, rows, texts

EXTREMES = (0, -1, 5e-324, 1e-310, 1e-200, -1e-160, 1e20, 1e153, -1e160, 1e200, 1e307, -1.7e308)
NAMES = (
    *("gauss", "far", "polynomial", "sigmoid", "relu", "tree", "trees", "leaves", "union", "auto"),
    *("sparse", "table", "members"),
)
NO_ANSWERS = r"\$\.members\[0\]\.model has numbers that make"


def numbers_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield lists and objects with the places of their numbers."""
    for key in value if isinstance(value, dict) else range(len(value)):
        inside = value[key]
        if isinstance(inside, dict | list):
            yield from numbers_in(inside)
        elif type(inside) in (int, float):
            yield value, key


def changed(rng: random.Random, number: float) -> float:
    with np.errstate(all="ignore"):
        value = rng.choice(
            [*EXTREMES, -number, number * 10.0 ** rng.randrange(-300, 300), number + 1]
        )
    return float(value) if np.isfinite(value) else 1e308


def mutate(rng: random.Random, document: dict[str, Any]) -> None:
    """Change one number, all numbers of a list, or the length of rows."""
    member = rng.choice(document["members"])
    model = member["model"]
    others = [document[key] for key in ("columns", "link", "background")]
    part = rng.choice([model] * 8 + others + [member["inputs"], member["path"]]) or model
    if rng.random() < 0.02:
        member["weight"] = changed(rng, member["weight"])
        return
    if rng.random() < 0.1:
        model["storage"]["n_parameters"] = width = rng.randrange(1, 30)
        for atom in model["atoms"]:
            if "row" in atom and rng.random() < 0.8:
                atom["row"] = (atom["row"] * 9)[: rng.choice([width, rng.randrange(width + 1)])]
        return
    places = list(numbers_in(part)) or list(numbers_in(model))
    # As often a scale or a coefficient as one of the many numbers of rows.
    holder, key = rng.choice(places)
    if part is model and rng.random() < 0.5:
        key = rng.choice(["scale", "intercept", "limits", "atoms"])
        holder = part[key] or part["scale"]
        if key == "atoms":
            holder = rng.choice(holder)["coef"] if holder else part["scale"]
        elif isinstance(holder, dict):
            holder = rng.choice(list(holder.values()))
        key = rng.randrange(len(holder))
    value = changed(rng, holder[key])
    is_all = isinstance(holder, list) and rng.random() < 0.3
    for place in range(len(holder)) if is_all else [key]:
        if type(holder[place]) in (int, float):
            holder[place] = value


def is_finite(model: Any, data: Any) -> bool:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        answers = [model.decision_function(data), model.predict_proba(data)]
    return all(np.isfinite(one).all() for one in answers)


def run(name: str, count: int, folder: Path) -> tuple[Counter[str], list[str]]:
    rng, (_, data), path = random.Random(name), models()[name], folder / "model.json"
    counts, problems = Counter[str](), []
    for number in range(count):
        document = json.loads(rng.choice(texts(name, folder)))
        before = copy.deepcopy(document)
        for _ in range(rng.choice([1, 1, 2])):
            mutate(rng, document)
        path.write_text(json.dumps(document))
        try:
            model = load_model(path)
        except ModelFileError:
            counts["refused"] += 1
            continue
        except Exception as error:
            problems.append(f"{name} {number}: {type(error).__name__}: {error}")
            continue
        counts["loaded"] += 1
        try:
            if not is_finite(model, data):
                problems.append(f"{name} {number}: NaN: {differences(before, document)}")
        except Exception as error:
            problems.append(f"{name} {number}: later {type(error).__name__}: {error}")
    return counts, problems


def differences(one: Any, other: Any, place: str = "$") -> list[str]:
    if type(one) is not type(other) or not isinstance(one, dict | list) or len(one) != len(other):
        return [] if one == other else [f"{place} {str(one)[:30]} -> {str(other)[:60]}"]
    keys = one if isinstance(one, dict) else range(len(one))
    return [found for key in keys for found in differences(one[key], other[key], f"{place}.{key}")]


@pytest.mark.parametrize("count", [15, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
def test_other_numbers_are_refused_or_give_finite_answers(
    name: str, count: int, tmp_path: Path
) -> None:
    counts, problems = run(name, count, tmp_path)
    assert not problems
    assert min(counts["refused"], counts["loaded"]) > 0.05 * count


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("gauss", ("scale", 0), 1e-310),
        ("gauss", ("atoms", 0, "row", 3), 1e-200),
        ("gauss", ("intercept", 0), 1.7e308),
        ("relu", ("atoms", 0, "row", 0), 1.7e308),
        ("leaves", ("atoms", 0, "row", 5), 1.7e308),
        ("trees", ("atoms", 0, "coef", 0), 1e308),
    ],
)
def test_numbers_without_answers_are_refused(
    name: str, place: tuple[Any, ...], value: float, tmp_path: Path
) -> None:
    document = json.loads(texts(name, tmp_path)[1])
    holder = document["members"][0]["model"]
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match=rf"model\.json.*{NO_ANSWERS}"):
        load_model(tmp_path / "model.json")


def test_coefficients_that_cancel_are_refused_all_the_same(tmp_path: Path) -> None:
    """Far away from the training rows they do not."""
    document = json.loads(texts("far", tmp_path)[1])
    for atom, coef in zip(document["members"][0]["model"]["atoms"], (1e301, -1e301), strict=False):
        atom["row"][0], atom["coef"][0] = 2e6, coef
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match=NO_ANSWERS):
        load_model(tmp_path / "model.json")


def test_a_row_whose_values_are_all_missing_has_an_answer() -> None:
    X, y = rows() + 1.0, rows()[:, 1] > 0.5
    clf = FCGBoostClassifier("relu", max_iter=1, random_state=0).fit(X, y)
    model, none = clf.model_, replace(clf.trace_, steps=())
    model = replace(model, atoms=np.array([[-1e305, 0.0, 0.0, 0.5e305]]), coef=np.ones((1, 1)))
    check_answers(model, none, np.array([1.0, 1.0, 1.0]), X)
    with pytest.raises(DocumentError, match="has numbers that make"):
        check_answers(model, none, np.array([0.0, 1.0, 1.0]), X)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("relu", "coef"),
        ("relu", "intercept"),
        ("tree", "coef"),
        ("leaves", "leaves"),
        ("leaves", "intercept"),
        ("sparse", "coef"),
    ],
)
def test_numbers_of_earlier_steps_are_refused_as_those_of_the_model(
    name: str, place: str, tmp_path: Path
) -> None:
    clf, X = models()[name]
    save_model(clf, tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    step = document["members"][0]["path"]["steps"][0]
    holder = step[place] if place == "intercept" else step[place][0]
    for sign in (1.0, -1.0):
        holder[0] = sign * 1.7e308
        (tmp_path / "model.json").write_text(json.dumps(document))
        with pytest.raises(ModelFileError, match=NO_ANSWERS):
            load_model(tmp_path / "model.json")
    holder[0] = 1e50
    (tmp_path / "model.json").write_text(json.dumps(document))
    assert np.isfinite(load_model(tmp_path / "model.json").truncate(1).decision_function(X)).all()


def test_atoms_enter_at_the_steps_that_chose_them(tmp_path: Path) -> None:
    clf, _ = models()["relu"]
    save_model(clf, tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    atoms = document["members"][0]["model"]["atoms"]
    later = next(i for i, atom in enumerate(atoms) if atom["step"] > 1)
    for atom in atoms[later:]:
        atom["step"] = max(1, atom["step"] - 1)
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match="does not fit the steps at which the atoms entered"):
        load_model(tmp_path / "model.json")


def test_atoms_of_earlier_steps_are_checked_too(tmp_path: Path) -> None:
    X, y = rows(), rows()[:, 1] > 0.5
    clf = FCGBoostClassifier("gauss", max_iter=9, removal=0.9, l2=1e-3, random_state=0).fit(X, y)
    save_model(clf, tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    gone = next(atom for atom in document["members"][0]["model"]["atoms"] if atom["coef"] == [0.0])
    gone["row"][-1] = 1e-200
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match=NO_ANSWERS):
        load_model(tmp_path / "model.json")


def test_a_corrected_tree_cannot_leave(tmp_path: Path) -> None:
    document = json.loads(texts("leaves", tmp_path)[2])
    document["members"][0]["path"]["steps"][-1]["removed"] = [[0, 0]]
    document["members"][0]["path"]["steps"][-1]["coef"][0].pop(0)
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match=r"\[0\]\.path\.steps\[\d\]\.removed removes trees"):
        load_model(tmp_path / "model.json")


HALF = "half \ud83d of a pair"


@pytest.mark.parametrize("what", ["classes", "columns", "about"])
def test_half_of_a_surrogate_pair_is_not_written(what: str, tmp_path: Path) -> None:
    y, path = (rows()[:, 1] > 0.5).astype(int), tmp_path / "model.json"
    data = rows().astype(object)
    data[:, 1] = np.array([HALF if what == "columns" else "w", "x"])[y]
    labels = np.array(["no", HALF if what == "classes" else "yes"])[y]
    model = FCGBoostClassifier("gauss", max_iter=2).fit(data, labels)
    about = {"note": [HALF]} if what == "about" else None
    path.write_text("as it was")
    match = r"cannot be saved: 'half \\ud83d' has a lone surrogate"
    with pytest.raises(ValueError, match=match):
        save_model(model, path, about=about)
    assert path.read_text() == "as it was"
