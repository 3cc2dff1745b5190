"""A checkpoint that is not what was written is refused and left as it is, whatever is wrong."""

import io
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from strategies import simulation

from fcgboost import FCGBoostClassifier
from fcgboost.dictionaries import TreeDictionary

VALUES = (0, 1, -1, 7, 2**31, -(2**63), 1e308, -1e-300, float("nan"), float("inf"))
FITS: dict[str, dict[str, Any]] = {
    "gauss": {"dictionary": "gauss", "removal": 0.9},
    "sparse": {"dictionary": "gauss", "loss": "square"},
    "leaves": {"dictionary": TreeDictionary(corrects_leaves=True, depth=2)},
}


def members_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: list[tuple[str, bytes]]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data)
    return file.getvalue()


def flip(rng: random.Random, content: bytes) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 8, 64])):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def cut(rng: random.Random, content: bytes) -> bytes:
    first, last = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    return rng.choice([content[:first], content[last:], content[:first] + content[last:]])


def exchange(rng: random.Random, content: bytes) -> bytes:
    """Give members another order, another's content, or leave out or repeat one."""
    members = list(members_of(content).items())
    i, j = rng.sample(range(len(members)), 2)
    kind = rng.randrange(4)
    if kind == 0:
        rng.shuffle(members)
    elif kind == 1:
        (one, first), (other, second) = members[i], members[j]
        members[i], members[j] = (one, second), (other, first)
    elif kind == 2:
        del members[i]
    else:
        members.append((f"{members[i][0]}.npy", members[j][1]))
    return packed(members)


def edit(rng: random.Random, content: bytes) -> bytes:
    """Change the numbers, the shape or the type of an array, sound in itself."""
    members = members_of(content)
    name = rng.choice(list(members))
    array = np.load(io.BytesIO(members[name]))
    kind = rng.randrange(4)
    if kind == 0 and array.size:
        array = array.copy()
        with np.errstate(all="ignore"):
            value = np.array(rng.choice(VALUES))
            is_held = array.dtype.kind == "f" or bool(abs(value) < 127)
            array.flat[rng.randrange(array.size)] = value if is_held else 3
    elif kind == 1:
        array = array[: rng.randrange(len(array) + 1)]
    elif kind == 2:
        array = np.concatenate([array, array])
    else:
        array = array.astype(rng.choice(["f8", "f4", "i8", "u1"]), casting="unsafe")
    file = io.BytesIO()
    np.save(file, array)
    return packed(list({**members, name: file.getvalue()}.items()))


def edit_header(rng: random.Random, content: bytes) -> bytes:
    members = members_of(content)
    text = bytearray(np.load(io.BytesIO(members["header.npy"])).tobytes())
    text[rng.randrange(len(text))] = rng.choice(b'0123456789"[]{},:.-eE truefalsn')
    file = io.BytesIO()
    np.save(file, np.frombuffer(bytes(text), np.uint8))
    return packed(list({**members, "header.npy": file.getvalue()}.items()))


DAMAGES = [flip, cut, exchange, edit, edit_header]


def trace_bytes(model: FCGBoostClassifier) -> list[bytes]:
    steps = list(model.trace_)
    arrays = [a for step in steps for a in (step.coef, step.intercept, step.scores, *step.leaves)]
    return [array.tobytes() for array in arrays] + [model.decision_function(rows()).tobytes()]


def rows() -> Any:
    return simulation(30, 0.2, seed=1).X


@pytest.mark.parametrize("n_files", [60, pytest.param(1700, marks=pytest.mark.slow)])
@pytest.mark.parametrize("settings", FITS.values(), ids=FITS)
@pytest.mark.filterwarnings("ignore:Reading .npy or .npz file:UserWarning")
def test_damage_is_refused_or_does_no_harm(
    settings: dict[str, Any], n_files: int, tmp_path: Path
) -> None:
    data, path = simulation(40, 0.2, seed=0), tmp_path / "path"
    X = sparse.csr_array(data.X) if settings.get("loss") else data.X

    def fit(max_iter: int) -> FCGBoostClassifier:
        model = FCGBoostClassifier(**settings, max_iter=max_iter, checkpoint=path, random_state=0)
        return model.fit(X, data.y)

    fit(2)
    content, rng = path.read_bytes(), random.Random(n_files)
    whole, n_refused = trace_bytes(fit(3)), 0
    for i in range(n_files):
        damaged = DAMAGES[i % len(DAMAGES)](rng, content)
        path.write_bytes(damaged)
        try:
            found = trace_bytes(fit(3))
        except ValueError as error:
            assert str(error).startswith(str(path))  # noqa: PT017, either ending is right
            assert path.read_bytes() == damaged
            n_refused += 1
        else:
            assert found == whole
    assert 0.6 * n_files < n_refused < n_files
