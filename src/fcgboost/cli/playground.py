"""`fcgboost playground`: a page to play with noise, atoms and steps."""

from __future__ import annotations

import argparse
from typing import Any

from fcgboost.cli.arguments import add_command, whole

_TEXT = """\
Open a page in the browser where noise, dictionary, width, loss, scheme, ridge and
steps can be moved; boundary, path and atoms follow, computed by this package.

The page is served to this machine only (127.0.0.1). The address that is printed
lets one browser in. Nothing runs commands or reads files. Ctrl-C ends it.

examples:
  fcgboost playground
  fcgboost playground --port 8000 --no-browser
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(commands, "playground", run, "open a page to play with the method", _TEXT)
    parser.add_argument(
        "--port", type=whole, default=0, metavar="N", help="(default: any that is free)"
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="only print the address, open nothing"
    )


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    from fcgboost.web import serve

    if options.port > 65535:
        raise ValueError(f"--port must be at most 65535, got {options.port}.")
    serve(options.port, open_browser=not options.no_browser)
    return 0
