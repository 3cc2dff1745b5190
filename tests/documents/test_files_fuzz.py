"""Mutated model files: each is refused with a reason, or is a model that predicts.

They are loaded in a process of their own that counts memory and time, and in which loading may
do nothing but read its file: an audit hook sees every import, compilation, process, socket and
file. `python -m tests.documents.test_files_fuzz FOLDER COUNT SEED` is that process; FOLDER holds
model files.
"""

import copy
import json
import os
import random
import re
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from fcgboost import FCGBoostClassifier, PolynomialDictionary
from fcgboost.dictionaries import (
    GaussDictionary,
    LinearDictionary,
    ReluDictionary,
    StepDictionary,
    TreeDictionary,
    UnionDictionary,
)
from fcgboost.documents import encode
from fcgboost.io import ModelFileError, json_schema, load_model, save_model
from fcgboost.members import decision_of
from tests.suites.models import blend, fit_numbers, folds_of_a_table

if sys.platform != "linux":
    pytest.skip("memory is measured and limited as Linux does it", allow_module_level=True)
import resource

ROOT = Path(__file__).parents[2]

# Mutations of text


def cut(rng: random.Random, data: bytes, other: bytes) -> bytes:
    return data[: rng.randrange(len(data))]


def flip_bits(rng: random.Random, data: bytes, other: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 8, 64])):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def remove_some(rng: random.Random, data: bytes, other: bytes) -> bytes:
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.choice([1, 2, 10, 1000]) :]


def insert_some(rng: random.Random, data: bytes, other: bytes) -> bytes:
    start = rng.randrange(len(data))
    inserted = rng.choice([rng.randbytes(rng.randrange(1, 20)), b"\0", b",", b"[", b'"', b"\\u"])
    return data[:start] + inserted + data[start:]


def splice(rng: random.Random, data: bytes, other: bytes) -> bytes:
    return data[: rng.randrange(len(data))] + other[rng.randrange(len(other)) :]


def repeat_some(rng: random.Random, data: bytes, other: bytes) -> bytes:
    start = rng.randrange(len(data))
    piece = data[start : start + rng.randrange(1, 200)]
    return data[:start] + piece * rng.choice([2, 3, 500]) + data[start + len(piece) :]


