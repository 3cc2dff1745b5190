"""Commands and pages say what they said before, word by word.

Where new words are meant, `python -m tests.golden texts` writes them down, and the difference is
read.
"""

import pytest

from tests.golden.texts import FOLDER, names, stored, texts

# One process runs the commands, and all the tests that look at what they say.
pytestmark = pytest.mark.xdist_group("texts")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return dict(texts(tmp_path_factory.mktemp("texts")))


@pytest.mark.parametrize("name", names())
def test_a_text_is_the_stored_one(found, name):
    # Versions of Python lay help out differently.
    assert found[name].split() == stored(name).split()


def test_every_stored_text_is_still_said():
    assert {path.stem for path in FOLDER.iterdir()} == set(names())
