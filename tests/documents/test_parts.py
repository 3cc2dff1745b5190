"""Parts in files: ours by name, users' by theirs."""

import os
from pathlib import Path

import numpy as np
import pytest

from fcgboost.io import ModelFileError, load_model
from tests.suites.models import (
    Bounded,
    Waves,
    assert_same_model,
    fit,
    valid,
)


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
    model.model_.dictionary.width = {1}
    with pytest.raises(TypeError, match=r"GaussDictionary: width=\{1\} cannot be saved"):
        model.save_model(tmp_path / "model.json")
    assert os.listdir(tmp_path) == []
