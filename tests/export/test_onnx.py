"""Models in ONNX: checked, run by onnxruntime, and compared with Python."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from fcgboost import FCGBoostClassifier, ReluDictionary, SquaredHinge
from fcgboost.calibration import probabilities_of
from fcgboost.export import save_onnx, to_onnx
from fcgboost.io import load_model, save_model
from tests.suites.export_cases import (
    CASES,
    ENSEMBLES,
    FAMILIES,
    NOISES,
    OTHERS,
    PLAIN,
    PLAIN_ENSEMBLES,
    blobs,
    case,
    decision_of,
    gap,
    winners_of,
)
from tests.suites.export_tables import GAPS, TABLES, seen
from tests.suites.onnx_runs import DTYPES, feeds, graph, onnx, run, session

pytestmark = pytest.mark.extras


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("input_type", ["float", "double"])
def test_a_graph_is_sound_and_answers_as_python_does(name: str, input_type: str) -> None:
    check_graph(name, graph(name, input_type))
    check_predictions(name, input_type)
    if input_type == "double" and name in {**PLAIN, **OTHERS, **FAMILIES, **PLAIN_ENSEMBLES}:
        check_extremes(name)


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("input_type", ["float", "double"])
def test_a_correction_for_wrong_labels_is_in_the_graph(name: str, input_type: str) -> None:
    model, X = case(name)
    onnx.checker.check_model(graph(name, input_type), full_check=True)
    X = X.astype(DTYPES[input_type]).astype(np.float64)
    found = run(name, X, input_type)
    room = 1e-12 if input_type == "double" else 1e-6
    np.testing.assert_allclose(found["decision"], model.decision_function(X), rtol=room, atol=room)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), rtol=0, atol=room)
    assert (found["label"] == model.predict(X)).all()


@pytest.mark.parametrize("name", [*TABLES, *GAPS, *ENSEMBLES])
def test_a_table_and_gaps_mean_what_they_mean_in_python(name: str) -> None:
    model, X = case(name)
    found = run(name, X, "double")
    np.testing.assert_allclose(found["decision"], model.decision_function(X), rtol=0, atol=1e-12)
    assert (found["label"] == model.predict(X)).all()


def check_graph(name: str, made: Any) -> None:
    onnx.checker.check_model(made, full_check=True)
    used = {tensor for node in made.graph.node for tensor in node.input}
    assert {tensor.name for tensor in made.graph.initializer} <= used
    assert {given.name for given in made.graph.input} <= used | (
        {"X"} if "no_atom" in name else set()
    )


def check_predictions(name: str, input_type: str) -> None:
    model, X = case(name)
    classifier = model
    found = run(name, X, input_type)
    decision = decision_of(classifier, seen(model, X, DTYPES[input_type]))
    is_clear = gap(decision) > 1e-5
    assert is_clear.mean() > 0.9
    assert (found["label"] == classifier.classes_[winners_of(decision)])[is_clear].all()
    decision = decision[:, 0] if decision.shape[1] == 1 else decision
    eps = float(np.finfo(DTYPES[input_type]).eps)
    room = 1e-10 if name.startswith(("far", "off", "quintic")) else 1e-12
    np.testing.assert_allclose(found["decision"], decision, rtol=eps, atol=room)
    if hasattr(classifier, "predict_proba"):
        expected = probabilities_of(classifier._loss_, classifier.link_, decision)
        np.testing.assert_allclose(found["probabilities"], expected, rtol=eps, atol=room)
    else:
        assert "probabilities" not in found


def check_extremes(name: str) -> None:
    """Inputs of extreme sizes give the same labels."""
    model = case(name).model
    tiny = np.finfo(np.float64).smallest_subnormal
    values = np.array([0.0, tiny, -tiny, 1e-30, 1e6, -1e6, 1e30])
    rows = np.repeat(values[:, None], model.n_features_in_, axis=1)
    found = run(name, rows, "double")
    decision = decision_of(model, seen(model, rows, np.float64))
    is_clear = gap(decision) > 1e-5 * (1.0 + np.abs(decision).max(axis=1))
    assert (found["label"] == model.predict(rows))[is_clear].all()
    np.testing.assert_allclose(found["decision"], model.decision_function(rows), rtol=1e-9)


@pytest.mark.parametrize(
    "name",
    [
        *("gauss_4_cubed_hinge", "sparse_gauss", "categories", "categories_255"),
        *("union", "gaps_3", *TABLES, *GAPS, *ENSEMBLES, *NOISES),
    ],
)
def test_another_interpreter_agrees(name: str) -> None:
    """The reference implementation of the standard knows nothing of onnxruntime's liberties."""
    from onnx.reference import ReferenceEvaluator

    model, X = case(name)
    evaluator = ReferenceEvaluator(to_onnx(model, input_type="double"))
    values = evaluator.run(None, feeds(model, X, np.float64))
    found = dict(zip(evaluator.output_names, values, strict=True))
    assert (found["label"] == model.predict(X)).all()
    np.testing.assert_allclose(found["decision"], model.decision_function(X), atol=1e-12)
    if "probabilities" in found:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-12)


