"""The methods of the real-data table: FPC against references, grids, and honest tuning."""

from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fcgboost import FCGBoostClassifier
from paper.methods import METHODS, Boost, Method
from paper.protocol import Data, arrange, deal_random
from paper.rivals.base import Grid
from paper.rivals.fpc import FPC, _minimise_hinge, count_centers

each_method = pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))


def made_up(n_rows: int = 120, n_features: int = 3, seed: int = 0) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features)) * [1.0, 5.0, 0.2][:n_features]
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(n_rows) > 0.0, 1.0, -1.0)
    return arrange(X, y, deal_random(n_rows, seed))


# FPC ---------------------------------------------------------------------------------------------


def naive_hinge_admm(A: np.ndarray, y: np.ndarray, n_iter: int) -> np.ndarray:
    """The formulas of SPEC's section 4 with alpha = gamma = 1, solved afresh in every iteration."""
    m, n = A.shape
    u, v, w = np.zeros(n), y.astype(float), np.zeros(m)
    for _ in range(n_iter):
        u = np.linalg.solve(A.T @ A + np.eye(n), A.T @ (v + w) + u)
        z = y * (A @ u - w)
        r = np.array([t if t >= 1 else t + 1 / m if t < 1 - 1 / m else 1.0 for t in z])
        v = y * r
        w = w + v - A @ u
    return u


def test_fpc_iterates_as_the_naive_admm() -> None:
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((40, 5)), np.where(rng.random(40) < 0.5, 1.0, -1.0)
    assert_allclose(_minimise_hinge(A, y, 30), naive_hinge_admm(A, y, 30), rtol=1e-9, atol=1e-12)


def test_fpc_converges_to_the_least_hinge_loss() -> None:
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(1)
    A = rng.standard_normal((30, 3))
    y = np.where(A[:, 0] + rng.standard_normal(30) > 0.0, 1.0, -1.0)
    u = cvxpy.Variable(3)
    hinge = cvxpy.sum(cvxpy.pos(1.0 - cvxpy.multiply(y, A @ u))) / 30
    best = cvxpy.Problem(cvxpy.Minimize(hinge)).solve()
    reached = np.maximum(0.0, 1.0 - y * (A @ _minimise_hinge(A, y, 20_000))).mean()
    assert reached == pytest.approx(best, rel=1e-4)


def test_fpc_evaluates_the_kernel_of_its_formula() -> None:
    data = made_up()
    fpc = FPC(degree=3, random_state=0).fit(data.X, data.y)
    d = data.X.shape[1]
    scaled = (data.X_test - data.X.mean(axis=0)) / data.X.std(axis=0) / np.sqrt(d)
    atoms = list(zip(fpc.coef_, fpc.centers_, strict=True))
    f = [sum(coef * (1 + x @ center) ** 3 for coef, center in atoms) for x in scaled]
    assert_allclose(fpc.decision_function(data.X_test), f, rtol=1e-9)
    assert_array_equal(fpc.predict(data.X_test), np.where(np.array(f) > 0, 1.0, -1.0))


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_fpc_has_as_many_centers_as_polynomials_have_dimensions(degree: int) -> None:
    data = made_up(400)
    fpc = FPC(degree, random_state=0).fit(data.X, data.y)
    assert len(fpc.centers_) == comb(degree + 3, 3)
    assert len(np.unique(fpc.centers_, axis=0)) == len(fpc.centers_)


def test_the_number_of_centers_is_capped_by_rows_and_by_the_bound() -> None:
    assert count_centers(10, 166, 3299) == 3299
    assert count_centers(10, 166, 3299, 2000) == 2000
    assert count_centers(1, 3, 100, 2000) == 4


def test_fpc_stays_finite_at_high_degrees_with_outliers() -> None:
    data = made_up(200)
    X = data.X.copy()
    X[0] = 300.0
    fpc = FPC(degree=10, random_state=0).fit(X, data.y)
    assert np.all(np.isfinite(fpc.decision_function(X)))


# Grids -------------------------------------------------------------------------------------------


