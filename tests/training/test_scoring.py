"""A decision value of exactly zero stands for the first class, whoever is asked."""

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import make_scorer

from fcgboost import FCGBoostClassifier, SquaredHinge, threads
from fcgboost.calibration import PowerLink, labels_of, probabilities_of
from fcgboost.threads import shared
from fcgboost.training.scoring import Metric, _quiet
from fcgboost.training.tasks import Classification, PrecomputedClassifier
from tests.suites.strategies import simulation


def sums_of(n_classes: int, *args: Any, **kwargs: Any) -> Callable[[Any], float]:
    return Classification(SquaredHinge(), None, np.arange(n_classes)).sums(*args, **kwargs)


def undecided(n_classes: int) -> tuple[FCGBoostClassifier, np.ndarray]:
    """Give a model whose decision values are all zero."""
    data = simulation(40, 0.2, seed=0)
    y = data.y if n_classes == 2 else np.digitize(data.X[:, 1], [0.3, 0.7])
    clf = FCGBoostClassifier("relu", max_iter=2, random_state=0).fit(data.X, y)
    (member,) = clf.members_
    model = replace(member.model, coef=0.0 * clf.atom_coef_, intercept=0.0 * clf.intercept_)
    clf.members_ = (replace(member, model=model),)
    return clf, data.X


@pytest.mark.parametrize("n_classes", [2, 3])
def test_who_is_undecided_predicts_the_first_class(n_classes: int) -> None:
    clf, X = undecided(n_classes)
    assert not clf.decision_function(X).any()
    assert set(clf.predict(X)) == {clf.classes_[0]}
    np.testing.assert_allclose(clf.predict_proba(X), 1.0 / n_classes)


def test_the_first_of_equal_classes_wins() -> None:
    decision = np.array([[0.5, 0.5, 0.0], [-1.0, 2.0, 2.0], [0.0, 0.0, 0.0]])
    assert labels_of(decision, np.array(["a", "b", "c"])).tolist() == ["a", "b", "a"]
    two = np.array([-1e-300, 0.0, -0.0, 1e-300])
    assert labels_of(two, np.array(["no", "yes"])).tolist() == ["no", "no", "no", "yes"]


@pytest.mark.parametrize("link", [None, PowerLink(2.0, 0.5)])
def test_no_class_is_more_probable_at_zero(link: PowerLink | None) -> None:
    for decision in (np.zeros(3), np.zeros((3, 4))):
        found = probabilities_of(SquaredHinge(), link, decision)
        np.testing.assert_array_equal(found, 0.5 if decision.ndim == 1 else 0.25)


def test_steps_are_scored_by_the_classes_that_are_predicted() -> None:
    codes, counts = np.array([0, 1, 1]), np.array([1.0, 2.0, 4.0])
    sums = sums_of(2, codes, counts, is_smoothed=False)
    assert sums(np.array([[0.0], [0.0], [1e-300]])) == 5.0
    sums = sums_of(3, codes, counts, is_smoothed=False)
    assert sums(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])) == 3.0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_rows_are_scored_in_blocks_by_any_number_of_threads(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_classes, 150_000)
    decision = rng.standard_normal((150_000, 1 if n_classes == 2 else n_classes))
    counts = rng.random(150_000)
    halves = np.split(np.arange(150_000), 2)
    sums = sums_of(n_classes, codes, counts, is_smoothed=True)
    one = sums(decision)
    with shared.ours(3):
        assert sums(decision) == one
    parts = [sums_of(n_classes, codes[i], counts[i], is_smoothed=True)(decision[i]) for i in halves]
    assert one == pytest.approx(sum(parts))


def test_a_loss_beside_hits_is_that_of_an_output_and_never_of_what_is_right() -> None:
    codes, counts = np.array([0, 1, 2]), np.array([2.0, 1.0, 1.0])
    sums = sums_of(3, codes, counts, is_smoothed=True)
    right = np.array([[3.0, -2.0, -1.0], [-1.0, 1.0, -5.0], [-1.0, -1.0, 2.0]])
    assert sums(right) == 4.0
    # Of every row one output costs 1, the others 4 and 0: 5 / 3 on average.
    wrong = np.array([[0.0, 1.0, -1.0], [1.0, 0.0, -1.0], [1.0, -1.0, 0.0]])
    assert sums(wrong) == pytest.approx(-0.5 * 4.0 * 5.0 / 3.0)


def test_scores_in_several_threads_leave_the_filters_of_warnings_as_they_were() -> None:
    are_scoring = [Event(), Event()]
    before = list(warnings.filters)

    def make_score(own: Event, other: Event, pause: float) -> Callable[..., float]:
        def score(y_true: Any, y_pred: Any) -> float:
            own.set()
            other.wait(0.2)  # a moment that filters could be mixed up in
            time.sleep(pause)
            return 1.0

        return score

    classifier = PrecomputedClassifier(SquaredHinge(), np.array([0, 1]), np.array([1.0, -1.0]))
    others = []
    for number, pause in enumerate((0.0, 0.1)):
        score = make_score(are_scoring[number], are_scoring[1 - number], pause)
        metric = Metric(make_scorer(score))
        others.append(Thread(target=metric, args=(classifier, [[0.0], [1.0]], [0, 1])))
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert warnings.filters == before


def test_a_score_may_fit_in_threads_that_score() -> None:
    before = list(warnings.filters)

    def score(piece: int) -> int:
        with _quiet.room():
            time.sleep(0.01)
            return piece

    def fit() -> None:
        with _quiet.room():
            found.extend(threads.each(score, range(6), 3))

    found: list[int] = []
    fitting = Thread(target=fit, daemon=True)
    fitting.start()
    fitting.join(30.0)
    assert found == list(range(6))
    assert warnings.filters == before
