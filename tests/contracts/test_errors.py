"""Wrong input is refused before any work, in words that help, and leaves no half-fitted model."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import fcgboost.training.fit
from fcgboost import (
    AdmmSolver,
    Epsilon,
    FCGBoostClassifier,
    FullyCorrective,
    GaussDictionary,
    NewtonSolver,
    PolynomialDictionary,
    ReluDictionary,
    SampledCandidates,
    Shrinkage,
    SigmoidDictionary,
    Truncation,
)
from fcgboost.checks import check_matrix
from fcgboost.datasets import make_simulation

X, Y = make_simulation(60, noise="uniform", level=0.2, random_state=0)
# All tests share them: a frame made of them must not be a way to change them.
X.flags.writeable = Y.flags.writeable = False


@pytest.fixture
def no_path(monkeypatch):
    """Fail if the loop starts."""

    def started(*arguments):
        raise AssertionError("the loop started")

    monkeypatch.setattr(fcgboost.training.fit, "fit_path", started)


def attributes_of(model):
    return {name for name in vars(model) if name.endswith("_")}


def assert_refused(message, *data, error=ValueError, parameters=None, **named):
    """Check that a fit is refused and leaves an estimator that is not fitted."""
    new = FCGBoostClassifier(**{"dictionary": "gauss", **(parameters or {})})
    with pytest.raises(error, match=message):
        new.fit(*data, **named)
    assert not attributes_of(new)
    with pytest.raises(NotFittedError):
        new.predict(X)


BAD_PARAMETERS = [
    ({"dictionary": "gaus"}, r"dictionary must be one of \[.*'gauss', .*'polynomial', "),
    ({"dictionary": GaussDictionary}, "an instance of Dictionary"),
    ({"dictionary": NewtonSolver()}, "an instance of Dictionary"),
    ({"dictionary": None}, "an instance of Dictionary"),
    ({"loss": "log"}, r"loss must be one of \['cubed_hinge', 'hinge', 'modified_huber', 'square'"),
    ({"scheme": "fcg"}, "scheme must be one of .*'fully_corrective'"),
    ({"solver": "qp"}, r"solver must be one of .*'newton', 'auto'\]"),
    ({"solver": "qp", "scheme": "original"}, "solver must be one of"),
    ({"selection": "some"}, r"selection must be one of \['all', .*'sampled', 'auto'\]"),
    ({"loss": "hinge", "solver": "newton"}, r"NewtonSolver cannot minimise Hinge.*second deriva"),
    (
        {"loss": "hinge", "solver": NewtonSolver()},
        r"Solvers for this loss: \['interior_point', 'ad",
    ),
    ({"loss": "cubed_hinge", "solver": "gradient_descent"}, "cannot minimise CubedHinge"),
    ({"loss": "square", "solver": "interior_point"}, "cannot minimise Square"),
    ({"scheme": FullyCorrective(NewtonSolver()), "solver": "admm"}, "of the estimator, not both"),
    ({"dictionary": GaussDictionary(width=0.0)}, "GaussDictionary: width must be a positive"),
    ({"dictionary": GaussDictionary(width=-1.0)}, "width must be a positive number.*, got -1.0"),
    ({"dictionary": GaussDictionary(width="wide")}, "width must be a positive number"),
    ({"dictionary": GaussDictionary(centers="grid")}, r"centers must be one of \['data', 'box'\]"),
    ({"dictionary": PolynomialDictionary(degree=0)}, "degree"),
    ({"dictionary": PolynomialDictionary(degree=1.5)}, "degree"),
    ({"dictionary": PolynomialDictionary(q=-1.0)}, "q must be a positive number"),
    ({"dictionary": SigmoidDictionary(slope_range=(2.0, 1.0))}, "slope_range"),
    ({"dictionary": SigmoidDictionary(slope_range=-3.0)}, "slope_range"),
    ({"dictionary": ReluDictionary(weights="dense")}, r"weights must be one of \['sparse', 'box'"),
    ({"selection": SampledCandidates(size=0)}, "size must be a whole number"),
    ({"selection": SampledCandidates(size=1.5)}, "size must be a whole number"),
    ({"solver": AdmmSolver(max_iter=0)}, "AdmmSolver: max_iter must be a whole number"),
    ({"solver": NewtonSolver(tol="small")}, "NewtonSolver: tol must be a positive number"),
    ({"solver": AdmmSolver(gamma=0.0)}, "gamma"),
    ({"scheme": Shrinkage(nu=-0.1)}, "nu must be a positive number"),
    ({"scheme": Truncation(c=0.0)}, "c must be a positive number"),
    ({"scheme": Epsilon(epsilon="x")}, "epsilon must be a positive number"),
    ({"max_iter": 0}, "max_iter .*must be a whole number of at least 1, got 0"),
    ({"max_iter": 2.5}, "max_iter .*must be a whole number"),
    ({"max_iter": "all"}, r"max_iter \('auto', 'theory' or a number\) must be"),
    ({"max_iter": True}, "max_iter .*must be a whole number"),
    ({"max_iter": None}, "max_iter .*must be a whole number"),
    ({"l2": -1.0}, "l2 .*must be a number of at least 0, got -1.0"),
    ({"l2": "small"}, r"l2 \('auto', a number, or a list of these\) must be"),
    ({"l2": [0.1, -1.0]}, "l2 .*must be a number of at least 0, got -1.0"),
    ({"l2": [0.1, "small"]}, "l2 .*got 'small'"),
    ({"l2": []}, "l2 is an empty list"),
    ({"l2": [0.1, 1.0]}, r"l2=\[0.1, 1.0\] is a list to choose from: set cv"),
    ({"cv": 1}, "cv must be a whole number of at least 2, got 1"),
    ({"cv": 2.5}, "cv must be a whole number"),
    ({"cv": True}, "cv must be a whole number"),
    ({"cv": "five"}, "cv must be 'auto', a number of folds, .* got 'five'"),
    ({"cv": GaussDictionary()}, "cv must be 'auto', a number of folds"),
    ({"cv": 2, "warm_start": True}, "warm_start=True continues a single path.*set cv=None"),
    ({"ensemble": "yes"}, r"ensemble must be one of \['auto', True, False\]"),
    ({"ensemble": None}, "ensemble must be one of"),
    ({"l2": float("nan")}, "l2"),
    ({"tol": -1e-3}, "tol must be a number of at least 0"),
    ({"tol": None}, "tol must be a number"),
    ({"n_candidates": 0}, "n_candidates must be a whole number of at least 1"),
    ({"n_candidates": 10.0}, "n_candidates must be a whole number"),
    ({"device": 0}, "device must be 'cpu', 'torch', .*'cuda'.*got 0"),
    ({"device": None}, "device must be 'cpu', 'torch', .*'cuda'.*got None"),
    ({"fit_intercept": "no"}, r"fit_intercept must be one of \[True, False\], got 'no'"),
    ({"standardize": 2}, "standardize must be one of"),
    ({"normalize": None}, "normalize must be one of"),
    ({"reselect": "yes"}, "reselect must be one of"),
    ({"warm_start": 1.0}, "warm_start must be one of"),
    ({"verbose": "loud"}, "verbose must be a whole number of at least 0"),
    ({"verbose": -1}, "verbose must be a whole number of at least 0"),
    ({"n_jobs": "all"}, "n_jobs .*must be a whole number"),
    ({"n_jobs": 0}, "n_jobs"),
    ({"random_state": "seed"}, "cannot be used to seed"),
    ({"validation_fraction": 0.0}, "validation_fraction must be a number greater than 0"),
    ({"validation_fraction": 1.0}, "validation_fraction must be less than 1"),
    ({"validation_fraction": "a tenth"}, "validation_fraction must be a number"),
    ({"n_iter_no_change": 0}, "n_iter_no_change must be a whole number of at least 1"),
    ({"n_iter_no_change": 2.5}, "n_iter_no_change must be a whole number"),
    ({"scoring": "no such score"}, "'roc_auc'"),
    ({"scoring": 3}, "scoring"),
    ({"class_weight": {7: 1.0}}, r"classes that are not in y: \[7\]\. The classes are"),
    ({"class_weight": {1: 0.0}}, "class_weight of 1 must be a number greater than 0"),
    ({"class_weight": {1: -1.0}}, "class_weight of 1"),
    ({"class_weight": {1: "heavy"}}, "class_weight of 1"),
    ({"class_weight": "even"}, "class_weight must be 'balanced', a dict or None"),
    ({"class_weight": [1.0, 2.0]}, "class_weight must be 'balanced', a dict or None"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS)
def test_wrong_parameters_are_refused_before_any_work(parameters, message, no_path):
    assert_refused(message, X, Y, parameters=parameters)


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS[::6])
def test_a_refused_fit_leaves_an_earlier_one_as_it_was(parameters, message):
    model = FCGBoostClassifier("gauss", max_iter=4, random_state=0).fit(X, Y)
    before, decision = vars(model).copy(), model.decision_function(X)
    model.set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X[:40], Y[:40])
    model.set_params(
        **FCGBoostClassifier("gauss", max_iter=4, random_state=0).get_params(deep=False)
    )
    assert {name: id(value) for name, value in vars(model).items()} == {
        name: id(value) for name, value in before.items()
    }
    np.testing.assert_array_equal(model.decision_function(X), decision)


def with_bad_entry(value, column=1):
    bad = X.copy()
    bad[17, column] = value
    return bad


WRONG_DATA = {
    "no rows": ((X[:0], Y[:0]), "0 sample"),
    "one row": ((X[:1], Y[:1]), "1 sample"),
    "no columns": ((X[:, :0], Y), "0 feature"),
    "a vector": ((X[:, 0], Y), "Expected 2D array"),
    "complex": ((X + 1j, Y), "Complex data not supported"),
    "one class": ((X, np.ones(60)), r"only one class \(1.0\)"),
    "one class of words": ((X, np.full(60, "yes")), r"only one class \('yes'\)"),
    "one class by weight": ((X, Y, Y > 0), "only one class"),
    "no labels": ((X, None), "requires y to be passed"),
    "too few labels": ((X, Y[:-1]), "60 and 59 rows"),
    "continuous labels": ((X, X[:, 0]), "Unknown label type"),
    "labels with NaN": ((X, np.where(Y > 0, np.nan, Y)), "Input y contains NaN"),
    "two columns of labels": ((X, np.column_stack([Y, Y])), "1d array"),
    "negative weights": ((X, Y, -np.ones(60)), "sample_weight has negative values"),
    "one negative weight": ((X, Y, np.arange(60) - 1.0), "sample_weight has negative values"),
    "no weight at all": ((X, Y, np.zeros(60)), "sample_weight is zero for all rows"),
    "too few weights": ((X, Y, np.ones(59)), r"shape \(59,\), expected \(60,\)"),
    "a matrix of weights": ((X, Y, np.ones((60, 2))), "expected"),
    "NaN among the weights": ((X, Y, np.full(60, np.nan)), "sample_weight contains NaN"),
    "infinite weights": ((X, Y, np.full(60, np.inf)), "sample_weight contains infinity"),
}


@pytest.mark.parametrize(("data", "message"), WRONG_DATA.values(), ids=WRONG_DATA)
def test_wrong_data_are_refused_before_any_work(data, message, no_path):
    assert_refused(message, *data)


@pytest.mark.parametrize(("data", "message"), WRONG_DATA.values(), ids=WRONG_DATA)
def test_folds_refuse_the_same_data(data, message, no_path):
    assert_refused(message, *data, parameters={"cv": 2})


def test_wrong_data_leave_an_earlier_fit_as_it_was():
    frame = pd.DataFrame(X, columns=["width", "height"])
    model = FCGBoostClassifier("gauss", max_iter=4, random_state=0).fit(frame, Y)
    before = model.decision_function(frame)
    with pytest.raises(ValueError, match="one class"):
        model.fit(np.ones((10, 3)), np.ones(10))
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["width", "height"]
    np.testing.assert_array_equal(model.decision_function(frame), before)


def test_a_fit_that_breaks_half_way_leaves_nothing():
    def broken(step):
        raise RuntimeError("no more")

    model = FCGBoostClassifier("gauss").set_callbacks(broken)
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(X, Y)
    assert not attributes_of(model)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize(
    "convert", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
)
def test_what_is_not_finite_is_named_by_its_column(value, column, convert, no_path):
    if np.isnan(value) and not sparse.issparse(convert(X)):
        return  # a missing value
    what = "NaN" if np.isnan(value) else "infinity"
    bad = convert(with_bad_entry(value, column))
    assert_refused(rf"Input X contains {what} in column {column}:", bad, Y)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_what_is_not_finite_is_named_by_its_name(frame, no_path):
    bad = with_bad_entry(np.inf)
    assert_refused(
        r"infinity in column 1 \('height'\): clip|Column 'height', row \d+: inf is infinite",
        frame({"width": bad[:, 0], "height": bad[:, 1]}),
        Y,
    )


def test_a_prediction_names_what_is_not_finite_too():
    frame = pd.DataFrame(X, columns=["width", "height"])
    model = FCGBoostClassifier("gauss", max_iter=2).fit(frame, Y)
    bad = pd.DataFrame(with_bad_entry(np.inf), columns=["width", "height"])
    with pytest.raises(ValueError, match=r"infinity in column 1 \('height'\)"):
        model.predict(bad)


def test_huge_numbers_are_not_taken_for_infinity():
    model = FCGBoostClassifier("gauss", max_iter=1).fit(X, Y)
    huge = np.full((2, 2), 1e308)
    assert check_matrix(model, huge, reset=False) is huge


# Validation data


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"X_val": X}, "Pass X_val and y_val together"),
        ({"y_val": Y}, "Pass X_val and y_val together"),
        ({"sample_weight_val": np.ones(60)}, "sample_weight_val only with them"),
        ({"X_val": X, "y_val": Y + 1.0}, r"labels that are not in y: \[0.0, 2.0\]"),
        ({"X_val": X, "y_val": np.where(Y > 0, "a", "b")}, "labels that are not in y"),
        ({"X_val": X, "y_val": Y[:-1]}, "X_val and y_val have 60 and 59 rows"),
        (
            {"X_val": X[:, :1], "y_val": Y},
            "X_val has 1 columns without names, .* X has 2 col",
        ),
        ({"X_val": with_bad_entry(np.inf), "y_val": Y}, "X_val contains infinity in column 1"),
        ({"X_val": X[:0], "y_val": Y[:0]}, "0 sample"),
        (
            {"X_val": X, "y_val": Y, "sample_weight_val": np.zeros(60)},
            "sample_weight_val is zero for all rows",
        ),
        (
            {"X_val": X, "y_val": Y, "sample_weight_val": -np.ones(60)},
            "sample_weight_val has negative values",
        ),
        (
            {"X_val": X, "y_val": Y, "sample_weight_val": np.ones(3)},
            "sample_weight_val has shape",
        ),
    ],
)
def test_wrong_validation_data_are_refused(named, message, no_path):
    assert_refused(message, X, Y, **named)


def test_validation_data_and_a_fraction_exclude_each_other(no_path):
    assert_refused(
        "X_val or set validation_fraction, not both",
        X,
        Y,
        X_val=X,
        y_val=Y,
        parameters={"validation_fraction": 0.1},
    )


def test_validation_data_must_have_the_names_of_the_training_data(no_path):
    frame = pd.DataFrame(X, columns=["width", "height"])
    other = frame.rename(columns={"width": "length"})
    assert_refused(r"X_val has 2 columns named \['length", frame, Y, X_val=other, y_val=Y)


def test_a_fraction_that_leaves_no_row_is_refused(no_path):
    assert_refused(
        "leaves no row for validation",
        [[0.0], [0.0], [1.0], [1.0]],
        [0, 0, 1, 1],
        parameters={"validation_fraction": 0.5},
    )


# Devices


@pytest.mark.parametrize("device", ["torch", "cuda", "mps"])
def test_a_device_without_torch_is_refused_with_the_extra_to_install(device, no_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    message = (
        rf"device='{device}' needs torch: pip install 'fcgboost\[torch\]', or use device='cpu'"
    )
    assert_refused(message, X, Y, error=ImportError, parameters={"device": device})


# Using a model


def test_a_prediction_needs_the_columns_of_the_training_data():
    frame = pd.DataFrame(X, columns=["width", "height"])
    model = FCGBoostClassifier("gauss", max_iter=2).fit(frame, Y)
    plain = FCGBoostClassifier("gauss", max_iter=2).fit(X, Y)
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(ValueError, match="3 features, but FCGBoostClassifier is expecting 2"):
            getattr(plain, method)(np.ones((2, 3)))
        with pytest.raises(ValueError, match="feature names"):
            getattr(model, method)(frame[["height", "width"]])
    with pytest.raises(ValueError, match="3 features"):
        next(plain.staged_predict(np.ones((2, 3))))
    with pytest.warns(UserWarning, match="fitted with feature names"):
        model.predict(X)


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (-1, "k must be a whole number of at least 0, got -1"),
        (1.5, "k must be a whole number"),
        ("all", "k must be a whole number"),
        (5, "k=5 is more than the 4 steps"),
    ],
)
def test_a_path_has_only_the_steps_it_has(k, message):
    model = FCGBoostClassifier("gauss", max_iter=4).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.truncate(k)


@pytest.mark.parametrize("model", [FCGBoostClassifier("gauss"), FCGBoostClassifier()])
@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.predict(X),
        lambda model: model.predict_proba(X),
        lambda model: next(model.staged_predict(X)),
        lambda model: model.truncate(1),
        lambda model: model.atom_coef_,
        lambda model: model.atoms_,
        lambda model: model.n_atoms_,
        lambda model: model.intercept_,
        lambda model: model.feature_importances_,
    ],
)
def test_an_unfitted_model_says_so(model, use):
    with pytest.raises(NotFittedError, match="Call 'fit' "):
        use(model)
    assert not hasattr(model, "atom_coef_")
    assert not hasattr(model, "feature_importances_")


def test_an_unknown_parameter_of_a_part_is_named():
    with pytest.raises(ValueError, match=r"Invalid parameter 'height'.*'width'"):
        FCGBoostClassifier("gauss").set_params(dictionary__height=1.0)


def test_an_unknown_name_is_refused_when_its_parameters_are_set():
    with pytest.raises(ValueError, match="dictionary must be one of"):
        FCGBoostClassifier("gaus").set_params(dictionary__width=1.0)