def test_the_number_of_rows_is_free() -> None:
    for name in ("gauss_2_square", "gauss_4_square", "no_atom_4", "table_relu_3"):
        X = case(name).X
        whole = run(name, X, "double")
        for n in (1, 3):
            part = run(name, X[:n], "double")
            for output, values in part.items():
                assert values.shape == (n, *whole[output].shape[1:])
            np.testing.assert_allclose(part["decision"], whole["decision"][:n], atol=1e-12)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("label_text", "tensor(string)"),
        ("label_bool", "tensor(bool)"),
        ("label_sign", "tensor(int64)"),
        ("label_unsigned", "tensor(uint64)"),
        ("label_float", "tensor(double)"),
    ],
)
def test_labels_have_their_own_type(name: str, kind: str) -> None:
    outputs = {output.name: output for output in session(name, "float").get_outputs()}
    assert list(outputs) == ["label", "probabilities", "decision"]
    assert outputs["label"].type == kind
    assert outputs["label"].shape == ["n"]
    assert outputs["probabilities"].type == outputs["decision"].type == "tensor(float)"


def test_a_saved_and_loaded_model_gives_the_same_graph(tmp_path: Path) -> None:
    tables = ("table_relu_3", "whole_auto_3", "listed_tree", "early_auto", "later_auto")
    for name in (*tables, "later_tree", "early_tree", "sparse_gauss", "label_odd"):
        model = case(name).model
        save_model(model, tmp_path / "model.json", trace=False)
        again = to_onnx(load_model(tmp_path / "model.json"))
        assert again.SerializeToString() == to_onnx(model).SerializeToString()


def test_save_onnx_writes_the_graph_and_gives_its_size(tmp_path: Path) -> None:
    model = case("label_text").model
    size = save_onnx(model, tmp_path / "model.onnx", input_type="double")
    assert (tmp_path / "model.onnx").stat().st_size == size
    assert onnx.load(tmp_path / "model.onnx") == to_onnx(model, input_type="double")
    with pytest.raises(ValueError, match="input_type"):
        save_onnx(model, tmp_path / "other.onnx", input_type="half")
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


class Flipped(ReluDictionary):
    """A user's dictionary with values of its own."""

    def profile(self, z):
        return super().profile(-z)


class Doubtful(SquaredHinge):
    """A user's loss with probabilities of its own."""

    def probability(self, f):
        return 0.5 + 0.0 * f


def test_impossible_requests_have_clear_errors() -> None:
    X, y = blobs(2, 2)
    with pytest.raises(ValueError, match=r"input_type must be one of \['float', 'double'\]"):
        to_onnx(case("label_text").model, input_type="half")
    with pytest.raises(NotFittedError):
        to_onnx(FCGBoostClassifier("gauss"))
    with pytest.raises(TypeError, match="LogisticRegression"):
        to_onnx(LogisticRegression())
    with pytest.raises(ValueError, match="Flipped cannot be exported"):
        to_onnx(FCGBoostClassifier(dictionary=Flipped(), max_iter=2).fit(X, y))
    with pytest.raises(ValueError, match="Doubtful cannot be exported"):
        to_onnx(FCGBoostClassifier("gauss", loss=Doubtful(), max_iter=2).fit(X, y))
    with pytest.raises(ValueError, match="not valid Unicode text"):
        to_onnx(FCGBoostClassifier("gauss", max_iter=2).fit(X, np.array(["a", "\ud800"])[y]))
