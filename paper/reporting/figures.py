"""What all pictures of the report share: colours, styles, frames and bands.

A thing has one colour in every picture. Colours are those of Okabe and Ito, which colour-blind
people can tell apart; line styles or markers say the same once more. No global setting of
matplotlib is read on purpose or changed.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fcgboost.colors import DICTIONARY_COLORS
from paper.reporting.document import Picture
from paper.reporting.summaries import Summary
from paper.rivals import RIVALS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150
# Inches: a report's column.
WIDTH = 7.5


class Style(NamedTuple):
    """How a line is drawn, and what the legend calls it."""

    label: str
    color: str
    # A name or a pattern of dashes.
    line: Any = "-"
    marker: str = ""


DICTIONARY_STYLES: Mapping[str, Style] = {
    "gauss": Style("Gauss", DICTIONARY_COLORS["gauss"], "-", "o"),
    "polynomial": Style("polynomial", DICTIONARY_COLORS["polynomial"], "--", "s"),
    "sigmoid": Style("sigmoid", DICTIONARY_COLORS["sigmoid"], "-.", "^"),
    "relu": Style("ReLU", DICTIONARY_COLORS["relu"], ":", "D"),
}
CORRECTION_STYLES: Mapping[str, Style] = {
    "ridge": Style("exact, λ = 1/m (default)", "#0072B2", "-", "o"),
    "exact": Style("exact, λ = 0", "#D55E00", "--", "s"),
    "admm": Style("ADMM, 100 iterations", "#009E73", "-.", "^"),
    "letter": Style("Algorithm 1 to the letter", "#000000", ":", "x"),
}
SCHEME_STYLES: Mapping[str, Style] = {
    "original": Style("original", "#E69F00", "-"),
    "shrinkage": Style("shrinkage", "#56B4E9", "--"),
    "truncation": Style("truncation", "#009E73", "-."),
    "epsilon": Style("ε-boosting", "#CC79A7", ":"),
    "rescaled": Style("rescaled", "#999999", (0, (5, 1, 1, 1, 1, 1))),
    "fully_corrective": Style("fully corrective", "#0072B2", "-"),
    "exact": Style("fully corrective, λ = 0", "#D55E00", "--"),
    "letter": Style("Algorithm 1 to the letter", "#000000", ":"),
}
SOLVER_STYLES: Mapping[str, Style] = {
    "admm": Style("ADMM, γ = α = 1", "#009E73", "-."),
    "admm_scaled": Style("ADMM, γ = α = 1/m", "#56B4E9", "--"),
    "gradient_descent": Style("gradient descent", "#E69F00", ":"),
    "newton": Style("Newton", "#0072B2", "-"),
}
METHOD_STYLES: Mapping[str, Style] = {
    "fcg_gauss": Style("FCG Gauss", DICTIONARY_COLORS["gauss"]),
    "fcg_polynomial": Style("FCG polynomial", DICTIONARY_COLORS["polynomial"]),
    "fcg_sigmoid": Style("FCG sigmoid", DICTIONARY_COLORS["sigmoid"]),
    "fcg_relu": Style("FCG ReLU", DICTIONARY_COLORS["relu"]),
    "svm_rbf": Style(RIVALS["svm_rbf"].title, "#E69F00"),
    "svm_poly": Style(RIVALS["svm_poly"].title, "#56B4E9"),
    "fpc": Style(RIVALS["fpc"].title, "#F0E442"),
    "random_forest": Style(RIVALS["random_forest"].title, "#000000"),
    "adaboost": Style(RIVALS["adaboost"].title, "#999999"),
    "baseline": Style(RIVALS["baseline"].title, "#FFFFFF"),
}
NOISE_NAMES: Mapping[str, str] = {"uniform": "uniform noise", "outlier": "outlier noise"}
LOSS_NAMES: Mapping[str, str] = {
    "squared_hinge": "squared hinge",
    "hinge": "hinge",
    "cubed_hinge": "cubed hinge",
    "square": "square",
}


def style_of(styles: Mapping[str, Style], name: str) -> Style:
    """Give the style of a name; one that is not known is grey."""
    return styles.get(name, Style(name, "#999999"))


def label_of(styles: Mapping[str, Style], name: str) -> str:
    """Give what tables and legends call it."""
    return style_of(styles, name).label


def panels(n_rows: int, n_columns: int, height: float, **options: Any) -> tuple[Figure, Any]:
    """Open a figure with Axes in an array of shape (n_rows, n_columns)."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "The report needs matplotlib: python -m pip install matplotlib."
        ) from error
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False, **options)