def test_the_methods_are_the_columns_of_the_paper() -> None:
    assert list(METHODS) == [
        *("fcg_gauss", "fcg_polynomial", "fcg_sigmoid", "fcg_relu", "svm_rbf", "svm_poly"),
        *("fpc", "random_forest", "adaboost", "baseline"),
    ]


def test_the_rbf_grid_is_the_papers() -> None:
    powers = [2.0**e for e in range(-5, 6)]
    pairs = {(p["C"], p["gamma"]) for p in METHODS["svm_rbf"].choices("paper", 2)}
    assert pairs == {(c, g) for c in powers for g in powers}
    thinned = METHODS["svm_rbf"].choices("thinned", 2)
    assert sorted({p["C"] for p in thinned}) == [2.0**e for e in (-5, -3, -1, 1, 3, 5)]
    assert len(thinned) == 36


def test_the_poly_grid_has_every_classifier_of_the_papers_once() -> None:
    kept = METHODS["svm_poly"].choices("paper", 2)
    products = [(p["degree"], p["C"] * p["gamma"] ** p["degree"]) for p in kept]
    assert len(set(products)) == len(products)
    powers = [2.0**e for e in range(-5, 6)]
    assert set(products) == {(p, c * g**p) for p in range(1, 11) for c in powers for g in powers}
    assert {p["degree"] for p in METHODS["svm_poly"].choices("thinned", 2)} == {1, 2, 3, 5, 8}


def test_equal_products_give_the_same_polynomial_machine() -> None:
    data, method = made_up(), METHODS["svm_poly"]
    first, second = (
        method.fit({"degree": 2, "C": c, "gamma": g}, data, "paper", 0, False).predict(data.X_test)
        for c, g in ((4.0, 0.5), (0.25, 2.0))
    )
    assert_array_equal(first, second)


@pytest.mark.parametrize("grid", ["paper", "thinned"])
def test_the_other_grids_are_the_papers(grid: Grid) -> None:
    values = {
        name: [value for params in METHODS[name].choices(grid, 2) for value in params.values()]
        for name in METHODS
    }
    assert values["random_forest"] == [2, 4, 6, 8, 10, 12, 14, 16, 18, 20]
    assert values["fpc"] == values["fcg_polynomial"] == list(range(1, 11))
    assert sorted(values["fcg_gauss"]) == [0.1, 0.2, 0.35, 0.5, 1.0, 5.0]
    assert values["fcg_sigmoid"] == [1.0, 5.0, 10.0, 20.0]
    assert values["fcg_relu"] == values["adaboost"] == values["baseline"] == []


def test_widths_grow_with_the_dimension_and_begin_with_the_widest() -> None:
    widths = [params["width"] for params in METHODS["fcg_gauss"].choices("paper", 8)]
    assert widths == sorted(widths, reverse=True)
    assert_allclose(sorted(set(widths)), sorted([0.1, 0.2, 0.35, 0.5, 1, 5, 0.4, 0.7, 2, 10]))


def test_adaboost_has_a_hundred_stumps() -> None:
    data = made_up()
    ensemble = METHODS["adaboost"].fit({}, data, "paper", 0, False)
    assert len(ensemble.estimators_) == 100
    assert {tree.get_depth() for tree in ensemble.estimators_} == {1}


@pytest.mark.parametrize("name", [name for name in METHODS if name.startswith("fcg")])
def test_the_paper_grid_scores_all_candidates(name: str) -> None:
    data, method = made_up(), METHODS[name]
    assert isinstance(method, Boost)
    assert method.trial(data, "paper", 0) is None
    params = method.choices("paper", 3)[0]
    fitted = method.fit(params, data, "paper", 0, False)
    assert fitted.selection == "all"
    assert (fitted.standardize, fitted.fit_intercept, fitted.l2) == (True, True, "auto")


# Tuning ------------------------------------------------------------------------------------------


@each_method
def test_a_method_learns_made_up_data(method: Method) -> None:
    outcome = method.evaluate(made_up(400), "quick", 0)
    assert outcome.accuracy > 0.85
    assert outcome.validation_accuracy > 0.85
    assert outcome.size > 0


