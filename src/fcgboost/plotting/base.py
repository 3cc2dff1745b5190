"""What all displays share: Axes, texts, and questions to a fitted model."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Sequence
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fcgboost.colors import PALETTE
from fcgboost.prediction import BaseFCGBoost
from fcgboost.wording import shown

if TYPE_CHECKING:
    from types import ModuleType

    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.transforms import Bbox
    from matplotlib.typing import ColorType

Array = NDArray[np.float64]
Labels = NDArray[np.generic]

# Among fewer values none is taken for an outlier.
_FEW = 20
# The mean width of a letter, in its size.
_LETTER = 0.52
# The size of the names of bars, in widths of narrow Axes.
_BAR_NAME = 0.036
# How large a legend may be, in sizes of the Axes.
_LEGEND_WIDTH = 1.05
_LEGEND_HEIGHT = 0.36


class Display:
    """A picture, drawn by `plot(ax)`: into `ax`, or into a new figure.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def _start(self, ax: Axes | None) -> Axes:
        """Set the Axes to draw into from now on."""
        if ax is None:
            ax = load_pyplot(type(self)).subplots(layout="constrained")[1]
        self.ax_ = ax
        self.figure_ = ax.figure
        return ax

    @classmethod
    def _check(cls, estimator: BaseEstimator) -> None:
        """Raise an error without matplotlib, and for an estimator that is not fitted."""
        load_pyplot(cls)
        check_is_fitted(estimator)

    @classmethod
    def _check_classes(cls, estimator: BaseEstimator) -> None:
        """Raise an error also for an estimator that does not predict classes."""
        cls._check(estimator)
        if not hasattr(estimator, "classes_"):  # any user's estimator
            raise TypeError(f"{cls.__name__} draws classifiers, got {type(estimator).__name__}.")

    @classmethod
    def _check_boosted(cls, estimator: BaseEstimator) -> BaseFCGBoost:
        """Return a fitted model of this package."""
        cls._check(estimator)
        if not isinstance(estimator, BaseFCGBoost):
            raise TypeError(
                f"{cls.__name__} draws fitted models of fcgboost, got "
                f"{type(estimator).__name__}: of a Pipeline pass the last step, and the rows that "
                "the steps before it return."
            )
        return estimator


def load_pyplot(display: type) -> ModuleType:
    """Return matplotlib's pyplot, or raise an ImportError that names the extra."""
    try:
        return import_module("matplotlib.pyplot")
    except ImportError as error:
        message = f"{display.__name__} needs matplotlib: python -m pip install 'fcgboost[plot]'."
        raise ImportError(message) from error


def text_color(ax: Axes) -> ColorType:
    """Return the colour of the labels: black, but light on dark backgrounds."""
    return ax.xaxis.label.get_color()


def class_colors(n: int) -> list[str]:
    """Return n colours of the palette, repeated if need be."""
    return [PALETTE[i % len(PALETTE)] for i in range(n)]


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Return the width and the height of Axes, before a layout makes them a bit smaller."""
    return 72.0 * ax.bbox.width / ax.figure.dpi, 72.0 * ax.bbox.height / ax.figure.dpi


def wrapped(text: str, width: float, size: float) -> str:
    """Break every line of a label where it would be wider than `width` points."""
    n = max(12, int(width / (_LETTER * size)))
    lines = (textwrap.fill(line, n, break_long_words=False) for line in shown(text).split("\n"))
    return "\n".join(lines)


def label_size(ax: Axes) -> float:
    """Return the size of the letters of axis labels."""
    return float(ax.xaxis.label.get_fontsize())


def set_labels(ax: Axes, x: str, y: str) -> None:
    """Label both axes, in several lines where they are short."""
    width, height = size_in_points(ax)
    size = label_size(ax)
    # A legend takes some of the height.
    ax.set(xlabel=wrapped(x, width, size), ylabel=wrapped(y, 0.75 * height, size))


def name_bars(ax: Axes, names: Sequence[str]) -> float:
    """Name horizontal bars from the top down, in letters that fit; return their size."""
    n = len(names)
    width, height = size_in_points(ax)
    size = min(label_size(ax), max(4.0, 0.75 * height / max(1, n)), max(7.0, _BAR_NAME * width))
    ax.set_yticks(np.arange(n), names, fontsize=size)
    ax.set_ylim(n - 0.5, -0.5)
    return size


def legend_below(ax: Axes, ncols: int = 3) -> None:
    """Put the legend below the axis label, where it covers no data.

    On small Axes its letters are smaller, or there is none.
    """
    if not ax.get_legend_handles_labels()[0]:
        return
    with warnings.catch_warnings():
        # Letters that the font lacks are reported when the figure is drawn.
        warnings.filterwarnings("ignore", message=".*missing from font.*")
        below = cast("Bbox", ax.xaxis.get_tightbbox())
        for size, n in product((None, "small"), range(ncols, 0, -1)):
            legend = ax.legend(
                loc="upper center",
                bbox_to_anchor=(0.5, 0.0),
                frameon=False,
                labelcolor=text_color(ax),
                markerscale=1.5,
                ncols=n,
                fontsize=size,
            )
            # Counted in the size of the letters.
            letters = float(legend.get_texts()[0].get_fontsize()) * ax.figure.dpi / 72.0
            legend.borderaxespad = (ax.bbox.y0 - below.y0) / letters + 0.4
            box = legend.get_window_extent()
            width = box.width / ax.bbox.width
            height = box.height / ax.bbox.height
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


def label_name(value: object) -> str:
    """Return the name of a class: 1.0 is '1'."""
    return str(value).removesuffix(".0")


def feature_names(classifier: BaseFCGBoost, X: ArrayLike | None = None) -> list[str]:
    """Return the names of the columns of a classifier."""
    names = vars(classifier).get("feature_names_in_", getattr(X, "columns", None))
    if names is None:
        names = [f"feature {i}" for i in range(1, classifier.n_features_in_ + 1)]
    return [str(name) for name in names]


def class_code(classes: Labels, value: object) -> int:
    """Return the position of a class."""
    names = classes.tolist()
    if value not in names:
        raise ValueError(f"There is no class {value!r} to draw, only {names}.")
    return int(names.index(value))


def class_codes(
    y: ArrayLike, classes: ArrayLike | None, values: Array, name: str
) -> tuple[NDArray[np.intp], Labels]:
    """Return the code of every label, and the classes; check them against a row of values each."""
    labels = np.asarray(y)
    names = np.unique(labels) if classes is None else np.asarray(classes)
    unknown = np.setdiff1d(labels, names)
    if labels.ndim != 1 or len(unknown):
        raise ValueError(f"y holds {unknown.tolist()}, but the classes are {names.tolist()}.")
    if values.shape[:1] != labels.shape or values.ndim > 2:
        raise ValueError(f"y has {len(labels)} rows, but the {name} has shape {values.shape}.")
    if values.ndim == 2 and values.shape[1] != len(names):
        raise ValueError(f"The {name} has {values.shape[1]} columns for {len(names)} classes.")
    return (labels[:, None] == names).argmax(axis=1), names
