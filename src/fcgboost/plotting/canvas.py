"""What all pictures share: colours, Axes, legends."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

#: The colour of each dictionary, the same in every picture.
DICTIONARY_COLORS: Mapping[str, str] = {
    "gauss": "#0072B2",
    "polynomial": "#D55E00",
    "sigmoid": "#009E73",
    "relu": "#CC79A7",
}
#: The colours of the two classes, in the order of `classes_`.
CLASS_COLORS: tuple[str, str] = ("#D55E00", "#0072B2")
#: Colours for any number of things, the classes' first; its yellow is too light on white.
PALETTE = (*CLASS_COLORS, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999")
#: Their markers, as many as not to fall together with the colours.
MARKERS = ("^", "o", "s", "D", "v", "P", "X", "<")

# In font sizes: clears the tick labels and the axis label.
_LEGEND_PAD = 3.6
# Among fewer values none is taken for an outlier.
_FEW = 20
# The mean width of a letter in its size.
_LETTER = 0.52


class Display:
    """A picture; `plot` sets the attributes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    ax_: Axes
    figure_: Any

    def _take(self, ax: Axes | None) -> Axes:
        """Draw from now on into `ax`, or into a new figure."""
        self.ax_ = new_axes(type(self).__name__) if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


def check_matplotlib(asker: str) -> None:
    """Raise an ImportError that names the extra, before anything takes time."""
    try:
        import matplotlib.pyplot  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{asker} needs matplotlib: python -m pip install 'fcgboost[plot]'."
        ) from error


def new_axes(asker: str) -> Axes:
    """Give the Axes of a new figure."""
    check_matplotlib(asker)
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def ink(ax: Axes) -> Any:
    """Give the colour of the labels: black, but light on dark backgrounds."""
    return ax.xaxis.label.get_color()


def colors_of(n: int) -> list[str]:
    """Give n colours; they come again after some."""
    return [PALETTE[i % len(PALETTE)] for i in range(n)]


def room(ax: Axes) -> tuple[float, float]:
    """Give the width and the height of Axes in points, before a layout makes them a bit smaller."""
    extent = ax.get_window_extent()
    return 72.0 * extent.width / ax.figure.dpi, 72.0 * extent.height / ax.figure.dpi


def wrapped(text: str, width: float, size: float) -> str:
    """Break a label into lines that are no wider than Axes are, in points."""
    return textwrap.fill(text, max(12, int(width / (_LETTER * size))), break_long_words=False)


def set_labels(ax: Axes, x: str, y: str) -> None:
    """Name both axes, in several lines where they are short."""
    width, height = room(ax)
    size = float(ax.xaxis.label.get_fontsize())
    lines = (wrapped(line, width, size) for line in x.split("\n"))
    # A legend takes some of the height.
    ax.set(xlabel="\n".join(lines), ylabel=wrapped(y, 0.75 * height, size))


def usual_range(values: Array, least: float = 0.0) -> tuple[float, float]:
    """Give the smallest and the largest value, without a few that lie far from all others.

    Far is beyond the middle 96 % by more than one and a half times their range, and than `least`:
    one broken row must not squash the picture of a thousand.
    """
    if len(values) < _FEW:
        return float(values.min()), float(values.max())
    first = np.quantile(values, 0.02, method="higher")
    last = np.quantile(values, 0.98, method="lower")
    reach = max(1.5 * (last - first), least)
    near = values[(values >= first - reach) & (values <= last + reach)] if reach > 0.0 else values
    return float(near.min()), float(near.max())


def letters_width(text: str, size: float) -> float:
    """Estimate the width of a text in points."""
    return _LETTER * size * len(text)


def tick_size(n: int, length: float) -> float:
    """Give the size of letters, in points, at which n lines of text lie side by side."""
    return min(_points("ytick.labelsize"), max(4.0, 0.75 * length / max(1, n)))


def legend_below(ax: Axes, ncols: int = 3) -> None:
    """Put the legend below the axis label, where it covers nothing, no wider than the Axes.

    Where it would take too much of small Axes its letters are smaller; where even that does not
    help there is none.
    """
    handles, names = ax.get_legend_handles_labels()
    if not handles:
        return
    width, height = (share * length for share, length in zip((1.0, 0.28), room(ax), strict=True))
    usual = _points("legend.fontsize")
    for size in (usual, 0.8 * usual):
        n = next((n for n in range(ncols, 1, -1) if _legend_width(names, n, size) <= width), 1)
        if -(-len(names) // n) * 1.35 * size <= height and _legend_width(names, n, size) <= width:
            break
    else:
        return
    pad = _LEGEND_PAD + 1.5 * ax.get_xlabel().count("\n")
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
    style: dict[str, Any] = {"ncols": n, "frameon": False, "labelcolor": ink(ax)}
    # The pad is counted in sizes of the letters.
    pad *= usual / size
    ax.legend(**place, **style, fontsize=size, borderaxespad=pad, markerscale=1.5)


def _legend_width(names: list[str], ncols: int, size: float) -> float:
    """Estimate the width of a legend in points; it fills one column after the other."""
    # Dollars and underscores set formulas.
    lengths = np.array([len(re.sub(r"[$_{}]", "", name)) for name in names])
    longest = sum(int(column.max(initial=0)) for column in np.array_split(lengths, ncols))
    # Beside its text an entry has a handle and gaps.
    return size * (_LETTER * longest + 4.0 * ncols)


def _points(setting: str) -> float:
    """Give a size of letters among matplotlib's settings, which may be a word, in points."""
    import matplotlib as mpl
    from matplotlib.font_manager import FontProperties

    settings: Any = mpl.rcParams
    return float(FontProperties(size=settings[setting]).get_size_in_points())


def two_sided(strongest: float = 1.0) -> Any:
    """Give a map of colours from the first class over nothing at all to the second."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    first, second = CLASS_COLORS
    colors = [to_rgba(first, strongest), to_rgba(first, 0.0)]
    colors += [to_rgba(second, 0.0), to_rgba(second, strongest)]
    places = zip((0.0, 0.5, 0.5, 1.0), colors, strict=True)
    return LinearSegmentedColormap.from_list("two sided", list(places))


def label_name(value: Any) -> str:
    """Give the name of a class: 1.0 is '1'."""
    return str(value).removesuffix(".0")


def more_features(n: int) -> str:
    """Say how many features are not drawn."""
    return f"{n} more features are smaller" if n > 1 else "1 more feature is smaller"


def farther_out(n: int) -> str:
    """Say how many rows lie outside a picture."""
    return f"{n} rows lie farther out" if n > 1 else "1 row lies farther out"
