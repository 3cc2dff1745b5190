"""A path in a file comes back to the last bit, and nothing else comes back in its place."""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import accuracy_score, make_scorer
from strategies import simulation
from suites.marks import also
from suites.paths import CLASSICAL, FULL, SELECTIONS, make_recipe

from fcgboost import FCGBoostClassifier
from fcgboost.designs.memory import MemoryDesign
from fcgboost.dictionaries import GaussDictionary, ReluDictionary
from fcgboost.greedy.loop import fit_path
from fcgboost.greedy.path import Trace
from fcgboost.greedy.schemes import FullyCorrective, Scheme
from fcgboost.losses import SquaredHinge
from fcgboost.selection.fixed import Selection
from fcgboost.solvers import NewtonSolver
from fcgboost.stopping import Status, Step
from fcgboost.training import resume
from fcgboost.training.resume import FitState, Writer, read, write
from fcgboost.training.settings import describe

KEY = 2**31 - 2
DATA = (150, 3, 2**64 - 1, "a", 0.1, True, None)
STATE = FitState(DATA, {"l2": "'auto'", "tol": "0.0"}, KEY)


def fit(n_classes: int = 2, make: Callable[[Any], Any] = np.asarray, **changes: Any) -> Trace:
    rng = np.random.default_rng(0)
    X = np.where((X := rng.random((90, 3))) > 0.3, X, 0.0)
    y = (np.digitize(X[:, 1], [0.3, 0.7]) + (rng.random(90) < 0.2)) % n_classes
    settings = {"dictionary": "gauss", "max_iter": 7, "random_state": 0, **changes}
    return FCGBoostClassifier(**settings).fit(make(X), y).trace_


def empty_trace(n_outputs: int = 1) -> Trace:
    return Trace(
        (), np.zeros((0, 4)), np.zeros(0, np.intp), np.zeros(n_outputs), (None,) * n_outputs
    )


def ended_trace() -> Trace:
    """Give a path of which one output ended before the other."""
    data = simulation(60, 0.0, seed=3)
    design = MemoryDesign(GaussDictionary(width=1.0), data.X, data.weights, standardize=True)
    targets = [data.y, np.ones(60)]
    return fit_path(design, targets, make_recipe(max_iter=4, fit_intercept=True))[0]


def long_places(X: Any) -> Any:
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


TRACES = {
    "two classes": fit,
    "three classes": lambda: fit(3),
    "sparse matrix": lambda: fit(make=sparse.csr_matrix, dictionary="gauss"),
    "sparse array": lambda: fit(3, make=sparse.csr_array, dictionary="gauss", loss="square"),
    "sparse array of long places": lambda: fit(make=long_places, dictionary="gauss"),
    "validation": lambda: fit(validation_fraction=0.3),
    "classical scheme": lambda: fit(3, scheme="shrinkage", loss="hinge"),
    "an output that ended": ended_trace,
    "no steps": empty_trace,
    "no steps, sparse": lambda: Trace(
        (), sparse.csr_array((0, 4)), np.zeros(0, np.intp), np.array([0.5, -0.0]), (None, None)
    ),
}
each_trace = pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)


def assert_identical(first: Any, second: Any) -> None:
    assert type(first) is type(second)
    if sparse.issparse(first):
        assert first.shape == second.shape
        for name in ("data", "indices", "indptr"):
            assert_identical(getattr(first, name), getattr(second, name))
    elif isinstance(first, np.ndarray):
        assert (first.dtype, first.shape) == (second.dtype, second.shape)
        assert first.tobytes() == second.tobytes()
    elif isinstance(first, Step | Trace):
        assert vars(first).keys() == vars(second).keys()
        for name, value in vars(first).items():
            assert_identical(value, vars(second)[name])
    elif isinstance(first, tuple):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_identical(one, other)
    else:
        assert repr(first) == repr(second)


# Round trips


@each_trace
def test_a_path_comes_back_to_the_last_bit(make: Callable[[], Trace], tmp_path: Path) -> None:
    trace = make()
    write(tmp_path / "path", trace, STATE)
    back, key = read(str(tmp_path / "path"), STATE)
    assert_identical(trace, back)
    assert (key, type(key)) == (KEY, int)
    assert os.listdir(tmp_path) == ["path"]


