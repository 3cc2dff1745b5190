"""Matplotlib figures as images that stand in a page."""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from fcgboost.wording import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Letters that are large enough on a phone, and on paper in two columns. Names may have dollars:
# only what is surely a formula is taken for one.
_STYLE: dict[Any, Any] = {
    "font.size": 10.5,
    "legend.fontsize": 10.0,
    "legend.columnspacing": 1.2,
    "legend.handlelength": 1.4,
    "text.parse_math": False,
}
# The formulas in the displays' own texts.
_FORMULA = re.compile(r"\$(k|k_0|y|f\(x\)|y f\(x\)|f_y\(x\) - [^$]*)\$")


def image_of(ax: Axes) -> str:
    """Return the figure of Axes as the address of an SVG image that holds all its bytes."""
    from matplotlib import rc_context

    figure = cast("Figure", ax.figure)  # of `drawing`, so not a part of one
    # Letters that matplotlib's font lacks are left to the reader's fonts.
    for kind in ("path", "none"):
        buffer = io.BytesIO()
        with (
            rc_context({"svg.fonttype": kind, "svg.hashsalt": "fcgboost"}),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            # Layouts do not reserve space for everything next to the Axes; do not cut it off.
            figure.savefig(
                buffer,
                format="svg",
                metadata={"Date": None},
                bbox_inches="tight",
                pad_inches=0.04,
            )
        if not any("missing from font" in str(warning.message) for warning in caught):
            break
    content = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f"data:image/svg+xml;base64,{content}"


@contextmanager
def drawing(height: float = 3.6) -> Iterator[Axes]:
    """Create Axes of a new figure outside pyplot."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
        from matplotlib.text import Text
    except ImportError as error:
        raise ImportError(
            "Reports need matplotlib: python -m pip install 'fcgboost[report]'."
        ) from error
    with rc_context(_STYLE):
        figure = Figure(figsize=(4.6, height), layout="constrained")
        yield figure.add_subplot()
        for text in figure.findobj(Text):
            text.set_text(shown(text.get_text()))
            text.set_parse_math(bool(_FORMULA.search(text.get_text())))
