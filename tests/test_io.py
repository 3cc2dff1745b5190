"""A model in a file comes back to the last bit; what is no model is refused with a reason."""

import functools
import gzip
import importlib.resources
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import fcgboost.files
from fcgboost import (
    AdmmSolver,
    AllCandidates,
    FCGBoostClassifier,
    FCGBoostClassifierCV,
    FullyCorrective,
    GaussDictionary,
    PolynomialDictionary,
    SampledCandidates,
    Shrinkage,
    SigmoidDictionary,
)
from fcgboost.dictionaries import InnerProductDictionary
from fcgboost.documents import encode
from fcgboost.greedy import Trace
from fcgboost.io import ModelFileError, load_model, make_model, save_model, split_model
from fcgboost.losses import ProbabilityLoss, SquaredHinge
from fcgboost.stopping import Step
from fcgboost.tables import TableEncoder

DICTIONARIES = ("gauss", "polynomial", "sigmoid", "relu")
LOSSES = ("squared_hinge", "hinge", "cubed_hinge", "square")
SCHEMA = json.loads(
    importlib.resources.files("fcgboost.io").joinpath("model-1.schema.json").read_text("utf-8")
)


class Waves(InnerProductDictionary):
    """A dictionary of a user's own."""

    def __init__(self, width: Any = 1.0) -> None:
        self.width = width

    def candidates(self, sample: Any, n: int, key: int) -> Any:
        w = np.random.default_rng(key).standard_normal((n, sample.n_features)) / self.width
        return np.column_stack([w / sample.scale, np.zeros(n)])

    def profile(self, z: Any) -> Any:
        return np.cos(z)

    def slope(self, z: Any) -> Any:
        return -np.sin(z)


class Bounded(SquaredHinge):
    """A loss of a user's own."""

    def __init__(self, bound: float = 2.0) -> None:
        self.bound = bound


def sample(n_classes: int = 2, n_samples: int = 90) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.where((X := rng.random((n_samples, 3))) > 0.3, X, 0.0)
    y = (np.digitize(X[:, 1], [0.3, 0.7]) + (rng.random(n_samples) < 0.2)) % n_classes
    return X, y


def fit(n_classes: int = 2, make: Callable[[Any], Any] = np.asarray, **changes: Any) -> Any:
    X, y = sample(n_classes)
    settings = {"max_iter": 7, "random_state": 0, **changes}
    return FCGBoostClassifier(**settings).fit(make(X), y)


def search() -> FCGBoostClassifierCV:
    X, y = sample()
    return FCGBoostClassifierCV(
        ["gauss", "relu"], [0.01, "auto"], cv=2, max_iter=4, random_state=0
    ).fit(X, y)


def table(n_samples: int = 90) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = sample(n_samples=n_samples)
    frame = pd.DataFrame({"size": X[:, 0], "größe \u0001": X[:, 1], "one": 1})
    frame["colour"] = np.array(["red", "blue", 'a "quote"', "rare"])[
        np.r_[3, np.arange(n_samples - 1) % 3]
    ]
    frame["day"] = pd.Timestamp("2024-02-29") + pd.to_timedelta(np.arange(n_samples), unit="D")
    frame.loc[[3, 5], "size"] = np.nan
    frame.loc[7, "colour"] = None
    return frame, np.array(["no", "yes"])[y]


def pipeline() -> Pipeline:
    X, y = table()
    steps = [("table", TableEncoder(max_levels=8)), ("boost", FCGBoostClassifier(max_iter=5))]
    return Pipeline(steps).fit(X, y)


MODELS: dict[str, Callable[[], Any]] = {
    **{
        f"{dictionary}, {loss}": functools.partial(fit, dictionary=dictionary, loss=loss)
        for dictionary in DICTIONARIES
        for loss in LOSSES
    },
    "three classes": lambda: fit(3),
    "three classes, classical": lambda: fit(3, scheme="shrinkage", loss="hinge"),
    "sparse matrix": lambda: fit(make=sparse.csr_matrix),
    "sparse array, three classes": lambda: fit(3, make=sparse.csr_array, loss="square"),
    "validation": lambda: fit(validation_fraction=0.3, scheme=Shrinkage(0.5)),
    "early stopping": lambda: fit(n_iter_no_change=2, max_iter=40),
    "sampled": lambda: fit(selection=SampledCandidates(9), l2=0.0, solver=AdmmSolver(max_iter=9)),
    "truncated": lambda: fit(3).truncate(3),
    "no atoms": lambda: fit().truncate(0),
    "no atoms, sparse": lambda: fit(make=sparse.csr_array).truncate(0),
    "names": lambda: FCGBoostClassifier(max_iter=3).fit(
        pd.DataFrame(sample()[0], columns=["a\n", "é\u2028", "\U0001f600\0"]), sample()[1]
    ),
    "search": search,
    "truncated search": lambda: search().truncate(2),
    "pipeline": pipeline,
}
MODELS = {name: functools.cache(make) for name, make in MODELS.items()}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def rows_of(model: Any) -> Any:
    if isinstance(model, Pipeline):
        return table(20)[0]
    X = np.random.default_rng(1).random((20, model.n_features_in_))
    names_in = getattr(model, "feature_names_in_", None)
    return X if names_in is None else pd.DataFrame(X, columns=names_in)


def classifier_of(model: Any) -> Any:
    return split_model(model)[1]


