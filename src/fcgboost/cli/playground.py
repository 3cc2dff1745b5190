"""`fcgboost playground`: an app in the browser to play with data, noise, atoms and steps."""

from __future__ import annotations

import argparse
import secrets
import subprocess
import sys
from importlib.resources import as_file, files
from importlib.util import find_spec

from fcgboost.cli import arguments

HELP = "open an interactive page in the browser"
USAGE = "[--port N] [--no-browser]"
TEXT = """\
Open an interactive page in the browser: change the data, the noise or the atoms, and
watch the model being fitted again. Needs marimo: pip install 'fcgboost[playground]'.

The page is served on this machine only (127.0.0.1), at an address with a token, which
is printed. Press Ctrl-C to stop.

examples:
  fcgboost playground
  fcgboost playground --port 8000 --no-browser
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument(
        "--port",
        type=arguments.whole,
        metavar="N",
        help="the port (default: any free one)",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address without opening a browser"
    )


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    if find_spec("marimo") is None:
        raise ImportError("The playground needs marimo: pip install 'fcgboost[playground]'.")
    with as_file(files("fcgboost").joinpath("playground.py")) as app:
        command = [sys.executable, "-m", "marimo", "run", str(app), "--host", "127.0.0.1"]
        # Through a pipe, so that no list of processes shows it; marimo's own is a hash of the app.
        command += ["--token-password-file", "-", "--no-sandbox", "--no-check"]
        if options.port is not None:
            command += ["--port", str(options.port)]
        if options.no_browser:
            command.append("--headless")
        served = subprocess.run(
            command,
            input=secrets.token_urlsafe(16),
            text=True,
            check=False,
        )
    return served.returncode
