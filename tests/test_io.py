"""A model in a file comes back to the last bit; what is no model is refused with a reason."""

import functools
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fcgboost.files
from fcgboost import (
    AdmmSolver,
    AllCandidates,
    FCGBoostClassifier,
    FullyCorrective,
    GaussDictionary,
    PolynomialDictionary,
    SigmoidDictionary,
)
from fcgboost.checks import check_rows
from fcgboost.dictionaries import TreeDictionary
from fcgboost.documents import encode
from fcgboost.io import load_model, save_model
from fcgboost.stopping import Step
from tests.suites.models import (
    DICTIONARIES,
    LOSSES,
    MODELS,
    assert_identical,
    assert_same_model,
    codes_of,
    fit,
    rows_of,
    sample,
    union,
    valid,
)

CIRCLE: dict[str, Any] = {}
CIRCLE["a"] = (1, [CIRCLE])
#: Every dictionary and every loss is in a model that is not here.
VARIANTS = {
    f"{dictionary}, {loss}"
    for (i, dictionary), (j, loss) in product(enumerate(DICTIONARIES), enumerate(LOSSES))
    if i != j
} | {"removal, three classes", "union, three classes", "folds of a table, truncated"}
each_model = pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, marks=[pytest.mark.slow] if name in VARIANTS else [], id=name)
        for name, make in MODELS.items()
    ],
)


def round_trip(model: Any, path: Path, **options: Any) -> Any:
    save_model(model, path, **{"trace": True, **options})
    return load_model(path)


def change_member(classifier: Any, **changes: Any) -> None:
    """Change the only member of a classifier."""
    (member,) = classifier.members_
    classifier.members_ = (replace(member, **changes),)


# Round trips


@each_model
def test_a_model_comes_back_to_the_last_bit(make: Callable[[], Any], tmp_path: Path) -> None:
    model = make()
    back = round_trip(model, tmp_path / "model.json")
    assert_same_model(model, back)
    save_model(back, tmp_path / "again.json", trace=True)
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()
    valid(tmp_path / "model.json")
    assert sorted(os.listdir(tmp_path)) == ["again.json", "model.json"]


@each_model
def test_without_its_path_a_model_predicts_the_same(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    model = make()
    back = round_trip(model, tmp_path / "model.json", trace=False)
    assert_same_model(model, back, has_path=False)
    save_model(back, tmp_path / "again.json", trace=True)
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()
    assert all(member["path"] is None for member in valid(tmp_path / "model.json")["members"])


def test_without_its_path_a_model_says_so(tmp_path: Path) -> None:
    model = round_trip(fit(), tmp_path / "model.json", trace=False)
    X = rows_of(model)
    assert (len(model.trace_), model.n_iter_) == (0, 7)
    assert_identical(model.truncate(7).decision_function(X), model.decision_function(X))
    for act in (lambda: model.truncate(6), lambda: next(model.staged_predict(X))):
        with pytest.raises(ValueError, match=r"without its path.* all 7 steps"):
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
    assert encode(back) == path.read_bytes()
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
        np.array(["a\0", "b" * 5000], dtype=object),
        np.array([np.str_("no"), "yes"], dtype=object),
    ],
    ids=lambda labels: ascii(labels.dtype),
)
def test_class_labels_keep_their_type(labels: np.ndarray, tmp_path: Path) -> None:
    X, y = sample()
    model = FCGBoostClassifier("gauss", max_iter=2).fit(X, labels[y])
    back = round_trip(model, tmp_path / "model.json")
    assert_identical(model.classes_, back.classes_)
    assert_identical(model.predict(X), back.predict(X))
    valid(tmp_path / "model.json")