def assert_identical(first: Any, second: Any) -> None:
    assert type(first) is type(second)
    if sparse.issparse(first):
        assert first.shape == second.shape
        for name in ("data", "indices", "indptr"):
            assert_identical(getattr(first, name), getattr(second, name))
    elif isinstance(first, np.ndarray):
        assert (first.dtype, first.shape) == (second.dtype, second.shape)
        is_object = first.dtype == object
        assert first.tolist() == second.tolist() if is_object else bytes(first) == bytes(second)
    elif isinstance(first, Step | Trace):
        for name, value in vars(first).items():
            assert_identical(value, vars(second)[name])
    elif isinstance(first, tuple | list):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_identical(one, other)
    else:
        assert repr(first) == repr(second)


def assert_same_model(first: Any, second: Any, *, has_path: bool = True) -> None:
    """Compare two classifiers bit by bit, in all that they can do."""
    X = rows_of(first)
    methods = ["predict", "decision_function"]
    methods += ["staged_predict", "staged_decision_function"] if has_path else []
    if isinstance(first._loss_, ProbabilityLoss):
        methods += ["predict_proba", *(["staged_predict_proba"] if has_path else [])]
    for method in methods:
        values = [getattr(model, method)(X) for model in (first, second)]
        assert_identical(*(v if isinstance(v, np.ndarray) else list(v) for v in values))
    for name in ("atoms_", "coef_", "intercept_", "classes_", "n_iter_", "n_features_in_"):
        assert_identical(getattr(first, name), getattr(second, name))
    assert_identical(first.model_.scale, second.model_.scale)
    assert_identical(first.model_.entered, second.model_.entered)
    assert_identical(first.feature_importances_, second.feature_importances_)
    assert first.status_ is second.status_
    if hasattr(first, "feature_names_in_"):
        assert_identical(first.feature_names_in_, second.feature_names_in_)
    if has_path:
        assert_identical(first.trace_, second.trace_)
        for k in range(len(first.trace_) + 1):
            short = [model.truncate(k).decision_function(X) for model in (first, second)]
            assert_identical(*short)


def round_trip(model: Any, path: Path, **options: Any) -> Any:
    save_model(model, path, **options)
    return load_model(path)


