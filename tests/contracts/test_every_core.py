"""Threads make fits quicker and nothing else: bits, processes and callbacks do not see them."""

import ast
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.metrics import make_scorer

from fcgboost import FCGBoostClassifier, TreeDictionary, members, threads
from fcgboost.calibration import HeldOut, fit_link
from fcgboost.designs.devices import HostDevice
from fcgboost.designs.memory import MemoryDesign
from fcgboost.designs.moments import moments_of
from fcgboost.dictionaries import ReluDictionary, UnionDictionary
from fcgboost.dictionaries.bins import bin_rows
from fcgboost.losses import Square
from fcgboost.threads import allowed, shared
from fcgboost.training.fit import Fit
from fcgboost.training.settings import resolve


def problem(n: int, n_classes: int = 2, d: int = 8) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(
        n,
        d,
        n_informative=5,
        n_classes=n_classes,
        flip_y=0.1,
        random_state=0,
    )


def words_of(model: FCGBoostClassifier, X: Any) -> list[bytes]:
    """Return all bits that a fit and its predictions consist of."""
    arrays = [model.decision_function(X), model.feature_importances_, model.member_weights_]
    arrays += [member.model.atoms for member in model.members_]
    arrays += [member.model.coef for member in model.members_]
    arrays += list(model.staged_decision_function(X))[-2:]
    for name in ("oof_decision_function_", "label_quality_"):
        arrays.append(getattr(model, name, np.zeros(0)))
    return [np.asarray(getattr(array, "data", array)).tobytes() for array in arrays]


def rows_of(kind: str, n: int = 600) -> tuple[Any, Any, Any]:
    """Return rows, labels and weights."""
    X, y = problem(n, n_classes=3 if kind == "classes" else 2)
    weights = np.random.default_rng(0).random(n) if kind == "weights" else None
    if kind == "sparse":
        return sparse.csr_array(np.where(np.abs(X) < 1.0, 0.0, X)), y, weights
    if kind == "table":
        frame = pd.DataFrame(X).add_prefix("x")
        frame["city"] = np.random.default_rng(1).choice(["Rome", "Oslo", "Lima"], n)
        return frame, y, weights
    return X, y, weights


