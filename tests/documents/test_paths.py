"""Paths in files."""

import json
from pathlib import Path
from typing import Any

import pytest

from fcgboost.documents.checking import DocumentError
from fcgboost.documents.content import read_content
from fcgboost.documents.parts import known_parts
from fcgboost.io import ModelFileError, load_model
from tests.suites.documents import document


def large_in_memory(n_members: int) -> dict[str, Any]:
    """Return a model whose steps name all of a hundred outputs, and hold them times all atoms."""
    n, n_steps = 100, 20
    model: dict[str, Any] = json.loads(document("relu"))
    (member,) = model["members"]
    model["classes"]["values"] = list(range(n))
    atom = {"coef": [0.0] * n, "row": [0.0] * 4}
    atoms = [{"step": k + 1, **atom} for k in range(n_steps) for _ in range(n)]
    member["model"].update(intercept=[0.0] * n, atoms=atoms)
    member.update(n_iter=0)
    member["path"].update(start=[0.0] * n, endings=[None] * n)
    step = {**member["path"]["steps"][0], "scores": [0.0] * n, "objectives": [0.0] * n}
    step.update(intercept=[0.0] * n)
    member["path"]["steps"] = [
        {**step, "k": k + 1, "chosen": list(range(k * n, k * n + n)), "coef": [[0.0] * (k + 1)] * n}
        for k in range(n_steps)
    ]
    return {**model, "members": [member] * n_members}


def test_a_path_that_is_larger_in_memory_than_in_its_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(large_in_memory(1), separators=(",", ":")))
    with pytest.raises(ModelFileError, match=r"members\[0\].*too much memory: pass a larger"):
        load_model(path, max_bytes=path.stat().st_size)


def test_members_take_memory_together() -> None:
    model = large_in_memory(2)
    # 100 outputs times 100, 200, ..., 2000 atoms, and the rows of the atoms.
    n_bytes = 8 * (100 * 100 * 210 + 2000 * 4)
    read_content(model, known_parts([]), 2.1 * n_bytes)
    with pytest.raises(DocumentError, match=r"members\[1\]\.path\.steps takes too much memory"):
        read_content(model, known_parts([]), 1.9 * n_bytes)
    with pytest.raises(DocumentError, match=r"members\[0\]\.path\.steps takes too much memory"):
        read_content(model, known_parts([]), 0.9 * n_bytes)


def test_every_atom_enters_at_a_step() -> None:
    model = json.loads(document("relu"))
    (member,) = model["members"]
    n = len(member["model"]["atoms"])
    del member["path"]["steps"][-1]
    member["n_iter"] = 1
    with pytest.raises(DocumentError, match=rf"path\.steps has {n - 1} atoms, but there are {n}"):
        read_content(model, known_parts([]))
