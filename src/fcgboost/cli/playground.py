"""`fcgboost playground`: a page to play with noise, atoms and steps."""

from __future__ import annotations

import argparse
from typing import Any

from fcgboost.cli import arguments

HELP = "open an interactive page in the browser"
USAGE = "[--port N] [--no-browser]"
TEXT = """\
Open an interactive page in the browser: change the data, the noise or a parameter,
and watch the model being fitted again.

The page is served on this machine only (127.0.0.1), at the address that is printed.
It cannot run commands or read files. Press Ctrl-C to stop.

examples:
  fcgboost playground
  fcgboost playground --port 8000 --no-browser
"""


def add_arguments(parser: Any) -> None:
    """Add what the command takes."""
    help_ = "the port (default: any free one)"
    parser.add_argument("--port", type=arguments.whole, default=0, metavar="N", help=help_)
    help_ = "print the address without opening a browser"
    parser.add_argument("--no-browser", action="store_true", help=help_)


def run(options: argparse.Namespace) -> None:
    """Serve until Ctrl-C."""
    from fcgboost.web import serve

    serve(options.port, open_browser=not options.no_browser)
