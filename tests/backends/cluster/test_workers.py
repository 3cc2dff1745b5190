"""What is said of rows that are gone is not said again."""

import pytest

from fcgboost.backends.cluster.sums import Pieces
from fcgboost.backends.cluster.workers import Workers

pytestmark = pytest.mark.usefixtures("same_splits")


def test_what_belongs_to_rows_that_are_gone_is_not_said_again() -> None:
    asked: list[tuple[object, ...]] = []

    class Silent(Workers):
        def connect(self) -> None:
            pass

        close = connect

        def ask_all(self, *call: object) -> Pieces:
            asked.append(call)
            return Pieces.of(1, {0: 0})

    workers = Silent()
    for owner in ((2,), (2, -1), (3,), (3, -1)):
        workers.remember(owner, ("tell", owner))
    workers.drop((2,))
    workers.drop((3, -1))
    workers.round("ask")
    assert asked == [("tell", (3,)), ("ask",)]
