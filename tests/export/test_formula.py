"""Exports and explanations of rows of all magnitudes: the same finite answers as predictions."""

import copy
import ctypes
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier, GaussDictionary, PolynomialDictionary
from fcgboost.export import to_c, to_onnx
from fcgboost.export.formula import formula_of
from fcgboost.export.sources import Way
from tests.contracts.test_magnitudes import FAMILIES, SIZES, make, make_rows, planted
from tests.export.test_c import DTYPES
from tests.suites.compilers import compile_c, needs_compiler
from tests.suites.export_cases import blend, case, forest, n_outputs_of, union

OTHERS = ["marks", "union", "fences", "three", "unit", "units", "narrow", "power", "members"]
NAMES = [*map(str, range(len(FAMILIES))), *OTHERS]
each_case = pytest.mark.parametrize("name", NAMES)


@cache
def fitted(name: str) -> FCGBoostClassifier:
    X, y = make_rows()
    if name.isdecimal():
        return make(FAMILIES[int(name)]).fit(X, y)
    if name == "marks":  # of which C keeps lists
        return make("gauss").fit(np.column_stack([X, X > 0.3, X[:, :2] > 0.7]), y)
    if name == "union":
        return make(union(), max_iter=20, fit_intercept=False).fit(X, y)
    if name == "fences":
        return make("relu").fit(planted(X, "entry", 1e200), y)
    if name == "three":
        return make("relu").fit(X, y + (X[:, 2] > 0.3))
    if name == "unit":
        return make("gauss", standardize=False).fit(X, y)
    if name == "units":
        return make("relu").fit(X * [1e-120, 1.0, 1e120], y)
    if name == "members":
        return blend([make("relu").fit(X[1:], y[1:]), make("gauss").fit(X[:-1], y[:-1])])
    if name == "narrow":
        return make(GaussDictionary(width=0.01)).fit(X, y)
    return make(PolynomialDictionary(20)).fit(X, y)


def rows_for(clf: FCGBoostClassifier, largest: float = 1.79e308) -> Any:
    """Return rows with numbers of all sizes, of both signs, in one column or several."""
    X = np.zeros((4, clf.n_features_in_))
    X[:, :3] = make_rows()[0][:4]
    unit, rows = np.sign(X), [X]
    for size in SIZES:
        for sign in (1.0, -1.0):
            one, two, three = X.copy(), X.copy(), sign * size * unit
            one[:, 0], two[:, :2] = sign * size, (size, -sign * size)
            rows += [one, two, three, X * (sign * size)]
    return np.clip(np.vstack(rows), -largest, largest)


def answers_in_c(clf: FCGBoostClassifier, rows: Any, precision: str, folder: Path) -> Any:
    """Return decision values, probabilities and labels of a compiled model."""
    n_outputs, n_classes, n_inputs = n_outputs_of(clf), len(clf.classes_), clf.n_features_in_
    head = f"void run(int n, const {precision} *x, {precision} *f, {precision} *p, int *label)"
    text = to_c(clf, precision=precision, name="m") + (
        f"{head};\n{head} {{\n    for (int i = 0; i < n; i++, x += {n_inputs}) {{\n"
        f"        m_decision(x, f + i * {n_outputs});\n        m_proba(x, p + i * {n_classes});\n"
        "        label[i] = (int)m_label(m_predict(x));\n    }\n}\n"
    )
    library = ctypes.CDLL(str(compile_c(folder, text, "-O1", "-shared", "-fPIC")))
    rows = np.ascontiguousarray(rows, DTYPES[precision])
    found = [np.empty((len(rows), n), rows.dtype) for n in (n_outputs, n_classes)]
    found.append(np.empty(len(rows), np.intc))
    library.run(len(rows), *(own.ctypes.data_as(ctypes.c_void_p) for own in (rows, *found)))
    return found


@needs_compiler
@each_case
def test_c_answers_as_python_does(name: str, tmp_path: Path) -> None:
    clf = fitted(name)
    rows = rows_for(clf)
    decision, probabilities, labels = answers_in_c(clf, rows, "double", tmp_path)
    expected = clf.decision_function(rows).reshape(decision.shape)
    np.testing.assert_allclose(decision, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(probabilities, clf.predict_proba(rows), atol=1e-9)
    np.testing.assert_array_equal(labels, clf.predict(rows))


@needs_compiler
@each_case
def test_floats_in_c_are_finite(name: str, tmp_path: Path) -> None:
    clf = fitted(name)
    if name == "units":
        with pytest.raises(ValueError, match="numbers that a float cannot hold"):
            to_c(clf, precision="float")
        return
    rows = rows_for(clf, 3.4e38)
    decision, probabilities, labels = answers_in_c(clf, rows, "float", tmp_path)
    assert np.isfinite(decision).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-5)
    # Farther away than floats have powers these are others.
    is_near = np.abs(rows).max(axis=1) < (1e9 if name in ("1", "union") else 1e39)
    if name != "power":
        np.testing.assert_array_equal(labels[is_near], clf.predict(rows)[is_near])


