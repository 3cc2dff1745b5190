"""Metrics along a path are those of the model after every step, and choose nothing."""

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import get_scorer, make_scorer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

from fcgboost import FCGBoostClassifier, TreeDictionary, load_model
from fcgboost.datasets import make_simulation
from fcgboost.losses import SquaredHinge
from fcgboost.training.scoring import Metric
from fcgboost.training.tasks import PrecomputedClassifier


def noisy(n_rows: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return make_simulation(n_rows, noise="uniform", level=0.2, random_state=seed)


def three_classes(n_rows: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, _ = noisy(n_rows, seed)
    flips = np.random.default_rng(seed).random(n_rows) < 0.2
    return X, np.array(["a", "b", "c"])[(np.digitize(X[:, 1], [0.3, 0.7]) + flips) % 3]


def in_order(estimator: Any, X: Any, y: Any) -> float:
    """Depend on which rows stand first, and know of no weights."""
    weights = np.arange(1.0, X.shape[0] + 1)
    found = estimator.predict(X) == y
    return float(weights @ found / weights.sum() + 0.01 * X[0, 0])


NAMES = ("neg_log_loss", "balanced_accuracy", "roc_auc_ovr", "neg_brier_score")
METRICS = {**{name: name for name in NAMES}, "own": in_order}


def by_hand(model: Any, X: Any, y: Any, weights: Any = None) -> dict[str, list[float]]:
    """Return the metrics of every truncated model."""
    steps = [model.truncate(k) for k in range(1, len(model.trace_) + 1)]
    found = {}
    for name, scoring in model.metrics.items():
        options = {"sample_weight": weights} if isinstance(scoring, str) else {}
        found[name] = [get_scorer(scoring)(step, X, y, **options) for step in steps]
    return found


def assert_same(found: Any, expected: Any) -> None:
    assert list(found) == list(expected)
    for name in expected:
        assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-12, err_msg=name)


KINDS: dict[str, dict[str, Any]] = {
    "gauss": {"dictionary": "gauss", "max_iter": 8},
    "removal": {"dictionary": "relu", "max_iter": 20, "removal": 0.9},
    "preset": {"dictionary": "compact"},
    "leaves": {"dictionary": TreeDictionary(depth=3, corrects_leaves=True), "max_iter": 8},
    "linked hinge": {"dictionary": "relu", "loss": "hinge", "link": "power", "max_iter": 8},
    "weighted": {"dictionary": "relu", "max_iter": 8, "class_weight": "balanced"},
}


@pytest.mark.covering
@pytest.mark.parametrize("data", [noisy, three_classes])
@pytest.mark.parametrize("kind", KINDS)
def test_metrics_are_those_of_every_truncated_model(kind: str, data: Any) -> None:
    (X, y), (X_val, y_val) = data(), data(90, seed=1)
    # Some rows are there twice.
    X, y, rng = np.vstack([X, X[:9]]), np.append(y, y[:9]), np.random.default_rng(0)
    weights, weights_val = rng.integers(1, 4, len(y)) * 1.0, rng.uniform(0.5, 2.0, 90)
    model = FCGBoostClassifier(metrics=METRICS, random_state=0, **KINDS[kind])
    held_out = {"X_val": X_val, "y_val": y_val, "sample_weight_val": weights_val}
    model.fit(X, y, weights, **held_out)
    assert list(model.trace_.metrics) == ["train", "validation"]
    assert_same(model.trace_.metrics["train"], by_hand(model, X, y, weights))
    assert_same(model.trace_.metrics["validation"], by_hand(model, X_val, y_val, weights_val))
    bare = clone(model).set_params(metrics=None).fit(X, y, weights, **held_out)
    assert dict(bare.trace_.metrics) == {}
    assert_array_equal(bare.decision_function(X), model.decision_function(X))
    assert_array_equal(bare.trace_.scores, model.trace_.scores)


def as_table(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"p": X[:, 0], "q": np.where(X[:, 1] > 0.4, "u", "v")})


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, as_table])
def test_rows_of_a_fraction_are_validation_rows(make: Any) -> None:
    X, y = noisy(120)
    table = make(X)
    seen: dict[str, list[Any]] = {"rows": []}

    def keep(estimator: Any, rows: Any, labels: Any) -> float:
        seen["rows"].append(rows.shape[0])
        return float(np.mean(estimator.predict(rows) == labels))

    metrics = {"own": keep, "accuracy": "accuracy"}
    model = FCGBoostClassifier(
        "relu", max_iter=4, validation_fraction=0.25, metrics=metrics, random_state=0
    ).fit(table, y)
    # Before the fit, the function is tried on all rows.
    assert seen["rows"][0] == 120
    sizes = set(seen["rows"][1:])
    assert len(sizes) == 2
    assert sum(sizes) == 120
    for own in model.trace_.metrics.values():
        assert_allclose(own["own"], own["accuracy"], rtol=1e-12)
    # All rows have what both parts have together.
    parts = [model.trace_.metrics[rows]["accuracy"] for rows in ("train", "validation")]
    whole = [model.truncate(k).score(table, y) for k in range(1, 5)]
    assert_allclose(max(sizes) * parts[0] + min(sizes) * parts[1], 120 * np.array(whole))
    assert_array_equal(model.trace_.scores, parts[1])