def exchange_lines(rng: random.Random, data: bytes, other: bytes) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def repeat_a_line(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Return a line twice: often a key that is there already."""
    lines = data.split(b"\n")
    i = rng.randrange(len(lines))
    return b"\n".join([*lines[: i + 1], *lines[i:]])


def numbers_in(data: bytes) -> list[re.Match[bytes]]:
    """Find the numbers; all of the text where there are none."""
    found = re.finditer(rb"-?[0-9][0-9.e+-]*", data)
    return list(found) or list(re.finditer(rb"(?s).*", data))


def replace_a_number(rng: random.Random, data: bytes, other: bytes) -> bytes:
    chosen = rng.choice(numbers_in(data))
    return data[: chosen.start()] + rng.choice(TOKENS) + data[chosen.end() :]


def nest(rng: random.Random, data: bytes, other: bytes) -> bytes:
    chosen, depth = rng.choice(numbers_in(data)), rng.choice([1, 5, 40, 900, 5000, 100_000])
    start, end = rng.choice([(b"[", b"]"), (b'{"a":', b"}")])
    inside = start * depth + chosen.group() + end * depth
    return data[: chosen.start()] + inside + data[chosen.end() :]


TOKENS = [
    *(b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"1e308", b"5e-324", b"-0.0", b"0"),
    *(b"-1", b"1", b"2", b"1.0", b"0.5", b"4294967296", b"9007199254740993", b"1e-400", b"00"),
    *(b"-9223372036854775809", b"18446744073709551616", b"1" * 30, b"1" * 5000, b"1.", b"-"),
    *(b"0." + b"1" * 5000, b"true", b"false", b"null", b'"1"', b'""', b"[]", b"{}", b"[1]"),
    *(b'{"number":"NaN"}', b'"NaN"', b'"\\ud800"', b'"\\u0000"', b"\xff", b'"os.system"'),
]
TEXT = (
    *(cut, flip_bits, remove_some, insert_some, splice, repeat_some, exchange_lines),
    *(repeat_a_line, replace_a_number, replace_a_number, nest),
)

# Mutations of structure

VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 7, 0.5, -0.0, 1e308, 5e-324, 2**31 - 1, 2**31, 2**53 + 1),
    *(2**63, 2**64, 10**19, -(10**18), "", "1", "NaN", "auto", "object", "U9999999", "\0"),
    *("\ud800", "x" * 100_000, [], {}, [[]], [None], [0.5] * 20_000, list(range(3000))),
    *({"part": "Hinge", "parameters": {}}, {"part": "__builtins__", "parameters": {"a": 1}}),
    *({"number": "Infinity"}, [{}] * 300, ["a"] * 300, "csr_array", "dense", "gauss"),
    *("STEP_LIMIT", "int8", "category"),
]
Place = tuple[Any, Any]


def places(value: Any) -> list[Place]:
    """Return every container of a document with every key of it."""
    if not isinstance(value, dict | list):
        return []
    keys = list(value) if isinstance(value, dict) else range(len(value))
    return [(value, key) for key in keys] + [p for key in keys for p in places(value[key])]


def remove(rng: random.Random, holder: Any, key: Any, everything: list[Place]) -> None:
    del holder[key]


def put(rng: random.Random, holder: Any, key: Any, everything: list[Place]) -> None:
    holder[key] = copy.deepcopy(rng.choice(VALUES))


def put_from_elsewhere(rng: random.Random, holder: Any, key: Any, everything: list[Place]) -> None:
    other, place = rng.choice(everything)
    holder[key] = copy.deepcopy(other[place])


def change_a_number(rng: random.Random, holder: Any, key: Any, everything: list[Place]) -> None:
    numbers = [p for p in everything if type(p[0][p[1]]) in (int, float)]
    if not numbers:
        return
    holder, key = rng.choice(numbers)
    value = holder[key]
    changes = [value + 1, value - 1, -value, 2 * value, value * 1.5, value + 1e-9, int(value)]
    holder[key] = rng.choice([*changes, float(value), str(value), bool(value), value * 1e200])


def change_a_list(rng: random.Random, holder: Any, key: Any, everything: list[Place]) -> None:
    lists = [p[0][p[1]] for p in everything if type(p[0][p[1]]) is list and p[0][p[1]]]
    if not lists:
        return
    chosen = rng.choice(lists)
    i = rng.randrange(len(chosen))
    acts: list[Callable[[], Any]] = [
        *(lambda: rng.shuffle(chosen), chosen.reverse, chosen.clear, lambda: chosen.pop(i)),
        *(lambda: chosen.append(copy.deepcopy(chosen[i])), lambda: chosen.extend(chosen * 3)),
        *(lambda: chosen.insert(i, copy.deepcopy(rng.choice(VALUES))), lambda: chosen.append(0.0)),
    ]
    rng.choice(acts)()


def rename(rng: random.Random, holder: Any, key: Any, everything: list[Place]) -> None:
    if isinstance(holder, dict):
        name = rng.choice(["x", "", f"{key} ", key.upper(), "__class__", "\ud800", "x" * 1000])
        holder[name] = holder.pop(key)


def wrap(rng: random.Random, holder: Any, key: Any, everything: list[Place]) -> None:
    holder[key] = rng.choice([[holder[key]], {"number": holder[key]}, {"part": holder[key]}])


STRUCTURE = (
    *(remove, put, put, put_from_elsewhere, change_a_number, change_a_number, change_a_list),
    *(rename, wrap),
)


def mutate(rng: random.Random, seeds: list[bytes]) -> bytes:
    """Return a model file that something happened to."""
    i = rng.randrange(len(seeds))
    if rng.random() < 0.4:
        data = seeds[i]
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            data = rng.choice(TEXT)(rng, data, rng.choice(seeds)) or b" "
        return data
    document = json.loads(seeds[i])
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        everything = places(document)
        if not everything:
            break
        # Every depth is as likely as the next: there are many more numbers than keys above.
        holder, key = rng.choice(rng.choice([places_above(document), everything]) or everything)
        rng.choice(STRUCTURE)(rng, holder, key, everything)
    return json.dumps(document).encode()


def places_above(document: dict[str, Any]) -> list[Place]:
    """Return the keys of the document and its members, and of the objects in these."""
    members = document.get("members")
    listed = members if isinstance(members, list) else []
    holders = [document, *(member for member in listed if isinstance(member, dict))]
    below = [value for holder in holders for value in holder.values() if isinstance(value, dict)]
    return [(holder, key) for holder in (*holders, *below) for key in holder]


# The process that loads them

#: What loading may not do, by the names of Python's audit events; our own library reads buffers.
FORBIDDEN = re.compile(
    r"exec|compile|import|code\.|marshal|pickle|ctypes\.(?!cdata)|subprocess|socket|urllib|http|"
    r"ftplib|smtp|os\.(?!listdir|scandir|stat)|shutil|tempfile|mmap|pty|signal|webbrowser|"
    r"sys\.(?!_getframe)|builtins\.(?!id)"
)


class Guard:
    """Says what the process does while it is on."""

    def __init__(self) -> None:
        self.path: str | None = None
        self.seen: list[str] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.path is None:
            return
        if event == "open":
            is_writing = arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if str(arguments[0]) == self.path and not is_writing:
                return
        elif not FORBIDDEN.match(event):
            return
        self.seen.append(f"{event} {ascii(arguments)[:200]}")
        raise PermissionError(f"Loading a model file must not do this: {event}")


def use(model: Any) -> None:
    """Do what one does with a model."""
    X: Any = np.array([[0.0], [1.0], [-3.5]]) * np.ones(model.n_features_in_)
    is_table = model._table_columns_ is not None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if "feature_names_in_" in vars(model):
            del model.feature_names_in_
        if is_table:
            X = np.full(X.shape, None, dtype=object)
        else:
            model._decision(sparse.csr_array(X))
        assert model.predict(X).shape == (3,)
        repr(model)
        if model._errors_ is not None:
            model._by_fold(X, 0.5)
        if model._has_path():
            assert len(list(model._staged_decision(X))) == model.n_iter_
            model.truncate(max(len(member.trace) for member in model.members_)).predict(X)
        if model._background() is not None:
            decision_of(model.members_, model._background())


def outcome(path: Path, guard: Guard) -> tuple[Any, str | None]:
    """Return the model in a file, None if it is refused, and what else happened, if anything."""
    try:
        guard.path = str(path)
        model = load_model(path)
        guard.path = None
        use(model)
    except ModelFileError as error:
        is_short = 10 < len(str(error)) < 600
        return None, None if is_short else f"a message of {len(str(error))} characters"
    except Exception as error:
        return None, f"{type(error).__name__}: {str(error)[:300]}"
    finally:
        guard.path = None
    return model, None


def peak() -> float:
    """Return the most memory that this process has had, in MiB."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024  # type: ignore[index]


def limit_memory(n_bytes: int) -> None:
    """Let the process take so much more address space, and no more than that."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + n_bytes, most))


def watch() -> Guard:
    """Return a guard of this process that was seen to work."""
    guard = Guard()
    sys.addaudithook(guard)
    guard.path = "nowhere"
    for act in (lambda: eval("1"), lambda: os.remove("nowhere"), Path("elsewhere").read_bytes):
        try:
            act()
        except PermissionError:
            continue
        raise AssertionError("The guard sleeps.")
    guard.path = None
    guard.seen.clear()
    return guard


def run(folder: Path, count: int, seed: int) -> dict[str, Any]:
    """Load mutants of the files in a folder, and give what is to be known about it."""
    import jsonschema

    is_valid = jsonschema.Draft202012Validator(json_schema()).is_valid
    paths = sorted(folder.glob("*.json"))
    for path in paths:
        use(load_model(path))
    rng, seeds = random.Random(seed), [path.read_bytes() for path in paths]
    counts, problems, slowest, mutant = Counter[str](), [], 0.0, folder / "mutant"
    guard, start = watch(), peak()
    limit_memory(2**30)
    for number in range(count):
        data = mutate(rng, seeds)
        mutant.write_bytes(data)
        begun = time.process_time()
        model, problem = outcome(mutant, guard)
        slowest = max(slowest, time.process_time() - begun)
        counts["refused" if model is None else "loaded"] += 1
        if model is not None:
            problem = None if is_valid(json.loads(data)) else "the schema refuses it"
            try:
                encode(model)
            except ValueError as error:  # half of a surrogate pair is read, and not written
                problem = None if "surrogate" in str(error) else str(error)
        if problem is not None:
            problems.append(f"mutant {number}: {problem}")
    found = {"counts": counts, "problems": problems[:20] + guard.seen[:20]}
    return {**found, "slowest": slowest, "MiB": peak() - start}


# The tests


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of model files of all families."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    X = np.where((X := rng.random((60, 3))) > 0.3, X, 0.0)
    y = np.digitize(X[:, 1], [0.3, 0.7])
    words = np.array(["no", "perhaps", "yes \N{SNOWMAN}"])[y]
    names = np.array(["red", "blue"])[y % 2]
    table = np.column_stack([X.astype(object), names, np.full(60, "one")])
    table[3, 0] = table[5, 3] = None

    def fit(X: Any, y: Any, **changes: Any) -> Any:
        return FCGBoostClassifier(
            **{"dictionary": "gauss", "max_iter": 4, "random_state": 0, **changes}
        ).fit(X, y)

    families = [
        *(ReluDictionary(), TreeDictionary(2), GaussDictionary(), LinearDictionary()),
        StepDictionary(),
    ]
    forest = fit(X, y, dictionary=TreeDictionary(3, max_leaf_nodes=4, corrects_leaves=True))
    models = {
        "gauss": fit(X, y > 0, class_weight={False: 1.5, True: 1.0}),
        "polynomial": fit(X, y > 0, dictionary=PolynomialDictionary(2), scheme="epsilon"),
        "sigmoid": fit(X, 1.0 * (y > 0), dictionary="sigmoid", loss="hinge"),
        "relu": fit(X, y, dictionary="relu", validation_fraction=0.3),
        "words": fit(X, words, dictionary="relu", loss="square", l2=0.1),
        "sparse": fit(sparse.csr_array(X), y > 1),
        "sparse matrix": fit(sparse.csr_matrix(X), y, loss="cubed_hinge"),
        "trees": fit(X, y > 0, dictionary=TreeDictionary(2, categorical_features=[0]), clip=1.0),
        "union": fit(X, y, dictionary=UnionDictionary(families), max_iter=6),
        "removal": fit(X, y > 0, dictionary="relu", removal=0.9, selection="sampled", max_iter=9),
        "table": fit(table, words, max_iter=3),
        "members": blend(fit(X, y, dictionary=UnionDictionary(families)), fit(X, y), forest),
        "folds of a table": folds_of_a_table(),
        "numbers": fit_numbers("auto", max_iter=3, cv=2),
    }
    for name, model in models.items():
        about = {"target": "y", "scores": [0.5, {"a": None}]}
        save_model(model, folder / f"{name}.json", about=about)
        if name in ("gauss", "words", "folds of a table"):
            save_model(model, folder / f"{name} without path.json", trace=False)
    return folder


def load_mutants(folder: Path, count: int, seed: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(folder), str(count), str(seed)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_mutated_files_are_refused_or_models(folder: Path, count: int) -> None:
    found = load_mutants(folder, count, seed=0)
    assert not found["problems"]
    assert found["counts"]["refused"] > 0.6 * count
    assert found["counts"]["loaded"] > 0.03 * count
    assert found["counts"]["refused"] + found["counts"]["loaded"] == count
    assert found["slowest"] < 1.0
    assert found["MiB"] < 200


if __name__ == "__main__":
    json.dump(run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])), sys.stdout)
