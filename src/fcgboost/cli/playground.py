"""`fcgboost playground`: a local page to play with data, noise and models."""

from __future__ import annotations

import argparse
from typing import Any

from fcgboost.cli import arguments

HELP = "open a page to play with data, noise and models"
TEXT = """\
Open a page in the browser with controls for data, noise and model: the default,
compact, the families and trees, on simulations and real tables. Every change is a
fit; the page shows the decision boundary and the path.

The page is served on this machine only (127.0.0.1), to whoever opens the printed
address. It cannot run commands or read files. Ctrl-C stops it.

examples:
  fcgboost playground
  fcgboost playground --port 8000 --no-browser
"""


def add_arguments(parser: Any) -> None:
    """Add what the command takes."""
    help_ = "the port (default: any free one)"
    parser.add_argument("--port", type=arguments.whole, default=0, metavar="N", help=help_)
    help_ = "only print the address"
    parser.add_argument("--no-browser", action="store_true", help=help_)


def run(options: argparse.Namespace) -> None:
    """Serve until Ctrl-C."""
    from fcgboost.web import serve

    serve(options.port, open_browser=not options.no_browser)
