"""Files of older format versions load and predict as they did, also with what is gone."""

import copy
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris

from fcgboost import FCGBoostClassifier, load_model, save_model
from fcgboost.dictionaries import TreeDictionary, UnionDictionary

FILES = {path.stem: path for path in (Path(__file__).parent / "golden" / "models").glob("*.json")}
TABLE = Path(__file__).parent / "golden" / "tables" / "encoder.json"
#: Those without elliptic atoms.
WRITABLE = {"constant", "compete", "shared", "without_background"}
each_file = pytest.mark.parametrize("name", sorted(FILES))


def test_there_is_a_file_for_everything_that_is_gone() -> None:
    texts = {name: path.read_text() for name, path in FILES.items()}
    gone = {"elliptic", "constant", "turns", "mixed", "compete"}
    assert set(texts) == gone | {"shared", "without_background"}
    assert {name for name, text in texts.items() if '"version": 2' in text} == gone
    assert '"version": 5' in texts["without_background"]
    assert all(word in texts["shared"] for word in ('"version": 3', '"is_shared": true'))
    assert '"mode":"compete"' in texts["compete"]
    assert {name for name, text in texts.items() if '"Elliptic' not in text} == WRITABLE


@each_file
def test_an_older_file_predicts_as_it_did(name: str) -> None:
    model = load_model(FILES[name])
    about, X = model.about_, np.array(model.about_["X"])
    for make in (np.asarray, sparse.csr_matrix):
        decision = model.decision_function(make(X))
        np.testing.assert_allclose(decision, about["decision"], rtol=1e-12, atol=1e-13)
    if "staged" in about:
        staged = list(model.staged_decision_function(X))
        np.testing.assert_allclose(staged, about["staged"], rtol=1e-12, atol=1e-13)
    if about["proba"] is not None:
        np.testing.assert_allclose(model.predict_proba(X), about["proba"], rtol=1e-12)


@pytest.mark.extras
@each_file
def test_a_tensor_gets_the_same_predictions(name: str) -> None:
    torch = pytest.importorskip("torch")
    model = load_model(FILES[name])
    found = model.model_.decision(torch.tensor(model.about_["X"], dtype=torch.float64))
    expected = np.reshape(model.about_["decision"], found.shape)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", sorted(WRITABLE))
def test_a_model_that_can_be_written_is_written_in_the_new_version(
    name: str, tmp_path: Path
) -> None:
    model, path = load_model(FILES[name]), tmp_path / "model.json"
    model.save_model(path)
    assert json.loads(path.read_text())["version"] == 6
    gone = ('"Constant', '"constant"', '"mode"', '"multiclass"', '"is_shared"')
    assert not any(word in path.read_text() for word in gone)
    again = load_model(path)
    X = np.array(model.about_["X"])
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("name", sorted(FILES.keys() - WRITABLE))
def test_elliptic_atoms_are_neither_written_nor_fitted_again(name: str, tmp_path: Path) -> None:
    model, rng = load_model(FILES[name]), np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"elliptic atoms of an older fcgboost.*keep the original"):
        model.save_model(tmp_path / "model.json")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="can predict but not be fitted"):
        clone(model).fit(rng.random((20, 3)), rng.integers(0, 2, 20))


def test_an_encoder_of_version_4_encodes_as_it_did(tmp_path: Path) -> None:
    text = TABLE.read_text()
    assert all(word in text for word in ('"version": 4', '"is_marked"', '"has_other"'))
    model = load_model(TABLE)
    about, rows = model[-1].about_, pd.DataFrame(model[-1].about_["rows"])
    save_model(model, tmp_path / "model.json")
    for found in (model, load_model(tmp_path / "model.json")):
        decision, proba = found.decision_function(rows), found.predict_proba(rows)
        np.testing.assert_allclose(decision, about["decision"], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(proba, about["proba"], rtol=1e-12)
    assert json.loads((tmp_path / "model.json").read_text())["version"] == 6
    kinds = [column.kind for column in model[0].columns_]
    assert kinds == ["number", "category", "number", "number", "skipped"]
    assert model[0].get_params() == {"max_levels": 2, "min_count": 2, "dayfirst": None}


def test_constants_are_trees_of_one_leaf() -> None:
    model = load_model(FILES["constant"])
    assert isinstance(model.model_.dictionary, TreeDictionary)
    assert model.dictionary == "tree"
    np.testing.assert_array_equal(model.model_.atoms, [[-1.0, 1.0, 0.0, 0.0]])
    model = load_model(FILES["turns"])
    assert isinstance(model.model_.dictionary, UnionDictionary)
    np.testing.assert_array_equal(model.model_.atoms[0, :5], [0.0, -1.0, 1.0, 0.0, 0.0])


def test_what_is_gone_is_refused_in_a_new_file(tmp_path: Path) -> None:
    for name in FILES.keys() - {"without_background"}:
        document = json.loads(FILES[name].read_text())
        new = {"version": 6, "fills": None, "background": None}
        (tmp_path / name).write_text(json.dumps(document | new))
        with pytest.raises(ValueError, match=r"\$\.(parameters|model|path)"):
            load_model(tmp_path / name)


def test_classes_that_shared_their_atoms_come_back_without_their_path() -> None:
    model = load_model(FILES["shared"])
    assert (len(model.trace_), model.n_iter_) == (0, 3)
    assert (np.count_nonzero(model.atom_coef_, axis=0) > 1).all()
    X = np.array(model.about_["X"])
    with pytest.raises(ValueError, match="without its path"):
        list(model.staged_decision_function(X))
    assert (clone(model).fit(*load_iris(return_X_y=True)).trace_[0].coef != 0.0).any()


def test_a_path_of_version_3_is_the_same_in_version_6(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    model = FCGBoostClassifier("relu", max_iter=9, removal=0.9, random_state=0).fit(X, y)
    model.save_model(tmp_path / "new.json")
    document = json.loads((tmp_path / "new.json").read_text())
    older = copy.deepcopy(document) | {"version": 3}
    del older["background"], older["fills"]
    del older["parameters"]["categorical_features"], older["parameters"]["dayfirst"]
    older["parameters"]["multiclass"] = "one_vs_rest"
    older["path"]["is_shared"] = False
    (tmp_path / "old.json").write_text(json.dumps(older))
    load_model(tmp_path / "old.json").save_model(tmp_path / "again.json")
    again = json.loads((tmp_path / "again.json").read_text())
    # An older model takes no missing values, and has no rows to be explained against.
    assert again == {**document, "fills": None, "background": None}


def test_files_of_trees_that_asked_one_question_a_level_still_load(tmp_path: Path) -> None:
    text, path = FILES["turns"].read_text(), tmp_path / "model.json"
    older = text.replace('"depth":2', '"depth":2,"oblivious":true')
    assert older != text
    path.write_text(older)
    X = np.array(load_model(path).about_["X"])
    expected = load_model(FILES["turns"]).decision_function(X)
    np.testing.assert_array_equal(load_model(path).decision_function(X), expected)


def test_a_removal_that_also_pruned_is_read_without_it(tmp_path: Path) -> None:
    document = json.loads(FILES["constant"].read_text())
    given = {"part": "Removal", "parameters": {"share": 0.3, "prune": False}}
    document["parameters"]["removal"] = given
    (tmp_path / "model.json").write_text(json.dumps(document))
    assert load_model(tmp_path / "model.json").removal.get_params() == {"share": 0.3}