def test_forms_of_metrics() -> None:
    X, y = noisy(60)
    forms: dict[str, Any] = {
        "roc_auc": "roc_auc",
        "score": in_order,
        "roc_auc f1": ("roc_auc", "f1"),
        "a b": {"a": "roc_auc", "b": make_scorer(lambda y, found: np.mean(y == found))},
        "": None,
    }
    for names, metrics in forms.items():
        model = FCGBoostClassifier("gauss", max_iter=2, metrics=metrics, random_state=0)
        assert repr(clone(model).get_params()["metrics"]) == repr(metrics)
        assert [*model.fit(X, y).trace_.metrics.get("train", ())] == names.split()
        assert model.truncate(1).trace_.metrics is model.trace_.metrics


def test_every_member_has_the_metrics_of_its_own_rows() -> None:
    X, y = noisy(120)
    halves = [np.arange(60), np.arange(60, 120)]
    folds = [tuple(halves), tuple(halves[::-1])]
    options = {"max_iter": 4, "l2": 0.1, "metrics": METRICS, "random_state": 0}
    model = FCGBoostClassifier("relu", cv=folds, **options).fit(X, y)
    for member, (train, test) in zip(model.members_, folds, strict=True):
        for k in range(1, 5):
            alone = copy(model)
            alone.members_ = (replace(member.truncated(k), weight=1.0),)
            for part, rows in (("train", train), ("validation", test)):
                for name, scoring in METRICS.items():
                    found = member.trace.metrics[part][name][k - 1]
                    expected = get_scorer(scoring)(alone, X[rows], y[rows])
                    assert found == pytest.approx(expected, rel=1e-9), (part, name)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"metrics": "nonsense"}, ValueError, "'nonsense' is not a valid scoring value"),
        ({"metrics": 5}, ValueError, "metrics must be None, the name of a scikit-learn score"),
        ({"metrics": [in_order]}, ValueError, "metrics must be None"),
        ({"metrics": {1: "f1"}}, ValueError, "metrics must be None"),
        ({"metrics": "neg_log_loss", "loss": "hinge"}, AttributeError, "no probabilities"),
        ({"metrics": "roc_auc"}, ValueError, "'roc_auc' cannot score these rows: multi_class"),
        ({"metrics": lambda model, X, y: {}}, ValueError, r"cannot score these rows: float\(\)"),
    ],
)
def test_what_cannot_be_recorded_is_refused_before_the_path(
    changes: dict[str, Any], error: Any, message: str
) -> None:
    steps: list[Any] = []
    model = FCGBoostClassifier("gauss", random_state=0, **changes)
    with pytest.raises(error, match=message):
        model.set_callbacks(steps.append).fit(*three_classes())
    assert not steps


