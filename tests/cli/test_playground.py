"""`fcgboost playground`: how the app is served, and to whom."""

import subprocess
import urllib.error
import urllib.request
from importlib.util import find_spec
from typing import Any

import pytest

import fcgboost.cli.playground
from tests.suites.apps import served
from tests.suites.commands import run


def test_without_marimo_the_command_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fcgboost.cli.playground, "find_spec", lambda name: None)
    assert run("playground") != 0
    assert "pip install 'fcgboost[playground]'" in capsys.readouterr().err


@pytest.mark.parametrize("status", [0, 3])
def test_the_app_is_served_on_this_machine_only_with_a_secret_token(
    monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    calls: list[tuple[list[str], str]] = []

    def start(command: list[str], *, input: str, **rest: Any) -> Any:
        calls.append((command, input))
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr(fcgboost.cli.playground, "find_spec", lambda name: object())
    monkeypatch.setattr(subprocess, "run", start)
    for arguments in ((), ("--port", "8123", "--no-browser")):
        assert run("playground", *arguments) == status
    (plain, token), (chosen, other) = calls
    for command in (plain, chosen):
        assert command[command.index("--host") + 1] == "127.0.0.1"
        # Whoever lists the processes does not see the token.
        assert command[command.index("--token-password-file") + 1] == "-"
        assert token not in command
        assert other not in command
    assert token != other
    assert len(token) >= 20
    assert chosen == [*plain, "--port", "8123", "--headless"]


@pytest.mark.skipif(find_spec("marimo") is None, reason="needs the package marimo")
@pytest.mark.extras
def test_who_has_no_token_sees_nothing() -> None:
    with served() as address:
        host, _, token = address.partition("?access_token=")
        assert len(token) >= 20
        for query in ("", "?access_token=", f"?access_token={'x' * len(token)}"):
            with urllib.request.urlopen(f"{host}{query}", timeout=60) as page:
                assert "/auth/login" in page.url
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{host}/api/status", timeout=60)
        refused.value.close()
