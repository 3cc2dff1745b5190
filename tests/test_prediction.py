"""Predictions skip checks where nothing is to be found, and only there; answers come in kind."""

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context

from fcgboost import FCGBoostClassifier
from fcgboost import checks as border

DICTIONARIES = ["gauss", "polynomial", "sigmoid", "relu"]
each_dictionary = pytest.mark.parametrize("dictionary", DICTIONARIES)


def make_data(n_classes: int = 2, m: int = 80) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).standard_normal((m, 3))
    X[:, 2] = X[:, 2] * 20.0 + 300.0
    return X, np.digitize(X[:, 0] + 0.3 * X[:, 1], np.linspace(-0.6, 0.6, n_classes + 1)[1:-1])


def fit(dictionary: str = "relu", n_classes: int = 2, labels: Any = None) -> FCGBoostClassifier:
    X, y = make_data(n_classes)
    y = y if labels is None else np.asarray(labels)[y]
    return FCGBoostClassifier(dictionary, max_iter=8, random_state=0).fit(X, y)


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collect what scikit-learn is asked to check."""
    asked: list[Any] = []

    def watch(estimator: Any, X: Any, **options: Any) -> Any:
        asked.append(X)
        return validate_data(estimator, X, **options)

    validate_data = border.validate_data
    monkeypatch.setattr(border, "validate_data", watch)
    return asked


PLAIN: dict[str, Callable[[np.ndarray], Any]] = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "columns": np.asfortranarray,
    "every other": lambda X: X.repeat(2, axis=0)[::2],
    "one row": lambda X: X[:1],
    "read-only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
}
UNUSUAL: dict[str, Callable[[np.ndarray], Any]] = {
    "list": lambda X: X.tolist(),
    "frame": pd.DataFrame,
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "other bytes": lambda X: X.astype(">f8"),
    "objects": lambda X: X.astype(object),
    "subclass": lambda X: X.view(np.recarray),
}


@each_dictionary
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_input_of_the_same_values_is_answered_alike(dictionary: str, n_classes: int) -> None:
    clf, (X, _) = fit(dictionary, n_classes), make_data(n_classes)
    X = X.astype(np.float32).astype(np.float64)
    labels, decision, probabilities = clf.predict(X), clf.decision_function(X), clf.predict_proba(X)
    assert_allclose(clf.model_.decision(X).reshape(decision.shape), decision, rtol=0, atol=0)
    for name, make in {**PLAIN, **UNUSUAL}.items():
        given = make(X)
        n = 1 if name == "one row" else len(X)
        assert_array_equal(clf.predict(given), labels[:n], err_msg=name)
        assert clf.decision_function(given).dtype == np.float64
        assert_allclose(clf.decision_function(given), decision[:n], rtol=1e-9, atol=1e-9)
        assert_allclose(clf.predict_proba(given), probabilities[:n], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", PLAIN)
def test_plain_arrays_are_not_checked_twice(name: str, checks: list[Any]) -> None:
    clf, (X, _) = fit(), make_data()
    checks.clear()
    clf.predict(PLAIN[name](X))
    assert not checks


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_inputs_go_the_full_way(name: str, checks: list[Any]) -> None:
    clf, (X, _) = fit(), make_data()
    checks.clear()
    clf.predict(UNUSUAL[name](X))
    assert len(checks) == 1


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_wrong_inputs_are_refused_as_ever(method: str) -> None:
    clf, (X, _) = fit(), make_data()
    ask = getattr(clf, method)
    for message, wrong in {
        "X has 2 features, but FCGBoostClassifier is expecting 3": X[:, :2],
        "Expected 2D array, got 1D array": X[0],
        "Found array with dim 3": X[None],
        "0 sample": X[:0],
        "Complex data not supported": X.astype(complex),
    }.items():
        with pytest.raises(ValueError, match=message):
            ask(wrong)
    for precision in (np.float64, np.float32):
        for bad in (np.inf, -np.inf):
            spoilt = X.astype(precision)
            spoilt[5, 1] = bad
            with pytest.raises(ValueError, match="Input X contains infinity in column 1"):
                ask(spoilt)


def test_finite_numbers_whose_sum_is_not_are_accepted(checks: list[Any]) -> None:
    clf = fit()
    checks.clear()
    huge = np.full((4, 3), np.finfo(np.float64).max)
    assert border.check_rows(clf, huge) is huge
    assert len(checks) == 1


def test_names_of_columns_are_still_compared() -> None:
    X, y = make_data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    clf = FCGBoostClassifier("relu", max_iter=3, random_state=0).fit(frame, y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        labels = clf.predict(X)
    assert_array_equal(labels, clf.predict(frame))
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(frame[["b", "a", "c"]])


@each_dictionary
def test_stages_are_the_shortened_classifiers(dictionary: str) -> None:
    clf, (X, _) = fit(dictionary, 3), make_data(3)
    clf.predict(X)  # what is kept for the whole model is not used for a part of it
    with config_context(working_memory=0):
        without_room = list(clf.staged_decision_function(X))
    stages = list(clf.staged_decision_function(X))
    assert len(stages) == len(without_room) == clf.n_iter_
    for k, (decision, again) in enumerate(zip(stages, without_room, strict=True), 1):
        assert_allclose(decision, clf.truncate(k).decision_function(X), rtol=1e-10, atol=1e-12)
        assert_allclose(decision, again, rtol=1e-10, atol=1e-12)


OF_MEMBERS = {
    "atoms_": "model.atoms",
    "atom_coef_": "model.coef",
    "intercept_": "model.intercept",
    "l2_": "l2",
    "model_": "model",
    "status_": "status",
    "trace_": "trace",
}


@pytest.mark.parametrize(("name", "path"), OF_MEMBERS.items())
def test_what_belongs_to_a_single_path_is_named_for_an_ensemble(name: str, path: str) -> None:
    X, y = make_data()
    options = {"max_iter": 3, "random_state": 0}
    single = FCGBoostClassifier("relu", **options).fit(X, y)
    (member,) = single.members_
    assert getattr(single, name) is attrgetter(path)(member)
    ensemble = FCGBoostClassifier("relu", cv=2, **options).fit(X, y)
    with pytest.raises(AttributeError, match=rf"{name} belongs to a single path.*averages 2.*"):
        getattr(ensemble, name)
    with pytest.raises(AttributeError, match=rf"use members_\[i\]\.{path}\."):
        getattr(ensemble, name)
    assert not hasattr(ensemble, name)


def test_an_ensemble_counts_atoms_and_steps_of_its_members() -> None:
    X, y = make_data(3)
    model = FCGBoostClassifier(cv=2, max_iter=4, random_state=0).fit(X, y)
    assert model.n_atoms_ == sum(member.model.n_atoms for member in model.members_)
    assert model.n_iter_ == max(member.n_iter for member in model.members_) == 4
    assert model.member_weights_.tolist() == [member.weight for member in model.members_]
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_a_classifier_that_has_predicted_is_saved_as_before() -> None:
    clf, (X, _) = fit(), make_data()
    saved = pickle.dumps(clf)
    decision = clf.decision_function(X)
    assert pickle.dumps(clf) == saved
    assert_array_equal(pickle.loads(saved).decision_function(X), decision)


def test_fitting_again_forgets_what_predictions_kept() -> None:
    X, y = make_data()
    clf = FCGBoostClassifier("relu", max_iter=3, random_state=0)
    before = clf.fit(X, y).decision_function(X)
    after = clf.fit(X, 1 - y).decision_function(X)
    assert_allclose(after, -before, rtol=1e-9, atol=1e-9)


def test_threads_may_predict_with_one_classifier() -> None:
    clf, (X, _) = fit("gauss"), make_data()
    expected = fit("gauss").decision_function(X)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: clf.decision_function(X), range(64)))
    for answer in answers:
        assert_array_equal(answer, expected)


LABELS: dict[str, list[Any]] = {
    "integers": [3, 5, 7],
    "bytes": [np.uint8(1), np.uint8(2), np.uint8(9)],
    "numbers": [-1.0, 1.0, 2.0],
    "words": ["a", "bb", "ccc"],
}


@pytest.mark.extras
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("dictionary", "labels"), list(zip(DICTIONARIES, LABELS, strict=True)))
def test_tensors_are_answered_in_kind(
    dictionary: str, precision: str, n_classes: int, labels: str
) -> None:
    torch = pytest.importorskip("torch")
    clf, (X, _) = fit(dictionary, n_classes, LABELS[labels]), make_data(n_classes)
    X = X.astype(precision)
    tensor = torch.tensor(X, requires_grad=True)
    for method in ("decision_function", "predict_proba"):
        answer, expected = getattr(clf, method)(tensor), getattr(clf, method)(X)
        assert isinstance(answer, torch.Tensor)
        assert answer.dtype == tensor.dtype
        assert not answer.requires_grad
        assert_allclose(answer.numpy(), expected, rtol=2e-7 if precision == "float32" else 1e-15)
    answer = clf.predict(tensor)
    assert isinstance(answer, np.ndarray if labels == "words" else torch.Tensor)
    assert_array_equal(np.asarray(answer), clf.predict(X))
    assert clf.score(tensor, clf.predict(X)) == 1.0
    for stage, expected in zip(
        clf.staged_predict(tensor[:9]), clf.staged_predict(X[:9]), strict=True
    ):
        assert_array_equal(np.asarray(stage), expected)


@pytest.mark.extras
def test_tensors_that_are_not_plain_are_judged_like_arrays() -> None:
    torch = pytest.importorskip("torch")
    clf, (X, _) = fit(), make_data()
    whole = torch.tensor(X).round().to(torch.int64)
    assert clf.decision_function(whole).dtype == torch.float64
    assert_array_equal(clf.decision_function(whole), clf.decision_function(whole.numpy()))
    half = torch.tensor(X).to(torch.bfloat16)
    assert clf.decision_function(half).dtype == torch.bfloat16
    assert_array_equal(clf.predict(half), clf.predict(half.double()))
    spoilt = torch.tensor(X)
    spoilt[3, 2] = torch.inf
    with pytest.raises(ValueError, match="Input X contains infinity in column 2"):
        clf.predict(spoilt)
    with pytest.raises(ValueError, match="X has 2 features"):
        clf.predict(torch.tensor(X)[:, :2])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        clf.predict(torch.tensor(X)[0])
    with pytest.raises(ValueError, match="Complex data not supported"):
        clf.predict(torch.tensor(X).to(torch.complex128))
