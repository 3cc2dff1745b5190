"""The classifier on real clusters with worker processes: the same model, and what travels."""

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.exceptions import NotFittedError

pytest.importorskip("distributed")

import dask.array as da
import dask.dataframe as dd

from fcgboost import FCGBoostClassifier, FCGBoostRegressor, SampledCandidates, Status
from fcgboost.backends.dask.collections import make_table
from fcgboost.backends.dask.workers import DaskWorkers, find_workers, share_out
from fcgboost.dask import DaskFCGBoostClassifier, DaskFCGBoostRegressor
from fcgboost.losses import ProximalLoss
from fcgboost.tables import inputs
from tests.suites.clusters import TASK, cluster_of, in_chunks, noisy

pytestmark = [
    pytest.mark.extras,
    pytest.mark.usefixtures("same_splits"),
    pytest.mark.xdist_group("dask"),
]


@pytest.fixture(scope="module", params=[1, 2, 4])
def any_client(request: pytest.FixtureRequest) -> Iterator[Any]:
    with cluster_of(request.param) as client:
        yield client


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with cluster_of(2) as client:
        yield client


def assert_same_model(there: Any, here: Any, atol: float = 1e-6) -> None:
    """The same up to rounding."""
    np.testing.assert_array_equal(there.classes_, here.classes_)
    np.testing.assert_allclose(there.model_.scale, here.model_.scale, rtol=1e-12)
    size = np.abs(here.atoms_).max()
    np.testing.assert_allclose(there.atoms_, here.atoms_, rtol=0, atol=1e-10 * size)
    np.testing.assert_allclose(there.atom_coef_, here.atom_coef_, rtol=0, atol=atol)
    np.testing.assert_allclose(there.intercept_, here.intercept_, rtol=0, atol=atol)
    assert there.n_iter_ == here.n_iter_
    assert there.status_ is here.status_