def test_what_is_not_defined_is_recorded_as_nan(tmp_path: Path) -> None:
    X, y = three_classes()
    kept = y != "c"
    names = ["neg_log_loss", "roc_auc_ovr", "balanced_accuracy", "precision_macro"]
    model = FCGBoostClassifier("gauss", max_iter=3, metrics=names, random_state=0)
    model.fit(X, y, X_val=X[kept], y_val=y[kept])
    found = model.trace_.metrics["validation"]
    assert np.isnan(found["neg_log_loss"]).all()
    assert np.isnan(found["roc_auc_ovr"]).all()
    assert np.isfinite(found["balanced_accuracy"]).all()
    assert np.isfinite(np.array(list(model.trace_.metrics["train"].values()))).all()
    model.save_model(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json").trace_.metrics
    assert list(again) == ["train", "validation"]
    for rows, own in model.trace_.metrics.items():
        assert list(again[rows]) == names
        for name, values in own.items():
            assert_array_equal(again[rows][name], values)
    one = FCGBoostClassifier("gauss", max_iter=2, metrics="roc_auc", random_state=0)
    X, y = noisy(60)
    one.fit(X, y, X_val=X[y > 0], y_val=y[y > 0])
    assert np.isnan(one.trace_.metrics["validation"]["roc_auc"]).all()


def test_a_path_without_steps_has_no_metrics_to_tell() -> None:
    X, y = np.ones((6, 1)), np.array([0, 0, 0, 1, 1, 1])
    model = FCGBoostClassifier("gauss", metrics="f1", random_state=0).fit(X, y)
    assert len(model.trace_) == len(model.trace_.metrics["train"]["f1"])


def test_a_continued_path_has_the_metrics_of_one_at_once() -> None:
    (X, y), (X_val, y_val) = noisy(), noisy(60, seed=1)
    held_out = {"X_val": X_val, "y_val": y_val}
    options = {"metrics": {"own": in_order, "auc": "roc_auc"}, "random_state": 0}
    at_once = FCGBoostClassifier("gauss", max_iter=9, **options).fit(X, y, **held_out)
    last = FCGBoostClassifier("gauss", max_iter=4, random_state=0, warm_start=True)
    last.fit(X, y, **held_out)
    last.set_params(max_iter=9, metrics=options["metrics"]).fit(X, y, **held_out)
    for rows, own in at_once.trace_.metrics.items():
        assert_same(last.trace_.metrics[rows], own)


# Pipelines, which transform X


def fit_in_pipeline(steps: list[Any], X: Any, X_val: Any, y: Any) -> Any:
    pipe = make_pipeline(*steps, FCGBoostClassifier("relu", max_iter=3, random_state=0))
    return pipe.fit(X, y, fcgboostclassifier__X_val=X_val, fcgboostclassifier__y_val=y)


def test_validation_rows_that_a_pipeline_left_alone_are_refused() -> None:
    X, y = noisy(80)
    frame = pd.DataFrame(X, columns=["width", "height"])
    renamed = FunctionTransformer(lambda rows: rows.set_axis(["a", "b"], axis=1))
    for steps, rows, message in (
        ([StandardScaler()], frame, r"named \['width', 'height'\], .* 2 columns without names"),
        ([PolynomialFeatures()], X, r"2 columns without names, .* 6 columns without names"),
        ([renamed], frame, r"named \['width', .*named \['a', 'b'\]"),
    ):
        message += r".*pipe\[:-1\].*transform_input=\['X_val'\].*enable_metadata_routing=True"
        with pytest.raises(ValueError, match=f"X_val has .*{message}"):
            fit_in_pipeline(steps, rows, rows, y)
    model = FCGBoostClassifier("relu", max_iter=3, random_state=0)
    with pytest.raises(ValueError, match=r"2 columns without names, .* named \['width'"):
        model.fit(frame, y, X_val=X, y_val=y)


@pytest.mark.parametrize("is_frame", [True, False])
def test_routing_transforms_validation_rows(is_frame: bool) -> None:
    X, y = noisy(80)
    X = 100.0 * X
    rows: Any = pd.DataFrame(X, columns=["width", "height"]) if is_frame else X
    with sklearn.config_context(enable_metadata_routing=True):
        clf = FCGBoostClassifier("relu", max_iter=5, metrics="roc_auc", random_state=0)
        clf.set_fit_request(X_val=True, y_val=True)
        steps = [("scale", StandardScaler()), ("clf", clf)]
        pipe = Pipeline(steps, transform_input=["X_val"])
        pipe.fit(rows[:50], y[:50], X_val=rows[50:], y_val=y[50:])
    scale = StandardScaler().fit(rows[:50])
    same = clone(clf).fit(
        scale.transform(rows[:50]), y[:50], X_val=scale.transform(rows[50:]), y_val=y[50:]
    )
    assert_array_equal(pipe[-1].trace_.scores, same.trace_.scores)
    auc = get_scorer("roc_auc")(pipe, rows[50:], y[50:])
    found = pipe[-1].trace_.metrics["validation"]["roc_auc"]
    assert found[pipe[-1].n_iter_ - 1] == pytest.approx(auc)


def test_a_metric_that_fails_in_the_end_costs_no_fit():
    X, y = make_simulation(60, random_state=0)

    def moody(classifier, X, y):
        if np.ptp(classifier.decision_function(X)) > 0.0:
            raise ZeroDivisionError("not today")
        return 0.5

    classifier = FCGBoostClassifier("tree", max_iter=3, random_state=0, metrics={"moody": moody})
    with pytest.warns(UserWarning, match=r"metrics of the train rows are NaN: .*not today"):
        classifier.fit(X, y)
    assert np.isnan(classifier.trace_.metrics["train"]["moody"]).all()
    assert classifier.n_atoms_ > 0


def refusing(estimator: Any, X: Any, y: Any) -> float:
    raise ValueError("I count to three")


def test_what_the_users_own_metric_refuses_is_an_error_also_where_a_class_is_missing() -> None:
    decision = np.array([[0.5, 0.25, 0.0]] * 4)
    found = PrecomputedClassifier(SquaredHinge(), np.arange(3), decision)
    X, y = np.zeros((4, 1)), np.array([0, 1, 1, 0])
    with pytest.raises(ValueError, match="cannot score these rows: I count to three"):
        Metric(refusing)(found, X, y)
    assert np.isnan(Metric("roc_auc_ovr")(found, X, y))
