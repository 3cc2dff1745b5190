"""Sums of partitions: their order is fixed, and neighbours travel together."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcgboost.backends.cluster import sums
from fcgboost.backends.cluster.sums import Pieces, added, aggregation_tree, branches

pytestmark = pytest.mark.usefixtures("same_splits")


def sums_in_order(answers: list[Any]) -> Any:
    """Halve partitions down to single ones, and add up on the way back."""
    if len(answers) == 1:
        return answers[0]
    middle = len(answers) // 2
    return added(sums_in_order(answers[:middle]), sums_in_order(answers[middle:]))


@given(st.integers(1, 40), st.integers(1, 40), st.integers(2, 5), st.randoms())
def test_the_order_of_sums_does_not_depend_on_who_has_which_partition(
    n_parts: int, n_workers: int, fan_out: int, chance: Any
) -> None:
    answers = [
        None if chance.random() < 0.2 else (chance.uniform(-1, 1), [i]) for i in range(n_parts)
    ]
    owners = [chance.randrange(n_workers) for _ in answers]
    members = sorted(set(owners))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "FAN_OUT", fan_out)
        asks = aggregation_tree(members)

        def answer(member: int) -> Pieces:
            own = {i: answers[i] for i in range(n_parts) if owners[i] == member}
            return Pieces.of(n_parts, own).with_others(map(answer, asks[member]))

        heads = [branch[0] for branch in branches(members)]
        first, *others = map(answer, heads)
    found = first.with_others(others).total
    assert found == sums_in_order(answers)
    if found is not None:
        assert found[1] == [i for i, one in enumerate(answers) if one is not None]
    # Nobody waits for one that comes before it, and everybody is asked once.
    assert all(below > member for member, some in asks.items() for below in some)
    assert sorted([*heads, *(below for some in asks.values() for below in some)]) == members
    assert max(map(len, [heads, *asks.values()])) <= fan_out


def test_neighbours_travel_as_one_sum() -> None:
    whole = Pieces.of(64, dict.fromkeys(range(16, 32), 1))
    assert whole.runs == {(16, 32): 16}
    assert len(Pieces.of(64, dict.fromkeys(range(1, 63), 1)).runs) == 10
