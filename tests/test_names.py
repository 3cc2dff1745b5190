"""Every name stands for a part of its parameter's kind, and what is no name is refused."""

import pytest

from fcgboost.names import NAMES, PRESET_NAMES, make_part, part_named
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
    with pytest.raises(ValueError, match=f"{parameter} must be one of .*{name}"):
        make_part(parameter, value)