@needs_compiler
def test_bells_narrower_than_rounding_are_at_most_one_at_their_centers(tmp_path: Path) -> None:
    X = np.random.default_rng(2).normal(size=(150, 30))
    X[np.random.default_rng(3).random(X.shape) < 0.8] = 0.0
    clf = make(GaussDictionary(width=1e-8), max_iter=40).fit(X, (X[:, 0] > 0.0).astype(int))
    assert "centers_columns" in to_c(clf, name="m")
    decision, _, _ = answers_in_c(clf, X, "double", tmp_path)
    most = np.abs(clf.atom_coef_).max() + np.abs(clf.intercept_).max()
    assert np.abs(decision).max() <= most


@pytest.mark.extras
@each_case
@pytest.mark.parametrize("precision", ["double", "float"])
def test_onnx_answers_as_python_does(name: str, precision: str) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    clf = fitted(name)
    text = to_onnx(clf, input_type=precision).SerializeToString()
    session = runtime.InferenceSession(text, providers=["CPUExecutionProvider"])
    rows = rows_for(clf, float(np.finfo(DTYPES[precision]).max)).astype(DTYPES[precision])
    outputs = ["decision", "probabilities", "label"]
    decision, probabilities, labels = session.run(outputs, {"X": rows})
    eps = 1e-9 if precision == "double" else 1e-6
    with np.errstate(over="ignore"):
        expected = clf.decision_function(rows).astype(rows.dtype)
    np.testing.assert_allclose(decision, expected, rtol=eps, atol=eps)
    np.testing.assert_allclose(probabilities, clf.predict_proba(rows), atol=eps)
    np.testing.assert_array_equal(labels, clf.predict(rows))


@each_case
def test_explanations_add_up_to_predictions(name: str) -> None:
    clf = fitted(name)
    rows = rows_for(clf)[::3]
    found, decision = clf.explain(rows), clf.decision_function(rows)
    assert np.isfinite(found.values).all()
    assert (found.errors == 0.0).all()
    sizes = np.abs(found.values).max(axis=1) + np.abs(found.base_values)
    total = found.base_values + found.values.sum(axis=1)
    assert (np.abs(total - decision) <= 1e-9 * (1.0 + sizes)).all()


def test_explanations_over_random_orders_are_finite() -> None:
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (60, 14))
    for dictionary in ("polynomial", "relu", "sigmoid"):
        clf = make(dictionary).fit(X, (X[:, 0] > 0.0).astype(int))
        found = clf.explain(1.79e308 * np.sign(X[:2]))
        assert np.isfinite(found.values).all()
        assert np.isfinite(found.errors).all()


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("members_forests", [["tree"]]),
        ("members_clipped", [["tree"], ["tree"], ["linear"]]),
        ("members_short", [["relu"]]),
        ("members_cubed", [["gauss"], ["tree"]]),
    ],
)
def test_members_that_have_atoms_are_summands_and_forests_together(
    name: str, kinds: list[list[str]]
) -> None:
    model = case(name).model
    formula = formula_of(model)
    assert [[block.kind for block in summand.blocks] for summand in formula.summands] == kinds
    assert formula.n_atoms == model.n_atoms_
    assert f"of {len(model.members_)} members" in formula.sizes


def test_forests_read_numbers_as_they_come() -> None:
    X, y = make_rows()
    fits = [make(part).fit(X[i:], y[i:]) for part in ("relu", forest()) for i in (0, 3, 6)]
    formula = formula_of(blend(fits))
    assert [summand.is_raw for summand in formula.summands] == [False, False, False, True]


def test_forests_share_what_they_see_alike() -> None:
    formula = formula_of(case("members_table").model)
    inputs = formula.summands[-1].inputs
    assert [block.kind for block in formula.summands[-1].blocks] == ["tree"]
    assert len(set(inputs)) == len(inputs)
    looked_up = [entry.cell for entry in inputs if entry.way == Way.LOOK_UP]
    assert len(set(looked_up)) < len(looked_up)
    kept = [entry.cell for entry in inputs if entry.way == Way.KEEP]
    assert len(set(kept)) == len(kept) > 0


def test_a_member_without_a_weight_is_left_out() -> None:
    first, second = case("members_cubed").model.members_
    model = copy.copy(case("members_cubed").model)
    model.members_ = (first, replace(second, weight=0.0))
    assert [block.kind for block in formula_of(model).summands[0].blocks] == ["gauss"]
    assert len(formula_of(model).summands) == 1


def test_the_column_that_a_float_cannot_hold_is_named_in_every_member() -> None:
    X, y = make_rows()
    far = X + np.array([0.0, 1e9, 0.0])
    model = blend([make("tree").fit(X, y), make("gauss").fit(far, y)])
    with pytest.raises(ValueError, match="The column 'x1' lies too far from zero"):
        to_c(model, precision="float")
