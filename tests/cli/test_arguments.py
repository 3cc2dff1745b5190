"""Options of the commands: each is explained, and what is wrong is usage."""

import pytest

from fcgboost.cli import main
from tests.suites.commands import commands

# One fixture fits for all of them: they belong on one worker.
pytestmark = pytest.mark.xdist_group("cli")


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["fit"],
        ["fit", "x.csv", "--test-size", "2"],
        ["fit", "x.csv", "--set", "novalue"],
        ["export", "m.json"],
        ["predict", "m.json"],
        ["report", "m.json"],
        ["unknown"],
        ["fit", "x.csv", "--seed", "-1"],
        ["fit", "x.csv", "--seed", str(2**32)],
        ["fit", "x.csv", "--time-limit", "-1"],
        ["predict", "m.json", "x.csv", "--batch", "0"],
    ],
)
def test_wrong_usage_ends_with_status_2(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(command)
    assert caught.value.code == 2
    assert "usage: fcgboost" in capsys.readouterr().err


def test_every_option_has_a_help_text() -> None:
    for name, parser in commands():
        for action in parser._actions:
            is_plain = action.choices is not None and action.option_strings
            assert action.help or is_plain, (name, action.dest)
