"""Models of several families, of trees and with limits: everything for people takes them."""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fcgboost import FCGBoostClassifier, load_model, save_model
from fcgboost.cli import main
from fcgboost.dictionaries import (
    GaussDictionary,
    LinearDictionary,
    ReluDictionary,
    StepDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.importances import n_numbers_of
from fcgboost.inspection import dictionary_name
from fcgboost.report import write_model_report

pytestmark = pytest.mark.extras


def rows(n_features: int, n_classes: int, n: int = 150) -> tuple[Any, Any]:
    rng = np.random.default_rng(n_classes)
    X = rng.standard_t(3, (n, n_features))
    y = np.digitize(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n), [0.0, 1.0][: n_classes - 1])
    return X, y


def union() -> UnionDictionary:
    trees = TreeDictionary(depth=2)
    others = [LinearDictionary(), StepDictionary()]
    return UnionDictionary((ReluDictionary(), trees, GaussDictionary(), *others))


@cache
def fitted(name: str) -> tuple[Any, Any, Any]:
    """Give a model, and rows with labels."""
    options = {"max_iter": 8, "random_state": 0, "clip": 2.0, "fit_intercept": False}
    if name == "table":
        X, y = rows(3, 2)
        table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=np.where(X[:, 0] > 0, "x", "y"))
        table.loc[3, "a"] = np.nan
        model = FCGBoostClassifier("auto", max_iter=9)
        return model.fit(table, y), table, y
    if name == "gaps":
        X, y = rows(3, 3)
        X[::7, 1] = np.nan
        return FCGBoostClassifier(TreeDictionary(), **options).fit(X, y), X, y
    dictionary, n_features, n_classes = {
        "union in the plane": (union(), 2, 2),
        "union": (union(), 5, 3),
        "trees in the plane": ("tree", 2, 3),
        "trees": ("tree", 4, 2),
        "compact in the plane": ("compact", 2, 2),
        "removal": (UnionDictionary((ReluDictionary(), TreeDictionary())), 3, 2),
    }[name]
    X, y = rows(n_features, n_classes)
    if name == "removal":
        options = {**options, "removal": 0.9, "max_iter": 25}
    return FCGBoostClassifier(dictionary, **options).fit(X, y), X, y


NAMES = (
    *("union in the plane", "union", "trees in the plane", "trees"),
    *("compact in the plane", "removal", "table", "gaps"),
)
each_model = pytest.mark.parametrize("name", NAMES)


@each_model
def test_a_page_about_a_model(name: str, tmp_path: Path) -> None:
    model, X, y = fitted(name)
    text = write_model_report(tmp_path / "page.html", model, X, y).read_text("utf-8")
    save_model(model, tmp_path / "model.json", trace=True)
    loaded = load_model(tmp_path / "model.json")
    assert write_model_report(tmp_path / "page.html", loaded, X, y).read_text("utf-8") == text
    assert "description" in text
    assert "Influence of the columns" in text
    if name == "union":
        for words in ("ReLU: ", "tree: splits by ", "Gauss: near "):
            assert words in text
        assert "ReLU, tree, Gauss, linear and step atoms" in text
        assert "when the column is permuted" in text


STEP = "Every step adds an atom{}, and all coefficients are refitted."


def test_the_page_says_what_a_step_does(tmp_path: Path) -> None:
    pages = {}
    for name in ("union", "trees", "table"):
        page = write_model_report(tmp_path / "page.html", *fitted(name))
        pages[name] = page.read_text("utf-8")
    assert STEP.format(" for every class") in pages["union"]
    assert STEP.format("") in pages["trees"]
    assert STEP.format(" to every member").removesuffix(".") in pages["table"]
    assert "clipped to the usual range" in pages["table"]