@pytest.mark.parametrize(
    "changes",
    [
        {"dictionary": GaussDictionary(width=np.float32(0.1), centers="box")},
        {"dictionary": PolynomialDictionary(degree=np.int64(2), q=np.float64(1 / 3))},
        {"dictionary": SigmoidDictionary(slope_range=[1, 2.5])},
        {"dictionary": SigmoidDictionary(slope_range=np.array([1.0, 2.0]))},
        {"scheme": FullyCorrective(AdmmSolver(alpha=0.5)), "selection": AllCandidates()},
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
    ).set_params(device="cuda")
    back = round_trip(model, tmp_path / "model.json")
    assert (back.scoring, back.random_state) == (None, None)
    assert back.device == "cuda"
    assert str(tmp_path) not in (tmp_path / "model.json").read_text()


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
    change_member(model, trace=replace(model.trace_, steps=tuple(steps)))
    back = round_trip(model, tmp_path / "model.json")
    assert_identical(vars(back.trace_[2]), vars(Step(**{**vars(steps[2]), "seconds": 0.0})))
    valid(tmp_path / "model.json")


def test_atoms_of_another_type_come_back_as_the_same_numbers(tmp_path: Path) -> None:
    model = fit()
    narrow = model.model_.atoms.astype(np.float32)
    change_member(model, model=replace(model.model_, atoms=narrow))
    back = round_trip(model, tmp_path / "model.json", trace=False)
    assert_identical(back.atoms_, narrow.astype(np.float64))
    X = rows_of(model)
    np.testing.assert_allclose(back.decision_function(X), model.decision_function(X), rtol=1e-5)


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
    with pytest.raises(AttributeError, match="for the model as saved"):
        _ = model.truncate(3).feature_importances_
    short = round_trip(model.truncate(3), tmp_path / "short.json")
    assert valid(tmp_path / "short.json")["feature_importances"] is None
    with pytest.raises(AttributeError, match="as saved"):
        _ = short.feature_importances_


def test_the_importances_of_a_loaded_model_are_its_own(tmp_path: Path) -> None:
    model = round_trip(fit(), tmp_path / "model.json")
    expected = model.feature_importances_.copy()
    model.feature_importances_[:] = 0.0
    assert_identical(model.feature_importances_, expected)


def test_a_fitted_model_that_was_never_saved_says_nothing_about_itself() -> None:
    assert fit().about_ == {}
    with pytest.raises(NotFittedError):
        _ = FCGBoostClassifier("gauss").about_


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
        ([1], TypeError, "must be a dict, got list"),
        ({"a": [{1: 2}]}, TypeError, "strings as keys, also in nested"),
        (CIRCLE, ValueError, "Circular reference"),
        ({"a": np.nan}, ValueError, "representable in JSON"),
        ({"a": {1, 2}}, TypeError, "representable in JSON, got a set"),
        ({"a": "x" * 2**20}, ValueError, "more than 1048576 characters"),
        ({"a": functools.reduce(lambda v, _: [v], range(40), 0)}, ValueError, "more than 32"),
    ],
    ids=["list", "number as a key", "circle", "NaN", "set", "long", "deep"],
)
def test_an_about_that_cannot_travel_is_refused(
    about: Any, error: type, match: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=match):
        fit().save_model(tmp_path / "model.json", about=about)
    assert os.listdir(tmp_path) == []


CODES = {
    "trees of codes": functools.partial(codes_of, n=9),
    "trees of many codes": functools.partial(codes_of, n=255),
}


