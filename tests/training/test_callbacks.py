"""What is told and asked while a fit runs: scikit-learn's callbacks, progress, the log."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fcgboost import FCGBoostClassifier, Status
from fcgboost.datasets import make_simulation

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")


def noisy(n_samples=100):
    return make_simulation(n_samples, noise="uniform", level=0.2, random_state=0)


def make(**changes):
    return FCGBoostClassifier(
        **{"dictionary": "gauss", "max_iter": 12, "random_state": 0, **changes}
    )


class Recorder:
    """Writes down every call, and ends the fit after some steps."""

    def __init__(self, last=None):
        self.last = last
        self.calls = []
        self.models = []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.calls.append(f"end {context.task_name}")
        self.models.append(fitted_estimator)
        return context.task_name == f"step {self.last}"


class Propagated(Recorder):
    """Goes from a meta-estimator to what it holds."""

    max_propagation_depth = None


def test_a_callback_sees_the_link():
    X, y = make_simulation(200, noise="uniform", level=0.2, random_state=0)
    recorder = Recorder()
    model = FCGBoostClassifier("relu", loss="hinge", link="power", max_iter=3, random_state=0)
    model.set_callbacks(recorder).fit(X[:100], y[:100], X_val=X[100:], y_val=y[100:])
    links = [seen.link_ for seen in recorder.models]
    assert len(links) == 4
    assert None not in links
    assert links[-1] == model.link_


def test_a_callback_ends_the_fit():
    model = make().set_callbacks(Recorder(last=7)).fit(*noisy())
    assert model.status_ is Status.CALLBACK
    assert model.n_iter_ == len(model.trace_) == 7


def test_a_callback_sees_the_fit_and_every_step_of_it():
    recorder = Recorder()
    make(max_iter=2).set_callbacks(recorder).fit(*noisy())
    steps = ["begin step 1", "end step 1", "begin step 2", "end step 2"]
    assert recorder.calls == ["setup", "begin fit", *steps, "end fit", "teardown"]


def test_a_callback_gets_the_model_of_its_step():
    X, y = noisy()
    recorder = Recorder()
    model = make().set_callbacks(recorder).fit(X, y)
    *steps, last = recorder.models
    assert len(steps) == 12
    for k, found in enumerate(steps, start=1):
        expected = model.truncate(k)
        assert found.n_iter_ == k
        np.testing.assert_array_equal(found.predict(X), expected.predict(X))
        np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
    np.testing.assert_array_equal(last.decision_function(X), model.decision_function(X))


def test_with_validation_data_a_callback_gets_the_best_model_so_far():
    X, y = noisy(200)
    recorder = Recorder()
    model = make().set_callbacks(recorder).fit(X[:100], y[:100], X_val=X[100:], y_val=y[100:])
    scores = model.trace_.column("validation_score")
    best = [1 + int(np.argmax(scores[:k])) for k in range(1, 13)]
    assert [found.n_iter_ for found in recorder.models[:-1]] == best


def test_a_callback_of_several_classes_gets_models_too():
    X, _ = noisy()
    recorder = Recorder(last=3)
    model = make().set_callbacks(recorder).fit(X, np.digitize(X[:, 1], [0.3, 0.7]))
    assert model.n_iter_ == 3
    np.testing.assert_array_equal(
        recorder.models[0].predict_proba(X), model.truncate(1).predict_proba(X)
    )


def test_a_callback_gets_the_data_as_they_were_given():
    X, y = noisy()
    weights = np.ones(100)
    seen = []

    class Data(Recorder):
        def on_fit_task_end(self, estimator, context, *, X, y, metadata):
            seen.append((X, y, metadata["sample_weight"]))

    make(max_iter=1).set_callbacks(Data()).fit(X, y, weights)
    assert all(given[0] is X and given[1] is y and given[2] is weights for given in seen)


def test_a_failing_fit_is_torn_down():
    class Failing(Recorder):
        def on_fit_task_end(self, estimator, context):
            raise RuntimeError("no more")

    recorder = Failing()
    model = make().set_callbacks(recorder)
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(*noisy())
    assert recorder.calls[0] == "setup"
    assert recorder.calls[-1] == "teardown"
    assert not [name for name in vars(model) if name.endswith("_")]


def test_a_fit_that_a_rule_breaks_is_torn_down():
    def broken(step):
        raise RuntimeError("no more")

    recorder = Recorder()
    model = make().set_callbacks(broken, recorder)
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(*noisy())
    assert recorder.calls == ["setup", "begin fit", "teardown"]


def test_what_is_set_up_is_torn_down_if_the_data_are_wrong():
    recorder = Recorder()
    with pytest.raises(ValueError, match="one class"):
        make().set_callbacks(recorder).fit(noisy()[0], np.ones(100))
    assert recorder.calls.count("setup") == recorder.calls.count("teardown")


def test_rules_and_callbacks_work_together():
    X, y = noisy()
    rule_first = make().set_callbacks(lambda step: step.k == 4, Recorder(last=7)).fit(X, y)
    callback_first = make().set_callbacks(Recorder(last=3), lambda step: step.k == 4).fit(X, y)
    assert (rule_first.n_iter_, callback_first.n_iter_) == (4, 3)


@pytest.mark.parametrize("ensemble", [True, False])
def test_members_are_subtasks_of_a_fit(ensemble):
    X, y = noisy()
    recorder = Recorder()
    model = make(cv=2, max_iter=2, ensemble=ensemble).set_callbacks(recorder).fit(X, y)
    steps = ["begin step 1", "end step 1", "begin step 2", "end step 2"]
    members = []
    for i in range(2 if ensemble else 3):
        members += [f"begin member {i + 1}", *steps, f"end member {i + 1}"]
    assert recorder.calls == ["setup", "begin fit", *members, "end fit", "teardown"]
    # The model at the end of a member is that member; at the end of the fit it is all of them.
    ends = [call for call in recorder.calls if call.startswith("end")]
    for i, member in enumerate(model.members_):
        place = ends.index(f"end member {i + 1 if ensemble else 3}")
        (alone,) = recorder.models[place].members_
        np.testing.assert_array_equal(alone.decision(X), member.decision(X))
    np.testing.assert_array_equal(recorder.models[-1].predict(X), model.predict(X))
    np.testing.assert_array_equal(
        recorder.models[-1].oof_decision_function_, model.oof_decision_function_
    )


def test_a_callback_ends_every_member():
    recorder = Recorder(last=3)
    model = make(cv=3).set_callbacks(recorder).fit(*noisy())
    assert [(member.status, member.n_iter) for member in model.members_] == [
        (Status.CALLBACK, 3)
    ] * 3
    assert recorder.calls.count("end step 3") == 3


def test_a_rule_hears_every_member():
    heard = []
    model = make(cv=3, max_iter=2)
    model.set_callbacks(lambda step: heard.append((step.progress.path, step.progress.fold, step.k)))
    model.fit(*noisy())
    assert heard == [(fold, fold, k) for fold in (1, 2, 3) for k in (1, 2)]


def test_watching_members_does_not_change_them():
    X, y = noisy()
    plain = make(dictionary="auto", cv=2, max_iter=3).fit(X, y)
    watched = make(dictionary="auto", cv=2, max_iter=3).set_callbacks(Recorder()).fit(X, y)
    np.testing.assert_array_equal(watched.decision_function(X), plain.decision_function(X))
    assert watched.link_ == plain.link_


def test_callbacks_survive_cloning():
    model = make().set_callbacks(Recorder(last=5), lambda step: step.k == 4)
    assert clone(model).fit(*noisy()).n_iter_ == 4
    assert clone(make().set_callbacks(Recorder(last=5))).fit(*noisy()).n_iter_ == 5


@pytest.mark.parametrize("wrong", [Recorder, Propagated])
def test_a_class_is_no_callback(wrong):
    with pytest.raises(TypeError, match="instance of scikit-learn's FitCallback"):
        make().set_callbacks(wrong)


def test_callbacks_of_a_grid_search_reach_every_step():
    recorder = Propagated()
    search = GridSearchCV(make(max_iter=2), {"l2": [0.1, 0.2]}, cv=2).set_callbacks(recorder)
    search.fit(*noisy())
    # Two settings on two folds, and the refit.
    assert recorder.calls.count("end step 1") == recorder.calls.count("end step 2") == 5
    assert recorder.calls.count("setup") == recorder.calls.count("teardown") == 1


def test_callbacks_of_a_pipeline_reach_every_step():
    recorder = Propagated(last=4)
    pipeline = make_pipeline(StandardScaler(), make()).set_callbacks(recorder).fit(*noisy())
    assert pipeline[-1].n_iter_ == 4
    assert pipeline[-1].status_ is Status.CALLBACK


def test_a_rule_stays_when_callbacks_are_handed_on():
    X, y = noisy()
    model = make().set_callbacks(lambda step: step.k == 3)
    search = GridSearchCV(model, {"l2": [0.1, 0.2]}, cv=2).set_callbacks(Propagated())
    assert search.fit(X, y).best_estimator_.n_iter_ == 3
    pipeline = make_pipeline(StandardScaler(), model).set_callbacks(Propagated()).fit(X, y)
    assert pipeline[-1].n_iter_ == 3
    assert pipeline[-1].fit(X, y).n_iter_ == 3


def test_the_scoring_monitor_logs_the_score_of_every_step():
    X, y = noisy()
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = make().set_callbacks(monitor).fit(X, y)
    log = [row for row in monitor.get_logs().data if row["task_name"] != "fit"]
    assert [row["task_name"] for row in log] == [f"step {k}" for k in range(1, 13)]
    expected = [model.truncate(k).score(X, y) for k in range(1, 13)]
    np.testing.assert_allclose([row["accuracy"] for row in log], expected)


def test_the_progress_bar_of_scikit_learn_runs():
    pytest.importorskip("rich", reason="scikit-learn's progress bar needs rich")
    model = make().set_callbacks(callback.ProgressBar()).fit(*noisy())
    assert model.n_iter_ == 12
