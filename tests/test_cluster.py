"""The design whose rows lie elsewhere: the suite of all designs, and what is its own."""

from collections.abc import Callable

import pytest
from suites.crews import Rooms
from suites.designs import CHECKS, Backend


@pytest.fixture(params=["kept", "loaded again"])
def backend(request: pytest.FixtureRequest) -> Backend:
    rooms = Rooms() if request.param == "kept" else Rooms(can_load=True, budget=0)
    return Backend(rooms.design, rooms.vector, rooms.array)


# Memory is a matter of every machine of its own: see below.
COMMON = [check for check in CHECKS if "storing_too_much" not in check.__name__]


@pytest.mark.parametrize("check", COMMON, ids=lambda check: check.__name__)
def test_every_design_passes(
    backend: Backend, check: Callable[[Backend], None], request: pytest.FixtureRequest
) -> None:
    if "loaded again" in request.node.name and check.__name__ == "check_scores_are_inner_products":
        pytest.skip("thousands of rounds; the kept rows do it")
    check(backend)
