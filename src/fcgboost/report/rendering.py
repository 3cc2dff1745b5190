"""Writes a page as one HTML text that loads nothing and lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from fcgboost.files import write_whole
from fcgboost.report.document import Explorer, Page

_SCRIPTS = ("tools", "tables", "path", "boundary", "coefficients", "intervals", "start")
# Inside a script element, only these could end it or be taken for markup.
_IN_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def write_page(path: str | os.PathLike[str], page: Page) -> Path:
    """Write a page, which is there in full or as it was before."""
    path = Path(path)
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"The folder for the report {path} does not exist.")
    # Half a pair of surrogates in somebody's names is no text that a file could hold.
    write_whole(path, render(page).encode("utf-8", "replace"))
    return path


def render(page: Page) -> str:
    """Give a page as HTML."""
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
    style, script = _resource("page.css"), _script()
    return environment.from_string(_resource("page.html.jinja")).render(
        page=page,
        policy=_policy(style, script),
        style=style,
        script=script,
        data=_as_json(_explored(page)),
    )


def _policy(style: str, script: str) -> str:
    """Give the content security policy: the page's own style and script, pictures in the page."""
    parts = {
        "default-src": "'none'",
        "style-src": _digest(style),
        "script-src": _digest(script),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _script() -> str:
    """Give the page's script: one function, so that nothing of it is seen from outside."""
    parts = "\n".join(_resource(f"scripts/{name}.js") for name in _SCRIPTS)
    return f'\n"use strict";\n(() => {{\n{parts}}})();\n'


def _resource(name: str) -> str:
    # Browsers make one character of a line's end before they take the hash.
    return files("fcgboost.report").joinpath(name).read_text("utf-8").replace("\r\n", "\n")


def _explored(page: Page) -> dict[str, Any]:
    blocks = [block for section in page.sections for block in section.blocks]
    return {block.what: block.data for block in blocks if isinstance(block, Explorer)}


def _as_json(data: Any) -> str:
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character, escape in _IN_SCRIPT.items():
        text = text.replace(character, escape)
    return text
