"""Models in C: compiled with all warnings as errors, and compared with Python."""

import ctypes
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from fcgboost import FCGBoostClassifier
from fcgboost.calibration import probabilities_of
from fcgboost.export import save_c, to_c
from fcgboost.export.c_text import fields_of
from fcgboost.export.sources import record_of
from fcgboost.tables import NumberColumn
from tests.suites.compilers import WARNINGS, compile_c, needs_compiler
from tests.suites.export_cases import (
    CASES,
    DICTIONARIES,
    ENSEMBLES,
    FAMILIES,
    FEW,
    NOISES,
    OTHERS,
    PLAIN,
    PLAIN_ENSEMBLES,
    blobs,
    case,
    decision_of,
    gap,
    n_outputs_of,
    sizes,
    winners_of,
)
from tests.suites.export_tables import GAPS, TABLES, cells, cells_of, seen, table_of
from tests.suites.marks import also

each_precision = pytest.mark.parametrize("precision", ["double", "float"])
MORE_WARNINGS = ["-Wconversion", "-Wdouble-promotion", "-Wshadow", "-Wundef", "-Wwrite-strings"]
DTYPES = {"double": np.float64, "float": np.float32}
# Of the sums of sizes; measured are a quarter of these.
TOLERANCES = {"double": 1e-14, "float": 4e-6}


class Answers(NamedTuple):
    """What a compiled model says about some rows."""

    decision: np.ndarray
    proba: np.ndarray
    index: np.ndarray
    cells: np.ndarray


def driver(name: str, real: str) -> str:
    """Write functions with external linkage: one runs a model over many rows, one names classes."""
    model = case(name).model
    classifier = model
    n_classes, n_outputs = len(classifier.classes_), n_outputs_of(model)
    columns, given = table_of(model), real
    steps = [f"const {real} *x = rows + i * {name}_n_inputs;"]
    if columns is not None:
        given = "double"
        steps = [f"{name}_input row;", f"const {name}_input *x = &row;"]
        for field, column in zip(fields_of(c.name for c in columns), columns, strict=True):
            is_number = isinstance(column, NumberColumn)
            cast = f"({real})" if is_number and column.unit == "number" else ""
            steps.append(f"row.{field} = {cast}*{'rows' if is_number else 'texts'}++;")
        steps.append(f"{name}_read(x, cells + i * {name}_n_inputs);")
    steps.append(f"{name}_decision(x, decision + i * {n_outputs});")
    steps.append(f"index[i] = {name}_predict(x);")
    if hasattr(classifier, "predict_proba"):
        steps.append(f"{name}_proba(x, proba + i * {n_classes});")
    head = (
        f"void {name}_run(int n, const {given} *rows, const char *const *texts, {real} *decision, "
        f"{real} *proba, int *index, {real} *cells)"
    )
    label = re.search(rf"static inline (.*){name}_label\(", to_c(model, name=name))[1]
    return (
        f"{head};\n{head} {{\n    (void)rows; (void)texts; (void)proba; (void)cells;\n"
        f"    for (int i = 0; i < n; i++) {{ {' '.join(steps)} }}\n}}\n"
        f"{label}{name}_shown(int i);\n{label}{name}_shown(int i) {{ return {name}_label(i); }}\n"
    )