def test_the_examples_are_what_they_are_called() -> None:
    assert len(TRACES["three classes"]().start) == 3
    assert sparse.issparse(TRACES["sparse array"]().atoms)
    assert TRACES["validation"]()[0].validation_score is not None
    assert ended_trace().endings[1] is not None
    assert (ended_trace()[-1].chosen == -1).any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.0, 5e-324, np.nextafter(1.0, 2.0)])
def test_odd_numbers_come_back(value: float, tmp_path: Path) -> None:
    coef = np.full((1, 1), value)
    step = Step(
        *(1, np.array([0]), coef[0], coef[0], coef, coef[0]),
        *(np.int64(3), np.float64(value), np.True_, value, value),
    )
    trace = Trace((step,), coef, np.ones(1, np.intp), coef[0], (Status.TOLERANCE,))
    write(tmp_path / "path", trace, STATE)
    back = read(tmp_path / "path", STATE)[0]
    for name in ("scores", "coef", "residual", "seconds", "validation_score"):
        given, found = np.asarray(getattr(step, name)), np.asarray(getattr(back[0], name))
        assert given.tobytes() == found.tobytes()
    assert type(back[0].is_corrected) is bool


def test_what_the_loop_protects_is_protected(tmp_path: Path) -> None:
    write(tmp_path / "path", fit(3), STATE)
    trace, _ = read(tmp_path / "path", STATE)
    for step in trace:
        found = [value for value in vars(step).values() if isinstance(value, np.ndarray)]
        assert len(found) == 7
        assert not any(value.flags.writeable for value in found)
    assert trace.atoms.flags.writeable


def test_the_file_holds_no_pickles(tmp_path: Path) -> None:
    write(tmp_path / "path.npz", fit(), STATE)
    with np.load(tmp_path / "path.npz", allow_pickle=False) as file:
        arrays = dict(file)
    header = json.loads(arrays["header"].tobytes())
    assert (header["format"], header["version"]) == ("fcgboost checkpoint", 4)
    assert all(array.dtype.kind in "biuf" for array in arrays.values())


# Going on


