"""Self-contained HTML pages under a strict content security policy."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fcgboost.colors import CLASS_COLORS, custom_properties
from fcgboost.files import write_whole
from fcgboost.web.blocks import Card, Explorer, Section
from fcgboost.web.text import shown

_ICON = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><path fill='{0}' "
    "d='M0 0h16v16H0z'/><path fill='{1}' d='M0 0h16v5C9 5 9 12 0 12z'/></svg>"
)
ICON = "data:image/svg+xml," + quote(_ICON.format(*CLASS_COLORS), safe="/:=' ")
# Inside a script element, only these could end it or be taken for markup.
_IN_SCRIPT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def write_page(
    path: str | os.PathLike[str],
    title: str,
    lead: Sequence[str],
    cards: Sequence[Card],
    sections: Sequence[Section],
) -> Path:
    """Write a report atomically."""
    path = Path(path)
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"The folder for the report {path} does not exist.")
    page = _render(title=title, lead=lead, cards=cards, sections=sections)
    write_whole(path, shown(page))
    return path


def style() -> str:
    """Return the style of both pages."""
    return custom_properties() + resource("style.css")


def script(*names: str) -> str:
    """Return a page's script, wrapped in a function so that it leaks no names."""
    parts = "\n".join(resource(f"{part}.js") for part in ("drawing", "plane", *names))
    return f'\n"use strict";\n(() => {{\n{parts}}})();\n'


def resource(name: str) -> str:
    """Return the text of a file of this package."""
    # Browsers make one character of a line's end before they take the hash.
    return files("fcgboost.web").joinpath(name).read_text("utf-8").replace("\r\n", "\n")


def playground_page(defaults: dict[str, Any]) -> str:
    """Return the playground's page, without its nonce."""
    page = resource("playground.html").replace("ICON", ICON)
    page = page.replace("DEFAULTS", escape(json.dumps(defaults)))
    page = page.replace("/* STYLE */", style())
    return page.replace("/* SCRIPT */", script("controls", "playground"))


def _render(*, sections: Sequence[Section], **head: Any) -> str:
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            "Reports need Jinja2: python -m pip install 'fcgboost[report]'."
        ) from error
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    explorers = [one for *_, blocks in sections for one in blocks if isinstance(one, Explorer)]
    data = {one.what: one.data for one in explorers}
    parts = {"style": style(), "script": script("report")}
    return environment.from_string(resource("report.html.jinja")).render(
        sections=sections,
        version=version("fcgboost"),
        icon=ICON,
        policy=_policy(**parts),
        data=json.dumps(data, allow_nan=False, separators=(",", ":")).translate(_IN_SCRIPT),
        **parts,
        **head,
    )


def _policy(style: str, script: str) -> str:
    """Return the content security policy: the page's own style and script, pictures in it."""
    own = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in (style, script))
    return (
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    ).format(*own)
