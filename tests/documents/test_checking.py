"""What is no sound model file is refused with a reason, and the place of the damage."""

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from fcgboost.documents.checking import increases
from fcgboost.io import ModelFileError, load_model
from tests.suites.documents import DAMAGE, OVERFLOW, damaged, document

# Damage within a document: what is changed where, and what is said about it.


@pytest.mark.parametrize(("seed", "place", "value", "match"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_named_with_its_place(
    seed: str, place: str, value: Any, match: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(damaged(seed, place, value)).replace(f'"{OVERFLOW}"', OVERFLOW))
    if not match:
        load_model(path)
        return
    with pytest.raises(ModelFileError, match=match) as caught:
        load_model(path)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("seed", ["relu", "sparse", "table"])
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
        whole = json.loads(document(seed))
        del functools.reduce(lambda holder, step: holder[step], place, whole)[key]
        path.write_text(json.dumps(whole))
        with pytest.raises(ModelFileError, match=r"missing required|must have|not a model"):
            load_model(path)


def test_equal_neighbours_do_not_increase() -> None:
    assert increases(["a", "b"])
    assert increases([])
    assert not increases(["a", "a"])
    assert not increases([1, 3, 2])
