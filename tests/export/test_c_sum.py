"""The sum of atoms, also at 2e3, 1e8 and 1e12 deviations from zero."""

import ctypes
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from fcgboost import FCGBoostClassifier
from fcgboost.dictionaries import TreeDictionary
from fcgboost.export import to_c, to_onnx
from tests.export.test_c import DTYPES, TOLERANCES, ask, driver
from tests.suites.compilers import compile_c, needs_compiler
from tests.suites.export_cases import (
    OFFSETS,
    blobs,
    case,
    decision_of,
    gap,
    make,
    sizes,
    winners_of,
)
from tests.suites.export_tables import seen

#: Their values depend on differences of inputs, or on comparisons: rounding decides no label.
EXACT = ("gauss", "tree", "leaves", "marks", "table", "sparse", "stored")
FEW = ("at_1e08_marks", "at_1e12_table", "at_1e12_marks_auto", "at_2e03_table", "at_1e08_relu")
FEW += ("at_1e08_stored",)
each_case = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in FEW else [pytest.mark.slow]) for n in OFFSETS]
)


def is_held(name: str) -> bool:
    """Whether floats can hold the columns: zeros make the deviation of sparse ones large."""
    return "e00_" in name or "e03_" in name or name.endswith("sparse")


def check(name: str, decision: Any, labels: Any, precision: str) -> None:
    model, X = case(name)
    classifier = model
    rows = seen(model, X, DTYPES[precision])
    expected, unit = decision_of(classifier, rows), TOLERANCES[precision]
    bound = unit * sizes(classifier, rows, unit)
    assert (np.abs(decision - expected) <= bound).all()
    is_clear = gap(expected) > 2.0 * bound.max(axis=1)
    assert (labels == winners_of(expected))[is_clear].all()
    if precision == "double" and name.split("_", 2)[2] in EXACT:
        assert is_clear.all()


@needs_compiler
@each_case
@pytest.mark.parametrize("precision", ["double", "float"])
def test_c_answers_as_python_does_or_names_the_column(
    name: str, precision: str, tmp_path: Path
) -> None:
    model, X = case(name)
    if precision == "float" and not is_held(name):
        with pytest.raises(ValueError, match=r"column 'x0' lies too far from zero.*'double'"):
            to_c(model, precision=precision)
        return
    text = to_c(model, precision=precision, name=name) + driver(name, precision)
    library = ctypes.CDLL(str(compile_c(tmp_path, text, "-O1", "-shared", "-fPIC")))
    found = ask(library, name, X, DTYPES[precision])
    check(name, found.decision, found.index, precision)


@pytest.mark.extras
@each_case
@pytest.mark.parametrize("precision", ["double", "float"])
def test_onnx_answers_as_python_does_or_names_the_column(name: str, precision: str) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from tests.export.test_onnx import run

    model, X = case(name)
    if precision == "float" and not is_held(name):
        with pytest.raises(ValueError, match=r"column 'x0' lies too far from zero.*'double'"):
            to_onnx(model)
        return
    found = run(name, X, precision)
    check(name, found["decision"].reshape(len(X), -1), found["label"], precision)


def test_centres_far_from_zero_are_no_lists() -> None:
    near, far = (to_c(case(f"at_{at}_marks").model, name="m") for at in ("0e00", "1e08"))
    assert "centers_columns" in near
    assert "centers_columns" not in far


@pytest.mark.parametrize("dictionary", ["relu", "tree", TreeDictionary(corrects_leaves=True)])
def test_the_column_that_a_float_cannot_hold_is_named(dictionary: Any) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = blobs(2, 3)
    y = (X[:, 1] > X[:, 1].mean()).astype(int)
    X[:, 1] = 1e9 + X[:, 1] / X[:, 1].std()
    X[:, 2] = 1e9  # a constant is held as it is
    data = pandas.DataFrame(X, columns=["near", "far away", "constant"])
    table = data.assign(word=np.array(["a", "b"])[y])
    fitted = [make(dictionary=dictionary, max_iter=4).fit(given, y) for given in (data, table)]
    for model in fitted:
        with pytest.raises(ValueError, match="The column 'far away' lies too far from zero"):
            to_c(model, precision="float")
        to_c(model)


def test_what_a_float_can_hold_is_not_refused() -> None:
    X, y = blobs(2, 3)
    constant, sizes_of = np.full((len(X), 1), 1e9), np.array([1e-30, 1.0, 1e30])
    for rows in (np.hstack([X, constant]), X * sizes_of, X + 1e3 * X.std(axis=0)):
        for dictionary in ("relu", "gauss", "tree"):
            model = make(dictionary=dictionary, max_iter=4).fit(rows, y)
            assert f"const float x[{rows.shape[1]}]" in to_c(model, precision="float")
    model = make(dictionary="gauss", max_iter=4).fit(sparse.csr_array(X), y)
    assert "const float x[3]" in to_c(model, precision="float")


@needs_compiler
def test_a_model_without_a_decision_predicts_the_first_class(tmp_path: Path) -> None:
    X, y = blobs(2, 3)
    model = FCGBoostClassifier("relu", max_iter=1, random_state=0).fit(X, y)
    (member,) = model.members_
    bare = replace(member.model, coef=np.zeros((1, 1)), intercept=np.zeros(1))
    model.members_ = (replace(member, model=bare),)
    assert set(model.predict(X)) == {model.classes_[0]}
    program = "int main(void) { const double x[3] = {1.0, 2.0, 3.0}; return m_predict(x); }\n"
    assert subprocess.run([compile_c(tmp_path, to_c(model, name="m") + program)]).returncode == 0