def test_only_smooth_models_have_their_slopes_measured(tmp_path: Path) -> None:
    X, y = rows(3, 2)
    relu = FCGBoostClassifier("relu", max_iter=3, random_state=0).fit(X, y)
    slope, change = "absolute slope of", "absolute change of"
    for model, said, unsaid in (
        ((relu, X, y), slope, change),
        (fitted("union"), change, slope),
    ):
        page = write_model_report(tmp_path / "page.html", *model).read_text("utf-8")
        assert said in page
        assert unsaid not in page


@pytest.mark.parametrize("dictionary", ["auto", "gauss"])
def test_a_preset_may_choose_any_step_and_says_so(dictionary: str, tmp_path: Path) -> None:
    X, y = rows(3, 2)
    options = {"validation_fraction": 0.3} if dictionary == "gauss" else {}
    model = FCGBoostClassifier(dictionary, random_state=0, **options).fit(X, y)
    page = write_model_report(tmp_path / "page.html", model, X, y).read_text("utf-8")
    assert ("chosen on held-out rows" in page) == (dictionary == "auto")
    n_members = len(model.members_)
    assert (f"The model is the average of {n_members} members" in page) == (n_members > 1)
    assert (n_members > 1) == (dictionary == "auto")


def test_inspect_counts_the_atoms_of_every_family(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    table, data = tmp_path / "model.json", tmp_path / "rows.csv"
    X, _ = rows(3, 3)
    y = X[:, 0] + X[:, 1] > 0.0  # smooth, so that forests are not all
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y).to_csv(data, index=False)
    assert main(["fit", str(data), "--target", "y", "--out", str(table)]) == 0
    model = load_model(table)
    capsys.readouterr()
    assert main(["inspect", str(table)]) == 0
    text = capsys.readouterr().out
    counts: Counter[str] = Counter()
    for member in model.members_:
        for family, places, _, _ in member.model.by_family():
            counts[dictionary_name(family)] += len(places)
    for family, count in counts.items():
        assert f"{count} of {family}" in text
    assert "The model is the average of" in text
    assert "step_limit" not in text
    assert "clipped" in text


@each_model
def test_a_model_is_inspected(name: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    model, _, _ = fitted(name)
    save_model(model, tmp_path / "model.json")
    assert main(["inspect", str(tmp_path / "model.json"), "--top", "20"]) == 0
    text = capsys.readouterr().out
    assert "The columns that matter most" in text
    if name == "union":
        assert all(words in text for words in ("Gauss: near", "tree: splits by", "ReLU: "))
    assert main(["inspect", str(tmp_path / "model.json"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["n_atoms"] == sum(len(member["atoms"]) for member in facts["members"])
    assert sum(facts["influence"].values()) == pytest.approx(1.0)
    for told, member in zip(facts["members"], model.members_, strict=True):
        assert "\n" not in told["dictionary"]
        limits = member.model.limits
        if limits is not None:
            assert told["limits"] == {"low": limits.low.tolist(), "high": limits.high.tolist()}


def test_the_size_of_a_model_counts_the_numbers_of_its_atoms() -> None:
    model = fitted("union")[0].model_
    total = model.coef.size + len(model.intercept) + 2 * 5
    lengths = {0: 6, 2: 6, 3: 6, 4: 6}
    for row in model.atoms:
        if row[0] == 1.0:
            nodes = row[1 : 1 + (len(row) - 1) // 4 * 4].reshape(-1, 4)
            total += 4 * (1 + 2 * sum(node[2] > 0.0 for node in nodes))
        else:
            total += lengths[int(row[0])]
    assert n_numbers_of(model) == total


def test_atoms_are_told_apart_by_family() -> None:
    model = fitted("union")[0].model_
    found = model.by_family()
    assert sorted(place for _, places, _, _ in found for place in places) == [*range(model.n_atoms)]
    for family, places, own, _ in found:
        values = family.evaluate(np.ones((1, 5)), own, model.scale)
        alone = model.dictionary.evaluate(np.ones((1, 5)), model.atoms[places], model.scale)
        np.testing.assert_allclose(values, alone, rtol=1e-12)