@each_method
def test_a_method_gives_the_same_outcome_again(method: Method) -> None:
    data = made_up()
    assert method.evaluate(data, "quick", 3) == method.evaluate(data, "quick", 3)


@each_method
def test_test_labels_change_nothing_but_the_accuracy(method: Method) -> None:
    data = made_up()
    flipped = data._replace(y_test=-data.y_test)
    outcome, other = (method.evaluate(some, "quick", 0) for some in (data, flipped))
    assert other._replace(accuracy=0.0) == outcome._replace(accuracy=0.0)
    assert other.accuracy == pytest.approx(1.0 - outcome.accuracy)


@each_method
def test_one_class_in_training_is_predicted_always_and_said(method: Method) -> None:
    data = made_up()
    data = data._replace(y=np.ones_like(data.y))
    outcome = method.evaluate(data, "quick", 0)
    assert outcome.accuracy == np.mean(data.y_test == 1.0)
    assert "one class" in outcome.deviation


def test_of_equal_choices_the_first_wins() -> None:
    data = made_up(200)
    easy = data._replace(X=data.y[:, None], X_val=data.y_val[:, None], X_test=data.y_test[:, None])
    assert METHODS["random_forest"].evaluate(easy, "paper", 0).parameters == "n_estimators=2"


def test_what_differs_from_the_paper_is_written_beside_the_outcome() -> None:
    large = made_up(9_000, 2)
    gauss = METHODS["fcg_gauss"]
    path = FCGBoostClassifier("gauss", max_iter=3).fit(large.X[:100], large.y[:100])
    assert gauss.deviations(path, large, "paper") == []
    assert gauss.deviations(path, large, "thinned") == ["tuned on 2,000 rows, sampled selection"]
    assert METHODS["fcg_relu"].deviations(path, large, "thinned") == []
    assert METHODS["svm_rbf"].deviations(None, large, "paper") == []
    assert METHODS["svm_rbf"].deviations(None, large, "thinned") == ["tuned on 1,000 rows"]


@each_method
def test_a_smaller_grid_is_said_and_an_unchanged_one_is_not(method: Method) -> None:
    outcome = method.evaluate(made_up(), "quick", 0)
    is_smaller = len(method.choices("quick", 3)) < len(method.choices("paper", 3))
    assert ("quick grid" in outcome.deviation) == is_smaller


def test_an_svm_that_meets_its_bound_says_so_and_does_not_warn() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2)) * 30.0
    y = np.where(rng.random(400) < 0.5, 1.0, -1.0)
    data = Data(X[:200], y[:200], X[200:300], y[200:300], X[300:], y[300:])
    method = METHODS["svm_poly"]
    fitted = method.fit({"degree": 3, "C": 32.0, "gamma": 32.0}, data, "quick", 0, False)
    assert method.cut(fitted) == "stopped at 20,000 iterations"


def test_an_svm_that_did_not_converge_wins_only_over_its_like() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2)) * 30.0
    y = np.where(rng.random(400) < 0.5, 1.0, -1.0)
    data = Data(X[:200], y[:200], X[200:300], y[200:300], X[300:], y[300:])
    method = METHODS["svm_poly"]
    never = {"degree": 3, "C": 32.0, "gamma": 32.0}
    always = {"degree": 1, "C": 2.0**-20, "gamma": 2.0**-20}
    winner, _, notes = method._tune([never, always], data, "quick", 0, True)
    assert winner == always
    assert notes == ["1 of 2 trials stopped at 20,000 iterations"]
    assert method._tune([never], data, "quick", 0, True)[0] == never


def test_a_polynomial_machine_is_fitted_to_fewer_rows_of_a_large_set() -> None:
    large = made_up(40_000, 2)
    method = METHODS["svm_poly"]
    notes = method.deviations(None, large, "thinned")
    assert notes == ["tuned on 1,000 rows", "fitted to 15,000 rows"]
    params = {"degree": 1, "C": 2.0**-5, "gamma": 2.0**-5}
    assert method.fit(params, large, "thinned", 0, False).shape_fit_ == (15_000, 2)
