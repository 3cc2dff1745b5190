"""What all displays share: Axes, texts, and questions to a fitted classifier."""

from __future__ import annotations

import textwrap
import warnings
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fcgboost.colors import CLASS_COLORS, PALETTE
from fcgboost.prediction import BaseFCGBoost

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes

Array = NDArray[np.float64]

# Among fewer values none is taken for an outlier.
_FEW = 20
# The mean width of a letter, in its size.
_LETTER = 0.52
# How large a legend may be, in sizes of the Axes.
_LEGEND_WIDTH, _LEGEND_HEIGHT = 1.05, 0.36


class Display:
    """A picture, drawn by `plot(ax)`: into `ax`, or into a new figure.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    ax_: Axes
    figure_: Any

    def _start(self, ax: Axes | None) -> Axes:
        """Set the Axes to draw into from now on."""
        if ax is None:
            ax = load_pyplot(type(self)).subplots(layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def load_pyplot(display: type) -> Any:
    """Return matplotlib's pyplot, or raise an ImportError that names the extra."""
    try:
        return import_module("matplotlib.pyplot")
    except ImportError as error:
        message = f"{display.__name__} needs matplotlib: python -m pip install 'fcgboost[plot]'."
        raise ImportError(message) from error


def text_color(ax: Axes) -> Any:
    """Return the colour of the labels: black, but light on dark backgrounds."""
    return ax.xaxis.label.get_color()


def class_colors(n: int) -> list[str]:
    """Return n colours of the palette, repeated if need be."""
    return [PALETTE[i % len(PALETTE)] for i in range(n)]


def diverging_colormap(alpha: float = 1.0) -> Any:
    """Return a colormap from the first class, through transparent, to the second."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    first, second = CLASS_COLORS
    colors = [to_rgba(first, alpha), to_rgba(first, 0.0), to_rgba(second, 0.0)]
    places = zip((0.0, 0.5, 0.5, 1.0), [*colors, to_rgba(second, alpha)], strict=True)
    return LinearSegmentedColormap.from_list("classes", list(places))


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Return the width and the height of Axes, before a layout makes them a bit smaller."""
    return 72.0 * ax.bbox.width / ax.figure.dpi, 72.0 * ax.bbox.height / ax.figure.dpi


def wrapped(text: str, width: float, size: float) -> str:
    """Break every line of a label where it would be wider than `width` points."""
    n = max(12, int(width / (_LETTER * size)))
    lines = (textwrap.fill(line, n, break_long_words=False) for line in drawn(text).split("\n"))
    return "\n".join(lines)


def drawn(text: str) -> str:
    """Return a text without halves of surrogate pairs, which have no glyph."""
    return text.encode("utf-8", "replace").decode()


def shortened(name: str, length: int = 28) -> str:
    """Return a name as one line that is no longer than that, with both of its ends."""
    name, half = " ".join(drawn(name).split()), length // 2
    return name if len(name) <= length else f"{name[:half]}…{name[half + 1 - length :]}"


def set_labels(ax: Axes, x: str, y: str) -> None:
    """Label both axes, in several lines where they are short."""
    (width, height), size = size_in_points(ax), float(ax.xaxis.label.get_fontsize())
    # A legend takes some of the height.
    ax.set(xlabel=wrapped(x, width, size), ylabel=wrapped(y, 0.75 * height, size))


def legend_below(ax: Axes, ncols: int = 3) -> None:
    """Put the legend below the axis label, where it covers no data.

    On small Axes its letters are smaller, or there is none.
    """
    if not ax.get_legend_handles_labels()[0]:
        return
    style: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
    style |= {"frameon": False, "labelcolor": text_color(ax), "markerscale": 1.5}
    with warnings.catch_warnings():
        # Who draws letters that the font lacks is warned then.
        warnings.filterwarnings("ignore", message=".*missing from font.*")
        below: Any = ax.xaxis.get_tightbbox()
        for size, n in product((None, "small"), range(ncols, 0, -1)):
            legend = ax.legend(**style, ncols=n, fontsize=size)
            # Counted in the size of the letters.
            letters = float(legend.get_texts()[0].get_fontsize()) * ax.figure.dpi / 72.0
            legend.borderaxespad = (ax.bbox.y0 - below.y0) / letters + 0.4
            box = legend.get_window_extent()
            width, height = box.width / ax.bbox.width, box.height / ax.bbox.height
            if width <= _LEGEND_WIDTH and height <= _LEGEND_HEIGHT:
                return
    legend.remove()


def usual_range(values: Array, least: float = 0.0) -> tuple[float, float]:
    """Return the smallest and the largest value, without a few outliers.

    An outlier is beyond the middle 96 % by more than 1.5 times their range and more than `least`:
    one bad row must not squash a picture.
    """
    if len(values) < _FEW:
        return float(values.min()), float(values.max())
    first = np.quantile(values, 0.02, method="higher")
    last = np.quantile(values, 0.98, method="lower")
    reach = max(1.5 * (last - first), least)
    near = values[(values >= first - reach) & (values <= last + reach)] if reach > 0.0 else values
    return float(near.min()), float(near.max())


def label_name(value: Any) -> str:
    """Return the name of a class: 1.0 is '1'."""
    return str(value).removesuffix(".0")


def split(estimator: Any, display: type) -> tuple[Pipeline | None, Any]:
    """Return the steps before a fitted classifier, if any, and the classifier."""
    load_pyplot(display)
    check_is_fitted(estimator)
    if not isinstance(estimator, Pipeline):
        return None, estimator
    return estimator[:-1] or None, estimator[-1]


def split_boosted(estimator: Any, display: type) -> tuple[Pipeline | None, BaseFCGBoost]:
    """Split an estimator whose classifier must be one of this package."""
    classifier = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(classifier, BaseFCGBoost):
        raise TypeError(
            f"{display.__name__} draws fitted classifiers of fcgboost, or a Pipeline that ends in "
            f"one, got {type(classifier).__name__}."
        )
    return split(estimator, display)


def feature_names(before: Pipeline | None, classifier: Any, X: Any = None) -> list[str]:
    """Return the names of the columns that the classifier sees."""
    if before is not None:
        return [str(name) for name in before.get_feature_names_out()]
    names = vars(classifier).get("feature_names_in_", getattr(X, "columns", None))
    if names is None:
        names = [f"feature {i}" for i in range(1, classifier.n_features_in_ + 1)]
    return [str(name) for name in names]


def class_code(classes: NDArray[Any], value: Any) -> int:
    """Return the position of a class."""
    # NumPy takes a text and the same with a NUL after it for equal in one way only.
    found = [code for code, one in enumerate(classes.tolist()) if one == value]
    if len(found) != 1:
        raise ValueError(f"There is no class {value!r} to draw, only {classes.tolist()}.")
    return found[0]


def class_codes(
    labels: ArrayLike, classes: ArrayLike | None, values: Array, name: str
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the code of every label, and the classes; check them against a row of values each."""
    found = np.asarray(labels)
    known = np.unique(found) if classes is None else np.asarray(classes)
    unknown = np.setdiff1d(found, known)
    if found.ndim != 1 or len(unknown):
        raise ValueError(f"y holds {unknown.tolist()}, but the classes are {known.tolist()}.")
    if values.shape[:1] != found.shape or values.ndim > 2:
        raise ValueError(f"y has {len(found)} rows, but the {name} has shape {values.shape}.")
    if values.ndim == 2 and values.shape[1] != len(known):
        raise ValueError(f"The {name} has {values.shape[1]} columns for {len(known)} classes.")
    return (found[:, None] == known).argmax(axis=1), known
