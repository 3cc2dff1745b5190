"""Members in files."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.datasets import make_simulation
from fcgboost.documents import encode
from fcgboost.io import load_model, save_model
from tests.suites.models import (
    MODELS,
    assert_identical,
    assert_same_model,
    fit,
    rows_of,
    valid,
)

ENSEMBLES = [name for name in MODELS if name.startswith(("ensemble", "folds"))]


def test_a_classifier_of_one_path_is_a_list_of_one_member(tmp_path: Path) -> None:
    save_model(fit(), tmp_path / "model.json", trace=True)
    (member,) = valid(tmp_path / "model.json")["members"]
    assert member["weight"] == 1.0


def test_the_default_comes_back_with_all_members(tmp_path: Path) -> None:
    X, y = make_simulation(200, random_state=0)
    model = FCGBoostClassifier(random_state=0).fit(X, y)
    save_model(model, tmp_path / "model.json", trace=True)
    back = load_model(tmp_path / "model.json")
    assert len(model.members_) > 1
    assert_same_model(model, back)
    assert_identical(back.member_weights_, model.member_weights_)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_an_ensemble_can_be_truncated_before_and_after(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    save_model(model, tmp_path / "model.json", trace=True)
    back = load_model(tmp_path / "model.json")
    save_model(model.truncate(2), tmp_path / "short.json", trace=True)
    short = load_model(tmp_path / "short.json")
    X = rows_of(model)
    expected = model.truncate(2).decision_function(X)
    assert_identical(back.truncate(2).decision_function(X), expected)
    assert_identical(short.decision_function(X), expected)
    # The rest of the paths is in the file, too: members that are cut do not grow again.
    assert [m.trace.n_steps for m in short.members_] == [m.trace.n_steps for m in model.members_]


def test_without_its_paths_an_ensemble_has_its_members_only(tmp_path: Path) -> None:
    model = MODELS["ensemble"]()
    save_model(model, tmp_path / "model.json", trace=False)
    back = load_model(tmp_path / "model.json")
    X = rows_of(model)
    assert back.n_iter_ == model.n_iter_ == 7
    assert_identical(back.truncate(7).decision_function(X), model.decision_function(X))
    for act in (lambda: back.truncate(6), lambda: next(back.staged_predict(X))):
        with pytest.raises(ValueError, match=r"without its path.* all 7 steps"):
            act()


def test_a_file_may_have_the_paths_of_some_members(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    document: dict[str, Any] = json.loads(encode(MODELS["ensemble"]()))
    document["members"][1]["path"] = None
    path.write_text(json.dumps(document))
    back = load_model(path)
    assert [member.has_path for member in back.members_] == [True, False, True]
    assert json.loads(encode(back)) == document
    with pytest.raises(ValueError, match="without its path"):
        back.truncate(1)


def test_a_large_coefficient_of_any_member_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    text = encode(MODELS["ensemble"]()).decode()
    for i in range(3):
        document = json.loads(text)
        member = document["members"][i]
        member["path"] = None
        member["model"]["atoms"][0]["coef"][0] = 1e305
        path.write_text(json.dumps(document))
        with pytest.raises(ValueError, match=rf"members\[{i}\]\.model has numbers that make"):
            load_model(path)


def test_every_member_has_its_own_dictionary() -> None:
    model = MODELS["ensemble"]()
    parts = {
        member["model"]["dictionary"]["part"] for member in json.loads(encode(model))["members"]
    }
    assert parts == {"GaussDictionary", "UnionDictionary", "ReluDictionary"}


def test_more_members_than_a_file_may_have_are_not_saved(tmp_path: Path) -> None:
    model = copy.copy(fit().truncate(1))
    model.members_ *= 1001
    with pytest.raises(ValueError, match=r"cannot be saved.*members: .* length <= 1000"):
        save_model(model, tmp_path / "model.json", trace=True)


def test_a_weight_above_one_is_refused(tmp_path: Path) -> None:
    document = json.loads(encode(fit()))
    document["members"][0]["weight"] = np.nextafter(1.0, 2.0)
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"weight: expected `float` <= 1"):
        load_model(tmp_path / "model.json")
