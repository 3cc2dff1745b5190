"""A weight is a count: it equals a row given as often, in any order, everywhere."""

import numpy as np
import pytest
from scipy import sparse

from fcgboost import FCGBoostClassifier, load_model
from tests.suites.weights import counted

FEW = {"dictionary": "gauss", "max_iter": 10, "random_state": 0}

SETTINGS = {
    **{f"dictionary {name}": {"dictionary": name} for name in ("polynomial", "sigmoid", "relu")},
    **{f"dictionary {name}": {"dictionary": name} for name in ("linear", "step")},
    **{
        f"scheme {name}": {"scheme": name}
        for name in ("original", "shrinkage", "truncation", "epsilon", "rescaled")
    },
    **{f"loss {name}": {"loss": name} for name in ("hinge", "cubed_hinge", "square")},
    # Line searches put rows right at the hinge's kink.
    **{
        f"hinge, {scheme}, {name}": {"loss": "hinge", "scheme": scheme, "dictionary": name}
        for scheme in ("original", "truncation", "rescaled")
        for name in ("gauss", "relu", "polynomial")
    },
    "all steps": {"max_iter": "auto"},
    "theory": {"max_iter": "theory"},
    "validation fraction": {"validation_fraction": 0.3},
    "early stop": {"n_iter_no_change": 3, "validation_fraction": 0.3},
    "scoring": {"validation_fraction": 0.3, "scoring": "neg_log_loss"},
    "balanced": {"class_weight": "balanced"},
    "balanced validation": {"class_weight": "balanced", "validation_fraction": 0.3},
    "class weights": {"class_weight": {-1.0: 2.0, 1.0: 0.5}},
    "sampled": {"selection": "sampled"},
    "sampled relu": {"selection": "sampled", "dictionary": "relu"},
    "normalize": {"normalize": True},
    "no intercept": {"fit_intercept": False, "standardize": False},
    "no ridge": {"l2": 0.0},
    **{
        name: {"dictionary": name, "max_iter": "auto", "cv": cv}
        for name, cv in (("auto", 2), ("compact", 3), ("fast", "auto"))
    },
    "auto, held out": {"dictionary": "auto", "max_iter": "auto", "validation_fraction": 0.3},
    "auto, some steps": {"dictionary": "auto", "cv": 2},
    "folds": {"cv": 3, "l2": [0.1, 0.001]},
    "folds, one model": {"cv": 3, "l2": [0.1, 0.001], "ensemble": False},
    "tree": {"dictionary": "tree"},
    "learned": {"selection": "learned"},
}


def repeated(X, y, counts):
    """Give every row as often as it counts, in another order."""
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(len(y)), counts))
    return X[rows], y[rows]


def assert_same_model(one, other, X):
    assert one.n_iter_ == other.n_iter_
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