def curve(ax: Axes, x: ArrayLike, points: Sequence[Summary], style: Style) -> None:
    """Draw means with a band of one standard error to either side."""
    means = np.array([point.mean for point in points])
    errors = np.nan_to_num([point.error for point in points])
    options: dict[str, Any] = {"color": style.color, "linestyle": style.line}
    ax.plot(x, means, label=style.label, marker=style.marker or None, markersize=3.5, **options)
    ax.fill_between(x, means - errors, means + errors, color=style.color, alpha=0.18, linewidth=0)


def dots(ax: Axes, points: Mapping[str, Summary], ours: Mapping[str, str], digits: int) -> None:
    """Draw labelled means with whiskers of one standard error, the first at the top.

    What is ours has its own colour, and a line down from the first of it; labels are keys.
    """
    for place, (label, point) in enumerate(points.items()):
        color = ours.get(label, "#555555")
        error = 0.0 if point.error != point.error else point.error
        ax.errorbar(point.mean, place, xerr=error, fmt="o", color=color, capsize=3.0)
        note: dict[str, Any] = {"xytext": (0, 6), "textcoords": "offset points", "ha": "center"}
        ax.annotate(
            f"{point.mean:.{digits}f}", (point.mean, place), fontsize=7, color=color, **note
        )
    first = next((label for label in ours if label in points), None)
    if first is not None:
        ax.axvline(points[first].mean, color=ours[first], linewidth=0.8, alpha=0.5, zorder=0)
    ax.set_yticks(range(len(points)), list(points), fontsize=9)
    for text in ax.get_yticklabels():
        text.set_color(ours.get(text.get_text(), "#000000"))
    ax.set_ylim(len(points) - 0.5, -0.8)
    ax.margins(x=0.12)
    ax.grid(axis="x", color="#e5e5e5", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def mark_step(ax: Axes, k: int, label: str) -> None:
    """Mark a number of steps by a dotted line, named above the Axes where it covers no data."""
    ax.axvline(k, color="#555555", linestyle=(0, (1, 2)), linewidth=1.0, zorder=1)
    place: dict[str, Any] = {"xy": (k, 1.0), "xycoords": ("data", "axes fraction")}
    place |= {"xytext": (0, 2), "textcoords": "offset points", "ha": "center", "va": "bottom"}
    ax.annotate(label, **place, fontsize=8)


def log_scales(ax: Axes) -> None:
    """Give both axes a log scale, if there is anything that could be drawn on it."""
    if 0.0 < ax.dataLim.minposx < np.inf:
        ax.set_xscale("log")
    if 0.0 < ax.dataLim.minposy < np.inf:
        ax.set_yscale("log")


def label_heights(ax: Axes) -> None:
    """Label 1, 2 and 5 times the powers of ten on a log axis that spans few of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    if ax.get_yscale() == "log":
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


#: How far titles stand off where steps are named below them, in points.
TITLE_PAD = 16.0


def finish(
    figure: Figure,
    name: str,
    caption: str,
    n_columns: int = 4,
    printed: str = "",
) -> Picture:
    """Put one legend for all panels below them, and write the figure down."""
    legend_below(figure, n_columns)
    return replace(picture(figure, name, caption), printed=printed)


def legend_below(figure: Figure, n_columns: int) -> None:
    """Put one legend for all panels below them, where it covers nothing."""
    entries: dict[str, Any] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        place: dict[str, Any] = {"loc": "outside lower center", "ncols": n_columns}
        figure.legend(list(entries.values()), list(entries), frameon=False, **place)


def picture(figure: Figure, name: str, caption: str) -> Picture:
    """Write a figure as a PNG that depends on nothing but what is drawn."""
    from PIL import Image

    drawn, file = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI)
    # A palette makes the file a third as large; the few colours of a plot all have their place.
    image = Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    image.save(file, format="PNG", optimize=True)
    return Picture(name, caption, file.getvalue())
