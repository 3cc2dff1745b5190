"""`fcgboost playground`: a page to play with noise, atoms and steps."""

from __future__ import annotations

import argparse
from typing import Any

from fcgboost.cli import arguments

HELP = "open a page to play with the method"
TEXT = """\
Open a page in the browser with controls for noise, dictionary, width, loss, scheme,
ridge and steps; this package fits anew and the page shows boundary, path and atoms.

The page is served to this machine only (127.0.0.1), to whoever opens the address
that is printed. It cannot run commands or read files. Ctrl-C ends it.

examples:
  fcgboost playground
  fcgboost playground --port 8000 --no-browser
"""


def add_arguments(parser: Any) -> None:
    """Add what the command takes."""
    help_ = "(default: any that is free)"
    parser.add_argument("--port", type=arguments.whole, default=0, metavar="N", help=help_)
    help_ = "only print the address"
    parser.add_argument("--no-browser", action="store_true", help=help_)


def run(options: argparse.Namespace) -> None:
    """Serve until Ctrl-C."""
    from fcgboost.web import serve

    serve(options.port, open_browser=not options.no_browser)