@pytest.mark.parametrize("clip", [1.0, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "dictionary",
    [*DICTIONARIES, "linear", "step", "tree", *CODES, "union"],
)
def test_the_page_about_the_format_tells_how_to_predict(
    dictionary: str, clip: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    codes = TreeDictionary(categorical_features=[0, 1], min_leaf=2)
    parts: dict[str, Any] = {"union": union(), **dict.fromkeys(CODES, codes)}
    make = CODES.get(dictionary, np.asarray)
    settings = {"dictionary": parts.get(dictionary, dictionary), "clip": clip, "max_iter": 9}
    model = fit(3, make, **settings)
    X = 3.0 * sample(n_samples=20)[0]
    X[:3, 0] = X[4, 1] = np.nan
    if dictionary in CODES:
        X = np.vstack([X, make(sample()[0]), [[51.0, 52.0, 0.0], [254.0, 255.0, 0.0]]])
    np.testing.assert_allclose(
        by_the_page(model, X), model.decision_function(X), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("name", ["table", "ensemble, three classes", "folds of a table"])
def test_the_page_about_the_format_tells_how_to_predict_with_members(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = MODELS[name]()
    X = rows_of(model)
    values = by_the_page(model, check_rows(model, X))
    expected = model.decision_function(X).reshape(len(X), -1)
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)


def by_the_page(model: Any, Z: np.ndarray) -> list[list[float]]:
    """Return decision values of rows as columns read them, by the program of the docs."""
    program = (Path(__file__).parents[1] / "docs" / "read_model.py").read_text("utf-8")
    model.save_model("model.json", trace=False)
    names: dict[str, Any] = {}
    exec(program, names)
    return [names["decision"](names["document"], z) for z in Z.tolist()]


# Models and their parts


@pytest.mark.parametrize(
    ("model", "error", "match"),
    [
        (LogisticRegression(), TypeError, "A model is a fitted classifier .* LogisticRegression"),
        (FCGBoostClassifier, TypeError, "A model is"),
        (FCGBoostClassifier("gauss"), NotFittedError, "not fitted"),
        (
            make_pipeline(StandardScaler(), FCGBoostClassifier("gauss")),
            TypeError,
            "got Pipeline: pass it alone",
        ),
    ],
    ids=str,
)
def test_what_is_no_model_is_refused(model: Any, error: type, match: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=match):
        save_model(model, tmp_path / "model.json")


@pytest.mark.parametrize(
    ("name", "value"), [("max_iter", 0), ("l2", "much"), ("loss", "logistic"), ("tol", np.nan)]
)
def test_parameters_that_became_wrong_after_the_fit_are_refused_by_the_next_one(
    name: str, value: Any, tmp_path: Path
) -> None:
    model = fit()
    X, y = sample()
    back = round_trip(model.set_params(**{name: value}), tmp_path / "model.json")
    assert_identical(back.predict(X), model.predict(X))
    with pytest.raises(ValueError, match=name):
        back.fit(X, y)


def test_a_model_of_numbers_that_are_not_finite_cannot_be_saved(tmp_path: Path) -> None:
    model = fit()
    change_member(model, model=replace(model.model_, intercept=np.array([np.nan])))
    with pytest.raises(ValueError, match=r"members\[0\]\.model\.intercept\[0\]: expected `float`"):
        model.save_model(tmp_path / "model.json")
    model = fit()
    step = Step(**{**vars(model.trace_[0]), "intercept": np.array([np.inf])})
    change_member(model, trace=replace(model.trace_, steps=(step, *model.trace_[1:])))
    with pytest.raises(ValueError, match="save with trace=False"):
        model.save_model(tmp_path / "model.json")


# Files


def test_a_small_model_is_a_small_readable_file(tmp_path: Path) -> None:
    from fcgboost.datasets import make_simulation

    X, y = make_simulation(1000, noise="uniform", level=0.3, random_state=0)
    model = FCGBoostClassifier("relu", max_iter="theory", random_state=0).fit(X, y)
    model.save_model(tmp_path / "model.json", trace=False, background=False)
    text = (tmp_path / "model.json").read_text()
    assert model.n_atoms_ == 13
    assert len(text) < 3000
    assert sum(line.startswith('{"step":') for line in text.splitlines()) == 13
    assert max(map(len, text.splitlines())) < 120


def test_equal_fits_give_equal_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        fit(3, dictionary="sigmoid").save_model(tmp_path / name, trace=False)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


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
    with pytest.raises(FileNotFoundError, match=r"The folder .*nowhere does not exist"):
        fit().save_model(tmp_path / "nowhere" / "model.json")