@pytest.mark.covering
@pytest.mark.parametrize("changes", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_a_weight_equals_a_repetition_in_any_order(changes, is_sparse):
    X, y, counts = counted()
    X_repeated, y_repeated = repeated(X, y, counts)
    if is_sparse:
        X, X_repeated = sparse.csr_array(X), sparse.csr_array(X_repeated)
    weighted = FCGBoostClassifier(**{**FEW, **changes}).fit(X, y, counts)
    plain = FCGBoostClassifier(**{**FEW, **changes}).fit(X_repeated, y_repeated)
    assert_same_model(weighted, plain, X)


@pytest.mark.parametrize(
    "changes",
    [{}, {"dictionary": "relu"}, {"validation_fraction": 0.3}, {"dictionary": "auto", "cv": 2}],
)
def test_a_weight_equals_a_repetition_for_several_classes(changes):
    X, y, counts = counted(n_classes=3)
    weighted = FCGBoostClassifier(**{**FEW, **changes}).fit(X, y, counts)
    plain = FCGBoostClassifier(**{**FEW, **changes}).fit(*repeated(X, y, counts))
    assert_same_model(weighted, plain, X)


def test_weights_of_validation_data_are_counts_too():
    X, y, counts = counted(120)
    train, held_out = slice(0, 60), slice(60, 120)
    X_repeated, y_repeated = repeated(X[held_out], y[held_out], counts[held_out])
    weighted, plain = FCGBoostClassifier(**FEW), FCGBoostClassifier(**FEW)
    weighted.fit(
        X[train],
        y[train],
        X_val=X[held_out],
        y_val=y[held_out],
        sample_weight_val=counts[held_out],
    )
    plain.fit(X[train], y[train], X_val=X_repeated, y_val=y_repeated)
    scores = [model.trace_.column("validation_score") for model in (weighted, plain)]
    np.testing.assert_array_equal(*scores)
    assert_same_model(weighted, plain, X)


@pytest.mark.covering
@pytest.mark.parametrize("changes", [{"max_iter": 4}, {"scoring": "roc_auc"}])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_weight_equals_a_repetition_in_folds(changes, n_classes):
    X, y, counts = counted(n_classes=n_classes)
    if n_classes == 3 and "scoring" in changes:
        changes = {"scoring": "balanced_accuracy"}
    settings = {**FEW, "max_iter": "auto", "l2": ["auto", 0.1, 0.001], "cv": 3, **changes}
    weighted = FCGBoostClassifier(**settings).fit(X, y, counts)
    plain = FCGBoostClassifier(**settings).fit(*repeated(X, y, counts))
    scores = [model.cv_results_["mean_test_score"] for model in (weighted, plain)]
    np.testing.assert_array_equal(*scores)
    assert weighted.oof_score_ == plain.oof_score_
    assert_same_model(weighted, plain, X)


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dictionary", ["auto", "gauss"])
def test_no_order_of_rows_changes_a_prediction(is_sparse, n_classes, dictionary):
    X, y, counts = counted(200, n_classes)
    rng = np.random.default_rng(3)
    weights = np.where(counts > 0, rng.uniform(0.1, 2.0, 200), 0.0)
    # Some rows twice, one of them with other labels and weights.
    X[150:] = X[:50]
    X = sparse.csr_array(X) if is_sparse else X
    train, held_out, order = np.arange(120), np.arange(120, 200), rng.permutation(120)
    models = [
        FCGBoostClassifier(dictionary, random_state=0).fit(
            X[rows], y[rows], weights[rows], X_val=X[others], y_val=y[others]
        )
        for rows, others in ((train, held_out), (train[order], rng.permutation(held_out)))
    ]
    assert_same_model(*models, X)


def test_a_row_of_weight_zero_is_not_there():
    X, y, counts = counted()
    there = FCGBoostClassifier(**FEW).fit(X, y, counts)
    gone = FCGBoostClassifier(**FEW).fit(X[counts > 0], y[counts > 0], counts[counts > 0])
    np.testing.assert_array_equal(there.decision_function(X), gone.decision_function(X))


def test_a_class_whose_rows_all_weigh_nothing_is_not_there():
    X, y, _ = counted(n_classes=3)
    model = FCGBoostClassifier(**FEW).fit(X, y, y != 1)
    assert model.classes_.tolist() == [0, 2]
    assert set(model.predict(X)) <= {0, 2}


def test_one_number_weighs_every_row():
    X, y, _ = counted()
    one, all_rows = FCGBoostClassifier(**FEW), FCGBoostClassifier(**FEW)
    one.fit(X, y, 3.0)
    all_rows.fit(X, y, np.full(len(y), 3.0))
    np.testing.assert_array_equal(one.decision_function(X), all_rows.decision_function(X))


def test_weights_too_small_for_counts_are_told_of_once():
    X, y, _ = counted()
    shares = np.full(60, 1.0 / 60.0)
    shares[:10] = 0.0
    for model in (FCGBoostClassifier(**FEW), FCGBoostClassifier(**FEW, cv=2)):
        with pytest.warns(UserWarning, match=r"sum to 0\.833: .* 50 rows count as 0\.833") as told:
            model.fit(X, y, shares)
        (warning,) = told
        assert "sample_weight * len(X) / sample_weight.sum()" in str(warning.message)
        assert warning.filename == __file__
        # Warnings are errors here.
        model.fit(X, y, shares * len(X) / shares.sum())


def test_models_of_the_largest_weights_are_saved(tmp_path):
    X, y, _ = counted()
    for weight in (1e18, 1e75):
        model = FCGBoostClassifier(**FEW).fit(X, y, weight)
        model.save_model(tmp_path / "heavy.json")
        loaded = load_model(tmp_path / "heavy.json")
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_only_small_weights_of_training_rows_are_told_of():
    X, y, _ = counted()
    held_out = {"X_val": X, "y_val": y, "sample_weight_val": np.full(60, 0.01)}
    FCGBoostClassifier(**FEW).fit(X, y, np.full(60, 0.5), **held_out)
    with pytest.warns(UserWarning, match="60 rows count as 29"):
        FCGBoostClassifier(**FEW).fit(X, y, 0.483, **held_out)


def test_a_class_weight_equals_weights_of_its_rows():
    X, y, _ = counted()
    by_class = FCGBoostClassifier(class_weight={1.0: 3.0}, **FEW).fit(X, y)
    by_row = FCGBoostClassifier(**FEW).fit(X, y, np.where(y > 0, 3.0, 1.0))
    np.testing.assert_allclose(by_class.decision_function(X), by_row.decision_function(X))


def test_balanced_classes_weigh_the_same_in_total():
    X, y, counts = counted(n_classes=3)
    balanced = FCGBoostClassifier(class_weight="balanced", **FEW).fit(X, y, counts)
    totals = np.bincount(y, counts)
    weights = counts * (counts.sum() / (3.0 * totals))[y]
    by_row = FCGBoostClassifier(**FEW).fit(X, y, weights)
    np.testing.assert_allclose(balanced.decision_function(X), by_row.decision_function(X))


def test_class_weights_follow_labels_of_any_kind():
    X, y, _ = counted()
    names = np.where(y > 0, "up", "down")
    named = FCGBoostClassifier(class_weight={"up": 3.0, "down": 1.0}, **FEW).fit(X, names)
    plain = FCGBoostClassifier(class_weight={1.0: 3.0}, **FEW).fit(X, y)
    np.testing.assert_array_equal(named.decision_function(X), plain.decision_function(X))


@pytest.mark.parametrize("given", ["fraction", "data"])
def test_class_weights_act_on_the_training_loss_not_on_the_score(given):
    X, y, _ = counted(120)
    model = FCGBoostClassifier(class_weight={-1.0: 1.0, 1.0: 1e-6}, **FEW)
    if given == "data":
        model.fit(X[:60], y[:60], X_val=X[60:], y_val=y[60:])
        share = (y[60:] < 0).mean()
    else:
        model.set_params(validation_fraction=0.5).fit(X, y)
        share = (y < 0).mean()
    # The first class wins everywhere; the score is its share, not one.
    assert model.trace_[-1].validation_score == pytest.approx(share, abs=0.03)
