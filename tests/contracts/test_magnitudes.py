"""Every finite input has finite, sensible predictions, or one error that names what is wrong."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from fcgboost import FCGBoostClassifier, ReluDictionary, TreeDictionary
from fcgboost.arrays import REACH
from fcgboost.clipping import FAR, Limits, extreme_values, outlier_limits, within_reach
from tests.suites.workers import fit_on, make_workers

SIZES = [1e-320, 1e-300, 1e-200, 1e-170, 1e-155, 1e-100, 1.0]
SIZES += [1e100, 1e155, 1e160, 1e200, 1e300, 1.79e308]
FOREST = TreeDictionary(30, max_leaf_nodes=255, corrects_leaves=True)
FAMILIES = ["gauss", "polynomial", "sigmoid", "relu", "linear", "step", "tree", FOREST]
PLACES = ["all", "column", "entry", "two entries", "row", "offset", "constant"]


def make_rows(n: int = 60) -> tuple[Any, Any]:
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (n, 3))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] > 0.0).astype(int)


def planted(X: Any, place: str, size: float) -> Any:
    """Put numbers of some size into rows."""
    X = X.copy()
    if place == "all":
        X *= size
    elif place == "row":
        X[7] = size, -size, size
    elif place == "entry":
        X[7, 0] = size
    elif place == "two entries":
        X[7:9, 0] = size, -size
    else:
        X[:, 0] = {"column": X[:, 0] * size, "offset": X[:, 0] + size, "constant": size}[place]
    return X


def make(dictionary: Any, **parameters: Any) -> FCGBoostClassifier:
    if dictionary not in ("auto", "compact"):
        parameters = {"max_iter": 5, **parameters}
    return FCGBoostClassifier(dictionary, random_state=0, **parameters)


def check_predictions(clf: FCGBoostClassifier, X: Any) -> None:
    decision, probabilities = clf.decision_function(X), clf.predict_proba(X)
    assert np.isfinite(decision).all()
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def check_walk(dictionary: Any, place: str, sizes: list[float], **parameters: Any) -> None:
    """Fit to numbers of all sizes, and predict at rows of yet others."""
    X, y = make_rows()
    takes_any = dictionary == "tree" or dictionary is FOREST
    for size in sizes:
        rows, is_usual = planted(X, place, size), 1e-150 < size < 1e150
        clf = make(dictionary, **parameters)
        is_refused = place in ("all", "column") or (place in ("offset", "constant") and size > 1.0)
        if is_refused and not (is_usual or takes_any):
            with pytest.raises(ValueError, match=r"^Column 'x0' (has numbers beyond|spans less)"):
                clf.fit(rows, y)
            continue
        clf.fit(rows, y)
        for other in (rows, planted(X, "all", 1.79e308), planted(X, "row", 1.79e308), 1e-320 * X):
            check_predictions(clf, other)
        assert np.isfinite(clf.feature_importances_).all()
        # Of a column that says nothing the others are left.
        has_all = place in ("all", "column", "entry", "two entries", "row")
        assert clf.score(rows, y) > (0.7 if has_all else 0.55)


def check_predictions_of_all_sizes(dictionary: Any, **parameters: Any) -> None:
    X, y = make_rows()
    clf = make(dictionary, **parameters).fit(X, y)
    for place in ("all", "entry", "row"):
        for size in SIZES:
            check_predictions(clf, planted(X, place, size))
    for probabilities in clf.staged_predict_proba(planted(X, "row", 1.79e308)):
        assert np.isfinite(probabilities).all()
    if dictionary is not FOREST:
        check_predictions(clf, sparse.csr_array(planted(X, "row", 1.79e308)))


@pytest.mark.parametrize("dictionary", FAMILIES, ids=str)
def test_predictions_at_numbers_of_any_size_are_finite(dictionary: Any) -> None:
    check_predictions_of_all_sizes(dictionary)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dictionary", ["gauss", "polynomial", "relu", "tree"])
def test_fits_to_numbers_of_the_largest_and_smallest_sizes(dictionary: str, place: str) -> None:
    check_walk(dictionary, place, [1e-320, 1e-170, 1e155, 1.79e308])


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dictionary", [*FAMILIES, "auto", "compact"], ids=str)
def test_fits_to_numbers_of_all_sizes(dictionary: Any, place: str) -> None:
    check_walk(dictionary, place, SIZES)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["entry", "two entries", "row", "constant"])
@pytest.mark.parametrize("dictionary", FAMILIES, ids=str)
def test_fits_to_numbers_of_all_sizes_with_rows_set_aside(dictionary: Any, place: str) -> None:
    check_walk(dictionary, place, SIZES, validation_fraction=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("dictionary", ["auto", "compact"])
def test_presets_predict_at_numbers_of_any_size(dictionary: str) -> None:
    check_predictions_of_all_sizes(dictionary)


@pytest.mark.parametrize("parameters", [{"standardize": False}, {"clip": 3.0}])
def test_other_units_of_the_columns(parameters: dict[str, Any]) -> None:
    check_walk("relu", "entry", [1e-320, 1e200, 1.79e308], **parameters)
    check_predictions_of_all_sizes("gauss", **parameters)


def test_errors_name_columns_as_a_table_does() -> None:
    X, y = make_rows()
    table = pd.DataFrame(planted(X, "column", 1e200), columns=["dose", "age", "size"])
    with pytest.raises(ValueError, match=r"^Column 'dose' has numbers beyond 1e\+150"):
        make("auto").fit(table, y)
    with pytest.raises(ValueError, match=r"^Column 'x0' spans less than 1e-150"):
        make("relu").fit(sparse.csr_array(planted(X, "column", 1e-200)), y)
    with pytest.raises(ValueError, match=r"^Column 'x1' has numbers"):
        make("compact").fit(np.where([False, True, False], 1e200 * (3.0 + X), X), y)


# Wild entries


def fences(values: list[float]) -> tuple[float, float]:
    columns = np.array([True])
    parts = [
        extreme_values(np.array(part)[:, None], columns)[0] for part in (values[:3], values[3:])
    ]
    limits = outlier_limits(columns, parts)
    return float(limits.low[0]), float(limits.high[0])


@pytest.mark.parametrize(
    ("wild", "expected"),
    [
        ([], (-FAR, FAR)),
        ([40.0], (-FAR, FAR)),
        ([44.0], (-FAR, FAR)),
        ([44.5], (-4.0, 8.0)),
        ([999.0], (-4.0, 8.0)),
        ([999.0, -1e6], (-4.0, 8.0)),
        ([1.79e308, -1.79e308, 999.0, 1e6], (-4.0, 8.0)),
        ([1e3, 1e4, 1e5, 1e6, 1e7], (-FAR, FAR)),
        ([1e300 * i for i in range(6, 12)], (-FAR, FAR)),
    ],
)
def test_a_few_values_far_from_the_range_of_all_others_are_wild(wild, expected) -> None:
    assert fences([*wild, 0.0, 1.0, 4.0, 2.5, 3.0, 0.5, 1.5, 3.5]) == expected


def test_values_that_are_alike_have_no_wild_ones() -> None:
    for values in ([0.0, 1.0, 0.0], [5.0] * 4, [0.0, 1e-200, 1.0], [np.nan, 1.0, 2.0]):
        assert fences(values) == (-FAR, FAR)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_values_that_have_hardly_a_square_are_not_limited_by_their_range(sign: float) -> None:
    values = [sign * x for x in (0.5e150, 0.52e150, 0.55e150, 0.6e150)]
    assert fences([*values, -sign * 1e153]) == (-FAR, FAR)


def test_inputs_count_as_at_most_so_many_units_away_on_both_sides() -> None:
    for scale, most in (([1e-3, 1e3], [1e-3, 1e-3]), ([1e-100, 1e100], [1e-100, 1e100])):
        limits = within_reach(None, np.array(scale))
        np.testing.assert_array_equal(limits.high, REACH * np.array(most))
        np.testing.assert_array_equal(limits.low, -limits.high)
    given = Limits(np.array([-1.0, -1e200]), np.array([1e200, 5.0]))
    limits = within_reach(given, np.ones(2))
    assert (limits.low.tolist(), limits.high.tolist()) == ([-1.0, -REACH], [REACH, 5.0])
    far = within_reach(None, np.array([1e200, 1e-150]))
    assert np.isfinite(far.high).all()


@pytest.mark.parametrize("value", [999.0, 1e6, -1.79e308])
@pytest.mark.parametrize("dictionary", ["gauss", "relu", "polynomial"])
def test_one_wild_entry_costs_next_to_nothing(dictionary: str, value: float) -> None:
    scores = []
    for seed in range(4):
        X = np.random.default_rng(seed).standard_normal((1200, 4))
        y = (X[:, 0] * X[:, 1] + X[:, 2] > 0.0).astype(int)
        wild = X[:200].copy()
        wild[seed, 1 + seed % 2] = value
        for rows in (X[:200], wild):
            clf = FCGBoostClassifier(dictionary, random_state=0).fit(rows, y[:200])
            scores.append(clf.score(X[200:], y[200:]))
    assert np.mean(scores[1::2]) > np.mean(scores[::2]) - 0.01


def test_wild_entries_are_clipped_alike_wherever_rows_lie() -> None:
    X, y = make_rows()
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    X[3, 1] = 1e6
    clf = make("relu").fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    weights = np.arange(len(y)) % 3 + 1
    again = make("relu").fit(X[order], y[order])
    repeated = make("relu").fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    weighted = make("relu").fit(X, y, sample_weight=weights)
    thin = make("relu").fit(sparse.csr_array(X), y)
    assert clf.model_.limits.high[1] < 10.0
    np.testing.assert_array_equal(clf.model_.atoms, again.model_.atoms)
    np.testing.assert_array_equal(repeated.model_.atoms, weighted.model_.atoms)
    np.testing.assert_array_equal(clf.model_.limits.high, thin.model_.limits.high)
    np.testing.assert_allclose(clf.decision_function(X), thin.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("has_gaps", [False, True])
@pytest.mark.parametrize("clip", [None, 3.0])
def test_wild_entries_are_clipped_alike_on_workers(clip: float | None, has_gaps: bool) -> None:
    X, y = make_rows()
    X[3, 1], X[4, 2] = 1e200, -999.0
    X[::5, 2] = np.nan if has_gaps else X[::5, 2]
    parameters = {"dictionary": "relu", "clip": clip, "max_iter": 8, "random_state": 0}
    here = FCGBoostClassifier(**parameters).fit(X, y)
    there = fit_on(make_workers(X, y, np.ones(len(y)), [4, 30]), **parameters)
    for side in ("low", "high"):
        limits = [getattr(clf.model_.limits, side) for clf in (here, there)]
        np.testing.assert_allclose(*limits, rtol=1e-12)
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-8)
    far = make_workers(planted(X, "column", 1e200), y, np.ones(len(y)), [4, 30])
    with pytest.raises(ValueError, match=r"^Column 'x0' has numbers"):
        fit_on(far, **parameters)


@pytest.mark.extras
@pytest.mark.parametrize("dictionary", ["gauss", "relu", "polynomial", "tree"])
def test_wild_entries_are_clipped_alike_on_a_device(dictionary: str) -> None:
    torch = pytest.importorskip("torch")
    X, y = make_rows()
    X[3, 1] = 1e200
    here, there = (make(dictionary, device=device).fit(X, y) for device in ("cpu", "torch"))
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-8)
    for size in SIZES:
        decision = there.decision_function(torch.tensor(planted(X, "row", size)))
        assert bool(decision.isfinite().all())


def test_columns_without_wild_entries_have_no_limits() -> None:
    X, y = make_rows()
    X[:, 0] = np.exp(3.0 * X[:, 0])
    assert make("relu").fit(X, y).model_.limits is None


def test_a_large_constant_does_not_hide_other_columns() -> None:
    X, y = make_rows(200)
    far = np.column_stack([X, np.full(len(y), 1e30)])
    assert make("relu", max_iter=20).fit(far, y).score(far, y) > 0.85


# Weights and parameters


@pytest.mark.parametrize("weight", [5e-324, 1e-300, 1e80, 1.79e308])
@pytest.mark.parametrize("dictionary", ["gauss", "tree", "auto"])
def test_weights_that_no_sum_holds_are_refused(dictionary: str, weight: float) -> None:
    X, y = make_rows()
    weights = np.ones(len(y))
    weights[5] = weight
    with pytest.raises(ValueError, match=r"^sample_weight has a weight of"):
        make(dictionary).fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match=r"^class_weight has a weight of"):
        make(dictionary, class_weight={1: weight}).fit(X, y)


def test_weights_of_any_other_size_give_a_model() -> None:
    X, y = make_rows()
    for weight in (1e-70, 1e70):
        weights = np.where(np.arange(len(y)) % 2 == 0, weight, 1.0)
        for dictionary in ("relu", "tree", "compact"):
            check_predictions(make(dictionary).fit(X, y, sample_weight=weights), X)


@pytest.mark.parametrize("name", ["max_iter", "n_candidates", "n_iter_no_change"])
def test_counts_beyond_all_bounds_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}.* of at most 2,147,483,647, got 10+"):
        FCGBoostClassifier("relu", **{name: 10**30}).fit(*make_rows())


def test_a_path_may_be_as_long_as_it_likes() -> None:
    clf = FCGBoostClassifier(ReluDictionary(), max_iter=10**9, random_state=0).fit(*make_rows())
    assert 0 < clf.n_iter_ < 10**4


def test_the_module_of_random_numbers_is_a_source_of_them() -> None:
    np.random.seed(0)  # noqa: NPY002 - it is what is tested
    clf = FCGBoostClassifier("relu", max_iter=3, random_state=np.random).fit(*make_rows())
    same = FCGBoostClassifier("relu", max_iter=3, random_state=np.random.RandomState(0))
    np.testing.assert_array_equal(clf.atoms_, same.fit(*make_rows()).atoms_)


@pytest.mark.parametrize("dictionary", ["auto", "relu", "tree"])
def test_infinity_beside_missing_values_is_to_be_clipped(dictionary: str) -> None:
    X, y = make_rows()
    X[3, 1], X[5, 2] = np.nan, np.inf
    with pytest.raises(ValueError, match="infinity in column 2: clip such values or drop the row"):
        make(dictionary).fit(X, y)
