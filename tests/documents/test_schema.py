"""The schema of model files is what the loader takes."""

from pathlib import Path

import jsonschema

from fcgboost.stopping import Status
from tests.suites.documents import DAMAGE, damaged
from tests.suites.models import SCHEMA


def test_the_schema_knows_every_ending() -> None:
    status = SCHEMA["$defs"]["MemberRecord"]["properties"]["status"]
    assert set(status["enum"]) == set(Status.__members__)


def test_the_schema_is_one_and_refuses_what_the_loader_refuses(tmp_path: Path) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.check_schema(SCHEMA)
    refused = 0
    for seed, place, value, match in DAMAGE.values():
        is_refused = not validator.is_valid(damaged(seed, place, value))
        assert match or not is_refused
        refused += is_refused
    assert refused > 20