@pytest.mark.parametrize("kind", ["numbers", "classes", "weights", "sparse", "table"])
@pytest.mark.parametrize("dictionary", ["auto", "fast", "relu"])
def test_the_number_of_threads_changes_no_bit(
    dictionary: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, weights = rows_of(kind)
    # Predictions of few rows in several blocks, too.
    monkeypatch.setattr(members, "_ROWS_AT_ONCE", 100)
    options: dict[str, Any] = {"max_iter": 12, "random_state": 0}
    if dictionary == "relu":
        options |= {"cv": 3, "selection": "all"}
        monkeypatch.setattr(HostDevice, "block_entries", 1000)
    expected, *others = (
        words_of(FCGBoostClassifier(dictionary, n_jobs=n, **options).fit(X, y, weights), X)
        for n in (1, 2, 3, 7)
    )
    assert all(found == expected for found in others)


@pytest.mark.parametrize(
    "case",
    [
        "fast",
        "relu",
        pytest.param("classes", marks=pytest.mark.slow),
        pytest.param("weights", marks=pytest.mark.slow),
        pytest.param("table", marks=pytest.mark.slow),
        pytest.param("auto", marks=pytest.mark.slow),
        pytest.param("sparse", marks=pytest.mark.slow),
    ],
)
def test_the_number_of_threads_changes_no_bit_of_many_rows(case: str) -> None:
    """Below 2^14 rows most sums have one part, and trees one thread."""
    X, y, weights = rows_of(case, 40_000)
    presets = {"auto": "auto", "relu": "relu"}
    options: dict[str, Any] = {"max_iter": 6, "random_state": 0}
    if case in presets:
        options["cv"] = 2
    expected, *others = (
        words_of(
            FCGBoostClassifier(presets.get(case, "fast"), n_jobs=n, **options).fit(X, y, weights),
            X,
        )
        for n in (1, 2, 3, 7, None)
    )
    assert all(found == expected for found in others)


@pytest.mark.parametrize("dictionary", ["relu", "gauss", "tree", "fast"])
def test_classes_share_the_threads_of_a_path(
    dictionary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_classes = 5
    X, y = problem(6_000, n_classes)
    numbers = []
    each = MemoryDesign.each

    def recorded(design: MemoryDesign, work: Any, pieces: Any) -> list[Any]:
        numbers.append(len(pieces))
        return each(design, work, pieces)

    monkeypatch.setattr(MemoryDesign, "each", recorded)
    options: dict[str, Any] = {"max_iter": 6, "random_state": 0, "validation_fraction": 0.25}
    if dictionary != "fast":
        options["selection"] = "learned"
    expected, *others = (
        words_of(FCGBoostClassifier(dictionary, n_jobs=n, **options).fit(X, y), X)
        for n in (1, 2, 3, 7)
    )
    assert all(found == expected for found in others)
    # A proposal and a correction in each step of each fit.
    assert numbers.count(n_classes) >= 4 * 2 * 6


@pytest.mark.parametrize("weighting", ["ones", "integers", "any"])
@pytest.mark.parametrize(
    "trees",
    [
        TreeDictionary(30, max_leaf_nodes=255, corrects_leaves=True),
        TreeDictionary(30, max_leaf_nodes=4, corrects_leaves=True),
        TreeDictionary(6),
        TreeDictionary(5, categorical_features=[0, 1]),
    ],
    ids=str,
)
def test_trees_grow_alike_on_any_number_of_threads(trees: TreeDictionary, weighting: str) -> None:
    rng = np.random.default_rng(0)
    n = 50_000
    X = rng.standard_normal((n, 5))
    X[:, :2] = rng.integers(0, 60, (n, 2))
    residual = np.sign(np.sin(3.0 * X[:, 2]) + 0.1 * X[:, 0] - 3.0) * rng.random(n)
    residual[rng.random(n) < 0.3] = 0.0
    weights = {
        "ones": np.ones(n),
        "integers": rng.integers(0, 4, n).astype(float),
        "any": rng.random(n),
    }[weighting]
    grower = HostDevice().grower(trees, X, weights)
    expected = grower.grow(residual, weights, 0)
    # Rows without weight are in no leaf.
    is_counted = weights > 0.0
    leaves = None if grower.leaves is None else grower.leaves[is_counted]
    for n_threads in (2, 3, 16):
        with shared.ours(n_threads):
            found = grower.grow(residual, weights, 0)
        np.testing.assert_array_equal(found, expected)
        if leaves is not None:
            np.testing.assert_array_equal(grower.leaves[is_counted], leaves)


def test_passes_over_all_rows_are_shared_and_change_no_bit() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((70_000, 8)) + 1e3
    weights = rng.random(len(X))
    decision = rng.standard_normal((len(X), 3))
    judged = HeldOut(decision, (decision + 0.1).argmax(1), weights)
    runs: list[list[Any]] = [[], [], [], []]
    for n_threads, bits in zip((1, 2, 3, 7), runs, strict=True):
        with shared.ours(n_threads):
            moments = moments_of(X, weights)
            bits += [moments.low, moments.high, moments.mean, moments.variance]
            bits += [bin_rows(X, np.zeros(8, bool))[0].edges, fit_link([judged])]
    expected = runs[0]
    for found in runs[1:]:
        assert found[-1] == expected[-1]
        for other, array in zip(found[:-1], expected[:-1], strict=True):
            np.testing.assert_array_equal(other, array)
    np.testing.assert_array_equal(expected[:2], [X.min(0), X.max(0)])
    np.testing.assert_allclose(expected[2], np.average(X, 0, weights), rtol=1e-13)


def test_members_rows_and_explanations_are_shared_among_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = problem(400)
    shares = []
    each = threads.each

    def recorded(work: Any, pieces: Any, n_threads: int | None = None, *options: Any) -> Any:
        # Without a number they are those of the fit.
        if n_threads is not None:
            shares.append((len(pieces), n_threads))
        return each(work, pieces, n_threads, *options)

    monkeypatch.setattr(threads, "each", recorded)
    monkeypatch.setattr(members, "_ROWS_AT_ONCE", 50)
    model = FCGBoostClassifier(cv=4, n_jobs=3, max_iter=5, random_state=0).fit(X, y)
    # Two kinds in four folds; rows that they judge are few.
    assert shares[0] == (8, 3)
    for use in (model.predict, lambda rows: next(model.staged_predict(rows))):
        shares.clear()
        use(X)
        assert shares == [(8, 3)]
    model.explain(X[:6])
    assert shares[-1] == (6, 3)


def test_scores_of_steps_are_shared_among_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = problem(400)
    workers = set()
    evaluate = ReluDictionary.evaluate

    def recorded(family: Any, rows: Any, atoms: Any, scale: Any) -> Any:
        if len(rows) == 10:
            workers.add(threading.get_ident())
            time.sleep(0.001)
        return evaluate(family, rows, atoms, scale)

    monkeypatch.setattr(ReluDictionary, "evaluate", recorded)
    monkeypatch.setattr(HostDevice, "block_entries", 80)
    options: dict[str, Any] = {"validation_fraction": 0.25, "max_iter": 3, "random_state": 0}
    # The rows of the fit are in one block.
    monkeypatch.setattr(
        MemoryDesign,
        "evaluate",
        lambda design, atoms: evaluate(design.dictionary, design.X, atoms, design.units),
    )
    models = [FCGBoostClassifier("relu", n_jobs=n, **options).fit(X, y) for n in (1, 3)]
    assert len(workers) > 1
    assert words_of(models[0], X) == words_of(models[1], X)


def test_rules_meet_one_member_at_a_time() -> None:
    X, y = problem(300)
    seen = []

    def rule(step: Any) -> None:
        seen.append((threading.get_ident(), step.progress.path, step.k))

    FCGBoostClassifier(cv=3, n_jobs=4, max_iter=4, random_state=0).set_callbacks(rule).fit(X, y)
    assert {thread for thread, *_ in seen} == {threading.get_ident()}
    assert [place for _, *place in seen] == sorted(place for _, *place in seen)


def test_scores_and_parts_of_users_meet_one_member_at_a_time() -> None:
    X, y = problem(300)
    idents = set()

    class Loss(Square):
        def value(self, y: Any, f: Any) -> Any:
            idents.add(threading.get_ident())
            return super().value(y, f)

    def score(y_true: Any, y_pred: Any) -> float:
        idents.add(threading.get_ident())
        return float(np.mean(y_true == y_pred))

    options: dict[str, Any] = {"cv": 3, "n_jobs": 4, "max_iter": 4, "random_state": 0}
    cases = (
        {"dictionary": "relu", "loss": Loss()},
        {"scoring": make_scorer(score)},
        {"metrics": {"hits": make_scorer(score)}},
    )
    for case in cases:
        FCGBoostClassifier(**options, **case).fit(X, y)
        assert idents == {threading.get_ident()}
        idents.clear()
    # Classes are corrected one after the other, too.
    X, y = problem(6_000, 3)
    FCGBoostClassifier("relu", loss=Loss(), n_jobs=4, max_iter=3, random_state=0).fit(X, y)
    assert idents == {threading.get_ident()}
    assert not resolve(FCGBoostClassifier(**options), False).runs_users_code
    family = type("Relu", (ReluDictionary,), {"__module__": "elsewhere"})()
    assert resolve(FCGBoostClassifier(UnionDictionary([family])), False).runs_users_code


def test_members_see_the_settings_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = problem(300)
    budgets = set()
    make = Fit.of

    def recorded(settings: Any, layout: Any, *given: Any) -> Fit:
        budgets.add(layout.design.memory_budget)
        time.sleep(0.01)
        return make(settings, layout, *given)

    monkeypatch.setattr(Fit, "of", recorded)
    with sklearn.config_context(working_memory=3):
        FCGBoostClassifier(cv=4, n_jobs=3, max_iter=2, random_state=0).fit(X, y)
    assert budgets == {3 * 2**20}


def test_a_member_that_fails_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = problem(300)
    has_begun = threading.Event()
    completed = []
    check = threads.check
    run = Fit.run

    def recorded_check() -> None:
        has_begun.set()
        check()
        time.sleep(0.002)

    def recorded_run(fit: Fit, schedule: Any, *given: Any) -> Any:
        if fit.fold == 1:
            has_begun.wait(60.0)
            raise RuntimeError("the first member")
        trial = run(fit, schedule, *given)
        completed.append(trial)
        return trial

    monkeypatch.setattr(threads, "check", recorded_check)
    monkeypatch.setattr(Fit, "run", recorded_run)
    classifier = FCGBoostClassifier("relu", cv=2, n_jobs=2, max_iter=250, random_state=0)
    with pytest.raises(RuntimeError, match="the first member"):
        classifier.fit(X, y)
    assert not completed


def n_threads_of_process() -> int:
    return len(os.listdir("/proc/self/task"))


def are_gone(before: int) -> bool:
    """Whether the threads end; a thread of Python tells its end a moment before it ends."""
    deadline = time.monotonic() + 20.0
    while n_threads_of_process() > before and time.monotonic() < deadline:
        time.sleep(0.001)
    return n_threads_of_process() <= before


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs the folder /proc")
def test_no_thread_is_left_after_a_fit_or_an_error() -> None:
    X, y = problem(300)
    FCGBoostClassifier(n_jobs=1, max_iter=3).fit(X, y)
    before = n_threads_of_process()
    listed = threading.enumerate()
    for n_jobs in (2, 5):
        FCGBoostClassifier(n_jobs=n_jobs, max_iter=3).fit(X, y)
        assert are_gone(before)
        # Python lists a thread that has asked for its name, even when it has ended.
        assert threading.enumerate() == listed

    with shared.ours(4):
        assert n_threads_of_process() == before + 3

    def fail(y_true: Any, y_pred: Any) -> float:
        raise RuntimeError("I always fail")

    model = FCGBoostClassifier(n_jobs=4, scoring=make_scorer(fail))
    with pytest.raises(RuntimeError, match="I always fail"):
        model.fit(X, y)
    assert are_gone(before)


#: Benchmarks that state CPU time of one thread.
ONE_THREAD = ("curves", "explaining", "growth", "steps", "study_leaves", "study_removal")


def test_what_is_measured_on_one_thread_asks_for_one() -> None:
    root = Path(__file__).parents[2]
    files = [root / "benchmarks" / f"{name}.py" for name in ONE_THREAD]
    files += (path for path in (root / "paper").rglob("*.py") if "tests" not in path.parts)
    n_calls = 0
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "FCGBoostClassifier":
                values = {word.arg: ast.unparse(word.value) for word in node.keywords}
                assert values.get("n_jobs") == "1", f"{file}, line {node.lineno}"
                n_calls += 1
    assert n_calls > 20


def test_all_cores_are_those_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("joblib.cpu_count", lambda: 12)
    assert allowed(None) == 12
    for value, n in (("3", 3), ("4,2", 4), ("100", 12), ("0", 12), ("many", 12)):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert allowed(None) == n
    assert allowed(5) == 5
