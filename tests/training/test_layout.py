"""What the families of a dictionary see of the rows, and on which design."""

import numpy as np
import pandas as pd

from fcgboost import FCGBoostClassifier
from fcgboost.dictionaries import TreeDictionary
from tests.suites.frames import kinds, small


def test_plain_numbers_stay_as_they_are() -> None:
    numbers = np.random.default_rng(0).normal(size=(100, 3))
    y = numbers[:, 0] > 0
    model = small().fit(numbers, y)
    assert model.members_[0].inputs.encode(numbers) is numbers
    frame = small().fit(pd.DataFrame(numbers, columns=list("abc")), y)
    np.testing.assert_array_equal(frame.atoms_, model.atoms_)
    assert kinds(frame) == dict.fromkeys("abc", "number")


def test_trees_alone_send_gaps_to_the_larger_child() -> None:
    numbers = np.arange(100.0)[:, None]
    trees = TreeDictionary(1, min_leaf=1)
    model = FCGBoostClassifier(trees, max_iter=1).fit(numbers, numbers[:, 0] > 69)
    assert not model.predict(np.array([[np.nan]]))[0]
    assert model.predict(np.array([[99.0]]))[0]
