"""Exports of models whose columns lie far from zero, at 1e4, 1e8 and 1e12 of their deviations."""

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from export_cases import OFFSETS, blobs, case, decision_of, gap, make, sizes, winners_of
from export_tables import parts_of, seen
from scipy import sparse
from sklearn.pipeline import make_pipeline
from test_export_c import DTYPES, TOLERANCES, ask, compile_c, driver, needs_compiler

from fcgboost.dictionaries import TreeDictionary
from fcgboost.export import to_c, to_onnx
from fcgboost.tables import TableEncoder

#: Their values depend on differences of inputs, or on comparisons: rounding decides no label.
EXACT = ("gauss", "tree", "leaves", "marks", "table", "encoded", "sparse", "stored")
FEW = ("at_1e08_marks", "at_1e12_table", "at_1e12_marks_auto", "at_1e04_encoded", "at_1e08_relu")
FEW += ("at_1e08_stored",)
each_case = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in FEW else [pytest.mark.slow]) for n in OFFSETS]
)


def is_held(name: str) -> bool:
    """Whether floats can hold the columns: zeros make the deviation of sparse ones large."""
    return "e00_" in name or "e04_" in name or name.endswith("sparse")


def check(name: str, decision: Any, labels: Any, precision: str) -> None:
    model, X = case(name)
    _, classifier = parts_of(model)
    rows = seen(model, X, DTYPES[precision]).astype(np.float64)
    expected, unit = decision_of(classifier, rows), TOLERANCES[precision]
    origin = rows.mean(axis=0) if precision == "float" else 0.0
    bound = unit * sizes(classifier, rows, origin, unit)
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
        with pytest.raises(ValueError, match=r"column 'x0' lies so far from zero.*'double'"):
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
    from test_export_onnx import run

    model, X = case(name)
    if precision == "float" and not is_held(name):
        with pytest.raises(ValueError, match=r"column 'x0' lies so far from zero.*'double'"):
            to_onnx(model)
        return
    found = run(name, X, precision)
    check(name, found["decision"].reshape(len(X), -1), found["label"], precision)


def test_lists_hold_what_differs_from_a_usual_value() -> None:
    near, far = (to_c(case(f"at_{at}_marks").model, name="m") for at in ("0e00", "1e08"))
    assert "m_centers_places" in near
    assert "m_usual" not in near
    assert "m_usual[12]" in far
    (usual,) = re.findall(r"m_usual\[12\] = \{([^}]*)\}", far)
    values = list(map(float, usual.split(",")))
    assert np.abs(np.array(values[:3]) - 1e8).max() < 1.0
    assert values[3:] == [0.0] * 9
    assert len(far) < len(near) + 1000


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
    pipeline = make_pipeline(TableEncoder(), make(dictionary=dictionary, max_iter=4))
    for model in (*fitted, pipeline.fit(data, y)):
        with pytest.raises(ValueError, match="The column 'far away' lies so far from zero"):
            to_c(model, precision="float")
        to_c(model)


def test_what_a_float_can_hold_is_not_refused() -> None:
    X, y = blobs(2, 3)
    constant, sizes_of = np.full((len(X), 1), 1e9), np.array([1e-30, 1.0, 1e30])
    for rows in (np.hstack([X, constant]), X * sizes_of, X + 1e5 * X.std(axis=0)):
        for dictionary in ("relu", "gauss", "tree"):
            model = make(dictionary=dictionary, max_iter=4).fit(rows, y)
            assert f"const float x[{rows.shape[1]}]" in to_c(model, precision="float")
    model = make(dictionary="gauss", max_iter=4).fit(sparse.csr_array(X), y)
    assert "const float x[3]" in to_c(model, precision="float")


@needs_compiler
def test_texts_as_long_as_c99_knows_compile_and_longer_ones_are_refused(tmp_path: Path) -> None:
    X, y = blobs(2, 2)
    for length in (4095, 4096):
        long = "\N{SNOWMAN}" * (length // 3) + "x" * (length % 3)
        labels, levels = np.array(["no", long])[y], np.array(["b", f"{long[:-1]}y"])[y]
        table = np.column_stack([X.astype(object), levels])
        given = {"label": (X, labels), "level": (table, y)}
        for name, (rows, target) in given.items():
            model = make(dictionary="gauss", max_iter=3).fit(rows, target)
            if length > 4095:
                with pytest.raises(ValueError, match=r"has 4096 bytes.* C99 .*shorten"):
                    to_c(model)
                continue
            use = "int main(void) { return m_label(1) == 0; }\n"
            use = use if name == "label" else "int main(void) { return m_n_inputs == 0; }\n"
            options = ["-pedantic-errors", "-Woverlength-strings"]
            compile_c(tmp_path, to_c(model, name="m") + use, *options)
