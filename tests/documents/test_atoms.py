"""Atoms in files."""

import json
from pathlib import Path

import pytest

from fcgboost.io import ModelFileError, load_model
from tests.suites.small_models import texts


@pytest.mark.parametrize("width", [1, 2, 4, 5, 6, 9, 12])
@pytest.mark.parametrize("name", ["trees", "auto", "tree", "leaves"])
def test_a_row_of_a_tree_that_is_too_short_is_refused(
    name: str, width: int, tmp_path: Path
) -> None:
    for text in texts(name, tmp_path):
        document = json.loads(text)
        for member in document["members"]:
            member["model"]["storage"]["n_parameters"] = width
            for atom in member["model"]["atoms"]:
                atom["row"] = atom["row"][:width]
        (tmp_path / "model.json").write_text(json.dumps(document))
        with pytest.raises(ModelFileError, match=r"\$\.members\[\d\]\.(model|path)"):
            load_model(tmp_path / "model.json")
