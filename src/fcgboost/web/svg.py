"""Matplotlib figures as part of a page: small, safe, and in the page's own colours."""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from fcgboost.colors import LIGHT, PALETTE
from fcgboost.web.text import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What is larger is a raster image instead.
_MOST_BYTES = 120_000
_SHARP = 144
# Not all that stands beside the Axes has a place in a layout; nothing is to be cut off.
_TIGHT: dict[str, Any] = {"bbox_inches": "tight", "pad_inches": 0.04}
# Letters that are large enough on a phone, and on paper in two columns.
_LETTERS: dict[Any, Any] = {
    "font.size": 10.5,
    "legend.fontsize": 10.0,
    "legend.columnspacing": 1.2,
    "legend.handlelength": 1.4,
}
_DROPPED = {"metadata", "style", "title"}
_ROUNDED = {"d", "x", "y", "width", "height"}
_DIGITS = re.compile(r"-?\d+\.\d{3,}")
_FONT_SIZE = re.compile(r"([\d.]+)px")
# The formulas in the displays' own texts.
_FORMULA = re.compile(r"\$(k|k_0|y|f\(x\)|y f\(x\)|f_y\(x\) - [^$]*)\$")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
# Greys darker or lighter than these are text or paper.
_DARK, _LIGHT = 0x70, 0xE8
_PROPERTIES = {color.lower(): f"var(--class-{i})" for i, color in enumerate(PALETTE, 1)}


def markup(figure: Figure, name: str, summary: str) -> str:
    """Return a figure as markup: SVG that follows the page's colours, or a PNG on white.

    The name makes ids unique within a page; the summary is for screen readers.
    """
    from matplotlib import rc_context

    options = {"format": "svg", "transparent": True, "metadata": {"Date": None}, **_TIGHT}
    # Letters that matplotlib's font lacks are left to the reader's fonts.
    for kind in ("path", "none"):
        buffer = io.BytesIO()
        with (
            rc_context({"svg.fonttype": kind, "svg.hashsalt": name}),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            figure.savefig(buffer, **options)
        if not any("missing from font" in str(one.message) for one in caught):
            break
    element = inline(buffer.getvalue().decode(), name, summary)
    return element if len(element) <= _MOST_BYTES else raster(figure, summary)


def raster(figure: Figure, summary: str) -> str:
    """Return a figure as a PNG on white."""
    buffer, options = io.BytesIO(), {"dpi": _SHARP, "facecolor": LIGHT["surface"], **_TIGHT}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*missing from font.*")
        figure.savefig(buffer, format="png", metadata={"Software": None}, **options)
    source = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<img src="data:image/png;base64,{source}" alt="{escape(summary)}">'


def inline(drawing: str, name: str, summary: str) -> str:
    """Return matplotlib's SVG as an element of a page.

    A page that allows no style but its own ignores style attributes, so they become attributes of
    their own. Colours become those of the page; ids get a prefix, names lose their namespaces,
    coordinates the digits that nobody sees.
    """
    root = ElementTree.fromstring(shown(drawing))
    _clean(root, name)
    size = root.get("viewBox", "0 0 1 1")
    root.attrib.clear()
    root.attrib |= {"viewBox": size, "role": "img", "aria-label": summary}
    root.attrib |= {"fill": "currentColor", "stroke-linejoin": "round", "stroke-linecap": "butt"}
    return ElementTree.tostring(root, encoding="unicode")


def _clean(element: ElementTree.Element, prefix: str) -> None:
    element.tag = element.tag.rpartition("}")[2]
    element.text = element.text if element.tag == "text" else None
    element.tail = None
    for child in list(element):
        _clean(child, prefix)
        if child.tag in _DROPPED:
            element.remove(child)
    attributes = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
    pairs = (part.split(":", 1) for part in attributes.pop("style", "").split(";") if ":" in part)
    attributes |= {key.strip(): value.strip() for key, value in pairs}
    if size := _FONT_SIZE.search(attributes.pop("font", "")):
        attributes["font-size"] = size[1]
    element.attrib.clear()
    element.attrib |= {key: _value(key, value, prefix) for key, value in attributes.items()}


def _value(key: str, value: str, prefix: str) -> str:
    if key == "id":
        return f"{prefix}-{value}"
    if key == "href" and value.startswith("#"):
        return f"#{prefix}-{value[1:]}"
    if key in _ROUNDED:
        return _DIGITS.sub(lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), value)
    if key in ("fill", "stroke"):
        return _color(value)
    return _REFERENCE.sub(rf"url(#{prefix}-\1)", value)


def _color(value: str) -> str:
    """Return the page's name of a colour; near-black greys are its text colour."""
    if value.lower() in _PROPERTIES:
        return _PROPERTIES[value.lower()]
    found = re.fullmatch(r"#([0-9a-fA-F]{2})\1\1", value)
    grey = int(found[1], 16) if found else None
    if grey is None or _DARK <= grey <= _LIGHT:
        return value
    return "currentColor" if grey < _DARK else "var(--surface)"


@contextmanager
def drawing(has_dollars: bool, height: float = 3.6) -> Iterator[Any]:
    """Create Axes of a new figure outside pyplot.

    Where somebody's names have dollars, only what is surely a formula is taken for one.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.text import Text
    except ImportError as error:
        raise ImportError(
            "Reports need matplotlib: python -m pip install 'fcgboost[report]'."
        ) from error
    with rc_context({"text.parse_math": not has_dollars, **_LETTERS}):
        figure = Figure(figsize=(4.6, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure.add_subplot()
        for text in figure.findobj(Text):
            text.set_text(shown(text.get_text()))
            if _FORMULA.search(text.get_text()):
                text.set_parse_math(True)
