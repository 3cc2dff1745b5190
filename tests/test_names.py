"""Every name stands for a part of its parameter's kind, and what is no name is refused."""

import pickle
import re
from inspect import signature

import pytest
from sklearn.base import clone

from fcgboost import FCGBoostClassifier
from fcgboost.names import FOREIGN, NAMES, PRESET_NAMES, make_part, part_named
from fcgboost.parts import Part

EACH_NAME = [(parameter, name) for parameter, names in NAMES.items() for name in names]


@pytest.mark.parametrize(("parameter", "name"), EACH_NAME)
def test_a_name_makes_a_part_of_its_kind(parameter, name):
    part = make_part(parameter, name)
    assert make_part(parameter, part) is part
    assert isinstance(part, Part)
    assert repr(part) == repr(part_named(parameter, name)())


def test_presets_are_dictionaries_by_name_alone():
    assert {"auto", "fast", "compact"} == PRESET_NAMES


@pytest.mark.parametrize("parameter", NAMES)
def test_a_part_is_taken_as_it_is(parameter):
    part = make_part(parameter, next(iter(NAMES[parameter])))
    assert make_part(parameter, part) is part


@pytest.mark.parametrize("parameter", NAMES)
@pytest.mark.parametrize("value", ["no such name", None, 3, object])
def test_what_is_neither_a_name_nor_a_part_is_refused_with_the_names(parameter, value):
    name = next(iter(NAMES[parameter]))
    with pytest.raises(ValueError, match=f"{parameter.split()[-1]} must be one of .*{name}"):
        make_part(parameter, value)


def test_parameters_of_other_packages_meet_advice() -> None:
    parameters = signature(FCGBoostClassifier).parameters
    assert not parameters.keys() & FOREIGN.keys()
    assert "args" not in parameters
    assert list(signature(FCGBoostClassifier.fit).parameters)[:4] == [
        "self",
        "X",
        "y",
        "sample_weight",
    ]
    for name, advice in FOREIGN.items():
        with pytest.raises(TypeError, match=f"no parameter '{name}': {re.escape(advice)}"):
            FCGBoostClassifier(**{name: 1})
    clf = FCGBoostClassifier("gauss", max_iter=1)
    with pytest.raises(TypeError, match="'eval_set': pass X_val and y_val"):
        clf.fit([[1.0], [2.0]], [0, 1], eval_set=[])
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        FCGBoostClassifier(colour=1)
    assert clone(clf).get_params() == clf.get_params()
    assert pickle.loads(pickle.dumps(clf)).max_iter == 1