SIZES = {
    "even": (150,) * 4,
    "very unequal": (1, 0, 590, 9, 0),
    "one": (600,),
    "many": (20,) * 30,
}
SETTINGS: dict[str, dict[str, Any]] = {
    "gauss": {"dictionary": "gauss", "n_candidates": 100},
    "relu, sampled": {"dictionary": "relu", "selection": "sampled"},
    "set aside": {"dictionary": "relu", "selection": "sampled", "validation_fraction": 0.25},
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_the_model_is_that_of_memory(any_client, setting, sizes):
    X, y = noisy()
    parameters = {"max_iter": 15, "random_state": 0, **setting}
    here = FCGBoostClassifier(**parameters).fit(X, y)
    there = DaskFCGBoostClassifier(client=any_client, **parameters).fit(*in_chunks(X, y, sizes))
    assert_same_model(there, here)
    # A hinge goes through a row, and rounding says whether the row has a slope.
    np.testing.assert_allclose(there.feature_importances_, here.feature_importances_, atol=0.02)


@pytest.mark.parametrize("sizes", [SIZES["very unequal"], SIZES["many"]], ids=["unequal", "many"])
@pytest.mark.parametrize("name", ["auto", "compact", "tree"])
def test_learned_atoms_are_those_of_memory(client, name, sizes):
    X, y = noisy()
    there = DaskFCGBoostClassifier(name, client=client, max_iter=9, random_state=0)
    there.fit(*in_chunks(X, y, sizes))
    here = FCGBoostClassifier(name, max_iter=9, random_state=0).fit(X, y)
    assert there.l2_ == pytest.approx(here.l2_)
    assert there.link_ == here.link_
    assert there.n_iter_ == here.n_iter_ == 9
    size = np.abs(here.atoms_).max()
    np.testing.assert_allclose(there.atoms_, here.atoms_, rtol=1e-5, atol=1e-7 * size)
    np.testing.assert_allclose(there.atom_coef_, here.atom_coef_, rtol=0, atol=1e-5)
    lazy = there.predict(in_chunks(X, y, sizes)[0]).compute(scheduler=client)
    np.testing.assert_array_equal(lazy, here.predict(X))


@pytest.mark.parametrize("has_missing", [False, True])
def test_the_default_is_that_of_memory(client, has_missing):
    X, y = noisy()
    if has_missing:
        X[::7, 1] = np.nan
    frame = pd.DataFrame(X, columns=["width", "height"]).assign(label=np.where(y > 0, "yes", "no"))
    rows = dd.from_pandas(frame, npartitions=5)
    there = DaskFCGBoostClassifier(client=client, random_state=0)
    there.fit(rows[["width", "height"]], rows["label"])
    here = FCGBoostClassifier(random_state=0).fit(frame[["width", "height"]], frame["label"])
    assert (there.n_iter_, there.link_) == (here.n_iter_, here.link_)
    assert there.l2_ == pytest.approx(here.l2_)
    known = frame[["width", "height"]]
    np.testing.assert_allclose(there.predict_proba(known), here.predict_proba(known), atol=1e-5)
    assert there.score(rows[["width", "height"]], rows["label"]) == here.score(
        known, frame["label"]
    )


def test_the_default_of_many_rows_is_that_of_memory(client):
    X, y = noisy(10_400)
    X[::7, 1] = np.nan
    kinds = np.arange(len(y)) % 3
    columns = {"width": X[:, 0], "height": X[:, 1], "is_a": kinds == 0, "is_b": kinds == 1}
    known, label = pd.DataFrame(columns).astype(float), pd.Series(np.where(y > 0, "yes", "no"))
    rows = dd.from_pandas(known.assign(label=label), npartitions=7)
    parameters = {"random_state": 0, "max_iter": 6}
    there = DaskFCGBoostClassifier(client=client, **parameters)
    there.fit(rows[[*columns]], rows["label"])
    here = FCGBoostClassifier(**parameters).fit(known, label)
    assert there.model_.dictionary.corrects_leaves
    assert (there.n_iter_, there.link_) == (here.n_iter_, here.link_)
    assert there.l2_ == pytest.approx(here.l2_)
    np.testing.assert_array_equal(there.trace_.atoms, here.trace_.atoms)
    lazy = there.predict_proba(rows[[*columns]]).compute(scheduler=client)
    np.testing.assert_allclose(lazy, here.predict_proba(known), rtol=0, atol=1e-9)
    assert there.score(rows[[*columns]], rows["label"]) == here.score(known, label)


@pytest.mark.parametrize(
    ("loss", "dictionary"),
    [
        *(("squared_error", "gauss"), ("squared_error", "auto"), ("squared_error", "tree")),
        *(("huber", "gauss"), ("quantile", "gauss"), ("poisson", "gauss"), ("poisson", "auto")),
    ],
)
def test_a_regressor_is_that_of_memory(client, loss, dictionary):
    X, y = make_friedman1(600, random_state=0)
    y = np.round(y) if loss == "poisson" else 1e3 + y
    parameters = {"loss": loss, "max_iter": 9, "random_state": 0}
    here = FCGBoostRegressor(dictionary, **parameters).fit(X, y)
    there = DaskFCGBoostRegressor(dictionary, client=client, **parameters)
    dX, dy = in_chunks(X, y, (150, 0, 440, 10))
    there.fit(dX, dy)
    assert there.n_iter_ == here.n_iter_
    lazy = there.predict(dX).compute(scheduler=client)
    np.testing.assert_allclose(lazy, here.predict(X), rtol=0, atol=1e-5 * np.std(y))
    assert there.score(dX, dy) == pytest.approx(here.score(X, y), rel=1e-6)
    if dictionary == "auto":
        interval = there.predict_interval(X[:5], 0.2)
        np.testing.assert_allclose(interval, here.predict_interval(X[:5], 0.2), atol=1e-3)


def test_a_regressor_takes_frames_validation_data_and_weights(client):
    X, y = make_friedman1(400, random_state=0)
    frame = (
        pd.DataFrame(X)
        .add_prefix("x")
        .assign(town=np.where(X[:, 0] > 0.5, "a", "b"), y=y, weight=np.arange(400) % 3)
    )
    names = [name for name in frame if name not in ("y", "weight")]
    train, test = frame[:300], frame[300:]
    here = FCGBoostRegressor("relu", max_iter=6, random_state=0).fit(
        train[names], train["y"], train["weight"], X_val=test[names], y_val=test["y"]
    )
    known, other = dd.from_pandas(train, npartitions=3), dd.from_pandas(test, npartitions=2)
    there = DaskFCGBoostRegressor("relu", client=client, max_iter=6, random_state=0).fit(
        known[names], known["y"], known["weight"], X_val=other[names], y_val=other["y"]
    )
    assert_allclose = np.testing.assert_allclose
    assert_allclose(there.trace_.scores, here.trace_.scores, rtol=1e-9)
    lazy = there.predict(other[names])
    assert lazy.name == "predict"
    assert_allclose(lazy.compute(scheduler=client), here.predict(test[names]), rtol=1e-9)
    score = there.score(known[names], known["y"], known["weight"])
    assert score == pytest.approx(here.score(train[names], train["y"], train["weight"]))
    assert type(there.to_local()) is FCGBoostRegressor


def test_a_warning_points_at_the_caller(client):
    rows = in_chunks(*noisy(60), (30, 30), np.full(60, 0.01))
    with pytest.warns(UserWarning, match="60 rows count as 0.6") as told:
        DaskFCGBoostClassifier("gauss", client=client, max_iter=1).fit(*rows)
    assert [warning.filename for warning in told] == [__file__]


def test_what_a_cluster_cannot_do_for_numbers_is_said(client):
    dX, dy = in_chunks(*make_friedman1(90, random_state=0), (45, 45))
    with pytest.raises(ValueError, match="not supported on a Dask cluster, where losses must be"):
        DaskFCGBoostRegressor(client=client, loss=Slope(), solver="admm", dictionary="relu").fit(
            dX, dy
        )
    with pytest.raises(ValueError, match="y has numbers below 0, the least that Poisson"):
        DaskFCGBoostRegressor(client=client, loss="poisson").fit(dX, dy - 20.0)


class Slope(ProximalLoss):
    """The absolute error without a curvature."""

    def value(self, y, f):
        return abs(y - f)

    def gradient(self, y, f):
        return np.sign(f - y)

    def prox(self, y, z, tau):
        return y + np.sign(z - y) * np.maximum(abs(z - y) - 1.0 / tau, 0.0)

    def initial(self, y, weights):
        return float(np.median(y))


def test_infinite_values_are_refused_and_later_gaps_are_filled(client):
    X, y = noisy()
    dX, dy = in_chunks(X, y, (300, 300))
    with pytest.raises(ValueError, match=r"partition 1 of the data: .*infinity in column 1"):
        DaskFCGBoostClassifier("relu", client=client).fit(da.where(dX == X[400, 1], np.inf, dX), dy)
    parameters = {"dictionary": "relu", "selection": "sampled", "max_iter": 4, "random_state": 0}
    there = DaskFCGBoostClassifier(client=client, **parameters).fit(dX, dy)
    here = FCGBoostClassifier(**parameters).fit(X, y)
    assert there.columns_ == here.columns_
    X[::3, 1] = np.nan
    lazy = there.decision_function(da.from_array(X, chunks=(200, 2))).compute(scheduler=client)
    np.testing.assert_allclose(lazy, here.decision_function(X), rtol=0, atol=1e-6)


def test_data_frames_weights_classes_and_validation_data(client):
    X, y = noisy(900, n_classes=3)
    labels = np.array(["no", "yes", "perhaps"])[y]
    weights = np.random.default_rng(0).uniform(0.0, 2.0, len(y))
    weights[:30] = 0.0
    frame = pd.DataFrame(X, columns=["width", "height"])
    train, test = slice(0, 600), slice(600, 900)
    parameters = {"dictionary": "relu", "selection": "sampled", "random_state": 3}
    here = FCGBoostClassifier(**parameters).fit(
        frame[train], labels[train], weights[train], X_val=frame[test], y_val=labels[test]
    )
    rows = frame.assign(label=labels, weight=weights)
    known = dd.from_pandas(rows[train], npartitions=3)
    other = dd.from_pandas(rows[test], npartitions=2)
    there = DaskFCGBoostClassifier(client=client, **parameters).fit(
        known[["width", "height"]],
        known["label"],
        known["weight"],
        X_val=other[["width", "height"]],
        y_val=other["label"],
    )
    assert_same_model(there, here)
    np.testing.assert_array_equal(there.feature_names_in_, ["width", "height"])
    scores = [m.trace_.column("validation_score") for m in (there, here)]
    np.testing.assert_allclose(*scores, rtol=1e-12)
    lazy = there.predict_proba(known[["width", "height"]])
    assert list(lazy.columns) == ["no", "perhaps", "yes"]
    shown = lazy.compute(scheduler=client)
    np.testing.assert_allclose(shown, here.predict_proba(frame[train]), atol=1e-9)
    np.testing.assert_array_equal(shown.index, rows[train].index)
    classes = there.predict(known[["width", "height"]]).compute(scheduler=client)
    np.testing.assert_array_equal(classes, here.predict(frame[train]))


def test_a_class_may_be_absent_from_partitions(client):
    X, y = noisy(600, n_classes=3)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    parameters = {"dictionary": "gauss", "max_iter": 10, "random_state": 0, "n_candidates": 60}
    here = FCGBoostClassifier(**parameters).fit(X, y)
    sizes = (50,) * 12
    there = DaskFCGBoostClassifier(client=client, **parameters).fit(*in_chunks(X, y, sizes))
    assert_same_model(there, here)


def test_predictions_are_lazy_and_those_of_the_local_classifier(client):
    X, y = noisy(n_classes=3)
    dX, dy = in_chunks(X, y, (100, 0, 500))
    model = DaskFCGBoostClassifier(
        "gauss", client=client, max_iter=10, n_candidates=50, random_state=0
    )
    with pytest.raises(NotFittedError):
        model.predict(dX)
    local = model.fit(dX, dy).to_local()
    assert type(local) is FCGBoostClassifier
    assert local.n_features_in_ == 2
    for name in ("predict", "predict_proba", "decision_function"):
        lazy = getattr(model, name)(dX)
        assert isinstance(lazy, da.Array)
        expected = getattr(local, name)(X)
        assert lazy.shape == expected.shape
        assert lazy.dtype == expected.dtype
        np.testing.assert_array_equal(lazy.compute(scheduler=client), expected)
        np.testing.assert_array_equal(getattr(model, name)(X), expected)
    assert model.score(dX, dy) == local.score(X, y) == model.score(X, y)
    weights = np.arange(len(y)) % 3.0
    lazily = model.score(dX, dy, da.from_array(weights, chunks=dy.chunks))
    assert lazily == pytest.approx(local.score(X, y, weights), rel=1e-12)
    with pytest.raises(TypeError, match=r"Staged predictions.*to_local\(\)"):
        next(model.staged_predict(dX))
    truncated = model.truncate(4)
    assert truncated.n_iter_ == 4
    np.testing.assert_array_equal(
        truncated.predict(dX).compute(scheduler=client), local.truncate(4).predict(X)
    )


def test_it_is_an_estimator(client):
    model = DaskFCGBoostClassifier("relu", client=client, max_iter=3, random_state=0)
    parameters = model.get_params()
    assert parameters["client"] is client
    assert {*parameters} == {*FCGBoostClassifier("gauss").get_params(), "client"}
    twin = clone(model)
    assert twin.client is client
    assert twin.dictionary == "relu"
    model.fit(*in_chunks(*noisy(), (600,)))
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    np.testing.assert_array_equal(again.atom_coef_, model.atom_coef_)
    assert "max_iter=3" in repr(model)


def test_callbacks_and_progress_hear_every_step(client, capsys):
    heard = []

    def rule(step):
        heard.append(step.k)
        return Status.CALLBACK if step.k == 4 else None

    model = DaskFCGBoostClassifier("gauss", client=client, max_iter=10, random_state=0, verbose=1)
    model.set_callbacks(rule).fit(*in_chunks(*noisy(), (300, 300)))
    assert heard == [1, 2, 3, 4]
    assert model.status_ is Status.CALLBACK
    assert "40 %  step 4  atoms 4" in capsys.readouterr().err


def test_the_dashboard_shows_names(client):
    def names(dask_scheduler: Any) -> list[str]:
        return list(dask_scheduler.task_prefixes)

    model = DaskFCGBoostClassifier("gauss", client=client, max_iter=3, random_state=0)
    dX, dy = in_chunks(*noisy(), (300, 300))
    model.fit(dX, dy).predict(dX).compute(scheduler=client)
    shown = client.run_on_scheduler(names)
    assert {"fcgboost-load", "fcgboost-shard", "fcgboost-predict"} <= {*shown}


class Spy:
    """Counts rounds and remembers the largest messages, in every process of a cluster."""

    @staticmethod
    def install() -> None:
        from distributed.comm import tcp

        if "spied" not in vars(tcp.TCP):
            original = tcp.TCP.write

            async def write(self, *args, **kwargs):
                n_bytes = await original(self, *args, **kwargs)
                tcp.TCP.spied.append(n_bytes)
                return n_bytes

            tcp.TCP.write, tcp.TCP.spied = write, []
        tcp.TCP.spied.clear()

    @staticmethod
    def read() -> list[int]:
        from distributed.comm import tcp

        return list(tcp.TCP.spied)


def spied(client) -> list[int]:
    messages = [*client.run(Spy.read).values(), Spy.read(), client.run_on_scheduler(Spy.read)]
    return [n_bytes for some in messages for n_bytes in some]


# What every message has beside its numbers: names, shapes, the frame.
_ENVELOPE = 8_000


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("selection", ["sampled", "all"])
def test_no_message_is_as_long_as_the_data(client, n_classes, selection, monkeypatch):
    # Rows that medians are taken of come once.
    monkeypatch.setattr(inputs, "_MEDIAN_ROWS", 64)
    m, d, q, k = 200_000, 6, 64, 20
    X = da.random.default_rng(0).standard_normal((m, d), chunks=(m // 4, d))
    y = ((X[:, 0] + X[:, 1] ** 2) * 1.2).astype(int).clip(0, n_classes - 1)
    choose = SampledCandidates(q) if selection == "sampled" else "all"
    model = DaskFCGBoostClassifier(
        "relu", client=client, selection=choose, n_candidates=q, max_iter=k, random_state=0
    )
    client.run(Spy.install)
    Spy.install()
    client.run_on_scheduler(Spy.install)
    model.fit(X, y)
    n_outputs = 1 if n_classes == 2 else n_classes
    description = 8 * q * (d + 2)
    rest = 8 * 10 * n_outputs * (q + (k + 1) ** 2)
    largest = max(spied(client))
    assert largest <= description + rest + _ENVELOPE
    # The bound would be broken by anything of the size of a part of an m-vector.
    assert 8 * m // 4 > description + rest + _ENVELOPE


def test_workers_get_equal_shares_of_the_rows(client):
    X, y = noisy()
    table = make_table(TASK, *in_chunks(X, y, (40,) * 15), None)
    with client.as_current():
        shares = share_out(client, table.parts, list(find_workers(client)))
    rows = [sum(len(r.target) for r in client.gather([*some.values()])) for some in shares.values()]
    assert sorted(rows) == [280, 320]


def test_sparse_chunks_stay_sparse(client):
    X, y = noisy()
    X[X[:, 0] < -5.0] = 0.0
    dX, dy = in_chunks(X, y, (200, 400))
    here = FCGBoostClassifier("gauss", max_iter=6, n_candidates=40, random_state=0)
    here.fit(sparse.csr_array(X), y)
    there = DaskFCGBoostClassifier(
        "gauss", client=client, max_iter=6, n_candidates=40, random_state=0
    )
    there.fit(dX.map_blocks(sparse.csr_array, dtype=float), dy)
    assert sparse.issparse(there.atoms_)
    np.testing.assert_array_equal(there.atoms_.toarray(), here.atoms_.toarray())
    np.testing.assert_allclose(there.atom_coef_, here.atom_coef_, rtol=0, atol=1e-6)


def test_rounds_are_few(client, monkeypatch):
    made = []
    original = DaskWorkers.__init__

    def remember(self, *args, **kwargs):
        original(self, *args, **kwargs)
        made.append(self)

    monkeypatch.setattr(DaskWorkers, "__init__", remember)
    X, y = noisy(2000)
    model = DaskFCGBoostClassifier(
        "relu", client=client, selection="sampled", max_iter=40, random_state=0
    ).fit(*in_chunks(X, y, (1000, 1000)))
    n_points = model.trace_.column("solver_iterations").sum()
    # A draw, estimates, exact scores, the new column; one per Newton point; a few to begin and to
    # end.
    assert made[0].n_rounds <= 4 * 40 + 1.5 * n_points + 12
    assert made[0].n_rounds / 40 < 7


def test_persisted_and_unknown_chunks(client):
    X, y = noisy()
    here = FCGBoostClassifier("gauss", max_iter=8, n_candidates=40, random_state=0).fit(X, y)
    dX, dy = in_chunks(X, y, (200, 400))
    held = client.persist([dX, dy])
    model = DaskFCGBoostClassifier(
        "gauss", client=client, max_iter=8, n_candidates=40, random_state=0
    )
    assert_same_model(model.fit(*held), here)
    positive = X[:, 1] > 30.0
    unknown = (dX[dX[:, 1] > 30.0], dy[dX[:, 1] > 30.0])
    here.fit(X[positive], y[positive])
    assert_same_model(model.fit(*unknown), here)
    lazy = model.predict(unknown[0]).compute(scheduler=client)
    np.testing.assert_array_equal(lazy, here.predict(X[positive]))


def test_warm_start_goes_on_also_in_other_partitions(client):
    X, y = noisy()
    model = DaskFCGBoostClassifier(
        "gauss", client=client, max_iter=5, n_candidates=60, random_state=0, warm_start=True
    )
    model.fit(*in_chunks(X, y, (300, 300))).set_params(max_iter=12)
    model.fit(*in_chunks(X[::-1], y[::-1], (100, 500)))
    here = FCGBoostClassifier("gauss", max_iter=12, n_candidates=60, random_state=0).fit(X, y)
    assert_same_model(model, here)
    with pytest.raises(ValueError, match="are different"):
        model.fit(*in_chunks(X[1:], y[1:], (299, 300)))


def test_lazy_predictions_of_two_models_keep_apart(client):
    X, y = noisy()
    dX, dy = in_chunks(X, y, (600,))
    words = da.where(dy > 0, "yes", "no")
    make = {
        "dictionary": "gauss",
        "client": client,
        "max_iter": 4,
        "n_candidates": 30,
        "random_state": 0,
    }
    first = DaskFCGBoostClassifier(**make).fit(dX, dy)
    second = DaskFCGBoostClassifier(**make).fit(dX, words)
    held = client.persist(first.predict(dX))
    assert {*second.predict(dX).compute(scheduler=client)} == {"yes", "no"}
    both = [model.predict(dX) for model in (first, second)]
    numbers, labels = client.compute(both, sync=True)
    assert {*numbers} == {-1.0, 1.0}
    assert {*labels} == {"yes", "no"}
    np.testing.assert_array_equal(held.compute(scheduler=client), numbers)


def test_scores_compare_the_names_of_columns(client):
    X, y = noisy()
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=2)
    labels = dd.from_pandas(pd.Series(y), npartitions=2)
    model = DaskFCGBoostClassifier("gauss", client=client, max_iter=4, random_state=0)
    model.fit(frame, labels)
    expected = model.to_local().score(pd.DataFrame(X, columns=["a", "b"]), y)
    assert model.score(frame, labels) == expected
    with pytest.raises(ValueError, match=r"\['b', 'a'\].*\['a', 'b'\]"):
        model.score(frame[["b", "a"]], labels)