@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
@pytest.mark.parametrize("scheme", [FULL, CLASSICAL[1]], ids=repr)
def test_a_path_goes_on_from_a_file(scheme: Scheme, selection: Selection, tmp_path: Path) -> None:
    data = simulation(80, 0.2, seed=9)
    targets = [data.y, np.where(data.X[:, 0] > 0.5, 1.0, -1.0)]
    design = MemoryDesign(GaussDictionary(width=0.5), data.X, data.weights, standardize=True)
    changes = {"scheme": scheme, "selection": selection, "l2": 1 / 80, "fit_intercept": True}
    short, long = (make_recipe(max_iter=k, n_candidates=80, **changes) for k in (8, 16))
    whole, status = fit_path(design, targets, long)
    half, _ = fit_path(design, targets, short)
    write(tmp_path / "path", half, STATE)
    stored, _ = read(tmp_path / "path", STATE)
    resumed, resumed_status = fit_path(design, targets, long, resume=stored)
    kept, _ = fit_path(design, targets, long, resume=half)
    assert resumed_status is status
    np.testing.assert_array_equal(resumed.atoms, whole.atoms)
    np.testing.assert_array_equal(resumed.column("chosen"), whole.column("chosen"))
    for step, as_kept, at_once in zip(resumed, kept, whole, strict=True):
        assert_identical(step.coef, as_kept.coef)
        assert_identical(step.objectives, as_kept.objectives)
        np.testing.assert_allclose(step.coef, at_once.coef, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_an_estimator_goes_on_from_a_file(make: Callable[[Any], Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = make(np.where((X := rng.random((100, 3))) > 0.3, X, 0.0))
    y = rng.integers(3, size=100)
    settings = {"validation_fraction": 0.3, "random_state": 0, "dictionary": "gauss"}
    model = FCGBoostClassifier(max_iter=5, warm_start=True, **settings).fit(X, y)
    write(tmp_path / "path", model.trace_, model._state_)
    trace, key = read(tmp_path / "path", model._state_)
    model._state_ = replace(model._state_, path=trace, key=key)
    model.set_params(max_iter=10).fit(X, y)
    at_once = FCGBoostClassifier(max_iter=10, **settings).fit(X, y)
    np.testing.assert_array_equal(model.trace_.column("chosen"), at_once.trace_.column("chosen"))
    scores = [trace.column("validation_score") for trace in (model.trace_, at_once.trace_)]
    np.testing.assert_allclose(*scores)
    np.testing.assert_allclose(model.atom_coef_, at_once.atom_coef_, atol=1e-10)


# Refusals


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a small file."""
    path = tmp_path_factory.mktemp("small") / "path"
    write(path, fit(max_iter=2), STATE)
    return path.read_bytes()


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="path"):
        read(tmp_path / "path", STATE)


@pytest.mark.parametrize("data", [(), (150, 3, 2**64 - 2), (150, 3, 2**64 - 1, "a", 0.1, 1, None)])
def test_other_data_is_refused(data: tuple[Any, ...], content: bytes, tmp_path: Path) -> None:
    (tmp_path / "path").write_bytes(content)
    with pytest.raises(ValueError, match=r"path is the checkpoint of a fit to other data.*delete"):
        read(tmp_path / "path", replace(STATE, data=data))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"l2": "0.5", "tol": "0.0"}, r"path is .*other parameters: l2 was 'auto' and is 0\.5\. "),
        ({"l2": "0.5", "tol": "1"}, r"l2 was 'auto' and is 0\.5; tol was 0\.0 and is 1\. .*delete"),
        ({"l2": "'auto'"}, r"tol was 0\.0 and is not there"),
        ({**STATE.parameters, "new": "1"}, r"new was not there and is 1"),
    ],
)
def test_other_parameters_are_refused_by_name(
    parameters: dict[str, str], message: str, content: bytes, tmp_path: Path
) -> None:
    (tmp_path / "path").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "path", replace(STATE, parameters=parameters))


def changed(content: bytes, tmp_path: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """Write a file anew whose arrays and header are changed, undamaged in itself."""
    (tmp_path / "old").write_bytes(content)
    with np.load(tmp_path / "old") as file:
        members = dict(file)
    members["header"] = json.loads(members["header"].tobytes())
    change(members)
    members["header"] = np.frombuffer(json.dumps(members["header"]).encode(), np.uint8)
    with (tmp_path / "path").open("wb") as file:
        np.savez(file, **members)
    return tmp_path / "path"


@pytest.mark.parametrize(("version", "which"), [(3, "an earlier"), (5, "a later")])
def test_another_format_is_refused(
    version: int, which: str, content: bytes, tmp_path: Path
) -> None:
    path = changed(content, tmp_path, lambda m: m["header"].update(version=version, data="?"))
    with pytest.raises(ValueError, match=rf"path was written by {which} version.*delete"):
        read(path, STATE)


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "nothing but the header": lambda m: [m.pop(name) for name in set(m) - {"header"}],
    "format": lambda m: m["header"].update(format="other"),
    "no version": lambda m: m["header"].pop("version"),
    "version as text": lambda m: m["header"].update(version="2"),
    "header is a list": lambda m: m.update(header=[1]),
    "no data": lambda m: m["header"].pop("data"),
    "parameters are a list": lambda m: m["header"].update(parameters=["tol"]),
    "key as text": lambda m: m["header"].update(key="one"),
    "ending": lambda m: m["header"].update(endings=["OTHER"]),
    "endings are a number": lambda m: m["header"].update(endings=1),
    "no digest": lambda m: m.pop("digest"),
    "another digest": lambda m: m.update(digest=m["digest"][::-1]),
    "another member": lambda m: m.update(other=np.zeros(1)),
    "another type": lambda m: m.update(coef=m["coef"].view(np.int64)),
    "another coefficient": lambda m: m.update(coef=2.0 * m["coef"]),
    "coef too short": lambda m: m.update(coef=m["coef"][:-1]),
    "scores of one step": lambda m: m.update(scores=m["scores"][:1]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_no_path_is_refused(
    change: Callable[[dict[str, Any]], Any], content: bytes, tmp_path: Path
) -> None:
    path = changed(content, tmp_path, change)
    with pytest.raises(ValueError, match=r"path is not a checkpoint.*damaged.*Delete it"):
        read(path, STATE)


@pytest.mark.parametrize("foreign", [b"", b"PK\x03\x04", b"k,seconds\n1,0.5\n", bytes(1000)])
def test_a_foreign_file_is_refused(foreign: bytes, tmp_path: Path) -> None:
    (tmp_path / "path").write_bytes(foreign)
    with pytest.raises(ValueError, match=r"path is not a checkpoint.*another file"):
        read(tmp_path / "path", STATE)


def test_a_pickle_in_the_file_is_not_loaded(content: bytes, tmp_path: Path) -> None:
    path = changed(content, tmp_path, lambda m: m.update(coef=np.array([print], dtype=object)))
    with pytest.raises(ValueError, match="is not a checkpoint"):
        read(path, STATE)


def test_every_truncation_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "path"
    path.write_bytes(content)
    for n_bytes in reversed(range(len(content))):
        os.truncate(path, n_bytes)
        with pytest.raises(ValueError, match="Delete it to start again"):
            read(path, STATE)


@pytest.mark.parametrize(("n_flips", "n_files"), [(1, 100), (5, 100), *also((1, 700), (5, 700))])
def test_a_damaged_byte_is_refused_or_does_no_harm(
    n_flips: int, n_files: int, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "path"
    path.write_bytes(content)
    whole, _ = read(path, STATE)
    rng = np.random.default_rng(n_flips)
    refused = 0
    for _ in range(n_files):
        damaged = np.frombuffer(content, np.uint8).copy()
        damaged[rng.integers(len(content), size=n_flips)] ^= rng.integers(1, 256, dtype=np.uint8)
        path.write_bytes(damaged.tobytes())
        try:
            trace, key = read(path, STATE)
        except ValueError as error:
            assert str(path) in str(error)  # noqa: PT017, either ending is right
            refused += 1
        else:
            assert_identical(trace, whole)
            assert key == KEY
    assert refused > 0.4 * n_files


# Whole or not at all


class BrokenError(Exception):
    """A failure in the middle of writing."""


def fail(*args: Any, **kwargs: Any) -> Any:
    raise BrokenError


def fail_late(file: Any, **members: Any) -> None:
    file.write(b"PK\x03\x04 and no more")
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("place", "name", "failure", "error"),
    [
        (os, "replace", fail, BrokenError),
        (os, "fsync", fail, BrokenError),
        (np, "savez", fail_late, KeyboardInterrupt),
    ],
)
def test_a_failed_write_leaves_all_as_it_was(
    place: Any,
    name: str,
    failure: Any,
    error: type[BaseException],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trace = fit(max_iter=2)
    for names in ([], ["path"]):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, failure)
            with pytest.raises(error):
                write(tmp_path / "path", fit(max_iter=3), STATE)
        assert os.listdir(tmp_path) == names
        if names:
            assert_identical(read(tmp_path / "path", STATE), (trace, KEY))
        write(tmp_path / "path", trace, STATE)


def test_the_file_is_as_readable_as_any_other(tmp_path: Path) -> None:
    write(tmp_path / "path", empty_trace(), STATE)
    (tmp_path / "other").touch()
    assert (tmp_path / "path").stat().st_mode == (tmp_path / "other").stat().st_mode


# The watcher


def test_a_watcher_leaves_a_path_that_goes_on(tmp_path: Path) -> None:
    data = simulation(60, 0.2, seed=4)
    design = MemoryDesign(ReluDictionary(), data.X, data.weights, standardize=True)
    writer = Writer(tmp_path / "path", STATE)
    seen = []

    def watch(step: Step, path: Callable[[], Trace]) -> None:
        assert writer(step, path) is None
        seen.append(len(read(tmp_path / "path", STATE)[0]))

    trace, _ = fit_path(design, [data.y], make_recipe(max_iter=9), watcher=watch)
    assert seen[0] == 1
    assert all(1 <= n <= k for k, n in enumerate(seen, start=1))
    writer.close(trace)
    assert_identical(read(tmp_path / "path", STATE), (trace, KEY))


def test_writing_takes_about_a_hundredth_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=1000.0, writing=0.0)

    def slow_write(path: Path, trace: Any, state: FitState) -> None:
        clock.now += trace * 1e-3
        clock.writing += trace * 1e-3
        written.append(trace)

    written: list[int] = []
    monkeypatch.setattr(resume, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    monkeypatch.setattr(resume, "write", slow_write)
    writer = Writer(tmp_path / "path", STATE)
    for k in range(1, 5001):
        clock.now += 0.05
        writer(SimpleNamespace(k=k), lambda k=k: k)
    assert written[:2] == [1, 3]
    assert 0.005 <= clock.writing / (clock.now - 1000.0) <= 0.02
    writer.close(5000)
    assert written[-1] == 5000


def test_a_path_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"The folder .*nowhere of the checkpoint .* not exist"):
        Writer(tmp_path / "nowhere" / "path", STATE)
    with pytest.raises(ValueError, match="cannot be written"):
        Writer(tmp_path, STATE)


def test_a_name_alone_is_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Writer("path", STATE).close(empty_trace())
    assert os.listdir(tmp_path) == ["path"]


# Descriptions


def own_score(estimator: Any, X: Any, y: Any) -> float:
    return 0.0


def calling_itself() -> Callable[[int], int]:
    def count(n: int) -> int:
        return n and 1 + count(n - 1)

    return count


def values() -> dict[str, Any]:
    """Give parameters of every kind, all of them different."""
    words = {"a", "b", "c", "d"}
    return {
        "none": None,
        "true": True,
        "one": 1,
        "one as float": 1.0,
        "tenth": 0.1,
        "nan": float("nan"),
        "text": "auto",
        "text of none": "None",
        "part": GaussDictionary(width=0.5),
        "other part": GaussDictionary(width=0.6),
        "part of parts": FullyCorrective(NewtonSolver(tol=1e-3)),
        "other part of parts": FullyCorrective(NewtonSolver(tol=1e-4)),
        "loss": SquaredHinge(),
        "class": SquaredHinge,
        "weights": {1: 0.5, 0: 2.0},
        "weights of names": {"b": 1.0, "a": 2.0},
        "function": own_score,
        "builtin": len,
        "metric": accuracy_score,
        "lambda": lambda estimator, X, y: estimator.score(X, y),
        "local function": calling_itself(),
        "scorer": make_scorer(accuracy_score),
        "other scorer": make_scorer(accuracy_score, greater_is_better=False),
        "scorer of a lambda": make_scorer(lambda y, p: 1.0),
        "partial": functools.partial(own_score, y=1),
        "other partial": functools.partial(own_score, y=2),
        "array": np.arange(3.0),
        "other array": np.arange(4.0),
        "set": words,
        "list": [1, words],
        "tuple": (1, words),
        "generator": np.random.RandomState(0),
    }


def test_different_values_have_different_descriptions() -> None:
    texts = {name: describe(value) for name, value in values().items()}
    assert len(set(texts.values())) == len(texts)
    assert all(isinstance(text, str) for text in texts.values())


def test_a_description_is_readable_where_it_can_be() -> None:
    texts = {name: describe(value) for name, value in values().items()}
    assert texts["none"] == "None"
    assert texts["text"] == "'auto'"
    assert texts["tenth"] == "0.1"
    assert texts["weights"] == "{0: 2.0, 1: 0.5}"
    assert texts["generator"].endswith("RandomState")
    assert texts["metric"] == f"{accuracy_score.__module__}.accuracy_score"
    assert "GaussDictionary(" in texts["part"]
    assert "width=0.5" in texts["part"]
    assert "NewtonSolver(" in texts["part of parts"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.float64(0.1), 0.1),
        (np.int32(3), 3),
        (np.True_, True),
        (np.str_("auto"), "auto"),
        ({np.int64(0): np.float64(1.0), 1: 2.0}, {1: 2.0, 0: 1.0}),
        (GaussDictionary(np.float64(0.5)), GaussDictionary(0.5)),
        (np.random.RandomState(0), np.random.RandomState(1)),
        (np.arange(3.0), np.array([0.0, 1.0, 2.0])),
    ],
)
def test_equal_values_have_one_description(first: Any, second: Any) -> None:
    assert describe(first) == describe(second)


def test_what_holds_itself_has_a_description() -> None:
    held = SimpleNamespace()
    held.itself = held
    assert describe(held).startswith("types.SimpleNamespace(itself=")


def test_using_a_generator_does_not_change_its_description() -> None:
    generator = np.random.RandomState(0)
    before = describe(generator)
    generator.random(10)
    assert describe(generator) == before


@pytest.mark.slow
def test_a_description_is_the_same_in_another_process() -> None:
    program = (
        "import json, test_checkpoints as t;"
        "print(json.dumps({n: t.describe(v) for n, v in t.values().items()}))"
    )
    here = {name: describe(value) for name, value in values().items()}
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "1" if os.getenv("PYTHONHASHSEED") == "2" else "2",
    }
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    output = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parent,
        env=environment,
        capture_output=True,
        check=True,
    )
    assert json.loads(output.stdout) == here