def program(precision: str) -> str:
    """Write all models into one text."""
    parts = []
    for name in CASES:
        parts += [to_c(case(name).model, precision=precision, name=name), driver(name, precision)]
    return "".join(parts)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Compile a model in one precision."""

    def load(name: str, precision: str) -> ctypes.CDLL:
        text = to_c(case(name).model, precision=precision, name=name) + driver(name, precision)
        options = [*MORE_WARNINGS, "-O1", "-shared", "-fPIC"]
        return ctypes.CDLL(str(compile_c(tmp_path_factory.mktemp(name), text, *options)))

    return load


def ask(library: ctypes.CDLL, name: str, X: Any, dtype: Any) -> Answers:
    """Run a compiled model over rows."""
    model = case(name).model
    classifier = model
    n, columns, texts = len(X), table_of(model), []
    rows = np.ascontiguousarray(X, dtype=dtype) if columns is None else None
    if columns is not None:
        rows, texts = fields(columns, X, dtype)
    answers = Answers(
        np.full((n, n_outputs_of(model)), np.nan, dtype),
        np.full((n, len(classifier.classes_)), np.nan, dtype),
        np.full(n, -1, np.intc),
        np.full((n, len(record_of(model).cells)), np.nan, dtype),
    )
    strings = (ctypes.c_char_p * max(1, len(texts)))(*texts)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in answers]
    getattr(library, f"{name}_run")(n, rows.ctypes.data_as(ctypes.c_void_p), strings, *pointers)
    return answers


def fields(columns: list[Any], X: Any, dtype: Any) -> tuple[np.ndarray, list[bytes | None]]:
    """Give numbers and texts of a table, row by row; what is missing is no text or an empty one."""
    given = [cells_of(column, X, dtype) for column in columns]
    numbers = [own.astype(np.float64) for own in given if own.dtype != object]
    texts = [own for own in given if own.dtype == object]
    rows = [
        text.encode() if text or i % 2 else None
        for i, row in enumerate(zip(*texts, strict=True))
        for text in row
    ]
    return np.column_stack([np.empty((len(X), 0)), *numbers]), rows


def each_case() -> Iterator[Any]:
    """Give every case in both precisions; the few are run after every change, in one of them."""
    for name, precision in product(CASES, DTYPES):
        is_short = name in FEW and (FEW.index(name) % 2 == 0) == (precision == "double")
        yield pytest.param(name, precision, marks=[] if is_short else [pytest.mark.slow])


@needs_compiler
@pytest.mark.parametrize(("name", "precision"), list(each_case()))
def test_a_compiled_model_answers_as_python_does(compiled, name: str, precision: str) -> None:
    X, dtype = case(name).X, DTYPES[precision]
    library = compiled(name, precision)
    found = ask(library, name, X, dtype)
    check_decisions(name, found, seen_as(name, X, dtype), precision)
    check_probabilities(name, found, dtype)
    check_labels(name, library)
    if table_of(case(name).model) is not None:
        assert np.array_equal(found.cells, cells(case(name).model, X, dtype), equal_nan=True)
    if name in {**PLAIN, **OTHERS, **FAMILIES, **PLAIN_ENSEMBLES}:
        check_extremes(name, library, precision)


@needs_compiler
@pytest.mark.parametrize("name", [*TABLES, *GAPS, *ENSEMBLES])
def test_a_table_and_gaps_mean_what_they_mean_in_python(compiled, name: str) -> None:
    model, X = case(name)
    found = ask(compiled(name, "double"), name, X, np.float64)
    decision = model.decision_function(X).reshape(found.decision.shape)
    np.testing.assert_allclose(found.decision, decision, rtol=0, atol=1e-12)
    assert (model.classes_[found.index] == model.predict(X)).all()


@needs_compiler
@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("precision", ["double", *also("float")])
def test_a_correction_for_wrong_labels_is_compiled(compiled, name: str, precision: str) -> None:
    model, X = case(name)
    found = ask(compiled(name, precision), name, X, DTYPES[precision])
    room = 1e-12 if precision == "double" else 1e-4
    decision = model.decision_function(X).reshape(found.decision.shape)
    np.testing.assert_allclose(found.decision, decision, rtol=room, atol=room)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(found.proba, proba, rtol=0, atol=room)
    ordered = np.sort(proba, axis=1)
    is_clear = ordered[:, -1] - ordered[:, -2] > room
    assert is_clear.mean() > 0.9
    assert (model.classes_[found.index] == model.predict(X))[is_clear].all()


def seen_as(name: str, X: Any, dtype: Any) -> list[np.ndarray]:
    """Give what the atoms of each member see, as some type holds it."""
    return [rows.astype(dtype).astype(np.float64) for rows in seen(case(name).model, X, dtype)]


def check_decisions(name: str, found: Answers, rows: list[np.ndarray], precision: str) -> None:
    classifier = case(name).model
    decision = decision_of(classifier, rows)
    unit = TOLERANCES[precision]
    bound = unit * sizes(classifier, rows, unit)
    assert (np.abs(found.decision - decision) <= bound).all()
    is_clear = gap(decision) > 2.0 * bound.max(axis=1)
    assert is_clear.mean() > 0.9 or classifier.n_atoms_ == 0
    assert (found.index == winners_of(decision))[is_clear].all()


def check_probabilities(name: str, found: Answers, dtype: Any) -> None:
    model = case(name).model
    classifier = model
    if not hasattr(classifier, "predict_proba"):
        assert "proba" not in to_c(model)
        return
    decision = found.decision.astype(np.float64)
    decision = decision[:, 0] if decision.shape[1] == 1 else decision
    expected = probabilities_of(classifier._loss_, classifier.link_, decision)
    # The decision values count as exact here, so that only the formula is compared.
    largest = np.abs(decision).max()
    if classifier.link_ is not None:
        largest = max(largest, np.abs(classifier.link_.log_odds(decision)).max())
    room = 8 * np.finfo(dtype).eps * (1.0 + largest)
    np.testing.assert_allclose(found.proba, expected, rtol=0, atol=room)


def check_labels(name: str, library: ctypes.CDLL) -> None:
    classifier = case(name).model
    show = getattr(library, f"{name}_shown")
    kinds = {
        bool: ctypes.c_int,
        int: ctypes.c_longlong,
        float: ctypes.c_double,
        str: ctypes.c_char_p,
    }
    labels = classifier.classes_.tolist()
    show.restype = ctypes.c_ulonglong if labels[-1] == 2**64 - 1 else kinds[type(labels[0])]
    shown = [show(i) for i in range(len(labels))]
    assert [text.decode() if isinstance(text, bytes) else text for text in shown] == labels


def check_extremes(name: str, library: ctypes.CDLL, precision: str) -> None:
    """Inputs of extreme sizes give the same decisions."""
    model, dtype = case(name).model, DTYPES[precision]
    tiny = float(np.finfo(dtype).smallest_subnormal)
    values = [0.0, tiny, -tiny, 1e-30, 1e6, -1e6]
    rows = np.repeat(np.array(values)[:, None], model.n_features_in_, axis=1)
    rows = np.vstack([rows, np.where(np.arange(rows.shape[1]) % 2, 1e6, tiny)])
    found = ask(library, name, rows, dtype)
    rows = seen_as(name, rows, dtype)
    unit = TOLERANCES[precision]
    bound = unit * sizes(model, rows, unit)
    assert (np.abs(found.decision - decision_of(model, rows)) <= bound).all()
    is_clear = gap(decision_of(model, rows)) > 2.0 * bound.max(axis=1)
    assert (found.index == winners_of(decision_of(model, rows)))[is_clear].all()
    if hasattr(model, "predict_proba"):
        assert np.abs(found.proba.sum(axis=1) - 1.0).max() < 1e-6
        assert found.proba.min() >= 0.0


@pytest.mark.slow
@each_precision
@pytest.mark.parametrize(
    ("compilers", "standard"), [(("cc", "gcc"), "c99"), (("c++", "g++"), "c++11")]
)
def test_all_models_in_one_text_are_c_and_cpp(
    tmp_path: Path, compilers: tuple[str, ...], standard: str, precision: str
) -> None:
    compiler = next(filter(None, map(shutil.which, compilers)), None)
    if compiler is None:
        pytest.skip(f"there is no compiler for {standard}")
    source = tmp_path / ("model.cpp" if "++" in standard else "model.c")
    source.write_text(program(precision), encoding="ascii")
    warnings = [f"-std={standard}", *WARNINGS[1:], *MORE_WARNINGS]
    command = [compiler, *warnings, "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@needs_compiler
def test_an_unused_model_is_no_warning_and_may_be_included_twice(tmp_path: Path) -> None:
    text = to_c(case("label_text").model)
    made = compile_c(tmp_path, f"{text}{text}int main(void) {{ return 0; }}\n")
    assert subprocess.run([str(made)], check=False).returncode == 0


@needs_compiler
@pytest.mark.parametrize(("precision", "most"), [("double", 1088), ("float", 832)])
@pytest.mark.parametrize(
    "dictionary",
    [
        name if name == "gauss" else pytest.param(name, marks=pytest.mark.slow)
        for name in DICTIONARIES
    ],
)
def test_thirteen_atoms_in_two_dimensions_take_about_a_kilobyte(
    tmp_path: Path, dictionary: str, precision: str, most: int
) -> None:
    if shutil.which("size") is None:
        pytest.skip("there is no program `size`")
    X, y = blobs(2, 2)
    model = FCGBoostClassifier(dictionary=dictionary, max_iter=13, random_state=0).fit(X, y)
    assert model.n_atoms_ == 13
    text = to_c(model, precision=precision)
    user = (
        f"int classify(const {precision} *x, {precision} *p);\n"
        f"int classify(const {precision} *x, {precision} *p) "
        "{ fcgboost_proba(x, p); return fcgboost_predict(x); }\n"
    )
    made = compile_c(tmp_path, text + user, "-Os", "-c")
    shown = subprocess.run(["size", str(made)], capture_output=True, text=True, check=True).stdout
    code, data, zeros, *_ = map(int, shown.splitlines()[1].split()[:3])
    print(f"{dictionary}, {precision}: text {len(text)} bytes, compiled {code} bytes")
    assert data == zeros == 0
    assert code <= most
    assert len(text) < 3500


@needs_compiler
def test_the_program_of_the_guide_runs(tmp_path: Path) -> None:
    guide = Path(__file__).parents[2] / "docs" / "export.md"
    (text,) = re.findall(r"```c\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
    X, y = blobs(2, 2)
    model = FCGBoostClassifier("gauss", max_iter=5).fit(X, y)
    save_c(model, tmp_path / "moons.h", precision="float", name="moons")
    made = compile_c(tmp_path, text)
    said = subprocess.run([str(made)], capture_output=True, text=True, check=True).stdout
    row = np.array([[0.5, -0.25]])
    probability = model.predict_proba(row)[0, 1]
    assert said == f"class {model.predict(row)[0]}, probability {probability:.3f}\n"
