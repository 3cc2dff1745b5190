"""One path holds every number of steps: staging, truncating, validating, continuing, repeating."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.metrics import balanced_accuracy_score, log_loss, make_scorer, roc_auc_score
from threadpoolctl import threadpool_limits

from fcgboost import (
    AllCandidates,
    FCGBoostClassifier,
    SampledCandidates,
    Status,
    theory_steps,
)
from fcgboost.designs import scoring
from fcgboost.designs.devices import HostDevice
from fcgboost.selection.fixed import default_selection
from fcgboost.training.fit import Fit
from tests.suites.fits import DICTIONARIES, make, noisy, three_classes
from tests.suites.marks import also

SCHEMES = ["fully_corrective", "original", "shrinkage", "truncation", "epsilon", "rescaled"]


# Staging and truncating


@pytest.mark.parametrize("data", [noisy, three_classes])
@pytest.mark.parametrize("scheme", ["fully_corrective", "shrinkage"])
def test_the_stages_are_the_truncated_models(data, scheme):
    X, y = data()
    model = make(scheme=scheme).fit(X, y)
    stages = zip(
        model.staged_decision_function(X),
        model.staged_predict(X),
        model.staged_predict_proba(X),
        strict=True,
    )
    for k, (decision, labels, probabilities) in enumerate(stages, start=1):
        short = model.truncate(k)
        assert short.n_iter_ == k
        np.testing.assert_allclose(short.decision_function(X), decision, atol=1e-12)
        np.testing.assert_array_equal(short.predict(X), labels)
        np.testing.assert_allclose(short.predict_proba(X), probabilities, atol=1e-12)
    assert k == model.n_iter_ == 12


def test_a_truncated_model_is_the_model_of_fewer_steps():
    X, y = noisy()
    short, truncated = make(max_iter=7).fit(X, y), make().fit(X, y).truncate(7)
    np.testing.assert_array_equal(truncated.atoms_, short.atoms_)
    np.testing.assert_array_equal(truncated.atom_coef_, short.atom_coef_)
    np.testing.assert_array_equal(truncated.feature_importances_, short.feature_importances_)


@pytest.mark.parametrize("data", [noisy, three_classes])
def test_no_steps_are_the_constant_model(data):
    X, y = data()
    constant = make().fit(X, y).truncate(0)
    assert constant.n_atoms_ == constant.n_iter_ == 0
    shares = np.array([(y == label).mean() for label in constant.classes_])
    expected = np.tile(shares, (len(X), 1))
    np.testing.assert_allclose(constant.predict_proba(X), expected, atol=1e-12)
    assert list(constant.staged_predict(X)) == []
    np.testing.assert_array_equal(constant.feature_importances_, np.zeros(2))


def test_truncating_leaves_the_model_as_it_was():
    X, y = noisy()
    model = make().fit(X, y)
    before = model.decision_function(X)
    model.truncate(2)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_a_truncated_model_can_be_truncated_to_more_steps():
    X, y = noisy()
    model = make().fit(X, y)
    again = model.truncate(2).truncate(9)
    np.testing.assert_array_equal(again.atom_coef_, model.truncate(9).atom_coef_)


# Choosing the number of steps


@pytest.mark.parametrize("data", [noisy, three_classes])
def test_validation_data_choose_the_best_number_of_steps(data):
    X, y = data(300)
    model = make(max_iter=30).fit(X[:150], y[:150], X_val=X[150:], y_val=y[150:])
    scores = [(labels == y[150:]).mean() for labels in model.truncate(30).staged_predict(X[150:])]
    np.testing.assert_allclose(model.trace_.column("validation_score"), scores, rtol=1e-12)
    assert len(model.trace_) == 30
    # The fewest steps of equals.
    assert model.n_iter_ == 1 + int(np.argmax(scores)) < 30
    np.testing.assert_array_equal(model.predict(X), model.truncate(model.n_iter_).predict(X))


@pytest.mark.parametrize("seed", range(4))
def test_automatic_steps_are_a_multiple_of_the_theorys(seed):
    X, y = noisy(300, seed)
    model = make(max_iter="auto").fit(X[:150], y[:150], X_val=X[150:], y_val=y[150:])
    k0 = theory_steps(150)
    assert len(model.trace_) == 5 * k0
    scores = model.trace_.column("validation_score")[k0 - 1 :: k0]
    assert model.n_iter_ == k0 * (1 + int(np.argmax(scores)))


def test_without_validation_data_every_step_is_kept():
    X, y = noisy(200)
    assert make(max_iter="auto").fit(X, y).n_iter_ == 5 * theory_steps(200)
    assert make(max_iter="theory").fit(X, y).n_iter_ == theory_steps(200)
    assert make(max_iter=9).fit(X, y).n_iter_ == 9


def test_the_theory_counts_weights_as_rows():
    X, y = noisy(100)
    model = make(max_iter="theory").fit(X, y, np.full(100, 5.0))
    assert model.n_iter_ == theory_steps(500) > theory_steps(100)


def test_the_theorys_steps_need_no_choice_among_fewer():
    X, y = noisy(300)
    model = make(max_iter="theory").fit(X[:150], y[:150], X_val=X[150:], y_val=y[150:])
    assert len(model.trace_) == theory_steps(150)
    assert model.n_iter_ == 1 + np.argmax(model.trace_.column("validation_score"))


def test_a_fraction_is_set_aside_from_every_class():
    X, y = three_classes(300)
    model = make(validation_fraction=0.2, scoring=lambda model, X, y: len(y)).fit(X, y)
    assert model.trace_[0].validation_score == pytest.approx(60, abs=3)


def test_patience_ends_the_fit_and_keeps_the_best_step():
    X, y = noisy(300)
    patient = make(max_iter=60, n_iter_no_change=4, validation_fraction=0.3).fit(X, y)
    scores = patient.trace_.column("validation_score")
    best = 1 + int(np.argmax(scores))
    assert patient.status_ is Status.VALIDATION
    assert patient.n_iter_ == best
    assert len(patient.trace_) == best + 4 < 60


def test_patience_alone_sets_a_tenth_aside():
    X, y = noisy(300)
    patient = make(n_iter_no_change=100).fit(X, y)
    explicit = make(validation_fraction=0.1).fit(X, y)
    np.testing.assert_array_equal(patient.atom_coef_, explicit.atom_coef_)
    assert patient.trace_[0].validation_score is not None


def test_patience_uses_validation_data_that_are_given():
    X, y = noisy(300)
    given = {"X_val": X[150:], "y_val": y[150:]}
    patient = make(max_iter=60, n_iter_no_change=4).fit(X[:150], y[:150], **given)
    free = make(max_iter=60).fit(X[:150], y[:150], **given)
    n_steps = len(patient.trace_)
    assert n_steps < 60
    np.testing.assert_array_equal(
        patient.trace_.column("scores"), free.trace_.column("scores")[:n_steps]
    )


def own_score(model, X, y):
    return -np.abs(model.decision_function(X) - y).mean()


SCORES = {
    "roc_auc": lambda m, X, y: roc_auc_score(y, m.decision_function(X)),
    "neg_log_loss": lambda m, X, y: -log_loss(y, m.predict_proba(X)),
    "balanced_accuracy": lambda m, X, y: balanced_accuracy_score(y, m.predict(X)),
    own_score: own_score,
    make_scorer(balanced_accuracy_score): lambda m, X, y: balanced_accuracy_score(y, m.predict(X)),
}


@pytest.mark.parametrize(
    ("scoring", "expected"),
    SCORES.items(),
    ids=["roc_auc", "neg_log_loss", "balanced_accuracy", "function", "scorer"],
)
def test_the_score_may_be_a_name_a_function_or_a_scorer(scoring, expected):
    X, y = noisy(300)
    model = make(scoring=scoring, l2=0.1).fit(X[:150], y[:150], X_val=X[150:], y_val=y[150:])
    by_hand = [expected(model.truncate(k), X[150:], y[150:]) for k in range(1, 13)]
    np.testing.assert_allclose(model.trace_.column("validation_score"), by_hand, rtol=1e-10)
    assert model.n_iter_ == 1 + np.argmax(by_hand)


def test_scores_of_several_classes_may_need_probabilities():
    X, y = three_classes(300)
    model = make(scoring="roc_auc_ovr").fit(X[:150], y[:150], X_val=X[150:], y_val=y[150:])
    by_hand = roc_auc_score(y[150:], model.predict_proba(X[150:]), multi_class="ovr")
    assert max(model.trace_.column("validation_score")) == pytest.approx(by_hand, rel=1e-10)


def test_a_score_that_needs_probabilities_says_that_the_hinge_has_none():
    X, y = noisy()
    model = make(loss="hinge", scoring="neg_log_loss", validation_fraction=0.2)
    with pytest.raises(AttributeError, match="no probabilities"):
        model.fit(X, y)


# Continuing


def assert_continues(model, fit):
    """Check that 8 steps and then 16 are 16 at once."""
    at_once = sklearn.clone(model).set_params(max_iter=16)
    fit(at_once)
    model.set_params(warm_start=True, max_iter=8)
    fit(model)
    assert len(model.trace_) == 8
    fit(model.set_params(max_iter=16))
    assert len(model.trace_) == len(at_once.trace_)
    assert (model.n_iter_, model.status_) == (at_once.n_iter_, at_once.status_)
    np.testing.assert_array_equal(model.trace_.atoms, at_once.trace_.atoms)
    np.testing.assert_array_equal(model.trace_.column("chosen"), at_once.trace_.column("chosen"))
    np.testing.assert_allclose(model.atom_coef_, at_once.atom_coef_, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, at_once.intercept_, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("data", [noisy, three_classes])
def test_a_continued_path_is_the_path_at_once(scheme, data):
    X, y = data()
    assert_continues(make(scheme=scheme), lambda model: model.fit(X, y))


CONTINUED = {
    "relu": {"dictionary": "relu"},
    "polynomial": {"dictionary": "polynomial"},
    "hinge": {"loss": "hinge"},
    "cubed hinge": {"loss": "cubed_hinge"},
    "sampled": {"selection": "sampled"},
    "normalized scores": {"normalize": True},
    "admm": {"solver": "admm"},
    "no intercept": {"fit_intercept": False},
    "balanced": {"class_weight": "balanced"},
    "fraction": {"validation_fraction": 0.3},
    "patience": {"validation_fraction": 0.3, "n_iter_no_change": 9},
    "generator": {"random_state": np.random.RandomState(0)},
    "function": {"scoring": own_score, "validation_fraction": 0.3},
}


@pytest.mark.parametrize("changes", CONTINUED.values(), ids=CONTINUED)
def test_every_setting_can_be_continued(changes):
    X, y = noisy()
    assert_continues(make().set_params(**changes), lambda model: model.fit(X, y))


@pytest.mark.parametrize("data", [noisy, three_classes])
def test_a_path_with_validation_data_can_be_continued(data):
    X, y = data(300)
    given = {"X_val": X[150:], "y_val": y[150:], "sample_weight_val": np.arange(150.0)}
    weights = np.random.default_rng(0).random(150)
    assert_continues(make(), lambda model: model.fit(X[:150], y[:150], weights, **given))


def test_a_sparse_path_can_be_continued():
    X, y = noisy()
    X = sparse.csr_array(np.where(X > 0.4, X, 0.0))
    model, at_once = make(max_iter=6, warm_start=True).fit(X, y), make().fit(X, y)
    model.set_params(max_iter=12).fit(X, y)
    np.testing.assert_array_equal(model.atoms_.toarray(), at_once.atoms_.toarray())
    np.testing.assert_allclose(model.atom_coef_, at_once.atom_coef_, rtol=0.0, atol=1e-10)


def test_a_continuation_does_not_repeat_the_steps_it_has():
    X, y = noisy()
    model = make(warm_start=True).fit(X, y)
    first = model.trace_[:]
    model.set_params(max_iter=20).fit(X, y)
    assert all(old is new for old, new in zip(first, model.trace_, strict=False))


def test_a_path_that_patience_ended_stays_ended():
    X, y = noisy(300)
    model = make(max_iter=60, n_iter_no_change=4, validation_fraction=0.3, warm_start=True)
    n_steps = len(model.fit(X, y).trace_)
    model.set_params(max_iter=80).fit(X, y)
    assert (len(model.trace_), model.status_) == (n_steps, Status.VALIDATION)
    model.set_params(n_iter_no_change=5).fit(X, y)
    assert len(model.trace_) > n_steps


def test_a_path_that_a_rule_ended_goes_on_without_the_rule():
    X, y = noisy()
    model = make(warm_start=True).set_callbacks(lambda step: step.k == 5).fit(X, y)
    assert len(model.trace_) == 5
    model.set_callbacks().fit(X, y)
    np.testing.assert_allclose(model.atom_coef_, make().fit(X, y).atom_coef_, atol=1e-10)


def test_without_warm_start_a_fit_starts_anew():
    X, y = noisy()
    model = make().fit(X, y)
    model.set_params(max_iter=3).fit(X[:100], -y[:100])
    np.testing.assert_array_equal(
        model.atom_coef_, make(max_iter=3).fit(X[:100], -y[:100]).atom_coef_
    )


X_OTHER, Y_OTHER = noisy(150, seed=5)
OTHER_DATA = {
    "rows": lambda X, y: (X_OTHER, y),
    "labels": lambda X, y: (X, -y),
    "names of labels": lambda X, y: (X, y + 7.0),
    "fewer rows": lambda X, y: (X[:-1], y[:-1]),
    "weights": lambda X, y: (X, y, np.full(len(y), 2.0)),
    "columns": lambda X, y: (X[:, ::-1], y),
}


def test_the_same_rows_in_another_order_continue_a_path():
    X, y = noisy()
    whole = make(max_iter=20).fit(X, y)
    model = make(warm_start=True).fit(X, y)
    model.set_params(max_iter=20).fit(X[::-1], y[::-1])
    np.testing.assert_array_equal(model.atoms_, whole.atoms_)
    np.testing.assert_allclose(model.atom_coef_, whole.atom_coef_, rtol=1e-9)


@pytest.mark.parametrize("change", OTHER_DATA.values(), ids=OTHER_DATA)
def test_other_data_cannot_continue_a_path(change):
    X, y = noisy()
    model = make(warm_start=True).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="are different"):
        model.set_params(max_iter=20).fit(*change(X, y))
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert model.fit(X, y).n_iter_ == 20


def test_other_validation_data_cannot_continue_a_path():
    X, y = noisy()
    model = make(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="are different"):
        model.set_params(max_iter=20).fit(X, y, X_val=X_OTHER, y_val=Y_OTHER)
    # Patience would set rows aside that the path was fitted to.
    with pytest.raises(ValueError, match="are different"):
        model.set_params(n_iter_no_change=3).fit(X, y)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("dictionary", {"dictionary__width": 0.3}),
        ("dictionary", {"dictionary": "relu"}),
        ("l2", {"l2": 0.1}),
        ("random_state", {"random_state": 1}),
        ("loss", {"loss": "square"}),
        ("class_weight", {"class_weight": "balanced"}),
        ("scoring", {"scoring": own_score}),
    ],
)
def test_other_parameters_cannot_continue_a_path(name, change):
    X, y = noisy()
    model = make(warm_start=True, dictionary="gauss").fit(X, y)
    with pytest.raises(ValueError, match=rf"\['{name}'\] changed"):
        model.set_params(**change).fit(X, y)


def test_a_part_that_is_changed_in_place_cannot_continue_a_path():
    X, y = noisy()
    model = make(warm_start=True).set_params(dictionary__width=0.3).fit(X, y)
    model.dictionary.width = 0.4
    with pytest.raises(ValueError, match=r"\['dictionary'\] changed"):
        model.fit(X, y)


def test_a_path_cannot_be_continued_backwards():
    X, y = noisy()
    model = make(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=r"max_iter=5 is less than the 12 steps.*truncate"):
        model.set_params(max_iter=5).fit(X, y)
    assert model.n_iter_ == 12


# The same seed gives the same atoms


def path_of(X, y, **changes):
    model = make(max_iter=25, n_candidates=400, **changes).fit(X, y)
    return model.atoms_, model.atom_coef_


@pytest.fixture(scope="module")
def base_paths():
    X, y = noisy(400)
    return {name: path_of(X, y, dictionary=name) for name in DICTIONARIES}


def assert_same_path(found, expected):
    # Means and deviations of the columns, which atoms hold, may differ by rounding.
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", DICTIONARIES)
def test_the_path_does_not_depend_on_the_number_of_jobs(name, base_paths):
    X, y = noisy(400)
    assert_same_path(path_of(X, y, dictionary=name, n_jobs=3), base_paths[name])


@pytest.mark.parametrize("name", DICTIONARIES)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_path_does_not_depend_on_the_threads_of_the_blas(name, n_threads, base_paths):
    X, y = noisy(400)
    with threadpool_limits(n_threads):
        assert_same_path(path_of(X, y, dictionary=name), base_paths[name])


@pytest.mark.covering
@pytest.mark.parametrize("name", DICTIONARIES)
@pytest.mark.parametrize("memory", [1024, 1e-6])
@pytest.mark.parametrize(("entries", "at_once"), [(1000, 256), (1 << 20, 17), (333, 5)])
def test_the_path_does_not_depend_on_the_size_of_blocks(
    name, entries, at_once, memory, base_paths, monkeypatch
):
    monkeypatch.setattr(HostDevice, "block_entries", entries)
    monkeypatch.setattr(scoring, "_AT_ONCE", at_once)
    X, y = noisy(400)
    with sklearn.config_context(working_memory=memory):
        found = path_of(X, y, dictionary=name, selection=AllCandidates())
    assert_same_path(found, base_paths[name])


@pytest.mark.parametrize("name", DICTIONARIES)
def test_the_path_does_not_depend_on_the_memory_that_may_be_used(name, base_paths):
    X, y = noisy(400)
    with sklearn.config_context(working_memory=0.01):
        assert_same_path(path_of(X, y, dictionary=name), base_paths[name])


@pytest.mark.parametrize("name", DICTIONARIES)
def test_the_path_does_not_depend_on_the_order_of_the_rows(name, base_paths):
    X, y = noisy(400)
    order = np.random.default_rng(0).permutation(400)
    assert_same_path(path_of(X[order], y[order], dictionary=name), base_paths[name])


def test_seeds_differ_and_repeat():
    X, y = noisy()
    atoms = [make(random_state=seed, n_candidates=20).fit(X, y).atoms_ for seed in (0, 1, 0)]
    assert not np.array_equal(atoms[0], atoms[1])
    np.testing.assert_array_equal(atoms[0], atoms[2])


def test_a_generator_of_random_numbers_gives_other_atoms_at_every_fit():
    X, y = noisy()
    model = make(random_state=np.random.RandomState(0), n_candidates=20)
    first, second = model.fit(X, y).atoms_, model.fit(X, y).atoms_
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    ("m", "n", "kind"),
    [
        (1000, 10_000, AllCandidates),
        (1000, 10_001, SampledCandidates),
        (10_000, 1000, AllCandidates),
        (10_001.0, 1000, SampledCandidates),
    ],
)
def test_automatic_selection_depends_on_m_and_n_alone(m, n, kind):
    assert type(default_selection(m, n)) is kind


@pytest.mark.parametrize("changes", [{}, {"dictionary": "relu"}, {"n_jobs": 2}, {"loss": "hinge"}])
def test_the_estimator_selects_by_m_and_n_alone(changes, monkeypatch):
    chosen = []
    original = Fit.run
    monkeypatch.setattr(
        Fit,
        "run",
        lambda run, *rest: chosen.append(type(run.recipe.selection)) or original(run, *rest),
    )
    X, y = noisy(100)
    make(max_iter=1, n_candidates=100_000, **changes).fit(X, y)
    make(max_iter=1, n_candidates=100_001, **changes).fit(X, y)
    assert chosen == [AllCandidates, SampledCandidates]


# What the inputs are worth


def test_a_dense_path_is_not_continued_on_sparse_data():
    X, y = noisy(60)
    model = FCGBoostClassifier("gauss", max_iter=4, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="are different"):
        model.set_params(max_iter=8).fit(sparse.csr_matrix(X), y)


def test_patience_before_the_first_multiple_keeps_the_best_step():
    X, y = noisy(400, seed=3)
    for seed in range(10):
        model = FCGBoostClassifier(
            "gauss", n_iter_no_change=2, validation_fraction=0.3, random_state=seed
        )
        model.fit(X, y)
        scores = model.trace_.column("validation_score")
        if len(scores) < theory_steps(280):
            assert model.n_iter_ == np.argmax(scores) + 1
            break
    else:
        raise AssertionError("no path ended before the first multiple")


def test_probabilities_are_those_of_the_loss_that_was_fitted():
    X, y = noisy()
    model = FCGBoostClassifier("gauss", random_state=0).fit(X, y)
    before = model.predict_proba(X)
    np.testing.assert_array_equal(model.set_params(loss="hinge").predict_proba(X), before)


def test_a_model_cannot_be_written_on():
    X, y = noisy()
    model = FCGBoostClassifier("gauss", random_state=0).fit(X, y)
    for values in (model.atom_coef_, model.intercept_):
        with pytest.raises(ValueError, match="read-only"):
            values[:] = 0.0


def test_a_score_that_is_not_defined_is_an_error():
    X, y = noisy()
    model = FCGBoostClassifier("gauss", scoring=lambda model, X, y: float("nan"), max_iter=3)
    with pytest.raises(ValueError, match="is NaN on the held-out rows"):
        model.fit(X, y, X_val=X, y_val=y)


def test_a_function_that_takes_no_weights_scores_weighted_validation_data():
    X, y = noisy()
    model = FCGBoostClassifier(
        "gauss", scoring=lambda model, X, y: model.predict(X)[0] == y[0], max_iter=3
    )
    model.fit(X, y, X_val=X, y_val=y, sample_weight_val=np.full(len(y), 2.0))
    assert set(model.trace_.column("validation_score")) <= {0.0, 1.0}


@pytest.mark.parametrize("seeds", [range(4), *also(range(4, 20))])
def test_an_atom_that_is_rounding_on_the_data_is_never_chosen(seeds):
    # A hinge through the extreme row along its direction is zero up to rounding.
    for seed in seeds:
        generator = np.random.default_rng(seed)
        X, y = generator.standard_normal((40, 60)), generator.choice([-1.0, 1.0], 40)
        model = FCGBoostClassifier("relu", max_iter=40, normalize=True, random_state=seed)
        model.fit(X, y)
        assert np.abs(model.atom_coef_).max() < 1e6