def valid(path: Path) -> dict[str, Any]:
    """Give the document in a file, which the published schema accepts."""
    document = json.loads(path.read_text("utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document


# Round trips


@each_model
def test_a_model_comes_back_to_the_last_bit(make: Callable[[], Any], tmp_path: Path) -> None:
    model = make()
    back = round_trip(model, tmp_path / "model.json")
    assert_same_model(classifier_of(model), classifier_of(back))
    if isinstance(model, Pipeline):
        assert_identical(model.predict_proba(rows_of(model)), back.predict_proba(rows_of(model)))
    save_model(back, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()
    valid(tmp_path / "model.json")
    assert sorted(os.listdir(tmp_path)) == ["again.json", "model.json"]


@each_model
def test_without_its_path_a_model_predicts_the_same(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    model = make()
    back = round_trip(model, tmp_path / "model.json", trace=False)
    assert_same_model(classifier_of(model), classifier_of(back), has_path=False)
    save_model(back, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()
    assert valid(tmp_path / "model.json")["path"] is None


def test_without_its_path_a_model_says_so(tmp_path: Path) -> None:
    model = round_trip(fit(), tmp_path / "model.json", trace=False)
    X = rows_of(model)
    assert (len(model.trace_), model.n_iter_) == (0, 7)
    assert_identical(model.truncate(7).decision_function(X), model.decision_function(X))
    for act in (lambda: model.truncate(6), lambda: next(model.staged_predict(X))):
        with pytest.raises(ValueError, match=r"saved without its path .* all its 7 steps"):
            act()


def test_a_fresh_interpreter_gives_the_same_bits(tmp_path: Path) -> None:
    model = MODELS["gauss, squared_hinge"]()
    model.save_model(tmp_path / "model.json")
    X = rows_of(model)
    np.save(tmp_path / "X.npy", X)
    program = (
        "import sys, numpy as np; from fcgboost.io import load_model\n"
        f"model, X = load_model({str(tmp_path / 'model.json')!r}), np.load(sys.argv[1])\n"
        "print(model.predict_proba(X).tobytes().hex(), repr(model), sep='|', end='')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "X.npy")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{model.predict_proba(X).tobytes().hex()}|{model!r}"


@settings(max_examples=25)
@given(data=st.data())
def test_any_small_fit_comes_back(data: st.DataObject, tmp_path_factory: Any) -> None:
    n_classes = data.draw(st.integers(2, 4))
    texts = st.text(max_size=5).map(lambda text: text.rstrip("\0"))
    labels = data.draw(
        st.one_of(
            st.lists(st.integers(-(2**63), 2**63 - 1), min_size=n_classes, max_size=4, unique=True),
            st.lists(texts, min_size=n_classes, max_size=4, unique=True),
        )
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    scale = 10.0 ** data.draw(st.integers(-6, 6))
    X = scale * rng.integers(-9, 9, size=(30, 2)) / 3.0
    y = np.array(labels)[np.arange(30) % len(labels)]
    model = FCGBoostClassifier(
        data.draw(st.sampled_from(DICTIONARIES)),
        data.draw(st.sampled_from(LOSSES)),
        data.draw(st.sampled_from(["fully_corrective", "rescaled", "epsilon"])),
        max_iter=data.draw(st.integers(1, 5)),
        fit_intercept=data.draw(st.booleans()),
        standardize=data.draw(st.booleans()),
        validation_fraction=data.draw(st.sampled_from([None, 0.3])),
    ).fit(X, y)
    path = tmp_path_factory.mktemp("fit") / "model.json"
    back = round_trip(model, path)
    assert_identical(model.decision_function(X), back.decision_function(X))
    assert_identical(model.predict(X), back.predict(X))
    assert_identical(model.trace_, back.trace_)
    assert_identical(model.classes_, back.classes_)
    assert encode(back.to_content(trace=True, about=None)) == path.read_bytes()
    valid(path)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([False, True]),
        np.array([-128, 127], dtype=np.int8),
        np.array([0, 2**64 - 1], dtype=np.uint64),
        np.array([-(2**63), 2**63 - 1]),
        np.array([-1.0, 1.0], dtype=np.float32),
        np.array([0.0, 65504.0], dtype=np.float16),
        np.array(["", "a"], dtype="U9"),
        np.array(["\t\n\x7f\x80", "\U0001f600 é"]),
        np.array(["half \ud800", "x"]),
        np.array(["a\0", "b" * 5000], dtype=object),
        np.array([np.str_("no"), "yes"], dtype=object),
    ],
    ids=lambda labels: ascii(labels.dtype),
)
def test_class_labels_keep_their_type(labels: np.ndarray, tmp_path: Path) -> None:
    X, y = sample()
    model = FCGBoostClassifier(max_iter=2).fit(X, labels[y])
    back = round_trip(model, tmp_path / "model.json")
    assert_identical(model.classes_, back.classes_)
    assert_identical(model.predict(X), back.predict(X))
    valid(tmp_path / "model.json")


@pytest.mark.parametrize(
    "changes",
    [
        {"dictionary": GaussDictionary(width=np.float32(0.1), centers="box", scaling="max")},
        {"dictionary": PolynomialDictionary(degree=np.int64(2), q=np.float64(1 / 3))},
        {"dictionary": SigmoidDictionary(slope_range=[1, 2.5])},
        {"dictionary": SigmoidDictionary(slope_range=np.array([1.0, 2.0]))},
        {"scheme": FullyCorrective(AdmmSolver(alpha=0.5)), "selection": AllCandidates(True)},
        {"class_weight": {np.int64(0): 2, 1: np.float64(0.1)}, "n_jobs": np.int32(-1)},
        {"class_weight": "balanced", "random_state": np.uint32(7), "verbose": False},
        {"max_iter": np.int64(3), "l2": np.float32(0.1), "tol": 0, "fit_intercept": np.False_},
        {"n_candidates": 50, "normalize": True, "reselect": True, "standardize": False},
        {"validation_fraction": 0.25, "n_iter_no_change": 5, "scoring": "roc_auc"},
        {"max_iter": "theory", "warm_start": True},
    ],
    ids=str,
)
def test_parameters_come_back(changes: dict[str, Any], tmp_path: Path) -> None:
    model = fit(**changes)
    back = round_trip(model, tmp_path / "model.json")
    old, new = (m.get_params(deep=False) for m in (model, back))
    plain = {
        name: value
        for name, value in old.items()
        if not isinstance(value, np.generic | GaussDictionary | SigmoidDictionary)
    }
    for name in plain.keys() - {"dictionary", "class_weight"}:
        assert repr(new[name]) == repr(old[name])
    assert float(new["l2"]) == float(old["l2"]) if old["l2"] != "auto" else new["l2"] == "auto"
    assert new["class_weight"] == old["class_weight"]
    assert repr(clone(back)) == repr(back)
    X, y = sample()
    assert_identical(clone(back).fit(X, y).decision_function(X), model.decision_function(X))


def test_what_belongs_to_one_machine_stays_behind(tmp_path: Path) -> None:
    model = fit(
        scoring=make_scorer(accuracy_score),
        validation_fraction=0.3,
        random_state=np.random.RandomState(0),
        checkpoint=tmp_path / "checkpoint",
    ).set_params(device="cuda")
    back = round_trip(model, tmp_path / "model.json")
    assert (back.scoring, back.random_state, back.checkpoint) == (None, None, None)
    assert back.device == "cuda"
    assert str(tmp_path) not in (tmp_path / "model.json").read_text()


def test_a_search_is_saved_as_what_it_found(tmp_path: Path) -> None:
    found = MODELS["search"]()
    back = round_trip(found, tmp_path / "model.json")
    assert type(back) is FCGBoostClassifier
    assert repr(back) == repr(found.best_estimator_)
    found.truncate(2).save_model(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").n_iter_ == 2


@pytest.mark.extras
def test_a_model_of_a_cluster_is_saved_as_a_local_one(tmp_path: Path) -> None:
    dask = pytest.importorskip("fcgboost.dask", reason="Dask is not installed")
    local = fit()
    spread = dask.DaskFCGBoostClassifier(**local.get_params(deep=False))
    fitted = {name: value for name, value in vars(local).items() if name.endswith("_")}
    vars(spread).update(fitted)
    back = round_trip(spread, tmp_path / "model.json")
    assert type(back) is FCGBoostClassifier
    assert_same_model(local, back)


def test_odd_numbers_of_a_path_come_back(tmp_path: Path) -> None:
    model = fit()
    steps = list(model.trace_)
    odd = np.array([-np.inf])
    values = {"scores": odd, "objectives": np.array([np.nan]), "residual": np.inf}
    steps[2] = Step(**{**vars(steps[2]), **values, "validation_score": -np.inf, "seconds": 0})
    model.trace_ = Trace(**{**vars(model.trace_), "steps": tuple(steps)})
    back = round_trip(model, tmp_path / "model.json")
    assert_identical(vars(back.trace_[2]), vars(Step(**{**vars(steps[2]), "seconds": 0.0})))
    valid(tmp_path / "model.json")


def test_atoms_keep_their_type(tmp_path: Path) -> None:
    model = fit()
    narrow = model.model_.atoms.astype(np.float32)
    model.model_ = type(model.model_)(**{**model.model_.__getstate__(), "atoms": narrow})
    back = round_trip(model, tmp_path / "model.json", trace=False)
    assert_identical(back.atoms_, narrow)
    X = rows_of(model)
    assert_identical(back.decision_function(X), model.decision_function(X))


# What a loaded model can do


def test_a_loaded_model_can_be_pickled_copied_and_fitted_again(tmp_path: Path) -> None:
    model = round_trip(fit(), tmp_path / "model.json", about={"a": 1})
    X, y = sample()
    twin = pickle.loads(pickle.dumps(model))
    assert_same_model(model, twin)
    assert twin.about_ == {"a": 1}
    again = model.fit(X, y)
    assert again.about_ == {}
    assert_identical(again.feature_importances_, fit().feature_importances_)


def test_what_a_file_says_about_one_model_it_does_not_say_about_another(tmp_path: Path) -> None:
    model = round_trip(fit(), tmp_path / "model.json", about={"score": 0.9})
    assert model.truncate(7).about_ == {"score": 0.9}
    assert model.truncate(3).about_ == {}
    with pytest.raises(AttributeError, match="for the model as it was saved"):
        _ = model.truncate(3).feature_importances_
    short = round_trip(model.truncate(3), tmp_path / "short.json")
    assert valid(tmp_path / "short.json")["feature_importances"] is None
    with pytest.raises(AttributeError, match="as it was saved"):
        _ = short.feature_importances_


def test_the_importances_of_a_loaded_model_are_its_own(tmp_path: Path) -> None:
    model = round_trip(fit(), tmp_path / "model.json")
    expected = model.feature_importances_.copy()
    model.feature_importances_[:] = 0.0
    assert_identical(model.feature_importances_, expected)


def test_a_fitted_model_that_was_never_saved_says_nothing_about_itself() -> None:
    assert fit().about_ == {}
    with pytest.raises(NotFittedError):
        _ = FCGBoostClassifier().about_


def test_about_travels_along(tmp_path: Path) -> None:
    about = {"target": "y", "data": {"n": np.int64(3)}, "scores": [0.1, None, {"é\0": True}]}
    model = fit()
    model.save_model(tmp_path / "model.json", about=about)
    back = load_model(tmp_path / "model.json")
    assert back.about_ == {**about, "data": {"n": 3}}
    back.save_model(tmp_path / "again.json", about={"new": 1.0})
    assert load_model(tmp_path / "again.json").about_ == {"new": 1.0}


@pytest.mark.parametrize(
    ("about", "error", "match"),
    [
        ([1], TypeError, "keys, also inside, are strings"),
        ({"a": [{1: 2}]}, TypeError, "keys, also inside, are strings"),
        ({"a": np.nan}, ValueError, "what JSON can hold"),
        ({"a": {1, 2}}, TypeError, "what JSON can hold: a set is none"),
        ({"a": "x" * 2**20}, ValueError, "more than 1048576 characters"),
        ({"a": functools.reduce(lambda v, _: [v], range(40), 0)}, ValueError, "more than 32"),
    ],
    ids=["list", "number as a key", "NaN", "set", "long", "deep"],
)
def test_an_about_that_cannot_travel_is_refused(
    about: Any, error: type, match: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=match):
        fit().save_model(tmp_path / "model.json", about=about)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("dictionary", DICTIONARIES)
def test_the_page_about_the_format_tells_how_to_predict(
    dictionary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[1] / "docs" / "model-file.md").read_text("utf-8")
    _, *blocks = page.split("```python\n")
    program = next(block.partition("```")[0] for block in blocks if "def decision" in block)
    monkeypatch.chdir(tmp_path)
    model = fit(3, dictionary=dictionary)
    model.save_model("model.json", trace=False)
    names: dict[str, Any] = {}
    exec(program, names)
    X = sample(n_samples=20)[0]
    values = [names["decision"](names["document"], x) for x in X.tolist()]
    np.testing.assert_allclose(values, model.decision_function(X), rtol=1e-12, atol=1e-12)


# Models and their parts


def test_models_are_split_and_made() -> None:
    model = MODELS["pipeline"]()
    encoder, classifier = split_model(model)
    assert (encoder, classifier) == (model[0], model[1])
    again = make_model(encoder, classifier)
    assert list(again.named_steps) == ["encoder", "classifier"]
    assert split_model(again) == (encoder, classifier)
    alone = fit()
    assert split_model(alone) == (None, alone)
    assert make_model(None, alone) is alone
    assert split_model(make_pipeline("passthrough", alone)) == (None, alone)


@pytest.mark.parametrize(
    ("model", "error", "match"),
    [
        (LogisticRegression(), TypeError, "A model is a fitted classifier .* LogisticRegression"),
        (FCGBoostClassifier, TypeError, "A model is"),
        (FCGBoostClassifier(), NotFittedError, "not fitted"),
        (FCGBoostClassifierCV(refit=False), NotFittedError, "not fitted"),
        (make_pipeline(StandardScaler(), FCGBoostClassifier()), TypeError, "StandardScaler"),
        (make_pipeline(TableEncoder(), LogisticRegression()), TypeError, "LogisticRegression"),
        (make_pipeline(TableEncoder(), FCGBoostClassifier()), NotFittedError, "not fitted"),
    ],
    ids=str,
)
def test_what_is_no_model_is_refused(model: Any, error: type, match: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=match):
        save_model(model, tmp_path / "model.json")


def test_a_search_without_refit_has_no_model_to_save(tmp_path: Path) -> None:
    X, y = sample()
    found = FCGBoostClassifierCV(["relu"], cv=2, max_iter=2, refit=False).fit(X, y)
    with pytest.raises(NotFittedError):
        save_model(found, tmp_path / "model.json")
    with pytest.raises(NotFittedError):
        found.save_model(tmp_path / "model.json")


def test_parts_of_the_users_own_are_matched_by_name(tmp_path: Path) -> None:
    model = fit(dictionary=Waves(width=0.5), loss=Bounded(bound=np.inf))
    model.save_model(tmp_path / "model.json")
    back = load_model(tmp_path / "model.json", parts=[Waves, Bounded])
    assert repr(back) == repr(model)
    assert_same_model(model, back)
    valid(tmp_path / "model.json")
    with pytest.raises(ModelFileError, match=r"'Waves'.*parts=\[\.\.\.\]"):
        load_model(tmp_path / "model.json")
    with pytest.raises(ModelFileError, match="Bounded"):
        load_model(tmp_path / "model.json", parts=[Waves])


def test_whatever_a_users_part_raises_is_a_refusal(tmp_path: Path) -> None:
    class Moody(Waves):
        def check_parameters(self) -> None:
            if self.width > 1.0:
                raise KeyError("too wide")

    model = fit(dictionary=Moody(width=0.5))
    model.save_model(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text().replace('"width":0.5', '"width":2.5')
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(ModelFileError, match="is refused: 'too wide'") as caught:
        load_model(tmp_path / "model.json", parts=[Moody])
    assert isinstance(caught.value.__cause__, KeyError)


def test_parts_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    class GaussDictionary(Waves):
        pass

    model = fit(dictionary=GaussDictionary())
    with pytest.raises(ValueError, match=r"two parts named GaussDictionary.*rename yours"):
        model.save_model(tmp_path / "model.json")
    fit().save_model(tmp_path / "model.json")
    with pytest.raises(ValueError, match="two parts named GaussDictionary"):
        load_model(tmp_path / "model.json", parts=[GaussDictionary])
    for wrong in (GaussDictionary(), int, "GaussDictionary"):
        with pytest.raises(TypeError, match="parts must be classes"):
            load_model(tmp_path / "model.json", parts=[wrong])


def test_a_part_that_holds_something_else_cannot_be_saved(tmp_path: Path) -> None:
    model = fit()
    model.model_.dictionary.width = {"a": 1}
    with pytest.raises(TypeError, match=r"GaussDictionary: width=\{'a': 1\} cannot be saved"):
        model.save_model(tmp_path / "model.json")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "value"), [("max_iter", 0), ("l2", "much"), ("loss", "logistic"), ("tol", np.nan)]
)
def test_parameters_that_became_wrong_after_the_fit_are_refused(
    name: str, value: Any, tmp_path: Path
) -> None:
    model = fit().set_params(**{name: value})
    with pytest.raises(ValueError, match=rf"cannot be saved: in its file, \$\.parameters\.{name}"):
        model.save_model(tmp_path / "model.json")


def test_a_model_of_numbers_that_are_not_finite_cannot_be_saved(tmp_path: Path) -> None:
    model = fit()
    broken = {**model.model_.__getstate__(), "intercept": np.array([np.nan])}
    model.model_ = type(model.model_)(**broken)
    with pytest.raises(ValueError, match=r"\$\.model\.intercept\[0\] must be a finite number"):
        model.save_model(tmp_path / "model.json")
    model = fit()
    step = Step(**{**vars(model.trace_[0]), "intercept": np.array([np.inf])})
    model.trace_ = Trace(**{**vars(model.trace_), "steps": (step, *model.trace_[1:])})
    with pytest.raises(ValueError, match="save it with trace=False"):
        model.save_model(tmp_path / "model.json")


# Files


def test_a_small_model_is_a_small_readable_file(tmp_path: Path) -> None:
    from fcgboost.datasets import make_simulation

    X, y = make_simulation(1000, noise="uniform", level=0.3, random_state=0)
    model = FCGBoostClassifier("relu", max_iter="theory", random_state=0).fit(X, y)
    model.save_model(tmp_path / "model.json", trace=False)
    text = (tmp_path / "model.json").read_text()
    assert model.n_atoms_ == 13
    assert len(text) < 2600
    assert sum(line.startswith('{"step":') for line in text.splitlines()) == 13
    assert max(map(len, text.splitlines())) < 120


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.json"
    fit().save_model(path)
    old = path.read_bytes()

    def fail(*args: Any) -> None:
        raise OSError("the disk is full")

    for function in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(fcgboost.files.os, function, fail)
            with pytest.raises(OSError, match="the disk is full"):
                fit(3).save_model(path)
        assert path.read_bytes() == old
        assert os.listdir(tmp_path) == ["model.json"]
    fit(3).save_model(path)
    assert len(load_model(str(path)).classes_) == 3


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"The folder .*nowhere .* does not exist"):
        fit().save_model(tmp_path / "nowhere" / "model.json")


def write_text(text: str | bytes) -> Callable[[Path], object]:
    data = text.encode() if isinstance(text, str) else text
    return lambda path: path.write_bytes(data)


NO_MODELS: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "there is no such file"),
    "folder": (lambda path: path.mkdir(), "it is a folder"),
    "pipe": (lambda path: os.mkfifo(path), "it is no plain file"),
    "empty": (write_text(""), "the file is empty"),
    "blank": (write_text(" \n"), "the file is empty"),
    "gzip": (write_text(gzip.compress(b"{}")), "compressed .gzip.: decompress it first"),
    "zip": (write_text(b"PK\x03\x04..."), "zip archive, as NumPy's and fcgboost's checkpoints"),
    "pickle": (write_text(pickle.dumps({})), "a pickle, which load_model never reads"),
    "binary": (write_text(b"\x93NUMPY\xff"), "the file is binary, no text .byte 0."),
    "text": (write_text("hello"), "no JSON, or is cut off .*line 1, column 1"),
    "cut": (write_text('{"format": "fcgboost model", '), "no JSON, or is cut off"),
    "JSON": (write_text('{"learner": {}}'), "JSON, but no model file: its 'format'"),
    "list": (write_text("[1, 2]"), "JSON, but no model file"),
    "no version": (write_text('{"format": "fcgboost model"}'), "no model file"),
    "text as version": (
        write_text('{"format": "fcgboost model", "version": "1"}'),
        r"\$\.version must be a whole number",
    ),
    "future": (
        write_text('{"format": "fcgboost model", "version": 7, "new": []}'),
        r"later fcgboost \(format version 7; this one reads 1\): update fcgboost",
    ),
    "twice": (write_text('{"format": 1, "format": 1}'), "the key 'format' is there twice"),
    "NaN": (write_text('{"format": NaN}'), "the file holds NaN"),
    "overflow": (write_text("[1e999]"), "number '1e999' is larger"),
    "long whole number": (write_text("[" + "9" * 5000 + "]"), "the whole number .* is too large"),
    "long number": (write_text("[0." + "9" * 5000 + "]"), "longer than a float"),
    "deep": (write_text("[" * 100_000), "too many lists inside one another"),
    "deep objects": (write_text('{"a":' * 100_000), "too many lists inside one another"),
    "many": (write_text("[" + "[]," * 700_000 + "1]"), "more lists and objects than any model"),
}


@pytest.mark.parametrize(("make", "match"), NO_MODELS.values(), ids=NO_MODELS)
def test_what_is_no_model_file_is_refused_by_name(
    make: Callable[[Path], object], match: str, tmp_path: Path
) -> None:
    path = tmp_path / "model é.json"
    make(path)
    with pytest.raises(ModelFileError, match=match) as caught:
        load_model(path)
    assert str(caught.value).startswith(f"{str(path)!r}: ")
    assert len(str(caught.value)) < 400


def test_a_checkpoint_is_no_model_file(tmp_path: Path) -> None:
    fit(checkpoint=tmp_path / "path.npz")
    with pytest.raises(ModelFileError, match="checkpoints"):
        load_model(tmp_path / "path.npz")


def test_large_files_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ModelFileError, match="1099511627776 bytes, and max_bytes is 268435456"):
        load_model(path)
    fit().save_model(path)
    size = path.stat().st_size
    load_model(path, max_bytes=size)
    with pytest.raises(ModelFileError, match=f"has {size} bytes, and max_bytes is {size - 1}"):
        load_model(path, max_bytes=size - 1)


def test_a_file_that_may_not_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("fcgboost.documents.files.os.stat", refuse)
    with pytest.raises(ModelFileError, match=r"cannot be read .Permission denied.") as caught:
        load_model(tmp_path / "model.json")
    assert isinstance(caught.value.__cause__, PermissionError)


# Damage within a document: what is changed where, and what is said about it.

Keys = tuple[str | int, ...]
DAMAGE: dict[str, tuple[str, Keys, Any, str]] = {
    "unknown key": ("relu", ("extra",), 1, r"\$ has the unknown key 'extra'"),
    "unknown key inside": ("relu", ("model", "x y"), 1, r"\$\.model has the unknown key 'x y'"),
    "no scale": ("relu", ("model", "scale"), None, r"\$\.model\.scale must be a list, and is None"),
    "zero scale": ("relu", ("model", "scale", 1), 0, r"\$\.model\.scale must have positive"),
    "fewer features": ("relu", ("n_features",), 2, r"scale must have 2 entries, and has 3"),
    "huge features": ("relu", ("n_features",), 2**31 - 1, "must have 2147483647 entries"),
    "true as a number": ("relu", ("n_iter",), True, r"\$\.n_iter must be a whole number"),
    "float as a count": ("relu", ("n_iter",), 7.0, r"\$\.n_iter must be a whole number"),
    "fewer steps": ("relu", ("n_iter",), 6, r"\$\.n_iter is 6, and atoms .* entered later"),
    "more steps": ("relu", ("n_iter",), 8, "has 7 steps, fewer than n_iter, which is 8"),
    "a text in a row": (
        *("relu", ("model", "atoms", 3, "row", 1), "1"),
        r"\$\.model\.atoms\[3\]\.row\[1\] must be a finite number, and is '1'",
    ),
    "a short row": (
        *("relu", ("model", "atoms", 3, "row"), [1.0]),
        r"\$\.model\.atoms\[3\]\.row must have 4 entries, and has 1",
    ),
    "no row": ("relu", ("model", "atoms", 3), {"step": 4}, r"\$\.model\.atoms\[3\] lacks the key"),
    "steps that fall": ("relu", ("model", "atoms", 3, "step"), 1, r"atoms\[3\]\.step must be a"),
    "huge atoms": (
        *("relu", ("model", "storage", "n_parameters"), 2**31),
        "must be a whole number from 1 to",
    ),
    "wide atoms": ("relu", ("model", "storage", "n_parameters"), 2**20, "must be 4, one more than"),
    "unknown storage": ("relu", ("model", "storage", "kind"), "coo", "must be one of"),
    "other coefficients": (
        *("relu", ("model", "atoms", 0, "coef", 0), 0.5),
        r"\$\.path\.steps does not lead to the coefficients of the model",
    ),
    "coefficient too many": (
        *("relu", ("path", "steps", 2, "coef", 0), [1.0] * 4),
        r"\$\.path\.steps\[2\]\.coef\[0\] must have 3 entries, and has 4",
    ),
    "an atom that is not there": (
        *("relu", ("path", "steps", 0, "chosen", 0), 99),
        r"chosen\[0\] must be a whole number from -1 to 6",
    ),
    "an atom out of order": (
        *("relu", ("path", "steps", 0, "chosen", 0), 1),
        r"steps\[0\]\.chosen does not fit the steps",
    ),
    "an atom that nobody chose": (
        *("relu", ("path", "steps", 6, "chosen", 0), 0),
        r"steps\[6\]\.coef\[0\] must have 6 entries",
    ),
    "unknown status": ("relu", ("status",), "DONE", r"\$\.status must be one of"),
    "width zero": ("gauss", ("model", "atoms", 2, "row", -1), 0.0, r"positive width.*\[2\]"),
    "unknown part": (
        *("relu", ("model", "dictionary", "part"), "os.system"),
        r"\$\.model\.dictionary\.part is 'os\.system', which is no part of fcgboost",
    ),
    "a loss as dictionary": (
        *("relu", ("model", "dictionary"), {"part": "Hinge", "parameters": {}}),
        "must be a dictionary, and Hinge is none",
    ),
    "unknown parameter": (
        *("relu", ("model", "dictionary", "parameters", "shell"), "ls"),
        "has 'shell', which ReluDictionary does not take",
    ),
    "refused parameter": (
        *("relu", ("model", "dictionary", "parameters", "weights"), "dense"),
        "is refused: ReluDictionary: weights must be one of",
    ),
    "a degree without end": (
        *("polynomial", ("model", "dictionary", "parameters", "degree"), 10**9),
        "is refused: a degree of more than 1000",
    ),
    "a scheme without solver": (
        *("relu", ("parameters", "scheme"), {"part": "FullyCorrective", "parameters": {}}),
        "",
    ),
    "a scheme with a wrong solver": (
        "relu",
        ("parameters", "scheme"),
        {"part": "FullyCorrective", "parameters": {"solver": [1]}},
        "is refused: the solver is none",
    ),
    "a part in a part": (
        "gauss",
        ("model", "dictionary", "parameters", "width"),
        {"part": "Hinge", "parameters": {}},
        "has a part as 'width'",
    ),
    "one class": ("relu", ("classes", "values"), [0], "must have two entries or more"),
    "classes twice": ("relu", ("classes", "values"), [1, 1], "must grow from one label"),
    "three classes": ("relu", ("classes", "values"), [0, 1, 2], "must have 3 entries"),
    "text as classes": ("relu", ("classes", "values"), ["0", "1"], "labels of the type int64 only"),
    "small type": ("relu", ("classes",), {"dtype": "int8", "values": [0, 300]}, "that are no int8"),
    "wide type": ("relu", ("classes", "dtype"), "U9999999", "labels too large"),
    "odd type": ("relu", ("classes", "dtype"), "O8; import os", "must be a type of labels"),
    "names": ("relu", ("feature_names",), ["a"], r"\$\.feature_names must have 3 entries"),
    "seed": ("relu", ("parameters", "random_state"), -1, r"random_state must be a whole number"),
    "jobs": ("relu", ("parameters", "n_jobs"), 0, "n_jobs must not be 0"),
    "weights": (
        *("relu", ("parameters", "class_weight"), [[0, 1.0], [0, 2.0]]),
        "names a class twice",
    ),
    "fraction": ("relu", ("parameters", "validation_fraction"), 1, "must be less than 1"),
    "about": ("relu", ("about",), [], r"\$\.about must be an object, and is a list of 0 entries"),
    "an atom twice in a row": (
        *("sparse", ("model", "atoms", 0, "places"), [1, 1]),
        "places must grow from one place to the next",
    ),
    "a place too far": ("sparse", ("model", "atoms", 0, "places"), [9], "from 0 to 3"),
    "a value too many": ("sparse", ("model", "atoms", 0, "values"), [1.0] * 9, "must have"),
    "column kind": ("pipeline", ("encoder", "columns", 0, "kind"), "date", "must be one of"),
    "no column kind": ("pipeline", ("encoder", "columns", 0), {}, "lacks the key 'kind'"),
    "columns": ("pipeline", ("encoder", "columns"), [], "gives 0 numbers per row"),
    "levels": (
        *("pipeline", ("encoder", "columns", 3, "levels"), ["b", "a"]),
        "levels must grow from one level to the next",
    ),
    "one name": ("pipeline", ("encoder", "columns", 0, "name"), "one", "two columns of one name"),
    "long names": (
        *("pipeline", ("encoder", "columns", 3, "name"), "x" * 10**7),
        "too long for a model file",
    ),
}


@functools.cache
def document(name: str) -> str:
    makers: dict[str, Callable[[], Any]] = {
        "relu": MODELS["relu, squared_hinge"],
        "gauss": MODELS["gauss, squared_hinge"],
        "polynomial": MODELS["polynomial, squared_hinge"],
        "sparse": MODELS["sparse matrix"],
        "pipeline": MODELS["pipeline"],
    }
    encoder, classifier = split_model(makers[name]())
    content = classifier.to_content(trace=True, about=None)
    return encode(type(content)(**{**vars(content), "encoder": encoder})).decode()


@pytest.mark.parametrize(("seed", "keys", "value", "match"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_named_with_its_place(
    seed: str, keys: Keys, value: Any, match: str, tmp_path: Path
) -> None:
    damaged = json.loads(document(seed))
    inside = functools.reduce(lambda holder, key: holder[key], keys[:-1], damaged)
    inside[keys[-1]] = value
    path = tmp_path / "model.json"
    path.write_text(json.dumps(damaged))
    if not match:
        load_model(path)
        return
    with pytest.raises(ModelFileError, match=match) as caught:
        load_model(path)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("seed", ["relu", "sparse", "pipeline"])
def test_every_key_is_needed(seed: str, tmp_path: Path) -> None:
    """Parameters of parts aside, which have defaults, and keys of the user's own."""

    def holders(value: Any, place: tuple[Any, ...] = ()) -> Any:
        if isinstance(value, dict):
            if place[-1:] not in [("parameters",), ("about",)] or place == ("parameters",):
                yield from ((place, key) for key in value)
            for key, inside in value.items():
                yield from holders(inside, (*place, key))
        elif isinstance(value, list) and value:
            yield from holders(value[-1], (*place, -1))

    path = tmp_path / "model.json"
    found = list(holders(json.loads(document(seed))))
    assert len(found) > 50
    for place, key in found:
        damaged = json.loads(document(seed))
        del functools.reduce(lambda holder, step: holder[step], place, damaged)[key]
        path.write_text(json.dumps(damaged))
        with pytest.raises(ModelFileError, match=r"lacks the key|no model file"):
            load_model(path)


def test_a_path_that_is_larger_in_memory_than_in_its_file_is_refused(tmp_path: Path) -> None:
    """Every step of a thousand outputs names all of them, and holds them times all atoms."""
    n, n_steps = 1000, 20
    model = json.loads(document("relu"))
    model["classes"]["values"] = list(range(n))
    model["model"].update(intercept=[0.0] * n, atoms=[])
    model.update(n_iter=0)
    row = {"row": [0.0] * 4}
    model["path"].update(start=[0.0] * n, endings=[None] * n)
    model["path"]["atoms"] = [{"step": k + 1, **row} for k in range(n_steps) for _ in range(n)]
    step = {**model["path"]["steps"][0], "scores": [0.0] * n, "objectives": [0.0] * n}
    step.update(intercept=[0.0] * n)
    model["path"]["steps"] = [
        {**step, "chosen": list(range(k * n, k * n + n)), "coef": [[0.0] * (k + 1)] * n}
        for k in range(n_steps)
    ]
    path = tmp_path / "model.json"
    path.write_text(json.dumps(model, separators=(",", ":")))
    with pytest.raises(ModelFileError, match="too much memory: pass a larger max_bytes"):
        load_model(path, max_bytes=path.stat().st_size)


def test_numbers_may_be_written_as_others_write_them(tmp_path: Path) -> None:
    text = document("relu").replace("{", "{\n\t").replace('"tol": 1e-06', '"tol": 0.000001')
    path = tmp_path / "model.json"
    path.write_text(text.replace("0.0,", "0,"), encoding="utf-8")
    model = load_model(path)
    assert_identical(model.coef_, MODELS["relu, squared_hinge"]().coef_)
    assert model.tol == 1e-6


def test_the_schema_is_one_and_refuses_what_the_loader_refuses(tmp_path: Path) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.check_schema(SCHEMA)
    refused = 0
    for seed, keys, value, match in DAMAGE.values():
        damaged = json.loads(document(seed))
        inside = functools.reduce(lambda holder, key: holder[key], keys[:-1], damaged)
        inside[keys[-1]] = value
        is_refused = not validator.is_valid(damaged)
        assert match or not is_refused
        refused += is_refused
    assert refused > len(DAMAGE) / 3
