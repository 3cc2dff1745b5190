"""Self-contained HTML pages under a strict content security policy."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from fcgboost.colors import custom_properties
from fcgboost.files import FilePath, write_whole
from fcgboost.report.blocks import Card, Explorer, Section
from fcgboost.wording import shown

# Inside a script element, only these could end it or be taken for markup.
_IN_SCRIPT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def write_page(
    path: FilePath,
    title: str,
    lead: Sequence[str],
    cards: Sequence[Card],
    sections: Sequence[Section],
) -> Path:
    """Write a report atomically."""
    path = Path(path)
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"The folder for the report {path} does not exist.")
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            "Reports need Jinja2: python -m pip install 'fcgboost[report]'."
        ) from error
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    data = {
        block.what: block.data
        for *_, blocks in sections
        for block in blocks
        if isinstance(block, Explorer)
    }
    parts = {"style": style(), "script": script()}
    page = environment.from_string(resource("report.html.jinja")).render(
        title=title,
        lead=lead,
        cards=cards,
        sections=sections,
        version=version("fcgboost"),
        policy=_policy(**parts),
        data=json.dumps(data, allow_nan=False, separators=(",", ":")).translate(_IN_SCRIPT),
        **parts,
    )
    write_whole(path, shown(page))
    return path


def style() -> str:
    """Return the style of a page."""
    return custom_properties() + resource("report.css")


def script() -> str:
    """Return the page's script, wrapped in a function so that it leaks no names."""
    return f'\n"use strict";\n(() => {{\n{resource("report.js")}}})();\n'


def resource(name: str) -> str:
    """Return the text of a file of this package."""
    # Browsers make one character of a line's end before they take the hash.
    return files("fcgboost.report").joinpath(name).read_text("utf-8").replace("\r\n", "\n")


def _policy(style: str, script: str) -> str:
    """Return the content security policy: the page's own style and script, pictures in it."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest())
    return f"sha256-{digest.decode()}"
